/* linear.h: layers that are y = x*multiply[c] + add[c] for each channel c (PZnet 3.3). */
#ifndef PZ_OPTIMISE_LINEAR_H
#define PZ_OPTIMISE_LINEAR_H

#include "optimise/rewrite.h"

typedef struct pz_linear {
  int64_t channels;
  double *multiply, *add;
} pz_linear;

bool pz_linear_is(const pz_graph *g, const pz_node *node); /* with constants, on a tensor that has channels */
pz_status pz_linear_new(pz_linear *l, int64_t channels,
                        pz_error *err); /* the identity; caller: pz_linear_free */
void pz_linear_free(pz_linear *l);
void pz_linear_then(pz_linear *l, const pz_graph *g, const pz_node *node); /* l becomes node after l */
bool pz_linear_scales(const pz_linear *l);                                 /* some factor is not 1 */
bool pz_linear_shifts(const pz_linear *l);                                 /* some offset is not 0 */
bool pz_linear_fits(const pz_linear *l);                                   /* all numbers are finite floats */

#endif
