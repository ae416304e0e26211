#include "volume/hdf5_chunks.h"

#include "volume/hdf5_plugin.h"
#include "volume/io.h"

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

static pz_status damaged(const pz_hdf5_chunks *k, const int64_t at[4], const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: the chunk at z = %lld, y = %lld, x = %lld %s", k->path,
                 k->dataset, (long long)at[1], (long long)at[2], (long long)at[3], what);
}

static int64_t room(const pz_hdf5_chunks *k) { return pz_hdf5_chunk_room(k->filters.bytes); }

/* The chunk at `at` into one of the work buffers; NULL when nothing is stored there. */
static pz_status fetch(const pz_hdf5_chunks *k, const int64_t at[4], char **out, pz_error *err) {
  hsize_t offset[4], stored = 0;
  uint32_t skipped = 0;
  for (int i = 0; i < 4; i++) offset[i] = (hsize_t)at[i];
  *out = NULL;
  if (H5Dget_chunk_storage_size(k->data, offset + k->skip, &stored) < 0 || stored == 0) return PZ_OK;
  if (stored > (hsize_t)room(k)) return damaged(k, at, "is larger than compression makes it", err);
  if (H5Dread_chunk(k->data, H5P_DEFAULT, offset + k->skip, &skipped, k->work[0]) < 0)
    return damaged(k, at, "cannot be read: truncated", err);
  const char *problem = pz_hdf5_unfilter(&k->filters, skipped, (int64_t)stored, k->work, out);
  if (problem) return damaged(k, at, problem, err);
  if (k->swap) pz_io_swap(*out, k->filters.bytes / k->filters.element, k->filters.element);
  return PZ_OK;
}

/* ------------------------------------------------------------------ a layer */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The part of a chunk that is inside of planes z..z+n-1 (and of the volume), to where it belongs. */
static void place(const pz_hdf5_chunks *k, const char *chunk, const int64_t at[4], int64_t z, int64_t n,
                  char *planes, int64_t channel_bytes) {
  const int64_t e = k->filters.element, wide = least(k->chunk[3], k->shape[3] - at[3]);
  const int64_t last_z = least(at[1] + k->chunk[1], z + n), last_y = least(at[2] + k->chunk[2], k->shape[2]);
  for (int64_t c = at[0]; c < least(at[0] + k->chunk[0], k->shape[0]); c++)
    for (int64_t i = at[1] > z ? at[1] : z; i < last_z; i++)
      for (int64_t y = at[2]; y < last_y; y++) {
        char *to = planes + c * channel_bytes + (((i - z) * k->shape[2] + y) * k->shape[3] + at[3]) * e;
        const int64_t from =
            (((c - at[0]) * k->chunk[1] + i - at[1]) * k->chunk[2] + y - at[2]) * k->chunk[3];
        if (chunk) memcpy(to, chunk + from * e, (size_t)(wide * e));
        for (int64_t x = 0; !chunk && x < wide; x++) memcpy(to + x * e, k->fill, (size_t)e);
      }
}

/* All chunks of the layer that begins at plane `first`. */
static pz_status read_layer(const pz_hdf5_chunks *k, int64_t first, int64_t z, int64_t n, char *planes,
                            int64_t channel_bytes, pz_error *err) {
  char *chunk;
  int64_t at[4] = {0, first, 0, 0};
  for (at[0] = 0; at[0] < k->shape[0]; at[0] += k->chunk[0])
    for (at[2] = 0; at[2] < k->shape[2]; at[2] += k->chunk[2])
      for (at[3] = 0; at[3] < k->shape[3]; at[3] += k->chunk[3]) {
        PZ_TRY(fetch(k, at, &chunk, err));
        place(k, chunk, at, z, n, planes, channel_bytes);
      }
  return PZ_OK;
}

static int64_t layer_depth(const pz_hdf5_chunks *k) { return least(k->chunk[1], k->shape[1]); }

static pz_status take_memory(pz_hdf5_chunks *k, bool keep, pz_error *err) {
  const int64_t plane = k->shape[2] * k->shape[3] * k->filters.element;
  if (!k->work[0] && (k->work[0] = malloc((size_t)room(k) * 2))) k->work[1] = k->work[0] + room(k);
  if (!k->work[0]) return pz_fail_memory(err, "chunks", (unsigned long long)room(k) * 2);
  if (keep && !k->layer) k->layer = malloc((size_t)(k->shape[0] * layer_depth(k) * plane));
  if (keep && !k->layer)
    return pz_fail_memory(err, "a layer of chunks",
                          (unsigned long long)(k->shape[0] * layer_depth(k) * plane));
  return PZ_OK;
}

static pz_status fill_layer(pz_hdf5_chunks *k, int64_t first, pz_error *err) {
  const int64_t plane = k->shape[2] * k->shape[3] * k->filters.element,
                n = least(layer_depth(k), k->shape[1] - first);
  if (k->layer_z == first) return PZ_OK;
  k->layer_z = -1;
  PZ_TRY(read_layer(k, first, first, n, k->layer, layer_depth(k) * plane, err));
  k->layer_z = first;
  return PZ_OK;
}

pz_status pz_hdf5_chunks_read(pz_hdf5_chunks *k, bool keep, int64_t z, int64_t n, void *planes,
                              int64_t channel_bytes, pz_error *err) {
  const int64_t plane = k->shape[2] * k->shape[3] * k->filters.element, depth = layer_depth(k);
  PZ_TRY(take_memory(k, keep, err));
  for (int64_t done = 0; done < n;) {
    const int64_t first = (z + done) / k->chunk[1] * k->chunk[1],
                  now = least(n - done, first + k->chunk[1] - z - done);
    char *to = (char *)planes + done * plane;
    /* A whole layer goes where it belongs at once. */
    if (!keep || (now == least(depth, k->shape[1] - first) && k->layer_z != first))
      PZ_TRY(read_layer(k, first, z + done, now, to, channel_bytes, err));
    else {
      PZ_TRY(fill_layer(k, first, err));
      for (int64_t c = 0; c < k->shape[0]; c++)
        memcpy(to + c * channel_bytes, k->layer + (c * depth + z + done - first) * plane,
               (size_t)(now * plane));
    }
    done += now;
  }
  return PZ_OK;
}
