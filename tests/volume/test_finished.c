/* --resume of an output that is finished, or that is another's; outputs that are not to be overwritten. */
#include "fixture.h"
#include "volume/finished.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE "user.pznet.finished"

/* ------------------------------------------------------------------ a file system without attributes (linked with --wrap) */

static bool without;

int __real_fsetxattr(int fd, const char *name, const void *value, size_t n, int flags);
int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t n, int flags);
int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t n, int flags) {
  return without ? (errno = ENOTSUP, -1) : __real_fsetxattr(fd, name, value, n, flags);
}

/* ------------------------------------------------------------------ scene */

static const int64_t patch[3] = {4, 5, 6};
static const pz_engine_tuning eager = {
    .record_seconds = 1e-9, .journal_speed = 1e18, .store_bytes = 64, .read_bytes = 64};

typedef struct scene {
  fx_folder folder;
  char in[600], out[600], job[640], beside[640];
  pz_infer_options options;
  int runs; /* patches of the last run */
  char why[512], report[8192];
} scene;

static void make_input(const char *path, uint64_t seed) {
  const pz_volume_info info = fx_info(PZ_U8, 1, 9, 8, 9);
  void *data = fx_content(&info, seed);
  fx_save(path, &info, data);
  free(data);
}

static scene make_scene(const char *out) {
  scene s = {.folder = fx_enter(), .options = {.overlap = {2, 1, 3}, .store = PZ_STORE_U8}};
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.folder, "in.npy"));
  snprintf(s.out, sizeof s.out, "%s", fx_path(&s.folder, out));
  snprintf(s.job, sizeof s.job, "%s.pznet-job", s.out);
  snprintf(s.beside, sizeof s.beside, "%s.pznet-finished", s.out);
  make_input(s.in, 3);
  return s;
}

static void note_plan(void *host, const char *json) {
  scene *s = host;
  const char *why = strstr(json, "\"made_anew\": ");
  if (why) snprintf(s->why, sizeof s->why, "%s", why);
}

static pz_status go(scene *s, bool resume, pz_error *err) {
  fx_net net;
  pz_volume *v;
  char *report = NULL;
  fx_net_make(&net, FX_RAMP, 1, 2, patch, patch);
  s->options.resume = resume, s->options.planned = note_plan, s->options.planned_host = s;
  s->why[0] = s->report[0] = 0;
  *err = (pz_error){0};
  assert_int_equal(pz_volume_open(s->in, &v, err), PZ_OK);
  const pz_status status =
      pz_engine_run(&net.function, v, &(pz_volume_writer){.path = s->out}, &s->options, &eager, &report, err);
  pz_volume_close(v);
  s->runs = net.runs;
  if (report) snprintf(s->report, sizeof s->report, "%s", report);
  free(report);
  return status;
}

/* Runs that must succeed: everything is computed, or nothing. */
static void computes(scene *s, bool resume, const char *why) {
  pz_error err;
  if (go(s, resume, &err) != PZ_OK) fail_msg("%s", err.message);
  if (!s->runs || (why ? !strstr(s->why, why) : s->why[0])) fail_msg("%d runs, %s", s->runs, s->why);
  assert_non_null(strstr(s->report, "\"finished_before\": false"));
}

static void does_nothing(scene *s) {
  struct stat before, after;
  pz_error err;
  assert_int_equal(stat(s->out, &before), 0);
  if (go(s, true, &err) != PZ_OK) fail_msg("%s", err.message);
  if (s->runs) fail_msg("%d runs: %s", s->runs, s->why);
  assert_int_equal(stat(s->out, &after), 0);
  assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  assert_non_null(strstr(s->report, "\"finished_before\": true"));
  assert_non_null(strstr(s->report, "\"patches_run\": 0"));
  assert_false(fx_exists(s->job));
}

/* Whether this file system has attributes; where not, what needs them is left out. */
static bool attributes(const scene *s) { return getxattr(s->out, ATTRIBUTE, NULL, 0) > 0; }

/* ------------------------------------------------------------------ tests */

static void every_format(void **state) {
  (void)state;
  const char *const outs[] = {"out.npy", "out.tif", "out.nii", "out.nii.gz", "out.h5"};
  for (int resumed = 0; resumed < 2; resumed++)
    for (int i = 0; i < 5; i++) {
      scene s = make_scene(outs[i]);
      size_t size, other;
      computes(&s, resumed, NULL);
      assert_false(fx_exists(s.job));
      char *bytes = fx_file(s.out, &size);
      const char *clipped = strstr(s.report, "\"clipped\": ");
      char text[32];
      snprintf(text, sizeof text, "%.*s", (int)strcspn(clipped, ","), clipped);
      assert_int_equal(fx_exists(s.beside), resumed && !attributes(&s));
      if (!attributes(&s) && !resumed) {
        fx_leave(&s.folder), free(bytes);
        continue;
      }
      does_nothing(&s);
      assert_non_null(strstr(s.report, text));
      s.options.threads = 3, s.options.memory = INT64_C(1) << 32; /* change no bit */
      does_nothing(&s);
      char *again = fx_file(s.out, &other);
      assert_int_equal(size, other);
      assert_memory_equal(bytes, again, size);
      computes(&s, false, NULL); /* without --resume it is made again, with the same bytes */
      free(again);
      again = fx_file(s.out, &other);
      assert_int_equal(size, other);
      assert_memory_equal(bytes, again, size);
      free(bytes), free(again);
      fx_leave(&s.folder);
    }
}

/* What differs is said, and the output is made anew. */
static void another_run(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  computes(&s, true, NULL);
  s.options.overlap[1] = 2;
  computes(&s, true, "the overlap was 2,1,3 when it was made and is 2,2,3 now");
  does_nothing(&s);
  s.options.store = PZ_STORE_THRESHOLD, s.options.threshold = 0.25f;
  computes(&s, true, "the kind of output was u8");
  s.options.threshold = 0.5f;
  computes(&s, true, "the threshold was 0.25");
  s.options.apply = PZ_APPLY_SIGMOID;
  computes(&s, true, "the function of the result was nothing");
  make_input(s.in, 4);
  computes(&s, true, "the volume's");
  does_nothing(&s);
  fx_leave(&s.folder);
}

/* Of an output that was changed, or made by somebody else, nothing is believed. */
static void changed_output(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  computes(&s, true, NULL);
  const int fd = open(s.out, O_WRONLY);
  assert_int_equal(pwrite(fd, "\1", 1, 200), 1);
  close(fd);
  computes(&s, true, "it was changed after it was made");
  does_nothing(&s);
  size_t size;
  char *bytes = fx_file(s.out, &size);
  unlink(s.out), unlink(s.beside);
  fx_write_file(s.out, bytes, size);
  free(bytes);
  computes(&s, true, "nothing says which run made it");
  does_nothing(&s);
  fx_leave(&s.folder);
}

/* Neither where the output lies nor where the volume lies counts. */
static void moved(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  computes(&s, true, NULL);
  if (attributes(&s)) {
    char old[600];
    snprintf(old, sizeof old, "%s", s.out);
    snprintf(s.out, sizeof s.out, "%s", fx_path(&s.folder, "renamed.npy"));
    snprintf(s.job, sizeof s.job, "%s.pznet-job", s.out);
    assert_int_equal(rename(old, s.out), 0);
    does_nothing(&s);
  }
  char old[600];
  snprintf(old, sizeof old, "%s", s.in);
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.folder, "elsewhere.npy"));
  assert_int_equal(rename(old, s.in), 0);
  does_nothing(&s);
  fx_leave(&s.folder);
}

static void garbage(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  const char *const texts[] = {"",
                               "\n",
                               "pznet-2",
                               "pznet-2 0 0.0\n=0 0 00 0 0\n",
                               "overlap\t\n\n\t\x1b[31m",
                               "pznet-2 9999999999999999999999 1.1\n=0 0 zz 1 1\n"};
  computes(&s, false, NULL);
  if (!attributes(&s)) skip();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_int_equal(setxattr(s.out, ATTRIBUTE, texts[i], strlen(texts[i]), 0), 0);
    computes(&s, true, "made_anew");
  }
  /* Each byte of a sound one in turn: it is made anew, or it was a byte of the words, and no word is believed. */
  char sound[4096], text[4096];
  const ssize_t n = getxattr(s.out, ATTRIBUTE, sound, sizeof sound);
  assert_true(n > 200);
  const pz_facts none = {.n = 0};
  pz_job_tally tally;
  for (ssize_t i = 0; i < n; i++) {
    memcpy(text, sound, (size_t)n);
    text[i] = i % 2 ? 0 : (char)0xff;
    assert_int_equal(setxattr(s.out, ATTRIBUTE, text, (size_t)n, 0), 0);
    assert_false(pz_finished_find(s.out, (pz_finished_places){0}, &none, &tally, s.why, sizeof s.why));
    assert_true(s.why[0]);
  }
  fx_leave(&s.folder);
}

/* Killed after the result has its name and before the job is removed: it is finished, and the job goes. */
static char keep_command[2048];
static void keep_job(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)host, (void)seconds;
  if (strcmp(what, "patches") == 0 && done == total) assert_int_equal(system(keep_command), 0);
}

static void killed_at_the_end(void **state) {
  (void)state;
  for (int forgotten = 0; forgotten < 2; forgotten++) {
    scene s = make_scene("out.npy");
    char kept[700], result[700];
    size_t size, other;
    snprintf(kept, sizeof kept, "%s.kept", s.job);
    snprintf(result, sizeof result, "%s/result.raw", s.job);
    snprintf(keep_command, sizeof keep_command, "cp -r %s %s", s.job, kept);
    s.options.progress = keep_job;
    computes(&s, true, NULL);
    s.options.progress = NULL;
    char *want = fx_file(s.out, &size);
    assert_int_equal(rename(kept, s.job), 0);
    assert_int_equal(unlink(result), 0); /* it has the output's name */
    if (forgotten) removexattr(s.out, ATTRIBUTE), unlink(s.beside);
    if (forgotten) computes(&s, true, "nothing says which run made it");
    else does_nothing(&s);
    assert_false(fx_exists(s.job));
    char *got = fx_file(s.out, &other);
    assert_int_equal(size, other);
    assert_memory_equal(want, got, size);
    free(want), free(got);
    fx_leave(&s.folder);
  }
}

/* Unfinished work of other options beside a finished output is not thrown away. */
static void work_of_another(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  fx_net net;
  pz_error err = {0};
  computes(&s, true, NULL);
  pz_infer_options other = {.overlap = {1, 1, 1}};
  fx_net_make(&net, FX_RAMP, 1, 2, patch, patch);
  net.interrupt_at = 5;
  assert_int_equal(fx_infer(&net, s.in, s.out, &other, &eager, &err), PZ_INTERRUPTED);
  assert_int_equal(go(&s, true, &err), PZ_OK);
  assert_int_equal(s.runs, 0);
  assert_true(fx_exists(s.job));
  fx_leave(&s.folder);
}

static void no_attributes(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  without = true;
  computes(&s, false, NULL);
  assert_false(fx_exists(s.beside)); /* no file that nobody asked for */
  computes(&s, true, "nothing says which run made it");
  assert_true(fx_exists(s.beside));
  does_nothing(&s);
  s.options.overlap[0] = 1;
  computes(&s, true, "the overlap was 2,1,3");
  does_nothing(&s);
  /* What lies at that name harms no other file. */
  const char *victim = fx_path(&s.folder, "thesis.txt");
  fx_write_file(victim, "thesis", 6);
  char fresh[700];
  snprintf(fresh, sizeof fresh, "%s.new", s.beside);
  unlink(s.beside);
  assert_int_equal(symlink(victim, s.beside), 0);
  assert_int_equal(symlink(victim, fresh), 0);
  computes(&s, true, "nothing says which run made it");
  size_t size;
  char *text = fx_file(victim, &size);
  assert_int_equal(size, 6);
  assert_memory_equal(text, "thesis", 6);
  does_nothing(&s);
  free(text);
  unlink(s.beside);
  assert_int_equal(mkdir(s.beside, 0777), 0);
  computes(&s, true, "nothing says which run made it");
  without = false;
  fx_leave(&s.folder);
}

/* Of several datasets too. What a run that was killed has left with the other name counts; what the old file is known by stays
 * until the new one is there. */
static void no_attributes_joined(void **state) {
  (void)state;
  scene s = make_scene("out.h5:/a"), t = s;
  snprintf(s.beside, sizeof s.beside, "%s", fx_path(&s.folder, "out.h5.pznet-finished"));
  snprintf(t.out, sizeof t.out, "%s", fx_path(&s.folder, "out.h5:/b"));
  without = true;
  computes(&s, true, NULL);
  computes(&t, false, NULL); /* what was known is known on */
  pz_error err;
  assert_int_equal(go(&s, true, &err), PZ_OK);
  assert_int_equal(s.runs, 0);
  assert_int_equal(go(&t, true, &err), PZ_OK);
  assert_int_equal(t.runs, 0);
  char fresh[700];
  snprintf(fresh, sizeof fresh, "%s.new", s.beside);
  assert_false(fx_exists(fresh));
  assert_int_equal(rename(s.beside, fresh), 0);
  static const char odd[] = "pznet-2 1 1.1\n=1 0 00 0 0\n";
  fx_write_file(s.beside, odd, sizeof odd - 1);
  assert_int_equal(go(&s, true, &err), PZ_OK);
  assert_int_equal(s.runs, 0);
  without = false;
  fx_leave(&s.folder);
}

/* ------------------------------------------------------------------ no overwriting */

static void not_overwritten(scene *s, bool resume, const char *says) {
  size_t size, other;
  pz_error err;
  char *before = fx_file(s->out, &size);
  const pz_status status = go(s, resume, &err);
  if (status != PZ_ERROR_OUTPUT || !strstr(err.message, says)) fail_msg("%d %s", status, err.message);
  char *after = fx_file(s->out, &other);
  assert_int_equal(size, other);
  assert_memory_equal(before, after, size);
  free(before), free(after);
}

static void appear(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)total, (void)seconds;
  if (strcmp(what, "patches") == 0 && done == 5) fx_write_file(((scene *)host)->out, "mine", 4);
}

static void no_overwrite(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  s.options.no_overwrite = true;
  computes(&s, true, NULL);
  not_overwritten(&s, false, "exists, and is not to be overwritten; give another name");
  assert_int_equal(s.runs, 0);
  does_nothing(&s);
  s.options.overlap[2] = 0;
  not_overwritten(&s, true, "not to be overwritten: the overlap was 2,1,3");
  assert_int_equal(s.runs, 0);
  /* A link that leads nowhere is there too. */
  unlink(s.out), unlink(s.beside);
  assert_int_equal(symlink("nowhere", s.out), 0);
  pz_error err;
  assert_int_equal(go(&s, false, &err), PZ_ERROR_OUTPUT);
  unlink(s.out);
  /* What appears during the run stays, and so does the work. */
  s.options.progress = appear, s.options.progress_host = &s;
  assert_int_equal(go(&s, false, &err), PZ_ERROR_OUTPUT);
  assert_non_null(strstr(err.message, "appeared while the work was done"));
  size_t size;
  char *text = fx_file(s.out, &size);
  assert_int_equal(size, 4);
  free(text);
  s.options.progress = NULL;
  assert_true(fx_exists(s.job));
  unlink(s.out);
  assert_int_equal(go(&s, true, &err), PZ_OK);
  assert_int_equal(s.runs, 0);
  does_nothing(&s);
  fx_leave(&s.folder);
}

/* A result beside the slices would be one to the next run. */
static void slices_stay_alone(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const int64_t size[3] = {1, 3, 5};
  const pz_infer_options o = {.normalize = PZ_NORMALIZE_NONE};
  const pz_volume_info info = fx_info(PZ_U8, 1, 1, 3, 5);
  void *data = fx_content(&info, 1);
  const char *few = fx_path(&f, "few");
  fx_net net;
  pz_error error = {0};
  mkdir(few, 0777);
  fx_save(fx_path(&f, "few/a1.tif"), &info, data), fx_save(fx_path(&f, "few/a2.tif"), &info, data);
  fx_net_make(&net, FX_IDENTITY, 1, 1, size, size);
  assert_int_equal(fx_infer(&net, few, fx_path(&f, "few/out.npy"), &o, NULL, &error), PZ_ERROR_USAGE);
  assert_int_equal(fx_infer(&net, few, fx_path(&f, "out.npy"), &o, NULL, NULL), PZ_OK);
  error = (pz_error){0};
  assert_int_equal(fx_infer(&net, few, fx_path(&f, "out.npz"), &o, NULL, &error), PZ_ERROR_USAGE);
  assert_non_null(strstr(error.message, "read but not written"));
  free(data);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format),
      cmocka_unit_test(another_run),
      cmocka_unit_test(changed_output),
      cmocka_unit_test(moved),
      cmocka_unit_test(garbage),
      cmocka_unit_test(killed_at_the_end),
      cmocka_unit_test(work_of_another),
      cmocka_unit_test(no_attributes),
      cmocka_unit_test(no_attributes_joined),
      cmocka_unit_test(no_overwrite),
      cmocka_unit_test(slices_stay_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
