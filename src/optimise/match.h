/* match.h: looking for what exporters take apart: functions of one value and normalisations as chains of simple layers.
 * Nothing here changes the graph. Constants of such chains are rounded to float and combined, so that numbers are
 * compared by pz_match_near. */
#ifndef PZ_OPTIMISE_MATCH_H
#define PZ_OPTIMISE_MATCH_H

#include "optimise/rewrite.h"

bool pz_match_near(double a, double b); /* to 1e-6 of b */
/* The node that makes t where its operator is `op`, else NULL. */
const pz_node *pz_match_producer(const pz_rewriter *rw, pz_tensor_id t, pz_op op);
/* The node that makes t where it is that function of one value, else NULL. */
const pz_node *pz_match_activation(const pz_rewriter *rw, pz_tensor_id t, pz_activation_kind kind);
/* The node that makes t where it is an eltwise of two inputs and of that kind (a sum: both coefficients 1), else NULL. */
const pz_node *pz_match_pair(const pz_rewriter *rw, pz_tensor_id t, pz_eltwise_kind kind);
/* t is a constant all of whose elements are *value. */
bool pz_match_uniform(const pz_graph *g, pz_tensor_id t, float *value);

/* t is scale*x + shift, by power layers of exponent 1. */
typedef struct pz_affine {
  pz_tensor_id x;
  double scale, shift;
} pz_affine;
pz_affine pz_match_affine(const pz_rewriter *rw, pz_tensor_id t); /* with x as far up as it goes */
/* The same with one layer less or more: false where t is made by no such layer. t becomes x. */
bool pz_match_affine_step(const pz_rewriter *rw, pz_affine *a);
/* With a given x; false where t is not of that form. */
bool pz_match_affine_of(const pz_rewriter *rw, pz_tensor_id t, pz_tensor_id x, double scale, double shift);
/* t is x to the power of n (2 or 3): by a power layer, or by products. */
bool pz_match_monomial(const pz_rewriter *rw, pz_tensor_id t, pz_tensor_id x, int n);

#endif
