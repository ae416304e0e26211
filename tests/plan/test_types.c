/* Inputs and outputs that are not of float, through the whole compiler on every instruction set. Outputs are compared with a reference
 * that rounds them too, so halves are the bound: where a number lies between two elements, the float's error may turn it to the other. */
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The first layer reads what a cast makes with the border in it: of bytes, in one pass. */
static void test_bytes_in(void **state) {
  (void)state;
  pz_test_compiled_text("graph \"bytes\"\n"
                        "input %x 1x1x5x9x21 u8\n"
                        "const %w 20x1x3x3x3 = seed 1 scale 0.01\n"
                        "const %b 20 = seed 2\n"
                        "const %v 3x20x3x3x3 = seed 3 scale 0.05\n"
                        "%f = cast \"f\" %x\n"
                        "%a = conv \"a\" %f, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                        "%c = conv \"c\" %a, %v kernel 3,3,3 pad 1,1,1:1,1,1\n"
                        "output %c\n",
                        2e-6);
}

static void test_types_in(void **state) {
  (void)state;
  static const char *const elements[] = {
      "u8 scale 0.0125 zero_point 77", "i8",  "u16 scale 0.001 zero_point 9",
      "i16 scale 0.5 zero_point -3",   "f16", "bf16"};
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "graph \"types\"\n"
             "input %%x 2x19x7x13 %s\n"
             "input %%y 2x19x7x13\n"
             "const %%w 5x19x3x3 = seed 1 scale 0.05\n"
             "%%f = cast \"f\" %%x\n"
             "%%s = eltwise \"s\" %%f, %%y\n"
             "%%a = conv \"a\" %%f, %%w kernel 1,3,3 pad 0,1,1:0,1,1\n"
             "output %%s\noutput %%a\noutput %%x\n",
             elements[i]);
    pz_test_compiled_text(text, 2e-6);
  }
}

/* bfloat16 has 8 bits and a half 11: relative errors of 2^-9 and 2^-12 at most; of bytes of 0.05 the reference is half of one away at
 * most, where the float's error crosses a half. */
static void test_types_out(void **state) {
  (void)state;
  static const struct {
    const char *element;
    double tolerance;
  } rows[] = {{"bf16", 0x1p-9},
              {"f16", 0x1p-12},
              {"i16 scale 0.001 zero_point 5", 1e-3},
              {"u8 scale 0.05 zero_point 128", 2e-2}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int wide = 0; wide < 2; wide++) {
      char text[1024];
      snprintf(text, sizeof text,
               "graph \"types\"\n"
               "input %%x 1x3x4x7x%d\n"
               "const %%w 18x3x3x3x3 = seed 1 scale 0.3\n"
               "%%a = conv \"a\" %%x, %%w kernel 3,3,3 pad 1,1,1:1,1,1\n"
               "%%t = cast \"t\" %%a to %s\n"
               "%%r = reshape \"r\" %%a shape 18x4x%d\n"
               "%%u = cast \"u\" %%r to %s\n"
               "%%q = cast \"q\" %%t\n"
               "%%m = pool \"m\" %%q kernel 1,3,3 pad 0,1,1:0,1,1\n"
               "output %%t\noutput %%u\noutput %%m\n",
               wide ? 37 : 5, rows[i].element, 7 * (wide ? 37 : 5), rows[i].element);
      pz_test_compiled_text(text, rows[i].tolerance);
    }
}

static void test_classes(void **state) {
  (void)state;
  pz_test_compiled_text("graph \"classes\"\n"
                        "input %x 2x33x3x5x19\n"
                        "input %few 1x4x7x6\n"
                        "%a = argmax \"a\" %x to u8\n"
                        "%b = argmax \"b\" %few last to u8\n"
                        "%c = argmax \"c\" %few axis 3\n"
                        "%d = cast \"d\" %c to u8\n"
                        "output %a\noutput %b\noutput %d\n",
                        0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes_in), cmocka_unit_test(test_types_in),
                                     cmocka_unit_test(test_types_out), cmocka_unit_test(test_classes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
