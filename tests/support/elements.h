/* elements.h: numbers as elements of a type in memory, by the definition of the type; slow and plain. */
#ifndef PZ_TESTS_SUPPORT_ELEMENTS_H
#define PZ_TESTS_SUPPORT_ELEMENTS_H

#include "graph/graph.h"

/* Elements in memory, and the numbers that they stand for (graph.h). Encoding takes numbers that elements stand for. */
void pz_test_encode(pz_element element, const float *values, int64_t n, void *out);
void pz_test_decode(pz_element element, const void *in, int64_t n, float *values);
/* Numbers in [-1, 1) become such as elements stand for: over all of an integer's range; else the nearest in front of it. */
void pz_test_settle(pz_element element, int64_t n, float *values);

#endif
