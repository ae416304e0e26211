/* test_golden.c: each pass alone on the graphs of tests/optimise/<pass>/, a file a case:
 *
 *     # what the case is about
 *     graph ...        before
 *     ---
 *     graph ...        after, or the one word `unchanged`
 *
 * Checked: the graph's text after the pass, that the verifier accepts it, that a second run changes nothing, that
 * the count of changes says whether there were any, and that the reference computes the same values. */
#include "base/file.h"
#include "compare.h"
#include "optimise/optimise.h"
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define FOLDER PZ_SOURCE_DIR "/tests/optimise/"
/* Folded weights are rounded to float once, a relative 6e-8 each; sums of few of them stay below. */
static const double tolerance = 1e-6;

static const pz_pass *find_pass(const char *name, size_t size) {
  int count;
  const pz_pass *passes = pz_passes(&count);
  for (int i = 0; i < count; i++)
    if (strlen(passes[i].name) == size && memcmp(passes[i].name, name, size) == 0) return &passes[i];
  return NULL;
}

static pz_graph *parse(const char *text, size_t size, const char *file) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, size, file, &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

static char *print(const pz_graph *g) {
  pz_text text = {0};
  assert_int_equal(pz_graph_print(g, false, &text), PZ_OK);
  return text.data;
}

static int apply(const pz_pass *pass, pz_graph *g, const char *file) {
  pz_error err = {0};
  int changes = 0;
  if (pass->rewrite(g, &changes, &err) != PZ_OK) fail_msg("%s: %s", file, err.message);
  if (pz_graph_verify(g, &err) != PZ_OK) fail_msg("%s: after the pass: %s", file, err.message);
  return changes;
}

static void compare_text(const char *file, const char *is, const char *expected) {
  if (strcmp(is, expected)) fail_msg("%s: the pass made\n%s\nexpected\n%s", file, is, expected);
}

static void check_case(const pz_pass *pass, const char *file, char *text, size_t size) {
  char *line = strstr(text, "\n---\n");
  if (!line) fail_msg("%s: no line --- between before and after", file);
  const char *rest = line + 5;
  bool unchanged = strncmp(rest, "unchanged", 9) == 0;
  pz_graph *before = parse(text, (size_t)(line + 1 - text), file),
           *g = parse(text, (size_t)(line + 1 - text), file);
  pz_graph *after = unchanged ? parse(text, (size_t)(line + 1 - text), file)
                              : parse(rest, size - (size_t)(rest - text), file);
  int changes = apply(pass, g, file);
  char *is = print(g), *expected = print(after);
  compare_text(file, is, expected);
  if ((changes == 0) != unchanged) fail_msg("%s: the pass counted %d changes", file, changes);
  comparison c = compare_graphs(before, g, 1);
  if (!(c.error <= tolerance)) fail_msg("%s: relative error %g of %%%s", file, c.error, c.worst);
  if (apply(pass, g, file) != 0) fail_msg("%s: the pass does not come to rest", file);
  free(is);
  free(expected);
  pz_graph_free(before);
  pz_graph_free(after);
  pz_graph_free(g);
}

static void check_file(const char *path) {
  const char *name = path + strlen(FOLDER), *slash = strchr(name, '/');
  const pz_pass *pass = find_pass(name, (size_t)(slash - name));
  if (!pass) fail_msg("%s: the folder has no pass's name", path);
  pz_arena *arena = pz_arena_new();
  pz_error err = {0};
  char *text;
  size_t size;
  if (pz_file_read(arena, path, 1 << 20, &text, &size, &err) != PZ_OK) fail_msg("%s", err.message);
  check_case(pass, path, text, size);
  pz_arena_free(arena);
}

static void golden(void **state) {
  (void)state;
  glob_t files;
  assert_int_equal(glob(FOLDER "*/*.txt", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i]);
  printf("%d cases\n", (int)files.gl_pathc);
  globfree(&files);
}

/* A pass without a case, or with none that must not fire, is not tested. */
static void every_pass_has_cases(void **state) {
  (void)state;
  int count;
  const pz_pass *passes = pz_passes(&count);
  for (int i = 0; i < count; i++) {
    char pattern[512];
    glob_t files;
    snprintf(pattern, sizeof pattern, FOLDER "%s/*.txt", passes[i].name);
    if (glob(pattern, 0, NULL, &files) != 0 || files.gl_pathc < 3)
      fail_msg("%s: too few cases", passes[i].name);
    globfree(&files);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(golden), cmocka_unit_test(every_pass_has_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
