/* huge.h: pages of 2 MiB, which the processor finds faster than those of 4 KiB. */
#ifndef PZ_BASE_HUGE_H
#define PZ_BASE_HUGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define PZ_HUGE_PAGE ((size_t)2 << 20)

/* The first byte from `at` on that a huge page may begin with. */
static inline char *pz_huge_align(char *at) {
  return at + (PZ_HUGE_PAGE - (uintptr_t)at % PZ_HUGE_PAGE) % PZ_HUGE_PAGE;
}

/* Asks for huge pages where `bytes` bytes from `at` on are first written; no is no failure. */
static inline void pz_huge_advise(void *at, size_t bytes) { (void)madvise(at, bytes, MADV_HUGEPAGE); }

#endif
