/* if.c: If with a constant condition: the branch that is taken stands in its place. */
#include "import/onnx/ops.h"

/* What the branch gives, under the outer name. */
static pz_status pass_on(pz_onnx *c, int32_t i, const char *inner) {
  const int32_t from = pz_onnx_find_value(c, inner);
  if (!pz_onnx_wants(c, i)) return PZ_OK;
  if (from < 0 || c->values[from].state == PZ_ONNX_LATER)
    return pz_onnx_fail(c, "the branch does not make its output '%.200s'", inner);
  pz_onnx_value *to = &c->values[pz_onnx_find_value(c, c->node->out[i])];
  if (c->values[from].state == PZ_ONNX_REFUSED) {
    to->state = PZ_ONNX_REFUSED;
    return PZ_OK;
  }
  if (!c->values[from].known) {
    PZ_TRY(pz_onnx_give_in(c, i, c->values[from].tensor, c->values[from].type, c->values[from].range));
    to = &c->values[pz_onnx_find_value(c, c->node->out[i])];
    to->rows = c->values[from].rows;
    to->filled = c->values[from].filled;
    return PZ_OK;
  }
  const char *name = to->name;
  *to = c->values[from];
  to->name = name;
  to->tensor = PZ_NONE;
  return PZ_OK;
}

static pz_status inline_branch(pz_onnx *c, const pz_onnx_graph *branch) {
  const pz_onnx_node *node = c->node;
  const pz_onnx_operator *row = c->row;
  const char *name = c->node_name;
  PZ_TRY(pz_onnx_declare(c, branch));
  PZ_TRY(pz_onnx_build_nodes(c, branch, NULL));
  c->node = node;
  c->row = row;
  c->node_name = name;
  c->first_tensor = c->graph->n_tensors;
  if (branch->n_outputs != node->n_out)
    return pz_onnx_fail(c, "the branch has %d outputs, expected %d", (int)branch->n_outputs,
                        (int)node->n_out);
  for (int32_t i = 0; i < node->n_out; i++) PZ_TRY(pass_on(c, i, branch->outputs[i].name));
  return PZ_OK;
}

pz_status pz_onnx_op_if(pz_onnx *c) {
  const pz_onnx_attribute *then = pz_onnx_attr(c, "then_branch"), *other = pz_onnx_attr(c, "else_branch");
  const pz_onnx_reader reader = {c->arena, c->err};
  double condition;
  PZ_TRY(pz_onnx_number_in(c, 0, &condition));
  const pz_onnx_attribute *taken = condition != 0 ? then : other;
  pz_onnx_graph *branch = PZ_NEW(c->arena, pz_onnx_graph, 1);
  if (!branch) return pz_onnx_no_memory(c);
  if (!taken || !taken->graph.next) return pz_onnx_fail(c, "a branch is missing");
  if (c->depth >= PZ_ONNX_MAX_DEPTH) return pz_onnx_refuse(c, "more than 8 graphs in graphs");
  PZ_TRY(pz_onnx_read_graph(&reader, taken->graph, branch));
  c->depth++;
  const pz_status status = inline_branch(c, branch);
  c->depth--;
  return status;
}
