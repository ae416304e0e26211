/* kernels.h: the cache of compiled kernels that all tests of a build share: they compile many of the same. */
#ifndef PZ_TESTS_SUPPORT_KERNELS_H
#define PZ_TESTS_SUPPORT_KERNELS_H

#include "emit/emit.h"

/* The options, with the cache in $PZNET_CACHE_DIR, which CTest sets; without one where it is not set. */
pz_emit_options pz_test_with_cache(pz_emit_options options);

/* The C compiler with words that make it fast: kernels are neither inlined nor unrolled, and give the same bits; most of gcc's time goes into that. For
 * instruction sets that are not this machine's own. With PZ_TEST_FLAGS=whole NULL: the compiler as users have it. */
const char *pz_test_quick_compiler(void);

#endif
