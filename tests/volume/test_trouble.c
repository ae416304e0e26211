/* Writing that fails: every call in turn, a disk that is too small, a path that cannot be written. Nothing appears under
 * the output's name, the message says why, and --resume finishes the work with the same bytes. */
#include "fixture.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ calls that fail (linked with --wrap) */

static long calls, failing; /* the failing-th call fails; 0: none */
static bool halving;        /* writes move half of what they are asked to */

static bool fails(void) { return ++calls == failing; }

ssize_t __real_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at) {
  if (fails()) return errno = ENOSPC, -1;
  return __real_pwrite(fd, data, halving ? (n + 1) / 2 : n, at);
}

#define WRAP(name, parameters, arguments, code)                                                              \
  int __real_##name parameters;                                                                              \
  int __wrap_##name parameters;                                                                              \
  int __wrap_##name parameters { return fails() ? (errno = code, -1) : __real_##name arguments; }
WRAP(fsync, (int fd), (fd), EIO)
WRAP(fdatasync, (int fd), (fd), EIO)
WRAP(ftruncate, (int fd, off_t n), (fd, n), EFBIG)
WRAP(fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), ENOSPC)
WRAP(rename, (const char *from, const char *to), (from, to), EACCES)

/* ------------------------------------------------------------------ scene */

static const int64_t patch[3] = {4, 5, 6};
static const pz_engine_tuning eager = {
    .record_seconds = 1e-9, .journal_speed = 1e18, .store_bytes = 64, .read_bytes = 64};

static int last_runs; /* of the network */

static pz_status go(const char *in, const char *out, bool resume, pz_error *err) {
  fx_net net;
  const pz_infer_options o = {.overlap = {2, 1, 3}, .resume = resume};
  fx_net_make(&net, FX_RAMP, 1, 2, patch, patch);
  *err = (pz_error){0};
  const pz_status status = fx_infer(&net, in, out, &o, &eager, err);
  last_runs = net.runs;
  return status;
}

static void make_input(const char *path, int64_t z, int64_t y, int64_t x) {
  const pz_volume_info info = fx_info(PZ_U8, 1, z, y, x);
  void *data = fx_content(&info, 3);
  fx_save(path, &info, data);
  free(data);
}

static void expect_bytes(const char *path, const char *want, size_t size) {
  size_t got_size;
  char *got = fx_file(path, &got_size);
  assert_int_equal(got_size, size);
  assert_memory_equal(got, want, size);
  free(got);
}

static void every_call(void **state) {
  (void)state;
  const char *const outs[] = {"out.npy", "out.nii", "out.tif"};
  for (int i = 0; i < 3; i++) {
    const fx_folder f = fx_enter();
    char in[600], out[600], job[640];
    snprintf(in, sizeof in, "%s", fx_path(&f, "in.npy"));
    snprintf(out, sizeof out, "%s", fx_path(&f, outs[i]));
    snprintf(job, sizeof job, "%s.pznet-job", out);
    make_input(in, 9, 8, 9);
    pz_error err;
    calls = failing = 0;
    assert_int_equal(go(in, out, false, &err), PZ_OK);
    const long total = calls;
    size_t size;
    char *want = fx_file(out, &size);
    unlink(out);
    assert_true(total > 50);
    for (long n = 1; n <= total; n++) {
      calls = 0, failing = n;
      const pz_status status = go(in, out, false, &err);
      failing = 0;
      if (status == PZ_OK) { /* room could not be reserved, or a name not be synced after all was done */
        expect_bytes(out, want, size);
        unlink(out);
        continue;
      }
      if (status != PZ_ERROR_OUTPUT) fail_msg("call %ld: %d %s", n, status, err.message);
      assert_true(strlen(err.message) > 10);
      if (fx_exists(out)) expect_bytes(out, want, size); /* the failure came after the renaming */
      unlink(out);
      if (go(in, out, true, &err) != PZ_OK) fail_msg("call %ld: %s", n, err.message);
      expect_bytes(out, want, size);
      unlink(out);
      assert_false(fx_exists(job));
    }
    free(want);
    fx_leave(&f);
  }
}

static void expect_data(const char *path, const void *want, int64_t bytes) {
  pz_volume_info info;
  void *got = fx_load(path, &info);
  assert_int_equal(pz_volume_bytes(&info), bytes);
  assert_memory_equal(got, want, (size_t)bytes);
  free(got);
}

/* Into a file that has another dataset: that file stays as it is until the new one is whole. */
static void every_call_joining(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  char in[600], file[600], out[620], job[640];
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.npy"));
  snprintf(file, sizeof file, "%s", fx_path(&f, "a.h5"));
  snprintf(out, sizeof out, "%s:/second", file);
  snprintf(job, sizeof job, "%s.pznet-job", file);
  make_input(in, 9, 8, 9);
  const pz_volume_info info = fx_info(PZ_U16, 1, 5, 6, 7);
  void *first = fx_content(&info, 8);
  fx_save(fx_path(&f, "a.h5:/first"), &info, first);
  size_t size;
  char *old = fx_file(file, &size);
  pz_error err;
  calls = failing = 0;
  assert_int_equal(go(in, out, false, &err), PZ_OK);
  const long total = calls;
  pz_volume_info result;
  void *want = fx_load(out, &result);
  bool no_room = false;
  assert_true(total > 50);
  for (long n = 1; n <= total; n++) {
    fx_write_file(file, old, size);
    calls = 0, failing = n;
    const pz_status status = go(in, out, false, &err);
    failing = 0;
    if (status != PZ_OK) {
      size_t now;
      if (status != PZ_ERROR_OUTPUT) fail_msg("call %ld: %d %s", n, status, err.message);
      no_room = no_room || strstr(err.message, "no room on the disk for a copy of it");
      free(fx_file(file, &now));
      if (now == size) {
        expect_bytes(file, old, size);
        if (go(in, out, true, &err) != PZ_OK) fail_msg("call %ld: %s", n, err.message);
      }
    }
    expect_data(out, want, pz_volume_bytes(&result));
    expect_data(fx_path(&f, "a.h5:/first"), first, pz_volume_bytes(&info));
    assert_false(fx_exists(job));
  }
  assert_true(no_room);
  free(first), free(old), free(want);
  fx_leave(&f);
}

static void short_writes(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_error err;
  size_t size;
  make_input(fx_path(&f, "in.npy"), 9, 8, 9);
  assert_int_equal(go(fx_path(&f, "in.npy"), fx_path(&f, "a.npy"), false, &err), PZ_OK);
  halving = true;
  assert_int_equal(go(fx_path(&f, "in.npy"), fx_path(&f, "b.npy"), false, &err), PZ_OK);
  halving = false;
  char *want = fx_file(fx_path(&f, "a.npy"), &size);
  expect_bytes(fx_path(&f, "b.npy"), want, size);
  free(want);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ a small disk */

enum { NO_MOUNT = 77 };

static int on_a_small_disk(const fx_folder *f, const char *name) {
  char disk[600], out[700], size[32];
  const char *in = fx_path(f, "in.npy"), *want_path = fx_path(f, name);
  pz_error err;
  snprintf(disk, sizeof disk, "%s/disk", f->path);
  snprintf(out, sizeof out, "%s/%s", disk, name);
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return NO_MOUNT;
  mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
  if (mount("none", disk, "tmpfs", 0, "size=64k") != 0) return NO_MOUNT;
  bool no_room = false;
  if (go(in, want_path, false, &err) != PZ_OK) return 2;
  int failures = 0;
  for (int kib = 64; kib <= 4096; kib += kib < 300 ? 32 : 512) {
    snprintf(size, sizeof size, "size=%dk", kib);
    if (mount("none", disk, "tmpfs", MS_REMOUNT, size) != 0) return NO_MOUNT;
    const pz_status status = go(in, out, true, &err);
    if (status == PZ_OK) break;
    failures++;
    if (last_runs) return 6; /* all that is needed is asked for before the work */
    no_room = no_room || strstr(err.message, "no room on the disk");
    if (status != PZ_ERROR_OUTPUT || fx_exists(out)) return 3;
    if (!strstr(err.message, "disk") && !strstr(err.message, "space") && !strstr(err.message, "full")) {
      fprintf(stderr, "%d KiB: %s\n", kib, err.message);
      return 4;
    }
  }
  if (failures < 2 || !no_room || !fx_exists(out)) return 5;
  struct stat info;
  if (stat(out, &info) != 0 || 512 * info.st_blocks > info.st_size + 8192)
    return 7; /* what was not needed is given back */
  size_t n;
  char *want = fx_file(want_path, &n);
  expect_bytes(out, want, n);
  free(want);
  return 0;
}

static void small_disk(void **state) {
  (void)state;
  const char *const names[] = {"out.npy", "out.tif", "out.nii.gz", "out.h5"};
  for (int i = 0; i < 4; i++) {
    const fx_folder f = fx_enter();
    int status = -1;
    make_input(fx_path(&f, "in.npy"), 16, 30, 40);
    assert_int_equal(mkdir(fx_path(&f, "disk"), 0777), 0);
    const pid_t child = fork();
    if (child == 0) _exit(on_a_small_disk(&f, names[i]));
    waitpid(child, &status, 0);
    fx_leave(&f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNT) skip();
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("%s: status %x", names[i], status);
  }
}

/* ------------------------------------------------------------------ paths */

static void unwritable(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  make_input(fx_path(&f, "in.npy"), 5, 5, 6);
  pz_error err;
  assert_int_equal(mkdir(fx_path(&f, "folder.npy"), 0777), 0);
  const char *const outs[] = {"folder.npy", "missing/out.npy", "in.npy/out.npy"};
  for (int i = 0; i < 3; i++) {
    fx_net net;
    const pz_infer_options o = {.memory = 0};
    fx_net_make(&net, FX_RAMP, 1, 2, patch, patch);
    err = (pz_error){0};
    assert_int_equal(fx_infer(&net, fx_path(&f, "in.npy"), fx_path(&f, outs[i]), &o, &eager, &err),
                     PZ_ERROR_OUTPUT);
    assert_non_null(strstr(err.message, outs[i]));
    assert_int_equal(net.runs, 0); /* found before the work */
  }
  /* a job's folder with something in it that is not a job's */
  assert_int_equal(mkdir(fx_path(&f, "out.npy.pznet-job"), 0777), 0);
  fx_write_file(fx_path(&f, "out.npy.pznet-job/thesis.txt"), "x", 1);
  assert_int_equal(go(fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), false, &err), PZ_ERROR_OUTPUT);
  assert_non_null(strstr(err.message, "not pznet's"));
  assert_true(fx_exists(fx_path(&f, "out.npy.pznet-job/thesis.txt")));
  fx_leave(&f);
}

/* An older result is replaced, and only when the new one is whole. */
static void replaced(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_error err;
  fx_net net;
  make_input(fx_path(&f, "in.npy"), 9, 8, 9);
  const char *const outs[] = {"out.npy", "out.h5:/main"}, *const files[] = {"out.npy", "out.h5"};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(go(fx_path(&f, "in.npy"), fx_path(&f, outs[i]), false, &err), PZ_OK);
    size_t size;
    char *old = fx_file(fx_path(&f, files[i]), &size);
    const pz_infer_options o = {.overlap = {2, 1, 3}};
    fx_net_make(&net, FX_RAMP, 1, 2, patch, patch);
    net.fail_at = 7;
    err = (pz_error){0};
    assert_int_equal(fx_infer(&net, fx_path(&f, "in.npy"), fx_path(&f, outs[i]), &o, &eager, &err),
                     PZ_ERROR_RUN);
    assert_non_null(strstr(err.message, "as the test wants it"));
    expect_bytes(fx_path(&f, files[i]), old, size);
    assert_int_equal(go(fx_path(&f, "in.npy"), fx_path(&f, outs[i]), true, &err), PZ_OK);
    expect_bytes(fx_path(&f, files[i]), old, size);
    free(old);
  }
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_call),   cmocka_unit_test(every_call_joining),
                                     cmocka_unit_test(short_writes), cmocka_unit_test(small_disk),
                                     cmocka_unit_test(unwritable),   cmocka_unit_test(replaced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
