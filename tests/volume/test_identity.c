/* Inputs that are changed, cut, replaced, moved or removed while they are read: a line and no signal, or the run goes on with what
 * it had; and never a result with status 0 from a volume that changed. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const int64_t patch[3] = {2, 8, 8};
/* Small portions: when the first patches are done, most of the volume is not read. */
static const pz_engine_tuning small = {
    .record_seconds = 1e-9, .journal_speed = 1e18, .store_bytes = 64, .read_bytes = 64};

typedef struct scene {
  fx_folder folder;
  char in[600], other[600], out[600], job[640];
  void (*change)(struct scene *s);
  int64_t at; /* after so many patches */
  bool changed;
} scene;

static scene make_scene(const char *name) {
  scene s = {.folder = fx_enter(), .at = 3};
  const pz_volume_info info = fx_info(PZ_U8, 1, 40, 16, 24);
  void *data = fx_content(&info, 1);
  char other[64];
  snprintf(other, sizeof other, "other-%s", name);
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.folder, name));
  snprintf(s.other, sizeof s.other, "%s", fx_path(&s.folder, other));
  snprintf(s.out, sizeof s.out, "%s", fx_path(&s.folder, "out.npy"));
  snprintf(s.job, sizeof s.job, "%s.pznet-job", s.out);
  fx_save(s.in, &info, data);
  fx_save(s.other, &info, data);
  free(data);
  return s;
}

static void progress(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)total, (void)seconds;
  scene *s = host;
  if (s->changed || strcmp(what, "patches") != 0 || done < s->at) return;
  s->changed = true;
  s->change(s);
}

static bool keep(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]) {
  (void)host, (void)box, (void)voxels, (void)stride;
  return true;
}

static pz_status run(scene *s, bool to_file, bool resume, pz_error *err) {
  fx_net net;
  pz_volume *v;
  pz_infer_options o = {.resume = resume};
  if (s->change) o.progress = progress, o.progress_host = s;
  const pz_volume_writer writers[] = {{.write = keep}, {.path = s->out}};
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  *err = (pz_error){0};
  s->changed = false;
  PZ_TRY(pz_volume_open_settled(s->in, &v, err));
  const pz_status status = pz_engine_run(&net.function, v, &writers[to_file], &o, &small, NULL, err);
  pz_volume_close(v);
  return status;
}

/* ------------------------------------------------------------------ what is done to the input */

static int64_t size_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return info.st_size;
}

static void change_byte(const char *path, int64_t at) {
  uint8_t byte;
  const int fd = open(path, O_RDWR);
  assert_int_equal(pread(fd, &byte, 1, at), 1);
  byte ^= 1;
  assert_int_equal(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

static void overwrite(scene *s) { change_byte(s->in, size_of(s->in) - 2); }
static void overwrite_what_was_read(scene *s) { change_byte(s->in, 300); }
static void cut(scene *s) { assert_int_equal(truncate(s->in, size_of(s->in) / 2), 0); }
static void empty(scene *s) { assert_int_equal(truncate(s->in, 0), 0); }
static void append(scene *s) {
  const int fd = open(s->in, O_WRONLY | O_APPEND);
  assert_int_equal(write(fd, "x", 1), 1);
  close(fd);
}
static void replace(scene *s) { assert_int_equal(rename(s->other, s->in), 0); }
static void remove_it(scene *s) { assert_int_equal(unlink(s->in), 0); }
static void give_rights(scene *s) { assert_int_equal(chmod(s->in, 0600), 0); }

/* As by a program that wants to hide it. Of its two steps the reader must not see the first alone: after the last patch only. */
enum { ALL_READ = 120 };
static void overwrite_secretly(scene *s) {
  struct stat info;
  assert_int_equal(stat(s->in, &info), 0);
  overwrite(s);
  const struct timespec times[2] = {info.st_atim, info.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, s->in, times, 0), 0);
}
static void change_secretly_and_remove(scene *s) {
  overwrite_secretly(s);
  remove_it(s);
}

/* ------------------------------------------------------------------ tests */

static const char *const names[] = {"in.npy", "in.tif", "in.h5", "in.nii", "in.nii.gz"};

static void expect(const scene *s, const char *name, int which, pz_status status, const char *says) {
  for (int to_file = 0; to_file < 2; to_file++) {
    pz_error err;
    scene fresh = make_scene(name);
    fresh.change = s->change, fresh.at = s->at;
    const pz_status got = run(&fresh, to_file, false, &err);
    assert_true(fresh.changed);
    if (got != status || (says && !strstr(err.message, says)) || strchr(err.message, '\n'))
      fail_msg("%s, change %d: status %d: %s", name, which, got, err.message);
    if (status != PZ_OK) assert_false(fx_exists(fresh.out));
    if (status == PZ_ERROR_INPUT) assert_false(fx_exists(fresh.job));
    fx_leave(&fresh.folder);
  }
}

static void changes(void **state) {
  (void)state;
  static const struct {
    void (*change)(scene *s);
    int64_t at;
    pz_status status;
    const char *says;
  } cases[] = {
      {overwrite, 3, PZ_ERROR_INPUT, "was changed while it was read"},
      {overwrite_what_was_read, 50, PZ_ERROR_INPUT, "was changed while it was read"},
      {overwrite, ALL_READ, PZ_ERROR_INPUT, "was changed while it was read"},
      {append, 3, PZ_ERROR_INPUT, "was changed while it was read"},
      {cut, 3, PZ_ERROR_INPUT, "was cut from"},
      {empty, 3, PZ_ERROR_INPUT, "to 0 bytes"},
      {replace, 3, PZ_ERROR_INPUT, "was replaced while it was read"},
      {overwrite_secretly, ALL_READ, PZ_ERROR_RUN, "an older time while it was read"},
      {change_secretly_and_remove, ALL_READ, PZ_ERROR_INPUT, "was changed while it was read, and removed"},
      {give_rights, 3, PZ_ERROR_RUN, "run again with --resume"},
      {remove_it, 3, PZ_OK, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
      const scene s = {.change = cases[i].change, .at = cases[i].at};
      expect(&s, names[f], (int)i, cases[i].status, cases[i].says);
    }
}

/* Work on a file that only was given other rights is gone on with; on one that was changed behind its time it is not. */
static void kept(void **state) {
  (void)state;
  for (int secretly = 0; secretly < 2; secretly++) {
    scene s = make_scene("in.npy");
    pz_error err;
    s.change = secretly ? overwrite_secretly : give_rights;
    if (secretly) s.at = ALL_READ;
    assert_int_equal(run(&s, true, false, &err), PZ_ERROR_RUN);
    assert_true(fx_exists(s.job));
    s.change = NULL;
    const pz_status status = run(&s, true, true, &err);
    if (status != (secretly ? PZ_ERROR_INPUT : PZ_OK)) fail_msg("%d %s", status, err.message);
    if (secretly) assert_non_null(strstr(err.message, "the volume's digest was"));
    assert_int_equal(fx_exists(s.out), !secretly);
    fx_leave(&s.folder);
  }
}

/* A change at once after a settled look has another time than what was noted, again and again. */
static void settled(void **state) {
  (void)state;
  for (int i = 0; i < 40; i++) {
    scene s = make_scene("in.npy");
    pz_identity id;
    pz_error err = {0};
    overwrite(&s);
    assert_int_equal(pz_identity_begin(s.in, true, &id, &err), PZ_OK);
    assert_int_equal(pz_identity_check(&id, s.in, &err), PZ_OK);
    overwrite(&s);
    assert_int_equal(pz_identity_check(&id, s.in, &err), PZ_ERROR_INPUT);
    pz_identity_end(&id);
    fx_leave(&s.folder);
  }
}

/* An old file is not waited for; one from the future is, within bounds. */
static void settles_soon(void **state) {
  (void)state;
  scene s = make_scene("in.npy");
  struct timespec begin, end;
  struct stat info;
  const int fd = open(s.in, O_RDONLY);
  assert_true(pz_identity_settle(fd, &info));
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < 1000; i++) assert_true(pz_identity_settle(fd, &info));
  clock_gettime(CLOCK_MONOTONIC, &end);
  assert_true(end.tv_sec - begin.tv_sec <= 1); /* a thousand of them in less than the grain of each */
  close(fd);
  fx_leave(&s.folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(changes), cmocka_unit_test(kept),
                                     cmocka_unit_test(settled), cmocka_unit_test(settles_soon)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
