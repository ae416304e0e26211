/* Algorithms of convolution whose shapes are not constant here, a row each, in the frame of test_frame.h; tests/plan and tests/networks run
 * the kernels as generated code has them. Beside the frame: what is not finite shows where it is seen, and only there; inputs that are a
 * power of two larger give results that are, to the bit, where a row promises it. */
#include "kernels/conv/deconv.h"
#include "kernels/conv/pack.h"
#include "kernels/conv/test_frame.h"

#if defined(__AMX_BF16__) || defined(__AMXBF16__) /* gcc's name, clang 14's */
#include "kernels/conv/test_rows_amx.h"
#else
#include "kernels/fft/test_rows_fft.h"
#include "kernels/winograd/test_rows_winograd.h"
#define TEST_ROWS   TEST_WINOGRAD_ROWS, TEST_FFT_ROWS
#define TEST_OTHERS TEST_WINOGRAD_OTHERS, TEST_FFT_OTHERS
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
