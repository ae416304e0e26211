/* float_state.h: rounding to nearest, no traps, denormal numbers are zero. Every worker runs in this state, whatever
 * the host's threads are set to, so that results do not depend on who computes them. Denormals (below 1.2e-38) are
 * far below any tolerance and slow the processor down a hundredfold. */
#ifndef PZ_RUNTIME_FLOAT_STATE_H
#define PZ_RUNTIME_FLOAT_STATE_H

#include <stdint.h>

#if defined(__x86_64__)
typedef uint32_t pz_float_state;
static inline pz_float_state pz_float_enter(void) {
  pz_float_state before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(
      0x9fc0); /* MXCSR: all six exceptions masked, flush to zero (15), denormals are zeros (6) */
  return before;
}
static inline void pz_float_leave(pz_float_state before) { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
typedef uint64_t pz_float_state;
static inline void pz_float_leave(pz_float_state before) { __asm__ volatile("msr fpcr, %0" : : "r"(before)); }
static inline pz_float_state pz_float_enter(void) {
  pz_float_state before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  pz_float_leave(
      UINT64_C(1) << 24); /* FPCR: no traps, to nearest, flush to zero, operands and results (FZ, 24) */
  return before;
}
#else
typedef int pz_float_state;
static inline pz_float_state pz_float_enter(void) { return 0; }
static inline void pz_float_leave(pz_float_state before) { (void)before; }
#endif

#endif
