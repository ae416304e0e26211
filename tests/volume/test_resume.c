#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t patch_in[3] = {5, 6, 7}, patch_out[3] = {4, 5, 6};
/* Everything is recorded at once; small portions, so that there are many. */
static const pz_engine_tuning eager = {
    .record_seconds = 1e-9, .journal_speed = 1e18, .store_bytes = 64, .read_bytes = 64};
/* Nothing but whole rows is recorded, and these rarely. */
static const pz_engine_tuning lazy = {
    .record_seconds = 1e9, .journal_speed = 1e-9, .store_bytes = 64, .read_bytes = 64};

typedef struct scene {
  fx_folder folder;
  const char *in, *out, *job;
  char *want; /* the bytes of an undisturbed run */
  size_t size;
  int runs;
  pz_infer_options options;
} scene;

static pz_status go(scene *s, fx_net *net, bool resume, int interrupt_at, const pz_engine_tuning *tuning,
                    pz_error *err) {
  fx_net_make(net, FX_RAMP, 1, 2, patch_in, patch_out);
  net->interrupt_at = interrupt_at;
  s->options.resume = resume;
  *err = (pz_error){0};
  return fx_infer(net, s->in, s->out, &s->options, tuning, err);
}

/* The paths are copied, since fx_path's buffers are used in turn. */
static scene make_scene(const char *out) {
  scene s = {.folder = fx_enter()};
  const pz_volume_info info = fx_info(PZ_F32, 1, 13, 11, 14);
  float *data = fx_content(&info, 3);
  memset(data, 0, 4 * 11 * 14 * sizeof *data); /* some patches are skipped */
  s.in = strdup(fx_path(&s.folder, "in.npy"));
  s.out = strdup(fx_path(&s.folder, out));
  s.job = strdup(fx_path(&s.folder, "out.npy.pznet-job"));
  s.options = (pz_infer_options){.overlap = {2, 1, 3}, .blend = PZ_BLEND_GAUSSIAN, .skip_zero = true};
  fx_save(s.in, &info, data);
  free(data);
  fx_net net;
  pz_error err;
  assert_int_equal(go(&s, &net, false, 0, NULL, &err), PZ_OK);
  s.runs = net.runs;
  s.want = fx_file(s.out, &s.size);
  unlink(s.out);
  return s;
}

static void end_scene(scene *s) {
  fx_leave(&s->folder);
  free((char *)s->in), free((char *)s->out), free((char *)s->job), free(s->want);
}

static void same_as_undisturbed(const scene *s) {
  size_t size;
  char *got = fx_file(s->out, &size);
  assert_int_equal(size, s->size);
  assert_memory_equal(got, s->want, size);
  free(got);
  unlink(s->out);
}

/* Interrupted in every patch, then resumed: the same bytes, and with a journal no patch is computed twice; none
 * is kept where it is not worth it, in the first row either. */
static void every_patch(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  for (int lazily = 0; lazily < 2; lazily++)
    for (int at = 1; at < s.runs; at++) {
      fx_net net;
      pz_error err;
      const pz_engine_tuning *tuning = lazily ? &lazy : &eager;
      assert_int_equal(go(&s, &net, false, at, tuning, &err), PZ_INTERRUPTED);
      assert_non_null(strstr(err.message, "--resume"));
      assert_int_equal(net.runs, at);
      assert_false(fx_exists(s.out));
      if (go(&s, &net, true, 0, tuning, &err) != PZ_OK) fail_msg("after %d: %s", at, err.message);
      if (!lazily) assert_int_equal(net.runs, s.runs - at);
      else if (at == 1) assert_int_equal(net.runs, s.runs);
      assert_false(fx_exists(s.job));
      same_as_undisturbed(&s);
    }
  end_scene(&s);
}

/* Interrupted again and again. */
static void crawling(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  fx_net net;
  pz_error err;
  pz_status status = go(&s, &net, false, 1, &eager, &err);
  int rounds = 1;
  while (status == PZ_INTERRUPTED && rounds < 1000) status = go(&s, &net, true, 1, &eager, &err), rounds++;
  assert_int_equal(status, PZ_OK);
  assert_true(rounds >= s.runs);
  same_as_undisturbed(&s);
  end_scene(&s);
}

/* A process that is killed leaves what was recorded, and more; the result is the same. The folder is copied in the
 * middle of a run, which is what a power failure leaves, and put back after it. */
static char copy_command[2048];
static void copy_job(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)what, (void)total, (void)seconds;
  if (done == *(int *)host) assert_int_equal(system(copy_command), 0);
}

static void killed(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  for (int at = 3; at < 40; at += 9) {
    fx_net net;
    pz_error err;
    char back[2048];
    snprintf(copy_command, sizeof copy_command, "rm -rf %s.kept; cp -r %s %s.kept", s.job, s.job, s.job);
    snprintf(back, sizeof back, "mv %s.kept %s", s.job, s.job);
    s.options.progress = copy_job, s.options.progress_host = &at;
    assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_OK);
    s.options.progress = NULL;
    same_as_undisturbed(&s);
    assert_int_equal(system(back), 0);
    if (go(&s, &net, true, 0, &eager, &err) != PZ_OK) fail_msg("%s", err.message);
    same_as_undisturbed(&s);
  }
  end_scene(&s);
}

/* Formats that are written at the end are interrupted there as well. */
static volatile int *stop_flag;
static void stop_while_writing(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)host, (void)total, (void)seconds;
  if (strcmp(what, "writing") == 0 && done == 5) *stop_flag = 1;
}

static void while_writing(void **state) {
  (void)state;
  const char *const outs[] = {"out.tif", "out.nii.gz"};
  for (int i = 0; i < 2; i++) {
    scene s = make_scene(outs[i]);
    fx_net net;
    pz_error err;
    stop_flag = &net.flag;
    s.options.progress = stop_while_writing;
    assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_INTERRUPTED);
    assert_false(fx_exists(s.out));
    s.options.progress = NULL;
    assert_int_equal(go(&s, &net, true, 0, &eager, &err), PZ_OK);
    assert_int_equal(net.runs, 0);
    same_as_undisturbed(&s);
    end_scene(&s);
  }
}

/* A result that is compressed: in chunks that come all at once here, so the first of them is the moment. */
static void stop_at_once(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)host, (void)total, (void)seconds, (void)done;
  if (strcmp(what, "writing") == 0) *stop_flag = 1;
}

static void while_packing(void **state) {
  (void)state;
  static const char *const outs[] = {"out.tif", "out.h5:/a"};
  for (int i = 0; i < 2; i++) {
    scene s = make_scene("out.npy");
    fx_net net;
    pz_error err;
    pz_volume_info plain, packed;
    fx_write_file(s.out, s.want, s.size);
    void *want = fx_load(s.out, &plain);
    free((char *)s.out);
    s.out = strdup(fx_path(&s.folder, outs[i]));
    s.options.codec = "gzip";
    stop_flag = &net.flag;
    s.options.progress = stop_at_once;
    assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_INTERRUPTED);
    s.options.progress = NULL, s.options.codec = NULL;
    assert_int_equal(go(&s, &net, true, 0, &eager, &err), PZ_ERROR_USAGE);
    assert_non_null(strstr(err.message, "the compression was gzip:1 when the work began and is none now"));
    s.options.codec = "gzip:1";
    assert_int_equal(go(&s, &net, true, 0, &eager, &err), PZ_OK);
    assert_int_equal(net.runs, 0);
    void *got = fx_load(s.out, &packed);
    assert_memory_equal(got, want, (size_t)pz_volume_bytes(&plain));
    /* It is finished, and another compression is another result. */
    assert_int_equal(go(&s, &net, true, 0, &eager, &err), PZ_OK);
    assert_int_equal(net.runs, 0);
    free(got), free(want);
    end_scene(&s);
  }
}

static void refused(scene *s, pz_status status, const char *says) {
  fx_net net;
  pz_error err;
  const pz_status got = go(s, &net, true, 0, &eager, &err);
  if (got != status || !strstr(err.message, says)) fail_msg("%s expected: %d %s", says, got, err.message);
  assert_int_equal(net.runs, 0);
  assert_true(fx_exists(s->job)); /* the work is still there */
  assert_false(fx_exists(s->out));
}

static void changed(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  fx_net net;
  pz_error err;
  assert_int_equal(go(&s, &net, false, 9, &eager, &err), PZ_INTERRUPTED);
  const pz_infer_options as_it_was = s.options;
  s.options.overlap[1] = 2;
  refused(&s, PZ_ERROR_USAGE, "the overlap was 2,1,3 when the work began and is 2,2,3 now");
  s.options = as_it_was, s.options.blend = PZ_BLEND_BUMP;
  refused(&s, PZ_ERROR_USAGE, "blending");
  s.options = as_it_was, s.options.border = PZ_BORDER_ZERO;
  refused(&s, PZ_ERROR_USAGE, "border");
  s.options = as_it_was, s.options.normalize = PZ_NORMALIZE_ZSCORE;
  refused(&s, PZ_ERROR_USAGE, "normalisation");
  s.options = as_it_was, s.options.nan = PZ_NAN_ZERO;
  refused(&s, PZ_ERROR_USAGE, "not-a-numbers");
  s.options = as_it_was, s.options.store = PZ_STORE_U8;
  refused(&s, PZ_ERROR_USAGE, "kind of output");
  s.options = as_it_was, s.options.skip_zero = false;
  refused(&s, PZ_ERROR_USAGE, "zero patches");
  s.options = as_it_was;
  /* threads and memory do not change the bits */
  s.options.memory = INT64_C(1) << 32;
  assert_int_equal(go(&s, &net, true, 5, &eager, &err), PZ_INTERRUPTED);
  s.options = as_it_was;

  fx_net_make(&net, FX_RAMP, 1, 2, patch_in, patch_out);
  net.function.digest = "another";
  s.options.resume = true;
  err = (pz_error){0};
  assert_int_equal(fx_infer(&net, s.in, s.out, &s.options, &eager, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "the network was test"));

  /* one voxel, the time of change put back */
  struct stat before;
  assert_int_equal(stat(s.in, &before), 0);
  FILE *file = fopen(s.in, "r+b");
  fseek(file, 6000, SEEK_SET);
  fputc(1, file);
  fclose(file);
  refused(&s, PZ_ERROR_INPUT, "the volume's");
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, s.in, times, 0), 0);
  refused(&s, PZ_ERROR_INPUT, "the volume's digest");
  end_scene(&s);
}

/* Without --resume old work is thrown away; --resume without old work begins. */
static void beginning(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  fx_net net;
  pz_error err;
  assert_int_equal(go(&s, &net, true, 0, &eager, &err), PZ_OK);
  assert_int_equal(net.runs, s.runs);
  same_as_undisturbed(&s);
  assert_int_equal(go(&s, &net, false, 9, &eager, &err), PZ_INTERRUPTED);
  assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_OK);
  assert_int_equal(net.runs, s.runs);
  same_as_undisturbed(&s);
  end_scene(&s);
}

/* The mean and deviation are remembered bit by bit. */
static void zscore(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  fx_net net;
  pz_error err;
  s.options.normalize = PZ_NORMALIZE_ZSCORE;
  assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_OK);
  free(s.want);
  s.want = fx_file(s.out, &s.size);
  unlink(s.out);
  assert_int_equal(go(&s, &net, false, 17, &eager, &err), PZ_INTERRUPTED);
  assert_int_equal(go(&s, &net, true, 0, &eager, &err), PZ_OK);
  same_as_undisturbed(&s);
  end_scene(&s);
}

/* A damaged job is an error and no crash: each of its files emptied, cut short and filled with garbage. */
static void damaged(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  const char *const files[] = {"job.db", "result.raw", "row-1.raw"};
  for (int i = 0; i < 3; i++)
    for (int how = 0; how < 3; how++) {
      fx_net net;
      pz_error err;
      char path[600];
      snprintf(path, sizeof path, "%s/%s", s.job, files[i]);
      assert_int_equal(go(&s, &net, false, 20, &eager, &err), PZ_INTERRUPTED);
      size_t size;
      char *bytes = fx_file(path, &size);
      if (how == 2) memset(bytes, 0x5a, size);
      fx_write_file(path, bytes, how == 0 ? 0 : how == 1 ? size / 2 : size);
      free(bytes);
      const pz_status status = go(&s, &net, true, 0, &eager, &err);
      /* An empty database is a job that has not begun; garbage among the numbers cannot be told from numbers. */
      if (status == PZ_OK) assert_true((i == 0 && how == 0) || (i > 0 && how == 2));
      if (status != PZ_OK) assert_true(err.message[0]);
      unlink(s.out);
      assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_OK);
      same_as_undisturbed(&s);
    }
  end_scene(&s);
}

/* A second process, played by a progress function, is kept out. */
typedef struct intruder {
  scene *s;
  pz_status status[2];
  pz_error err[2];
} intruder;
static void intrude(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)total, (void)seconds;
  intruder *i = host;
  if (strcmp(what, "patches") != 0 || done != 5) return;
  scene other = *i->s;
  other.options.progress = NULL;
  fx_net net;
  for (int resume = 0; resume < 2; resume++)
    i->status[resume] = go(&other, &net, resume, 0, &eager, &i->err[resume]);
}

static void two_at_once(void **state) {
  (void)state;
  scene s = make_scene("out.npy");
  fx_net net;
  pz_error err;
  intruder i = {.s = &s};
  s.options.progress = intrude, s.options.progress_host = &i;
  assert_int_equal(go(&s, &net, false, 0, &eager, &err), PZ_OK);
  for (int r = 0; r < 2; r++) {
    assert_int_equal(i.status[r], PZ_ERROR_RUN);
    assert_non_null(strstr(i.err[r].message, "another process"));
  }
  same_as_undisturbed(&s);
  end_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_patch),   cmocka_unit_test(crawling),      cmocka_unit_test(killed),
      cmocka_unit_test(while_writing), cmocka_unit_test(while_packing), cmocka_unit_test(changed),
      cmocka_unit_test(beginning),     cmocka_unit_test(zscore),        cmocka_unit_test(damaged),
      cmocka_unit_test(two_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
