/* profile.h: how long each step of a network takes. */
#ifndef PZ_RUNTIME_PROFILE_H
#define PZ_RUNTIME_PROFILE_H

#include "pznet/pznet.h"
#include "runtime/runtime.h"

/* Runs the network `runs` times and fills a row for each step, with its median time over the runs. */
pz_status pz_runtime_profile(struct pz_net *net, const void *const *inputs, void *const *outputs,
                             int32_t runs, pz_step_profile *steps, pz_error *err);

#endif
