/* Every allocation fails in turn, jansson's too: what pz_inspect and pz_inspect_page then give is the whole text, or PZ_ERROR_MEMORY. */
#include "fail_alloc.h"
#include "pznet/pznet.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char model[] =
    "name: 'tiny'\n"
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }\n"
    "layer { name: 'a' type: 'Pooling' bottom: 'x' top: 'a' pooling_param { kernel_size: 2 stride: 2 } }\n"
    "layer { name: 'p' type: 'Sigmoid' bottom: 'a' top: 'p' }\n";
static char path[] = "/tmp/pznet-test-XXXXXX", prototxt[64], page[64];

static int enter(void **state) {
  (void)state;
  if (!mkdtemp(path)) return -1;
  snprintf(prototxt, sizeof prototxt, "%s/net.prototxt", path);
  snprintf(page, sizeof page, "%s/page.html", path);
  FILE *f = fopen(prototxt, "w");
  return !f || fputs(model, f) < 0 || fclose(f);
}

static int leave(void **state) {
  (void)state;
  unlink(prototxt);
  unlink(page);
  return rmdir(path);
}

static char *read_page(void) {
  FILE *f = fopen(page, "r");
  char *text = calloc(1, 1 << 20);
  assert_true(f && text && fread(text, 1, (1 << 20) - 1, f) > 0);
  fclose(f);
  return text;
}

/* The n-th allocation of all. */
static pz_status inspect(const char *format, long n, char **text, bool *failed) {
  const pz_compile_options options = {.effort = "estimate", .tuning = "none", .isa = "sse4"};
  unlink(page);
  *text = NULL;
  if (n) pz_fail_alloc_at(n);
  const pz_status status =
      format ? pz_inspect(prototxt, &options, format, text) : pz_inspect_page(prototxt, &options, 0, page);
  *failed = pz_fail_alloc_end();
  if (!format && status == PZ_OK) *text = read_page();
  return status;
}

static void check(const char *format) {
  char *whole, *text;
  bool failed = true;
  assert_int_equal(inspect(format, 0, &whole, &failed), PZ_OK);
  for (long n = 1; failed || n == 1; n++) {
    const pz_status status = inspect(format, n, &text, &failed);
    if (status != (failed ? PZ_ERROR_MEMORY : PZ_OK) && !(status == PZ_OK && !strcmp(text, whole)))
      fail_msg("allocation %ld of %s: status %d %s\n%s", n, format ? format : "page", status,
               status == PZ_OK ? "" : pz_last_message(), text ? text : "");
    free(text);
  }
  free(whole);
}

static void as_json(void **state) { (void)state, check("json"); }
static void as_table(void **state) { (void)state, check("table"); }
static void as_page(void **state) { (void)state, check(NULL); }

int main(void) {
  json_set_alloc_funcs(malloc, free);
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_json), cmocka_unit_test(as_table),
                                     cmocka_unit_test(as_page)};
  return cmocka_run_group_tests(tests, enter, leave);
}
