/* pz_run_files: what it reads, what it writes, what it refuses, and that failing leaves no output behind. */
#include "fail_alloc.h"
#include "files.h"

#include <stdlib.h>
#include <string.h>

enum { N = 35 };

/* A .npy file of version 1 with `bytes` of data behind its header. */
static const char *save_bytes(const fx_folder *f, const char *name, const char *descr, const char *shape,
                              const void *data, size_t bytes) {
  char file[4096];
  memset(file, 0, sizeof file);
  memcpy(file, "\x93NUMPY\x01\0\x76\0", 10);
  memset(file + 10, ' ', 118);
  const int n =
      snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
  assert_in_range(n, 1, 117);
  file[10 + n] = ' ', file[127] = '\n';
  assert_true(bytes <= sizeof file - 128);
  memcpy(file + 128, data, bytes);
  const char *path = fx_path(f, name);
  fx_write_file(path, file, 128 + bytes);
  return path;
}

static pz_status run(const char *in, const char *out) {
  return pz_run_files(NETWORK, 2, (const char *const[]){in}, 1, (const char *const[]){out}, 1);
}

static void assert_refused(const char *in, const char *out, pz_status status, const char *words) {
  assert_int_equal(run(in, out), status);
  if (!strstr(pz_last_message(), words)) fail_msg("'%s' is not in: %s", words, pz_last_message());
  assert_false(fx_exists(out));
}

/* Exactly 2*x*x + 1 in float, behind a header that NumPy writes byte for byte like this. */
static void assert_output(const char *path, const float *x) {
  static const char header[] =
      "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 5, 7), }";
  size_t size;
  char *file = fx_file(path, &size);
  assert_int_equal(size, 128 + 4 * N);
  assert_memory_equal(file, header, sizeof header - 1);
  for (size_t i = sizeof header - 1; i < 127; i++) assert_int_equal(file[i], ' ');
  assert_int_equal(file[127], '\n');
  for (int i = 0; i < N; i++) {
    float y;
    memcpy(&y, file + 128 + 4 * i, 4);
    if (y != 2 * x[i] * x[i] + 1) fail_msg("element %d: %g of %g", i, y, x[i]);
  }
  free(file);
}

/* Integers that every dtype holds exactly, written byte by byte in the order that `descr` says. */
static size_t encode(const char *descr, const float *x, uint8_t *out) {
  const size_t size = (size_t)(descr[2] - '0');
  for (int i = 0; i < N; i++) {
    uint32_t bits;
    if (descr[1] == 'f') memcpy(&bits, &x[i], 4);
    else bits = (uint32_t)(int32_t)x[i];
    for (size_t k = 0; k < size; k++)
      out[(size_t)i * size + (descr[0] == '>' ? size - 1 - k : k)] = (uint8_t)(bits >> 8 * k);
  }
  return N * size;
}

static void all_dtypes_and_both_byte_orders(void **state) {
  static const struct {
    const char *descr;
    float first, step;
  } rows[] = {{"<f4", -17.5F, 1}, {">f4", -17.5F, 1}, {"|u1", 0, 7},     {"<u2", 3, 57},
              {">u2", 3, 57},     {"<i2", -999, 57},  {">i2", -999, 57}, {"=f4", 0.25F, 2}};
  (void)state;
  const fx_folder f = fx_enter();
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    float x[N];
    uint8_t bytes[4 * N];
    for (int i = 0; i < N; i++) x[i] = rows[r].first + rows[r].step * (float)i;
    const size_t n = encode(rows[r].descr, x, bytes);
    const char *in = save_bytes(&f, "in.npy", rows[r].descr, "(1, 1, 5, 7)", bytes, n),
               *out = fx_path(&f, "out.npy");
    if (run(in, out) != PZ_OK) fail_msg("%s: %s", rows[r].descr, pz_last_message());
    assert_output(out, x);
  }
  fx_leave(&f);
}

static void leading_ones_may_be_missing(void **state) {
  static const char *const shapes[] = {"(1, 1, 5, 7)", "(1, 5, 7)", "(5, 7)"};
  (void)state;
  const fx_folder f = fx_enter();
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i % 11) - 4;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const char *in = save_bytes(&f, "in.npy", "<f4", shapes[s], x, sizeof x), *out = fx_path(&f, "out.npy");
    if (run(in, out) != PZ_OK) fail_msg("%s: %s", shapes[s], pz_last_message());
    assert_output(out, x);
  }
  fx_leave(&f);
}

static void other_shapes_are_refused_with_both_shapes(void **state) {
  static const char *const shapes[][2] = {{"(7, 5)", "7x5"},
                                          {"(35,)", "shape 35;"},
                                          {"(1, 1, 1, 5, 7)", "1x1x1x5x7"},
                                          {"(2, 1, 5, 7)", "2x1x5x7"},
                                          {"(5, 1, 7)", "5x1x7"},
                                          {"()", "shape ()"},
                                          {"(0, 7)", "0x7"},
                                          {"(1, 5, 8)", "1x5x8"},
                                          {"(9223372036854775807, 5, 7)", "9223372036854775807x5x7"}};
  (void)state;
  const fx_folder f = fx_enter();
  const float x[N] = {0};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const char *in = save_bytes(&f, "in.npy", "<f4", shapes[s][0], x, sizeof x),
               *out = fx_path(&f, "out.npy");
    assert_refused(in, out, PZ_ERROR_INPUT, shapes[s][1]);
    assert_non_null(strstr(pz_last_message(), "in.npy"));
    assert_non_null(strstr(pz_last_message(), "\"data\" is 1x1x5x7"));
  }
  fx_leave(&f);
}

static void bad_files_are_refused(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const float x[N] = {0};
  const char *out = fx_path(&f, "out.npy");
  assert_refused(fx_path(&f, "none.npy"), out, PZ_ERROR_INPUT, "none.npy");
  assert_refused(save_bytes(&f, "a.npy", "<f4", "(5, 7)", x, sizeof x - 1), out, PZ_ERROR_INPUT, "truncated");
  assert_refused(save_bytes(&f, "b.npy", "<c8", "(5, 7)", x, sizeof x), out, PZ_ERROR_INPUT, "'<c8'");
  assert_refused(save_bytes(&f, "c.npy", "<f4", "(5, -7)", x, sizeof x), out, PZ_ERROR_INPUT, "bad header");
  fx_write_file(fx_path(&f, "d.npy"), "hello, world", 12);
  assert_refused(fx_path(&f, "d.npy"), out, PZ_ERROR_INPUT, "not a .npy file");
  fx_leave(&f);
}

static void wrong_use_is_refused(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const float x[N] = {0};
  const char *in = save_bytes(&f, "in.npy", "<f4", "(5, 7)", x, sizeof x), *out = fx_path(&f, "out.npy");
  const char *const ins[] = {in, in}, *const outs[] = {out, out};
  assert_int_equal(pz_run_files(NETWORK, 1, ins, 2, outs, 1), PZ_ERROR_USAGE);
  assert_non_null(strstr(pz_last_message(), "2 input and 1 output files; expected 1 and 1"));
  assert_int_equal(pz_run_files(NETWORK, 1, ins, 1, outs, 0), PZ_ERROR_USAGE);
  assert_int_equal(pz_run_files(NETWORK, 1, ins, -1, outs, 1), PZ_ERROR_USAGE);
  assert_int_equal(pz_run_files(NETWORK, 1, NULL, 1, outs, 1), PZ_ERROR_USAGE);
  assert_int_equal(pz_run_files(NULL, 1, ins, 1, outs, 1), PZ_ERROR_USAGE);
  assert_int_equal(pz_run_files(in, 1, ins, 1, outs, 1), PZ_ERROR_INPUT); /* not a network file */
  assert_false(fx_exists(out));
  assert_refused(in, fx_path(&f, "no/such/folder.npy"), PZ_ERROR_OUTPUT, "folder.npy");
  fx_leave(&f);
}

static void every_failing_allocation_is_reported(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)i;
  const char *in = save_bytes(&f, "in.npy", "<f4", "(5, 7)", x, sizeof x), *out = fx_path(&f, "out.npy");
  int failures = 0;
  PZ_FAIL_EACH_ALLOC() {
    const pz_status status = run(in, out);
    const bool failed = pz_fail_alloc_end();
    failures += failed;
    if (status == PZ_OK) assert_output(out, x); /* realpath may do without */
    else assert_false(fx_exists(out));
    if (!failed) assert_int_equal(status, PZ_OK);
    remove(out);
  }
  assert_true(failures > 2);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_dtypes_and_both_byte_orders),
      cmocka_unit_test(leading_ones_may_be_missing),
      cmocka_unit_test(other_shapes_are_refused_with_both_shapes),
      cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(wrong_use_is_refused),
      cmocka_unit_test(every_failing_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
