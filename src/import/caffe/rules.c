/* rules.c: include and exclude rules. Inference is phase TEST; level and stages are those of the file's `state`. */
#include "import/caffe/net.h"
#include <string.h>

static bool has_stage(const Caffe__NetState *state, const char *stage) {
  for (size_t i = 0; i < state->n_stage; i++)
    if (!strcmp(state->stage[i], stage)) return true;
  return false;
}

static bool meets(const Caffe__NetState *state, const Caffe__NetStateRule *rule) {
  if (rule->has_phase && rule->phase != CAFFE__PHASE__TEST) return false;
  if (rule->has_min_level && state->level < rule->min_level) return false;
  if (rule->has_max_level && state->level > rule->max_level) return false;
  for (size_t i = 0; i < rule->n_stage; i++)
    if (!has_stage(state, rule->stage[i])) return false;
  for (size_t i = 0; i < rule->n_not_stage; i++)
    if (has_stage(state, rule->not_stage[i])) return false;
  return true;
}

static bool meets_any(const Caffe__NetState *state, size_t count, Caffe__NetStateRule *const *rules) {
  for (size_t i = 0; i < count; i++)
    if (meets(state, rules[i])) return true;
  return false;
}

static pz_status apply(const Caffe__NetState *state, const pz_caffe_layer *layer, uint8_t *excluded,
                       pz_error *err) {
  const Caffe__LayerParameter *p = layer->param;
  if (p->n_include && p->n_exclude)
    return pz_caffe_fail_layer(layer, err, "has include and exclude rules, only one kind is allowed");
  *excluded =
      p->n_include ? !meets_any(state, p->n_include, p->include) : meets_any(state, p->n_exclude, p->exclude);
  if (!*excluded && p->has_phase && p->phase == CAFFE__PHASE__TRAIN)
    return pz_caffe_fail_layer(
        layer, err,
        "phase: TRAIN makes it compute as in training; remove that, or exclude the layer by "
        "include { phase: TRAIN }");
  return PZ_OK;
}

pz_status pz_caffe_apply_rules(pz_caffe_net *net, pz_error *err) {
  const Caffe__NetState none = CAFFE__NET_STATE__INIT, *state = net->param->state ? net->param->state : &none;
  net->excluded = PZ_NEW(net->arena, uint8_t, net->n_layers);
  if (!net->excluded) return pz_fail_memory(err, "rules", (unsigned long long)net->n_layers);
  for (int32_t i = 0; i < net->n_layers; i++) PZ_TRY(apply(state, &net->layers[i], &net->excluded[i], err));
  return PZ_OK;
}
