#include "import/caffe/h5_chunks.h"
#include "formats/hdf5_filters.h"
#include <stdlib.h>
#include <string.h>

typedef struct chunks {
  hid_t data, type;
  int rank;
  hsize_t dim[PZ_CAFFE_FILE_RANK], chunk[PZ_CAFFE_FILE_RANK], at[PZ_CAFFE_FILE_RANK];
  size_t elements; /* of a chunk */
  float fill;
  pz_hdf5_filters filters;
  char *work[2]; /* with room for a chunk as it is stored and as floats */
  float *out;
} chunks;

/* ---- what they are like ---- */

static bool filters_known(hid_t creation, pz_hdf5_filters *filters) {
  filters->count = H5Pget_nfilters(creation);
  if (filters->count < 0 || filters->count > PZ_HDF5_FILTERS) return false;
  for (int i = 0; i < filters->count; i++) {
    pz_hdf5_filter *f = &filters->filter[i];
    unsigned flags = 0;
    size_t values = PZ_HDF5_FILTER_VALUES;
    *f = (pz_hdf5_filter){0};
    f->id = H5Pget_filter2(creation, (unsigned)i, &flags, &values, f->value, 0, NULL, NULL);
    f->values = (int)values;
    if (values > PZ_HDF5_FILTER_VALUES || !pz_hdf5_filter_known(f->id)) return false;
  }
  return true;
}

static bool chunks_bounded(hid_t creation, const pz_caffe_file_shape *shape) {
  hsize_t chunk[PZ_CAFFE_FILE_RANK];
  if (H5Pget_chunk(creation, shape->rank, chunk) != shape->rank) return false;
  for (int32_t i = 0; i < shape->rank; i++)
    if (chunk[i] < 1 || chunk[i] > (hsize_t)shape->dim[i]) return false;
  return true;
}

const char *pz_caffe_h5_chunks_problem(hid_t creation, const pz_caffe_file_shape *shape) {
  pz_hdf5_filters filters;
  unsigned options = 1;
  if (!filters_known(creation, &filters)) return "is stored by a filter that is not accepted";
  if (!chunks_bounded(creation, shape)) return "has chunks larger than itself";
  if (H5Pget_chunk_opts(creation, &options) < 0 || options)
    return "leaves filters out at its edges, which is not accepted";
  return NULL;
}

/* Sizes were looked at before: no larger than the dataset, which is in memory. */
static bool describe(chunks *c) {
  hid_t creation = H5Dget_create_plist(c->data), space = H5Dget_space(c->data);
  c->rank = H5Pget_chunk(creation, PZ_CAFFE_FILE_RANK, c->chunk);
  bool good = creation >= 0 && space >= 0 && c->type >= 0 && c->rank >= 1 && c->rank <= PZ_CAFFE_FILE_RANK &&
              H5Sget_simple_extent_ndims(space) == c->rank &&
              H5Sget_simple_extent_dims(space, c->dim, NULL) == c->rank &&
              filters_known(creation, &c->filters);
  if (good && H5Pget_fill_value(creation, H5T_NATIVE_FLOAT, &c->fill) < 0) c->fill = 0;
  if (creation >= 0) H5Pclose(creation);
  if (space >= 0) H5Sclose(space);
  c->elements = 1;
  for (int i = 0; i < c->rank && good; i++) c->elements *= c->chunk[i];
  c->filters.element = good ? (int64_t)H5Tget_size(c->type) : 0;
  c->filters.bytes = (int64_t)c->elements * c->filters.element;
  return good && c->filters.element > 0 && !pz_hdf5_filters_problem(&c->filters);
}

static pz_status take_memory(chunks *c, pz_error *err) {
  size_t floats = c->elements * sizeof(float), room = (size_t)pz_hdf5_chunk_room(c->filters.bytes);
  if (room < floats) room = floats;
  c->work[0] = malloc(2 * room);
  if (!c->work[0]) return pz_fail_memory(err, "chunks", 2 * room);
  c->work[1] = c->work[0] + room;
  return PZ_OK;
}

/* ---- reading ---- */

/* *values is NULL where nothing is stored. Returns NULL, or what is wrong. */
static const char *fetch(chunks *c, float **values) {
  hsize_t stored = 0;
  uint32_t skipped = 0;
  char *chunk;
  *values = NULL;
  if (H5Dget_chunk_storage_size(c->data, c->at, &stored) < 0 || stored == 0) return NULL;
  if (stored > (hsize_t)pz_hdf5_chunk_room(c->filters.bytes))
    return "has a chunk that is larger than compression makes it";
  if (H5Dread_chunk(c->data, H5P_DEFAULT, c->at, &skipped, c->work[0]) < 0)
    return "cannot be read: truncated or damaged";
  if (pz_hdf5_unfilter(&c->filters, skipped, (int64_t)stored, c->work, &chunk))
    return "has a chunk that is damaged: it cannot be decompressed";
  if (H5Tconvert(c->type, H5T_NATIVE_FLOAT, c->elements, chunk, NULL, H5P_DEFAULT) < 0)
    return "has numbers that cannot be converted";
  *values = (float *)chunk;
  return NULL;
}

/* One row of the chunk: the axes before the last stand at `in` in it. */
static void place_row(const chunks *c, const hsize_t *in, const float *values) {
  int last = c->rank - 1;
  hsize_t from = 0, to = 0, left = c->dim[last] - c->at[last], wide = c->chunk[last];
  if (wide > left) wide = left;
  for (int i = 0; i <= last; i++) {
    from = from * c->chunk[i] + (i < last ? in[i] : 0);
    to = to * c->dim[i] + c->at[i] + (i < last ? in[i] : 0);
  }
  if (values) memcpy(c->out + to, values + from, wide * sizeof(float));
  else
    for (hsize_t x = 0; x < wide; x++) c->out[to + x] = c->fill;
}

/* Counts `at` up by `step` on `rank` axes, below `end`. False: it is through, and 0 again. */
static bool count_up(hsize_t *at, const hsize_t *step, const hsize_t *end, int rank) {
  for (int i = rank - 1; i >= 0; i--) {
    at[i] += step ? step[i] : 1;
    if (at[i] < end[i]) return true;
    at[i] = 0;
  }
  return false;
}

/* The part of the chunk that is inside of the dataset. */
static void place(const chunks *c, const float *values) {
  hsize_t in[PZ_CAFFE_FILE_RANK] = {0}, end[PZ_CAFFE_FILE_RANK];
  for (int i = 0; i < c->rank; i++) {
    hsize_t left = c->dim[i] - c->at[i];
    end[i] = c->chunk[i] < left ? c->chunk[i] : left;
  }
  do place_row(c, in, values);
  while (count_up(in, NULL, end, c->rank - 1));
}

static const char *read_all(chunks *c) {
  do {
    float *values;
    const char *problem = fetch(c, &values);
    if (problem) return problem;
    place(c, values);
  } while (count_up(c->at, c->chunk, c->dim, c->rank));
  return NULL;
}

pz_status pz_caffe_h5_chunks_read(hid_t dataset, float *out, const char **problem, pz_error *err) {
  chunks c = {.data = dataset, .type = H5Dget_type(dataset), .out = out};
  pz_status status = PZ_OK;
  *problem = describe(&c) ? NULL : "cannot be read: damaged";
  if (!*problem) status = take_memory(&c, err);
  if (!*problem && status == PZ_OK) *problem = read_all(&c);
  free(c.work[0]);
  if (c.type >= 0) H5Tclose(c.type);
  return status;
}
