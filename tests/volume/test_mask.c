/* Masks: inside of one the bits of a run without it, outside 0; patches that are outside as a whole are not run. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fx_folder f;

/* ------------------------------------------------------------------ random runs */

typedef struct job {
  fx_net net;
  fx_kind kind;
  pz_infer_options options;
  pz_volume_info info, mask_info;
  int64_t in[3], out[3];
  int32_t channels_out;
  pz_pool *pool;
  char *mask; /* its elements */
  char path[300], mask_path[300], result[300];
  pz_volume_reader reader; /* of the mask */
  int asked;
} job;

/* The mask behind a callback. */
static bool give(void *host, const pz_box *box, void *voxels, const int64_t stride[3]) {
  job *j = host;
  const int64_t *shape = j->mask_info.shape, e = pz_dtype_bytes(j->mask_info.dtype);
  j->asked++;
  for (int i = 0; i < 3; i++)
    if (box->start[i] < 0 || box->size[i] < 1 || box->start[i] + box->size[i] > shape[i]) return false;
  for (int64_t z = 0; z < box->size[0]; z++)
    for (int64_t y = 0; y < box->size[1]; y++) {
      const int64_t row = (box->start[0] + z) * shape[1] + box->start[1] + y;
      memcpy((char *)voxels + z * stride[1] + y * stride[2], j->mask + (row * shape[2] + box->start[2]) * e,
             (size_t)(box->size[2] * e));
    }
  return true;
}

/* Some boxes of it are 1, or what is as little as can be. */
static void random_mask(job *j, uint64_t *s) {
  static const pz_dtype dtypes[] = {PZ_U8, PZ_F32, PZ_U16, PZ_BOOL, PZ_F64, PZ_I32};
  static const char *const names[] = {"m.npy", "m.h5:/mask", "m.npy"};
  const int64_t *n = j->info.shape;
  j->mask_info = fx_info(dtypes[fx_between(s, 0, 5)], 1, n[0], n[1], n[2]);
  const int64_t e = pz_dtype_bytes(j->mask_info.dtype);
  j->mask = calloc((size_t)(n[0] * n[1] * n[2]), (size_t)e);
  for (int64_t boxes = fx_between(s, 0, 3); boxes > 0; boxes--) {
    pz_box b;
    for (int i = 0; i < 3; i++)
      b.start[i] = fx_between(s, 0, n[i] - 1), b.size[i] = fx_between(s, 1, (n[i] - b.start[i] + 2) / 3);
    for (int64_t z = b.start[0]; z < b.start[0] + b.size[0]; z++)
      for (int64_t y = b.start[1]; y < b.start[1] + b.size[1]; y++)
        for (int64_t x = b.start[2]; x < b.start[2] + b.size[2]; x++)
          j->mask[((z * n[1] + y) * n[2] + x) * e] = 1; /* of floats the least that is not 0 */
  }
  snprintf(j->mask_path, sizeof j->mask_path, "%s", fx_path(&f, names[fx_between(s, 0, 2)]));
  fx_save(j->mask_path, &j->mask_info, j->mask);
  j->reader = (pz_volume_reader){.path = j->mask_path};
  if (fx_between(s, 0, 2)) return;
  j->reader = (pz_volume_reader){.read = give, .host = j, .dtype = j->mask_info.dtype, .channels = 1};
  j->reader.identity = "the mask of the test";
  for (int i = 0; i < 3; i++) j->reader.shape[i] = n[i], j->reader.step[i] = fx_between(s, 0, n[i]);
}

static void random_job(job *j, uint64_t *s) {
  static const pz_store stores[] = {PZ_STORE_F32, PZ_STORE_U8, PZ_STORE_ARGMAX, PZ_STORE_THRESHOLD};
  const bool valid = fx_between(s, 0, 2) == 0;
  memset(j, 0, sizeof *j);
  int64_t size[3];
  for (int i = 0; i < 3; i++) {
    j->out[i] = fx_between(s, 1, i ? 8 : 5);
    j->in[i] = j->out[i] + (valid ? 2 * fx_between(s, 0, 2) : 0);
    size[i] = fx_between(s, j->in[i] + 1, i ? 34 : 18);
  }
  pz_infer_options *o = &j->options;
  o->store = stores[fx_between(s, 0, 3)];
  o->threshold = -1; /* 0 is above it */
  j->channels_out = o->store == PZ_STORE_ARGMAX ? 2 : (int32_t)fx_between(s, 1, 2);
  if (o->store != PZ_STORE_ARGMAX) o->apply = fx_between(s, 0, 1) ? PZ_APPLY_SIGMOID : PZ_APPLY_NOTHING;
  for (int i = 0; i < 3; i++) {
    o->overlap[i] = (int32_t)fx_between(s, 0, j->out[i] - 1);
    o->crop[i] = fx_between(s, 0, 3) ? 0 : (int32_t)fx_between(s, 0, (size[i] - 1) / 4);
  }
  o->blend = (pz_blend)fx_between(s, 0, 2), o->border = (pz_border)fx_between(s, 0, 1);
  if (!valid && fx_between(s, 0, 4) == 0) o->mirror_axes = PZ_MIRROR_ALL;
  j->kind = FX_RAMP;
  j->info = fx_info(PZ_F32, 1, size[0], size[1], size[2]);
  void *data = fx_content(&j->info, fx_random(s));
  snprintf(j->path, sizeof j->path, "%s", fx_path(&f, "in.npy"));
  snprintf(j->result, sizeof j->result, "%s", fx_path(&f, "out.npy"));
  fx_save(j->path, &j->info, data);
  free(data);
  random_mask(j, s);
}

static pz_status run(job *j, bool masked, int interrupt_at, char **report, pz_error *err) {
  const pz_engine_tuning tuning = {.record_seconds = j->options.resume ? 1e-9 : 5,
                                   .journal_speed = 1e18,
                                   .store_bytes = 300,
                                   .read_bytes = 700};
  pz_infer_options o = j->options;
  pz_volume *v;
  fx_net_make(&j->net, j->kind, 1, j->channels_out, j->in, j->out);
  j->net.function.pool = j->pool;
  j->net.interrupt_at = interrupt_at;
  o.interrupt = &j->net.flag;
  o.mask = masked ? &j->reader : NULL;
  *report = NULL, *err = (pz_error){0};
  assert_int_equal(pz_volume_open(j->path, &v, err), PZ_OK);
  const pz_status status =
      pz_engine_run(&j->net.function, v, &(pz_volume_writer){.path = j->result}, &o, &tuning, report, err);
  pz_volume_close(v);
  return status;
}

static long long number(const char *report, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\": ", name);
  const char *at = strstr(report, key);
  if (!at) fail_msg("%s is not in %s", name, report);
  return atoll(at + strlen(key));
}

/* What is to be the result: of that without a mask the bits inside of it, else 0. */
static void blank(const job *j, const pz_volume_info *info, char *result) {
  const int64_t *n = info->shape, *whole = j->info.shape, e = pz_dtype_bytes(info->dtype),
                element = pz_dtype_bytes(j->mask_info.dtype);
  int64_t first[3];
  for (int i = 0; i < 3; i++)
    first[i] = j->options.box.size[i] ? j->options.box.start[i] : j->options.crop[i];
  char *at = result;
  for (int32_t c = 0; c < info->channels; c++)
    for (int64_t z = 0; z < n[0]; z++)
      for (int64_t y = 0; y < n[1]; y++)
        for (int64_t x = 0; x < n[2]; x++, at += e)
          if (!j->mask[(((first[0] + z) * whole[1] + first[1] + y) * whole[2] + first[2] + x) * element])
            memset(at, 0, (size_t)e);
}

/* A part of the result, now and then. */
static void random_box(job *j, uint64_t *s) {
  if (fx_between(s, 0, 1)) return;
  for (int i = 0; i < 3; i++) {
    const int64_t crop = j->options.crop[i], n = j->info.shape[i] - 2 * crop, start = fx_between(s, 0, n - 1);
    j->options.box.start[i] = crop + start, j->options.box.size[i] = fx_between(s, 1, n - start);
  }
  const int32_t *crop = j->options.crop;
  if (crop[0] || crop[1] || crop[2] || fx_between(s, 0, 1)) return;
  j->options.given |= PZ_GIVEN_CONTEXT;
  for (int i = 0; i < 3; i++) j->options.context[i] = (int32_t)fx_between(s, 0, 6);
}

/* In blocks, where it is little. */
static void random_memory(job *j, long long most, uint64_t *s) {
  char *report;
  pz_error err;
  j->options.memory = 1;
  assert_int_equal(run(j, true, 0, &report, &err), PZ_ERROR_MEMORY);
  const char *at = strchr(err.message, '(');
  const long long fewest = at ? atoll(at + 1) : 0;
  j->options.memory = fewest < most && fx_between(s, 0, 1) ? fx_between(s, fewest, most) : 0;
}

static void inside_and_outside(void **state) {
  (void)state;
  uint64_t s = 31;
  long long blocks = 0, skipped = 0, in_all = 0, asked = 0;
  pz_pool *pool = NULL;
  pz_error err;
  assert_int_equal(pz_pool_new(2, false, &pool, &err), PZ_OK);
  for (int round = 0; round < 80; round++) {
    job j;
    pz_volume_info info, got_info;
    char *report;
    random_job(&j, &s), random_box(&j, &s);
    if (run(&j, false, 0, &report, &err) != PZ_OK) fail_msg("%s", err.message);
    const long long most = number(report, "peak_bytes"), patches = number(report, "patches");
    free(report);
    char *want = fx_load(j.result, &info);
    blank(&j, &info, want);
    random_memory(&j, most, &s);
    j.pool = fx_between(&s, 0, 1) ? pool : NULL;
    if (run(&j, true, 0, &report, &err) != PZ_OK) fail_msg("%s", err.message);
    if (j.options.memory) assert_true(number(report, "peak_bytes") <= j.options.memory);
    assert_int_equal(number(report, "patches_run") + number(report, "patches_skipped"),
                     number(report, "patches"));
    assert_int_equal(number(report, "clipped"), number(report, "clipped"));
    blocks += number(report, "blocks") > 1, skipped += number(report, "patches_skipped"), in_all += patches;
    asked += j.asked;
    char *got = fx_load(j.result, &got_info);
    assert_int_equal(pz_volume_bytes(&got_info), pz_volume_bytes(&info));
    assert_memory_equal(got, want, (size_t)pz_volume_bytes(&info));
    free(got), free(want), free(report), free(j.mask);
  }
  pz_pool_free(pool);
  assert_true(blocks > 5 && skipped > in_all / 4 && asked > 0);
}

/* Interrupted anywhere, gone on with in another amount of memory. */
static void resumed(void **state) {
  (void)state;
  uint64_t s = 32;
  int interrupted = 0;
  for (int round = 0; round < 16; round++) {
    job j;
    pz_volume_info info;
    char *report;
    pz_error err;
    random_job(&j, &s), random_box(&j, &s);
    if (run(&j, false, 0, &report, &err) != PZ_OK) fail_msg("%s", err.message);
    const long long most = number(report, "peak_bytes");
    free(report);
    char *want = fx_load(j.result, &info);
    blank(&j, &info, want);
    unlink(j.result);
    random_memory(&j, most, &s);
    j.options.resume = true;
    pz_status status = PZ_INTERRUPTED;
    for (int tries = 0; status == PZ_INTERRUPTED; tries++) {
      status = run(&j, true, tries < 4 ? (int)fx_between(&s, 1, 20) : 0, &report, &err);
      if (status != PZ_OK && status != PZ_INTERRUPTED) fail_msg("%s", err.message);
      interrupted += status != PZ_OK, j.options.memory = 0;
    }
    char *got = fx_load(j.result, &info);
    assert_memory_equal(got, want, (size_t)pz_volume_bytes(&info));
    free(got), free(want), free(report), free(j.mask), unlink(j.result);
  }
  assert_true(interrupted > 8);
}

/* ------------------------------------------------------------------ one small run */

/* 12 x 12 x 12 voxels in patches of 4; the mask is 1 at the voxels of `inside`. */
static char small_path[300];
static job small_job(int n, const int64_t inside[][3]) {
  job j = {.kind = FX_RAMP, .channels_out = 1, .info = fx_info(PZ_F32, 1, 12, 12, 12)};
  for (int i = 0; i < 3; i++) j.in[i] = j.out[i] = 4;
  snprintf(j.path, sizeof j.path, "%s", fx_path(&f, "in.npy"));
  snprintf(j.result, sizeof j.result, "%s", fx_path(&f, "small.npy"));
  snprintf(j.mask_path, sizeof j.mask_path, "%s", fx_path(&f, "small-mask.npy"));
  j.mask_info = fx_info(PZ_U8, 1, 12, 12, 12);
  j.mask = calloc(12 * 12, 12);
  for (int i = 0; i < n; i++) j.mask[(inside[i][0] * 12 + inside[i][1]) * 12 + inside[i][2]] = 1;
  void *data = fx_content(&j.info, 1);
  fx_save(j.path, &j.info, data);
  fx_save(j.mask_path, &j.mask_info, j.mask);
  j.reader = (pz_volume_reader){.path = strcpy(small_path, j.mask_path)};
  free(data);
  return j;
}

static void end_job(job *j) { free(j->mask), unlink(j->result); }

/* So many patches as reach into the mask. */
static void patches(void **state) {
  (void)state;
  static const int64_t inside[][3] = {{0, 0, 0}, {3, 3, 3}, {4, 5, 11}};
  static const struct {
    int n, overlap;
    long long runs;
  } cases[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 1}, {3, 0, 2}, {2, 2, 8}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *report;
    pz_error err;
    job j = small_job(cases[i].n, inside);
    for (int k = 0; k < 3; k++) j.options.overlap[k] = cases[i].overlap;
    assert_int_equal(run(&j, true, 0, &report, &err), PZ_OK);
    assert_int_equal(j.net.runs, cases[i].runs);
    assert_int_equal(number(report, "patches_run"), cases[i].runs);
    assert_true(number(report, "mask") >= 12 * 12 * 4); /* its bytes */
    assert_non_null(strstr(report, "small-mask.npy"));
    free(report), end_job(&j);
  }
}

static void refused(job *j, pz_status want, const char *words) {
  char *report;
  pz_error err;
  assert_int_equal(run(j, true, 0, &report, &err), want);
  if (!strstr(err.message, words)) fail_msg("expected '%s' in '%s'", words, err.message);
  assert_null(strchr(err.message, '\n'));
}

static void refusals(void **state) {
  (void)state;
  job j = small_job(0, NULL);
  const pz_volume_info other = fx_info(PZ_U8, 1, 12, 11, 12), two = fx_info(PZ_U8, 2, 12, 12, 12);
  void *zeros = calloc(2, 12 * 12 * 12);
  fx_save(j.mask_path, &other, zeros);
  refused(&j, PZ_ERROR_INPUT, "a mask of 12 x 11 x 12 voxels (z, y, x) for a volume of 12 x 12 x 12, ");
  refused(&j, PZ_ERROR_INPUT, "in.npy; expected the same size");
  fx_save(j.mask_path, &two, zeros);
  refused(&j, PZ_ERROR_INPUT, "a mask of 2 channels");
  unlink(j.mask_path);
  refused(&j, PZ_ERROR_INPUT, "small-mask.npy");
  fx_save(j.mask_path, &j.mask_info, zeros);
  snprintf(j.result, sizeof j.result, "%s", j.mask_path);
  refused(&j, PZ_ERROR_USAGE, "the output is the mask");
  assert_true(fx_exists(j.mask_path));
  snprintf(j.result, sizeof j.result, "%s", fx_path(&f, "small.npy"));
  j.reader =
      (pz_volume_reader){.read = give, .host = &j, .dtype = PZ_U8, .channels = 1, .shape = {12, 12, 12}};
  j.options.resume = true;
  refused(&j, PZ_ERROR_USAGE, "resume needs an input, an output and a mask");
  free(zeros), end_job(&j);
}

/* Another mask, or none, is another job; and another result. */
static void other_mask(void **state) {
  (void)state;
  static const int64_t inside[][3] = {{0, 0, 0}, {4, 5, 11}, {11, 2, 3}};
  job j = small_job(2, inside);
  char *report;
  pz_error err;
  assert_int_equal(run(&j, true, 1, &report, &err), PZ_INTERRUPTED);
  j.options.resume = true;
  assert_int_equal(run(&j, false, 0, &report, &err), PZ_ERROR_INPUT);
  assert_non_null(
      strstr(err.message, "cannot go on: the mask was a file when the work began and is none now"));
  j.mask[12 * 12 * 12 - 1] = 1;
  fx_save(j.mask_path, &j.mask_info, j.mask);
  refused(&j, PZ_ERROR_INPUT, "cannot go on: the mask's ");
  j.options.resume = false;
  assert_int_equal(run(&j, true, 0, &report, &err), PZ_OK);
  free(report);
  j.options.resume = true;
  assert_int_equal(run(&j, true, 0, &report, &err), PZ_OK);
  assert_non_null(strstr(report, "\"finished_before\": true"));
  free(report);
  j.mask[12 * 12 * 12 - 1] = 0;
  fx_save(j.mask_path, &j.mask_info, j.mask);
  assert_int_equal(run(&j, true, 0, &report, &err), PZ_OK);
  assert_non_null(strstr(report, "\"made_anew\": \"the mask's "));
  free(report), end_job(&j);
}

/* Outside of the mask not-a-numbers are nobody's, and what is clipped there is not. */
static void tallies(void **state) {
  (void)state;
  static const int64_t inside[][3] = {{5, 5, 5}};
  job j = small_job(1, inside);
  char *report;
  pz_error err;
  j.options.store = PZ_STORE_U8; /* FX_RAMP goes beyond 1 in a corner of each patch */
  j.options.normalize = PZ_NORMALIZE_ZSCORE;
  assert_int_equal(run(&j, false, 0, &report, &err), PZ_OK);
  assert_true(number(report, "clipped") > 100);
  free(report);
  assert_int_equal(run(&j, true, 0, &report, &err), PZ_OK);
  assert_true(number(report, "clipped") <= 1);
  free(report), end_job(&j);
}

/* Whole numbers are stored as they are, and 0 as its element. */
static void typed(void **state) {
  (void)state;
  static const int64_t inside[][3] = {{5, 5, 5}, {0, 1, 2}};
  job j = small_job(2, inside);
  pz_volume *v;
  pz_volume_info info;
  pz_error err = {0};
  fx_net net;
  pz_infer_options o = {.mask = &j.reader};
  fx_net_make(&net, FX_RAMP, 1, 1, j.in, j.out);
  net.function.given = (pz_element){PZ_U8, 0.01f, 100};
  assert_int_equal(pz_volume_open(j.path, &v, &err), PZ_OK);
  const pz_volume_writer to = {.path = j.result};
  if (pz_engine_run(&net.function, v, &to, &o, NULL, NULL, &err) != PZ_OK) fail_msg("%s", err.message);
  pz_volume_close(v);
  uint8_t *got = fx_load(j.result, &info);
  assert_int_equal(info.dtype, PZ_U8);
  for (int i = 0; i < 12 * 12 * 12; i++) assert_true(j.mask[i] ? got[i] > 100 : got[i] == 100);
  free(got), end_job(&j);
}

static int enter(void **state) {
  (void)state;
  f = fx_enter();
  return 0;
}
static int leave(void **state) {
  (void)state;
  fx_leave(&f);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inside_and_outside),
                                     cmocka_unit_test(resumed),
                                     cmocka_unit_test(patches),
                                     cmocka_unit_test(refusals),
                                     cmocka_unit_test(other_mask),
                                     cmocka_unit_test(tallies),
                                     cmocka_unit_test(typed)};
  return cmocka_run_group_tests(tests, enter, leave);
}
