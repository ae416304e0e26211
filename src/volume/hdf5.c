/* hdf5.c: a dataset of an HDF5 file. Reading goes through the HDF5 library, but for filters of chunks, which are undone here;
 * one layer of chunks is kept, so that no chunk is decompressed twice. Writing lays the file out with one contiguous dataset, whose
 * place in the file the library tells; the planes are then written there like those of any raw format. */
#include "base/hdf5_check.h"
#include "volume/hdf5_chunks.h"
#include "volume/hdf5_join.h"
#include "volume/hdf5_list.h"
#include "volume/hdf5_quiet.h"
#include "volume/hdf5_type.h"
#include "volume/io.h"
#include "volume/volume.h"

#include <fcntl.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VOXEL_ATTRIBUTE                                                                                      \
  "element_size_um" /* z, y, x in micrometres, as ilastik and the HDF5 plug-in of Fiji write it */

enum { MAX_CHUNK = 1 << 30 };

typedef struct h5 {
  hid_t file, data, space, type;
  int rank;
  hsize_t chunk[4];
  bool chunked;
  bool keep; /* a layer of chunks is kept */
  pz_hdf5_chunks chunks;
} h5;

#define quiet  pz_hdf5_quiet
#define hush   pz_hdf5_hush
#define unhush pz_hdf5_unhush

static pz_status fail(pz_error *err, const char *path, const char *dataset, const char *what) {
  return pz_hdf5_fail(err, PZ_ERROR_INPUT, path, dataset, what);
}

/* ------------------------------------------------------------------ finding the dataset */

enum { LIST_TEXT = 700 };

static pz_status list_in_words(const pz_hdf5_search *search, pz_hdf5_list **list, char text[LIST_TEXT]) {
  PZ_TRY(pz_hdf5_list_datasets(search, list));
  pz_hdf5_print_list(*list, text, LIST_TEXT);
  return PZ_OK;
}

static pz_status choose(pz_volume *v, const pz_hdf5_list *l, const char *text, pz_error *err) {
  if (l->datasets == 0 && !l->complete) return pz_fail(err, PZ_ERROR_INPUT, "%s", l->problem.message);
  if (l->datasets == 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: holds no dataset", v->path);
  if (l->volumes == 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: holds no dataset that can be a volume; it holds %s", v->path,
                   text);
  if (l->volumes > 1)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: holds more than one dataset; name one, as in %s:/name; it holds %s", v->path, v->path,
                   text);
  if (!l->complete || !*l->volume)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: not all it holds can be listed; name a dataset, as in %s:/name; it holds %s", v->path,
                   v->path, text);
  v->dataset = pz_arena_strdup(v->arena, l->volume);
  return v->dataset ? PZ_OK : pz_fail_memory(err, "a dataset's name", sizeof l->volume);
}

/* Without a name, the only dataset is meant that can be a volume. */
static pz_status find_dataset(pz_volume *v, const pz_hdf5_search *search, pz_error *err) {
  char text[LIST_TEXT];
  pz_hdf5_list *list;
  if (v->dataset) return PZ_OK;
  PZ_TRY(list_in_words(search, &list, text));
  const pz_status status = choose(v, list, text, err);
  free(list);
  return status;
}

/* Where there is none of the name, the message says which there are. */
static pz_status open_dataset(pz_volume *v, const pz_hdf5_search *search, bool *plain_attributes,
                              pz_error *err) {
  h5 *h = v->state;
  pz_error problem = {0};
  pz_hdf5_search named = *search;
  bool missing = false;
  char text[LIST_TEXT];
  pz_hdf5_list *list;
  named.err = &problem, named.missing = &missing;
  const pz_status status = pz_hdf5_open_dataset(&named, v->dataset, &h->data, plain_attributes);
  if (status == PZ_OK) return PZ_OK;
  if (!missing) return pz_fail(err, status, "%s", problem.message);
  PZ_TRY(list_in_words(search, &list, text));
  const bool any = list->datasets > 0;
  free(list);
  return pz_fail(err, status, "%s; the file holds %s", problem.message, any ? text : "no dataset");
}

/* ------------------------------------------------------------------ reading */

static pz_status dtype_of(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  h->type = H5Dget_type(h->data);
  if (h->type < 0) return fail(err, v->path, v->dataset, "cannot read the type");
  if (pz_hdf5_known_type(h->type, &v->info.dtype, &h->chunks.swap)) return PZ_OK;
  char seen[64];
  pz_hdf5_describe_type(h->type, seen, sizeof seen);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: its elements are %s each; expected " PZ_DTYPES_IN_WORDS,
                 v->path, v->dataset, seen);
}

static pz_status shape_of(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  hsize_t size[H5S_MAX_RANK];
  int64_t dim[4] = {0};
  h->space = H5Dget_space(h->data);
  h->rank = h->space < 0 ? -1 : H5Sget_simple_extent_dims(h->space, size, NULL);
  if (h->rank < 0) return fail(err, v->path, v->dataset, "cannot read the shape");
  for (int i = 0; i < h->rank && i < 4; i++) dim[i] = size[i] > INT64_MAX ? INT64_MAX : (int64_t)size[i];
  return pz_volume_shape(v->path, h->rank, dim, &v->info, err);
}

/* The bytes of one layer of chunks, the planes that it spans, and whether that is bearable. */
static pz_status chunked(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  pz_hdf5_chunks *k = &h->chunks;
  const int64_t shape[4] = {v->info.channels, v->info.shape[0], v->info.shape[1], v->info.shape[2]};
  int64_t bytes = pz_dtype_bytes(v->info.dtype), layer = bytes;
  bool fits = true;
  k->path = v->path, k->dataset = v->dataset, k->skip = 4 - h->rank;
  for (int i = 0; i < 4; i++) {
    const hsize_t size = i < k->skip ? 1 : h->chunk[i - k->skip];
    fits = fits && size >= 1 && size < MAX_CHUNK && pz_mul_i64(bytes, (int64_t)size, &bytes);
    k->shape[i] = shape[i], k->chunk[i] = (int64_t)size;
    const int64_t whole = (shape[i] + (int64_t)size - 1) / (int64_t)size * (int64_t)size;
    if (fits) fits = pz_mul_i64(layer, i == 1 ? (int64_t)size : whole, &layer);
  }
  if (!fits || bytes > MAX_CHUNK)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: chunks of more than 1 GiB; expected smaller ones", v->path,
                   v->dataset);
  k->filters.bytes = bytes;
  v->step = k->chunk[1] < shape[1] ? k->chunk[1] : shape[1];
  /* While a chunk is filtered, a copy of it lives beside the cache. */
  v->cache_memory = layer;
  v->memory = layer + 3 * bytes + pz_hdf5_filters_memory(&k->filters) + (1 << 20);
  return PZ_OK;
}

static pz_status layout_of(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  const hid_t plist = H5Dget_create_plist(h->data);
  if (plist < 0) return fail(err, v->path, v->dataset, "cannot read the layout");
  const H5D_layout_t layout = H5Pget_layout(plist);
  const int external = H5Pget_external_count(plist);
  const int rank = layout == H5D_CHUNKED ? H5Pget_chunk(plist, 4, h->chunk) : h->rank;
  h->chunked = layout == H5D_CHUNKED;
  const char *problem = h->chunked ? pz_hdf5_chunks_take(h->data, plist, h->type, &h->chunks) : NULL;
  H5Pclose(plist);
  if (external != 0 || layout == H5D_VIRTUAL)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: the data lies in other files; copy it into one", v->path,
                   v->dataset);
  if (layout == H5D_LAYOUT_ERROR || rank != h->rank)
    return fail(err, v->path, v->dataset, "cannot read the layout");
  if (problem) return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: its chunks %s", v->path, v->dataset, problem);
  v->memory = 1 << 20;
  return h->chunked ? chunked(v, err) : PZ_OK;
}

static void voxel_size(pz_volume *v) {
  const h5 *h = v->state;
  double size[3];
  if (H5Aexists(h->data, VOXEL_ATTRIBUTE) <= 0) return;
  const hid_t a = H5Aopen(h->data, VOXEL_ATTRIBUTE, H5P_DEFAULT);
  if (a < 0) return;
  const hid_t space = H5Aget_space(a), type = H5Aget_type(a);
  const bool three =
      space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == 3 && H5Tget_class(type) == H5T_FLOAT;
  if (three && H5Aread(a, H5T_NATIVE_DOUBLE, size) >= 0 && size[0] > 0 && size[1] > 0 && size[2] > 0) {
    memcpy(v->info.voxel, size, sizeof size);
    strcpy(v->info.unit, "um");
  }
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Aclose(a);
}

static pz_status open_all(pz_volume *v, const pz_mapping *map, uint64_t root, pz_error *err) {
  h5 *h = v->state;
  bool plain_attributes;
  h->file = H5Fopen(v->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (h->file < 0) return fail(err, v->path, NULL, "cannot open as HDF5");
  const pz_hdf5_search search = {.file = h->file, .map = map, .root = root, .path = v->path, .err = err};
  PZ_TRY(find_dataset(v, &search, err));
  PZ_TRY(open_dataset(v, &search, &plain_attributes, err));
  PZ_TRY(dtype_of(v, err));
  PZ_TRY(shape_of(v, err));
  PZ_TRY(layout_of(v, err));
  if (plain_attributes) voxel_size(v);
  h->keep = v->cache_memory > 0;
  return PZ_OK;
}

static pz_status open_checked(pz_volume *v, const pz_mapping *map, pz_error *err) {
  uint64_t root;
  PZ_TRY(pz_hdf5_check(map, v->path, &root, err));
  const quiet q = hush();
  const pz_status status = open_all(v, map, root, err);
  unhush(q);
  return status;
}

static pz_status h5_open(pz_volume *v, pz_error *err) {
  int fd;
  int64_t size;
  pz_mapping map;
  h5 *h = PZ_NEW(v->arena, h5, 1);
  if (!h) return pz_fail_memory(err, "an HDF5 file", sizeof *h);
  *h = (h5){.file = -1, .data = -1, .space = -1, .type = -1};
  v->state = h;
  PZ_TRY(
      pz_io_open(v->path, &fd, &size, err)); /* says what is wrong with the file, better than the library */
  close(fd);
  PZ_TRY(pz_file_map(v->path, &map, err));
  const pz_status status = open_checked(v, &map, err);
  pz_file_unmap(&map);
  return status;
}

/* The library is asked for the file's own type, so that it converts nothing. */
static pz_status read_channel(pz_volume *v, int64_t c, int64_t z, int64_t n, void *planes, pz_error *err) {
  const h5 *h = v->state;
  const int skip = 4 - h->rank; /* leading axes that the dataset does not have */
  const hsize_t start[4] = {(hsize_t)c, (hsize_t)z, 0, 0};
  const hsize_t count[4] = {1, (hsize_t)n, (hsize_t)v->info.shape[1], (hsize_t)v->info.shape[2]};
  const hid_t memory = H5Screate_simple(h->rank, count + skip, NULL);
  const bool good =
      memory >= 0 &&
      H5Sselect_hyperslab(h->space, H5S_SELECT_SET, start + skip, NULL, count + skip, NULL) >= 0 &&
      H5Dread(h->data, h->type, memory, h->space, H5P_DEFAULT, planes) >= 0;
  char what[64];
  snprintf(what, sizeof what, "cannot read plane %lld", (long long)z);
  const pz_status status = good ? PZ_OK : fail(err, v->path, v->dataset, what);
  if (memory >= 0) H5Sclose(memory);
  if (h->chunks.swap)
    pz_io_swap(planes, n * v->info.shape[1] * v->info.shape[2], pz_dtype_bytes(v->info.dtype));
  return status;
}

static pz_status h5_read(pz_volume *v, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                         pz_error *err) {
  pz_status status = PZ_OK;
  h5 *h = v->state;
  const quiet q = hush();
  if (h->chunked) status = pz_hdf5_chunks_read(&h->chunks, h->keep, z, n, planes, channel_bytes, err);
  for (int64_t c = 0; !h->chunked && c < v->info.channels && status == PZ_OK; c++)
    status = read_channel(v, c, z, n, (char *)planes + c * channel_bytes, err);
  unhush(q);
  return status;
}

static pz_status h5_uncached(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  (void)err;
  h->keep = false;
  return PZ_OK;
}

static void h5_close(pz_volume *v) {
  h5 *h = v->state;
  if (!h) return;
  pz_hdf5_chunks_free(&h->chunks);
  const quiet q = hush();
  if (h->type >= 0) H5Tclose(h->type);
  if (h->space >= 0) H5Sclose(h->space);
  if (h->data >= 0) H5Dclose(h->data);
  if (h->file >= 0) H5Fclose(h->file);
  unhush(q);
}

/* ------------------------------------------------------------------ writing */

static hid_t make_space(const pz_volume_info *info) {
  const hsize_t dim[4] = {(hsize_t)info->channels, (hsize_t)info->shape[0], (hsize_t)info->shape[1],
                          (hsize_t)info->shape[2]};
  return info->has_channels ? H5Screate_simple(4, dim, NULL) : H5Screate_simple(3, dim + 1, NULL);
}

static bool put_voxel_size(hid_t data, const pz_volume_info *info) {
  const double scale = strcmp(info->unit, "nm") == 0   ? 1e-3
                       : strcmp(info->unit, "um") == 0 ? 1
                       : strcmp(info->unit, "mm") == 0 ? 1e3
                       : strcmp(info->unit, "m") == 0  ? 1e6
                                                       : 0;
  const double size[3] = {info->voxel[0] * scale, info->voxel[1] * scale, info->voxel[2] * scale};
  const hsize_t three = 3;
  if (!(size[0] > 0 && size[1] > 0 && size[2] > 0)) return true;
  const hid_t space = H5Screate_simple(1, &three, NULL);
  const hid_t a =
      space < 0 ? -1 : H5Acreate2(data, VOXEL_ATTRIBUTE, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = a >= 0 && H5Awrite(a, H5T_NATIVE_DOUBLE, size) >= 0;
  if (a >= 0) H5Aclose(a);
  if (space >= 0) H5Sclose(space);
  return good;
}

/* Early allocation and no fill: the library sets the place in the file aside and leaves it to us. No time stamps: the same
 * work gives the same bytes. */
static hid_t make_dataset(hid_t file, const char *name, hid_t type, hid_t space, hid_t links, hid_t create) {
  if (H5Pset_create_intermediate_group(links, 1) < 0 || H5Pset_layout(create, H5D_CONTIGUOUS) < 0 ||
      H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0 || H5Pset_obj_track_times(create, false) < 0)
    return -1;
  return H5Dcreate2(file, name, type, space, links, create, H5P_DEFAULT);
}

bool pz_hdf5_make_dataset(hid_t file, const char *name, const pz_volume_info *info, int64_t *offset) {
  const hid_t space = make_space(info), links = H5Pcreate(H5P_LINK_CREATE),
              create = H5Pcreate(H5P_DATASET_CREATE), type = pz_hdf5_make_type(info->dtype);
  hid_t data = -1;
  if (space >= 0 && links >= 0 && create >= 0 && type >= 0)
    data = make_dataset(file, name, type, space, links, create);
  const bool good = data >= 0 && put_voxel_size(data, info);
  const haddr_t place = good ? H5Dget_offset(data) : HADDR_UNDEF;
  if (data >= 0) H5Dclose(data);
  if (type >= 0) H5Tclose(type);
  if (create >= 0) H5Pclose(create);
  if (links >= 0) H5Pclose(links);
  if (space >= 0) H5Sclose(space);
  *offset = (int64_t)place;
  return place != HADDR_UNDEF;
}

static pz_status lay_out(const char *path, const char *dataset, const pz_volume_info *info, int64_t *offset,
                         pz_error *err) {
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  bool good = file >= 0 && pz_hdf5_make_dataset(file, dataset, info, offset);
  pz_status status = good ? PZ_OK : fail(err, path, dataset, "cannot create the dataset");
  if (file >= 0 && H5Fclose(file) < 0 && good) status = fail(err, path, dataset, "cannot create the file");
  return status == PZ_OK ? PZ_OK : PZ_ERROR_RUN;
}

static pz_status h5_lay_out(const char *path, const char *dataset, const pz_volume_info *info,
                            int64_t *offset, pz_error *err) {
  const quiet q = hush();
  const pz_status status = lay_out(path, dataset ? dataset : PZ_HDF5_DEFAULT, info, offset, err);
  unhush(q);
  if (status != PZ_OK && err) err->status = status;
  return status;
}

const pz_volume_format pz_volume_hdf5 = {
    .name = "hdf5",
    .suffixes = {".h5", ".hdf5", ".hdf", ".he5"},
    .has_dataset = true,
    .open = h5_open,
    .read = h5_read,
    .close = h5_close,
    .uncached = h5_uncached,
    .check_join = pz_hdf5_check_join,
    .join = pz_hdf5_join,
    .lay_out = h5_lay_out,
};
