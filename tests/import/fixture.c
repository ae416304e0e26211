#include "fixture.h"
#include <dirent.h>
#include <hdf5.h>
#include <unistd.h>

static char folder[64];

int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/pznet-import-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

int remove_folder(void **state) {
  (void)state;
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));)
    if (e->d_name[0] != '.') unlink(path_of(e->d_name));
  if (dir) closedir(dir);
  return rmdir(folder);
}

const char *path_of(const char *name) {
  static char paths[4][400];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

const char *write_file(const char *name, const void *data, size_t size) {
  const char *path = path_of(name);
  unlink(
      path); /* some file systems write a file to disk at once when it is cut to nothing and filled again */
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
  return path;
}

pz_status try_import(const char *text, const char *weights, pz_graph **graph, pz_error *err) {
  pz_import_options options = {.weights = weights};
  return pz_import_caffe(write_file("net.prototxt", text, strlen(text)), &options, graph, err);
}

pz_graph *import_text(const char *text, const char *weights) {
  pz_graph *g;
  pz_error err = {0};
  if (try_import(text, weights, &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

bool is_refused(const char *text, const char *weights, pz_status status, const char *message) {
  pz_graph *g;
  pz_error err = {0};
  pz_status got = try_import(text, weights, &g, &err);
  bool as_expected = got == status && !g && strstr(err.message, message) && !strchr(err.message, '\n');
  if (!as_expected)
    print_error("got %d '%s'\nexpected %d '%s'\nfor %.400s\n\n", got, err.message, status, message, text);
  pz_graph_free(g);
  return as_expected;
}

void import_fails(const char *text, const char *weights, pz_status status, const char *message) {
  assert_true(is_refused(text, weights, status, message));
}

const float *constant(const pz_graph *g, const char *name) {
  pz_tensor_id id = pz_graph_find_tensor(g, name);
  if (id == PZ_NONE || !g->tensors[id].data) fail_msg("no constant '%s'", name);
  return g->tensors[id].data;
}

const char *shape_of(const pz_graph *g, const char *tensor, char *out) {
  pz_tensor_id id = pz_graph_find_tensor(g, tensor);
  if (id == PZ_NONE) fail_msg("no tensor '%s'", tensor);
  return pz_shape_text(&g->tensors[id].shape, out);
}

/* ---- wire format ---- */

void put_varint(pz_text *out, uint64_t value) {
  for (; value > 0x7f; value >>= 7) pz_text_append_bytes(out, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
  pz_text_append_bytes(out, &(uint8_t){(uint8_t)value}, 1);
}

void put_number(pz_text *out, uint32_t field, uint64_t value) {
  put_varint(out, (uint64_t)field << 3);
  put_varint(out, value);
}

void put_bytes(pz_text *out, uint32_t field, const void *bytes, size_t size) {
  put_varint(out, (uint64_t)field << 3 | 2);
  put_varint(out, size);
  pz_text_append_bytes(out, bytes, size);
}

void put_message(pz_text *out, uint32_t field, pz_text *inner) {
  put_bytes(out, field, inner->data ? inner->data : "", inner->size);
  pz_text_free(inner);
}

static void put_shape(pz_text *out, blob_style style, int rank, const int64_t *dims) {
  pz_text shape = {0}, packed = {0};
  for (int i = 0; i < rank; i++) {
    if (style == LEGACY) put_number(out, (uint32_t)(1 + i), (uint64_t)dims[i]);
    else if (style == UNPACKED_SHAPE) put_number(&shape, 1, (uint64_t)dims[i]);
    else put_varint(&packed, (uint64_t)dims[i]);
  }
  if (packed.size) put_message(&shape, 1, &packed);
  if (style != LEGACY) put_message(out, 7, &shape);
}

static void put_values(pz_text *out, blob_style style, const float *values, size_t count) {
  pz_text doubles = {0};
  for (size_t i = 0; i < count; i++) {
    double value = values[i];
    if (style == UNPACKED) {
      put_varint(out, 5 << 3 | 5);
      pz_text_append_bytes(out, &values[i], sizeof(float));
    } else if (style == UNPACKED_DOUBLES) {
      put_varint(out, 8 << 3 | 1);
      pz_text_append_bytes(out, &value, sizeof value);
    } else if (style == DOUBLES) pz_text_append_bytes(&doubles, &value, sizeof value);
  }
  if (style == DOUBLES) put_message(out, 8, &doubles);
  else if (style != UNPACKED && style != UNPACKED_DOUBLES) put_bytes(out, 5, values, count * sizeof *values);
}

void put_blob(pz_text *out, uint32_t field, blob_style style, int rank, const int64_t *dims,
              const float *values, size_t count) {
  pz_text blob = {0};
  put_values(&blob, style, values, count);
  put_shape(&blob, style, rank, dims);
  put_message(out, field, &blob);
}

const char *write_text(const char *name, pz_text *text) {
  assert_false(text->failed);
  const char *path = write_file(name, text->data ? text->data : "", text->size);
  pz_text_free(text);
  return path;
}

/* ---- HDF5 ---- */

const char *write_h5(const char *name, const h5_blob *blobs, int count) {
  const char *path = path_of(name);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t data = H5Gcreate2(file, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t parents = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(parents, 1);
  for (int i = 0; i < count; i++) {
    hsize_t dims[5];
    for (int k = 0; k < blobs[i].rank; k++) dims[k] = (hsize_t)blobs[i].dim[k];
    hid_t space = blobs[i].rank ? H5Screate_simple(blobs[i].rank, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t set = H5Dcreate2(data, blobs[i].path, H5T_IEEE_F32LE, space, parents, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, blobs[i].values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
  }
  H5Pclose(parents);
  H5Gclose(data);
  assert_true(H5Fclose(file) >= 0);
  return path;
}
