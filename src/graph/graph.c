/* graph.c: building a graph, and looking at it. */
#include "graph/internal.h"

#include <stdio.h>
#include <string.h>

pz_status pz_graph_new(const char *name, pz_graph **graph, pz_error *err) {
  *graph = NULL;
  pz_arena *arena = pz_arena_new();
  pz_graph *g = arena ? PZ_NEW(arena, pz_graph, 1) : NULL;
  if (g) g->name = pz_arena_strdup(arena, name ? name : "");
  if (!g || !g->name) {
    pz_arena_free(arena);
    return pz_fail_memory(err, "a graph", sizeof *g);
  }
  g->arena = arena;
  *graph = g;
  return PZ_OK;
}

void pz_graph_free(pz_graph *graph) {
  if (graph) pz_arena_free(graph->arena); /* the graph itself lies in it */
}

/* ---- room: all that can fail for want of memory comes before the first change ---- */

/* Room for count + more entries of `size` bytes at *items. */
static bool reserve(pz_arena *arena, void **items, int32_t count, int32_t *capacity, int32_t more,
                    size_t size) {
  if (more <= *capacity - count) return true;
  int64_t room = *capacity ? *capacity : 16;
  while (room < (int64_t)count + more) room *= 2;
  void *moved = pz_arena_alloc(arena, (size_t)room, size);
  if (!moved) return false;
  if (count) memcpy(moved, *items, (size_t)count * size);
  *items = moved;
  *capacity = (int32_t)room;
  return true;
}

static pz_status reserve_tensors(pz_graph *g, int32_t more, pz_error *err) {
  if (more > PZ_MAX_TENSORS - g->n_tensors)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': more than %d tensors", g->name, PZ_MAX_TENSORS);
  if (!reserve(g->arena, (void **)&g->tensors, g->n_tensors, &g->cap_tensors, more, sizeof(pz_tensor)) ||
      !pz_names_reserve(g, &g->tensor_names, pz_tensor_name_of, g->n_tensors, more))
    return pz_fail_memory(err, "the tensors of a graph",
                          sizeof(pz_tensor) * (unsigned long long)(g->n_tensors + more));
  return PZ_OK;
}

static pz_status reserve_nodes(pz_graph *g, pz_error *err) {
  if (g->n_nodes >= PZ_MAX_NODES)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': more than %d layers", g->name, PZ_MAX_NODES);
  if (!reserve(g->arena, (void **)&g->nodes, g->n_nodes, &g->cap_nodes, 1, sizeof(pz_node)) ||
      !pz_names_reserve(g, &g->node_names, pz_node_name_of, g->n_nodes, 1))
    return pz_fail_memory(err, "the layers of a graph",
                          sizeof(pz_node) * (unsigned long long)(g->n_nodes + 1));
  return PZ_OK;
}

/* Appends to a list that has no capacity of its own: it grows where its count is a power of two. */
static bool append_id(pz_arena *arena, pz_tensor_id **list, int32_t *count, pz_tensor_id id) {
  if ((*count & (*count - 1)) == 0) {
    pz_tensor_id *moved = PZ_NEW(arena, pz_tensor_id, *count ? 2 * (size_t)*count : 1);
    if (!moved) return false;
    if (*count) memcpy(moved, *list, (size_t)*count * sizeof **list);
    *list = moved;
  }
  (*list)[(*count)++] = id;
  return true;
}

/* ---- tensors ---- */

static pz_status check_tensor_name(const pz_graph *g, const char *name, pz_error *err) {
  if (!name || !*name) return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': a tensor has no name", g->name);
  if (pz_graph_find_tensor(g, name) != PZ_NONE)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': there are two tensors named '%s'", g->name, name);
  return PZ_OK;
}

/* After reserve_tensors; `name` belongs to the graph's arena. */
static pz_tensor_id push_tensor(pz_graph *g, const char *name, const pz_shape *shape, const float *data) {
  pz_tensor_id id = g->n_tensors++;
  g->tensors[id] = (pz_tensor){.name = name, .type = PZ_F32, .scale = 1, .wanted = PZ_F32, .data = data};
  g->tensors[id].shape.rank = shape->rank;
  for (int32_t i = 0; i < shape->rank; i++) g->tensors[id].shape.dim[i] = shape->dim[i];
  pz_names_add(g, &g->tensor_names, pz_tensor_name_of, id);
  return id;
}

static void set_element(pz_tensor *t, pz_element element) {
  t->type = t->wanted = element.type;
  t->scale = element.scale;
  t->zero_point = element.zero_point;
}

static pz_status prepare_tensor(pz_graph *g, const char *name, const pz_shape *shape, const char **copy,
                                pz_error *err) {
  PZ_TRY(check_tensor_name(g, name, err));
  if (!pz_shape_valid(shape, NULL))
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "tensor '%s': bad shape %s: rank at most %d, sizes from 1 to 2^31-1, at most 2^40 elements", name,
        PZ_SHAPE(shape), PZ_MAX_RANK);
  PZ_TRY(reserve_tensors(g, 1, err));
  *copy = pz_arena_strdup(g->arena, name);
  return *copy ? PZ_OK : pz_fail_memory(err, "a tensor's name", strlen(name));
}

pz_status pz_graph_add_input(pz_graph *g, const char *name, const pz_shape *shape, pz_tensor_id *id,
                             pz_error *err) {
  const char *copy;
  PZ_TRY(prepare_tensor(g, name, shape, &copy, err));
  if (!append_id(g->arena, &g->inputs, &g->n_inputs, g->n_tensors))
    return pz_fail_memory(err, "the inputs of a graph", sizeof *id);
  *id = push_tensor(g, copy, shape, NULL);
  return PZ_OK;
}

pz_status pz_graph_add_constant(pz_graph *g, const char *name, const pz_shape *shape, const float *data,
                                pz_tensor_id *id, pz_error *err) {
  const char *copy;
  PZ_TRY(prepare_tensor(g, name, shape, &copy, err));
  size_t elements = (size_t)pz_shape_elements(shape);
  float *own = PZ_NEW(g->arena, float, elements);
  if (!own) return pz_fail_memory(err, name, elements * sizeof *own);
  if (data) memcpy(own, data, elements * sizeof *own);
  *id = push_tensor(g, copy, shape, own);
  return PZ_OK;
}

pz_status pz_graph_set_element(pz_graph *g, pz_tensor_id input, pz_element element, pz_error *err) {
  char text[PZ_ELEMENT_TEXT];
  if (!pz_element_valid(element))
    return pz_fail(err, PZ_ERROR_INPUT, "input '%s': elements are not %s: " PZ_ELEMENTS_IN_WORDS,
                   g->tensors[input].name, pz_element_text(element, text));
  set_element(&g->tensors[input], element);
  return PZ_OK;
}

static pz_status no_port(const pz_graph *g, bool input, const char *name, pz_error *err) {
  const pz_tensor_id *ports = input ? g->inputs : g->outputs;
  char names[256] = "";
  size_t at = 0;
  for (int32_t i = 0; i < (input ? g->n_inputs : g->n_outputs) && at < sizeof names; i++)
    at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", g->tensors[ports[i]].name);
  return pz_fail(err, PZ_ERROR_USAGE, "there is no %s '%s'; there is %s", input ? "input" : "output", name,
                 names);
}

pz_status pz_graph_want_type(pz_graph *g, bool input, const char *name, pz_dtype type, pz_error *err) {
  const pz_tensor_id *ports = input ? g->inputs : g->outputs, id = pz_graph_find_tensor(g, name);
  if (!pz_type_of_tensors(type))
    return pz_fail(err, PZ_ERROR_USAGE, "'%s' as %s: " PZ_TYPES_IN_WORDS, name,
                   (unsigned)type < PZ_DTYPES ? pz_dtype_name(type) : "an unknown type");
  for (int32_t i = 0; i < (input ? g->n_inputs : g->n_outputs); i++)
    if (ports[i] == id) {
      g->tensors[id].wanted = type;
      return PZ_OK;
    }
  return no_port(g, input, name, err);
}

float *pz_graph_constant_data(pz_graph *g, pz_tensor_id id) { return (float *)g->tensors[id].data; }

int64_t pz_graph_constant_bytes(const pz_graph *g) {
  int64_t bytes = 0;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++)
    if (g->tensors[t].data) bytes += 4 * pz_shape_elements(&g->tensors[t].shape);
  return bytes;
}

pz_status pz_graph_add_output(pz_graph *g, pz_tensor_id id, pz_error *err) {
  if (id < 0 || id >= g->n_tensors)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': output %d is no tensor", g->name, (int)id);
  if (!append_id(g->arena, &g->outputs, &g->n_outputs, id))
    return pz_fail_memory(err, "the outputs of a graph", sizeof id);
  return PZ_OK;
}

/* ---- nodes ---- */

static pz_status check_node_names(const pz_graph *g, const pz_node *node, int32_t n_out,
                                  const char *const *names, pz_error *err) {
  if (!node->name || !*node->name) return pz_fail_node(err, node, "the layer has no name");
  if (pz_graph_find_node(g, node->name) != PZ_NONE)
    return pz_fail_node(err, node, "there are two layers of this name");
  for (int32_t i = 0; i < n_out; i++) {
    if (!names[i] || !*names[i]) return pz_fail_node(err, node, "output %d has no name", (int)i);
    if (pz_graph_find_tensor(g, names[i]) != PZ_NONE)
      return pz_fail_node(err, node, "there already is a tensor named '%s'", names[i]);
  }
  return PZ_OK;
}

/* The graph's own copy of a node: name, inputs (all optional slots there), outputs' room, attribute lists. */
static bool own_node(pz_graph *g, pz_node *node) {
  int32_t slots = pz_op_get(node->op)->max_in;
  if (slots < node->n_in) slots = node->n_in;
  pz_tensor_id *in = PZ_NEW(g->arena, pz_tensor_id, slots),
               *out = PZ_NEW(g->arena, pz_tensor_id, node->n_out);
  node->name = pz_arena_strdup(g->arena, node->name);
  if (node->place.file) {
    node->place.file = pz_arena_strdup(g->arena, node->place.file);
    if (!node->place.file) return false;
  }
  if (!in || !out || !node->name) return false;
  for (int32_t i = 0; i < slots; i++) in[i] = pz_node_input(node, i);
  node->in = in;
  node->out = out;
  node->n_in = slots;
  return pz_attr_own(g->arena, node);
}

static bool own_names(pz_graph *g, int32_t count, const char *const *names, const char **own) {
  for (int32_t i = 0; i < count; i++)
    if (!(own[i] = pz_arena_strdup(g->arena, names[i]))) return false;
  return true;
}

/* Two outputs of one node with one name are found only once the first is in the index: takes back what was added. */
static pz_status push_outputs(pz_graph *g, pz_node *node, const pz_shape *shapes, pz_element element,
                              const char *const *names, pz_error *err) {
  int32_t before = g->n_tensors;
  for (int32_t i = 0; i < node->n_out; i++) {
    if (pz_graph_find_tensor(g, names[i]) != PZ_NONE) {
      g->n_tensors = before;
      pz_names_rebuild(g, &g->tensor_names, pz_tensor_name_of, before);
      return pz_fail_node(err, node, "two outputs are named '%s'", names[i]);
    }
    node->out[i] = push_tensor(g, names[i], &shapes[i], NULL);
    set_element(&g->tensors[node->out[i]], element);
  }
  return PZ_OK;
}

pz_status pz_graph_add_node(pz_graph *g, const pz_node *node, int32_t n_out, const char *const *out_names,
                            pz_tensor_id *ids, pz_error *err) {
  pz_node own = *node;
  pz_element element;
  own.n_out = n_out;
  if (n_out < 1 || n_out > PZ_MAX_TENSORS)
    return pz_fail_node(err, node, "a layer cannot have %d outputs", (int)n_out);
  PZ_TRY(check_node_names(g, node, n_out, out_names, err));
  pz_shape *shapes = PZ_NEW(g->arena, pz_shape, n_out);
  const char **names = PZ_NEW(g->arena, const char *, n_out);
  if (!shapes || !names) return pz_fail_memory(err, "a layer", sizeof(pz_shape) * (unsigned long long)n_out);
  PZ_TRY(pz_node_infer(g, &own, shapes, err));
  PZ_TRY(pz_infer_element(g, &own, &element, err));
  PZ_TRY(reserve_tensors(g, n_out, err));
  PZ_TRY(reserve_nodes(g, err));
  if (!own_node(g, &own) || !own_names(g, n_out, out_names, names))
    return pz_fail_memory(err, "a layer", sizeof own);
  PZ_TRY(push_outputs(g, &own, shapes, element, names, err));
  memcpy(ids, own.out, (size_t)n_out * sizeof *ids);
  g->nodes[g->n_nodes++] = own;
  pz_names_add(g, &g->node_names, pz_node_name_of, g->n_nodes - 1);
  return PZ_OK;
}

/* ---- looking ---- */

pz_tensor_id pz_graph_find_tensor(const pz_graph *g, const char *name) {
  return pz_names_find(g, &g->tensor_names, pz_tensor_name_of, name);
}

pz_node_id pz_graph_find_node(const pz_graph *g, const char *name) {
  return pz_names_find(g, &g->node_names, pz_node_name_of, name);
}

pz_node_id pz_graph_producer(const pz_graph *g, pz_tensor_id id) {
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; g->nodes[n].op != PZ_OP_NONE && i < g->nodes[n].n_out; i++)
      if (g->nodes[n].out[i] == id) return n;
  return PZ_NONE;
}

bool pz_graph_is_output(const pz_graph *g, pz_tensor_id id) {
  for (int32_t i = 0; i < g->n_outputs; i++)
    if (g->outputs[i] == id) return true;
  return false;
}

int32_t pz_graph_count_uses(const pz_graph *g, pz_tensor_id id) {
  int32_t uses = pz_graph_is_output(g, id);
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; g->nodes[n].op != PZ_OP_NONE && i < g->nodes[n].n_in; i++)
      uses += g->nodes[n].in[i] == id;
  return uses;
}
