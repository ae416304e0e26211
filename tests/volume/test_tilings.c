/* Tilings by name, against what the packages themselves made of the same volume and patch function (make_tilings.py). */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const pz_engine_tuning busy = {.record_seconds = 1e-9, .store_bytes = 64, .read_bytes = 64};

static float *volume_of(const int64_t n[3]) {
  float *data = malloc((size_t)(n[0] * n[1] * n[2]) * sizeof *data), *to = data;
  assert_non_null(data);
  for (int64_t z = 0; z < n[0]; z++)
    for (int64_t y = 0; y < n[1]; y++)
      for (int64_t x = 0; x < n[2]; x++) *to++ = (float)((7 * z + 5 * y + 3 * x + z * y * x) % 16);
  return data;
}

/* As in make_tilings.py. */
static const struct {
  const char *name;
  int64_t size[3], in[3], out[3];
  pz_infer_options o;
} cases[] = {
    {"monai", {9, 14, 17}, {4, 6, 8}, {4, 6, 8}, {.tiling = PZ_TILING_MONAI}},
    {"monai_small",
     {9, 14, 17},
     {12, 5, 8},
     {12, 5, 8},
     {.tiling = PZ_TILING_MONAI, .given = PZ_GIVEN_OVERLAP, .overlap_part = {0.625, 0.625, 0.625}}},
    {"monai_reflect",
     {9, 14, 17},
     {4, 17, 6},
     {4, 17, 6},
     {.tiling = PZ_TILING_MONAI,
      .given = PZ_GIVEN_OVERLAP | PZ_GIVEN_BLEND | PZ_GIVEN_BORDER,
      .overlap_part = {0, 0.5, 0.3},
      .blend = PZ_BLEND_CONSTANT,
      .border = PZ_BORDER_MIRROR}},
    {"nnunet", {9, 14, 17}, {4, 6, 7}, {4, 6, 7}, {.tiling = PZ_TILING_NNUNET}},
    {"nnunet_small", {9, 14, 17}, {12, 17, 7}, {12, 17, 7}, {.tiling = PZ_TILING_NNUNET, .mirror_axes = 7}},
    {"nnunet_mirror",
     {9, 14, 17},
     {5, 9, 6},
     {5, 9, 6},
     {.tiling = PZ_TILING_NNUNET,
      .given = PZ_GIVEN_OVERLAP | PZ_GIVEN_BLEND,
      .overlap_part = {0.3, 0.3, 0.3},
      .blend = PZ_BLEND_CONSTANT,
      .mirror_axes = 3}},
    {"chunkflow", {9, 14, 17}, {4, 6, 8}, {4, 6, 8}, {.tiling = PZ_TILING_CHUNKFLOW}},
    {"chunkflow_crop",
     {9, 14, 17},
     {6, 8, 11},
     {4, 6, 7},
     {.tiling = PZ_TILING_CHUNKFLOW,
      .given = PZ_GIVEN_OVERLAP | PZ_GIVEN_CROP,
      .overlap = {1, 2, 3},
      .crop = {2, 3, 4}}},
    {"chunkflow_aligned",
     {9, 14, 18},
     {5, 6, 8},
     {5, 6, 8},
     {.tiling = PZ_TILING_CHUNKFLOW,
      .given = PZ_GIVEN_OVERLAP | PZ_GIVEN_CROP,
      .overlap = {1, 2, 3},
      .crop = {1, 2, 3}}},
};
enum { CASES = sizeof cases / sizeof *cases };

static void save_volume(const fx_folder *f, int i) {
  const int64_t *n = cases[i].size;
  const pz_volume_info info = fx_info(PZ_F32, 1, n[0], n[1], n[2]);
  float *data = volume_of(n);
  fx_save(fx_path(f, "in.npy"), &info, data);
  free(data);
}

static float *run_case(const fx_folder *f, int i, const pz_engine_tuning *tuning, pz_pool *pool,
                       pz_volume_info *got) {
  pz_error err = {0};
  fx_net net;
  fx_net_make(&net, FX_STEPS, 1, 1, cases[i].in, cases[i].out);
  net.function.pool = pool;
  if (fx_infer(&net, fx_path(f, "in.npy"), fx_path(f, "out.npy"), &cases[i].o, tuning, &err) != PZ_OK)
    fail_msg("%s: %s", cases[i].name, err.message);
  return fx_load(fx_path(f, "out.npy"), got);
}

/* 1e-4 of the range of the package's result: they sum in float, nnU-Net in half precision, as we do then. */
static void as_the_packages(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  for (int i = 0; i < CASES; i++) {
    pz_volume_info got, want;
    char path[600];
    double low = INFINITY, high = -INFINITY, worst = 0;
    save_volume(&f, i);
    float *result = run_case(&f, i, NULL, NULL, &got);
    snprintf(path, sizeof path, "%s/%s.npy", TILINGS, cases[i].name);
    float *golden = fx_load(path, &want);
    assert_memory_equal(got.shape, want.shape, sizeof got.shape);
    for (int64_t v = 0; v < pz_volume_bytes(&got) / 4; v++) {
      low = fmin(low, golden[v]), high = fmax(high, golden[v]);
      worst = fmax(worst, fabs((double)result[v] - golden[v]));
    }
    print_message("%-18s differs by %.1e of the range\n", cases[i].name, worst / (high - low));
    if (!(worst <= 1e-4 * (high - low))) fail_msg("%s: %g of %g", cases[i].name, worst, high - low);
    free(result), free(golden);
  }
  fx_leave(&f);
}

/* The same bits in any portions, with any threads, and after an interruption. */
static void same_bits(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_pool *pool;
  assert_int_equal(pz_pool_new(3, false, &pool, NULL), PZ_OK);
  for (int i = 0; i < CASES; i++) {
    pz_volume_info info;
    save_volume(&f, i);
    float *first = run_case(&f, i, NULL, NULL, &info), *second = run_case(&f, i, &busy, pool, &info);
    assert_memory_equal(first, second, (size_t)pz_volume_bytes(&info));
    free(second);
    for (int at = 1; at < 30; at += 7) {
      pz_infer_options o = cases[i].o;
      pz_error err = {0};
      fx_net net;
      fx_net_make(&net, FX_STEPS, 1, 1, cases[i].in, cases[i].out);
      net.interrupt_at = at;
      pz_status status = fx_infer(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, &busy, &err);
      assert_true(status == PZ_INTERRUPTED || status == PZ_OK);
      net.flag = net.interrupt_at = 0;
      o.resume = true;
      err = (pz_error){0};
      if (fx_infer(&net, fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), &o, &busy, &err) != PZ_OK)
        fail_msg("%s: %s", cases[i].name, err.message);
      second = fx_load(fx_path(&f, "out.npy"), &info);
      assert_memory_equal(first, second, (size_t)pz_volume_bytes(&info));
      free(second);
    }
    free(first);
  }
  pz_pool_free(pool);
  fx_leave(&f);
}

/* Memory does not grow with z. */
static void streams(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i++) {
    int64_t bytes[2];
    for (int tall = 0; tall < 2; tall++) {
      pz_volume v = {.info = fx_info(PZ_F32, 1, tall ? 100000 : 1000, cases[i].size[1], cases[i].size[2]),
                     .step = {1, cases[i].size[1], cases[i].size[2]}};
      pz_run_layout plan;
      pz_error err = {0};
      fx_net net;
      fx_net_make(&net, FX_STEPS, 1, 1, cases[i].in, cases[i].out);
      pz_arena *arena = pz_arena_new();
      const pz_run_asked asked = {.function = &net.function, .input = &v, .options = &cases[i].o};
      if (pz_lay_out_run(arena, &asked, &plan, &err) != PZ_OK) fail_msg("%s", err.message);
      bytes[tall] = plan.bytes.total;
      pz_arena_free(arena);
    }
    /* nnU-Net's distances, rounded, may ask for another plane. */
    assert_true(llabs(bytes[1] - bytes[0]) <= 4 * cases[i].size[1] * cases[i].size[2] * 4);
  }
}

static void contradictions(void **state) {
  (void)state;
  const struct {
    pz_infer_options o;
    int64_t in[3], out[3];
    bool planar;
    const char *says;
  } bad[] = {
      {{.tiling = PZ_TILING_MONAI},
       {4, 6, 8},
       {4, 4, 8},
       false,
       "tiling monai: the network's output is 4 along y"},
      {{.tiling = PZ_TILING_NNUNET},
       {4, 6, 8},
       {2, 6, 8},
       false,
       "tiling nnunet: the network's output is 2 along z"},
      {{.tiling = PZ_TILING_CHUNKFLOW}, {4, 6, 9}, {4, 6, 8}, false, "an even difference"},
      {{.tiling = PZ_TILING_MONAI, .given = PZ_GIVEN_BLEND, .blend = PZ_BLEND_BUMP},
       {4, 6, 8},
       {4, 6, 8},
       false,
       "blends with gaussian or constant, not bump"},
      {{.tiling = PZ_TILING_CHUNKFLOW, .given = PZ_GIVEN_BLEND},
       {4, 6, 8},
       {4, 6, 8},
       false,
       "with bump, not constant"},
      {{.tiling = PZ_TILING_CHUNKFLOW, .given = PZ_GIVEN_BORDER},
       {4, 6, 8},
       {4, 6, 8},
       false,
       "a border has no meaning"},
      {{.overlap = {4, 0, 0}}, {4, 6, 8}, {4, 6, 8}, false, "overlap 4 along z"},
      {{.overlap = {0, -1, 0}}, {4, 6, 8}, {4, 6, 8}, false, "overlap -1 along y"},
      {{.overlap_part = {0, 1, 0}}, {4, 6, 8}, {4, 6, 8}, false, "overlap 1 along y"},
      {{.mirror_axes = 8}, {4, 6, 8}, {4, 6, 8}, false, "expected 0 to 2"},
      {{.mirror_axes = 4}, {1, 6, 8}, {1, 6, 8}, true, "expected 0 to 1"},
      {{.mirror_axes = 4}, {4, 6, 8}, {4, 6, 7}, false, "along x the network's output of 7 has no centre"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    pz_tiling_rules rules;
    pz_error err = {0};
    const pz_status status = pz_tiling_resolve(&bad[i].o, bad[i].in, bad[i].out, bad[i].planar, &rules, &err);
    if (status != PZ_ERROR_USAGE || !strstr(err.message, bad[i].says))
      fail_msg("%zu: %d %s", i, status, err.message);
  }
}

/* The mean over flips of a patch function that looks at places is the same from every side. */
static void flips(void **state) {
  (void)state;
  const int64_t in[3] = {1, 6, 8};
  const pz_infer_options o = {.mirror_axes = PZ_MIRROR_ALL};
  pz_tiling_rules rules;
  assert_int_equal(pz_tiling_resolve(&o, in, in, true, &rules, NULL), PZ_OK);
  assert_int_equal(rules.flips, 4);
  const uint8_t want[] = {0, 2, 4, 6}; /* y is bit 1, x bit 2 */
  assert_memory_equal(rules.flip, want, 4);
  const pz_infer_options all = {.mirror_axes = 7};
  assert_int_equal(pz_tiling_resolve(&all, in, in, false, &rules, NULL), PZ_OK);
  const uint8_t order[] = {0, 1, 2, 4, 3, 5, 6, 7}; /* itertools.combinations, by size */
  assert_int_equal(rules.flips, 8);
  assert_memory_equal(rules.flip, order, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_packages), cmocka_unit_test(same_bits),
                                     cmocka_unit_test(streams), cmocka_unit_test(contradictions),
                                     cmocka_unit_test(flips)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
