/* expect.h: what is expected of the values of a graph and of errors on their way to its results, by calculation alone: nothing is run.
 *
 * The type of an input says what its values are: integers from the least to the greatest, all as likely; floats from -1 to 1, as those of the
 * self-test. From them follow the mean and the variance of each channel of each tensor, with the weights as they are, values being independent of
 * each other. With these an error of a channel goes on as differences do: through sums by the squares of their weights, through
 * activations by the mean square of their slope. Errors at different positions have something in common, what is lost of a weight being the same
 * at all of them: of n positions' mean square a mean over them is taken to have 1/sqrt(n), between all and 1/n. Zero borders are left out. */
#ifndef PZ_CHOOSE_EXPECT_H
#define PZ_CHOOSE_EXPECT_H

#include "graph/graph.h"

/* Of a channel. */
typedef struct pz_moments {
  double mean, variance;
} pz_moments;
static inline double pz_mean_square(pz_moments m) { return m.mean * m.mean + m.variance; }

/* act(x) where x is normally distributed: the moments of it, and *slope: the mean square of act'(x). slope_below: PReLU's. */
pz_moments pz_expect_activation(const pz_activation *act, double slope_below, pz_moments x, double *slope);

/* The moments of the greatest of n independent normally distributed values. */
pz_moments pz_expect_greatest(int64_t n, pz_moments x);

/* Softmax, or its logarithm, of n channels at a position: the moments of y; and where gain_y is given, in gain_x what errors of x, by
 * channel, are counted times where those of y are counted times gain_y (squares all). */
pz_status pz_expect_softmax(bool is_log, int32_t n, const pz_moments *x, pz_moments *y, const double *gain_y,
                            double *gain_x, pz_error *err);

/* By node: how much of a layer's relative error the results are expected to have; for convolutions, 1 for others. Where an input is of integers, 2.5 times
 * what is calculated and no less than all of it; else one and a half times that, which is right as far as the values of users are as those of the self-test: what
 * is measured supposes the same. In the arena. */
pz_status pz_expect_error_propagation(const pz_graph *graph, pz_arena *arena, const double **by_node,
                                      pz_error *err);

#endif
