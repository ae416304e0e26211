/* pz_infer through the public header, with the network file that tests/runtime writes by hand: a 2D network of 5 x 7 that
 * gives 2 * input * input + 1. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void infer(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 4, 13, 17);
  uint8_t *data = fx_content(&info, 1);
  char in[600], out[600], *report = NULL, *json = NULL;
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.tif"));
  fx_save(in, &info, data);
  size_t size[3];
  char *bytes[3];
  for (int threads = 1; threads <= 3; threads++) {
    const pz_infer_options o = {.overlap = {0, 2, 3}, .blend = PZ_BLEND_BUMP, .threads = threads};
    snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
    if (pz_infer(NETWORK, in, out, &o, &report) != PZ_OK) fail_msg("%s", pz_last_message());
    assert_non_null(strstr(report, "\"patches_run\": 64")); /* 4 x 4 x 4 */
    pz_free(report);
    bytes[threads - 1] = fx_file(out, &size[threads - 1]);
  }
  pz_volume_info got;
  float *result = fx_load(out, &got);
  for (int64_t i = 0; i < 4 * 13 * 17; i++) {
    const double v = data[i] / 255.0;
    assert_true(fabs(result[i] - (2 * v * v + 1)) <= 3e-6); /* floats up to 3, and a blend */
  }
  for (int i = 1; i < 3; i++) {
    assert_int_equal(size[0], size[i]);
    assert_memory_equal(bytes[0], bytes[i], size[0]);
  }
  assert_int_equal(pz_volume_describe(out, &json), PZ_OK);
  assert_non_null(strstr(json, "\"format\": \"npy\""));
  pz_free(json);
  for (int i = 0; i < 3; i++) free(bytes[i]);
  free(result), free(data);
  fx_leave(&f);
}

/* The boxes that a reader likes are told. */
static void described(void **state) {
  (void)state;
  static const struct {
    const char *name, *step;
    bool sequential;
  } cases[] = {{"a.npy", "[\n    1,\n    1,\n    5\n  ]", false},
               {"a.nii.gz", "[\n    1,\n    1,\n    5\n  ]", true}};
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_F32, 2, 3, 7, 5);
  void *data = fx_content(&info, 1);
  for (int i = 0; i < 2; i++) {
    char *json, want[80];
    fx_save(fx_path(&f, cases[i].name), &info, data);
    assert_int_equal(pz_volume_describe(fx_path(&f, cases[i].name), &json), PZ_OK);
    snprintf(want, sizeof want, "\"step\": %s", cases[i].step);
    assert_non_null(strstr(json, want));
    assert_int_equal(strstr(json, "\"sequential\": true") != NULL, cases[i].sequential);
    pz_free(json);
  }
  free(data);
  fx_leave(&f);
}

/* A volume in memory behind callbacks, which notice planes out of order and may fail. */
typedef struct memory {
  const pz_volume_info *info;
  char *data;
  int64_t next, fail_at;
} memory;

static bool turn(memory *m, int64_t z, int64_t n) {
  assert_int_equal(z, m->next);
  m->next = z + n;
  return m->next <= m->fail_at;
}

/* The box in memory: where its first voxel is, and the strides of channels, planes, rows and elements. */
static char *box_of(const memory *m, const pz_box *box, int64_t stride[4]) {
  const int64_t *shape = m->info->shape;
  stride[3] = pz_dtype_bytes(m->info->dtype);
  stride[2] = shape[2] * stride[3], stride[1] = shape[1] * stride[2], stride[0] = shape[0] * stride[1];
  return m->data + box->start[0] * stride[1] + box->start[1] * stride[2] + box->start[2] * stride[3];
}

static void copy_box(const memory *m, const pz_box *box, const char *from, const int64_t from_stride[4],
                     char *to, const int64_t to_stride[4]) {
  const int64_t count[4] = {m->info->channels, box->size[0], box->size[1], box->size[2]};
  pz_copy_strided(from, from_stride, to, to_stride, count, 4, from_stride[3]);
}

static bool read_memory(void *host, const pz_box *box, void *voxels, const int64_t stride[3]) {
  memory *m = host;
  int64_t own[4];
  const char *from = box_of(m, box, own);
  copy_box(m, box, from, own, voxels, (const int64_t[4]){stride[0], stride[1], stride[2], own[3]});
  return turn(m, box->start[0], box->size[0]);
}

static bool write_memory(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]) {
  memory *m = host;
  int64_t own[4];
  char *to = box_of(m, box, own);
  copy_box(m, box, voxels, (const int64_t[4]){stride[0], stride[1], stride[2], own[3]}, to, own);
  return turn(m, box->start[0], box->size[0]);
}

static void callbacks(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 40, 13, 17), result = fx_info(PZ_F32, 1, 40, 13, 17);
  const pz_infer_options o = {.overlap = {0, 2, 3}, .blend = PZ_BLEND_BUMP};
  uint8_t *data = fx_content(&info, 1);
  float *out = calloc((size_t)pz_volume_bytes(&result), 1);
  char in_path[600], out_path[600], *report = NULL;
  snprintf(in_path, sizeof in_path, "%s", fx_path(&f, "in.npy"));
  snprintf(out_path, sizeof out_path, "%s", fx_path(&f, "out.npy"));
  fx_save(in_path, &info, data);
  assert_int_equal(pz_infer(NETWORK, in_path, out_path, &o, NULL), PZ_OK);
  pz_volume_info got;
  float *want = fx_load(out_path, &got);

  pz_net *net;
  memory from = {&info, (char *)data, 0, 40}, to = {&result, (char *)out, 0, 40};
  pz_volume_reader reader = {
      .dtype = PZ_U8, .channels = 1, .shape = {40, 13, 17}, .read = read_memory, .host = &from};
  const pz_volume_writer writer = {.write = write_memory, .host = &to}, file = {.path = out_path};
  assert_int_equal(pz_net_open(NETWORK, NULL, &net), PZ_OK);
  if (pz_net_infer(net, &reader, &writer, &o, &report) != PZ_OK) fail_msg("%s", pz_last_message());
  assert_memory_equal(out, want, (size_t)pz_volume_bytes(&result));
  assert_true(from.next == 40 && to.next == 40);
  assert_non_null(strstr(report, "\"path\": \"the volume\""));
  pz_free(report);

  from.next = 0, from.fail_at = 30;
  assert_int_equal(pz_net_infer(net, &reader, &file, &o, NULL), PZ_ERROR_RUN);
  assert_non_null(strstr(pz_last_message(), "its reader failed at planes"));
  assert_false(fx_exists(fx_path(&f, "out.npy.pznet-job")));
  from.next = to.next = 0, from.fail_at = 40, to.fail_at = 20;
  assert_int_equal(pz_net_infer(net, &reader, &writer, &o, NULL), PZ_ERROR_RUN);
  assert_non_null(strstr(pz_last_message(), "its writer failed at planes"));
  from.next = 0;
  const pz_infer_options resume = {.resume = true};
  assert_int_equal(pz_net_infer(net, &reader, &file, &resume, NULL), PZ_ERROR_USAGE);
  /* A step beyond the volume ends with it. */
  from.next = to.next = 0, to.fail_at = 40, reader.step[0] = 64;
  if (pz_net_infer(net, &reader, &writer, &o, &report) != PZ_OK) fail_msg("%s", pz_last_message());
  assert_memory_equal(out, want, (size_t)pz_volume_bytes(&result));
  pz_free(report);
  from.next = 0, reader.step[2] = -1;
  assert_int_equal(pz_net_infer(net, &reader, &file, &o, NULL), PZ_ERROR_USAGE);
  assert_non_null(strstr(pz_last_message(), "a negative step"));
  reader.step[2] = 0;
  const pz_volume_writer backwards = {.write = write_memory, .host = &to, .step = {0, -4, 0}};
  assert_int_equal(pz_net_infer(net, &reader, &backwards, &o, NULL), PZ_ERROR_USAGE);
  reader.shape[1] = 0;
  assert_int_equal(pz_net_infer(net, &reader, &file, &o, NULL), PZ_ERROR_INPUT);
  reader.dtype = (pz_dtype)(PZ_BOOL + 1);
  assert_int_equal(pz_net_infer(net, &reader, &file, &o, NULL), PZ_ERROR_USAGE);
  assert_int_equal(pz_net_infer(net, &(pz_volume_reader){0}, &file, &o, NULL), PZ_ERROR_USAGE);
  pz_net_close(net);
  free(data), free(out), free(want);
  fx_leave(&f);
}

/* By path and of an open network; the right one is taken. */
static void digests(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 4, 13, 17);
  void *data = fx_content(&info, 1);
  char in[600], out[600], wrong[65];
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.npy")),
      snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
  fx_save(in, &info, data);
  pz_net *net;
  const char *right;
  assert_int_equal(pz_net_open(NETWORK, NULL, &net), PZ_OK);
  assert_int_equal(pz_net_digest(net, &right), PZ_OK);
  snprintf(wrong, sizeof wrong, "%s", right);
  wrong[0] = right[0] == 'f' ? 'e' : 'f';
  const pz_infer_options good = {.digest = right}, bad = {.digest = wrong}, malformed = {.digest = "f"};
  const pz_volume_reader reader = {.path = in};
  const pz_volume_writer writer = {.path = out};
  assert_int_equal(pz_infer(NETWORK, in, out, &bad, NULL), PZ_ERROR_INPUT);
  assert_true(strstr(pz_last_message(), right) && strstr(pz_last_message(), wrong));
  assert_int_equal(pz_infer(NETWORK, in, out, &malformed, NULL), PZ_ERROR_USAGE);
  assert_int_equal(pz_net_infer(net, &reader, &writer, &bad, NULL), PZ_ERROR_INPUT);
  assert_int_equal(pz_net_infer(net, &reader, &writer, &malformed, NULL), PZ_ERROR_USAGE);
  assert_false(fx_exists(out));
  assert_int_equal(pz_infer(NETWORK, in, out, &good, NULL), PZ_OK);
  unlink(out);
  assert_int_equal(pz_net_infer(net, &reader, &writer, &good, NULL), PZ_OK);
  pz_net_close(net);
  free(data);
  fx_leave(&f);
}

/* A network with itself is itself; of two open ones, and of paths; and with a mask. */
static void ensembles(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 4, 13, 17);
  uint8_t *data = fx_content(&info, 1);
  char in[600], out[600];
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.npy"));
  snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
  memset(data, 0, 200);
  fx_save(in, &info, data);
  pz_net *nets[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pz_net_open(NETWORK, NULL, &nets[i]), PZ_OK);
  const pz_volume_reader reader = {.path = in};
  const pz_volume_writer writer = {.path = out};
  const char *const paths[] = {NETWORK, NULL};
  const pz_infer_options by_path = {.ensemble = paths, .ensemble_size = 1, .mask = &reader},
                         open = {.ensemble_nets = &nets[1], .ensemble_size = 1, .mask = &reader};
  for (int i = 0; i < 2; i++) {
    char *report;
    pz_volume_info got;
    const pz_status status = i ? pz_net_infer(nets[0], &reader, &writer, &open, &report)
                               : pz_infer(NETWORK, in, out, &by_path, &report);
    if (status != PZ_OK) fail_msg("%s", pz_last_message());
    assert_non_null(strstr(report, "\"networks averaged\": \"2\""));
    float *result = fx_load(out, &got);
    for (int64_t k = 0; k < 4 * 13 * 17; k++) {
      const double v = data[k] / 255.0;
      assert_true(fabs(result[k] - (data[k] ? 2 * v * v + 1 : 0)) <= 3e-6);
    }
    free(result), pz_free(report);
  }
  const struct {
    pz_infer_options o;
    const char *says;
  } cases[] = {{{.ensemble = paths, .ensemble_size = 2}, "path of a network is missing"},
               {{.ensemble_size = 1}, "paths, in `ensemble`"},
               {{.ensemble_nets = nets, .ensemble_size = 1}, "paths, in `ensemble`"},
               {{.ensemble = paths, .ensemble_size = 32}, "at most 31"},
               {{.mask = &(pz_volume_reader){.path = NULL}}, "a mask must be given with a path"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(pz_infer(NETWORK, in, out, &cases[i].o, NULL), PZ_ERROR_USAGE);
    if (!strstr(pz_last_message(), cases[i].says)) fail_msg("%s", pz_last_message());
  }
  assert_int_equal(pz_net_infer(nets[1], &reader, &writer, &open, NULL), PZ_ERROR_USAGE);
  assert_non_null(strstr(pz_last_message(), "given twice"));
  assert_int_equal(pz_net_infer(nets[0], &reader, &writer, &by_path, NULL), PZ_ERROR_USAGE);
  for (int i = 0; i < 2; i++) pz_net_close(nets[i]);
  free(data);
  fx_leave(&f);
}

static void refusals(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 2, 4, 13, 17);
  void *data = fx_content(&info, 1);
  fx_save(fx_path(&f, "in.tif"), &info, data);
  const struct {
    pz_infer_options o;
    const char *network, *in;
    pz_status status;
    const char *says;
  } cases[] = {
      {{.memory = 0}, NETWORK, "in.tif", PZ_ERROR_INPUT, "2 channels, the network takes 1"},
      {{.memory = 0}, NETWORK, "missing.tif", PZ_ERROR_INPUT, "missing.tif"},
      {{.memory = 0}, "/nowhere/net.so", "in.tif", PZ_ERROR_INPUT, "/nowhere/net.so"},
      {{.memory = -1}, NETWORK, "in.tif", PZ_ERROR_USAGE, "negative"},
      {{.blend = (pz_blend)9}, NETWORK, "in.tif", PZ_ERROR_USAGE, "enumeration"},
      {{.tiling = (pz_tiling)9}, NETWORK, "in.tif", PZ_ERROR_USAGE, "enumeration"},
      {{.sums = (pz_sums)9}, NETWORK, "in.tif", PZ_ERROR_USAGE, "enumeration"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *report = NULL;
    const pz_status status =
        pz_infer(cases[i].network, fx_path(&f, cases[i].in), fx_path(&f, "out.npy"), &cases[i].o, &report);
    if (status != cases[i].status || !strstr(pz_last_message(), cases[i].says))
      fail_msg("case %zu: %d %s", i, status, pz_last_message());
    assert_null(report);
    assert_false(fx_exists(fx_path(&f, "out.npy")));
  }
  char *json = NULL;
  assert_int_equal(pz_volume_describe(fx_path(&f, "missing.nii"), &json), PZ_ERROR_INPUT);
  assert_null(json);
  assert_int_equal(pz_infer(NULL, "a", "b", NULL, NULL), PZ_ERROR_USAGE);
  free(data);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(infer),     cmocka_unit_test(described),
                                     cmocka_unit_test(callbacks), cmocka_unit_test(digests),
                                     cmocka_unit_test(ensembles), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
