/* import_seeds FOLDER: writes seeds for fuzz_caffemodel and fuzz_caffemodel_h5 into FOLDER/caffemodel and
 * FOLDER/caffemodel_h5; those of fuzz_prototxt are tests/import/data. */
#include "fuzz.h"
#include <hdf5.h>
#include <sys/stat.h>

static const float values[24] = {1, 2, 3, 4, 5};
static const struct blob {
  const char *layer, *index;
  int rank;
  int64_t dim[4];
} blobs[] = {
    {"c", "0", 4, {3, 2, 2, 2}}, {"c", "1", 1, {3}}, {"b", "0", 1, {3}}, {"b", "1", 1, {3}},
    {"b", "2", 1, {1}},          {"p", "0", 0, {0}}, {"q", "0", 0, {0}},
};
enum { BLOBS = sizeof blobs / sizeof *blobs };

static size_t count_of(const struct blob *b) {
  size_t count = 1;
  for (int i = 0; i < b->rank; i++) count *= (size_t)b->dim[i];
  return count;
}

/* ---- binary; all lengths are below 128, so that a varint is a byte; but for packed data, which has two ---- */

static void put(pz_text *out, int byte) { pz_text_append_bytes(out, &(char){(char)byte}, 1); }

static void put_field(pz_text *out, int field, pz_text *inner) {
  int tag = field << 3 | 2;
  if (tag > 0x7f) put(out, (tag & 0x7f) | 0x80), put(out, tag >> 7);
  else put(out, tag);
  put(out, (int)(inner->size & 0x7f) | 0x80), put(out, (int)(inner->size >> 7));
  pz_text_append_bytes(out, inner->data ? inner->data : "", inner->size);
  pz_text_free(inner);
}

/* kind 0: shape and floats; 1: V1 with the four old sizes; 2: doubles, the shape not packed. */
static void put_blob(pz_text *layer, int kind, const struct blob *b) {
  pz_text blob = {0}, shape = {0}, data = {0};
  for (int i = 0; i < b->rank; i++) {
    if (kind == 2) put(&shape, 1 << 3);
    put(&shape, (int)b->dim[i]);
  }
  for (int i = 0; i < 4 && kind == 1; i++)
    put(&blob, (i + 1) << 3), put(&blob, i < 4 - b->rank ? 1 : (int)b->dim[i - 4 + b->rank]);
  for (size_t i = 0; i < count_of(b); i++) {
    double value = values[i];
    if (kind == 2) pz_text_append_bytes(&data, &value, sizeof value);
    else pz_text_append_bytes(&data, &values[i], sizeof values[i]);
  }
  if (kind == 0) {
    pz_text packed = {0};
    put_field(&packed, 1, &shape);
    shape = packed;
  }
  if (kind != 1) put_field(&blob, 7, &shape);
  pz_text_free(&shape);
  put_field(&blob, kind == 2 ? 8 : 5, &data);
  put_field(layer, kind == 1 ? 6 : 7, &blob);
}

static void binary_seed(const char *path, int kind) {
  pz_text net = {0};
  for (int i = 0; i < BLOBS;) {
    pz_text layer = {0}, name = {0};
    const char *current = blobs[i].layer;
    pz_text_append(&name, current);
    put_field(&layer, kind == 1 ? 4 : 1, &name);
    for (; i < BLOBS && !strcmp(blobs[i].layer, current); i++) put_blob(&layer, kind, &blobs[i]);
    put_field(&net, kind == 1 ? 2 : 100, &layer);
  }
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(net.data, 1, net.size, f) != net.size || fclose(f)) exit(1);
  pz_text_free(&net);
}

/* ---- HDF5: old and new formats, plain and in chunks ---- */

static void h5_seed(const char *path, bool latest, bool chunks) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), links = H5Pcreate(H5P_LINK_CREATE);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_create_intermediate_group(links, 1);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int i = 0; i < BLOBS; i++) {
    char name[32];
    hsize_t dims[4] = {0};
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    for (int k = 0; k < blobs[i].rank; k++) dims[k] = (hsize_t)blobs[i].dim[k];
    if (chunks && blobs[i].rank) H5Pset_chunk(list, blobs[i].rank, dims), H5Pset_deflate(list, 1);
    hid_t space = blobs[i].rank ? H5Screate_simple(blobs[i].rank, dims, NULL) : H5Screate(H5S_SCALAR);
    snprintf(name, sizeof name, "data/%s/%s", blobs[i].layer, blobs[i].index);
    hid_t set = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, links, list, H5P_DEFAULT);
    if (H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) exit(1);
    H5Dclose(set), H5Sclose(space), H5Pclose(list);
  }
  H5Pclose(links), H5Pclose(access);
  if (H5Fclose(file) < 0) exit(1);
}

int main(int argc, char **argv) {
  char path[4096];
  if (argc != 2) return 2;
  snprintf(path, sizeof path, "%s/caffemodel", argv[1]);
  mkdir(argv[1], 0777), mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/caffemodel_h5", argv[1]);
  mkdir(path, 0777);
  for (int kind = 0; kind < 3; kind++) {
    snprintf(path, sizeof path, "%s/caffemodel/%d", argv[1], kind);
    binary_seed(path, kind);
  }
  for (int kind = 0; kind < 4; kind++) {
    snprintf(path, sizeof path, "%s/caffemodel_h5/%d", argv[1], kind);
    h5_seed(path, kind & 1, kind & 2);
  }
  return 0;
}
