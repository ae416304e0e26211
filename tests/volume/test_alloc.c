/* Every allocation fails in turn: PZ_ERROR_MEMORY, no crash, and (under the sanitizers) no leak. Counted are pznet's own
 * allocations and those of jansson and SQLite, which take ours; libtiff, HDF5 and zlib allocate by themselves. */
#include "fail_alloc.h"
#include "fixture.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"a.npy", "a.h5:/main", "a.tif", "a.nii", "a.nii.gz"};
enum { NAMES = sizeof names / sizeof *names };

static void opening(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_I16, 2, 4, 5, 6);
  void *data = fx_content(&info, 1);
  for (int n = 0; n < NAMES; n++) {
    char path[600];
    snprintf(path, sizeof path, "%s", fx_path(&f, names[n]));
    fx_save(path, &info, data);
    char *whole;
    assert_int_equal(pz_volume_describe(path, &whole), PZ_OK);
    PZ_FAIL_EACH_ALLOC() {
      pz_error err = {0};
      char *json = NULL;
      pz_status status = fx_read_all(path, 2, &err);
      const pz_status described = pz_volume_describe(path, &json);
      const bool failed = pz_fail_alloc_end();
      if (!failed) assert_true(status == PZ_OK && described == PZ_OK && json);
      /* the fixture's own buffer: its failure means that nothing was read */
      if (failed) assert_true(status == PZ_ERROR_MEMORY || status == PZ_OK);
      if (failed) assert_true(described == PZ_ERROR_MEMORY || described == PZ_OK);
      assert_int_equal(json != NULL, described == PZ_OK);
      if (json) assert_string_equal(json, whole); /* never a part of it */
      free(json);
    }
    free(whole);
  }
  free(data);
  fx_leave(&f);
}

static void ignore_plan(void *host, const char *json) { (void)host, (void)json; }

/* Its numbers are others each time; what it has is not. */
static void assert_whole(const char *report) {
  static const char *const keys[] = {
      "input",   "output",       "patch_in", "patch_out",  "overlap",     "grid",    "patches",
      "voxels",  "input_planes", "memory",   "peak_bytes", "patches_run", "clipped", "voxels_per_second",
      "seconds", "determined_by"};
  json_t *r = json_loads(report, 0, NULL);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!json_object_get(r, keys[i])) fail_msg("%s is not in %s", keys[i], report);
  assert_int_equal(json_array_size(json_object_get(json_object_get(r, "input"), "shape")), 3);
  json_decref(r);
}

static void whole_runs(void **state) {
  (void)state;
  const int64_t in[3] = {4, 4, 5}, out[3] = {2, 4, 4};
  const pz_engine_tuning eager = {.record_seconds = 1e-9, .journal_speed = 1e18};
  pz_infer_options o = {.overlap = {1, 0, 1}, .planned = ignore_plan, .normalize = PZ_NORMALIZE_ZSCORE};
  for (int n = 0; n < NAMES; n += 2) { /* laid out in advance, and written at the end */
    const fx_folder f = fx_enter();
    const pz_volume_info info = fx_info(PZ_I16, 1, 3, 4, 5);
    void *data = fx_content(&info, 1);
    char from[600], to[600], file[600], picture[600];
    snprintf(from, sizeof from, "%s", fx_path(&f, "in.npy"));
    snprintf(to, sizeof to, "%s", fx_path(&f, names[n]));
    snprintf(file, sizeof file, "%.*s", (int)strcspn(to, ":"), to);
    snprintf(picture, sizeof picture, "%s", fx_path(&f, "picture.png"));
    o.preview = picture, o.codec = n == 2 ? "gzip" : NULL; /* of TIFF */
    fx_save(from, &info, data);
    const pz_volume_reader mask = {.path = from};
    o.mask = n ? &mask : NULL;
    PZ_FAIL_EACH_ALLOC() {
      pz_error err = {0};
      fx_net net;
      pz_volume *v = NULL;
      char *report = NULL;
      fx_net_make(&net, FX_RAMP, 1, 2, in, out);
      const pz_patch_other other = {net.function.run, &net, NULL, "b", "b"};
      net.function.others = &other, net.function.n_others = n > 0;
      pz_status status = pz_volume_open(from, &v, &err);
      if (status == PZ_OK)
        status = pz_engine_run(&net.function, v, &(pz_volume_writer){.path = to}, &o, &eager, &report, &err);
      pz_volume_close(v);
      const bool failed = pz_fail_alloc_end();
      /* SQLite can do without some of its allocations, and reports some failures as an error of its own. */
      if (status != PZ_OK && status != PZ_ERROR_MEMORY && status != PZ_ERROR_RUN)
        fail_msg("%s: %d %s", names[n], status, err.message);
      if (!failed && status != PZ_OK) fail_msg("%s: %s", names[n], err.message);
      if (status != PZ_OK) assert_true(err.message[0]);
      assert_int_equal(report != NULL, status == PZ_OK);
      if (report) assert_whole(report);
      free(report);
      unlink(file);
    }
    free(data);
    fx_leave(&f);
  }
}

static int same(int n) { return n; }
static int nothing(void *p) { return (void)p, SQLITE_OK; }
static void nothing_more(void *p) { (void)p; }
/* SQLite wants to know sizes: they are kept in front. */
static void *counted_alloc(int n) {
  int64_t *p = malloc((size_t)n + 16);
  if (p) p[0] = n;
  return p ? p + 2 : NULL;
}
static void counted_free(void *p) { free(p ? (int64_t *)p - 2 : NULL); }
static void *counted_realloc(void *old, int n) {
  int64_t *p = realloc(old ? (int64_t *)old - 2 : NULL, (size_t)n + 16);
  if (p) p[0] = n;
  return p ? p + 2 : NULL;
}
static int counted_size(void *p) { return p ? (int)((int64_t *)p)[-2] : 0; }

int main(void) {
  const sqlite3_mem_methods methods = {counted_alloc, counted_free, counted_realloc, counted_size,
                                       same,          nothing,      nothing_more,    NULL};
  sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  json_set_alloc_funcs(malloc, free);
  const struct CMUnitTest tests[] = {cmocka_unit_test(opening), cmocka_unit_test(whole_runs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
