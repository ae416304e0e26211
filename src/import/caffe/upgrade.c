/* upgrade.c: the old ways to describe a network as today's: V1 `layers`, and top-level input, input_dim, input_shape. */
#include "import/caffe/net.h"
#include <string.h>

static const char *v1_type(Caffe__V1LayerParameter__LayerType type) {
  switch (type) {
#define V1_TYPE(id, name)                                                                                    \
  case CAFFE__V1_LAYER_PARAMETER__LAYER_TYPE__##id:                                                          \
    return name;
#define V1_PARAM(name)
#include "import/caffe/v1.inc"
#undef V1_TYPE
#undef V1_PARAM
  default: return "NONE";
  }
}

static pz_status add_layer(pz_caffe_net *net, const Caffe__LayerParameter *param, const void *source,
                           pz_error *err) {
  pz_place place = source ? pz_caffe_text_place(source) : (pz_place){NULL, 1, 1};
  place.file = net->file;
  if (net->n_layers >= PZ_CAFFE_MAX_LAYERS)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: more than %d layers", net->file, PZ_CAFFE_MAX_LAYERS);
  net->layers[net->n_layers++] = (pz_caffe_layer){param, source, place};
  return PZ_OK;
}

static Caffe__LayerParameter *new_param(pz_caffe_net *net) {
  Caffe__LayerParameter *param = PZ_NEW(net->arena, Caffe__LayerParameter, 1);
  if (param) caffe__layer_parameter__init(param);
  return param;
}

/* ---- V1 ---- */

/* V1 names shared weights by strings. */
static bool upgrade_sharing(pz_caffe_net *net, const Caffe__V1LayerParameter *old,
                            Caffe__LayerParameter *param) {
  param->param = PZ_NEW(net->arena, Caffe__ParamSpec *, old->n_param);
  Caffe__ParamSpec *specs = PZ_NEW(net->arena, Caffe__ParamSpec, old->n_param);
  if (!param->param || !specs) return false;
  param->n_param = old->n_param;
  for (size_t i = 0; i < old->n_param; i++) {
    caffe__param_spec__init(&specs[i]);
    specs[i].name = old->param[i];
    param->param[i] = &specs[i];
  }
  return true;
}

static pz_status upgrade_v1(pz_caffe_net *net, const Caffe__V1LayerParameter *old, pz_error *err) {
  Caffe__LayerParameter *param = new_param(net);
  if (!param || !upgrade_sharing(net, old, param)) return pz_fail_memory(err, "a V1 layer", sizeof *param);
  param->name = old->name;
  param->type = (char *)v1_type(old->type);
  param->bottom = old->bottom, param->n_bottom = old->n_bottom;
  param->top = old->top, param->n_top = old->n_top;
  param->include = old->include, param->n_include = old->n_include;
  param->exclude = old->exclude, param->n_exclude = old->n_exclude;
#define V1_TYPE(id, name)
#define V1_PARAM(name) param->name = old->name;
#include "import/caffe/v1.inc"
#undef V1_TYPE
#undef V1_PARAM
  if (!param->name) param->name = "";
  return add_layer(net, param, old, err);
}

/* ---- inputs ---- */

static Caffe__BlobShape *shape_of_four(pz_caffe_net *net, const int32_t *dims) {
  Caffe__BlobShape *shape = PZ_NEW(net->arena, Caffe__BlobShape, 1);
  int64_t *dim = PZ_NEW(net->arena, int64_t, 4);
  if (!shape || !dim) return NULL;
  caffe__blob_shape__init(shape);
  for (int i = 0; i < 4; i++) dim[i] = dims[i];
  shape->n_dim = 4;
  shape->dim = dim;
  return shape;
}

/* The shapes that the file gives must be none, one for all, or one for each. */
static pz_status check_input_counts(const pz_caffe_net *net, pz_error *err) {
  const Caffe__NetParameter *p = net->param;
  size_t shapes = p->n_input_shape, dims = p->n_input_dim;
  if (shapes && dims)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: both input_shape and input_dim are given, expected one",
                   net->file);
  if (shapes > 1 && shapes != p->n_input)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %zu input_shape for %zu input", net->file, shapes, p->n_input);
  if (dims && dims != 4 && dims != 4 * p->n_input)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %zu input_dim for %zu input, expected four for each", net->file,
                   dims, p->n_input);
  return PZ_OK;
}

static bool give_shape(pz_caffe_net *net, size_t i, Caffe__InputParameter *input) {
  const Caffe__NetParameter *p = net->param;
  if (!p->n_input_shape && !p->n_input_dim) return true;
  input->shape = PZ_NEW(net->arena, Caffe__BlobShape *, 1);
  if (!input->shape) return false;
  input->n_shape = 1;
  input->shape[0] = p->n_input_shape ? p->input_shape[p->n_input_shape == 1 ? 0 : i]
                                     : shape_of_four(net, p->input_dim + (p->n_input_dim == 4 ? 0 : 4 * i));
  return input->shape[0] != NULL;
}

static pz_status upgrade_input(pz_caffe_net *net, size_t i, pz_error *err) {
  Caffe__LayerParameter *param = new_param(net);
  Caffe__InputParameter *input = PZ_NEW(net->arena, Caffe__InputParameter, 1);
  char **top = PZ_NEW(net->arena, char *, 1);
  if (input) caffe__input_parameter__init(input);
  if (!param || !top || !input || !give_shape(net, i, input))
    return pz_fail_memory(err, "an input", sizeof *param);
  top[0] = net->param->input[i];
  param->name = net->param->input[i];
  param->type = "Input";
  param->top = top, param->n_top = 1;
  param->input_param = input;
  return add_layer(net, param, NULL, err);
}

/* ---- today's ---- */

static pz_status take_layer(pz_caffe_net *net, Caffe__LayerParameter *param, pz_error *err) {
  if (!param->name) param->name = "";
  if (!param->type) param->type = "";
  return add_layer(net, param, param, err);
}

pz_status pz_caffe_upgrade(pz_caffe_net *net, pz_error *err) {
  const Caffe__NetParameter *p = net->param;
  size_t count = p->n_input + p->n_layer + p->n_layers;
  if (p->n_layer && p->n_layers)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s:%d: 'layers' (V1) in a file that also has 'layer': use one of them", net->file,
                   (int)pz_caffe_text_place(p->layers[0]).line);
  net->layers = PZ_NEW(net->arena, pz_caffe_layer, count);
  if (!net->layers) return pz_fail_memory(err, "layers", count * sizeof *net->layers);
  PZ_TRY(check_input_counts(net, err));
  for (size_t i = 0; i < p->n_input; i++) PZ_TRY(upgrade_input(net, i, err));
  for (size_t i = 0; i < p->n_layers; i++) PZ_TRY(upgrade_v1(net, p->layers[i], err));
  for (size_t i = 0; i < p->n_layer; i++) PZ_TRY(take_layer(net, p->layer[i], err));
  return PZ_OK;
}
