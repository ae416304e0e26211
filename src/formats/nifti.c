/* nifti.c: .nii with pread, .nii.gz as streams. A compressed volume with several channels has one stream for each
 * channel, so that all of them move forward through the file together. */
#include "formats/gzip.h"
#include "formats/io.h"
#include "formats/nifti_geometry.h"
#include "formats/nifti_header.h"
#include "formats/raw.h"
#include "formats/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { GZ_MAX_CHANNELS = 64 };
/* deflate cannot shrink by more than 1032 to 1 */
enum { GZ_MAX_RATIO = 1040 };

typedef struct nifti {
  pz_nifti_data data;
  pz_raw raw;
  int fd;
  int64_t available;     /* bytes that the data's file has, or can be decompressed to, at most */
  const char *data_path; /* of the file with the voxels */
  pz_gzip **stream;      /* one for each channel; NULL for .nii */
  int streams;
} nifti;

static pz_status header(pz_volume *v, const uint8_t *bytes, int64_t got, pz_error *err) {
  nifti *n = v->state;
  const int count = got < 4 ? 0 : pz_nifti_header_bytes(bytes);
  if (!count)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: not a NIfTI file: the first number is not 348 or 540", v->path);
  if (got < count)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: the header has %lld of %d bytes", v->path,
                   (long long)got, count);
  PZ_TRY(pz_nifti_parse(v, bytes, count, &n->data, err));
  const bool pair = v->format == &pz_volume_nifti_pair;
  if (n->data.pair == pair) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 pair ? "%s: the header of a single file, not of a pair; give it a name that ends with .nii"
                      : "%s: the header of a pair; give the two files names that end with .hdr and .img",
                 v->path);
}

static int64_t stored_bytes(const pz_volume *v) {
  const nifti *n = v->state;
  int64_t bytes = pz_dtype_bytes(n->data.stored);
  for (int i = 0; i < v->array.rank; i++) bytes *= v->array.size[i];
  return bytes;
}

static pz_status promise(const pz_volume *v, pz_error *err) {
  const nifti *n = v->state;
  const int64_t bytes = stored_bytes(v), there = n->available;
  if (n->data.offset <= there && bytes <= there - n->data.offset) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: truncated: the header promises %lld bytes of data at %lld, there %s %lld", n->data_path,
                 (long long)bytes, (long long)n->data.offset, n->streams ? "can be at most" : "are",
                 (long long)(there > n->data.offset ? there - n->data.offset : 0));
}

static nifti *new_state(pz_volume *v, pz_error *err) {
  nifti *n = PZ_NEW(v->arena, nifti, 1);
  if (!n) {
    pz_fail_memory(err, "a NIfTI file", sizeof *n);
    return NULL;
  }
  n->fd = -1;
  n->data_path = v->path;
  v->state = n;
  return n;
}

static pz_status read_header(pz_volume *v, int64_t size, pz_error *err) {
  uint8_t bytes[PZ_NIFTI2_BYTES];
  const nifti *n = v->state;
  const int64_t got = size < (int64_t)sizeof bytes ? size : (int64_t)sizeof bytes;
  PZ_TRY(pz_io_read(n->fd, v->path, bytes, got, 0, err));
  return header(v, bytes, got, err);
}

static pz_status nifti_open(pz_volume *v, pz_error *err) {
  nifti *n = new_state(v, err);
  if (!n) return PZ_ERROR_MEMORY;
  PZ_TRY(pz_io_open(v->path, &n->fd, &n->available, err));
  return read_header(v, n->available, err);
}

/* a.hdr and a.img, whichever of the two was named. */
static pz_status pair_open(pz_volume *v, pz_error *err) {
  int64_t size;
  const size_t stem = strlen(v->path) - 4;
  const bool upper = v->path[stem + 1] < 'a';
  nifti *n = new_state(v, err);
  if (!n) return PZ_ERROR_MEMORY;
  n->data_path = pz_arena_printf(v->arena, "%.*s%s", (int)stem, v->path, upper ? ".IMG" : ".img");
  v->path = pz_arena_printf(v->arena, "%.*s%s", (int)stem, v->path, upper ? ".HDR" : ".hdr");
  if (!v->path || !n->data_path) return pz_fail_memory(err, "a path", stem);
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err));
  PZ_TRY(read_header(v, size, err));
  close(n->fd);
  n->fd = -1;
  return pz_io_open(n->data_path, &n->fd, &n->available, err);
}

static bool pair_owns(const pz_volume *v, const char *path) {
  const nifti *n = v->state;
  return pz_io_same_file(v->path, path) || pz_io_same_file(n->data_path, path);
}

static pz_status pair_identify(pz_volume *v, pz_digest *digest, pz_error *err) {
  const nifti *n = v->state;
  PZ_TRY(pz_volume_identify_file(v->path, digest, err));
  return pz_volume_identify_file(n->data_path, digest, err);
}

static pz_status gz_stream(pz_volume *v, int index, pz_error *err) {
  nifti *n = v->state;
  PZ_TRY(pz_gzip_open(v->path, n->fd, &n->stream[index], err));
  n->streams = index + 1;
  return PZ_OK;
}

static pz_status gz_open(pz_volume *v, pz_error *err) {
  uint8_t bytes[PZ_NIFTI2_BYTES];
  int64_t size;
  nifti *n = new_state(v, err);
  if (!n) return PZ_ERROR_MEMORY;
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err)); /* all streams read from it */
  n->stream = PZ_NEW(v->arena, pz_gzip *, GZ_MAX_CHANNELS);
  if (!n->stream) return pz_fail_memory(err, "a NIfTI file", GZ_MAX_CHANNELS * sizeof(pz_gzip *));
  PZ_TRY(gz_stream(v, 0, err));
  int64_t got;
  PZ_TRY(pz_gzip_read(n->stream[0], bytes, sizeof bytes, 0, &got, err));
  if (!pz_mul_i64(size, GZ_MAX_RATIO, &n->available)) n->available = INT64_MAX;
  return header(v, bytes, got, err);
}

/* Channels that lie one after the other, each with a stream. */
static pz_status gz_streams(pz_volume *v, pz_error *err) {
  nifti *n = v->state;
  const int c = v->axes.of[0];
  if (c < 0) return PZ_OK;
  for (int i = 1; i < 4; i++)
    if (v->axes.of[i] >= 0 && v->array.stride[v->axes.of[i]] > v->array.stride[c]) return PZ_OK;
  if (v->info.channels > GZ_MAX_CHANNELS)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: %d channels in a compressed file, at most %d; decompress it to .nii", v->path,
                   (int)v->info.channels, GZ_MAX_CHANNELS);
  n->raw.channel = c;
  for (int i = 1; i < v->info.channels; i++) PZ_TRY(gz_stream(v, i, err));
  return PZ_OK;
}

static int64_t end_of_data(const pz_volume *v) {
  const nifti *n = v->state;
  return n->data.offset + stored_bytes(v);
}

/* Behind all of the data one byte more is looked for, so that the checksum is compared. */
static pz_status gz_fetch(pz_volume *v, int channel, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  nifti *n = v->state;
  char byte;
  int64_t got;
  PZ_TRY(pz_gzip_read(n->stream[channel], to, bytes, offset, NULL, err));
  return offset + bytes == end_of_data(v)
             ? pz_gzip_read(n->stream[channel], &byte, 1, offset + bytes, &got, err)
             : PZ_OK;
}

/* slope * stored + inter in double, then to float. */
#define DEFINE_SCALE(dtype, name, T, ...)                                                                    \
  static void scale_##name(const pz_nifti_data *d, const void *in, int64_t n, float *out) {                  \
    const T *v = in;                                                                                         \
    for (int64_t i = 0; i < n; i++) out[i] = (float)(d->slope * (double)v[i] + d->inter);                    \
  }
#define PZ_DTYPE DEFINE_SCALE
#include "base/dtypes.inc"
#undef PZ_DTYPE

static void scale(const pz_nifti_data *d, const void *in, int64_t n, float *out) {
  static void (*const kinds[PZ_DTYPES])(const pz_nifti_data *, const void *, int64_t, float *) = {
#define PZ_DTYPE(dtype, name, ...) [dtype] = scale_##name,
#include "base/dtypes.inc"
#undef PZ_DTYPE
  };
  kinds[d->stored](d, in, n, out);
}

static void convert(const void *host, const void *in, int64_t n, void *out) {
  const nifti *f = ((const pz_volume *)host)->state;
  scale(&f->data, in, n, out);
}

static pz_status fetch(void *host, int stream, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  pz_volume *v = host;
  const nifti *n = v->state;
  if (n->stream) return gz_fetch(v, n->raw.channel < 0 ? 0 : stream, to, bytes, offset, err);
  return pz_io_read(n->fd, n->data_path, to, bytes, offset, err);
}

static pz_status nifti_ready(pz_volume *v, pz_error *err) {
  nifti *n = v->state;
  pz_nifti_read_geometry(&n->data.orientation, n->data.floats, &v->info, &v->notes);
  PZ_TRY(promise(v, err));
  n->raw = (pz_raw){.array = &v->array,
                    .offset = n->data.offset,
                    .element = pz_dtype_bytes(n->data.stored),
                    .delivered = pz_dtype_bytes(v->info.dtype),
                    .swap = n->data.swap,
                    .channel = -1,
                    .fetch = fetch,
                    .convert = n->data.scaled ? convert : NULL,
                    .host = v};
  if (n->stream) PZ_TRY(gz_streams(v, err));
  v->memory = pz_raw_memory(&n->raw, &v->axes) + (int64_t)n->streams * PZ_GZIP_MEMORY;
  v->sequential = n->stream;
  pz_raw_step(&n->raw, &v->axes, PZ_VOLUME_STEP_BYTES, v->step);
  return PZ_OK;
}

static pz_status nifti_read(pz_volume *v, const pz_array_box *box, void *to, pz_error *err) {
  nifti *n = v->state;
  return pz_raw_read(&n->raw, box, to, err);
}

static void nifti_close(pz_volume *v) {
  nifti *n = v->state;
  if (!n) return;
  pz_raw_free(&n->raw);
  for (int i = 0; i < n->streams; i++) pz_gzip_close(n->stream[i]);
  if (n->fd >= 0) close(n->fd);
}

static pz_status nifti_check_output(const char *path, const char *dataset, const pz_volume_info *info,
                                    pz_error *err) {
  (void)dataset;
  if (info->dtype != PZ_F16) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_USAGE,
      "%s: NIfTI has no floats of 16 bits; write them to .npy, .h5 or .tif, or use --dtype f32 or u16", path);
}

static pz_status nifti_lay_out(const char *path, const char *dataset, const pz_volume_info *info,
                               int64_t *offset, pz_error *err) {
  (void)dataset;
  uint8_t bytes[PZ_NIFTI_MAX_HEADER];
  *offset = pz_nifti_print(info, bytes);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return pz_io_fail(err, path, "creating", errno);
  const pz_status status = pz_io_write(fd, path, bytes, *offset, 0, err);
  close(fd);
  return status;
}

static pz_status gz_take(void *host, const void *strip, int64_t bytes, int64_t at, pz_error *err) {
  (void)at; /* they come in the order of the file */
  return pz_gzip_write(host, strip, bytes, err);
}

static pz_status gz_write(pz_gzip_out *out, pz_volume_source *source, pz_error *err) {
  uint8_t bytes[PZ_NIFTI_MAX_HEADER];
  PZ_TRY(pz_gzip_write(out, bytes, pz_nifti_print(source->info, bytes), err));
  PZ_TRY(pz_volume_source_strips(source, gz_take, out, err));
  return pz_gzip_finish(out, err);
}

static int64_t gz_most(const pz_volume_info *info) {
  return pz_gzip_most(PZ_NIFTI_MAX_HEADER + pz_volume_bytes(info));
}

static pz_status gz_convert(const char *path, const char *dataset, pz_volume_source *source, pz_error *err) {
  (void)dataset;
  pz_gzip_out *out;
  pz_status status = pz_gzip_create(path, source->pool, &out, err);
  if (status == PZ_OK) status = gz_write(out, source, err);
  pz_gzip_free(out);
  return status;
}

const pz_volume_format pz_volume_nifti = {
    .name = "nifti",
    .suffixes = {".nii"},
    .open = nifti_open,
    .ready = nifti_ready,
    .read = nifti_read,
    .close = nifti_close,
    .hold = pz_nifti_hold,
    .check_output = nifti_check_output,
    .lay_out = nifti_lay_out,
};

const pz_volume_format pz_volume_nifti_gz = {
    .name = "nifti-gz",
    .suffixes = {".nii.gz"},
    .open = gz_open,
    .ready = nifti_ready,
    .read = nifti_read,
    .close = nifti_close,
    .hold = pz_nifti_hold,
    .check_output = nifti_check_output,
    .most = gz_most,
    .convert = gz_convert,
    .convert_rate = 8e7,
};

const pz_volume_format pz_volume_nifti_pair = {
    .name = "nifti-pair",
    .suffixes = {".hdr", ".img"},
    .open = pair_open,
    .ready = nifti_ready,
    .read = nifti_read,
    .close = nifti_close,
    .identify = pair_identify,
    .owns = pair_owns,
};
