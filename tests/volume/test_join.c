/* A result that goes into an HDF5 file beside what is in it: nothing of that is lost, whatever happens meanwhile. */
#include "fixture.h"

#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { Z = 5, Y = 6, X = 7, N = Z * Y * X };

/* ------------------------------------------------------------------ a file of others */

static void put(hid_t at, const char *name, hid_t type, bool packed, const void *data) {
  const hsize_t dim[] = {Z, Y, X}, chunk[] = {2, 3, 4};
  const hid_t space = H5Screate_simple(3, dim, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
  if (packed) H5Pset_chunk(p, 3, chunk), H5Pset_deflate(p, 4);
  const hid_t d = H5Dcreate2(at, name, type, space, H5P_DEFAULT, p, H5P_DEFAULT);
  assert_true(d >= 0 && H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Pclose(p), H5Sclose(space);
}

static void put_attribute(hid_t at, const char *name, int value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t a = H5Acreate2(at, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(a >= 0 && H5Awrite(a, H5T_NATIVE_INT, &value) >= 0);
  H5Aclose(a), H5Sclose(space);
}

static uint8_t raw[N];
static int64_t labels[N];

/* Datasets, attributes, a group, two kinds of links and a second name, in either format. */
static void make_file(const char *path, bool latest) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int i = 0; i < N; i++) raw[i] = (uint8_t)(i * 7), labels[i] = INT64_MAX - i;
  put(file, "raw", H5T_NATIVE_UINT8, false, raw);
  const hid_t group = H5Gcreate2(file, "volumes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put(group, "labels", H5T_NATIVE_INT64, true, labels);
  put_attribute(group, "made", 42);
  put_attribute(file, "version", 3);
  H5Lcreate_soft("/volumes/labels", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/volumes", file, "way", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("other.h5", "/x", file, "external", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_hard(file, "raw", file, "again", H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(group), H5Pclose(access);
  assert_true(H5Fclose(file) >= 0);
}

static void expect_attribute(hid_t file, const char *object, const char *name, int want) {
  int value = 0;
  const hid_t a = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(a >= 0 && H5Aread(a, H5T_NATIVE_INT, &value) >= 0);
  assert_int_equal(value, want);
  H5Aclose(a);
}

static void expect_data(hid_t file, const char *name, hid_t type, const void *want) {
  char got[N * 8];
  const hid_t d = H5Dopen2(file, name, H5P_DEFAULT);
  if (d < 0) fail_msg("%s is not there", name);
  assert_true(H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
  assert_memory_equal(got, want, N * H5Tget_size(type));
  H5Dclose(d);
}

/* All of make_file is there; `links` names lead from the root. */
static void expect_file(const char *path, int links) {
  char target[32] = "";
  H5L_info_t info;
  H5G_info_t root;
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  assert_true(file >= 0);
  expect_data(file, "raw", H5T_NATIVE_UINT8, raw);
  expect_data(file, "again", H5T_NATIVE_UINT8, raw);
  expect_data(file, "volumes/labels", H5T_NATIVE_INT64, labels);
  expect_data(file, "soft", H5T_NATIVE_INT64, labels);
  expect_attribute(file, "/", "version", 3);
  expect_attribute(file, "volumes", "made", 42);
  assert_true(H5Lget_val(file, "way", target, sizeof target, H5P_DEFAULT) >= 0);
  assert_string_equal(target, "/volumes");
  assert_true(H5Lget_info(file, "external", &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_EXTERNAL);
  assert_true(H5Gget_info(file, &root) >= 0);
  assert_int_equal(root.nlinks, links);
  H5Fclose(file);
}
enum { LINKS = 6 };

static void expect_result(const char *path, const char *name, float offset) {
  float want[N];
  for (int i = 0; i < N; i++) want[i] = (float)raw[i] + offset;
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  expect_data(file, name, H5T_NATIVE_FLOAT, want);
  H5Fclose(file);
}

/* ------------------------------------------------------------------ running */

static const int64_t patch[3] = {2, 3, 3};

static pz_status run(const char *in, const char *out, pz_infer_options o, pz_error *err) {
  fx_net net;
  o.normalize = PZ_NORMALIZE_NONE;
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  *err = (pz_error){0};
  return fx_infer(&net, in, out, &o, NULL, err);
}

static void works(const char *in, const char *out, bool update) {
  pz_error err;
  const pz_infer_options o = {.update = update};
  if (run(in, out, o, &err) != PZ_OK) fail_msg("%s", err.message);
}

static void refused(const char *in, const char *out, pz_status status, const char *says) {
  pz_error err;
  const pz_infer_options o = {0};
  assert_int_equal(run(in, out, o, &err), status);
  if (!strstr(err.message, says)) fail_msg("%s", err.message);
}

/* "FOLDER/a.h5:/x": one of fx_path's buffers */
static const char *in_file(const fx_folder *f, const char *dataset) {
  char name[128];
  snprintf(name, sizeof name, "a.h5:%s", dataset);
  return fx_path(f, name);
}

static void others_stay(void **state) {
  (void)state;
  for (int latest = 0; latest < 2; latest++) {
    const fx_folder f = fx_enter();
    make_file(fx_path(&f, "a.h5"), latest);
    assert_int_equal(chmod(fx_path(&f, "a.h5"), 0640), 0);
    works(in_file(&f, "/raw"), in_file(&f, "/prediction"), false);
    expect_file(fx_path(&f, "a.h5"), LINKS + 1);
    works(in_file(&f, "/raw"), in_file(&f, "/volumes/deep/er"), false);
    works(in_file(&f, "/raw"), in_file(&f, "/way/linked"), false);
    works(in_file(&f, "/raw"), fx_path(&f, "a.h5/main"), false);
    expect_file(fx_path(&f, "a.h5"), LINKS + 2);
    const char *const made[] = {"prediction", "volumes/deep/er", "volumes/linked", "main"};
    for (int i = 0; i < 4; i++) expect_result(fx_path(&f, "a.h5"), made[i], 0);
    struct stat info;
    assert_true(stat(fx_path(&f, "a.h5"), &info) == 0 && (info.st_mode & 07777) == 0640);
    assert_false(fx_exists(fx_path(&f, "a.h5.pznet-job")));
    fx_leave(&f);
  }
}

/* The value of the old one differs by one from the new one's. */
static void replaced_by_leave_only(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_F32, 1, Z, Y, X);
  float data[N];
  make_file(fx_path(&f, "a.h5"), false);
  for (int i = 0; i < N; i++) data[i] = (float)raw[i] + 1;
  fx_save(fx_path(&f, "in.npy"), &info, data);
  works(fx_path(&f, "in.npy"), in_file(&f, "/prediction"), false);
  expect_result(fx_path(&f, "a.h5"), "prediction", 1);
  refused(in_file(&f, "/raw"), in_file(&f, "/prediction"), PZ_ERROR_USAGE, "replace it with --update");
  refused(in_file(&f, "/raw"), in_file(&f, "//volumes//labels"), PZ_ERROR_USAGE, "beside others");
  expect_result(fx_path(&f, "a.h5"), "prediction", 1);
  works(in_file(&f, "/raw"), in_file(&f, "/prediction"), true);
  expect_result(fx_path(&f, "a.h5"), "prediction", 0);
  expect_file(fx_path(&f, "a.h5"), LINKS + 1);
  /* another shape, many times: the file does not grow by all of them */
  struct stat before, after;
  stat(fx_path(&f, "a.h5"), &before);
  for (int i = 0; i < 5; i++) works(in_file(&f, "/raw"), in_file(&f, "/prediction"), true);
  stat(fx_path(&f, "a.h5"), &after);
  assert_true(after.st_size <= before.st_size + 2 * 4 * N);
  fx_leave(&f);
}

/* A file with nothing else in it is made anew, as every other output. */
static void an_only_dataset(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  size_t size, again_size;
  make_file(fx_path(&f, "a.h5"), false);
  works(in_file(&f, "/raw"), fx_path(&f, "b.h5:/deep/er"), false);
  void *bytes = fx_file(fx_path(&f, "b.h5"), &size);
  works(in_file(&f, "/raw"), fx_path(&f, "b.h5:/deep/er"), false);
  void *again = fx_file(fx_path(&f, "b.h5"), &again_size);
  assert_int_equal(size, again_size);
  assert_memory_equal(bytes, again, size);
  free(bytes), free(again);
  /* an attribute of the file stays */
  const hid_t file = H5Fopen(fx_path(&f, "b.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
  put_attribute(file, "version", 3);
  H5Fclose(file);
  works(in_file(&f, "/raw"), fx_path(&f, "b.h5:/deep/er"), false);
  const hid_t opened = H5Fopen(fx_path(&f, "b.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
  expect_attribute(opened, "/", "version", 3);
  H5Fclose(opened);
  expect_result(fx_path(&f, "b.h5"), "deep/er", 0);
  fx_leave(&f);
}

static void in_the_way(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  size_t size, after;
  const char *in = fx_path(&f, "in.npy");
  const pz_volume_info info = fx_info(PZ_U8, 1, Z, Y, X);
  make_file(fx_path(&f, "a.h5"), false);
  fx_save(in, &info, raw);
  void *bytes = fx_file(fx_path(&f, "a.h5"), &size);
  refused(in, in_file(&f, "/volumes"), PZ_ERROR_OUTPUT, "\"volumes\" is a group");
  refused(in, in_file(&f, "/raw/x"), PZ_ERROR_OUTPUT, "\"raw\" is a dataset, and not a group");
  refused(in, in_file(&f, "/soft"), PZ_ERROR_OUTPUT, "\"soft\" is a link");
  refused(in, in_file(&f, "/external/x"), PZ_ERROR_OUTPUT, "\"external\" is a link to another file");
  refused(in_file(&f, "/raw"), in_file(&f, "/raw"), PZ_ERROR_USAGE, "the output is the input");
  void *kept = fx_file(fx_path(&f, "a.h5"), &after);
  assert_int_equal(size, after);
  assert_memory_equal(bytes, kept, size);
  fx_write_file(fx_path(&f, "c.h5"), "text", 4);
  refused(in, fx_path(&f, "c.h5:/x"), PZ_ERROR_INPUT, "not an HDF5 file");
  free(bytes), free(kept);
  fx_leave(&f);
}

/* The file that a symbolic link leads to gets the dataset; the link stays one. */
static void through_a_link(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  struct stat info;
  make_file(fx_path(&f, "a.h5"), false);
  assert_int_equal(symlink("a.h5", fx_path(&f, "link.h5")), 0);
  works(in_file(&f, "/raw"), fx_path(&f, "link.h5:/x"), false);
  assert_true(lstat(fx_path(&f, "link.h5"), &info) == 0 && S_ISLNK(info.st_mode));
  expect_file(fx_path(&f, "a.h5"), LINKS + 1);
  expect_result(fx_path(&f, "a.h5"), "x", 0);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ meanwhile */

/* What happens to the file, and when: at the `at`-th call of the progress while the result is written into the copy. */
typedef struct meanwhile {
  const char *path;
  enum { NOTHING, LOCKED, CHANGED, TAKEN, BROKEN, KILLED, INTERRUPTED } what;
  int at, calls, lock;
  bool update;
  const char *codec;
  int runs; /* of the network */
  volatile int flag;
} meanwhile;

static void watch(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)total, (void)done, (void)seconds;
  meanwhile *m = host;
  /* a writer comes before the copy is begun */
  if (m->what == LOCKED && m->lock < 0 && !strcmp(what, "patches")) {
    m->lock = open(m->path, O_RDWR);
    assert_int_equal(flock(m->lock, LOCK_EX | LOCK_NB), 0);
  }
  if ((m->what == TAKEN || m->what == BROKEN) && m->lock < 0 && !strcmp(what, "patches")) {
    m->lock = 0;
    const hid_t file = H5Fopen(m->path, H5F_ACC_RDWR, H5P_DEFAULT);
    put(file, "x", H5T_NATIVE_UINT8, false, raw);
    H5Fclose(file);
    if (m->what == BROKEN) assert_int_equal(truncate(m->path, 3000), 0);
  }
  if (strcmp(what, "writing") != 0 || ++m->calls != m->at) return;
  if (m->what == KILLED) raise(SIGKILL);
  if (m->what == INTERRUPTED) m->flag = 1;
  if (m->what == CHANGED) {
    const int fd = open(m->path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
  }
}

static pz_status run_meanwhile(const char *in, const char *out, bool resume, meanwhile *m, pz_error *err) {
  fx_net net;
  pz_volume *v;
  const pz_infer_options o = {.normalize = PZ_NORMALIZE_NONE,
                              .resume = resume,
                              .update = m->update,
                              .codec = m->codec,
                              .progress = watch,
                              .progress_host = m,
                              .interrupt = &m->flag};
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  *err = (pz_error){0};
  PZ_TRY(pz_volume_open(in, &v, err));
  const pz_status status =
      pz_engine_run(&net.function, v, &(pz_volume_writer){.path = out}, &o, NULL, NULL, err);
  pz_volume_close(v);
  m->runs = net.runs;
  return status;
}

typedef struct scene {
  fx_folder f;
  char in[600], out[600], file[600];
  void *bytes;
  size_t size;
  const char *codec;
} scene;

static scene make_scene(void) {
  scene s = {.f = fx_enter()};
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.f, "in.npy"));
  snprintf(s.out, sizeof s.out, "%s", fx_path(&s.f, "a.h5:/x"));
  snprintf(s.file, sizeof s.file, "%s", fx_path(&s.f, "a.h5"));
  make_file(s.file, false);
  const pz_volume_info info = fx_info(PZ_U8, 1, Z, Y, X);
  fx_save(s.in, &info, raw);
  s.bytes = fx_file(s.file, &s.size);
  return s;
}

static void expect_old(const scene *s) {
  size_t size;
  void *now = fx_file(s->file, &size);
  assert_true(size >= s->size);
  assert_memory_equal(now, s->bytes, s->size);
  free(now);
}

static void expect_finished(scene *s) {
  expect_file(s->file, LINKS + 1);
  expect_result(s->file, "x", 0);
  assert_false(fx_exists(fx_path(&s->f, "a.h5.pznet-job")));
  free(s->bytes);
  fx_leave(&s->f);
}

static void finish(scene *s) {
  pz_error err;
  meanwhile nothing = {.lock = -1, .codec = s->codec};
  if (run_meanwhile(s->in, s->out, true, &nothing, &err) != PZ_OK) fail_msg("%s", err.message);
  expect_finished(s);
}

/* A writer that comes while the network runs, or changes the file while it is copied, is noticed; nothing is lost, and the work
 * is not done again. */
static void writers_are_noticed(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    scene s = make_scene();
    meanwhile m = {.path = s.file, .what = i ? CHANGED : LOCKED, .at = 2, .lock = -1};
    pz_error err;
    assert_int_equal(run_meanwhile(s.in, s.out, false, &m, &err), PZ_ERROR_OUTPUT);
    if (!strstr(err.message, i ? "changed while" : "HDF5_USE_FILE_LOCKING")) fail_msg("%s", err.message);
    assert_non_null(strstr(err.message, "--resume"));
    if (m.lock >= 0) close(m.lock);
    expect_old(&s);
    finish(&s);
  }
}

/* The name is taken by somebody, or the file is broken, while the network runs: the work is kept. */
static void others_come_first(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    scene s = make_scene();
    meanwhile m = {.path = s.file, .what = i ? BROKEN : TAKEN, .lock = -1},
              update = {.lock = -1, .update = true};
    pz_error err;
    assert_int_equal(run_meanwhile(s.in, s.out, false, &m, &err), PZ_ERROR_OUTPUT);
    if (!strstr(err.message, i ? "truncated" : "--update")) fail_msg("%s", err.message);
    assert_non_null(strstr(err.message, "--resume goes on"));
    if (i) fx_write_file(s.file, s.bytes, s.size);
    if (run_meanwhile(s.in, s.out, true, &update, &err) != PZ_OK) fail_msg("%s", err.message);
    assert_int_equal(update.runs, 0);
    expect_finished(&s);
  }
}

/* A writer that has the file open before: said at once. */
static void locked_before(void **state) {
  (void)state;
  scene s = make_scene();
  const int lock = open(s.file, O_RDWR);
  assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
  refused(s.in, s.out, PZ_ERROR_OUTPUT, "HDF5_USE_FILE_LOCKING=FALSE");
  refused(in_file(&s.f, "/raw"), fx_path(&s.f, "b.npy"), PZ_ERROR_INPUT, "HDF5_USE_FILE_LOCKING=FALSE");
  close(lock);
  finish(&s);
}

/* Readers hold nothing up, and read on what they have opened. */
static void readers_read_on(void **state) {
  (void)state;
  scene s = make_scene();
  const int lock = open(s.file, O_RDONLY);
  assert_int_equal(flock(lock, LOCK_SH | LOCK_NB), 0);
  works(s.in, s.out, false);
  char *now = malloc(s.size);
  assert_int_equal(pread(lock, now, s.size, 0), s.size);
  assert_memory_equal(now, s.bytes, s.size);
  free(now);
  close(lock);
  unlink(s.file);
  fx_write_file(s.file, s.bytes, s.size);
  finish(&s);
}

/* At any time: the old file, byte for byte, and the work goes on. */
static void killed_with(const char *codec, int least) {
  for (int at = 1;; at++) {
    scene s = make_scene();
    s.codec = codec;
    int ended;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      meanwhile m = {
          .path = s.file, .what = at % 3 ? KILLED : INTERRUPTED, .at = at, .lock = -1, .codec = codec};
      pz_error err;
      _exit(run_meanwhile(s.in, s.out, false, &m, &err) == PZ_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    const bool done = WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
    if (done) {
      assert_true(at > least);
      expect_file(s.file, LINKS + 1);
      expect_result(s.file, "x", 0);
      free(s.bytes);
      fx_leave(&s.f);
      return;
    }
    expect_old(&s);
    finish(&s);
  }
}

static void killed(void **state) {
  (void)state;
  killed_with(NULL, Z);
  killed_with("gzip:2", 2); /* once for the copy, once for the only chunk */
}

/* A compressed dataset is one like others, beside them and replaced. */
static void compressed(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_error err;
  make_file(fx_path(&f, "a.h5"), false);
  for (int i = 0; i < 3; i++) {
    const pz_infer_options o = {.update = i > 0, .codec = i == 1 ? NULL : "gzip"};
    if (run(in_file(&f, "/raw"), in_file(&f, "/deep/x"), o, &err) != PZ_OK) fail_msg("%s", err.message);
    expect_file(fx_path(&f, "a.h5"), LINKS + 1);
    expect_result(fx_path(&f, "a.h5"), "deep/x", 0);
    pz_infer_options again = o;
    again.resume = true;
    again.progress = NULL;
    assert_int_equal(run(in_file(&f, "/raw"), in_file(&f, "/deep/x"), again, &err), PZ_OK);
    again.codec = "gzip:9", again.update = false;
    assert_int_equal(run(in_file(&f, "/raw"), in_file(&f, "/deep/x"), again, &err), PZ_ERROR_USAGE);
    if (!strstr(err.message, "the compression was")) fail_msg("%s", err.message);
  }
  fx_leave(&f);
}

/* A job that was begun for a file of its own does not go on inside of another file. */
static void another_way(void **state) {
  (void)state;
  scene s = make_scene();
  pz_error err;
  meanwhile m = {.path = s.file, .what = INTERRUPTED, .at = 2, .lock = -1};
  assert_int_equal(run_meanwhile(s.in, s.out, false, &m, &err), PZ_INTERRUPTED);
  unlink(s.file);
  meanwhile nothing = {.lock = -1};
  assert_int_equal(run_meanwhile(s.in, s.out, true, &nothing, &err), PZ_ERROR_USAGE);
  assert_non_null(strstr(err.message, "beside others"));
  fx_write_file(s.file, s.bytes, s.size);
  finish(&s);
}

/* ------------------------------------------------------------------ finished */

static const char *const attribute = "user.pznet.finished";

typedef struct finished_scene {
  scene s;
  char x[700], raw[700], y[700], z[700];
} finished_scene;

static finished_scene make_finished_scene(void) {
  finished_scene s = {.s = make_scene()};
  snprintf(s.x, sizeof s.x, "%s", s.s.out);
  snprintf(s.raw, sizeof s.raw, "%s:/raw", s.s.file);
  snprintf(s.y, sizeof s.y, "%s:/volumes/y", s.s.file);
  snprintf(s.z, sizeof s.z, "%s:/z", s.s.file);
  return s;
}

static void leave_finished_scene(finished_scene *s) {
  free(s->s.bytes);
  fx_leave(&s->s.f);
}

static void computes(const char *in, const char *out, bool resume, bool update) {
  pz_error err;
  meanwhile m = {.lock = -1, .update = update};
  if (run_meanwhile(in, out, resume, &m, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_true(m.runs > 0);
}

static void does_nothing(const char *in, const char *out, bool update) {
  pz_error err;
  meanwhile m = {.lock = -1, .update = update};
  if (run_meanwhile(in, out, true, &m, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(m.runs, 0);
}

static void not_finished(const char *in, const char *out, const char *says) {
  pz_error err;
  meanwhile m = {.lock = -1};
  assert_int_equal(run_meanwhile(in, out, true, &m, &err), PZ_ERROR_USAGE);
  if (!strstr(err.message, "--update") || !strstr(err.message, says)) fail_msg("%s", err.message);
  assert_int_equal(m.runs, 0);
}

/* Each result of the file is known, whatever joined the file after it; also what was made from a dataset of the same file. */
static void all_are_finished(void **state) {
  (void)state;
  for (int resume = 0; resume < 2; resume++) {
    finished_scene s = make_finished_scene();
    computes(s.s.in, s.x, resume, false);
    if (!resume && getxattr(s.s.file, attribute, NULL, 0) < 0) skip();
    computes(s.raw, s.y, resume, false);
    computes(s.x, s.z, resume, false);
    for (int update = 0; update < 2; update++) {
      does_nothing(s.s.in, s.x, update);
      does_nothing(s.raw, s.y, update);
      does_nothing(s.x, s.z, update);
    }
    assert_false(fx_exists(fx_path(&s.s.f, "a.h5.pznet-job")));
    not_finished(s.raw, s.x, "made from another volume");
    not_finished(s.s.in, s.y, "made from another volume");
    leave_finished_scene(&s);
  }
}

/* A file that began as an output of its own. */
static void began_alone(void **state) {
  (void)state;
  finished_scene s = make_finished_scene();
  unlink(s.s.file);
  computes(s.s.in, s.x, true, false);
  computes(s.x, s.z, true, false);
  does_nothing(s.s.in, s.x, false);
  does_nothing(s.x, s.z, false);
  leave_finished_scene(&s);
}

/* With a dataset that is replaced go its own record and those of what was made from it, by whatever name it is called. */
static void replaced_is_not_finished(void **state) {
  (void)state;
  finished_scene s = make_finished_scene();
  char other_name[700];
  computes(s.s.in, s.x, true, false);
  computes(s.x, s.z, true, false);
  computes(s.raw, s.y, true, false);
  snprintf(other_name, sizeof other_name, "%s:/./x", s.s.file);
  computes(s.raw, other_name, true, true);
  does_nothing(s.raw, s.y, false);
  does_nothing(s.raw, other_name, false);
  not_finished(s.s.in, s.x, "made from another volume");
  not_finished(s.x, s.z, "nothing says");
  snprintf(other_name, sizeof other_name, "%s:/way/y", s.s.file);
  computes(s.s.in, other_name, true, true);
  not_finished(s.raw, s.y, "another volume");
  leave_finished_scene(&s);
}

/* Nobody knows what else they did. */
static void changed_by_others(void **state) {
  (void)state;
  finished_scene s = make_finished_scene();
  computes(s.raw, s.x, true, false);
  const hid_t file = H5Fopen(s.s.file, H5F_ACC_RDWR, H5P_DEFAULT);
  put_attribute(file, "mine", 1);
  H5Fclose(file);
  not_finished(s.raw, s.x, "it was changed after it was made");
  computes(s.s.in, s.z, true, false); /* what is not known of the old file is not known of the new one */
  does_nothing(s.s.in, s.z, false);
  not_finished(s.raw, s.x, "nothing says");
  computes(s.raw, s.x, true, true);
  does_nothing(s.raw, s.x, false);
  leave_finished_scene(&s);
}

/* More than an attribute has room for: the last ones are known. */
static void many(void **state) {
  (void)state;
  enum { MANY = 45, KNOWN = 20 };
  finished_scene s = make_finished_scene();
  char out[700];
  for (int i = 0; i < MANY; i++) {
    snprintf(out, sizeof out, "%s:/p%d", s.s.file, i);
    computes(s.raw, out, true, false);
  }
  for (int i = MANY - KNOWN; i < MANY; i++) {
    snprintf(out, sizeof out, "%s:/p%d", s.s.file, i);
    does_nothing(s.raw, out, false);
  }
  leave_finished_scene(&s);
}

static char keep_command[2048];
static void keep_job(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  (void)host, (void)done, (void)total, (void)seconds;
  if (strcmp(what, "writing") == 0 && *keep_command)
    assert_int_equal(system(keep_command), 0), *keep_command = 0;
}

/* Killed after the file has its name and before the job is removed. */
static void killed_at_the_end(void **state) {
  (void)state;
  for (int same = 0; same < 2; same++) {
    finished_scene s = make_finished_scene();
    const char *in = same ? s.raw : s.s.in;
    char job[640], kept[700], result[800];
    pz_error err;
    snprintf(job, sizeof job, "%s.pznet-job", s.s.file);
    snprintf(kept, sizeof kept, "%s.kept", job);
    snprintf(result, sizeof result, "%s/result.out", kept);
    snprintf(keep_command, sizeof keep_command, "cp -r %s %s", job, kept);
    const pz_infer_options o = {.resume = true, .progress = keep_job};
    assert_int_equal(run(in, s.x, o, &err), PZ_OK);
    unlink(result); /* it has the output's name */
    assert_int_equal(rename(kept, job), 0);
    does_nothing(in, s.x, false);
    assert_false(fx_exists(job));
    expect_file(s.s.file, LINKS + 1);
    leave_finished_scene(&s);
  }
}

int main(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(others_stay),       cmocka_unit_test(replaced_by_leave_only),
      cmocka_unit_test(an_only_dataset),   cmocka_unit_test(in_the_way),
      cmocka_unit_test(through_a_link),    cmocka_unit_test(writers_are_noticed),
      cmocka_unit_test(others_come_first), cmocka_unit_test(locked_before),
      cmocka_unit_test(readers_read_on),   cmocka_unit_test(killed),
      cmocka_unit_test(another_way),       cmocka_unit_test(all_are_finished),
      cmocka_unit_test(began_alone),       cmocka_unit_test(replaced_is_not_finished),
      cmocka_unit_test(changed_by_others), cmocka_unit_test(many),
      cmocka_unit_test(killed_at_the_end), cmocka_unit_test(compressed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
