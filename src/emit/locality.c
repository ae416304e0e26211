#include "emit/locality.h"

#include "graph/locality.h"

/* A patch that is percent / 100 times as large along axes with a reach, in whole strides; what a run of it would take. */
static pz_status add_larger(pz_json *j, const pz_graph *g, const pz_locality *l, int percent, json_t *all,
                            pz_error *err) {
  const pz_shape5 x = pz_shape_as5(&g->tensors[g->inputs[0]].shape);
  int64_t in[PZ_SPATIAL], out[PZ_SPATIAL];
  double multiply_adds;
  bool fits;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const int64_t more = x.s[i] * (percent - 100) / 100;
    in[i] = x.s[i] + (l->reach_lo[i] + l->reach_hi[i] ? more / l->stride[i] * l->stride[i] : 0);
  }
  PZ_TRY(pz_graph_arithmetic(g, in, out, &multiply_adds, &fits, err));
  if (!fits) return PZ_OK;
  pz_json_append(j, all,
                 pz_json_pack(j, "{s:o,s:o,s:f}", "in", pz_json_triple(j, in), "out", pz_json_triple(j, out),
                              "multiply_adds", multiply_adds));
  return PZ_OK;
}

static pz_status add_known(pz_json *j, const pz_graph *g, const pz_locality *l, json_t *o, pz_error *err) {
  static const int percents[] = {150, 200, 300, 400};
  json_t *any = json_array(), *larger = json_array();
  pz_json_set(j, o, "stride", pz_json_triple(j, l->stride));
  pz_json_set(j, o, "reach_before", pz_json_triple(j, l->reach_lo));
  pz_json_set(j, o, "reach_behind", pz_json_triple(j, l->reach_hi));
  pz_json_set(j, o, "coarser", pz_json_triple(j, l->coarser));
  pz_json_set(j, o, "finer", pz_json_triple(j, l->finer));
  for (int i = 0; i < PZ_SPATIAL; i++) pz_json_append(j, any, json_boolean(l->any_size[i]));
  pz_json_set(j, o, "any_size", any);
  pz_json_set(j, o, "multiply_adds", pz_json_real(l->multiply_adds));
  pz_status status = PZ_OK;
  for (size_t i = 0; i < sizeof percents / sizeof *percents && status == PZ_OK; i++)
    status = add_larger(j, g, l, percents[i], larger, err);
  pz_json_set(j, o, "larger", larger);
  return status;
}

pz_status pz_locality_json(pz_json *j, const pz_graph *g, json_t **json, pz_error *err) {
  pz_locality l;
  PZ_TRY(pz_graph_locality(g, &l, err));
  json_t *o = json_object();
  pz_json_set(j, o, "global_layer", l.node == PZ_NONE ? json_null() : pz_json_name(g->nodes[l.node].name));
  pz_json_set(j, o, "global_why", l.node == PZ_NONE ? json_null() : json_string(l.why));
  const pz_status status = l.known ? add_known(j, g, &l, o, err) : PZ_OK;
  if (status != PZ_OK) json_decref(o);
  else *json = o;
  return status;
}
