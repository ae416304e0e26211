/* shift.h: S consecutive lanes out of the 2*S of two vectors: one or two instructions when the shift is a constant. */
#ifndef PZ_KERNELS_COPY_SHIFT_H
#define PZ_KERNELS_COPY_SHIFT_H

#include "kernels/vec.h"

#define PZ_FROM_4(r) (r), (r) + 1, (r) + 2, (r) + 3
#if PZ_S == 4
#define PZ_FROM(r)     PZ_FROM_4(r)
#define PZ_SHIFTS(ROW) ROW(0) ROW(1) ROW(2) ROW(3)
#elif PZ_S == 8
#define PZ_FROM(r)     PZ_FROM_4(r), PZ_FROM_4((r) + 4)
#define PZ_SHIFTS(ROW) ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#else
#define PZ_FROM(r) PZ_FROM_4(r), PZ_FROM_4((r) + 4), PZ_FROM_4((r) + 8), PZ_FROM_4((r) + 12)
#define PZ_SHIFTS(ROW)                                                                                       \
  ROW(0)                                                                                                     \
  ROW(1)                                                                                                     \
  ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
#endif

/* Lane l is lane l + r of (a, b); r is a literal, 0 <= r < S. PZ_SHIFTS(ROW) is one row for each r. */
#define PZ_SHIFT(a, b, r) __builtin_shufflevector(a, b, PZ_FROM(r))

#endif
