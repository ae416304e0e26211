/* candidates.c: the candidates of a problem on a target: all solvers of its operator that apply, with all their parameters. */
#include "choose/choose.h"

#include <string.h>

#define SOLVER(id) extern const pz_solver pz_solver_##id;
#include "choose/solvers.inc"
#undef SOLVER

static const pz_solver *const solvers[] = {
#define SOLVER(id) &pz_solver_##id,
#include "choose/solvers.inc"
#undef SOLVER
};

/* The cheapest first; of equal cost the first of solvers.inc. */
static void insert(pz_candidates *to, const pz_candidate *c) {
  int32_t at = to->n++;
  for (; at > 0 && c->cost < to->list[at - 1].cost; at--) to->list[at] = to->list[at - 1];
  to->list[at] = *c;
}

/* Forms of operators that no solver knows yet: who teaches one takes its line away. */
static bool unknown_form(const pz_problem *p) {
  const bool any_rank = p->op == PZ_OP_RESHAPE || p->op == PZ_OP_PERMUTE || p->op == PZ_OP_PAD ||
                        p->op == PZ_OP_CROP || p->op == PZ_OP_ACTIVATION || p->op == PZ_OP_POWER ||
                        p->op == PZ_OP_ELTWISE || p->op == PZ_OP_GATHER || p->op == PZ_OP_CUMSUM ||
                        p->op == PZ_OP_GATHER_ROWS;
  for (int32_t i = 0; i < p->n_in && !any_rank; i++)
    if (p->in[i].present && p->in[i].shape.rank > 5) return true;
  for (int32_t i = 0; i < p->n_out && !any_rank; i++)
    if (p->out[i].shape.rank > 5) return true;
  return false;
}

/* Of several with one label the first stands for all. */
static bool is_known(const pz_candidates *known, const char *label) {
  for (int32_t i = 0; i < known->n; i++)
    if (!strcmp(known->list[i].label, label)) return true;
  return false;
}

/* Each candidate of a convolution is a step, and reads and writes what is there at least. */
static void add_any(const pz_query *q, pz_work *work) {
  const pz_operand *x = &q->problem->in[PZ_CONV_X], *y = &q->problem->out[0];
  const double bytes = 4 * (double)(pz_shape_elements(&x->shape) + pz_shape_elements(&y->shape)),
               near = (double)q->target->caches.l2 * (q->target->workers > 0 ? q->target->workers : 1);
  work->of[PZ_TERM_any_step] = 1;
  work->of[PZ_TERM_any_far] = bytes > near ? (bytes - near) / 64 : 0;
}

void pz_candidate_work(const pz_solver *solver, const pz_query *q, pz_work *work) {
  *work = (pz_work){{0}};
  if (!solver->work) return;
  add_any(q, work);
  solver->work(q, work);
}

static double cost_of(const pz_solver *solver, const pz_query *q) {
  pz_work work;
  if (!solver->work) return solver->rank;
  pz_candidate_work(solver, q, &work);
  return pz_cost_of_work(pz_target_cost_model(q->target), &work) * (solver->uneven ? solver->uneven(q) : 1);
}

static pz_status consider(const pz_solver *solver, const pz_query *q, pz_arena *arena, pz_candidates *to,
                          pz_error *err) {
  const pz_op op = q->problem->op;
  char text[PZ_LABEL_TEXT];
  pz_candidate c = {.solver = solver, .parameters = q->parameters, .label = solver->name};
  if (solver->applies && !solver->applies(q)) return PZ_OK;
  if (solver->weight_bytes) c.weights = solver->weight_bytes(q);
  c.cost = cost_of(solver, q);
  if (op == PZ_OP_CONV || op == PZ_OP_DECONV) c.error = PZ_SUM_ERROR;
  if (solver->describe) {
    solver->describe(q, text, &c.error);
    if (is_known(to, text)) return PZ_OK;
    c.label = pz_arena_strdup(arena, text);
    if (!c.label) return pz_fail_memory(err, "the plan", sizeof text);
  }
  insert(to, &c);
  return PZ_OK;
}

static int32_t variants_of(const pz_solver *s) { return s->variants ? s->variants : 1; }

pz_status pz_candidates_of(const pz_problem *problem, const pz_target *target, pz_arena *arena,
                           pz_candidates *to, pz_error *err) {
  pz_query q = {.problem = problem, .target = target};
  size_t most = 1;
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    if (solvers[i]->op == problem->op) most += (size_t)variants_of(solvers[i]);
  *to = (pz_candidates){.list = PZ_NEW(arena, pz_candidate, most)};
  if (!to->list) return pz_fail_memory(err, "the plan", most * sizeof(pz_candidate));
  if (unknown_form(problem)) return PZ_OK;
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    for (int32_t v = 0; solvers[i]->op == problem->op && v < variants_of(solvers[i]); v++) {
      pz_parameters parameters = {{solvers[i]->choices ? solvers[i]->choices[v] : 0}};
      q.parameters = (pz_parameters){{0}};
      if (solvers[i]->vary && !solvers[i]->vary(&q, v, &parameters)) continue;
      q.parameters = parameters;
      PZ_TRY(consider(solvers[i], &q, arena, to, err));
    }
  return PZ_OK;
}
