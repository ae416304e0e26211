/* nifti.c: .nii with pread, .nii.gz as streams. A compressed volume with several channels has one stream for each
 * channel, so that all of them move forward through the file together. */
#include "volume/io.h"
#include "volume/nifti_geometry.h"
#include "volume/nifti_header.h"
#include "volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { GZ_BUFFER = 1 << 17, GZ_MEMORY = 3 * GZ_BUFFER + (48 << 10), GZ_MAX_CHANNELS = 64 };
/* deflate cannot shrink by more than 1032 to 1 */
enum { GZ_MAX_RATIO = 1040 };

typedef struct nifti {
  pz_nifti_data data;
  int fd;
  gzFile *stream; /* one for each channel; NULL for .nii */
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
  return pz_nifti_parse(v->path, bytes, count, &v->info, &n->data, &v->notes, err);
}

static int64_t stored_plane(const pz_volume *v) {
  const nifti *n = v->state;
  return v->info.shape[1] * v->info.shape[2] * pz_dtype_bytes(n->data.stored);
}

static pz_status promise(const pz_volume *v, int64_t available, pz_error *err) {
  const nifti *n = v->state;
  const int64_t bytes = stored_plane(v) * v->info.shape[0] * v->info.channels;
  if (n->data.offset <= available && bytes <= available - n->data.offset) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: truncated: the header promises %lld bytes of data at %lld, there %s %lld", v->path,
                 (long long)bytes, (long long)n->data.offset, n->streams ? "can be at most" : "are",
                 (long long)(available > n->data.offset ? available - n->data.offset : 0));
}

static nifti *new_state(pz_volume *v, pz_error *err) {
  nifti *n = PZ_NEW(v->arena, nifti, 1);
  if (!n) {
    pz_fail_memory(err, "a NIfTI file", sizeof *n);
    return NULL;
  }
  n->fd = -1;
  v->state = n;
  return n;
}

static pz_status nifti_open(pz_volume *v, pz_error *err) {
  uint8_t bytes[PZ_NIFTI2_BYTES];
  int64_t size;
  nifti *n = new_state(v, err);
  if (!n) return PZ_ERROR_MEMORY;
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err));
  const int64_t got = size < (int64_t)sizeof bytes ? size : (int64_t)sizeof bytes;
  PZ_TRY(pz_io_read(n->fd, v->path, bytes, got, 0, err));
  PZ_TRY(header(v, bytes, got, err));
  return promise(v, size, err);
}

static pz_status gz_stream(pz_volume *v, int index, pz_error *err) {
  nifti *n = v->state;
  errno = 0;
  n->stream[index] = gzopen(v->path, "rb");
  if (!n->stream[index])
    return errno ? pz_io_fail(err, v->path, "opening", errno)
                 : pz_fail_memory(err, "a gzip stream", GZ_MEMORY);
  gzbuffer(n->stream[index], GZ_BUFFER);
  n->streams = index + 1;
  return PZ_OK;
}

static pz_status gz_broken(pz_volume *v, gzFile stream, pz_error *err) {
  int code = Z_OK;
  const char *text = gzerror(stream, &code);
  if (code == Z_MEM_ERROR) return pz_fail_memory(err, "a gzip stream", GZ_MEMORY);
  if (code == Z_ERRNO) return pz_io_fail(err, v->path, "reading", errno);
  if (code != Z_DATA_ERROR)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: the compressed data ends early", v->path);
  const char *colon = strrchr(text, ':'); /* zlib puts the path in front */
  return pz_fail(err, PZ_ERROR_INPUT, "%s: damaged:%s", v->path, colon ? colon + 1 : text);
}

static pz_status gz_open(pz_volume *v, pz_error *err) {
  uint8_t bytes[PZ_NIFTI2_BYTES];
  int64_t size;
  nifti *n = new_state(v, err);
  if (!n) return PZ_ERROR_MEMORY;
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err)); /* says what is wrong with the file, better than zlib */
  n->stream = PZ_NEW(v->arena, gzFile, GZ_MAX_CHANNELS);
  if (!n->stream) return pz_fail_memory(err, "a NIfTI file", GZ_MAX_CHANNELS * sizeof(gzFile));
  PZ_TRY(gz_stream(v, 0, err));
  const int got = gzread(n->stream[0], bytes, sizeof bytes);
  if (got < 0) return gz_broken(v, n->stream[0], err);
  PZ_TRY(header(v, bytes, got, err));
  int64_t most;
  if (!pz_mul_i64(size, GZ_MAX_RATIO, &most)) most = INT64_MAX;
  PZ_TRY(promise(v, most, err));
  if (v->info.channels > GZ_MAX_CHANNELS)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: %d channels in a compressed file, at most %d; decompress it to .nii", v->path,
                   (int)v->info.channels, GZ_MAX_CHANNELS);
  for (int c = 1; c < v->info.channels; c++) PZ_TRY(gz_stream(v, c, err));
  v->memory = (int64_t)v->info.channels * GZ_MEMORY;
  return PZ_OK;
}

/* Looks one byte behind the data, which makes zlib compare the checksum when the data is all there is. */
static pz_status gz_check(pz_volume *v, gzFile stream, pz_error *err) {
  char byte;
  int code = Z_OK;
  const int got = gzread(stream, &byte, 1);
  gzerror(stream, &code);
  return got >= 0 && (code == Z_OK || code == Z_STREAM_END) ? PZ_OK : gz_broken(v, stream, err);
}

static int64_t end_of_data(const pz_volume *v) {
  const nifti *n = v->state;
  return n->data.offset + v->info.channels * v->info.shape[0] * stored_plane(v);
}

/* A skip forward is done by reading and throwing away, a skip back by beginning again; both are zlib's. */
static pz_status gz_fetch(pz_volume *v, int channel, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  nifti *n = v->state;
  gzFile stream = n->stream[channel];
  if (gztell(stream) != offset && gzseek(stream, offset, SEEK_SET) != offset)
    return gz_broken(v, stream, err);
  for (char *at = to; bytes > 0;) {
    const unsigned want = bytes > (1 << 30) ? 1u << 30 : (unsigned)bytes;
    const int got = gzread(stream, at, want);
    if (got <= 0) return gz_broken(v, stream, err);
    at += got, bytes -= got, offset += got;
  }
  return offset == end_of_data(v) ? gz_check(v, stream, err) : PZ_OK;
}

/* slope * stored + inter in double, then to float. */
#define DEFINE_SCALE(dtype, name, T, kind)                                                                   \
  static void scale_##name(const pz_nifti_data *d, const void *in, int64_t n, float *out) {                  \
    const T *v = in;                                                                                         \
    for (int64_t i = 0; i < n; i++) out[i] = (float)(d->slope * (double)v[i] + d->inter);                    \
  }
#define PZ_DTYPE DEFINE_SCALE
#include "volume/dtypes.inc"
#undef PZ_DTYPE

static void scale(const pz_nifti_data *d, const void *in, int64_t n, float *out) {
  static void (*const kinds[PZ_DTYPES])(const pz_nifti_data *, const void *, int64_t, float *) = {
#define PZ_DTYPE(dtype, name, T, kind) [dtype] = scale_##name,
#include "volume/dtypes.inc"
#undef PZ_DTYPE
  };
  kinds[d->stored](d, in, n, out);
}

/* n stored numbers of a channel, the first of which is `offset` bytes into the file. */
static pz_status fetch(pz_volume *v, int channel, void *to, int64_t n, int64_t offset, pz_error *err) {
  const nifti *f = v->state;
  const int64_t element = pz_dtype_bytes(f->data.stored);
  PZ_TRY(f->stream ? gz_fetch(v, channel, to, n * element, offset, err)
                   : pz_io_read(f->fd, v->path, to, n * element, offset, err));
  if (f->data.swap) pz_io_swap(to, n, element);
  return PZ_OK;
}

static pz_status fetch_scaled(pz_volume *v, int channel, float *to, int64_t n, int64_t offset,
                              pz_error *err) {
  enum { PART = 4096 };
  const nifti *f = v->state;
  uint64_t raw[PART]; /* elements have at most 8 bytes */
  for (int64_t done = 0, part; done < n; done += part) {
    part = n - done < PART ? n - done : PART;
    PZ_TRY(fetch(v, channel, raw, part, offset + done * pz_dtype_bytes(f->data.stored), err));
    scale(&f->data, raw, part, to + done);
  }
  return PZ_OK;
}

static pz_status nifti_read(pz_volume *v, int64_t z, int64_t count, void *planes, int64_t channel_bytes,
                            pz_error *err) {
  const nifti *n = v->state;
  const int64_t plane = stored_plane(v), elements = count * v->info.shape[1] * v->info.shape[2];
  for (int c = 0; c < v->info.channels; c++) {
    char *to = (char *)planes + c * channel_bytes;
    const int64_t offset = n->data.offset + (c * v->info.shape[0] + z) * plane;
    PZ_TRY(n->data.scaled ? fetch_scaled(v, c, (float *)(void *)to, elements, offset, err)
                          : fetch(v, c, to, elements, offset, err));
  }
  return PZ_OK;
}

static void nifti_close(pz_volume *v) {
  nifti *n = v->state;
  if (!n) return;
  for (int i = 0; i < n->streams; i++) gzclose(n->stream[i]);
  if (n->fd >= 0) close(n->fd);
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

static pz_status gz_put(gzFile out, const char *path, const char *data, int64_t bytes, pz_error *err) {
  for (int64_t at = 0; at < bytes;) {
    const int64_t left = bytes - at;
    const int put = gzwrite(out, data + at, left > (1 << 20) ? 1u << 20 : (unsigned)left);
    if (put <= 0) return pz_io_fail(err, path, "writing", errno ? errno : EIO);
    at += put;
  }
  return PZ_OK;
}

static pz_status gz_planes(gzFile out, const char *path, pz_volume_source *source, char *plane,
                           pz_error *err) {
  const pz_volume_info *info = source->info;
  uint8_t bytes[PZ_NIFTI_MAX_HEADER];
  PZ_TRY(gz_put(out, path, (const char *)bytes, pz_nifti_print(info, bytes), err));
  for (int64_t i = 0; i < info->channels * info->shape[0]; i++) {
    PZ_TRY(pz_volume_source_plane(source, i / info->shape[0], i % info->shape[0], plane, err));
    PZ_TRY(gz_put(out, path, plane, pz_volume_plane_bytes(info), err));
  }
  return PZ_OK;
}

static pz_status gz_convert(const char *path, const char *dataset, pz_volume_source *source, pz_error *err) {
  (void)dataset;
  const int64_t bytes = pz_volume_plane_bytes(source->info);
  char *plane = malloc((size_t)bytes);
  if (!plane) return pz_fail_memory(err, "a plane", (unsigned long long)bytes);
  errno = 0;
  gzFile out = gzopen(path, "wb1");
  pz_status status;
  if (out) {
    status = gz_planes(out, path, source, plane, err);
    errno = 0;
    if (gzclose(out) != Z_OK && status == PZ_OK)
      status = pz_io_fail(err, path, "writing", errno ? errno : EIO);
  } else
    status =
        errno ? pz_io_fail(err, path, "creating", errno) : pz_fail_memory(err, "a gzip stream", GZ_MEMORY);
  free(plane);
  return status;
}

const pz_volume_format pz_volume_nifti = {
    .name = "nifti",
    .suffixes = {".nii"},
    .open = nifti_open,
    .read = nifti_read,
    .close = nifti_close,
    .hold = pz_nifti_hold,
    .lay_out = nifti_lay_out,
};

const pz_volume_format pz_volume_nifti_gz = {
    .name = "nifti-gz",
    .suffixes = {".nii.gz"},
    .open = gz_open,
    .read = nifti_read,
    .close = nifti_close,
    .hold = pz_nifti_hold,
    .convert = gz_convert,
};
