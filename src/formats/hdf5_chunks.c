#include "formats/hdf5_chunks.h"

#include "formats/hdf5_plugin.h"
#include "formats/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Zeros where a value that chunks are filled with is not defined. */
static void take_fill(hid_t plist, hid_t type, pz_hdf5_chunks *k) {
  memset(k->fill, 0, sizeof k->fill);
  if (H5Pget_fill_value(plist, type, k->fill) < 0) memset(k->fill, 0, sizeof k->fill);
  if (k->swap) pz_io_swap(k->fill, 1, k->filters.element);
}

/* NULL, or what is wrong. */
static const char *take_filter(pz_hdf5_chunks *k, hid_t plist, int i) {
  pz_hdf5_filter *f = &k->filters.filter[i];
  size_t values = PZ_HDF5_FILTER_VALUES;
  unsigned flags;
  *f = (pz_hdf5_filter){0};
  f->id = H5Pget_filter2(plist, (unsigned)i, &flags, &values, f->value, 0, NULL, NULL);
  f->values = (int)values;
  if (f->id < 0 || values > PZ_HDF5_FILTER_VALUES) return "have filters that cannot be read";
  if (pz_hdf5_filter_known(f->id) || pz_hdf5_plugin_take(f)) return NULL;
  const char *name = pz_hdf5_filter_name(f->id);
  snprintf(k->problem, sizeof k->problem,
           "are stored by filter %d (%s), whose plug-in is not installed; install it, as by \"pip install "
           "hdf5plugin\", and set HDF5_PLUGIN_PATH to the folder with its libraries (hdf5plugin.PLUGIN_PATH)",
           f->id, name ? name : "unknown");
  return k->problem;
}

const char *pz_hdf5_chunks_take(hid_t data, hid_t plist, hid_t type, pz_hdf5_chunks *k) {
  unsigned options = 1;
  k->data = data;
  k->layer_z = -1;
  k->filters.element = (int64_t)H5Tget_size(type);
  k->filters.count = H5Pget_nfilters(plist);
  if (k->filters.count < 0 || k->filters.count > PZ_HDF5_FILTERS) return "have more than eight filters";
  if (H5Pget_chunk_opts(plist, &options) < 0 || options) return "are stored without filters at the edges";
  for (int i = 0; i < k->filters.count; i++) {
    const char *problem = take_filter(k, plist, i);
    if (problem) return problem;
  }
  take_fill(plist, type, k);
  return pz_hdf5_filters_problem(&k->filters);
}

void pz_hdf5_chunks_free(pz_hdf5_chunks *k) {
  free(k->work[0]);
  free(k->layer);
}

/* ------------------------------------------------------------------ one chunk */

static pz_status damaged(const pz_hdf5_chunks *k, const int64_t at[PZ_AXES_RANK], const char *what,
                         pz_error *err) {
  char place[PZ_AXES_RANK * 24] = "";
  for (int i = 0, n = 0; i < k->rank; i++)
    n += snprintf(place + n, sizeof place - (size_t)n, "%s%lld", i ? ", " : "", (long long)at[i]);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: the chunk at [%s] %s", k->path, k->dataset, place, what);
}

static int64_t room(const pz_hdf5_chunks *k) { return pz_hdf5_chunk_room(k->filters.bytes); }

/* The chunk at `at` into one of the work buffers; NULL when nothing is stored there. */
static pz_status fetch(const pz_hdf5_chunks *k, const int64_t at[PZ_AXES_RANK], char **out, pz_error *err) {
  hsize_t offset[PZ_AXES_RANK], stored = 0;
  uint32_t skipped = 0;
  for (int i = 0; i < k->rank; i++) offset[i] = (hsize_t)at[i];
  *out = NULL;
  if (H5Dget_chunk_storage_size(k->data, offset, &stored) < 0 || stored == 0) return PZ_OK;
  if (stored > (hsize_t)room(k)) return damaged(k, at, "is larger than compression makes it", err);
  if (H5Dread_chunk(k->data, H5P_DEFAULT, offset, &skipped, k->work[0]) < 0)
    return damaged(k, at, "cannot be read: truncated", err);
  const char *problem = pz_hdf5_unfilter(&k->filters, skipped, (int64_t)stored, k->work, out);
  if (problem) return damaged(k, at, problem, err);
  if (k->swap) pz_io_swap(*out, k->filters.bytes / k->filters.element, k->filters.element);
  return PZ_OK;
}

/* ------------------------------------------------------------------ a layer */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The part of a chunk that is inside of the box, to where it belongs; of a chunk that is not stored, what it is filled with. */
static void place(const pz_hdf5_chunks *k, const char *chunk, const int64_t at[PZ_AXES_RANK],
                  const pz_array_box *box, char *to) {
  int64_t stride[PZ_AXES_RANK], count[PZ_AXES_RANK], size = k->filters.element;
  const char *from = chunk ? chunk : (const char *)k->fill;
  for (int i = k->rank - 1; i >= 0; i--) {
    const int64_t low = at[i] > box->start[i] ? at[i] : box->start[i];
    count[i] = least(at[i] + k->chunk[i], box->start[i] + box->count[i]) - low;
    to += (low - box->start[i]) * box->to[i];
    stride[i] = chunk ? size : 0;
    from += (low - at[i]) * stride[i];
    size *= k->chunk[i];
  }
  pz_copy_strided(from, stride, to, box->to, count, k->rank, k->filters.element);
}

/* All chunks that the box has a part of. */
static pz_status read_chunks(const pz_hdf5_chunks *k, const pz_array_box *box, int axis,
                             int64_t at[PZ_AXES_RANK], char *to, pz_error *err) {
  char *chunk;
  if (axis == k->rank) {
    PZ_TRY(fetch(k, at, &chunk, err));
    place(k, chunk, at, box, to);
    return PZ_OK;
  }
  const int64_t size = k->chunk[axis], end = box->start[axis] + box->count[axis];
  for (at[axis] = box->start[axis] / size * size; at[axis] < end; at[axis] += size)
    PZ_TRY(read_chunks(k, box, axis + 1, at, to, err));
  return PZ_OK;
}

static pz_status read_layer(const pz_hdf5_chunks *k, const pz_array_box *box, char *to, pz_error *err) {
  int64_t at[PZ_AXES_RANK];
  return read_chunks(k, box, 0, at, to, err);
}

static pz_status take_work(pz_hdf5_chunks *k, pz_error *err) {
  if (!k->work[0] && (k->work[0] = malloc((size_t)room(k) * 2))) k->work[1] = k->work[0] + room(k);
  return k->work[0] ? PZ_OK : pz_fail_memory(err, "chunks", (unsigned long long)room(k) * 2);
}

/* Bytes from one channel, plane, row and element of the layer to the next. */
typedef struct strides {
  int64_t of[4];
} strides;

static strides layer_strides(const pz_hdf5_chunks *k) {
  const int64_t element = k->filters.element, row = k->axes->shape[2] * element,
                plane = k->axes->shape[1] * row;
  return (strides){{k->depth * plane, plane, row, element}};
}

/* The layer's planes, from the volume's plane `first` on, all of them whole. */
static pz_status fill_layer(pz_hdf5_chunks *k, const pz_array_box *box, int64_t first, int64_t n,
                            pz_error *err) {
  const strides own = layer_strides(k);
  const int64_t bytes = k->axes->channels * own.of[0], start[4] = {0, first, 0, 0};
  const int64_t count[4] = {k->axes->channels, n, k->axes->shape[1], k->axes->shape[2]};
  pz_array_box layer = *box;
  if (k->layer_z == first) return PZ_OK;
  if (!k->layer && !(k->layer = malloc((size_t)bytes)))
    return pz_fail_memory(err, "a layer of chunks", (unsigned long long)bytes);
  for (int i = 0; i < 4; i++) {
    const int at = k->axes->of[i];
    if (at >= 0) layer.start[at] = start[i], layer.count[at] = count[i], layer.to[at] = own.of[i];
  }
  k->layer_z = -1;
  PZ_TRY(read_layer(k, &layer, k->layer, err));
  k->layer_z = first;
  return PZ_OK;
}

static void copy_layer(const pz_hdf5_chunks *k, const pz_array_box *box, char *to) {
  const strides own = layer_strides(k);
  int64_t from = -k->layer_z * own.of[1];
  int64_t count[4] = {1, 1, 1, 1}, stride[4] = {0};
  for (int i = 0; i < 4; i++) {
    const int at = k->axes->of[i];
    if (at < 0) continue;
    count[i] = box->count[at], stride[i] = box->to[at];
    from += box->start[at] * own.of[i];
  }
  pz_copy_strided(k->layer + from, own.of, to, stride, count, 4, k->filters.element);
}

static bool whole_planes(const pz_hdf5_chunks *k, const pz_array_box *box) {
  for (int i = 2; i < 4; i++)
    if (k->axes->of[i] >= 0 && box->count[k->axes->of[i]] < k->axes->shape[i - 1]) return false;
  return true;
}

/* What of the box lies in one layer, whose planes are first..first+n-1. */
static pz_status read_part(pz_hdf5_chunks *k, bool keep, const pz_array_box *part, int64_t planes,
                           int64_t first, int64_t n, char *to, pz_error *err) {
  /* A whole layer goes where it belongs at once. */
  if (!keep || (k->layer_z != first && (planes == n || !whole_planes(k, part))))
    return read_layer(k, part, to, err);
  PZ_TRY(fill_layer(k, part, first, n, err));
  copy_layer(k, part, to);
  return PZ_OK;
}

pz_status pz_hdf5_chunks_read(pz_hdf5_chunks *k, bool keep, const pz_array_box *box, void *to,
                              pz_error *err) {
  const int axis = k->axes->of[1];
  PZ_TRY(take_work(k, err));
  if (axis < 0) return read_part(k, keep, box, 1, 0, 1, to, err);
  pz_array_box part = *box;
  const int64_t end = box->start[axis] + box->count[axis], deep = k->chunk[axis];
  for (int64_t z = box->start[axis]; z < end; z += part.count[axis]) {
    const int64_t first = z / deep * deep;
    part.start[axis] = z, part.count[axis] = least(end, first + deep) - z;
    PZ_TRY(read_part(k, keep, &part, part.count[axis], first, least(k->depth, k->axes->shape[0] - first),
                     (char *)to + (z - box->start[axis]) * box->to[axis], err));
  }
  return PZ_OK;
}
