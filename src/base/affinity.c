#include "base/affinity.h"
#include <sched.h>
#include <string.h>

/* The kernel's mask may be longer than glibc's cpu_set_t of 1024 cores, and then refuses a shorter one. */
#define MASK_SETS 64
typedef union mask {
  cpu_set_t set[MASK_SETS];
  unsigned long bits[MASK_SETS * sizeof(cpu_set_t) / sizeof(unsigned long)];
} mask;
#define BITS ((int)(8 * sizeof(unsigned long)))

int pz_affinity_cores(int *cores, int size) {
  mask m;
  memset(&m, 0, sizeof m);
  if (sched_getaffinity(0, sizeof m, m.set)) return 0;
  int n = 0;
  for (int core = 0; core < (int)(8 * sizeof m); core++) {
    if (!(m.bits[core / BITS] >> core % BITS & 1)) continue;
    if (n < size) cores[n] = core;
    n++;
  }
  return n;
}

bool pz_affinity_bind(pthread_t thread, int core) {
  mask m;
  memset(&m, 0, sizeof m);
  if (core < 0 || core >= (int)(8 * sizeof m)) return false;
  m.bits[core / BITS] = 1ul << core % BITS;
  return pthread_setaffinity_np(thread, sizeof m, m.set) == 0;
}

void pz_affinity_move(int core) {
  mask before, one;
  memset(&one, 0, sizeof one);
  memset(&before, 0, sizeof before);
  if (core < 0 || core >= (int)(8 * sizeof one) || sched_getaffinity(0, sizeof before, before.set)) return;
  one.bits[core / BITS] = before.bits[core / BITS] & 1ul << core % BITS;
  if (!one.bits[core / BITS] || sched_setaffinity(0, sizeof one, one.set)) return;
  (void)sched_setaffinity(0, sizeof before, before.set);
}
