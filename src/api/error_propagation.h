/* error_propagation.h: how much of a layer's error the result of a network has. */
#ifndef PZ_API_ERROR_PROPAGATION_H
#define PZ_API_ERROR_PROPAGATION_H

#include "api/api.h"

/* Writes to error_propagation[node] how many times the relative L2 error of that convolution's or deconvolution's sums is found in the
 * network's results (the largest of them), for the nodes whose candidates have different errors; leaves the others. `network` is
 * `plan`'s network file, which this machine can run, `wanted` the options that the plan was made with. Runs it once as it is, and once for
 * each of these layers with noise on the layer's weights; for `seconds`, those that cost most first, so that others may be left. Weights in
 * the file are what they were, but after a failure. tick(host) is called before each run. */
pz_status pz_measure_error_propagation(const pz_plan *plan, const pz_plan_options *wanted,
                                       const char *network, pz_status (*tick)(void *host, pz_error *err),
                                       void *host, double seconds, double *error_propagation, pz_error *err);

#endif
