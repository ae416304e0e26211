/* flow.c: which steps' results each step reads. A tensor without a step of its own (a view, a concatenation that is written in
 * place) stands for what it is made of. */
#include "emit/emit.h"

enum { UNKNOWN = INT32_MIN };

typedef struct flow {
  const pz_plan *plan;
  pz_arena *arena;
  int32_t *maker;          /* by tensor: a step, input i as -1 - i, UNKNOWN where no step makes it */
  pz_node_id *producer;    /* by tensor */
  int32_t *asked;          /* by tensor: the last question that it was part of */
  pz_tensor_id *stack;     /* at most n_tensors: each is pushed once a question */
  int32_t *found, n_found; /* at most n_tensors */
  int32_t question;
} flow;

static pz_status begin(flow *f, pz_error *err) {
  const pz_graph *g = f->plan->graph;
  const size_t n = (size_t)g->n_tensors + 1;
  f->maker = PZ_NEW(f->arena, int32_t, n);
  f->producer = PZ_NEW(f->arena, pz_node_id, n);
  f->asked = PZ_NEW(f->arena, int32_t, n);
  f->stack = PZ_NEW(f->arena, pz_tensor_id, n);
  f->found = PZ_NEW(f->arena, int32_t, n);
  if (!f->maker || !f->producer || !f->asked || !f->stack || !f->found)
    return pz_fail_memory(err, "the manifest", n * 20);
  for (int32_t t = 0; t < g->n_tensors; t++) f->maker[t] = UNKNOWN, f->producer[t] = PZ_NONE;
  for (int32_t i = 0; i < g->n_inputs; i++) f->maker[g->inputs[i]] = -1 - i;
  for (pz_node_id i = 0; i < g->n_nodes; i++)
    for (int32_t k = 0; k < g->nodes[i].n_out; k++) f->producer[g->nodes[i].out[k]] = i;
  return PZ_OK;
}

static void ask(flow *f, pz_tensor_id id, int32_t *depth) {
  if (id == PZ_NONE || f->plan->graph->tensors[id].data || f->asked[id] == f->question) return;
  f->asked[id] = f->question;
  f->stack[(*depth)++] = id;
}

static void find(flow *f, pz_tensor_id id) {
  int32_t depth = 0;
  ask(f, id, &depth);
  while (depth) {
    const pz_tensor_id t = f->stack[--depth];
    const pz_node_id from = f->producer[t];
    if (f->maker[t] != UNKNOWN) f->found[f->n_found++] = f->maker[t];
    else if (from != PZ_NONE)
      for (int32_t i = 0; i < f->plan->graph->nodes[from].n_in; i++)
        ask(f, f->plan->graph->nodes[from].in[i], &depth);
  }
}

static pz_status keep(flow *f, pz_sources *out, pz_error *err) {
  out->of = PZ_NEW(f->arena, int32_t, (size_t)f->n_found + 1);
  if (!out->of) return pz_fail_memory(err, "the manifest", (size_t)f->n_found * 4);
  for (int32_t i = 0; i < f->n_found; i++) out->of[i] = f->found[i];
  out->n = f->n_found;
  f->n_found = 0;
  f->question++;
  return PZ_OK;
}

/* A conversion reads and makes one tensor, which its step is named after. */
static void visit_step(flow *f, int32_t i) {
  const pz_graph *g = f->plan->graph;
  const pz_step *s = &f->plan->steps[i];
  if (s->node == PZ_NONE) {
    const pz_tensor_id id = pz_graph_find_tensor(g, s->name);
    find(f, id);
    if (id != PZ_NONE) f->maker[id] = i;
    return;
  }
  for (int32_t k = 0; k < g->nodes[s->node].n_in; k++) find(f, g->nodes[s->node].in[k]);
  for (int32_t k = 0; k < g->nodes[s->node].n_out; k++) f->maker[g->nodes[s->node].out[k]] = i;
}

pz_status pz_emit_flow(const pz_plan *plan, pz_arena *arena, pz_sources **steps, pz_sources **outputs,
                       pz_error *err) {
  flow f = {.plan = plan, .arena = arena, .question = 1};
  PZ_TRY(begin(&f, err));
  *steps = PZ_NEW(arena, pz_sources, (size_t)plan->n_steps + 1);
  *outputs = PZ_NEW(arena, pz_sources, (size_t)plan->graph->n_outputs + 1);
  if (!*steps || !*outputs)
    return pz_fail_memory(err, "the manifest", (size_t)plan->n_steps * sizeof **steps);
  for (int32_t i = 0; i < plan->n_steps; i++) {
    visit_step(&f, i);
    PZ_TRY(keep(&f, &(*steps)[i], err));
  }
  for (int32_t i = 0; i < plan->graph->n_outputs; i++) {
    find(&f, plan->graph->outputs[i]);
    PZ_TRY(keep(&f, &(*outputs)[i], err));
  }
  return PZ_OK;
}
