/* Normalisation, functions of one value, element-wise functions with broadcasting, reductions: in odd shapes, through the whole
 * compiler, on every instruction set of this machine. They round a few times each: a relative error of 2e-6 is enough. */
#include "base/cpu.h"
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text) {
  for (int isa = 0; isa < PZ_ISA_COUNT; isa++) {
    if (!pz_isa_supported((pz_isa)isa)) continue;
    pz_graph *graph = NULL;
    pz_error err;
    if (pz_graph_parse(text, strlen(text), "test_computing.c", &graph, &err) != PZ_OK)
      fail_msg("%s", err.message);
    const pz_compiled_options options = {
        .name = graph->name, .seed = 9, .plan = {.isa = (pz_isa)isa, .exact = true}, .tolerance = 2e-6};
    pz_test_compiled(graph, &options);
    pz_graph_free(graph);
  }
}

/* Instance, group (groups within, of, and across blocks) and layer normalisation; whole and in two parts; read with a
 * border; a large mean; in place. */
static void test_group_norm(void **state) {
  (void)state;
  check("graph \"norms\"\n"
        "input %x 2x48x3x9x11\n"
        "input %y 1x19x5x60x31\n"
        "input %rows 7x40\n"
        "const %w 5x48x3x3x3 = seed 1 scale 0.05\n"
        "const %g 48 = seed 2\n"
        "const %b 48 = seed 3\n"
        "const %s 19 = seed 4\n"
        "const %r 40 = seed 5\n"
        "%a = group_norm \"a\" %x, %g, %b groups 48 act relu 0.01\n"
        "%a2 = conv \"a2\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
        "%c = group_norm \"c\" %x, _, %b groups 12 act silu\n"
        "%d = group_norm \"d\" %x, %g groups 2 eps 0.1\n"
        "%e = group_norm \"e\" %x groups 1\n"
        "%f = group_norm \"f\" %y, _, _, %s groups 19 act prelu\n"
        "%h = power \"h\" %y shift 4\n"
        "%i = group_norm \"i\" %h groups 1\n"
        "%j = group_norm \"j\" %rows, %r, %r groups 1\n"
        "%k = group_norm \"k\" %rows groups 8\n"
        "output %a2\noutput %c\noutput %d\noutput %e\noutput %f\noutput %i\noutput %j\noutput %k\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_group_norm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
