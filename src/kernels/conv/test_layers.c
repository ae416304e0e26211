/* Algorithms of convolution whose shapes are not constant here, a row each, in the frame of test_frame.h; tests/plan and tests/networks run
 * the kernels as generated code has them. Beside the frame: what is not finite shows where it is seen, and only there; inputs that are a
 * power of two larger give results that are, to the bit, where a row promises it. */
#include "kernels/conv/test_frame.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/deconv/deconv.h"

#if defined(__AMX_BF16__) || defined(__AMXBF16__) || defined(PZ_EMULATED_TILES) /* gcc's name, clang 14's */
#include "kernels/conv_bf16x3/test_rows_bf16x3.h"
#define TEST_ROWS   TEST_BF16X3_ROWS, TEST_BF16X2_ROWS
#define TEST_OTHERS TEST_BF16X2_OTHERS
#else
#include "kernels/conv_inner_pairs/test_rows_inner_pairs.h"
#include "kernels/conv_nchw/test_rows_nchw.h"
#include "kernels/fft/test_rows_fft.h"
#include "kernels/winograd_1d/test_rows_winograd_1d.h"
#define TEST_ROWS                                                                                            \
  TEST_WINOGRAD_ROWS, TEST_WINOGRAD_1D_ROWS, TEST_INNER_PAIRS_ROWS, TEST_FFT_ROWS, TEST_NCHW_ROWS
#define TEST_OTHERS TEST_WINOGRAD_OTHERS, TEST_WINOGRAD_1D_OTHERS, TEST_INNER_PAIRS_OTHERS, TEST_FFT_OTHERS
#endif

int main(void) {
  static const test_row *const rows[] = {TEST_ROWS};
  static const struct CMUnitTest others[] = {TEST_OTHERS};
  enum { ROWS = sizeof rows / sizeof *rows, OTHERS = sizeof others / sizeof *others };
  struct CMUnitTest tests[ROWS + OTHERS];
  if (!pz_test_cpu()) return 77;
  for (int i = 0; i < ROWS; ++i)
    tests[i] = (struct CMUnitTest){
        .name = rows[i]->name, .test_func = test_layers_of, .initial_state = (void *)rows[i]};
  memcpy(tests + ROWS, others, sizeof others);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
