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
                  const pz_box *box, char *to) {
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
static pz_status read_chunks(const pz_hdf5_chunks *k, const pz_box *box, int axis, int64_t at[PZ_AXES_RANK],
                             char *to, pz_error *err) {
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

static pz_status read_layer(const pz_hdf5_chunks *k, const pz_box *box, char *to, pz_error *err) {
  int64_t at[PZ_AXES_RANK];
  return read_chunks(k, box, 0, at, to, err);
}

static pz_status take_memory(pz_hdf5_chunks *k, bool keep, pz_error *err) {
  const int64_t layer = k->channels * k->depth * k->plane;
  if (!k->work[0] && (k->work[0] = malloc((size_t)room(k) * 2))) k->work[1] = k->work[0] + room(k);
  if (!k->work[0]) return pz_fail_memory(err, "chunks", (unsigned long long)room(k) * 2);
  if (keep && !k->layer) k->layer = malloc((size_t)layer);
  if (keep && !k->layer) return pz_fail_memory(err, "a layer of chunks", (unsigned long long)layer);
  return PZ_OK;
}

/* The box's planes z..z+n-1. */
static pz_box planes_of(const pz_hdf5_chunks *k, const pz_box *box, int64_t z, int64_t n) {
  pz_box part = *box;
  if (k->z >= 0) part.start[k->z] = z, part.count[k->z] = n;
  return part;
}

static pz_status fill_layer(pz_hdf5_chunks *k, const pz_box *box, int64_t first, pz_error *err) {
  pz_box layer = planes_of(k, box, first, least(k->depth, k->planes - first));
  if (k->layer_z == first) return PZ_OK;
  k->layer_z = -1;
  if (k->z >= 0) layer.to[k->z] = k->plane;
  if (k->c >= 0) layer.to[k->c] = k->depth * k->plane;
  PZ_TRY(read_layer(k, &layer, k->layer, err));
  k->layer_z = first;
  return PZ_OK;
}

pz_status pz_hdf5_chunks_read(pz_hdf5_chunks *k, bool keep, const pz_box *box, void *to, pz_error *err) {
  const int64_t z = k->z < 0 ? 0 : box->start[k->z], n = k->z < 0 ? 1 : box->count[k->z],
                deep = k->z < 0 ? 1 : k->chunk[k->z], channel_bytes = k->c < 0 ? 0 : box->to[k->c];
  PZ_TRY(take_memory(k, keep, err));
  for (int64_t done = 0; done < n;) {
    const int64_t first = (z + done) / deep * deep, now = least(n - done, first + deep - z - done);
    char *part = (char *)to + done * k->plane;
    const pz_box planes = planes_of(k, box, z + done, now);
    /* A whole layer goes where it belongs at once. */
    if (!keep || (now == least(k->depth, k->planes - first) && k->layer_z != first))
      PZ_TRY(read_layer(k, &planes, part, err));
    else {
      PZ_TRY(fill_layer(k, box, first, err));
      for (int64_t c = 0; c < k->channels; c++)
        memcpy(part + c * channel_bytes, k->layer + (c * k->depth + z + done - first) * k->plane,
               (size_t)(now * k->plane));
    }
    done += now;
  }
  return PZ_OK;
}
