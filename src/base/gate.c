#include "base/gate.h"
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void futex(_Atomic uint32_t *word, int operation, uint32_t value) {
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Sleeper: sleepers++, read value, sleep. Opener: value++, read sleepers, wake. All four are sequentially consistent,
 * so that either the opener sees the sleeper or the sleeper sees the new value; and the kernel compares the value
 * once more before it puts the thread to sleep. */
static void sleep_until_open(pz_gate *gate, uint32_t seen) {
  atomic_fetch_add(&gate->sleepers, 1);
  while (atomic_load(&gate->value) == seen) futex(&gate->value, FUTEX_WAIT, seen);
  atomic_fetch_sub_explicit(&gate->sleepers, 1, memory_order_relaxed);
}

void pz_gate_wait(pz_gate *gate, uint32_t seen, int spins) {
  for (int i = 0; i < spins; i++) {
    if (atomic_load_explicit(&gate->value, memory_order_acquire) != seen) return;
    relax();
  }
  sleep_until_open(gate, seen);
}

void pz_gate_open(pz_gate *gate) {
  atomic_store(&gate->value, atomic_load_explicit(&gate->value, memory_order_relaxed) + 1);
  if (atomic_load(&gate->sleepers) > 0) futex(&gate->value, FUTEX_WAKE, INT_MAX);
}
