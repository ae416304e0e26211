#include "formats/sink.h"

#include "formats/io.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a box that lie together in the raw planes, and at `stride` in memory, and the rows and planes that they are: a part of a row,
 * whole rows, or whole planes. */
typedef struct run {
  int64_t planes, rows, bytes;
} run;

static run run_of(const pz_volume_info *info, const pz_box *box, const int64_t stride[3]) {
  run r = {1, 1, box->size[2] * pz_dtype_bytes(info->dtype)};
  if (box->size[2] < info->shape[2] || stride[2] != r.bytes) return r;
  r.rows = box->size[1], r.bytes *= r.rows;
  if (box->size[1] < info->shape[1] || stride[1] != r.bytes) return r;
  r.planes = box->size[0], r.bytes *= r.planes;
  return r;
}

/* Where voxel (z, y, x) of a channel lies in the raw planes. */
static int64_t place_of(const pz_volume_info *info, int64_t channel, int64_t z, int64_t y, int64_t x) {
  return (((channel * info->shape[0] + z) * info->shape[1] + y) * info->shape[2] + x) *
         pz_dtype_bytes(info->dtype);
}

/* ------------------------------------------------------------------ writing */

static pz_status write_file(const pz_sink *s, const pz_box *box, const void *voxels, const int64_t stride[3],
                            pz_error *err) {
  const run r = run_of(s->info, box, stride);
  for (int64_t c = 0; c < s->info->channels; c++)
    for (int64_t z = 0; z < box->size[0]; z += r.planes)
      for (int64_t y = 0; y < box->size[1]; y += r.rows) {
        const char *from = (const char *)voxels + c * stride[0] + z * stride[1] + y * stride[2];
        const int64_t at =
            s->offset + place_of(s->info, c, box->start[0] + z, box->start[1] + y, box->start[2]);
        PZ_TRY(pz_io_write(s->fd, s->path, from, r.bytes, at, err));
        pz_io_begin_sync(s->fd, r.bytes, at);
      }
  return PZ_OK;
}

static pz_status write_calls(const pz_sink *s, const pz_box *box, const void *voxels, const int64_t stride[3],
                             pz_error *err) {
  if (s->calls->write(s->calls->host, box, voxels, stride)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "the result: its writer failed at planes %lld to %lld",
                 (long long)box->start[0], (long long)(box->start[0] + box->size[0] - 1));
}

pz_sink pz_sink_to_file(const pz_volume_info *info, int fd, const char *path, int64_t offset) {
  pz_sink s = {.info = info, .write = write_file, .path = path, .fd = fd, .offset = offset};
  memcpy(s.step, (const int64_t[3]){1, 1, info->shape[2]}, sizeof s.step);
  return s;
}

/* The step was looked at when the run began. */
pz_sink pz_sink_to_calls(const pz_volume_info *info, const pz_volume_writer *calls) {
  pz_sink s = {.info = info, .write = write_calls, .path = "the result", .calls = calls, .fd = -1};
  for (int i = 0; i < 3; i++)
    s.step[i] = calls->step[i] < 1 ? 1 : calls->step[i] < info->shape[i] ? calls->step[i] : info->shape[i];
  return s;
}

pz_status pz_step_of(const int64_t wanted[3], const int64_t shape[3], int64_t step[3], pz_error *err) {
  for (int i = 0; i < 3; i++) {
    if (wanted[i] < 0)
      return pz_fail(err, PZ_ERROR_USAGE,
                     "pz_net_infer: a negative step of a reader or writer; expected voxels");
    step[i] = wanted[i] == 0 && i == 0 ? 1 : wanted[i] == 0 || wanted[i] > shape[i] ? shape[i] : wanted[i];
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ reading back */

pz_status pz_volume_source_read(pz_volume_source *source, int64_t channel, const pz_box *box, void *voxels,
                                pz_error *err) {
  if (source->go_on && !source->go_on(source->host, source->done))
    return pz_fail(err, PZ_INTERRUPTED, "interrupted while writing");
  if (box->start[1] == 0 && box->start[2] == 0) source->done += box->size[0];
  return pz_volume_source_box(source, channel, box, voxels, err);
}

pz_status pz_volume_source_box(const pz_volume_source *source, int64_t channel, const pz_box *box,
                               void *voxels, pz_error *err) {
  const pz_volume_info *info = source->info;
  const int64_t row = box->size[2] * pz_dtype_bytes(info->dtype), plane = box->size[1] * row;
  const run r = run_of(info, box, (const int64_t[3]){0, plane, row});
  for (int64_t z = 0; z < box->size[0]; z += r.planes)
    for (int64_t y = 0; y < box->size[1]; y += r.rows) {
      const int64_t at = place_of(info, channel, box->start[0] + z, box->start[1] + y, box->start[2]);
      PZ_TRY(pz_io_read(source->fd, source->path, (char *)voxels + z * plane + y * row, r.bytes,
                        source->offset + at, err));
    }
  return PZ_OK;
}

static pz_status plane_in_strips(pz_volume_source *source, int64_t channel, int64_t z, char *strip,
                                 pz_volume_take take, void *host, pz_error *err) {
  const pz_volume_info *info = source->info;
  const int64_t rows = pz_volume_strip_rows(info);
  pz_box box = {.start = {z, 0, 0}, .size = {1, rows, info->shape[2]}};
  for (int64_t y = 0; y < info->shape[1]; y += rows) {
    box.start[1] = y;
    if (box.size[1] > info->shape[1] - y) box.size[1] = info->shape[1] - y;
    const int64_t bytes = box.size[1] * box.size[2] * pz_dtype_bytes(info->dtype);
    PZ_TRY(pz_volume_source_read(source, channel, &box, strip, err));
    PZ_TRY(take(host, strip, bytes, place_of(info, channel, z, y, 0), err));
  }
  return PZ_OK;
}

pz_status pz_volume_source_strips(pz_volume_source *source, pz_volume_take take, void *host, pz_error *err) {
  const pz_volume_info *info = source->info;
  const int64_t bytes = pz_volume_strip_bytes(info);
  char *strip = malloc((size_t)bytes);
  pz_status status = strip ? PZ_OK : pz_fail_memory(err, "a strip", (unsigned long long)bytes);
  for (int64_t c = 0; c < info->channels; c++)
    for (int64_t z = 0; z < info->shape[0] && status == PZ_OK; z++)
      status = plane_in_strips(source, c, z, strip, take, host, err);
  free(strip);
  return status;
}
