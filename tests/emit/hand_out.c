/* hand_out.c: a function that hands out chunks in place of the run loop's (PZ_RUN_NEXT in emit/run_loop.h): a worker's own alone, the last one first. */
#include "network_abi.h"
#include <stdatomic.h>

_Atomic int asked_for; /* chunks */
typedef int32_t next_chunk_of(const pz_abi_call *r, int32_t call, int32_t worker, int32_t workers);
int32_t hand_out(next_chunk_of *ours, int32_t chunks, const pz_abi_call *r, int32_t call, int32_t worker,
                 int32_t workers);

int32_t hand_out(next_chunk_of *ours, int32_t chunks, const pz_abi_call *r, int32_t call, int32_t worker,
                 int32_t workers) {
  static _Thread_local int32_t taken;
  const int32_t each = chunks / workers;
  (void)ours, (void)r, (void)call;
  atomic_fetch_add(&asked_for, 1);
  if (taken < each) return worker * each + each - 1 - taken++;
  taken = 0;
  return -1;
}
