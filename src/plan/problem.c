/* problem.c: a convolution's problem as text, the key of its measurements. */
#include "plan/solver.h"

#include <string.h>

pz_solver_layouts pz_candidate_layouts(const pz_candidate *candidate) {
  return (pz_solver_layouts){candidate->solver->in, candidate->solver->out};
}

bool pz_problem_is_padded(const pz_graph *graph, const pz_node *node) {
  const pz_tensor *x = &graph->tensors[node->in[PZ_CONV_X]];
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL];
  pz_node_input_border(graph, node, lo, hi);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (x->border_lo[i] < lo[i] || x->border_hi[i] < hi[i]) return false;
  return true;
}

/* " pad 0,1,1"; nothing where all are `usual`. */
static void three(pz_text *t, const char *name, const int32_t v[PZ_SPATIAL], int32_t usual) {
  if (v[0] != usual || v[1] != usual || v[2] != usual)
    pz_text_printf(t, " %s %d,%d,%d", name, v[0], v[1], v[2]);
}

static void epilogue(pz_text *t, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  if (node->in[PZ_CONV_BIAS] != PZ_NONE) pz_text_append(t, " bias");
  if (node->in[PZ_CONV_BASE] != PZ_NONE)
    pz_text_append(t, node->in[PZ_CONV_BASE] == node->in[PZ_CONV_X] ? " base-is-input" : " base");
  if (node->in[PZ_CONV_BASE_SCALE] != PZ_NONE) pz_text_append(t, " base-scale");
  if (a->act.kind != PZ_ACT_NONE) pz_text_printf(t, " %s", pz_activation_name(a->act.kind));
  if (node->in[PZ_CONV_SLOPE] != PZ_NONE) pz_text_append(t, " slope");
}

static const char *layout_name(pz_layout layout) { return layout == PZ_BLOCKED ? "blocked" : "plain"; }

pz_status pz_problem_text(const pz_plan *plan, const pz_node *node, const pz_candidate *candidate,
                          pz_text *out, pz_error *err) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_graph *g = plan->graph;
  char in[PZ_SHAPE_TEXT], result[PZ_SHAPE_TEXT];
  pz_shape_text(&g->tensors[node->in[PZ_CONV_X]].shape, in);
  pz_shape_text(&g->tensors[node->out[0]].shape, result);
  pz_text_printf(out, "%s %s %s to %s %s, blocks of %d, kernel %d,%d,%d", pz_op_name(node->op), in,
                 layout_name(candidate->solver->in), result, layout_name(candidate->solver->out), plan->block,
                 a->kernel[0], a->kernel[1], a->kernel[2]);
  three(out, "stride", a->stride, 1);
  three(out, "dilation", a->dilation, 1);
  three(out, "pad", a->pad_lo, 0);
  if (memcmp(a->pad_lo, a->pad_hi, sizeof a->pad_lo)) three(out, "pad-behind", a->pad_hi, -1);
  if (a->group != 1) pz_text_printf(out, " groups %d", a->group);
  if (!pz_problem_is_padded(g, node)) pz_text_append(out, " no-border");
  epilogue(out, node);
  return out->failed ? pz_fail_memory(err, "a problem's text", 512) : PZ_OK;
}
