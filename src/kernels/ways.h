/* ways.h: code that only some shapes of a kernel take. A kernel's functions are inlined into one another before a compiler knows the shape's
 * constants, and most of the time that it takes goes into code that turns out to be dead (doc/compile-time.md). So a file of kernels says beforehand which
 * ways these take: as a mask, PZ_FAMILY_WAYS, in front of the kernels' headers. What stands behind PZ_MAY(FAMILY, way) is left out where no kernel of the
 * file takes it, and the condition itself stands beside it:
 *
 *   if (PZ_MAY(FAMILY, SLICED) && s->sliced) ...
 *
 * (By PZ_MAY and PZ_MAY_BIT the generator finds headers that have a family's code: emit/source.c.)
 * Without a mask a file has all ways: tests and benchmarks say nothing. Each family has a function of the shape that tells its ways, from which the
 * generator makes masks (plan/builder.h, pz_call_ways), and each kernel begins with PZ_WAYS_CHECK: a shape that takes others stops the process, it is
 * never computed without them. For shapes that are constants nothing is left of the check. */
#ifndef PZ_KERNELS_WAYS_H
#define PZ_KERNELS_WAYS_H

#include <stdint.h>

/* A literal for the compiler: what it guards is gone before functions are inlined. */
#define PZ_MAY(family, way)     PZ_MAY_BIT(family, PZ_##family##_WAY_##way)
#define PZ_MAY_BIT(family, bit) (PZ_##family##_WAYS >> (bit)&1u)

#define PZ_WAY(family, way, takes) ((uint32_t)((takes) != 0) << PZ_##family##_WAY_##way)

#define PZ_WAYS_CHECK(family, ways)                                                                          \
  do                                                                                                         \
    if ((ways) & ~(uint32_t)(PZ_##family##_WAYS)) __builtin_trap();                                          \
  while (0)

#define PZ_ALL_WAYS 0xffffffffu

#endif
