/* Operators that move values, resize and pool, in odd shapes, on every instruction set of this machine. They round a
 * few times at most: a relative error of 1e-6 is enough. */
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_compiled(void **state) {
  (void)state;
  pz_test_collected(1e-6);
}

static void test_resize(void **state) {
  (void)state;
  pz_test_collect(
      "graph \"resize\"\n"
      "input %x 2x19x3x5x7\n"
      "input %line 1x3x9\n"
      "const %w 5x38x3x3x3 = seed 1 scale 0.05\n"
      "%a = resize \"a\" %x kind linear size 6,10,14\n"
      "%b = resize \"b\" %x kind linear size 5,4,9 coordinate align_corners\n"
      "%c = resize \"c\" %x kind linear size 3,10,14 coordinate pytorch_half_pixel\n"
      "%d = resize \"d\" %x kind linear size 1,3,8 coordinate asymmetric scale 0.5,0.7,1.3\n"
      "%e = resize \"e\" %x size 6,10,14 coordinate asymmetric rounding floor\n"
      "%f = resize \"f\" %x size 4,7,5 rounding prefer_ceil\n"
      "%g = resize \"g\" %line kind linear size 1,1,18\n"
      "%h = concat \"h\" %a, %e\n" /* written in place where blocks allow, and read with a border */
      "%i = conv \"i\" %h, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
      "output %b\noutput %c\noutput %d\noutput %f\noutput %g\noutput %i\n");
}

static void test_pad(void **state) {
  (void)state;
  pz_test_collect("graph \"extend\"\n"
                  "input %x 2x19x3x5x7\n"
                  "input %m 5x33\n"
                  "const %w 5x19x3x3x3 = seed 1 scale 0.05\n"
                  "%a = pad \"a\" %x kind constant value 0.5 lo 0,0,1,0,2 hi 0,0,0,3,1\n"
                  "%b = pad \"b\" %x kind reflect lo 0,0,2,4,6 hi 1,0,1,3,2\n"
                  "%c = pad \"c\" %x kind edge lo 0,2,0,0,3 hi 0,0,0,0,20\n"
                  "%d = pad \"d\" %x kind wrap lo 0,0,0,0,8 hi 2,19,0,0,14\n"
                  "%e = pad \"e\" %m kind constant value -1 lo 1,0 hi 0,3\n"
                  "%f = conv \"f\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                  "%g = reshape \"g\" %x shape 2x19x3x5x7x1\n"
                  "%h = pad \"h\" %g kind wrap hi 0,0,0,0,0,2\n"
                  "%i = reshape \"i\" %h shape 2x19x3x5x21\n"
                  "output %b\noutput %c\noutput %d\noutput %e\noutput %f\noutput %i\n");
}

static void test_steps(void **state) {
  (void)state;
  pz_test_collect("graph \"steps\"\n"
                  "input %x 2x19x3x5x70\n"
                  "%a = crop \"a\" %x offset 0,0,2,0,69 size 2,19,3,3,70 step 1,1,-1,2,-1\n"
                  "%b = crop \"b\" %x offset 1,18,1,0,3 size 2,7,1,5,12 step -1,-2,1,1,5\n"
                  "%c = reshape \"c\" %x shape 2x19x3x5x7x10\n"
                  "%d = crop \"d\" %c offset 0,3,0,0,0,9 size 1,2,3,5,7,10 step 1,9,1,1,1,-1\n"
                  "%e = crop \"e\" %x offset 0,1,0,0,0 size 2,16,3,5,70\n"
                  "%f = reshape \"f\" %d shape 6x5x70\n"
                  "output %a\noutput %b\noutput %e\noutput %f\n");
}

static void test_gather(void **state) {
  (void)state;
  pz_test_collect("graph \"gather\"\n"
                  "input %x 2x19x3x5x7\n"
                  "input %m 5x33\n"
                  "%a = gather \"a\" %x axis 4 index 0,1,1,2,2,3,6,5,4,0\n"
                  "%b = gather \"b\" %a axis 3 index 4,0,0\n"
                  "%c = gather \"c\" %x axis 1 index 18,3,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,0\n"
                  "%d = gather \"d\" %m axis 0 index 3,3,0\n"
                  "%e = gather \"e\" %m axis 1 index 5,7,9,11,2,32,31\n"
                  "%f = reshape \"f\" %x shape 2x19x3x5x7x1\n"
                  "%g = gather \"g\" %f axis 3 index 1,0,4,4\n"
                  "%h = reshape \"h\" %g shape 2x19x3x28\n"
                  "output %b\noutput %c\noutput %d\noutput %e\noutput %h\n");
}

static void test_permute(void **state) {
  (void)state;
  pz_test_collect("graph \"permute\"\n"
                  "input %x 2x24x3x4x6\n"
                  "input %colours 1x17x23x3\n"
                  "%a = permute \"a\" %x order 0,2,3,4,1\n"
                  "%b = permute \"b\" %x order 4,1,0,3,2\n"
                  "%c = permute \"c\" %colours order 0,3,1,2\n"
                  "%d = reshape \"d\" %x shape 2x2x12x3x2x2x3x2\n"
                  "%e = permute \"e\" %d order 0,2,1,3,6,4,7,5\n"
                  "%f = reshape \"f\" %e shape 2x24x3x24\n"
                  "%g = depth_to_space \"g\" %x block 2,1,3 columns_first\n"
                  "%h = depth_to_space \"h\" %x block 1,2,2\n"
                  "%i = depth_to_space \"i\" %x block 1,2,3 inverse\n"
                  "%j = depth_to_space \"j\" %x block 3,4,2 inverse columns_first\n"
                  "input %deep 1x256x1x3x5\n"
                  "%k = depth_to_space \"k\" %deep block 2,2,2 columns_first\n"
                  "%l = depth_to_space \"l\" %deep block 1,2,2\n" /* whole blocks of channels */
                  "%m = depth_to_space \"m\" %k block 1,2,2 inverse columns_first\n"
                  "output %k\noutput %l\noutput %m\n"
                  "output %a\noutput %b\noutput %c\noutput %f\noutput %g\noutput %h\noutput %i\noutput %j\n");
}

static void test_pool(void **state) {
  (void)state;
  pz_test_collect(
      "graph \"pool\"\n"
      "input %x 2x19x6x15x17\n"
      "input %line 2x5x31\n"
      "%a = pool \"a\" %x kernel 2,3,3 stride 1,2,1 dilation 2,1,3 pad 1,1,2:0,1,3\n"
      "%b = pool \"b\" %x kind ave divisor valid kernel 2,3,3 stride 2,2,2 dilation 1,2,2 pad 0,1,2:1,1,2 "
      "ceil\n"
      "%c = pool \"c\" %x kind ave kernel 2,3,3 stride 1,2,3 pad 0,1,1:0,1,1 ceil\n"
      "%d = pool \"d\" %x kind ave divisor kernel kernel 1,7,7 pad 0,3,3:0,3,3\n"
      "%e = pool \"e\" %x kernel 3,5,5 stride 2,1,1 pad 0,2,2:0,2,2\n"
      "%f = pool \"f\" %x kind ave kernel 6,15,17\n"
      "%g = pool \"g\" %line kernel 1,1,5 stride 1,1,2 pad 0,0,2:0,0,2 ceil\n"
      "output %a\noutput %b\noutput %c\noutput %d\noutput %e\noutput %f\noutput %g\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_resize),  cmocka_unit_test(test_pad),
                                     cmocka_unit_test(test_steps),   cmocka_unit_test(test_permute),
                                     cmocka_unit_test(test_pool),    cmocka_unit_test(test_gather),
                                     cmocka_unit_test(test_compiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
