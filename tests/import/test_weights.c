/* Weights from files: every way to store a blob, legacy shapes, and what does not fit. */
#include "fixture.h"
#include <hdf5.h>
#include <math.h>

#define X "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: 5 dim: 5 } } }\n"
#define CONV                                                                                                 \
  X "layer { name: 'a/conv' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: 3 "     \
    "kernel_size: 2 } }"

enum { LAYER_NAME = 1, LAYER_BLOBS = 7, V1_NAME = 4, V1_BLOBS = 6, NET_LAYERS = 2, NET_LAYER = 100 };

static float values[64];

static void put_layer(pz_text *net, const char *name, blob_style style, int rank, const int64_t *dims,
                      int bias_rank, const int64_t *bias_dims, int bias) {
  bool v1 = style == LEGACY;
  pz_text layer = {0};
  size_t count = 1;
  for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
  put_bytes(&layer, v1 ? V1_NAME : LAYER_NAME, name, strlen(name));
  put_blob(&layer, v1 ? V1_BLOBS : LAYER_BLOBS, style, rank, dims, values, count);
  if (bias)
    put_blob(&layer, v1 ? V1_BLOBS : LAYER_BLOBS, style, bias_rank, bias_dims, values + 32, (size_t)bias);
  put_message(net, v1 ? NET_LAYERS : NET_LAYER, &layer);
}

static const int64_t four[4] = {3, 2, 2, 2}, three[4] = {1, 1, 1, 3};

static const char *write_conv(blob_style style) {
  pz_text net = {0};
  put_bytes(&net, 1, "net", 3);
  put_layer(&net, "extra", style, 1, three + 3, 0, NULL, 0);
  put_layer(&net, "a/conv", style, 4, four, style == LEGACY ? 4 : 1, style == LEGACY ? three : three + 3, 3);
  return write_text("net.caffemodel", &net);
}

static void check_conv(const char *weights) {
  pz_graph *g = import_text(CONV, weights);
  char out[PZ_SHAPE_TEXT];
  assert_memory_equal(constant(g, "a/conv.weight"), values, 24 * sizeof(float));
  assert_memory_equal(constant(g, "a/conv.bias"), values + 32, 3 * sizeof(float));
  assert_string_equal(shape_of(g, "a/conv.weight", out), "3x2x2x2");
  assert_string_equal(shape_of(g, "a/conv.bias", out), "3");
  pz_graph_free(g);
}

static void binary_in_every_style(void **state) {
  (void)state;
  for (blob_style style = 0; style < BLOB_STYLES; style++) check_conv(write_conv(style));
}

static void h5_is_read(void **state) {
  (void)state;
  h5_blob blobs[] = {
      {"a/conv/0", 4, {3, 2, 2, 2}, values}, {"a/conv/1", 1, {3}, values + 32}, {"extra/0", 0, {0}, values}};
  check_conv(write_h5("net.caffemodel.h5", blobs, 3));
  check_conv(write_h5("content-decides.caffemodel", blobs, 3));
}

/* A field may come in pieces: packed data in two parts is their sequence. */
static void split_data_is_joined(void **state) {
  (void)state;
  pz_text net = {0}, layer = {0}, blob = {0}, shape = {0};
  for (int i = 0; i < 4; i++) put_number(&shape, 1, (uint64_t)four[i]);
  put_bytes(&blob, 5, values, 10 * sizeof(float));
  put_message(&blob, 7, &shape);
  put_bytes(&blob, 5, values + 10, 0);
  put_bytes(&blob, 5, values + 10, 14 * sizeof(float));
  put_bytes(&blob, 6, values, 3); /* diff: skipped, whatever it holds */
  put_message(&layer, LAYER_BLOBS, &blob);
  put_blob(&layer, LAYER_BLOBS, PACKED, 4, three, values + 32, 3);
  put_bytes(&layer, LAYER_NAME, "a/conv", 6); /* the name may come last */
  put_message(&net, NET_LAYER, &layer);
  check_conv(write_text("net.caffemodel", &net));
}

/* As in Caffe, the later of two layers of one name counts. */
static void later_layers_win(void **state) {
  (void)state;
  pz_text net = {0};
  put_layer(&net, "a/conv", PACKED, 1, three + 3, 0, NULL, 0);
  put_layer(&net, "a/conv", PACKED, 4, four, 1, three + 3, 3);
  check_conv(write_text("net.caffemodel", &net));
}

/* ---- what does not fit ---- */

static void shapes_are_both_named(void **state) {
  (void)state;
  static const struct {
    int64_t dims[4], bias;
    const char *message;
  } rows[] = {
      {{3, 2, 3, 3}, 3, "layer 'a/conv' weight 0: the network needs 3x2x2x2, net.caffemodel has 3x2x3x3"},
      {{2, 3, 2, 2}, 3, "layer 'a/conv' weight 0: the network needs 3x2x2x2, net.caffemodel has 2x3x2x2"},
      {{1, 1, 1, 24}, 3, "layer 'a/conv' weight 0: the network needs 3x2x2x2, net.caffemodel has 1x1x1x24"},
      {{3, 2, 2, 2}, 2, "layer 'a/conv' weight 1: the network needs 3, net.caffemodel has 2"},
      {{3, 2, 2, 2},
       0,
       "layer 'a/conv' (Convolution): the network needs 2 blobs of weights, net.caffemodel has 1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pz_text net = {0};
    put_layer(&net, "a/conv", PACKED, 4, rows[i].dims, 1, &rows[i].bias, (int)rows[i].bias);
    import_fails(CONV, write_text("net.caffemodel", &net), PZ_ERROR_INPUT, rows[i].message);
  }
  h5_blob wrong[] = {{"a/conv/0", 3, {3, 4, 2}, values}, {"a/conv/1", 1, {3}, values}};
  import_fails(CONV, write_h5("net.h5", wrong, 2), PZ_ERROR_INPUT,
               "weight 0: the network needs 3x2x2x2, net.h5 has 3x4x2");
}

static void counts_are_checked(void **state) {
  (void)state;
  h5_blob blobs[] = {{"a/conv/0", 4, {3, 2, 2, 2}, values},
                     {"a/conv/1", 1, {3}, values},
                     {"a/conv/2", 1, {3}, values},
                     {"b/0", 1, {3}, values}};
  import_fails(CONV, write_h5("net.h5", blobs, 3), PZ_ERROR_INPUT,
               "the network needs 2 blobs of weights, net.h5 has 3");
  import_fails(CONV, write_h5("net.h5", blobs, 1), PZ_ERROR_INPUT,
               "the network needs 2 blobs of weights, net.h5 has 1");
  import_fails(CONV, write_h5("net.h5", blobs + 3, 1), PZ_ERROR_INPUT,
               "net.h5 has no weights for a layer of this name");
  pz_text net = {0};
  put_layer(&net, "b", PACKED, 4, four, 1, three + 3, 3);
  import_fails(CONV, write_text("net.caffemodel", &net), PZ_ERROR_INPUT,
               "layer 'a/conv' (Convolution): net.caffemodel has no weights for a layer of this name");
}

static const char *one_blob(pz_text *blob) {
  pz_text net = {0}, layer = {0};
  put_bytes(&layer, LAYER_NAME, "a/conv", 6);
  put_message(&layer, LAYER_BLOBS, blob);
  put_blob(&layer, LAYER_BLOBS, PACKED, 1, three + 3, values, 3);
  put_message(&net, NET_LAYER, &layer);
  return write_text("net.caffemodel", &net);
}

static void broken_blobs(void **state) {
  (void)state;
  pz_text blob = {0}, shape = {0};
  put_bytes(&blob, 5, values, 5);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT, "a blob's data has the wrong type or length");
  put_number(&blob, 5, 7);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT, "a blob's data has the wrong type or length");
  for (int i = 0; i < 9; i++) put_number(&shape, 1, 1);
  put_message(&blob, 7, &shape);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT, "a blob of more than 8 dimensions");
  put_number(&shape, 1, (uint64_t)-3);
  put_message(&blob, 7, &shape);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT, "a blob with a negative size");
  put_number(&blob, 1, (uint64_t)-1);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT, "a blob with a negative size");
  for (int i = 0; i < 3; i++) put_number(&shape, 1, UINT64_C(1) << 40);
  put_message(&blob, 7, &shape);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT,
               "has 0 values for the shape 1099511627776x1099511627776x1099511627776");
  put_number(&shape, 1, 5);
  put_message(&blob, 7, &shape);
  put_bytes(&blob, 5, values, 16);
  import_fails(CONV, one_blob(&blob), PZ_ERROR_INPUT,
               "layer 'a/conv' weight 0: has 4 values for the shape 5");
}

static void broken_files(void **state) {
  (void)state;
  static const struct {
    const char *bytes, *message;
    size_t size;
  } rows[] = {
      {"", "net.caffemodel: holds no weights", 0},
      {"\x0a\x7f", "byte 2: a field of 127 bytes, but only 0 are left: truncated or damaged", 2},
      {"\x0b", "byte 0: a field of a type that is not used: this is no .caffemodel", 1},
      {"\x00\x01", "byte 0: no field of a message", 2},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "byte 0: a number longer than 64 bits", 11},
      {"\xff\xff", "byte 0: the file is truncated or damaged", 2},
      {"\x0d\x01\x02", "byte 1: a field of 4 bytes, but only 2 are left", 3},
      {"\xa2\x06\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "a field of 9223372036854775807 bytes", 11},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    import_fails(CONV, write_file("net.caffemodel", rows[i].bytes, rows[i].size), PZ_ERROR_INPUT,
                 rows[i].message);
  import_fails(CONV, write_file("net.h5", "not it", 6), PZ_ERROR_INPUT,
               "net.h5: is no HDF5 file, though its name says so");
  import_fails(CONV, write_file("net.h5", "\x89HDF\r\n\x1a\nmore", 12), PZ_ERROR_INPUT,
               "truncated or damaged");
}

/* ---- HDF5 that leads elsewhere ---- */

static hid_t new_h5(const char *name, hid_t *group) {
  hid_t file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t parents = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(parents, 1);
  *group = H5Gcreate2(file, "data/a/conv", parents, H5P_DEFAULT, H5P_DEFAULT);
  H5Pclose(parents);
  return file;
}

static void add_set(hid_t group, const char *name, hid_t type, hid_t list, int rank, const hsize_t *dims) {
  hid_t space = H5Screate_simple(rank, dims, NULL);
  hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(set >= 0);
  H5Dclose(set);
  H5Sclose(space);
}

static void h5_stays_in_its_file(void **state) {
  (void)state;
  static const hsize_t dims[4] = {3, 2, 2, 2}, three_long[1] = {3};
  static const char *const messages[] = {"net.h5 has 0", "net.h5 has 0", "has its values in another file",
                                         "/data/a/conv/0: has no numbers in it",
                                         "/data/a/conv/0: is no dataset"};
  for (int i = 0; i < 5; i++) {
    hid_t group, file = new_h5("net.h5", &group), list = H5Pcreate(H5P_DATASET_CREATE);
    if (i == 0) H5Lcreate_external("other.h5", "/data/a/conv/0", group, "0", H5P_DEFAULT, H5P_DEFAULT);
    if (i == 1) H5Lcreate_soft("/data/a/conv/1", group, "0", H5P_DEFAULT, H5P_DEFAULT);
    if (i == 2) H5Pset_external(list, "/etc/passwd", 0, 96);
    if (i == 2) add_set(group, "0", H5T_IEEE_F32LE, list, 4, dims);
    if (i == 3) add_set(group, "0", H5T_STD_REF_OBJ, list, 4, dims);
    if (i == 4) H5Gclose(H5Gcreate2(group, "0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    add_set(group, "1", H5T_IEEE_F32LE, H5P_DEFAULT, 1, three_long);
    H5Pclose(list);
    H5Gclose(group);
    H5Fclose(file);
    import_fails(CONV, path_of("net.h5"), PZ_ERROR_INPUT, messages[i]);
  }
}

/* Compressed, of another type: HDF5 converts. */
static void h5_chunks_and_types(void **state) {
  (void)state;
  static const hsize_t dims[4] = {3, 2, 2, 2}, chunk[4] = {2, 2, 1, 2}, three_long[1] = {3};
  hid_t group, file = new_h5("net.h5", &group), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 4, chunk);
  H5Pset_shuffle(list);
  H5Pset_deflate(list, 6);
  add_set(group, "0", H5T_IEEE_F64BE, list, 4, dims);
  add_set(group, "1", H5T_STD_I32LE, H5P_DEFAULT, 1, three_long);
  hid_t set = H5Dopen2(group, "0", H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Pclose(list);
  H5Gclose(group);
  H5Fclose(file);
  pz_graph *g = import_text(CONV, path_of("net.h5"));
  assert_memory_equal(constant(g, "a/conv.weight"), values, 24 * sizeof(float));
  pz_graph_free(g);
}

/* The newest format has checksums: it is read, and not with a byte of an object's header changed. */
static void h5_headers_are_checked(void **state) {
  (void)state;
  static const hsize_t dims[4] = {3, 2, 2, 2}, three_long[1] = {3};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), parents = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_create_intermediate_group(parents, 1);
  hid_t file = H5Fcreate(path_of("net.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t group = H5Gcreate2(file, "data/a/conv", parents, H5P_DEFAULT, H5P_DEFAULT);
  add_set(group, "0", H5T_IEEE_F32LE, H5P_DEFAULT, 4, dims);
  add_set(group, "1", H5T_IEEE_F32LE, H5P_DEFAULT, 1, three_long);
  H5Pclose(access), H5Pclose(parents), H5Gclose(group), H5Fclose(file);
  pz_graph_free(import_text(CONV, path_of("net.h5")));
  static char data[1 << 16];
  FILE *f = fopen(path_of("net.h5"), "rb");
  size_t size = fread(data, 1, sizeof data, f);
  fclose(f);
  int headers = 0;
  for (size_t i = 0; i + 40 < size; i++) {
    if (memcmp(data + i, "OHDR", 4)) continue;
    headers++;
    data[i + 36] ^= 1;
    import_fails(CONV, write_file("damaged.h5", data, size), PZ_ERROR_INPUT, "damaged.h5: ");
    data[i + 36] ^= 1;
  }
  assert_int_equal(headers, 6); /* the root, data, a, conv, 0, 1 */
}

/* Groups of many links have no place in their header: what is in them is looked at too. */
static void h5_many_links(void **state) {
  (void)state;
  static const hsize_t dims[4] = {3, 2, 2, 2}, three_long[1] = {3};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), parents = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_create_intermediate_group(parents, 1);
  hid_t file = H5Fcreate(path_of("net.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t group = H5Gcreate2(file, "data/a/conv", parents, H5P_DEFAULT, H5P_DEFAULT);
  for (char name[2] = "0"; *name <= '9'; name[0]++)
    add_set(group, name, H5T_IEEE_F32LE, H5P_DEFAULT, *name == '0' ? 4 : 1, *name == '0' ? dims : three_long);
  H5O_info_t info;
  assert_true(H5Oget_info_by_name(group, "0", &info, H5P_DEFAULT) >= 0);
  H5Pclose(access), H5Pclose(parents), H5Gclose(group), H5Fclose(file);
  static char data[1 << 16];
  FILE *f = fopen(path_of("net.h5"), "rb");
  size_t size = fread(data, 1, sizeof data, f);
  fclose(f);
  import_fails(CONV, path_of("net.h5"), PZ_ERROR_INPUT, "net.h5 has 10");
  data[info.addr + 20] ^= 1;
  import_fails(CONV, write_file("damaged.h5", data, size), PZ_ERROR_INPUT,
               "/data/a/conv/0: cannot be read: truncated or damaged");
}

/* The library would read behind a chunk that inflates to less than it should. */
static void h5_chunks_that_lie(void **state) {
  (void)state;
  static const hsize_t dims[4] = {3, 2, 2, 2}, chunk[4] = {2, 2, 2, 2}, first[4], three_long[1] = {3};
  static const uint8_t nothing[] = {0x78, 0x9c, 0x03, 0, 0, 0, 0, 1}; /* zlib's stream of no bytes */
  hid_t group, file = new_h5("net.h5", &group), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 4, chunk);
  H5Pset_deflate(list, 6);
  add_set(group, "0", H5T_IEEE_F32LE, list, 4, dims);
  add_set(group, "1", H5T_IEEE_F32LE, H5P_DEFAULT, 1, three_long);
  hid_t set = H5Dopen2(group, "0", H5P_DEFAULT);
  assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, first, sizeof nothing, nothing) >= 0);
  H5Dclose(set), H5Pclose(list), H5Gclose(group), H5Fclose(file);
  import_fails(CONV, path_of("net.h5"), PZ_ERROR_INPUT, "/data/a/conv/0: has a chunk that is damaged");
}

/* Bytes become floats four times as large; chunks that were never written hold the fill value. */
static void h5_small_types_and_fill(void **state) {
  (void)state;
  static const hsize_t dims[4] = {3, 2, 2, 2}, chunk[4] = {2, 2, 2, 2}, first[4], three_long[1] = {3};
  static const float fill = -7;
  int8_t stored[16];
  for (int i = 0; i < 16; i++) stored[i] = (int8_t)(3 * i - 20);
  hid_t group, file = new_h5("net.h5", &group), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 4, chunk);
  H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &fill);
  add_set(group, "0", H5T_STD_I8LE, list, 4, dims);
  add_set(group, "1", H5T_IEEE_F32LE, H5P_DEFAULT, 1, three_long);
  hid_t set = H5Dopen2(group, "0", H5P_DEFAULT);
  assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, first, sizeof stored, stored) >= 0);
  H5Dclose(set), H5Pclose(list), H5Gclose(group), H5Fclose(file);
  pz_graph *g = import_text(CONV, path_of("net.h5"));
  for (int i = 0; i < 24; i++)
    assert_true(constant(g, "a/conv.weight")[i] == (i < 16 ? (float)stored[i] : fill));
  pz_graph_free(g);
}

/* HDF5's error handler is the host's: silent inside, as it was outside. */
static herr_t counting_handler(hid_t stack, void *data) {
  (void)stack;
  ++*(int *)data;
  return 0;
}

static void h5_handler_is_kept(void **state) {
  (void)state;
  int errors = 0;
  H5E_auto2_t handler, before;
  void *data, *data_before;
  H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
  H5Eset_auto2(H5E_DEFAULT, counting_handler, &errors);
  import_fails(CONV, write_file("net.h5", "\x89HDF\r\n\x1a\nmore", 12), PZ_ERROR_INPUT,
               "truncated or damaged");
  H5Eget_auto2(H5E_DEFAULT, &handler, &data);
  H5Eset_auto2(H5E_DEFAULT, before, data_before);
  assert_int_equal(errors, 0);
  assert_ptr_equal(handler, counting_handler);
  assert_ptr_equal(data, &errors);
}

/* ---- layers with more to it ---- */

/* Blobs of one layer, all of rank 1 but for those given. */
static const char *write_blobs(const char *layer, int count, const int *ranks, const int64_t (*dims)[4],
                               const float *const *data) {
  pz_text net = {0}, text = {0};
  put_bytes(&text, LAYER_NAME, layer, strlen(layer));
  for (int i = 0; i < count; i++) {
    size_t elements = 1;
    for (int k = 0; k < ranks[i]; k++) elements *= (size_t)dims[i][k];
    put_blob(&text, LAYER_BLOBS, PACKED, ranks[i], dims[i], data[i], elements);
  }
  put_message(&net, NET_LAYER, &text);
  return write_text("net.caffemodel", &net);
}

/* Stored sums over their factor; a factor of 0 makes mean and variance 0. */
static void batch_norm_has_a_factor(void **state) {
  (void)state;
  static const float mean[2] = {1, -3}, variance[2] = {8, 2}, factors[2] = {4, 0};
  static const int ranks[3] = {1, 1, 1};
  static const int64_t dims[3][4] = {{2}, {2}, {1}};
  for (int i = 0; i < 2; i++) {
    const float *data[] = {mean, variance, &factors[i]};
    pz_graph *g = import_text(X "layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'y' }",
                              write_blobs("bn", 3, ranks, dims, data));
    float scale = i ? 0 : 0.25f; /* exact in floats */
    for (int k = 0; k < 2; k++) {
      assert_true(constant(g, "bn.mean")[k] == mean[k] * scale);
      assert_true(constant(g, "bn.variance")[k] == variance[k] * scale);
    }
    pz_graph_free(g);
  }
}

static void scale_with_two_bottoms_has_its_bias_first(void **state) {
  (void)state;
  static const int ranks[1] = {4};
  static const int64_t dims[1][4] = {{1, 2, 5, 5}};
  const float *data[] = {values};
  pz_graph *g =
      import_text(X "layer { name: 's' type: 'Scale' bottom: 'x' bottom: 'x' top: 'y' scale_param { axis: 0 "
                    "bias_term: true } }",
                  write_blobs("s", 1, ranks, dims, data));
  assert_memory_equal(constant(g, "s.beta"), values, 50 * sizeof(float));
  pz_graph_free(g);
}

/* PReLU's shared slope is a scalar for Caffe, and one number in old files. */
static void scalars_fit(void **state) {
  (void)state;
  for (int rank = 0; rank < 3; rank++) {
    static const int64_t dims[1][4] = {{1, 1}};
    const float *data[] = {values + 5};
    pz_graph *g = import_text(
        X "layer { name: 'p' type: 'PReLU' bottom: 'x' top: 'y' prelu_param { channel_shared: true } }",
        write_blobs("p", 1, &rank, dims, data));
    assert_true(constant(g, "p.slope")[0] == values[5]);
    pz_graph_free(g);
  }
}

#define SHARED                                                                                               \
  X "layer { name: 'p' type: 'PReLU' bottom: 'x' top: 'y' param { name: 'w' } }\n"                           \
    "layer { name: 'q' type: 'PReLU' bottom: 'y' top: 'z' param { name: 'w' } prelu_param { filler { "       \
    "value: 9 } } }"

/* The owner's blob serves layers that the file has nothing for; with init they are filled as the owner. */
static void weights_are_shared_by_name(void **state) {
  (void)state;
  h5_blob blobs[] = {{"p/0", 1, {2}, values + 7}};
  pz_graph *g = import_text(SHARED, write_h5("net.h5", blobs, 1));
  assert_memory_equal(constant(g, "p.slope"), values + 7, 2 * sizeof(float));
  assert_memory_equal(constant(g, "q.slope"), values + 7, 2 * sizeof(float));
  pz_graph_free(g);
  h5_blob own[] = {{"p/0", 1, {2}, values + 7}, {"q/0", 1, {2}, values + 9}};
  g = import_text(SHARED, write_h5("net.h5", own, 2));
  assert_memory_equal(constant(g, "q.slope"), values + 9, 2 * sizeof(float));
  pz_graph_free(g);
  import_fails(SHARED, write_h5("net.h5", own + 1, 1), PZ_ERROR_INPUT,
               "layer 'p' (PReLU): net.h5 has no weights");
}

static int set_values(void **state) {
  for (int i = 0; i < 64; i++) values[i] = (float)i / 3 - 7;
  return make_folder(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(binary_in_every_style),
      cmocka_unit_test(h5_is_read),
      cmocka_unit_test(split_data_is_joined),
      cmocka_unit_test(later_layers_win),
      cmocka_unit_test(shapes_are_both_named),
      cmocka_unit_test(counts_are_checked),
      cmocka_unit_test(broken_blobs),
      cmocka_unit_test(broken_files),
      cmocka_unit_test(h5_stays_in_its_file),
      cmocka_unit_test(h5_chunks_and_types),
      cmocka_unit_test(h5_headers_are_checked),
      cmocka_unit_test(h5_many_links),
      cmocka_unit_test(h5_chunks_that_lie),
      cmocka_unit_test(h5_small_types_and_fill),
      cmocka_unit_test(h5_handler_is_kept),
      cmocka_unit_test(batch_norm_has_a_factor),
      cmocka_unit_test(scale_with_two_bottoms_has_its_bias_first),
      cmocka_unit_test(scalars_fit),
      cmocka_unit_test(weights_are_shared_by_name),
  };
  return cmocka_run_group_tests(tests, set_values, remove_folder);
}
