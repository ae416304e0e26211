/* npy_header.c: the header of a .npy file, read strictly and printed. The layout is numpy.lib.format's. */
#include "formats/npy_header.h"
#include "formats/io.h"
#include "formats/volume.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HEADER = 65536, PREFIX = 12 };

/* The header is a Python dictionary of three entries, read strictly: nothing is evaluated. */
typedef struct header {
  const char *path, *at;
  char descr[16];
  bool has_descr, has_order, has_shape, fortran;
  int rank;
  int64_t dim[PZ_NPY_MAX_RANK];
} header;

static void blanks(header *h) {
  while (*h->at == ' ' || *h->at == '\n' || *h->at == '\t') h->at++;
}

static bool take(header *h, const char *token) {
  blanks(h);
  const size_t n = strlen(token);
  if (strncmp(h->at, token, n) != 0) return false;
  h->at += n;
  return true;
}

static bool quoted(header *h, char *out, size_t size) {
  blanks(h);
  const char quote = *h->at;
  if (quote != '\'' && quote != '"') return false;
  const char *end = strchr(h->at + 1, quote);
  if (!end || (size_t)(end - h->at) > size) return false;
  memcpy(out, h->at + 1, (size_t)(end - h->at - 1));
  out[end - h->at - 1] = 0;
  h->at = end + 1;
  return true;
}

static bool integer(header *h, int64_t *out) {
  blanks(h);
  if (!isdigit((unsigned char)*h->at)) return false;
  for (*out = 0; isdigit((unsigned char)*h->at); h->at++)
    if (!pz_mul_i64(*out, 10, out) || !pz_add_i64(*out, *h->at - '0', out)) return false;
  take(h, "L"); /* Python 2 wrote long integers so */
  return true;
}

static bool shape(header *h) {
  if (!take(h, "(")) return false;
  while (!take(h, ")")) {
    if (h->rank == PZ_NPY_MAX_RANK || !integer(h, &h->dim[h->rank++])) return false;
    if (take(h, ",")) continue;
    return take(h, ")");
  }
  return true;
}

static bool entry(header *h) {
  char key[16];
  if (!quoted(h, key, sizeof key) || !take(h, ":")) return false;
  if (strcmp(key, "descr") == 0 && !h->has_descr) return h->has_descr = quoted(h, h->descr, sizeof h->descr);
  if (strcmp(key, "shape") == 0 && !h->has_shape) return h->has_shape = shape(h);
  if (strcmp(key, "fortran_order") != 0 || h->has_order) return false;
  h->fortran = take(h, "True");
  return h->has_order = h->fortran || take(h, "False");
}

static bool dictionary(header *h) {
  if (!take(h, "{")) return false;
  while (!take(h, "}")) {
    if (!entry(h)) return false;
    if (take(h, ",")) continue;
    if (!take(h, "}")) return false;
    break;
  }
  blanks(h);
  return !*h->at && h->has_descr && h->has_order && h->has_shape;
}

/* "<f4": byte order, kind, bytes of an element. */
static bool take_dtype(const char *descr, pz_npy *npy) {
  if (!descr[0] || !strchr("<>|=", descr[0]) || !descr[1] || !isdigit((unsigned char)descr[2]) || descr[3])
    return false;
  return pz_dtype_find(descr[1], descr[2] - '0', &npy->dtype) && (int)npy->dtype < PZ_FILE_DTYPES;
}

static pz_status dtype_of(const header *h, pz_npy *npy, pz_error *err) {
  if (!take_dtype(h->descr, npy))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: dtype '%s'; expected " PZ_DTYPES_IN_WORDS, h->path, h->descr);
  npy->swap = h->descr[0] == '>' && pz_dtype_bytes(npy->dtype) > 1;
  return PZ_OK;
}

static pz_status interpret(const header *h, pz_npy *npy, pz_error *err) {
  PZ_TRY(dtype_of(h, npy, err));
  npy->fortran = h->fortran;
  npy->rank = h->rank;
  memcpy(npy->dim, h->dim, sizeof npy->dim);
  return PZ_OK;
}

/* Magic, version and the length of the dictionary: 10 bytes in version 1, 12 later. */
static pz_status prefix(const char *path, const uint8_t b[PREFIX], pz_npy *npy, int64_t *length,
                        pz_error *err) {
  if (npy->size < PREFIX || memcmp(b, "\x93NUMPY", 6) != 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: not a .npy file: it does not begin with \\x93NUMPY", path);
  if (b[6] < 1 || b[6] > 3)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: version %d of .npy; expected 1, 2 or 3", path, b[6]);
  *length = b[8] | b[9] << 8;
  if (b[6] > 1) *length |= (int64_t)b[10] << 16 | (int64_t)b[11] << 24;
  npy->offset = (b[6] > 1 ? 12 : 10) + *length;
  if (*length > MAX_HEADER || npy->offset > npy->size)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: a header of %lld bytes; expected at most %d and within the file",
                   path, (long long)*length, MAX_HEADER);
  return PZ_OK;
}

static pz_status parse(const char *path, const char *text, int64_t length, pz_npy *npy, pz_error *err) {
  header h = {.path = path, .at = text};
  if (strlen(text) != (size_t)length || !dictionary(&h))
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: bad header at byte %lld; expected {'descr': ..., 'fortran_order': ..., 'shape': ...}",
                   path, (long long)(npy->offset - length + (h.at - text)));
  return interpret(&h, npy, err);
}

pz_status pz_npy_read_header(pz_arena *arena, const char *path, int fd, int64_t size, pz_npy *npy,
                             pz_error *err) {
  int64_t length = 0;
  uint8_t b[PREFIX] = {0};
  *npy = (pz_npy){.size = size};
  PZ_TRY(pz_io_read(fd, path, b, size < PREFIX ? size : PREFIX, 0, err));
  PZ_TRY(prefix(path, b, npy, &length, err));
  char *text = PZ_NEW(arena, char, length + 1);
  if (!text) return pz_fail_memory(err, "the header of a .npy file", (unsigned long long)length);
  PZ_TRY(pz_io_read(fd, path, text, length, npy->offset - length, err));
  return parse(path, text, length, npy, err);
}

pz_status pz_npy_parse_header(pz_arena *arena, const char *path, const char *bytes, int64_t count,
                              int64_t size, pz_npy *npy, pz_error *err) {
  int64_t length = 0;
  uint8_t b[PREFIX] = {0};
  *npy = (pz_npy){.size = size};
  memcpy(b, bytes, (size_t)(count < PREFIX ? count : PREFIX));
  PZ_TRY(prefix(path, b, npy, &length, err));
  if (npy->offset > count) return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated in a header", path);
  char *text = pz_arena_strndup(arena, bytes + npy->offset - length, (size_t)length);
  if (!text) return pz_fail_memory(err, "the header of a .npy file", (unsigned long long)length);
  return parse(path, text, length, npy, err);
}

pz_status pz_npy_check_size(const char *path, const pz_npy *npy, pz_error *err) {
  int64_t bytes = pz_dtype_bytes(npy->dtype);
  for (int i = 0; i < npy->rank; i++)
    if (!pz_mul_i64(bytes, npy->dim[i], &bytes))
      return pz_fail(err, PZ_ERROR_INPUT, "%s: the shape is too large for any file", path);
  if (bytes > npy->size - npy->offset)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: truncated: the header promises %lld bytes of data, the file has %lld", path,
                   (long long)bytes, (long long)(npy->size - npy->offset));
  return PZ_OK;
}

static int print_shape(char *out, int size, int rank, const int64_t *dim) {
  int n = snprintf(out, (size_t)size, "(");
  for (int i = 0; i < rank; i++)
    n += snprintf(out + n, (size_t)(size - n),
                  i + 1 < rank ? "%lld, "
                  : rank == 1  ? "%lld,"
                               : "%lld",
                  (long long)dim[i]);
  return n + snprintf(out + n, (size_t)(size - n), "), }");
}

int64_t pz_npy_print_header(pz_dtype dtype, int rank, const int64_t *dim, char out[PZ_NPY_HEADER]) {
  const int bytes = (int)pz_dtype_bytes(dtype);
  memset(out, ' ', PZ_NPY_HEADER);
  int used = 10 + snprintf(out + 10, PZ_NPY_HEADER - 10,
                           "{'descr': '%c%c%d', 'fortran_order': False, 'shape': ", bytes == 1 ? '|' : '<',
                           pz_dtype_kind(dtype), bytes);
  used += print_shape(out + used, PZ_NPY_HEADER - used, rank, dim);
  out[used] = ' ';
  const int64_t total = (used + 1 + 63) / 64 * 64;
  out[total - 1] = '\n';
  memcpy(out, "\x93NUMPY\x01", 8);
  out[8] = (char)((total - 10) & 255), out[9] = (char)((total - 10) >> 8);
  return total;
}
