/* npy.c: NumPy's .npy, versions 1 to 3, C order, either byte order. The layout is numpy.lib.format's. */
#include "volume/io.h"
#include "volume/volume.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADER = 65536, MAX_RANK = 32 };

typedef struct npy {
  int fd;
  int64_t offset;
  bool swap;
} npy;

static const struct {
  const char *code;
  pz_dtype dtype;
} dtypes[] = {{"f4", PZ_F32}, {"u1", PZ_U8}, {"u2", PZ_U16}, {"i2", PZ_I16}};

/* The header is a Python dictionary of three entries, read strictly: nothing is evaluated. */
typedef struct header {
  const char *path, *at;
  char descr[16];
  bool has_descr, has_order, has_shape, fortran;
  int rank;
  int64_t dim[MAX_RANK];
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
    if (h->rank == MAX_RANK || !integer(h, &h->dim[h->rank++])) return false;
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

static pz_status dtype_of(const header *h, pz_volume *v, pz_error *err) {
  npy *n = v->state;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (h->descr[0] && strchr("<>|=", h->descr[0]) && strcmp(h->descr + 1, dtypes[i].code) == 0) {
      v->info.dtype = dtypes[i].dtype;
      n->swap = h->descr[0] == '>' && pz_dtype_bytes(dtypes[i].dtype) > 1;
      return PZ_OK;
    }
  return pz_fail(err, PZ_ERROR_INPUT, "%s: dtype '%s'; expected uint8, uint16, int16 or float32", v->path,
                 h->descr);
}

static pz_status interpret(const header *h, pz_volume *v, int64_t size, pz_error *err) {
  const npy *n = v->state;
  PZ_TRY(dtype_of(h, v, err));
  if (h->fortran)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: the array is in Fortran order; save numpy.ascontiguousarray(array) instead", v->path);
  PZ_TRY(pz_volume_shape(v->path, h->rank, h->dim, &v->info, err));
  const int64_t bytes = pz_volume_bytes(&v->info);
  if (bytes > size - n->offset)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: truncated: the header promises %lld bytes of data, the file has %lld", v->path,
                   (long long)bytes, (long long)(size - n->offset));
  return PZ_OK;
}

/* Magic, version and the length of the dictionary: 10 bytes in version 1, 12 later. */
static pz_status prefix(pz_volume *v, int64_t size, int64_t *length, pz_error *err) {
  npy *n = v->state;
  uint8_t b[12] = {0};
  PZ_TRY(pz_io_read(n->fd, v->path, b, size < 12 ? size : 12, 0, err));
  if (size < 12 || memcmp(b, "\x93NUMPY", 6) != 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: not a .npy file: it does not begin with \\x93NUMPY", v->path);
  if (b[6] < 1 || b[6] > 3)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: version %d of .npy; expected 1, 2 or 3", v->path, b[6]);
  *length = b[8] | b[9] << 8;
  if (b[6] > 1) *length |= (int64_t)b[10] << 16 | (int64_t)b[11] << 24;
  n->offset = (b[6] > 1 ? 12 : 10) + *length;
  if (*length > MAX_HEADER || n->offset > size)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: a header of %lld bytes; expected at most %d and within the file",
                   v->path, (long long)*length, MAX_HEADER);
  return PZ_OK;
}

static pz_status npy_open(pz_volume *v, pz_error *err) {
  int64_t size, length = 0;
  npy *n = PZ_NEW(v->arena, npy, 1);
  if (!n) return pz_fail_memory(err, "a .npy file", sizeof *n);
  n->fd = -1;
  v->state = n;
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err));
  PZ_TRY(prefix(v, size, &length, err));
  char *text = PZ_NEW(v->arena, char, length + 1);
  if (!text) return pz_fail_memory(err, "the header of a .npy file", (unsigned long long)length);
  PZ_TRY(pz_io_read(n->fd, v->path, text, length, n->offset - length, err));
  header h = {.path = v->path, .at = text};
  if (strlen(text) != (size_t)length || !dictionary(&h))
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: bad header at byte %lld; expected {'descr': ..., 'fortran_order': ..., 'shape': ...}",
                   v->path, (long long)(n->offset - length + (h.at - text)));
  return interpret(&h, v, size, err);
}

static pz_status npy_read(pz_volume *v, int64_t z, int64_t count, void *planes, int64_t channel_bytes,
                          pz_error *err) {
  const npy *n = v->state;
  const int64_t plane = pz_volume_plane_bytes(&v->info), element = pz_dtype_bytes(v->info.dtype);
  for (int64_t c = 0; c < v->info.channels; c++) {
    char *to = (char *)planes + c * channel_bytes;
    PZ_TRY(
        pz_io_read(n->fd, v->path, to, count * plane, n->offset + (c * v->info.shape[0] + z) * plane, err));
    if (n->swap) pz_io_swap(to, count * plane / element, element);
  }
  return PZ_OK;
}

static void npy_close(pz_volume *v) {
  npy *n = v->state;
  if (n && n->fd >= 0) close(n->fd);
}

static int print_header(const pz_volume_info *info, char *out, size_t size) {
  const char *code = "";
  char channels[32] = "";
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].dtype == info->dtype) code = dtypes[i].code;
  if (info->has_channels) snprintf(channels, sizeof channels, "%d, ", (int)info->channels);
  return snprintf(out, size, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%lld, %lld, %lld), }",
                  info->dtype == PZ_U8 ? '|' : '<', code, channels, (long long)info->shape[0],
                  (long long)info->shape[1], (long long)info->shape[2]);
}

/* Version 1, the data aligned to 64 as NumPy does it. */
static pz_status npy_lay_out(const char *path, const char *dataset, const pz_volume_info *info,
                             int64_t *offset, pz_error *err) {
  (void)dataset;
  char b[256];
  memset(b, ' ', sizeof b);
  const int used = 10 + print_header(info, b + 10, sizeof b - 10);
  b[used] = ' ';
  *offset = (used + 1 + 63) / 64 * 64;
  b[*offset - 1] = '\n';
  memcpy(b, "\x93NUMPY\x01", 8);
  b[8] = (char)((*offset - 10) & 255), b[9] = (char)((*offset - 10) >> 8);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return pz_io_fail(err, path, "creating", errno);
  const pz_status status = pz_io_write(fd, path, b, *offset, 0, err);
  close(fd);
  return status;
}

const pz_volume_format pz_volume_npy = {
    .name = "npy",
    .suffixes = {".npy"},
    .open = npy_open,
    .read = npy_read,
    .close = npy_close,
    .lay_out = npy_lay_out,
};
