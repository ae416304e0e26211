/* The parts of a key: CPU, compiler, solvers. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void cpu(void **state) {
  (void)state;
  char text[PZ_TUNING_CPU_TEXT], other[PZ_TUNING_CPU_TEXT], model[64];
  pz_cpu_model(model, sizeof model);
  pz_tuning_cpu(PZ_ISA_AVX2, NULL, text);
  pz_tuning_cpu(PZ_ISA_SSE4, NULL, other);
  assert_memory_equal(text, model, strlen(model));
  assert_non_null(strstr(text, ", avx2"));
  assert_non_null(strstr(other, ", sse4"));
  assert_string_not_equal(text, other);
  /* Times of plans for a target are its own. */
  pz_tuning_cpu(PZ_ISA_AVX2, "x86-64-v3", other);
  assert_memory_equal(other, text, strlen(text));
  assert_string_equal(other + strlen(text), " for x86-64-v3");
#ifdef __x86_64__
  unsigned family, number, stepping;
  assert_int_equal(sscanf(text + strlen(model), " (%u.%u.%u)", &family, &number, &stepping), 3);
  /* what the system says */
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[4096];
  unsigned seen = 0, value;
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "cpu family : %u", &value) == 1) assert_int_equal(value, family), seen |= 1;
    if (sscanf(line, "model : %u", &value) == 1) assert_int_equal(value, number), seen |= 2;
    if (sscanf(line, "stepping : %u", &value) == 1) assert_int_equal(value, stepping), seen |= 4;
  }
  if (file) assert_int_equal(seen, 7), fclose(file);
#endif
}

static void solvers(void **state) {
  (void)state;
  assert_int_equal(strlen(pz_tuning_solvers()), 16);
  assert_int_equal(strspn(pz_tuning_solvers(), "0123456789abcdef"), 16);
}

static const char *script(const char *body) {
  static char text[1024];
  snprintf(text, sizeof text, "#!/bin/sh\n%s\n", body);
  write_words("./cc", text);
  assert_int_equal(chmod("./cc", 0755), 0);
  return "./cc";
}

static void expect(const char *cc, const char *words) {
  char out[PZ_COMPILER_TEXT];
  pz_error err = {0};
  if (pz_compiler_identity(cc, NULL, out, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_string_equal(out, words);
}

static void expect_failure(const char *cc, const char *words) {
  char out[PZ_COMPILER_TEXT] = "old";
  pz_error err = {0};
  assert_refused(pz_compiler_identity(cc, NULL, out, &err), &err, PZ_ERROR_RUN, words);
  assert_string_equal(out, "");
}

static void compilers(void **state) {
  (void)state;
  script("[ \"$*\" = --version ] || exit 3; echo 'my cc 1.2 (some)'; echo more; echo error >&2");
  expect("./cc", "my cc 1.2 (some)");
  script("echo \"of $# words\"");
  expect("./cc -O1  -mfast ", "of 3 words, -O1  -mfast ");
  expect(script("printf '\\033[1mcc\\303\\251\\r\\n'"), "?[1mcc??");
  expect(script("echo cc; i=0; while [ $i -lt 9000 ]; do echo a line that is longer than nothing; "
                "i=$((i+1)); done"),
         "cc"); /* more than a pipe holds */
  char long_name[PZ_COMPILER_TEXT];
  memset(long_name, 'x', sizeof long_name);
  long_name[sizeof long_name - 1] = 0;
  expect(script("printf '%0700d' 0 | tr 0 x"), long_name);
  expect_failure(script("exit 0"), "./cc --version does not say");
  expect_failure(script("echo; echo cc"), "./cc --version does not say");
  expect_failure(script("echo cc; exit 1"), "./cc --version does not say");
  expect_failure(script("echo cc; kill -9 $$"), "./cc --version does not say");
  expect_failure("no-such-compiler -x", "no-such-compiler: cannot run this C compiler: No such file");
  expect_failure("", "name is empty");
  expect_failure("  ", "name is empty");
  char longer[2000];
  memset(longer, 'y', sizeof longer);
  longer[sizeof longer - 1] = 0;
  expect_failure(longer, "too long");
}

static void the_compiler_here(void **state) {
  (void)state;
  char out[PZ_COMPILER_TEXT];
  if (pz_compiler_identity("cc", NULL, out, NULL) != PZ_OK) skip();
  assert_true(strlen(out) > 4);
  pz_tuning *t = open_new("d"); /* what it says makes a key */
  pz_tuning_key k = key;
  char this[PZ_TUNING_CPU_TEXT];
  pz_tuning_cpu(pz_isa_native(), NULL, this);
  k.compiler = out, k.cpu = this, k.solvers = pz_tuning_solvers();
  assert_int_equal(pz_tuning_store(t, &k, "direct", 1, false, NULL), PZ_OK);
  pz_tuning_close(t);
}

static void interrupted(void **state) {
  (void)state;
  const volatile int flag = 1;
  char out[PZ_COMPILER_TEXT];
  pz_error err = {0};
  const time_t start = time(NULL);
  assert_refused(pz_compiler_identity(script("exec sleep 60"), &flag, out, &err), &err, PZ_INTERRUPTED,
                 "interrupted");
  assert_true(time(NULL) - start < 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
  const struct CMUnitTest tests[] = {TEST(cpu), TEST(solvers), TEST(compilers), TEST(interrupted),
                                     TEST(the_compiler_here)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
