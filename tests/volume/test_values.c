/* Values that are not finite, in the input, in a patch's result, in the sums; thresholds, sigmoid, softmax; what was clipped. */
#include "fixture.h"
#include "volume/blend.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t patch[3] = {4, 4, 4};
static const pz_engine_tuning busy = {.record_seconds = 1e-9, .store_bytes = 64, .read_bytes = 64};

enum { Z = 9, Y = 6, X = 7, PLANE = Y * X, VOXELS = Z * PLANE };

typedef struct scene {
  fx_folder folder;
  pz_volume_info info;
  float *data;
  char in[600], out[600], job[640];
} scene;

static scene make_scene(int32_t channels) {
  scene s = {.folder = fx_enter(), .info = fx_info(PZ_F32, channels, Z, Y, X)};
  s.data = fx_content(&s.info, 5);
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.folder, "in.npy"));
  snprintf(s.out, sizeof s.out, "%s", fx_path(&s.folder, "out.npy"));
  snprintf(s.job, sizeof s.job, "%s.pznet-job", s.out);
  return s;
}

static void end_scene(scene *s) {
  free(s->data);
  fx_leave(&s->folder);
}

static pz_status go(const scene *s, fx_kind kind, const pz_infer_options *o, char **report, pz_error *err) {
  fx_net net;
  pz_volume *v;
  fx_net_make(&net, kind, s->info.channels, s->info.channels, patch, patch);
  fx_save(s->in, &s->info, s->data);
  *err = (pz_error){0};
  assert_int_equal(pz_volume_open(s->in, &v, err), PZ_OK);
  const pz_status status =
      pz_engine_run(&net.function, v, &(pz_volume_writer){.path = s->out}, o, &busy, report, err);
  pz_volume_close(v);
  return status;
}

/* The result of a run that must succeed; the caller frees it. */
static void *result_of(const scene *s, fx_kind kind, const pz_infer_options *o, const char *reported) {
  pz_error err;
  pz_volume_info got;
  char *report = NULL;
  if (go(s, kind, o, &report, &err) != PZ_OK) fail_msg("%s", err.message);
  if (reported && !strstr(report, reported)) fail_msg("expected %s in %s", reported, report);
  free(report);
  void *data = fx_load(s->out, &got);
  static const pz_dtype dtypes[] = {PZ_F32, PZ_U8, PZ_U8, PZ_U8, PZ_U16, PZ_F16};
  assert_int_equal(got.dtype, dtypes[o->store]);
  assert_int_equal(got.channels, s->info.channels);
  return data;
}

static void refused(const scene *s, fx_kind kind, const pz_infer_options *o, pz_status status,
                    const char *says) {
  pz_error err;
  if (go(s, kind, o, NULL, &err) != status || !strstr(err.message, says))
    fail_msg("status %d: %s; expected %s", err.status, err.message, says);
  assert_false(fx_exists(s->out));
  assert_false(fx_exists(s->job)); /* going on would end in the same way */
}

/* Infinities are treated as not-a-numbers are. */
static void in_the_input(void **state) {
  (void)state;
  const struct {
    float value;
    const char *says;
  } cases[] = {{NAN, "not a number at z = 7, y = 2, x = 5"},
               {INFINITY, "in.npy: infinity at z = 7, y = 2, x = 5"},
               {-INFINITY, "minus infinity at z = 7, y = 2, x = 5"}};
  for (size_t i = 0; i < 3; i++)
    for (int normalize = PZ_NORMALIZE_NONE; normalize <= PZ_NORMALIZE_ZSCORE; normalize += 2) {
      scene s = make_scene(1);
      const int64_t at = 7 * PLANE + 2 * X + 5;
      s.data[at] = cases[i].value;
      pz_infer_options o = {.normalize = (pz_normalize)normalize};
      refused(&s, FX_IDENTITY, &o, PZ_ERROR_INPUT, cases[i].says);
      o.nan = PZ_NAN_PROPAGATE;
      float *result = result_of(&s, FX_IDENTITY, &o, "\"not_finite\": 1");
      for (int64_t v = 0; v < VOXELS; v++) assert_true(isfinite(result[v]) == (v != at));
      free(result);
      o.nan = PZ_NAN_ZERO;
      result = result_of(&s, FX_IDENTITY, &o, "\"not_finite\": 0");
      for (int64_t v = 0; v < VOXELS; v++) assert_true(isfinite(result[v]));
      free(result);
      end_scene(&s);
    }
}

/* Mean and deviation are of what is finite, also where the rest becomes 0. 1e-6: a quotient of floats of size 1. */
static void zscore(void **state) {
  (void)state;
  for (int nan = PZ_NAN_PROPAGATE; nan <= PZ_NAN_ZERO; nan++) {
    scene s = make_scene(2);
    double mean[2] = {0}, deviation[2] = {0};
    s.data[3] = INFINITY, s.data[100] = NAN, s.data[VOXELS + 17] = -INFINITY;
    for (int c = 0; c < 2; c++) {
      const float *v = s.data + c * VOXELS;
      const int n = VOXELS - (c ? 1 : 2);
      for (int i = 0; i < VOXELS; i++) mean[c] += isfinite(v[i]) ? (double)v[i] / n : 0;
      for (int i = 0; i < VOXELS; i++)
        deviation[c] += isfinite(v[i]) ? (v[i] - mean[c]) * (v[i] - mean[c]) / n : 0;
      deviation[c] = sqrt(deviation[c]);
    }
    const pz_infer_options o = {.normalize = PZ_NORMALIZE_ZSCORE, .nan = (pz_nan)nan};
    float *result = result_of(&s, FX_IDENTITY, &o, NULL);
    for (int i = 0; i < 2 * VOXELS; i++) {
      const float v = isfinite(s.data[i]) ? s.data[i] : 0;
      if (!isfinite(s.data[i]) && nan == PZ_NAN_PROPAGATE) assert_false(isfinite(result[i]));
      else assert_true(fabs(result[i] - (v - mean[i / VOXELS]) / deviation[i / VOXELS]) <= 1e-6);
    }
    free(result);
    end_scene(&s);
  }
}

/* Finite voxels of which the network makes infinities: the patch, the voxel, and what it came from are named. */
static void in_a_patch(void **state) {
  (void)state;
  scene s = make_scene(2);
  s.data[VOXELS + 7 * PLANE + 2 * X + 5] = -3.4e38f;
  pz_infer_options o = {.overlap = {1, 1, 1}};
  refused(&s, FX_SQUARE, &o, PZ_ERROR_RUN,
          "infinity at channel 1, z = 7, y = 2, x = 5, in patch (2, 0, 1), whose input goes to -3.4e+38, at "
          "channel 1, z = 7, y = 2, x = 5");
  o.nan = PZ_NAN_ZERO;
  refused(&s, FX_SQUARE, &o, PZ_ERROR_RUN, "--nan propagate");
  o.sums = PZ_SUMS_HALF;
  refused(&s, FX_SQUARE, &o, PZ_ERROR_RUN, "--nan propagate");
  o.nan = PZ_NAN_PROPAGATE;
  float *result = result_of(&s, FX_SQUARE, &o, "\"not_finite\": 1,");
  free(result);
  remove(s.out);
  o = (pz_infer_options){.overlap = {3, 3, 3}}; /* sums in double */
  refused(&s, FX_SQUARE, &o, PZ_ERROR_RUN, "infinity at channel 1, z = 7");
  end_scene(&s);
}

/* Two patches give 3e38 for a voxel, whose sum floats do not hold. */
static void in_the_sums(void **state) {
  (void)state;
  scene s = make_scene(1);
  const int64_t at =
      3 * PLANE + 1 * X + 5; /* one patch reaches it along y and x, and without overlap along z */
  s.data[at] = 3e38f;
  pz_infer_options o = {.overlap = {2, 0, 0}};
  refused(&s, FX_IDENTITY, &o, PZ_ERROR_RUN, "over channel 0, z = 3, y = 1, x = 5 is beyond the range");
  o.nan = PZ_NAN_PROPAGATE;
  free(result_of(&s, FX_IDENTITY, &o, "\"not_finite\": 1,"));
  o = (pz_infer_options){.memory = 0};
  float *result = result_of(&s, FX_IDENTITY, &o, "\"not_finite\": 0");
  assert_true(result[at] == 3e38f);
  free(result);
  end_scene(&s);
}

/* ------------------------------------------------------------------ what is stored */

/* In double by the C library; 1e-7: a result that is a float. */
static double applied(pz_apply apply, const float *data, int32_t channels, int64_t at) {
  double total = 0;
  if (apply == PZ_APPLY_NOTHING) return data[at];
  if (apply == PZ_APPLY_SIGMOID) return 1 / (1 + exp(-(double)data[at]));
  for (int32_t c = 0; c < channels; c++)
    total += exp((double)data[c * VOXELS + at % VOXELS] - (double)data[at]);
  return 1 / total;
}

static void functions(void **state) {
  (void)state;
  static const int32_t overlaps[] = {0, 1, 3}; /* sums in float, float, double */
  for (int apply = PZ_APPLY_NOTHING; apply <= PZ_APPLY_SOFTMAX; apply++)
    for (int which = 0; which < 3; which++) {
      const int32_t overlap = overlaps[which];
      scene s = make_scene(3);
      for (int i = 0; i < 3 * VOXELS; i++) s.data[i] = 40 * s.data[i] - 20;
      s.data[0] = 800, s.data[1] = -800, s.data[VOXELS + 2] = 90, s.data[3] = -90;
      pz_infer_options o = {.overlap = {overlap, overlap, overlap}, .apply = (pz_apply)apply};
      float *result = result_of(&s, FX_IDENTITY, &o, "\"clipped\": 0");
      for (int i = 0; i < 3 * VOXELS; i++) {
        const double want = applied(o.apply, s.data, 3, i);
        if (!(fabs(result[i] - want) <= (apply ? 2e-6 : 1e-6 * fabs(want))))
          fail_msg("%d: %.9g, not %.9g", i, result[i], want);
      }
      o.store = PZ_STORE_THRESHOLD, o.threshold = 0.3f;
      uint8_t *labels = result_of(&s, FX_IDENTITY, &o, "\"clipped\": 0");
      for (int i = 0; i < 3 * VOXELS; i++) assert_int_equal(labels[i], result[i] > 0.3f);
      free(labels);
      o.store = PZ_STORE_U8;
      labels = result_of(&s, FX_IDENTITY, &o, NULL);
      for (int i = 0; i < 3 * VOXELS; i++)
        assert_true(fabs(labels[i] - 255 * fmin(1, fmax(0, result[i]))) <= 0.5 + 1e-4);
      free(labels), free(result);
      end_scene(&s);
    }
}

/* A value that is the threshold is not above it; what is no number is not. */
static void threshold(void **state) {
  (void)state;
  scene s = make_scene(2);
  for (int i = 0; i < 2 * VOXELS; i++) s.data[i] = (float)(i % 5) / 4;
  s.data[7] = NAN;
  const pz_infer_options o = {.store = PZ_STORE_THRESHOLD, .threshold = 0.5f, .nan = PZ_NAN_PROPAGATE};
  uint8_t *labels = result_of(&s, FX_IDENTITY, &o, "\"not_finite\": 1,");
  for (int i = 0; i < 2 * VOXELS; i++) assert_int_equal(labels[i], i != 7 && i % 5 > 2);
  free(labels);
  end_scene(&s);
}

/* Of the values -0.2, ..., 1.2 those are clipped that would round to less than 0 or more than 255; they are counted over an
 * interruption too. */
static void clipped(void **state) {
  (void)state;
  scene s = make_scene(1);
  int want = 0;
  for (int i = 0; i < VOXELS; i++) {
    s.data[i] = (float)(i % 1401 - 200) / 1000;
    const double v = 255 * (double)s.data[i];
    want += v < -0.5 || v >= 255.5;
  }
  assert_true(want > 50);
  char text[64];
  snprintf(text, sizeof text, "\"clipped\": %d,", want);
  pz_infer_options o = {.store = PZ_STORE_U8};
  free(result_of(&s, FX_IDENTITY, &o, text));
  remove(s.out);
  for (int at = 2; at < 12; at += 3) {
    fx_net net;
    pz_error err = {0};
    fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
    net.interrupt_at = at;
    o.resume = false;
    assert_int_equal(fx_infer(&net, s.in, s.out, &o, &busy, &err), PZ_INTERRUPTED);
    /* The volume must stay as it is for a job that is resumed, so the runs are not by `go`. */
    pz_volume *v;
    char *report = NULL;
    net.flag = 0, net.interrupt_at = 0, o.resume = true, err = (pz_error){0};
    assert_int_equal(pz_volume_open(s.in, &v, &err), PZ_OK);
    assert_int_equal(
        pz_engine_run(&net.function, v, &(pz_volume_writer){.path = s.out}, &o, &busy, &report, &err), PZ_OK);
    if (!strstr(report, text)) fail_msg("after %d: no %s in %s", at, text, report);
    free(report);
    pz_volume_close(v);
    remove(s.out);
  }
  end_scene(&s);
}

/* As u8, in steps of 1/65535; from sums of each kind. */
static void sixteen_bits(void **state) {
  (void)state;
  static const double edges[] = {-0.6, -0.4, 0.4, 0.6, 65534.4, 65534.6, 65535.4, 65535.6, 1e9, -1e9};
  for (int sums = 0; sums < 2; sums++) {
    scene s = make_scene(2);
    int clip = 0;
    char text[64];
    for (int i = 0; i < 2 * VOXELS; i++) {
      if (i < 10) s.data[i] = (float)(edges[i] / 65535);
      if (i > 300) s.data[i] = 1.25f * s.data[i] - 0.1f;
    }
    pz_infer_options o = {.store = PZ_STORE_F32, .sums = sums ? PZ_SUMS_HALF : PZ_SUMS_AUTO};
    float *values = result_of(&s, FX_IDENTITY, &o, NULL);
    for (int i = 0; i < 2 * VOXELS; i++) {
      const double v = (double)values[i] * 65535;
      clip += v < -0.5 || v >= 65535.5;
    }
    snprintf(text, sizeof text, "\"clipped\": %d,", clip);
    assert_true(clip > 10);
    o.store = PZ_STORE_U16;
    uint16_t *got = result_of(&s, FX_IDENTITY, &o, text);
    for (int i = 0; i < 2 * VOXELS; i++)
      assert_int_equal(got[i], floor(fmin(65535, fmax(0, (double)values[i] * 65535 + 0.5))));
    free(got), free(values);
    end_scene(&s);
  }
}

/* The nearest halves, by another's conversion; what is finite stays so, and is told of. */
static void halves(void **state) {
  (void)state;
  static const float values[] = {
      0,        -0.f,     1,         -2.5f,      0.1f,       2049,          2051,
      65504,    65519,    65520,     -65519.99f, -65520,     1e6f,          -3e38f,
      0x1p-14f, 0x1p-24f, 0x1p-25f,  0x1.8p-25f, 0x1.8p-24f, -0x1.ffcp-15f, 0x1.ffep-15f,
      1e-30f,   INFINITY, -INFINITY, NAN};
  enum { N = sizeof values / sizeof *values };
  scene s = make_scene(1);
  for (int i = 0; i < N; i++) s.data[i] = values[i];
  for (int i = 100; i < VOXELS; i++) s.data[i] = ldexpf(s.data[i] - 0.5f, i % 40 - 22);
  const pz_infer_options o = {.store = PZ_STORE_F16, .nan = PZ_NAN_PROPAGATE};
  uint16_t *got = result_of(&s, FX_IDENTITY, &o, "\"clipped\": 4,");
  for (int i = 0; i < VOXELS; i++) {
    const float v = s.data[i], held = isfinite(v) ? fminf(65504, fmaxf(-65504, v)) : v;
    uint16_t want;
    pz_elements_from((pz_element){PZ_F16, 1, 0}, &held, 1, &want);
    if (v == 0)
      want = (uint16_t)(want & 0x7fff), got[i] = (uint16_t)(got[i] & 0x7fff); /* a sum with 0 has no sign */
    if (isnan(v)) assert_true((got[i] & 0x7c00) == 0x7c00 && got[i] & 0x3ff);
    else assert_int_equal(got[i], want);
  }
  free(got);
  end_scene(&s);
}

static void refusals(void **state) {
  (void)state;
  const struct {
    pz_infer_options o;
    int32_t channels;
    const char *says;
  } cases[] = {
      {{.store = PZ_STORE_ARGMAX}, 1, "use --threshold 0.5"},
      {{.store = PZ_STORE_ARGMAX, .apply = PZ_APPLY_SIGMOID}, 2, "--argmax goes without --sigmoid"},
      {{.store = PZ_STORE_ARGMAX, .apply = PZ_APPLY_SOFTMAX}, 2, "--argmax goes without --softmax"},
      {{.apply = PZ_APPLY_SOFTMAX}, 1, "use --sigmoid"},
      {{.apply = PZ_APPLY_SIGMOID, .skip_zero = true}, 1, "--skip-zero goes without --sigmoid"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    scene s = make_scene(cases[i].channels);
    refused(&s, FX_IDENTITY, &cases[i].o, PZ_ERROR_USAGE, cases[i].says);
    end_scene(&s);
  }
}

/* ------------------------------------------------------------------ rows */

static double by_libm(pz_apply apply, const double *v, int c, int i, int stride) {
  double total = 0;
  if (apply == PZ_APPLY_SIGMOID) return 1 / (1 + exp(-v[c * stride + i]));
  for (int k = 0; k < 3; k++) total += exp(v[k * stride + i] - v[c * stride + i]);
  return 1 / total;
}

/* The C library's values, to what a float or a double loses, and the same for every length of a row, that is for vectors and for
 * what they leave over. 1e-14: exponentials of numbers up to 32 are as wrong as 32 roundings. */
static void rows(void **state) {
  (void)state;
  enum { N = 100, C = 3 };
  float want[C * N];
  for (int apply = PZ_APPLY_SIGMOID; apply <= PZ_APPLY_SOFTMAX; apply++)
    for (int n = N; n > 0; n -= 7) {
      uint64_t seed = 3;
      float narrow[C * N], best[N];
      double wide[C * N], values[C * N], inverse[2][N];
      for (int i = 0; i < C * N; i++) wide[i] = narrow[i] = (float)(int)(fx_unit(&seed) * 4096 - 2048) / 64;
      for (int i = 0; i < C * N; i++) values[i] = wide[i] / 2;
      for (int i = 0; i < N; i++) inverse[0][i] = inverse[1][i] = 0.5;
      pz_blend_row r[2] = {
          {.sum = narrow, .inverse = inverse[0], .n = n, .channels = C, .stride = N, .best = best},
          {.sum = wide,
           .kind = PZ_SUM_DOUBLE,
           .inverse = inverse[1],
           .n = n,
           .channels = C,
           .stride = N,
           .best = best}};
      for (int k = 0; k < 2; k++) pz_blend_apply((pz_apply)apply, &r[k], inverse[k]);
      for (int c = 0; c < C; c++)
        for (int i = 0; i < n; i++) {
          const int at = c * N + i;
          if (n == N) want[at] = narrow[at];
          assert_true(narrow[at] == want[at]);
          const double libm = by_libm((pz_apply)apply, values, c, i, N);
          assert_true(fabs(wide[at] - libm) <= 1e-14 * libm + (double)FLT_MIN);
          assert_true(fabs((double)narrow[at] - libm) <=
                      (apply == PZ_APPLY_SIGMOID ? 6e-8 : 2.5e-7) * libm + (double)FLT_MIN);
          assert_true(inverse[0][i] == 1 && inverse[1][i] == 1);
        }
    }
}

/* A run says how many integers float32 cannot hold, and names the first; not where values are normalised. A network that
 * takes the integers as they are computes with floats, too. */
static void rounded(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t size[3] = {2, 4, 4};
  const pz_volume_info info = fx_info(PZ_I32, 2, 5, 6, 7);
  int32_t *data = fx_content(&info, 1);
  for (int i = 0; i < 2 * 5 * 6 * 7; i++) data[i] &= 0xffff;
  data[210 + 42 * 3 + 7 * 2 + 5] = 16777217, data[210 + 42 * 4] = -33554435;
  fx_save(fx_path(&f, "a.npy"), &info, data);
  for (int i = 0; i < 3; i++) {
    fx_net net;
    pz_volume *v;
    char *report;
    pz_error err = {0};
    const pz_infer_options o = {.normalize = i == 1 ? PZ_NORMALIZE_ZSCORE : PZ_NORMALIZE_AUTO,
                                .overlap = {1, 2, 2}};
    fx_net_make(&net, FX_IDENTITY, 2, 1, size, size);
    if (i == 2) net.function.taken.type = PZ_I32;
    assert_int_equal(pz_volume_open(fx_path(&f, "a.npy"), &v, NULL), PZ_OK);
    const pz_volume_writer to = {.path = fx_path(&f, "out.npy")};
    if (pz_engine_run(&net.function, v, &to, &o, NULL, &report, &err) != PZ_OK) fail_msg("%s", err.message);
    const char *text = strstr(report, "2 values of i32 not exact in float32, the first at channel 1, z = 3, "
                                      "y = 2, x = 5: 16777217 becomes 16777216");
    assert_int_equal(text != NULL, i != 1);
    assert_int_equal(strstr(report, "\"rounded\"") != NULL, i != 1);
    free(report);
    pz_volume_close(v);
  }
  free(data);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_the_input), cmocka_unit_test(zscore),       cmocka_unit_test(in_a_patch),
      cmocka_unit_test(in_the_sums),  cmocka_unit_test(functions),    cmocka_unit_test(threshold),
      cmocka_unit_test(clipped),      cmocka_unit_test(sixteen_bits), cmocka_unit_test(halves),
      cmocka_unit_test(refusals),     cmocka_unit_test(rows),         cmocka_unit_test(rounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
