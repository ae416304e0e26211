/* Several networks of the same ports: the mean of their results, patch by patch. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t patch_in[3] = {6, 7, 8}, patch_out[3] = {4, 5, 6};
static const pz_engine_tuning eager = {
    .record_seconds = 1e-9, .journal_speed = 1e18, .store_bytes = 64, .read_bytes = 64};

typedef struct scene {
  fx_folder folder;
  pz_volume_info info;
  char in[300], out[300];
  pz_infer_options options;
  pz_pool *pool;
  fx_net net[3];
  pz_patch_other other[2];
} scene;

static scene make_scene(void) {
  scene s = {.folder = fx_enter(), .info = fx_info(PZ_F32, 1, 13, 11, 14)};
  float *data = fx_content(&s.info, 3);
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.folder, "in.npy"));
  snprintf(s.out, sizeof s.out, "%s", fx_path(&s.folder, "out.npy"));
  fx_save(s.in, &s.info, data);
  free(data);
  s.options = (pz_infer_options){.overlap = {2, 1, 3}, .blend = PZ_BLEND_GAUSSIAN};
  return s;
}

/* Networks first..first+n-1 of three, interrupted in a run of the last one. */
static pz_status go(scene *s, int first, int n, int interrupt_at, char **report, pz_error *err) {
  static const fx_kind kinds[] = {FX_RAMP, FX_SQUARE, FX_BOX};
  static const char *const digests[] = {"a", "b", "c"};
  pz_volume *v;
  pz_infer_options o = s->options;
  for (int i = 0; i < n; i++) {
    fx_net_make(&s->net[i], kinds[first + i], 1, 2, patch_in, patch_out);
    s->net[i].function.digest = digests[first + i], s->net[i].function.path = digests[first + i];
    const pz_patch_function *f = &s->net[i].function;
    if (i) s->other[i - 1] = (pz_patch_other){f->run, f->host, NULL, f->path, f->digest};
  }
  pz_patch_function f = s->net[0].function;
  f.others = s->other, f.n_others = n - 1, f.pool = s->pool;
  s->net[n - 1].interrupt_at = interrupt_at;
  o.interrupt = &s->net[n - 1].flag;
  *err = (pz_error){0};
  assert_int_equal(pz_volume_open(s->in, &v, err), PZ_OK);
  const pz_status status = pz_engine_run(&f, v, &(pz_volume_writer){.path = s->out}, &o, &eager, report, err);
  pz_volume_close(v);
  return status;
}

static float *result_of(scene *s, int first, int n, int64_t *elements) {
  pz_error err;
  pz_volume_info info;
  if (go(s, first, n, 0, NULL, &err) != PZ_OK) fail_msg("%s", err.message);
  float *result = fx_load(s->out, &info);
  *elements = pz_volume_bytes(&info) / 4;
  return result;
}

/* Values up to 2, means of floats: 1e-6. */
static void means(void **state) {
  (void)state;
  scene s = make_scene();
  for (int mirrored = 0; mirrored < 2; mirrored++)
    for (int n = 2; n < 4; n++) {
      int64_t elements;
      s.options.mirror_axes = mirrored ? PZ_MIRROR_ALL : 0;
      float *got = result_of(&s, 0, n, &elements), *alone[3];
      const int runs = s.net[0].runs;
      for (int i = 0; i < n; i++) assert_int_equal(s.net[i].runs, runs);
      for (int i = 0; i < n; i++) alone[i] = result_of(&s, i, 1, &elements);
      assert_int_equal(s.net[0].runs, runs);
      for (int64_t i = 0; i < elements; i++) {
        double mean = 0;
        for (int k = 0; k < n; k++) mean += (double)alone[k][i] / n;
        assert_true(fabs((double)got[i] - mean) <= 1e-6);
      }
      for (int i = 0; i < n; i++) free(alone[i]);
      free(got);
    }
  fx_leave(&s.folder);
}

static void same_bits(void **state) {
  (void)state;
  scene s = make_scene();
  pz_error err;
  int64_t elements;
  s.options.mirror_axes = 1;
  float *want = result_of(&s, 0, 2, &elements);
  const int runs = s.net[1].runs;
  assert_int_equal(pz_pool_new(2, false, &s.pool, &err), PZ_OK);
  float *threads = result_of(&s, 0, 2, &elements);
  assert_memory_equal(threads, want, (size_t)elements * 4);
  free(threads);
  for (int at = 1; at < runs; at += 5) {
    pz_volume_info info;
    unlink(s.out);
    s.options.resume = false;
    assert_int_equal(go(&s, 0, 2, at, NULL, &err), PZ_INTERRUPTED);
    s.options.resume = true;
    if (go(&s, 0, 2, 0, NULL, &err) != PZ_OK) fail_msg("%s", err.message);
    assert_true(s.net[0].runs < runs || at < 3);
    float *got = fx_load(s.out, &info);
    assert_memory_equal(got, want, (size_t)elements * 4);
    free(got);
  }
  pz_pool_free(s.pool);
  free(want);
  fx_leave(&s.folder);
}

/* What was begun with some networks does not go on with others, more or fewer. */
static void other_networks(void **state) {
  (void)state;
  scene s = make_scene();
  pz_error err;
  char *report = NULL;
  assert_int_equal(go(&s, 0, 2, 3, NULL, &err), PZ_INTERRUPTED);
  s.options.resume = true;
  assert_int_equal(go(&s, 0, 1, 0, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "the networks averaged was 2 when the work began and is 1 now"));
  assert_int_equal(go(&s, 0, 3, 0, NULL, &err), PZ_ERROR_INPUT);
  assert_int_equal(go(&s, 1, 2, 0, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "the network was a when the work began and is b now"));
  assert_int_equal(go(&s, 0, 2, 0, &report, &err), PZ_OK);
  assert_non_null(strstr(report, "\"ensemble\": [\n    {\n      \"path\": \"a\",\n      \"digest\": \"a\""));
  assert_non_null(strstr(report, "\"network 2\": \"b\""));
  free(report);
  assert_int_equal(go(&s, 0, 3, 0, &report, &err), PZ_OK);
  assert_non_null(
      strstr(report, "\"made_anew\": \"the networks averaged was 2 when it was made and is 3 now"));
  free(report);
  fx_leave(&s.folder);
}

/* Labels have no mean, of which none is taken. */
static void refused(void **state) {
  (void)state;
  scene s = make_scene();
  pz_error err = {0};
  pz_volume *v;
  const pz_patch_other other = {s.net[1].function.run, &s.net[1], NULL, "b", "b"};
  fx_net_make(&s.net[0], FX_IDENTITY, 1, 1, patch_out, patch_out);
  s.net[0].function.given = (pz_element){PZ_U8, 1, 0};
  s.net[0].function.others = &other, s.net[0].function.n_others = 1;
  s.options = (pz_infer_options){.blend = PZ_BLEND_CONSTANT};
  const pz_volume_info whole = fx_info(PZ_F32, 1, 4, 10, 6);
  float *data = fx_content(&whole, 1);
  fx_save(s.in, &whole, data);
  free(data);
  assert_int_equal(pz_volume_open(s.in, &v, &err), PZ_OK);
  const pz_volume_writer to = {.path = s.out};
  assert_int_equal(pz_engine_run(&s.net[0].function, v, &to, &s.options, NULL, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "networks are averaged"));
  pz_volume_close(v);
  fx_leave(&s.folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(means), cmocka_unit_test(same_bits),
                                     cmocka_unit_test(other_networks), cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
