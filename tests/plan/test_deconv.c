/* Deconvolutions as MONAI and nnU-Net have them, and others: each step must be a kernel of vectors, each result right to
 * direct sums' error (some hundred products: 2e-6). */
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_compiled(void **state) {
  (void)state;
  pz_test_collected(2e-6);
}

static void test_volumes(void **state) {
  (void)state;
  pz_test_collect(
      "graph \"deconvolutions of volumes\"\n"
      "input %x 1x34x3x5x7\n"
      "const %w3 34x17x3x3x3 = seed 1 scale 0.1\n"
      "const %w2 34x18x2x2x2 = seed 2 scale 0.1\n"
      "const %w4 34x16x4x4x4 = seed 3 scale 0.1\n"
      "const %flat 34x17x1x2x2 = seed 4 scale 0.1\n"
      "const %groups 34x8x3x3x3 = seed 5 scale 0.1\n"
      "const %each 34x1x3x3x3 = seed 6 scale 0.1\n"
      "const %one 34x1x3x3x3 = seed 7 scale 0.1\n"
      "const %bias 17 = seed 8 scale 1\n"
      "%a = deconv \"a\" %x, %w3, %bias kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1 output_pad 1,1,1 act relu\n"
      "%b = deconv \"b\" %x, %w2 kernel 2,2,2 stride 2,2,2\n"
      "%c = deconv \"c\" %x, %w4 kernel 4,4,4 stride 2,2,2 pad 1,1,1:1,1,1\n"
      "%d = deconv \"d\" %x, %w3 kernel 3,3,3 stride 1,2,2 pad 1,1,1:1,1,1 output_pad 0,1,1\n"
      "%e = deconv \"e\" %x, %flat, %bias kernel 1,2,2 stride 1,2,2\n"
      "%f = deconv \"f\" %x, %groups kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1 output_pad 1,1,1 group 2\n"
      "%g = deconv \"g\" %x, %each kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1 output_pad 1,0,1 group 34\n"
      "%h = deconv \"h\" %x, %w3 kernel 3,3,3 stride 3,2,1 dilation 2,1,2 pad 2,0,1:1,1,2 output_pad 2,1,0\n"
      "%i = deconv \"i\" %x, %one kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1 output_pad 1,1,1\n"
      "output %a\noutput %b\noutput %c\noutput %d\noutput %e\noutput %f\noutput %g\noutput %h\noutput %i\n");
}

static void test_fewer_dimensions(void **state) {
  (void)state;
  pz_test_collect("graph \"deconvolutions of images and lines\"\n"
                  "input %x 2x18x5x7\n"
                  "input %line 2x18x11\n"
                  "const %w 18x33x3x3 = seed 1 scale 0.1\n"
                  "const %w2 18x5x2x2 = seed 2 scale 0.1\n"
                  "const %wl 18x17x4 = seed 3 scale 0.1\n"
                  "const %kl 9x18x5 = seed 4 scale 0.1\n"
                  "%a = deconv \"a\" %x, %w kernel 1,3,3 stride 1,2,2 pad 0,1,1:0,1,1 output_pad 0,1,1\n"
                  "%b = deconv \"b\" %x, %w2 kernel 1,2,2 stride 1,2,2\n"
                  "%c = deconv \"c\" %line, %wl kernel 1,1,4 stride 1,1,2 pad 0,0,1:0,0,1\n"
                  "%d = conv \"d\" %line, %kl kernel 1,1,5 stride 1,1,2 dilation 1,1,2 pad 0,0,4:0,0,4\n"
                  "output %a\noutput %b\noutput %c\noutput %d\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_volumes), cmocka_unit_test(test_fewer_dimensions),
                                     cmocka_unit_test(test_compiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
