/* Inputs and outputs that are not of float, through the whole compiler on every instruction set. Outputs are compared with a reference
 * that rounds them too, so half an element is the bound: where a number lies between two, the float's error may turn it to the other. */
#include "base/arena.h"
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The first layer reads what a cast makes with the border in it: of bytes, in one pass. The other types are read side by side; an
 * input may be an output too. */
static void test_in(void **state) {
  (void)state;
  pz_test_compiled_text("graph \"in\"\n"
                        "input %x 1x1x5x9x21 u8\n"
                        "input %levels 2x19x7x13 u8 scale 0.0125 zero_point 77\n"
                        "input %i8 2x19x7x13 i8\n"
                        "input %u16 2x19x7x13 u16 scale 0.001 zero_point 9\n"
                        "input %i16 2x19x7x13 i16 scale 0.5 zero_point -3\n"
                        "input %i32 2x19x7x13 i32 scale 4.6566128730773926e-10 zero_point 0\n" /* 2^-31 */
                        "input %f16 2x19x7x13 f16\n"
                        "input %bf16 2x19x7x13 bf16\n"
                        "input %f32 2x19x7x13\n"
                        "const %w 20x1x3x3x3 = seed 1 scale 0.01\n"
                        "%f = cast \"f\" %x\n"
                        "%a = conv \"a\" %f, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                        "%b = cast \"b\" %levels\n"
                        "%c = cast \"c\" %i8\n"
                        "%d = cast \"d\" %u16\n"
                        "%e = cast \"e\" %i16\n"
                        "%g = cast \"g\" %f16\n"
                        "%h = cast \"h\" %bf16\n"
                        "%j = cast \"j\" %i32\n"
                        "%i = eltwise \"i\" %b, %c, %d, %e, %g, %h, %j, %f32\n"
                        "output %a\noutput %i\noutput %x\noutput %bf16\noutput %g\noutput %i32\n",
                        2e-6);
}

/* bfloat16 has 8 bits and a half 11: relative errors of 2^-9 and 2^-12 at most. Both from blocks and from rows; a cast
 * back is read as it was stored. */
static void test_floats_out(void **state) {
  (void)state;
  pz_test_compiled_text("graph \"floats\"\n"
                        "input %x 2x19x3x4x37\n"
                        "input %few 1x3x7x5\n"
                        "%a = activation \"a\" %x act tanh\n"
                        "%t = cast \"t\" %a to bf16\n"
                        "%r = reshape \"r\" %a shape 38x12x37\n"
                        "%u = cast \"u\" %r to bf16\n"
                        "%q = cast \"q\" %t\n"
                        "%m = pool \"m\" %q kernel 1,3,3 pad 0,1,1:0,1,1\n"
                        "%v = cast \"v\" %few to f16\n"
                        "output %t\noutput %u\noutput %m\noutput %v\n",
                        0x1p-9);
}

/* Of elements of 0.05 and 0.001 of numbers around 0.6. */
static void test_integers_out(void **state) {
  (void)state;
  pz_test_compiled_text("graph \"integers\"\n"
                        "input %x 2x19x3x4x37\n"
                        "%a = activation \"a\" %x act tanh\n"
                        "%t = cast \"t\" %a to u8 scale 0.05 zero_point 128\n"
                        "%s = cast \"s\" %a to i16 scale 0.001 zero_point 5\n"
                        "%r = reshape \"r\" %a shape 38x12x37\n"
                        "%u = cast \"u\" %r to i8 scale 0.05\n"
                        "%v = cast \"v\" %a to i32 scale 1e-8\n"
                        "output %t\noutput %s\noutput %u\noutput %v\n",
                        1e-3);
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
                        "%e = argmax \"e\" %x\n"
                        "%f = cast \"f\" %e to i32\n"
                        "output %a\noutput %b\noutput %d\noutput %f\n",
                        0);
}

/* Each type that tensors may have, in and out: what relu leaves of its elements. */
static void test_every_type(void **state) {
  (void)state;
  pz_text text = {0};
  pz_text_append(&text, "graph \"every\"\n");
  for (int t = 0; t < PZ_DTYPES; t++) {
    const char *name = pz_dtype_name((pz_dtype)t);
    if (!pz_type_of_tensors((pz_dtype)t)) continue;
    pz_text_printf(&text, "input %%in_%s 1x5x3x19 %s\n%%f_%s = cast \"f_%s\" %%in_%s\n", name, name, name,
                   name, name);
    pz_text_printf(&text, "%%r_%s = activation \"r_%s\" %%f_%s act relu\n", name, name, name);
    pz_text_printf(&text, "%%out_%s = cast \"out_%s\" %%r_%s to %s\noutput %%out_%s\n", name, name, name,
                   name, name);
  }
  assert_false(text.failed);
  pz_test_compiled_text(text.data, 0);
  pz_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_in), cmocka_unit_test(test_floats_out),
                                     cmocka_unit_test(test_integers_out), cmocka_unit_test(test_classes),
                                     cmocka_unit_test(test_every_type)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
