/* fixture.h: one layer, its operands and its results, for tests of single operators. */
#ifndef TESTS_REFERENCE_FIXTURE_H
#define TESTS_REFERENCE_FIXTURE_H

#include "reference/reference.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MAX_OPERANDS = 8 };

typedef struct fixture {
  pz_graph *g;
  pz_error err;
  pz_node node; /* set its attributes before fixture_run */
  pz_tensor_id in[MAX_OPERANDS], out[MAX_OPERANDS];
  const float *inputs[MAX_OPERANDS];
  double *outputs[MAX_OPERANDS];
  int n_out;
} fixture;

#define SHAPE(...)   ((pz_shape){(int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define FLOATS(...)  ((const float[]){__VA_ARGS__})
#define DOUBLES(...) ((const double[]){__VA_ARGS__})

void fixture_begin(fixture *f, pz_op op);
void fixture_end(fixture *f);
/* An operand in a slot: a graph input, or a constant. `data` lives as long as the fixture. */
void fixture_input(fixture *f, int slot, pz_shape shape, const float *data);
void fixture_constant(fixture *f, int slot, pz_shape shape, const float *data);
/* Adds the layer with its operands, checks the graph and evaluates it. */
void fixture_run(fixture *f, int n_out);
const pz_shape *fixture_shape(const fixture *f, int output);
int64_t fixture_elements(const fixture *f, int output);
/* The output has this shape and these values, to 1e-6 relative to the greatest: the numbers in the tests are written
 * with fewer digits than a double has, and attributes and constants are floats. */
void fixture_expect(const fixture *f, int output, pz_shape shape, const double *values);

/* A seeded generator; the same numbers everywhere. */
typedef struct random_state {
  uint64_t state;
} random_state;
int64_t random_range(random_state *r, int64_t low, int64_t high); /* both included */
float random_float(random_state *r);                              /* -1..1 */
float *random_floats(random_state *r, int64_t n);                 /* caller: free */

#endif
