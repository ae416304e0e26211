/* compact.c: drops what is dead and sorts the nodes topologically.
 *
 * The order is the lexicographically least topological one over the old indices: Kahn's algorithm that takes the
 * ready node of least index from a binary heap. An order that is topological already is kept. All memory is taken
 * before the first change, so a failure leaves the graph as it was. */
#include "graph/internal.h"
#include <stdio.h>
#include <string.h>

typedef struct sorter {
  const pz_graph *g;
  pz_node_id *producer; /* of each tensor */
  int32_t *first,
      *user; /* users of tensor t: user[first[t]] .. user[first[t + 1] - 1], a node once for each slot */
  int32_t *waiting; /* input slots of each node whose producers have not been placed */
  pz_node_id *heap, *order;
  int32_t n_heap, n_order, n_live;
  pz_tensor_id *moved; /* new index of each tensor */
  pz_node *nodes;      /* the sorted nodes */
} sorter;

static bool alive(const pz_node *node) { return node->op != PZ_OP_NONE; }

static int64_t count_slots(const pz_graph *g) {
  int64_t slots = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) slots += alive(&g->nodes[n]) ? g->nodes[n].n_in : 0;
  return slots;
}

static bool take_room(sorter *s, pz_arena *scratch) {
  size_t tensors = (size_t)s->g->n_tensors, nodes = (size_t)s->g->n_nodes;
  s->producer = PZ_NEW(scratch, pz_node_id, tensors);
  s->first = PZ_NEW(scratch, int32_t, tensors + 2);
  s->user = PZ_NEW(scratch, int32_t, (size_t)count_slots(s->g));
  s->waiting = PZ_NEW(scratch, int32_t, nodes);
  s->heap = PZ_NEW(scratch, pz_node_id, nodes);
  s->order = PZ_NEW(scratch, pz_node_id, nodes);
  s->moved = PZ_NEW(scratch, pz_tensor_id, tensors);
  s->nodes = PZ_NEW(scratch, pz_node, nodes);
  return s->producer && s->first && s->user && s->waiting && s->heap && s->order && s->moved && s->nodes;
}

static pz_status find_producers(sorter *s, pz_error *err) {
  const pz_graph *g = s->g;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) s->producer[t] = PZ_NONE;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    for (int32_t i = 0; alive(node) && i < node->n_out; i++) {
      pz_node_id *producer = &s->producer[node->out[i]];
      if (*producer != PZ_NONE)
        return pz_fail_node(err, node, "layer '%s' makes its output '%s' already", g->nodes[*producer].name,
                            g->tensors[node->out[i]].name);
      *producer = n;
    }
    s->n_live += alive(node);
  }
  return PZ_OK;
}

/* Counts into first[t + 2], sums, and fills so that first[t + 1] ends as the end of t. */
static void find_users(sorter *s) {
  const pz_graph *g = s->g;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; alive(&g->nodes[n]) && i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] != PZ_NONE) s->first[g->nodes[n].in[i] + 2]++;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) s->first[t + 2] += s->first[t + 1];
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; alive(&g->nodes[n]) && i < g->nodes[n].n_in; i++) {
      pz_tensor_id t = g->nodes[n].in[i];
      if (t == PZ_NONE) continue;
      s->user[s->first[t + 1]++] = n;
      s->waiting[n] += s->producer[t] != PZ_NONE;
    }
}

static void heap_push(sorter *s, pz_node_id n) {
  int32_t i = s->n_heap++;
  for (; i > 0 && s->heap[(i - 1) / 2] > n; i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = n;
}

static pz_node_id heap_pop(sorter *s) {
  pz_node_id least = s->heap[0], last = s->heap[--s->n_heap];
  int32_t i = 0;
  for (int32_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
    if (child + 1 < s->n_heap && s->heap[child + 1] < s->heap[child]) child++;
    if (s->heap[child] >= last) break;
    s->heap[i] = s->heap[child];
  }
  s->heap[i] = last;
  return least;
}

static void place(sorter *s, pz_node_id n) {
  const pz_node *node = &s->g->nodes[n];
  s->order[s->n_order++] = n;
  for (int32_t i = 0; i < node->n_out; i++)
    for (int32_t u = s->first[node->out[i]]; u < s->first[node->out[i] + 1]; u++)
      if (--s->waiting[s->user[u]] == 0) heap_push(s, s->user[u]);
}

static void sort(sorter *s) {
  for (pz_node_id n = 0; n < s->g->n_nodes; n++)
    if (alive(&s->g->nodes[n]) && s->waiting[n] == 0) heap_push(s, n);
  while (s->n_heap) place(s, heap_pop(s));
}

/* A producer of one of n's inputs that waits too; there is one when n waits. */
static pz_node_id waiting_producer(const sorter *s, pz_node_id n) {
  const pz_node *node = &s->g->nodes[n];
  for (int32_t i = 0; i < node->n_in; i++) {
    pz_node_id producer = node->in[i] == PZ_NONE ? PZ_NONE : s->producer[node->in[i]];
    if (producer != PZ_NONE && s->waiting[producer] > 0) return producer;
  }
  return PZ_NONE;
}

/* Walks backwards from a waiting node until it has surely entered a cycle, then once around it. */
static pz_status fail_cycle(const sorter *s, pz_error *err) {
  const pz_graph *g = s->g;
  pz_node_id n = 0;
  while (!(alive(&g->nodes[n]) && s->waiting[n] > 0)) n++;
  for (int32_t i = 0; i < g->n_nodes; i++) n = waiting_producer(s, n);
  char path[512] = "";
  size_t length = 0;
  pz_node_id at = n;
  do {
    at = waiting_producer(s, at);
    int more = snprintf(path + length, sizeof path - length, " <- '%s'", g->nodes[at].name);
    length += (size_t)more;
  } while (at != n && length < sizeof path);
  if (length >= sizeof path) memcpy(path + sizeof path - 4, "...", 4);
  return pz_fail_node(err, &g->nodes[n], "its input depends on its own output: '%s'%s", g->nodes[n].name,
                      path);
}

/* Marks the tensors that something refers to with 0, the others with PZ_NONE, then numbers the marked ones. */
static int32_t number_tensors(sorter *s) {
  const pz_graph *g = s->g;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) s->moved[t] = PZ_NONE;
  for (int32_t i = 0; i < g->n_inputs; i++) s->moved[g->inputs[i]] = 0;
  for (int32_t i = 0; i < g->n_outputs; i++) s->moved[g->outputs[i]] = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    for (int32_t i = 0; alive(node) && i < node->n_out; i++) s->moved[node->out[i]] = 0;
    for (int32_t i = 0; alive(node) && i < node->n_in; i++)
      if (node->in[i] != PZ_NONE) s->moved[node->in[i]] = 0;
  }
  int32_t kept = 0;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++)
    if (s->moved[t] == 0) s->moved[t] = kept++;
  return kept;
}

static void move_ids(const sorter *s, pz_tensor_id *ids, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (ids[i] != PZ_NONE) ids[i] = s->moved[ids[i]];
}

static void apply(sorter *s, pz_graph *g) {
  int32_t kept = number_tensors(s);
  for (int32_t i = 0; i < s->n_order; i++) s->nodes[i] = g->nodes[s->order[i]];
  if (s->n_order) memcpy(g->nodes, s->nodes, (size_t)s->n_order * sizeof *g->nodes);
  g->n_nodes = s->n_order;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++)
    if (s->moved[t] != PZ_NONE) g->tensors[s->moved[t]] = g->tensors[t];
  g->n_tensors = kept;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    move_ids(s, g->nodes[n].in, g->nodes[n].n_in);
    move_ids(s, g->nodes[n].out, g->nodes[n].n_out);
  }
  move_ids(s, g->inputs, g->n_inputs);
  move_ids(s, g->outputs, g->n_outputs);
  pz_names_rebuild(g, &g->tensor_names, pz_tensor_name_of, g->n_tensors);
  pz_names_rebuild(g, &g->node_names, pz_node_name_of, g->n_nodes);
}

static pz_status compact(sorter *s, pz_graph *g, pz_arena *scratch, pz_error *err) {
  if (!scratch || !take_room(s, scratch))
    return pz_fail_memory(err, "sorting a graph", sizeof(pz_node) * (unsigned)g->n_nodes);
  PZ_TRY(find_producers(s, err));
  find_users(s);
  sort(s);
  if (s->n_order < s->n_live) return fail_cycle(s, err);
  apply(s, g);
  return PZ_OK;
}

pz_status pz_graph_compact(pz_graph *g, pz_error *err) {
  sorter s = {.g = g};
  pz_arena *scratch = pz_arena_new();
  pz_status status = compact(&s, g, scratch, err);
  pz_arena_free(scratch);
  return status;
}
