/* weights_h5.c: a .caffemodel.h5: datasets /data/<layer>/<index>. HDF5 follows whatever a file says, to other files if
 * need be; here only what lies in this file is read: hard links, plain storage, the library's own filters. */
#include "formats/hdf5_check.h"
#include "formats/hdf5_lock.h"
#include "base/memory.h"
#include "import/caffe/h5_chunks.h"
#include <string.h>

typedef struct h5 {
  hid_t file;
  pz_view view; /* of the same file: no object is opened that was not checked in it */
} h5;

/* Around every use of HDF5: its lock is held, and it prints no errors; its setting is put back afterwards. */
typedef struct quiet {
  H5E_auto2_t handler;
  void *data;
} quiet;

static quiet quiet_begin(void) {
  quiet q = {NULL, NULL};
  pz_hdf5_lock();
  H5Eget_auto2(H5E_DEFAULT, &q.handler, &q.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return q;
}

static void quiet_end(quiet q) {
  H5Eset_auto2(H5E_DEFAULT, q.handler, q.data);
  pz_hdf5_unlock();
}

/* ---- looking for an object ---- */

/* Opens what a hard link leads to; negative where there is none. `label` stands in front of what is wrong with it. */
static pz_status open_link(h5 *state, hid_t at, const char *name, const char *label, hid_t *object,
                           pz_error *err) {
  H5L_info_t info;
  pz_hdf5_about about;
  *object = H5I_INVALID_HID;
  if (H5Lexists(at, name, H5P_DEFAULT) <= 0 || H5Lget_info(at, name, &info, H5P_DEFAULT) < 0 ||
      info.type != H5L_TYPE_HARD)
    return PZ_OK;
  PZ_TRY(pz_hdf5_check_object(&state->view, label, info.u.address, &about, err));
  if (about.kind != PZ_HDF5_OTHER) *object = H5Oopen(at, name, H5P_DEFAULT);
  return *object >= 0 ? PZ_OK : pz_fail(err, PZ_ERROR_INPUT, "%s: damaged", label);
}

/* Opens the object at a path of hard links; names of layers may have slashes in them. */
static pz_status open_path(const pz_caffe_weights *w, char *path, const char *label, hid_t *object,
                           pz_error *err) {
  h5 *state = w->state;
  pz_status status = PZ_OK;
  hid_t at = H5Oopen(state->file, "/", H5P_DEFAULT);
  char *rest = NULL;
  for (char *name = strtok_r(path, "/", &rest); name && at >= 0; name = strtok_r(NULL, "/", &rest)) {
    hid_t next = H5I_INVALID_HID;
    if (H5Iget_type(at) == H5I_GROUP && strcmp(name, "."))
      status = open_link(state, at, name, label, &next, err);
    H5Oclose(at);
    at = next;
  }
  *object = at;
  return status;
}

static pz_status fail_blob(const pz_caffe_weights *w, pz_caffe_weight_key key, const char *problem,
                           pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: /data/%.200s/%d: %s", w->name, key.layer, (int)key.blob, problem);
}

/* *object is negative where there is no such blob. */
static pz_status open_blob(pz_caffe_weights *w, pz_caffe_weight_key key, hid_t *object, pz_error *err) {
  *object = H5I_INVALID_HID;
  if (!*key.layer) return PZ_OK;
  char *path = pz_arena_printf(w->arena, "data/%s/%d", key.layer, (int)key.blob);
  char *label =
      pz_arena_printf(w->arena, "%s: /data/%.200s/%d: cannot be read", w->name, key.layer, (int)key.blob);
  if (!path || !label) return pz_fail_memory(err, key.layer, strlen(key.layer));
  return open_path(w, path, label, object, err);
}

static bool h5_has_layer(pz_caffe_weights *w, const char *layer) {
  quiet q = quiet_begin();
  char *path = *layer ? pz_arena_printf(w->arena, "data/%s", layer) : NULL;
  hid_t group = H5I_INVALID_HID;
  if (path) open_path(w, path, w->name, &group, NULL);
  if (group >= 0) H5Oclose(group);
  quiet_end(q);
  return group >= 0;
}

/* ---- a dataset ---- */

/* NULL, or what is wrong with how the dataset is stored. */
static const char *storage_problem(hid_t dataset, const pz_caffe_file_shape *shape) {
  hid_t list = H5Dget_create_plist(dataset);
  if (list < 0) return "cannot be read";
  H5D_layout_t layout = H5Pget_layout(list);
  const char *problem = NULL;
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
    problem = "is no plain dataset";
  else if (H5Pget_external_count(list) != 0) problem = "has its values in another file";
  else if (layout == H5D_CHUNKED) problem = pz_caffe_h5_chunks_problem(list, shape);
  H5Pclose(list);
  return problem;
}

static const char *type_problem(hid_t dataset) {
  hid_t type = H5Dget_type(dataset);
  H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  size_t size = type < 0 ? 0 : H5Tget_size(type);
  if (type >= 0) H5Tclose(type);
  return (kind == H5T_FLOAT || kind == H5T_INTEGER) && size >= 1 && size <= 8 ? NULL : "has no numbers in it";
}

static const char *shape_problem(hid_t dataset, pz_caffe_file_shape *shape) {
  hsize_t dims[H5S_MAX_RANK];
  hid_t space = H5Dget_space(dataset);
  int rank = space < 0 || H5Sget_simple_extent_type(space) == H5S_NULL
                 ? -1
                 : H5Sget_simple_extent_dims(space, dims, NULL);
  if (space >= 0) H5Sclose(space);
  if (rank < 0 || rank > PZ_CAFFE_FILE_RANK) return "has no shape, or more than 8 dimensions";
  shape->rank = rank;
  for (int i = 0; i < rank; i++) {
    if (dims[i] > INT64_MAX) return "has a size that is too large";
    shape->dim[i] = (int64_t)dims[i];
  }
  return NULL;
}

static const char *dataset_problem(hid_t object, pz_caffe_file_shape *shape) {
  if (H5Iget_type(object) != H5I_DATASET) return "is no dataset";
  const char *problem = shape_problem(object, shape);
  if (!problem) problem = type_problem(object);
  return problem ? problem : storage_problem(object, shape);
}

static pz_status find_quietly(pz_caffe_weights *w, pz_caffe_weight_key key, pz_caffe_file_shape *shape,
                              bool *found, pz_error *err) {
  hid_t object;
  PZ_TRY(open_blob(w, key, &object, err));
  *found = object >= 0;
  if (object < 0) return PZ_OK;
  const char *problem = dataset_problem(object, shape);
  H5Oclose(object);
  return problem ? fail_blob(w, key, problem, err) : PZ_OK;
}

static pz_status h5_find(pz_caffe_weights *w, pz_caffe_weight_key key, pz_caffe_file_shape *shape,
                         bool *found, pz_error *err) {
  quiet q = quiet_begin();
  pz_status status = find_quietly(w, key, shape, found, err);
  quiet_end(q);
  return status;
}

static bool is_chunked(hid_t dataset) {
  hid_t list = H5Dget_create_plist(dataset);
  bool chunked = list >= 0 && H5Pget_layout(list) == H5D_CHUNKED;
  if (list >= 0) H5Pclose(list);
  return chunked;
}

static pz_status read_quietly(pz_caffe_weights *w, pz_caffe_weight_key key, float *out, pz_error *err) {
  static const char unreadable[] = "cannot be read: truncated or damaged";
  hid_t object;
  const char *problem = NULL;
  pz_status status = PZ_OK;
  PZ_TRY(open_blob(w, key, &object, err));
  if (object < 0) return fail_blob(w, key, unreadable, err);
  if (is_chunked(object)) status = pz_caffe_h5_chunks_read(object, out, &problem, err);
  else if (H5Dread(object, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0) problem = unreadable;
  H5Oclose(object);
  return problem ? fail_blob(w, key, problem, err) : status;
}

static pz_status h5_read(pz_caffe_weights *w, pz_caffe_weight_key key, int64_t elements, float *out,
                         pz_error *err) {
  quiet q = quiet_begin();
  pz_status status = read_quietly(w, key, out, err);
  quiet_end(q);
  (void)elements; /* find gave the dataset's own shape */
  return status;
}

static void h5_close(pz_caffe_weights *w) {
  h5 *state = w->state;
  quiet q = quiet_begin();
  if (state->file >= 0) H5Fclose(state->file);
  pz_view_close(&state->view);
  quiet_end(q);
}

/* ---- opening ---- */

/* Read only, without locks (a folder that cannot be written is fine), and closing it closes all that is open in it. */
static hid_t open_file(const char *path) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  if (list < 0) return list;
  H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
  H5Pset_file_locking(list, false, true);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, list);
  H5Pclose(list);
  return file;
}

static const pz_caffe_weights_source source = {h5_has_layer, h5_find, h5_read, h5_close};

static pz_status check_data(pz_caffe_weights *w, pz_error *err) {
  char path[] = "data";
  hid_t group;
  PZ_TRY(open_path(w, path, w->name, &group, err));
  if (group >= 0) H5Oclose(group);
  if (group < 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has no group /data, expected a .caffemodel.h5", w->name);
  return PZ_OK;
}

static pz_status open_quietly(pz_caffe_weights *w, pz_error *err) {
  h5 *state = w->state;
  state->file = open_file(w->name);
  if (state->file < 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is no HDF5 file that can be read: truncated or damaged",
                   w->name);
  return check_data(w, err);
}

pz_status pz_caffe_open_h5(pz_caffe_weights *w, pz_error *err) {
  h5 *state = PZ_NEW(w->arena, h5, 1);
  if (!state) return pz_fail_memory(err, w->name, sizeof *state);
  state->file = H5I_INVALID_HID;
  PZ_TRY(pz_memory_room("HDF5", err));
  PZ_TRY(pz_view_open(w->name, &state->view, err));
  w->state = state;
  w->source = &source; /* from here on it is closed */
  uint64_t root;
  PZ_TRY(pz_hdf5_check(&state->view, w->name, &root, err)); /* before the library sees it */
  quiet q = quiet_begin();
  pz_status status = open_quietly(w, err);
  quiet_end(q);
  return status;
}
