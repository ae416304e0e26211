/* wide.h: loops over voxels and sums of the reference, for each width of vectors that a CPU may have; without contraction all give the same bits. */
#ifndef PZ_BASE_WIDE_H
#define PZ_BASE_WIDE_H

/* The sanitizers start after what chooses among the versions. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined __SANITIZE_ADDRESS__ &&         \
    !defined __SANITIZE_THREAD__
#define PZ_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PZ_WIDE
#endif

#endif
