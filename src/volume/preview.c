#include "volume/preview.h"

#include "formats/convert.h"
#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whole numbers of a network are labels, as its argmax gives them. */
static bool are_labels(const pz_run *r) {
  const pz_store store = r->options->store;
  const bool whole = r->layout.typed && r->function->given.scale == 1;
  return store == PZ_STORE_ARGMAX || store == PZ_STORE_THRESHOLD || whole;
}

/* Of the result. */
static int64_t shown_plane(const pz_run *r) { return r->layout.result.shape[0] / 2; }

/* ------------------------------------------------------------------ what a callback takes */

static void take_box(pz_run *r, const pz_box *box, const char *voxels, const int64_t stride[3]) {
  const int64_t z = shown_plane(r) - box->start[0];
  if (z < 0 || z >= box->size[0]) return;
  for (int64_t c = 0; c < r->layout.result.channels; c++)
    pz_picture_put_result(&r->picture, c, box->start + 1, box->size + 1,
                          voxels + c * stride[0] + z * stride[1], stride[2]);
}

static bool write_through(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]) {
  pz_run *r = host;
  take_box(r, box, voxels, stride);
  return r->taker->write(r->taker->host, box, voxels, stride);
}

pz_status pz_run_begin_preview(pz_run *r, pz_error *err) {
  const pz_volume_info *result = &r->layout.result;
  if (!r->options->preview) return PZ_OK;
  PZ_TRY(pz_picture_check_path(r->options->preview, err));
  PZ_TRY(
      pz_picture_begin(result->shape + 1, result->dtype, result->channels, are_labels(r), &r->picture, err));
  if (!r->sink) return PZ_OK;
  r->taker = r->sink, r->through = *r->sink;
  r->through.write = write_through, r->through.host = r;
  r->sink = &r->through;
  return PZ_OK;
}

/* ------------------------------------------------------------------ planes that are read */

enum { ROWS_BYTES = 4 << 20 };

/* Rows that are read at once, of so many bytes each. */
static int64_t rows_at_once(int64_t rows, int64_t row_bytes) {
  const int64_t n = row_bytes < ROWS_BYTES ? ROWS_BYTES / row_bytes : 1;
  return n < rows ? n : rows;
}

/* The first channel of the input where the result is. */
static pz_status take_input(pz_run *r, char *rows, float *values, int64_t most, pz_error *err) {
  const pz_volume_info *in = &r->input->info;
  const pz_axis *axis = r->layout.grid.axis;
  const int64_t high = r->layout.result.shape[1], wide = r->layout.result.shape[2],
                row = wide * pz_dtype_bytes(in->dtype), stride[3] = {most * row, most * row, row};
  pz_box box = {.size = {1, 0, wide}};
  for (int i = 0; i < 3; i++) box.start[i] = r->layout.view.start[i] + axis[i].origin;
  const int64_t first = box.start[1];
  box.start[0] += shown_plane(r);
  for (int64_t y = 0; y < high; y += box.size[1]) {
    box.start[1] = first + y, box.size[1] = most < high - y ? most : high - y;
    PZ_TRY(pz_volume_read(r->input, &box, rows, stride, err));
    pz_convert(in->dtype, rows, box.size[1] * wide, 0, 1, values);
    pz_picture_put_plane(&r->picture, y, box.size[1], values);
  }
  return PZ_OK;
}

static pz_status read_input(pz_run *r, pz_error *err) {
  const int64_t *shape = r->layout.result.shape;
  const int64_t row = shape[2] * r->input->info.channels * pz_dtype_bytes(r->input->info.dtype),
                most = rows_at_once(shape[1], row);
  char *rows = malloc((size_t)(most * (row + shape[2] * 4)));
  if (!rows) return pz_fail_memory(err, "rows of the preview", (unsigned long long)(most * row));
  /* Elements are aligned for whatever they are: floats come first. */
  float *values = (float *)(void *)rows;
  const pz_status status = take_input(r, rows + most * shape[2] * 4, values, most, err);
  free(rows);
  return status;
}

/* Rows of a channel of the result, from the planes that are collected, or from the finished file. */
typedef struct result_rows {
  pz_volume_source source;
  pz_volume *file; /* or NULL */
} result_rows;

static pz_status take_channel(pz_run *r, result_rows *from, int64_t channel, char *rows, int64_t most,
                              pz_error *err) {
  const pz_volume_info *info = &r->layout.result;
  const int64_t row = info->shape[2] * pz_dtype_bytes(info->dtype), high = info->shape[1];
  const int64_t stride[3] = {most * row, most * row, row};
  pz_box box = {.start = {shown_plane(r)}, .size = {1, 0, info->shape[2]}};
  for (int64_t y = 0; y < high; y += box.size[1]) {
    box.start[1] = y, box.size[1] = most < high - y ? most : high - y;
    if (from->file) PZ_TRY(pz_volume_read(from->file, &box, rows, stride, err));
    else PZ_TRY(pz_volume_source_box(&from->source, channel, &box, rows, err));
    for (int64_t c = channel; c < (from->file ? info->channels : channel + 1); c++)
      pz_picture_put_result(&r->picture, c, box.start + 1, box.size + 1, rows + (c - channel) * stride[0],
                            row);
  }
  return PZ_OK;
}

/* A file gives all channels at once. */
static pz_status take_result(pz_run *r, result_rows *from, pz_error *err) {
  const pz_volume_info *info = &r->layout.result;
  const int64_t channels = from->file ? info->channels : 1,
                row = info->shape[2] * channels * pz_dtype_bytes(info->dtype),
                most = rows_at_once(info->shape[1], row);
  char *rows = malloc((size_t)(most * row));
  if (!rows) return pz_fail_memory(err, "rows of the preview", (unsigned long long)(most * row));
  pz_status status = PZ_OK;
  for (int64_t c = 0; c < info->channels && status == PZ_OK; c += channels)
    status = take_channel(r, from, c, rows, most, err);
  free(rows);
  return status;
}

static pz_status read_planes(pz_run *r, pz_error *err) {
  result_rows from = {
      .source = {.path = r->result_path, .info = &r->layout.result, .offset = r->result_offset}};
  from.source.fd = open(r->result_path, O_RDONLY | O_CLOEXEC);
  if (from.source.fd < 0) return pz_io_fail(err, r->result_path, "opening", errno);
  const pz_status status = take_result(r, &from, err);
  close(from.source.fd);
  return status;
}

static pz_status read_finished(pz_run *r, pz_error *err) {
  const pz_volume_path *o = &r->output;
  const pz_volume_info *want = &r->layout.result;
  result_rows from = {.file = NULL};
  const char *path = o->dataset ? pz_arena_printf(r->arena, "%s:%s", o->file, o->dataset) : o->file;
  if (!path) return pz_fail_memory(err, "a path", 0);
  PZ_TRY(pz_volume_open(path, &from.file, err));
  const pz_volume_info *got = &from.file->info;
  const bool same = got->dtype == want->dtype && got->channels == want->channels &&
                    memcmp(got->shape, want->shape, sizeof got->shape) == 0;
  const pz_status status = same ? take_result(r, &from, err)
                                : pz_fail(err, PZ_ERROR_INPUT, "%s: is not the result that it was", path);
  pz_volume_close(from.file);
  return status;
}

pz_status pz_run_take_preview(pz_run *r, pz_error *err) {
  if (!r->options->preview) return PZ_OK;
  if (!r->sink) PZ_TRY(r->finished ? read_finished(r, err) : read_planes(r, err));
  return read_input(r, err);
}

/* What went to a callback is gone. */
pz_status pz_run_write_preview(pz_run *r, pz_error *err) {
  const char *path = r->options->preview;
  if (!path) return PZ_OK;
  if (!pz_picture_is_whole(&r->picture)) {
    pz_notes_add(&r->input->notes,
                 "no preview was made: its plane of the result was written before this run went on");
    return PZ_OK;
  }
  pz_error e = {0};
  const pz_status status = pz_picture_write(&r->picture, path, &e);
  return status == PZ_OK ? PZ_OK
                         : pz_fail(err, status, "%s; the result is whole, without its preview", e.message);
}
