/* The memory that a run takes is what was estimated before, and does not grow with z. */
#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* The greatest resident set of this process so far, without the pages of files that are only mapped. */
static int64_t peak_bytes(void) {
  char line[256];
  long long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %lld kB", &kib);
  if (f) fclose(f);
  return kib << 10;
}

static void keep_estimate(void *host, const char *json) {
  const char *at = strstr(json, "\"peak_bytes\": ");
  *(long long *)host = at ? atoll(at + 14) : 0;
}

typedef struct measured {
  long long estimate, peak;
  pz_status status;
} measured;

/* In a process of its own, so that peaks do not mix. */
static measured measure_with(const char *in, const char *out, int64_t limit, const char *codec,
                             const char *preview) {
  int ends[2];
  measured m = {0};
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int64_t patch[3] = {16, 128, 128};
    pz_infer_options o = {.overlap = {4, 16, 16},
                          .memory = limit,
                          .planned = keep_estimate,
                          .planned_host = &m.estimate,
                          .codec = codec,
                          .preview = preview};
    fx_net net;
    pz_error err = {0};
    fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
    m.status = fx_infer(&net, in, out, &o, NULL, &err);
    m.peak = peak_bytes();
    if (write(ends[1], &m, sizeof m) != sizeof m) _exit(1);
    _exit(0);
  }
  assert_int_equal(read(ends[0], &m, sizeof m), sizeof m);
  waitpid(child, NULL, 0);
  close(ends[0]), close(ends[1]);
  return m;
}

static measured measure(const char *in, const char *out, int64_t limit) {
  return measure_with(in, out, limit, NULL, NULL);
}

/* Planes of 768 x 768 floats: 2.25 MiB each. */
static void sparse_volume(const char *path, int64_t planes) {
  const pz_volume_info info = fx_info(PZ_F32, 1, planes, 768, 768);
  int64_t offset;
  assert_int_equal(pz_volume_npy.lay_out(path, NULL, &info, &offset, NULL), PZ_OK);
  assert_int_equal(truncate(path, offset + pz_volume_bytes(&info)), 0);
}

static void bounded(void **state) {
  (void)state;
#ifdef SANITIZED
  skip(); /* the sanitizer's own memory would be counted */
#endif
  const fx_folder f = fx_enter();
  measured m[2];
  for (int i = 0; i < 2; i++) {
    sparse_volume(fx_path(&f, "in.npy"), i ? 120 : 40);
    m[i] = measure(fx_path(&f, "in.npy"), fx_path(&f, "out.npy"), 0);
    assert_int_equal(m[i].status, PZ_OK);
    print_message("estimate %lld MiB, peak %lld MiB\n", m[i].estimate >> 20, m[i].peak >> 20);
    assert_true(m[i].peak <= m[i].estimate);
    assert_true(m[i].peak >= m[i].estimate / 2); /* nor is it a wild guess */
  }
  assert_true(m[0].estimate == m[1].estimate);
  fx_leave(&f);
}

/* A limit below what is comfortable is obeyed by reading less ahead; below what is possible it is refused with the
 * number that is needed, and that number is enough. */
static void limited(void **state) {
  (void)state;
#ifdef SANITIZED
  skip();
#endif
  const fx_folder f = fx_enter();
  char out[600];
  sparse_volume(fx_path(&f, "in.npy"), 40);
  snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
  const measured free_run = measure(fx_path(&f, "in.npy"), out, 0);
  const measured thin = measure(fx_path(&f, "in.npy"), out, free_run.estimate - (10 << 20));
  assert_int_equal(thin.status, PZ_OK);
  assert_true(thin.estimate <= free_run.estimate - (10 << 20) && thin.peak <= thin.estimate);

  const int64_t patch[3] = {16, 128, 128};
  pz_infer_options o = {.overlap = {4, 16, 16}, .memory = 30 << 20};
  fx_net net;
  pz_error err = {0};
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  assert_int_equal(fx_infer(&net, fx_path(&f, "in.npy"), out, &o, NULL, &err), PZ_ERROR_MEMORY);
  const char *number = strchr(err.message, '(');
  assert_non_null(number);
  const measured enough = measure(fx_path(&f, "in.npy"), out, atoll(number + 1));
  assert_int_equal(enough.status, PZ_OK);
  assert_true(enough.peak <= enough.estimate && enough.estimate == atoll(number + 1));
  fx_leave(&f);
}

/* What compresses the result, and what draws it, counts: in the tightest run that is not refused. */
static void packed_and_drawn(void **state) {
  (void)state;
#ifdef SANITIZED
  skip();
#endif
  static const char *const outs[] = {"out.h5", "out.tif"};
  const fx_folder f = fx_enter();
  char in[600], out[600], picture[600];
  const int64_t patch[3] = {16, 128, 128};
  sparse_volume(fx_path(&f, "in.npy"), 20);
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.npy"));
  snprintf(picture, sizeof picture, "%s", fx_path(&f, "a.png"));
  for (int i = 0; i < 2; i++) {
    snprintf(out, sizeof out, "%s", fx_path(&f, outs[i]));
    const pz_infer_options o = {
        .overlap = {4, 16, 16}, .memory = 30 << 20, .codec = "gzip", .preview = picture};
    fx_net net;
    pz_error err = {0};
    fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
    assert_int_equal(fx_infer(&net, in, out, &o, NULL, &err), PZ_ERROR_MEMORY);
    const char *number = strchr(err.message, '(');
    assert_non_null(number);
    const measured m = measure_with(in, out, atoll(number + 1), "gzip", picture);
    assert_int_equal(m.status, PZ_OK);
    print_message("estimate %lld MiB, peak %lld MiB\n", m.estimate >> 20, m.peak >> 20);
    assert_true(m.peak <= m.estimate && m.estimate == atoll(number + 1));
    assert_true(fx_exists(picture));
  }
  fx_leave(&f);
}

/* More than the machine has is refused as well, before anything is taken; a volume of any size is not. */
static void absurd(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_F32, 1, 1, 1 << 24, 1 << 20);
  int64_t offset;
  assert_int_equal(pz_volume_hdf5.lay_out(fx_path(&f, "in.h5"), "/main", &info, &offset, NULL), PZ_OK);
  const int64_t patch[3] = {1, 8, 8};
  pz_infer_options o = {.memory = 0};
  fx_net net;
  pz_error err = {0};
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  assert_int_equal(fx_infer(&net, fx_path(&f, "in.h5"), fx_path(&f, "out.npy"), &o, NULL, &err),
                   PZ_ERROR_OUTPUT);
  assert_non_null(strstr(err.message, "no room on the disk"));
  net.function.memory = INT64_C(1) << 50;
  err = (pz_error){0};
  const pz_status status = fx_infer(&net, fx_path(&f, "in.h5"), fx_path(&f, "out.npy"), &o, NULL, &err);
  if (status != PZ_ERROR_MEMORY) fail_msg("%d %s", status, err.message);
  assert_non_null(strstr(err.message, " are there ("));
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bounded), cmocka_unit_test(limited),
                                     cmocka_unit_test(packed_and_drawn), cmocka_unit_test(absurd)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
