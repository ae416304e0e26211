/* hdf5.c: a dataset of an HDF5 file. Reading goes through the HDF5 library, but for filters of chunks, which are undone here;
 * one layer of chunks is kept, so that no chunk is decompressed twice. Writing lays the file out with one contiguous dataset, whose
 * place in the file the library tells; the planes are then written there like those of any raw format. */
#include "base/hdf5_check.h"
#include "base/hdf5_lock.h"
#include "volume/hdf5_chunks.h"
#include "volume/hdf5_find.h"
#include "volume/hdf5_geometry.h"
#include "volume/hdf5_type.h"
#include "volume/io.h"
#include "volume/volume.h"

#include <fcntl.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DATASET "/main"

enum { MAX_CHUNK = 1 << 30 };

typedef struct h5 {
  hid_t file, data, space, type;
  int rank;
  hsize_t chunk[4];
  bool chunked;
  bool keep; /* a layer of chunks is kept */
  pz_hdf5_chunks chunks;
} h5;

/* Around every use of the library: its lock is held, and its printing of errors switched off. */
typedef struct quiet {
  H5E_auto2_t print;
  void *data;
} quiet;
static quiet hush(void) {
  quiet q = {NULL, NULL};
  pz_hdf5_lock();
  H5Eget_auto2(H5E_DEFAULT, &q.print, &q.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  H5Eclear2(H5E_DEFAULT);
  return q;
}
static void unhush(quiet q) {
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, q.print, q.data);
  pz_hdf5_unlock();
}

typedef struct reason {
  char text[200];
  bool memory, system;
} reason;

/* Keeps the innermost description, where the failure began. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *host) {
  reason *r = host;
  if (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC) r->memory = true;
  if (n == 0 && error->desc) snprintf(r->text, sizeof r->text, "%s", error->desc);
  for (char *c = r->text; *c; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  return 0;
}

static pz_status fail(pz_error *err, const char *path, const char *dataset, const char *what) {
  reason r = {.text = "no reason given"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &r);
  return pz_fail(err, PZ_ERROR_INPUT, "%s%s%s: %s: %s", path, dataset ? ":" : "", dataset ? dataset : "",
                 what, r.text);
}

/* ------------------------------------------------------------------ finding the dataset */

/* Without a name, the file's only dataset is meant. */
static pz_status find_dataset(pz_volume *v, const pz_hdf5_search *search, pz_error *err) {
  char name[256];
  int found;
  if (v->dataset) return PZ_OK;
  PZ_TRY(pz_hdf5_count_datasets(search, &found, name));
  if (found != 1)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: holds %s dataset; name the one to use, as in %s:/main", v->path,
                   found ? "more than one" : "no", v->path);
  v->dataset = pz_arena_strdup(v->arena, name);
  return v->dataset ? PZ_OK : pz_fail_memory(err, "a dataset's name", sizeof name);
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

static pz_status open_all(pz_volume *v, const pz_mapping *map, uint64_t root, pz_error *err) {
  h5 *h = v->state;
  bool plain_attributes;
  h->file = H5Fopen(v->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (h->file < 0) return fail(err, v->path, NULL, "cannot open as HDF5");
  const pz_hdf5_search search = {h->file, map, root, v->path, err};
  PZ_TRY(find_dataset(v, &search, err));
  PZ_TRY(pz_hdf5_open_dataset(&search, v->dataset, &h->data, &plain_attributes));
  PZ_TRY(dtype_of(v, err));
  PZ_TRY(shape_of(v, err));
  PZ_TRY(layout_of(v, err));
  pz_hdf5_read_geometry(&search, plain_attributes ? h->data : -1, v);
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

static pz_status count(const char *path, const pz_mapping *map, int *found, char name[256], pz_error *err) {
  uint64_t root;
  PZ_TRY(pz_hdf5_check(map, path, &root, err));
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return fail(err, path, NULL, "exists and is no HDF5 file that could be replaced");
  const pz_hdf5_search search = {file, map, root, path, err};
  const pz_status status = pz_hdf5_count_datasets(&search, found, name);
  H5Fclose(file);
  return status;
}

/* A result replaces its file whole, so a file that holds anything else is not replaced. */
static pz_status only_this(const char *path, const char *dataset, pz_error *err) {
  pz_mapping map;
  char name[256];
  int found;
  PZ_TRY(pz_file_map(path, &map, err));
  const pz_status status = count(path, &map, &found, name, err);
  pz_file_unmap(&map);
  PZ_TRY(status);
  if (found == 0 || (found == 1 && strcmp(name, dataset) == 0)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: holds other datasets (%s), which would be lost; give the result a file of its own",
                 path, name);
}

static pz_status h5_check_output(const char *path, const char *dataset, const pz_volume_info *info,
                                 pz_error *err) {
  (void)info;
  if (access(path, F_OK) != 0) return PZ_OK;
  const quiet q = hush();
  const pz_status status = only_this(path, dataset ? dataset : DEFAULT_DATASET, err);
  unhush(q);
  return status;
}

static hid_t make_space(const pz_volume_info *info) {
  const hsize_t dim[4] = {(hsize_t)info->channels, (hsize_t)info->shape[0], (hsize_t)info->shape[1],
                          (hsize_t)info->shape[2]};
  return info->has_channels ? H5Screate_simple(4, dim, NULL) : H5Screate_simple(3, dim + 1, NULL);
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

static bool fill_file(hid_t file, const char *name, const pz_volume_info *info, int64_t *offset) {
  const hid_t space = make_space(info), links = H5Pcreate(H5P_LINK_CREATE),
              create = H5Pcreate(H5P_DATASET_CREATE), type = pz_hdf5_make_type(info->dtype);
  hid_t data = -1;
  if (space >= 0 && links >= 0 && create >= 0 && type >= 0)
    data = make_dataset(file, name, type, space, links, create);
  const bool good = data >= 0 && pz_hdf5_write_geometry(data, info);
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
  bool good = file >= 0 && fill_file(file, dataset, info, offset);
  pz_status status = good ? PZ_OK : fail(err, path, dataset, "cannot create the dataset");
  if (file >= 0 && H5Fclose(file) < 0 && good) status = fail(err, path, dataset, "cannot create the file");
  return status == PZ_OK ? PZ_OK : PZ_ERROR_RUN;
}

static pz_status h5_lay_out(const char *path, const char *dataset, const pz_volume_info *info,
                            int64_t *offset, pz_error *err) {
  const quiet q = hush();
  const pz_status status = lay_out(path, dataset ? dataset : DEFAULT_DATASET, info, offset, err);
  unhush(q);
  if (status != PZ_OK && err) err->status = status;
  return status;
}

const pz_volume_format pz_volume_hdf5 = {
    .name = "hdf5",
    .suffixes = {".h5", ".hdf5", ".hdf"},
    .has_dataset = true,
    .open = h5_open,
    .read = h5_read,
    .close = h5_close,
    .hold = pz_hdf5_hold,
    .uncached = h5_uncached,
    .check_output = h5_check_output,
    .lay_out = h5_lay_out,
};
