/* gate.h: a number that threads wait to see change: they spin for a while, then sleep on a futex. */
#ifndef PZ_BASE_GATE_H
#define PZ_BASE_GATE_H

#include <stdatomic.h>
#include <stdint.h>

/* `value` and `sleepers` share a cache line: whoever opens the gate needs both. */
typedef struct pz_gate {
  _Alignas(128) _Atomic uint32_t value; /* 128: pairs of lines are fetched together */
  _Atomic uint32_t sleepers;
} pz_gate;

/* Returns once the value is no longer `seen`; looks `spins` times before it sleeps. What was written before the gate
 * was opened is visible then. */
void pz_gate_wait(pz_gate *gate, uint32_t seen, int spins);

/* Adds one to the value and wakes all who sleep. One opener at a time. */
void pz_gate_open(pz_gate *gate);

#endif
