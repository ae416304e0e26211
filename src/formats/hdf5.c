/* hdf5.c: a dataset of an HDF5 file. Reading goes through the HDF5 library, but for filters of chunks, which are undone here;
 * one layer of chunks is kept, so that no chunk is decompressed twice. Writing lays the file out with one contiguous dataset, whose
 * place in the file the library tells; the planes are then written there like those of any raw format. A compressed dataset is written from them in the end
 * (hdf5_packed.h). */
#include "formats/hdf5_check.h"
#include "formats/hdf5_lock.h"
#include "base/memory.h"
#include "formats/hdf5_axes.h"
#include "formats/hdf5_chunks.h"
#include "formats/hdf5_find.h"
#include "formats/hdf5_geometry.h"
#include "formats/hdf5_join.h"
#include "formats/hdf5_list.h"
#include "formats/hdf5_packed.h"
#include "formats/hdf5_quiet.h"
#include "formats/hdf5_type.h"
#include "formats/io.h"
#include "formats/volume.h"

#include <fcntl.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CHUNK = 1 << 30, PART = 1 << 22 };

typedef struct h5 {
  hid_t file, data, space, type;
  int rank;
  hsize_t chunk[PZ_AXES_RANK];
  bool chunked;
  bool keep;  /* a layer of chunks is kept */
  char *part; /* of a dataset whose elements go to places apart */
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
  int64_t dim[PZ_AXES_RANK] = {0};
  h->space = H5Dget_space(h->data);
  h->rank = h->space < 0 ? -1 : H5Sget_simple_extent_dims(h->space, size, NULL);
  if (h->rank < 0) return fail(err, v->path, v->dataset, "cannot read the shape");
  if (h->rank > PZ_AXES_RANK)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: %d dimensions; expected at most %d", v->path, v->dataset,
                   h->rank, PZ_AXES_RANK);
  for (int i = 0; i < h->rank; i++) dim[i] = size[i] > INT64_MAX ? INT64_MAX : (int64_t)size[i];
  pz_array_make(&v->array, h->rank, dim);
  return PZ_OK;
}

/* The bytes of a chunk and of a layer of them, the planes that it spans, and whether that is bearable. */
static pz_status chunked(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  pz_hdf5_chunks *k = &h->chunks;
  int64_t bytes = pz_dtype_bytes(v->info.dtype), layer;
  bool fits = true;
  k->path = v->path, k->dataset = v->dataset, k->rank = h->rank;
  for (int i = 0; i < h->rank; i++) {
    fits = fits && h->chunk[i] >= 1 && h->chunk[i] < MAX_CHUNK &&
           pz_mul_i64(bytes, (int64_t)h->chunk[i], &bytes);
    k->chunk[i] = (int64_t)h->chunk[i];
  }
  if (!fits || bytes > MAX_CHUNK)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: chunks of more than 1 GiB; expected smaller ones", v->path,
                   v->dataset);
  k->filters.bytes = bytes;
  k->axes = &v->axes;
  for (int i = 0; i < 3; i++) {
    const int64_t size = v->info.shape[i], chunk = v->axes.of[1 + i] < 0 ? 1 : k->chunk[v->axes.of[1 + i]];
    v->step[i] = chunk < size ? chunk : size;
  }
  k->depth = v->step[0];
  if (!pz_mul_i64(v->info.channels * k->depth, pz_volume_plane_bytes(&v->info), &layer))
    layer = INT64_MAX / 4;
  /* While a chunk is filtered, a copy of it lives beside the cache. */
  v->cache_memory = layer;
  v->memory = layer + 3 * bytes + pz_hdf5_filters_memory(&k->filters) + (1 << 20);
  h->keep = true;
  return PZ_OK;
}

static pz_status layout_of(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  const hid_t plist = H5Dget_create_plist(h->data);
  if (plist < 0) return fail(err, v->path, v->dataset, "cannot read the layout");
  const H5D_layout_t layout = H5Pget_layout(plist);
  const int external = H5Pget_external_count(plist);
  const int rank = layout == H5D_CHUNKED ? H5Pget_chunk(plist, PZ_AXES_RANK, h->chunk) : h->rank;
  h->chunked = layout == H5D_CHUNKED;
  const char *problem = h->chunked ? pz_hdf5_chunks_take(h->data, plist, h->type, &h->chunks) : NULL;
  H5Pclose(plist);
  if (external != 0 || layout == H5D_VIRTUAL)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: the data lies in other files; copy it into one", v->path,
                   v->dataset);
  if (layout == H5D_LAYOUT_ERROR || rank != h->rank)
    return fail(err, v->path, v->dataset, "cannot read the layout");
  if (problem) return pz_fail(err, PZ_ERROR_INPUT, "%s:%s: its chunks %s", v->path, v->dataset, problem);
  return PZ_OK;
}

/* Whether the box is dense at the destination; its bytes, and its slowest axis that is longer than 1. */
static bool is_dense(const pz_array_box *box, int64_t element, int64_t *bytes, int *slowest) {
  bool dense = true;
  *bytes = element, *slowest = 0;
  for (int i = box->rank - 1; i >= 0; i--) {
    if (box->count[i] == 1) continue;
    dense = dense && box->to[i] == *bytes;
    *bytes *= box->count[i];
    *slowest = i;
  }
  return dense;
}

static pz_status h5_ready(pz_volume *v, pz_error *err) {
  h5 *h = v->state;
  const int64_t element = pz_dtype_bytes(v->info.dtype), row = v->info.shape[2] * element,
                plane = v->info.shape[1] * row;
  const pz_box whole = pz_volume_planes(&v->info, 0, v->info.shape[0]);
  const pz_array_box all = pz_axes_box(&v->array, &v->axes, &whole, element,
                                       (const int64_t[3]){v->info.shape[0] * plane + 1, plane, row});
  int64_t bytes;
  int slowest;
  pz_axes_rows(&v->array, &v->axes, v->step);
  v->memory = (1 << 20) + (is_dense(&all, element, &bytes, &slowest) ? 0 : PART);
  return h->chunked ? chunked(v, err) : PZ_OK;
}

static pz_status open_all(pz_volume *v, pz_view *view, uint64_t root, pz_error *err) {
  h5 *h = v->state;
  bool plain_attributes;
  h->file = H5Fopen(v->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (h->file < 0) return fail(err, v->path, NULL, "cannot open as HDF5");
  const pz_hdf5_search search = {.file = h->file, .view = view, .root = root, .path = v->path, .err = err};
  PZ_TRY(pz_hdf5_same_file(&search));
  PZ_TRY(find_dataset(v, &search, err));
  PZ_TRY(open_dataset(v, &search, &plain_attributes, err));
  PZ_TRY(dtype_of(v, err));
  PZ_TRY(shape_of(v, err));
  PZ_TRY(pz_hdf5_find_axes(&search, h->data, v));
  PZ_TRY(layout_of(v, err));
  pz_hdf5_read_geometry(&search, plain_attributes ? h->data : -1, v);
  return PZ_OK;
}

static pz_status open_checked(pz_volume *v, pz_view *view, pz_error *err) {
  uint64_t root;
  PZ_TRY(pz_hdf5_check(view, v->path, &root, err));
  const quiet q = hush();
  const pz_status status = open_all(v, view, root, err);
  unhush(q);
  return status;
}

static pz_status h5_open(pz_volume *v, pz_error *err) {
  int fd;
  int64_t size;
  pz_view view = {0};
  h5 *h = PZ_NEW(v->arena, h5, 1);
  if (!h) return pz_fail_memory(err, "an HDF5 file", sizeof *h);
  *h = (h5){.file = -1, .data = -1, .space = -1, .type = -1};
  v->state = h;
  PZ_TRY(
      pz_io_open(v->path, &fd, &size, err)); /* says what is wrong with the file, better than the library */
  close(fd);
  PZ_TRY(pz_view_open(v->path, &view, err));
  const pz_status status = open_checked(v, &view, err);
  pz_view_close(&view);
  return status;
}

/* The library is asked for the file's own type, so that it converts nothing. */
static pz_status read_dense(pz_volume *v, const pz_array_box *box, int64_t elements, void *to,
                            pz_error *err) {
  const h5 *h = v->state;
  hsize_t start[PZ_AXES_RANK], count[PZ_AXES_RANK];
  for (int i = 0; i < h->rank; i++) start[i] = (hsize_t)box->start[i], count[i] = (hsize_t)box->count[i];
  const hid_t memory = H5Screate_simple(h->rank, count, NULL);
  const bool good = memory >= 0 &&
                    H5Sselect_hyperslab(h->space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                    H5Dread(h->data, h->type, memory, h->space, H5P_DEFAULT, to) >= 0;
  const pz_status status = good ? PZ_OK : fail(err, v->path, v->dataset, "cannot read the data");
  if (memory >= 0) H5Sclose(memory);
  if (h->chunks.swap) pz_io_swap(to, elements, pz_dtype_bytes(v->info.dtype));
  return status;
}

/* Through a buffer, of which the elements go where they belong. */
static pz_status read_apart(pz_volume *v, const pz_array_box *box, int64_t elements, void *to,
                            pz_error *err) {
  h5 *h = v->state;
  int64_t stride[PZ_AXES_RANK], next = pz_dtype_bytes(v->info.dtype);
  if (!h->part && !(h->part = malloc(PART))) return pz_fail_memory(err, "a part of a dataset", PART);
  PZ_TRY(read_dense(v, box, elements, h->part, err));
  for (int i = box->rank - 1; i >= 0; i--) stride[i] = next, next *= box->count[i];
  pz_copy_strided(h->part, stride, to, box->to, box->count, box->rank, pz_dtype_bytes(v->info.dtype));
  return PZ_OK;
}

/* Halves of the slowest axis, until the box is dense at the destination or fits into the buffer. */
static pz_status read_box(pz_volume *v, const pz_array_box *box, char *to, pz_error *err) {
  const int64_t element = pz_dtype_bytes(v->info.dtype);
  int64_t bytes;
  int slowest;
  const bool dense = is_dense(box, element, &bytes, &slowest);
  if (dense) return read_dense(v, box, bytes / element, to, err);
  if (bytes <= PART) return read_apart(v, box, bytes / element, to, err);
  pz_array_box half = *box;
  const int64_t n = box->count[slowest], first = n / 2;
  half.count[slowest] = first;
  PZ_TRY(read_box(v, &half, to, err));
  half.start[slowest] += first, half.count[slowest] = n - first;
  return read_box(v, &half, to + first * box->to[slowest], err);
}

static pz_status h5_read(pz_volume *v, const pz_array_box *box, void *to, pz_error *err) {
  h5 *h = v->state;
  PZ_TRY(pz_memory_room("HDF5", err));
  const quiet q = hush();
  const pz_status status =
      h->chunked ? pz_hdf5_chunks_read(&h->chunks, h->keep, box, to, err) : read_box(v, box, to, err);
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
  free(h->part);
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

/* Early allocation and no fill: the library sets the place in the file aside and leaves it to us. */
static bool set_contiguous(hid_t create) {
  return H5Pset_layout(create, H5D_CONTIGUOUS) >= 0 && H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) >= 0;
}

/* No time stamps: the same work gives the same bytes. */
static hid_t make_dataset(hid_t file, const char *name, const pz_volume_info *info, int level,
                          const hid_t made[4]) {
  const hid_t space = made[0], links = made[1], create = made[2], type = made[3];
  if (space < 0 || links < 0 || create < 0 || type < 0 || H5Pset_create_intermediate_group(links, 1) < 0 ||
      !(level > 0 ? pz_hdf5_pack(create, info, level) : set_contiguous(create)) ||
      H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0 || H5Pset_obj_track_times(create, false) < 0)
    return -1;
  return H5Dcreate2(file, name, type, space, links, create, H5P_DEFAULT);
}

static haddr_t header_of(hid_t data) {
  H5O_info_t info;
  return H5Oget_info2(data, &info, H5O_INFO_BASIC) < 0 ? HADDR_UNDEF : info.addr;
}

bool pz_hdf5_make_dataset(hid_t file, const char *name, const pz_volume_info *info, int level,
                          int64_t *place) {
  const hid_t made[4] = {make_space(info), H5Pcreate(H5P_LINK_CREATE), H5Pcreate(H5P_DATASET_CREATE),
                         pz_hdf5_make_type(info->dtype)};
  const hid_t data = make_dataset(file, name, info, level, made);
  const bool good = data >= 0 && pz_hdf5_write_geometry(data, info);
  const haddr_t at = !good ? HADDR_UNDEF : level > 0 ? header_of(data) : H5Dget_offset(data);
  if (data >= 0) H5Dclose(data);
  if (made[3] >= 0) H5Tclose(made[3]);
  if (made[2] >= 0) H5Pclose(made[2]);
  if (made[1] >= 0) H5Pclose(made[1]);
  if (made[0] >= 0) H5Sclose(made[0]);
  *place = (int64_t)at;
  return at != HADDR_UNDEF;
}

static pz_status create(const char *path, const char *dataset, const pz_volume_info *info, int level,
                        int64_t *place, pz_error *err) {
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  bool good = file >= 0 && pz_hdf5_make_dataset(file, dataset, info, level, place);
  pz_status status = good ? PZ_OK : fail(err, path, dataset, "cannot create the dataset");
  if (file >= 0 && H5Fclose(file) < 0 && good) status = fail(err, path, dataset, "cannot create the file");
  return status == PZ_OK ? PZ_OK : PZ_ERROR_RUN;
}

static pz_status create_quietly(const char *path, const char *dataset, const pz_volume_info *info, int level,
                                int64_t *place, pz_error *err) {
  PZ_TRY(pz_memory_room("HDF5", err));
  const quiet q = hush();
  const pz_status status = create(path, dataset, info, level, place, err);
  unhush(q);
  if (status != PZ_OK && err) err->status = status;
  return status;
}

static pz_status h5_lay_out(const char *path, const char *dataset, const pz_volume_info *info,
                            int64_t *offset, pz_error *err) {
  return create_quietly(path, dataset ? dataset : PZ_HDF5_DEFAULT, info, 0, offset, err);
}

static pz_status h5_convert(const char *path, const char *dataset, pz_volume_source *source, pz_error *err) {
  const char *name = dataset ? dataset : PZ_HDF5_DEFAULT;
  int64_t address;
  PZ_TRY(create_quietly(path, name, source->info, source->level, &address, err));
  return pz_hdf5_fill_packed(path, name, (uint64_t)address, source, err);
}

const pz_volume_format pz_volume_hdf5 = {
    .name = "hdf5",
    .suffixes = {".h5", ".hdf5", ".hdf", ".he5"},
    .has_dataset = true,
    .open = h5_open,
    .ready = h5_ready,
    .read = h5_read,
    .close = h5_close,
    .hold = pz_hdf5_hold,
    .uncached = h5_uncached,
    .check_join = pz_hdf5_check_join,
    .locate = pz_hdf5_locate,
    .join = pz_hdf5_join,
    .lay_out = h5_lay_out,
    .most = pz_hdf5_packed_most,
    .convert = h5_convert,
    .convert_rate = 1e8,
    .packs = true,
};
