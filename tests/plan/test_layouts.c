/* What layouts are to each operator, by its row of graph/ops.inc, is what its solvers read and write (NeoCPU 3.2). */
#include "plan/solver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SOLVER(id) extern const pz_solver pz_solver_##id;
#include "choose/solvers.inc"
#undef SOLVER

static const pz_solver *const solvers[] = {
#define SOLVER(id) &pz_solver_##id,
#include "choose/solvers.inc"
#undef SOLVER
};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* Of an operator: solvers, those that read and write one layout, those that read NCHWc. */
typedef struct counts {
  int all, nchw, nchwc, reading;
} counts;

static counts counts_of(pz_op op) {
  counts c = {0};
  for (int i = 0; i < SOLVERS; i++) {
    const pz_solver *s = solvers[i];
    if (s->op != op) continue;
    c.all++;
    c.nchw += (s->in == PZ_NCHW || s->any_layout) && s->out == PZ_NCHW;
    c.nchwc += (s->in == PZ_NCHWC || s->any_layout) && s->out == PZ_NCHWC;
    c.reading += s->in == PZ_NCHWC || s->any_layout;
  }
  return c;
}

static void test_solvers_hold_to_their_rows(void **state) {
  (void)state;
  for (int op = PZ_OP_NONE + 1; op < PZ_OP_COUNT; op++) {
    const counts c = counts_of((pz_op)op);
    bool good = !c.all; /* a pass lowers it */
    switch (pz_op_get((pz_op)op)->layouts) {
    case PZ_LAYOUT_OBLIVIOUS: good |= c.nchw && c.nchwc; break;
    case PZ_LAYOUT_TOLERANT: good |= c.reading > 0; break;
    case PZ_LAYOUT_DEPENDENT: good |= c.nchw == c.all; break;
    }
    if (!good) fail_msg("%s: its solvers are not what its row says of layouts", pz_op_name((pz_op)op));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_solvers_hold_to_their_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
