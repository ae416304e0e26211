#include "fixture.h"
#include "formats/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const pz_engine_tuning busy = {.record_seconds = 1e-9, .store_bytes = 64, .read_bytes = 64};

static void run_or_fail(fx_net *net, const char *in, const char *out, const pz_infer_options *o,
                        const pz_engine_tuning *t) {
  pz_error err = {0};
  if (fx_infer(net, in, out, o, t, &err) != PZ_OK) fail_msg("%s", err.message);
}

/* A network that returns its input returns the volume to 1e-6, for random sizes, patches, margins, overlaps, blendings. */
static void identity(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  uint64_t seed = 1;
  for (int round = 0; round < 250; round++) {
    const int32_t channels = (int32_t)fx_between(&seed, 1, 3);
    int64_t size[3], in[3], out[3];
    pz_infer_options o = PZ_INFER_OPTIONS;
    for (int i = 0; i < 3; i++) {
      size[i] = fx_between(&seed, 1, i ? 23 : 17), out[i] = fx_between(&seed, 1, 9);
      in[i] = out[i] + (round % 3 ? 0 : fx_between(&seed, 0, 7));
      o.overlap[i] = (int32_t)fx_between(&seed, 0, out[i] - 1);
    }
    o.blend = (pz_blend)(round % 3);
    o.border = (pz_border)(round / 3 % 2);
    const pz_volume_info info = fx_info(PZ_F32, channels, size[0], size[1], size[2]);
    float *data = fx_content(&info, (uint64_t)round);
    fx_save(fx_path(&f, "in.npy"), &info, data);
    fx_net net;
    fx_net_make(&net, FX_IDENTITY, channels, channels, in, out);
    run_or_fail(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, round % 2 ? &busy : NULL);
    pz_volume_info got;
    float *result = fx_load(fx_path(&f, "out.npy"), &got);
    assert_memory_equal(got.shape, info.shape, sizeof got.shape);
    assert_int_equal(got.channels, channels);
    for (int64_t i = 0; i < pz_volume_bytes(&info) / 4; i++)
      if (!(fabsf(result[i] - data[i]) <= 1e-6f))
        fail_msg("round %d: voxel %lld is %.9g, not %.9g", round, (long long)i, result[i], data[i]);
    free(data), free(result);
    assert_false(fx_exists(fx_path(&f, "out.npy.pznet-job")));
  }
  fx_leave(&f);
}

/* Patches of realistic size, where the bump's weights leave the range of float. */
static void identity_wide(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {1, 3, 900};
  const pz_volume_info info = fx_info(PZ_F32, 1, 2, 5, 1700);
  float *data = fx_content(&info, 3);
  fx_save(fx_path(&f, "in.npy"), &info, data);
  for (int b = 0; b < 3; b++) {
    pz_infer_options o = {.overlap = {0, 1, 300}, .blend = (pz_blend)b};
    fx_net net;
    fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
    run_or_fail(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, NULL);
    pz_volume_info got;
    float *result = fx_load(fx_path(&f, "out.npy"), &got);
    for (int64_t i = 0; i < 2 * 5 * 1700; i++) assert_true(fabsf(result[i] - data[i]) <= 1e-6f);
    free(result);
  }
  free(data);
  fx_leave(&f);
}

static double beyond(const float *data, const int64_t n[3], bool mirror, int64_t z, int64_t y, int64_t x) {
  const int64_t at[3] = {z, y, x};
  int64_t use[3];
  for (int i = 0; i < 3; i++) {
    use[i] = mirror ? pz_mirror(at[i], n[i]) : at[i];
    if (use[i] < 0 || use[i] >= n[i]) return 0;
  }
  return data[(use[0] * n[1] + use[1]) * n[2] + use[2]];
}

/* A valid box filter of the whole volume, evaluated directly. 1e-6: a mean of at most 8*8*8 floats in double, and a blend. */
static void valid(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  uint64_t seed = 7;
  for (int round = 0; round < 60; round++) {
    int64_t n[3], in[3], out[3], k[3];
    pz_infer_options o = {.blend = (pz_blend)(round % 3), .border = (pz_border)(round / 3 % 2)};
    for (int i = 0; i < 3; i++) {
      n[i] = fx_between(&seed, 1, 14), out[i] = fx_between(&seed, 1, 6),
      in[i] = out[i] + fx_between(&seed, 0, 5);
      k[i] = in[i] - out[i];
      o.overlap[i] = (int32_t)fx_between(&seed, 0, out[i] - 1);
    }
    const pz_volume_info info = fx_info(PZ_F32, 1, n[0], n[1], n[2]);
    float *data = fx_content(&info, seed);
    fx_save(fx_path(&f, "in.npy"), &info, data);
    fx_net net;
    fx_net_make(&net, FX_BOX, 1, 1, in, out);
    run_or_fail(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, round % 2 ? &busy : NULL);
    pz_volume_info got;
    float *result = fx_load(fx_path(&f, "out.npy"), &got), *at = result;
    for (int64_t z = 0; z < n[0]; z++)
      for (int64_t y = 0; y < n[1]; y++)
        for (int64_t x = 0; x < n[2]; x++, at++) {
          double sum = 0;
          for (int64_t a = 0; a <= k[0]; a++)
            for (int64_t b = 0; b <= k[1]; b++)
              for (int64_t c = 0; c <= k[2]; c++)
                sum += beyond(data, n, !o.border, z + a - k[0] / 2, y + b - k[1] / 2, x + c - k[2] / 2);
          assert_true(fabs(*at - sum / (double)((k[0] + 1) * (k[1] + 1) * (k[2] + 1))) <= 1e-6);
        }
    free(data), free(result);
  }
  fx_leave(&f);
}

/* Weights as in the formulas, for a volume of one axis: the blend of a network that differs from patch to patch. */
static void blended(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {1, 1, 8};
  const pz_volume_info info = fx_info(PZ_F32, 1, 1, 1, 13);
  float *data = fx_content(&info, 11);
  fx_save(fx_path(&f, "in.npy"), &info, data);
  const pz_infer_options o = {.overlap = {0, 0, 5}, .blend = PZ_BLEND_GAUSSIAN};
  fx_net net;
  fx_net_make(&net, FX_RAMP, 1, 1, patch, patch);
  run_or_fail(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, NULL);
  pz_volume_info got;
  float *result = fx_load(fx_path(&f, "out.npy"), &got);
  const int starts[] = {0, 3, 5};
  for (int x = 0; x < 13; x++) {
    double sum = 0, weights = 0;
    for (int k = 0; k < 3; k++) {
      const int i = x - starts[k];
      if (i < 0 || i >= 8) continue;
      const double w = fmax(exp(-(i - 3.5) * (i - 3.5) / 2), 1e-3);
      sum += w * (data[x] + 0.03 * i), weights += w;
    }
    assert_true(fabs(result[x] - sum / weights) <= 1e-6); /* floats of size 1 */
  }
  free(data), free(result);
  fx_leave(&f);
}

static pz_pool *pool_of(int threads) {
  pz_pool *pool;
  assert_int_equal(pz_pool_new(threads, false, &pool, NULL), PZ_OK);
  return pool;
}

/* The same bytes for any number of threads, portions, and limit on memory. */
static void same_bits(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t in[3] = {7, 9, 10}, out[3] = {5, 8, 8};
  const pz_volume_info info = fx_info(PZ_U16, 2, 23, 31, 37);
  uint16_t *data = fx_content(&info, 13);
  fx_save(fx_path(&f, "in.npy"), &info, data);
  size_t size = 0, other;
  char *first = NULL;
  for (int round = 0; round < 8; round++) {
    pz_infer_options o = {.overlap = {2, 3, 5}, .blend = PZ_BLEND_BUMP, .normalize = PZ_NORMALIZE_ZSCORE};
    pz_pool *pool = round % 4 ? pool_of(round % 4) : NULL;
    fx_net net;
    fx_net_make(&net, FX_RAMP, 2, 3, in, out);
    net.function.pool = pool;
    run_or_fail(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, round < 4 ? NULL : &busy);
    pz_pool_free(pool);
    char *bytes = fx_file(fx_path(&f, "out.npy"), &other);
    if (!first) first = bytes, size = other;
    assert_int_equal(size, other);
    assert_memory_equal(first, bytes, size);
    if (bytes != first) free(bytes);
  }
  free(first), free(data);
  fx_leave(&f);
}

static float *one(const fx_folder *f, const pz_volume_info *info, const void *data, const pz_infer_options *o,
                  int *runs) {
  const int64_t patch[3] = {4, 4, 4};
  fx_save(fx_path(f, "in.npy"), info, data);
  fx_net net;
  fx_net_make(&net, FX_IDENTITY, info->channels, info->channels, patch, patch);
  run_or_fail(&net, fx_path(f, "in.npy"), fx_path(f, "out.npy"), o, NULL);
  if (runs) *runs = net.runs;
  pz_volume_info got;
  return fx_load(fx_path(f, "out.npy"), &got);
}

static void normalisation(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const struct {
    pz_dtype dtype;
    pz_normalize normalize;
    double divide;
  } plain[] = {
      {PZ_U8, PZ_NORMALIZE_AUTO, 255},    {PZ_U8, PZ_NORMALIZE_UNIT, 255}, {PZ_U8, PZ_NORMALIZE_NONE, 1},
      {PZ_U16, PZ_NORMALIZE_AUTO, 1},     {PZ_I16, PZ_NORMALIZE_AUTO, 1},  {PZ_F32, PZ_NORMALIZE_AUTO, 1},
      {PZ_U16, PZ_NORMALIZE_UNIT, 65535}, {PZ_BOOL, PZ_NORMALIZE_UNIT, 1}, {PZ_BOOL, PZ_NORMALIZE_AUTO, 1},
      {PZ_I8, PZ_NORMALIZE_AUTO, 1},      {PZ_I32, PZ_NORMALIZE_AUTO, 1},  {PZ_U64, PZ_NORMALIZE_AUTO, 1},
      {PZ_F16, PZ_NORMALIZE_AUTO, 1},     {PZ_F64, PZ_NORMALIZE_NONE, 1}};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    const pz_volume_info info = fx_info(plain[i].dtype, 1, 5, 6, 7);
    void *data = fx_content(&info, i);
    const pz_infer_options o = {.normalize = plain[i].normalize};
    float *result = one(&f, &info, data, &o, NULL), value;
    for (int64_t v = 0; v < 5 * 6 * 7; v++) {
      pz_convert(plain[i].dtype, (char *)data + v * pz_dtype_bytes(plain[i].dtype), 1, 0, 1, &value);
      assert_true(fabs(result[v] - value / plain[i].divide) <= 1e-6 * fabs(value / plain[i].divide));
    }
    free(result), free(data);
  }
  fx_leave(&f);
}

/* Mean 0 and deviation 1 for each channel; 1e-5: the shift is a float, and the values are some hundreds of deviations. */
static void zscore(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_I16, 2, 9, 10, 11);
  int16_t *data = fx_content(&info, 17);
  for (int i = 0; i < 990; i++) data[i] = (int16_t)(20000 + data[i] % 50), data[990 + i] = 42;
  const pz_infer_options o = {.normalize = PZ_NORMALIZE_ZSCORE};
  float *result = one(&f, &info, data, &o, NULL);
  double sum = 0, squares = 0;
  for (int i = 0; i < 990; i++) sum += result[i], squares += (double)result[i] * result[i];
  assert_true(fabs(sum / 990) < 1e-5 && fabs(squares / 990 - 1) < 1e-5);
  for (int i = 990; i < 1980; i++) assert_true(result[i] == 0);
  free(result), free(data);
  fx_leave(&f);
}

static void refusals(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {4, 4, 4};
  const pz_volume_info info = fx_info(PZ_I16, 2, 5, 6, 7);
  void *data = fx_content(&info, 1);
  fx_save(fx_path(&f, "in.npy"), &info, data);
  const struct {
    pz_infer_options o;
    int32_t in, out;
    const char *to, *says;
    pz_status status;
  } cases[] = {
      {{.memory = 0}, 3, 1, "out.npy", "2 channels, the network takes 3", PZ_ERROR_INPUT},
      {{.normalize = PZ_NORMALIZE_UNIT}, 2, 1, "out.npy", "this is i16", PZ_ERROR_USAGE},
      {{.overlap = {0, 4, 0}}, 2, 1, "out.npy", "overlap 4 along y", PZ_ERROR_USAGE},
      {{.store = PZ_STORE_ARGMAX}, 2, 257, "out.npy", "at most 256", PZ_ERROR_USAGE},
      {{.memory = 0}, 2, 1, "in.npy", "the output is the input", PZ_ERROR_USAGE},
      {{.memory = 0}, 2, 1, "out.xyz", "unknown kind", PZ_ERROR_USAGE},
      {{.memory = 0}, 2, 1, "nowhere/out.npy", "nowhere", PZ_ERROR_OUTPUT},
      {{.memory = 1000}, 2, 1, "out.npy", "the limit is", PZ_ERROR_MEMORY},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_error err = {0};
    fx_net net;
    fx_net_make(&net, FX_IDENTITY, cases[i].in, cases[i].out, patch, patch);
    const pz_status status =
        fx_infer(&net, fx_path(&f, "in.npy"), fx_path(&f, cases[i].to), &cases[i].o, NULL, &err);
    if (status != cases[i].status || !strstr(err.message, cases[i].says))
      fail_msg("case %zu: status %d, %s", i, status, err.message);
    assert_int_equal(net.runs, 0);
    assert_false(fx_exists(fx_path(&f, "out.npy")));
    assert_false(fx_exists(fx_path(&f, "out.npy.pznet-job")));
  }
  free(data);
  fx_leave(&f);
}

static void nans(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {4, 4, 4};
  const pz_volume_info info = fx_info(PZ_F32, 1, 9, 6, 7);
  float *data = fx_content(&info, 1);
  data[(7 * 6 + 2) * 7 + 5] = NAN;
  fx_save(fx_path(&f, "in.npy"), &info, data);
  pz_error err = {0};
  pz_infer_options o = PZ_INFER_OPTIONS;
  fx_net net;
  for (int z = 0; z < 2; z++) {
    fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
    o.normalize = z ? PZ_NORMALIZE_ZSCORE : PZ_NORMALIZE_NONE;
    err = (pz_error){0};
    assert_int_equal(fx_infer(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, NULL, &err),
                     PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, "z = 7, y = 2, x = 5"));
    assert_false(fx_exists(fx_path(&f, "out.npy")) || fx_exists(fx_path(&f, "out.npy.pznet-job")));
  }
  o.normalize = PZ_NORMALIZE_NONE;
  for (int zero = 0; zero < 2; zero++) {
    o.nan = zero ? PZ_NAN_ZERO : PZ_NAN_PROPAGATE;
    float *result = one(&f, &info, data, &o, NULL);
    for (int64_t i = 0; i < 9 * 6 * 7; i++)
      assert_true(i != (7 * 6 + 2) * 7 + 5 ? fabsf(result[i] - data[i]) <= 1e-6f
                  : zero                   ? result[i] == 0
                                           : isnan(result[i]));
    free(result);
  }
  free(data);
  fx_leave(&f);
}

/* Only patches with something in them are run; the others give zeros. */
static void skipping(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 8, 12, 12);
  uint8_t *data = calloc(1, 8 * 12 * 12);
  data[(5 * 12 + 6) * 12 + 7] = 255; /* in patch (1, 1, 1) of 2 x 3 x 3 */
  int runs;
  pz_infer_options o = {.skip_zero = true};
  float *result = one(&f, &info, data, &o, &runs);
  assert_int_equal(runs, 1);
  for (int i = 0; i < 8 * 12 * 12; i++) assert_true(result[i] == (float)data[i] / 255);
  free(result);
  o.skip_zero = false;
  result = one(&f, &info, data, &o, &runs);
  assert_int_equal(runs, 18);
  free(result), free(data);
  fx_leave(&f);
}

static void stored_kinds(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {4, 4, 4};
  const pz_volume_info info = fx_info(PZ_F32, 3, 6, 7, 8);
  float *data = fx_content(&info, 23);
  fx_save(fx_path(&f, "in.npy"), &info, data);
  for (int store = PZ_STORE_U8; store <= PZ_STORE_ARGMAX; store++) {
    const pz_infer_options o = {.overlap = {2, 2, 2}, .store = (pz_store)store};
    fx_net net;
    fx_net_make(&net, FX_IDENTITY, 3, 3, patch, patch);
    run_or_fail(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, &busy);
    pz_volume_info got;
    uint8_t *result = fx_load(fx_path(&f, "out.npy"), &got);
    assert_int_equal(got.dtype, PZ_U8);
    assert_int_equal(got.channels, store == PZ_STORE_U8 ? 3 : 1);
    for (int i = 0; i < 6 * 7 * 8 && store == PZ_STORE_ARGMAX; i++) {
      const float *v = data + i;
      const int n = 6 * 7 * 8, best = v[n] > v[0] ? (v[2 * n] > v[n] ? 2 : 1) : (v[2 * n] > v[0] ? 2 : 0);
      assert_int_equal(result[i], best);
    }
    for (int i = 0; i < 3 * 6 * 7 * 8 && store == PZ_STORE_U8; i++)
      assert_true(fabs(result[i] - 255.0 * data[i]) <= 0.5 + 1e-3); /* rounding, and the blend's */
    free(result);
  }
  free(data);
  fx_leave(&f);
}

static void note_progress(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  int64_t *last = host;
  if (strcmp(what, "patches") != 0) return;
  assert_true(done == last[0] + 1 && done <= total && seconds >= 0);
  last[0] = done, last[1] = total;
}
static void note_plan(void *host, const char *json) {
  assert_non_null(strstr(json, "\"peak_bytes\""));
  assert_non_null(strstr(json, "\"patches\": 12"));
  ++*(int *)host;
}

static void told(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t patch[3] = {4, 4, 4};
  const pz_volume_info info = fx_info(PZ_U8, 1, 8, 12, 8);
  void *data = fx_content(&info, 2);
  fx_save(fx_path(&f, "in.npy"), &info, data);
  int64_t last[2] = {0, 0};
  int plans = 0;
  pz_infer_options o = {
      .progress = note_progress, .progress_host = last, .planned = note_plan, .planned_host = &plans};
  fx_net net;
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  pz_volume *v;
  pz_error err = {0};
  char *report;
  assert_int_equal(pz_volume_open(fx_path(&f, "in.npy"), &v, &err), PZ_OK);
  assert_int_equal(pz_engine_run(&net.function, v, &(pz_volume_writer){.path = fx_path(&f, "out.npy")}, &o,
                                 NULL, &report, &err),
                   PZ_OK);
  assert_true(last[0] == 12 && last[1] == 12 && plans == 1);
  assert_non_null(strstr(report, "\"patches_run\": 12"));
  assert_non_null(strstr(report, "\"voxels_per_second\""));
  free(report), free(data);
  pz_volume_close(v);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identity), cmocka_unit_test(identity_wide), cmocka_unit_test(valid),
      cmocka_unit_test(blended),  cmocka_unit_test(same_bits),     cmocka_unit_test(normalisation),
      cmocka_unit_test(zscore),   cmocka_unit_test(refusals),      cmocka_unit_test(nans),
      cmocka_unit_test(skipping), cmocka_unit_test(stored_kinds),  cmocka_unit_test(told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
