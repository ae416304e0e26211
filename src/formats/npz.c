/* npz.c: an array of a .npz file, which is a ZIP archive of .npy files: the only one, or file.npz:/name. Arrays that are
 * stored are read from any place; of those that are deflated, each channel has a stream of its own, which moves forward. */
#include "formats/io.h"
#include "formats/npy_array.h"
#include "formats/volume.h"
#include "formats/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STREAMS = 64, HEADER = 1 << 17 };

typedef struct npz {
  int fd;
  pz_zip zip;
  const pz_zip_member *member;
  pz_npy header;
  pz_zip_stream *stream[MAX_STREAMS];
  int streams;
  pz_raw raw;
} npz;

/* ------------------------------------------------------------------ which array */

/* The length of a member's name without .npy; 0: it is no array. */
static int name_length(const char *name) {
  const size_t n = strlen(name);
  return n > 4 && n < 512 && strcmp(name + n - 4, ".npy") == 0 ? (int)n - 4 : 0;
}

static int list(const pz_zip *z, char *text, size_t size) {
  int found = 0;
  size_t n = 0;
  *text = 0;
  for (int i = 0; i < z->n; i++) {
    const int length = name_length(z->member[i].name);
    if (!length || found++ >= 12 || n >= size) continue;
    n += (size_t)snprintf(text + n, size - n, "%s%.*s", n ? ", " : "", length < 60 ? length : 60,
                          z->member[i].name);
  }
  if (found > 12 && n < size) snprintf(text + n, size - n, ", ...");
  return found;
}

static pz_status find(pz_volume *v, pz_error *err) {
  npz *n = v->state;
  char names[800];
  const int found = list(&n->zip, names, sizeof names);
  const char *wanted = v->dataset ? v->dataset + 1 : NULL;
  for (int i = 0; i < n->zip.n && !n->member; i++) {
    const char *name = n->zip.member[i].name;
    const int length = name_length(name);
    const bool named = wanted && (strcmp(name, wanted) == 0 ||
                                  ((int)strlen(wanted) == length && !strncmp(name, wanted, (size_t)length)));
    if (length && (wanted ? named : found == 1)) n->member = &n->zip.member[i];
  }
  if (n->member) return PZ_OK;
  if (!found) return pz_fail(err, PZ_ERROR_INPUT, "%s: holds no array", v->path);
  if (wanted)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: holds no array \"%s\", but %s", v->path, wanted, names);
  return pz_fail(err, PZ_ERROR_INPUT, "%s: holds %d arrays: %s; name the one to use, as in %s:/%.*s", v->path,
                 found, names, v->path, (int)strcspn(names, ","), names);
}

/* ------------------------------------------------------------------ reading */

static pz_status add_stream(npz *n, pz_error *err) {
  const pz_status status = pz_zip_open(&n->zip, n->member, &n->stream[n->streams], err);
  n->streams += n->stream[n->streams] != NULL;
  return status;
}

static pz_status read_header(pz_volume *v, pz_error *err) {
  npz *n = v->state;
  const int64_t bytes = n->member->size < HEADER ? n->member->size : HEADER;
  char *text = PZ_NEW(v->arena, char, HEADER);
  if (!text) return pz_fail_memory(err, "a header", HEADER);
  PZ_TRY(pz_zip_fetch(n->stream[0], text, bytes, 0, err));
  PZ_TRY(pz_npy_parse_header(v->arena, v->path, text, bytes, n->member->size, &n->header, err));
  return pz_npy_take_array(v, &n->header, err);
}

static pz_status npz_open(pz_volume *v, pz_error *err) {
  int64_t size;
  npz *n = PZ_NEW(v->arena, npz, 1);
  if (!n) return pz_fail_memory(err, "a .npz file", sizeof *n);
  n->fd = -1;
  v->state = n;
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err));
  PZ_TRY(pz_zip_read(v->arena, v->path, n->fd, size, &n->zip, err));
  PZ_TRY(find(v, err));
  PZ_TRY(add_stream(n, err));
  return read_header(v, err);
}

static pz_status fetch(void *host, int stream, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  npz *n = host;
  return pz_zip_fetch(n->stream[n->raw.channel < 0 ? 0 : stream], to, bytes, offset, err);
}

/* Channels that lie one after the other, each with a stream. */
static pz_status more_streams(pz_volume *v, pz_error *err) {
  npz *n = v->state;
  const int c = v->axes.of[0];
  if (c < 0 || n->member->method == 0 || v->info.channels > MAX_STREAMS) return PZ_OK;
  for (int i = 1; i < 4; i++)
    if (v->axes.of[i] >= 0 && v->array.stride[v->axes.of[i]] > v->array.stride[c]) return PZ_OK;
  n->raw.channel = c;
  for (int i = 1; i < v->info.channels; i++) PZ_TRY(add_stream(n, err));
  return PZ_OK;
}

static pz_status npz_ready(pz_volume *v, pz_error *err) {
  npz *n = v->state;
  PZ_TRY(pz_npy_check_size(v->path, &n->header, err));
  n->raw = pz_npy_raw(v, &n->header);
  n->raw.fetch = fetch, n->raw.host = n;
  PZ_TRY(more_streams(v, err));
  v->memory = pz_raw_memory(&n->raw, &v->axes) + (int64_t)n->streams * PZ_ZIP_MEMORY;
  v->sequential = n->member->method != 0;
  pz_raw_step(&n->raw, &v->axes, PZ_VOLUME_STEP_BYTES, v->step);
  return PZ_OK;
}

static pz_status npz_read(pz_volume *v, const pz_array_box *box, void *to, pz_error *err) {
  npz *n = v->state;
  return pz_raw_read(&n->raw, box, to, err);
}

static void npz_close(pz_volume *v) {
  npz *n = v->state;
  if (!n) return;
  for (int i = 0; i < n->streams; i++) pz_zip_close(n->stream[i]);
  pz_raw_free(&n->raw);
  if (n->fd >= 0) close(n->fd);
}

const pz_volume_format pz_volume_npz = {
    .name = "npz",
    .suffixes = {".npz"},
    .has_dataset = true,
    .open = npz_open,
    .ready = npz_ready,
    .read = npz_read,
    .close = npz_close,
};
