/* build.c: layers to nodes, in the order of the file, which is Caffe's: a layer comes after what it reads. */
#include "base/memory.h"
#include "import/least_memory.h"
#include "import/caffe/net.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pz_status pz_caffe_fail(pz_caffe *c, const char *format, ...) {
  char text[640];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pz_caffe_fail_layer(c->layer, c->err, "%s", text);
}

static pz_status no_memory(pz_caffe *c) {
  return pz_fail_memory(c->err, c->net->file, sizeof(pz_caffe_layer));
}

/* ---- names ---- */

typedef bool (*is_taken)(const pz_caffe *c, const char *name);

static bool node_taken(const pz_caffe *c, const char *name) {
  return pz_graph_find_node(c->graph, name) != PZ_NONE;
}

/* Blobs that are still to come will want their plain names. */
static bool tensor_taken(const pz_caffe *c, const char *name) {
  return pz_graph_find_tensor(c->graph, name) != PZ_NONE || pz_import_names_find(&c->blob_index, name) >= 0;
}

/* stem, stem_2, stem_3, ...: the first that is not taken; NULL when out of memory. Where many share a stem, the search
 * goes on from where it ended. */
static const char *fresh(pz_caffe *c, is_taken taken, const char *stem) {
  if (!stem || !taken(c, stem)) return stem;
  int32_t k = pz_import_names_find(&c->suffixes, stem);
  const char *name = stem;
  for (k = k < 2 ? 2 : k; name && taken(c, name); k++)
    name = pz_arena_printf(c->arena, "%s_%d", stem, (int)k);
  return pz_import_names_put(&c->suffixes, stem, k) ? name : NULL;
}

static const char *layer_name(const pz_caffe *c) { return *c->p->name ? c->p->name : c->p->type; }

const char *pz_caffe_tensor_name(pz_caffe *c, const char *part) {
  return fresh(c, tensor_taken, pz_arena_printf(c->arena, "%s.%s", layer_name(c), part));
}

static const char *node_name(pz_caffe *c) {
  const char *name = layer_name(c);
  if (c->n_made) name = pz_arena_printf(c->arena, "%s.%d", name, (int)c->n_made);
  return fresh(c, node_taken, name);
}

/* ---- blobs ---- */

static bool makes_inputs(const char *type) { return !strcmp(type, "Input") || !strcmp(type, "DummyData"); }

static pz_status count_writer(pz_caffe *c, const char *name, bool input) {
  int32_t i = pz_import_names_find(&c->blob_index, name);
  if (i < 0) {
    i = c->n_blobs++;
    c->blobs[i] = (pz_caffe_blob){.name = name, .tensor = PZ_NONE};
    if (!pz_import_names_put(&c->blob_index, name, i)) return no_memory(c);
  }
  c->blobs[i].writers++;
  c->blobs[i].input |= input;
  return PZ_OK;
}

static pz_status count_writers(pz_caffe *c) {
  const pz_caffe_net *net = c->net;
  size_t tops = 0;
  for (int32_t i = 0; i < net->n_layers; i++) tops += net->excluded[i] ? 0 : net->layers[i].param->n_top;
  c->blobs = PZ_NEW(c->arena, pz_caffe_blob, tops);
  c->versions = PZ_NEW(c->arena, pz_caffe_version, tops);
  if (!c->blobs || !c->versions || tops > PZ_MAX_TENSORS) return no_memory(c);
  for (int32_t i = 0; i < net->n_layers; i++) {
    const Caffe__LayerParameter *p = net->layers[i].param;
    for (size_t k = 0; k < p->n_top && !net->excluded[i]; k++)
      PZ_TRY(count_writer(c, p->top[k], makes_inputs(p->type)));
  }
  return PZ_OK;
}

/* The first layer from `from` on that makes a blob, among the excluded or the others; for messages. */
static const pz_caffe_layer *maker_from(const pz_caffe *c, int32_t from, bool excluded, const char *name) {
  for (int32_t i = from; i < c->net->n_layers; i++)
    for (size_t k = 0; k < c->net->layers[i].param->n_top && c->net->excluded[i] == excluded; k++)
      if (!strcmp(c->net->layers[i].param->top[k], name)) return &c->net->layers[i];
  return NULL;
}

static pz_status fail_bottom(pz_caffe *c, const char *name) {
  const pz_caffe_layer *later = maker_from(c, c->index, false, name), *out = maker_from(c, 0, true, name);
  if (later == c->layer)
    return pz_caffe_fail(c, "bottom '%.200s' is made by the layer itself: a cycle", name);
  if (later)
    return pz_caffe_fail(
        c,
        "bottom '%.200s' is made only later, by layer '%.200s' in line %d: there is a cycle, or the layers "
        "are not in order",
        name, later->param->name, (int)later->place.line);
  if (out)
    return pz_caffe_fail(
        c, "bottom '%.200s' is made only by layer '%.200s' in line %d, which is not in phase TEST", name,
        out->param->name, (int)out->place.line);
  return pz_caffe_fail(c, "bottom '%.200s' is made by no layer", name);
}

static pz_status resolve_bottoms(pz_caffe *c) {
  c->n_in = (int32_t)c->p->n_bottom;
  c->in = PZ_NEW(c->arena, pz_tensor_id, c->n_in);
  if (!c->in) return no_memory(c);
  for (int32_t i = 0; i < c->n_in; i++) {
    int32_t b = pz_import_names_find(&c->blob_index, c->p->bottom[i]);
    if (b < 0 || c->blobs[b].tensor == PZ_NONE) return fail_bottom(c, c->p->bottom[i]);
    c->blobs[b].consumed = true;
    c->in[i] = c->blobs[b].tensor;
  }
  return PZ_OK;
}

/* ---- tops ---- */

/* Caffe's rule: a layer works in place where a top has the name of the bottom of the same index. */
static bool in_place(const pz_caffe *c, int32_t top) {
  return (size_t)top < c->p->n_bottom && !strcmp(c->p->bottom[top], c->p->top[top]);
}

/* The last version of a blob has its plain name, earlier ones say which layer made them. An input keeps its name, for
 * that is what its user gives. */
static const char *version_name(pz_caffe *c, const pz_caffe_blob *blob) {
  bool first = blob->tensor == PZ_NONE;
  if (blob->input ? first : blob->writers == 1) return blob->name;
  return fresh(c, tensor_taken, pz_arena_printf(c->arena, "%s@%s", blob->name, layer_name(c)));
}

static pz_status name_top(pz_caffe *c, int32_t top, const char **name) {
  if ((size_t)top >= c->p->n_top) return pz_caffe_fail(c, "has %zu tops, makes more", c->p->n_top);
  const pz_caffe_blob *blob = &c->blobs[pz_import_names_find(&c->blob_index, c->p->top[top])];
  if (blob->tensor != PZ_NONE && !in_place(c, top)) {
    const pz_caffe_layer *maker = &c->net->layers[blob->maker];
    return pz_caffe_fail(c, "top '%.200s' is already made by layer '%.200s' in line %d", blob->name,
                         maker->param->name, (int)maker->place.line);
  }
  *name = version_name(c, blob);
  return *name ? PZ_OK : no_memory(c);
}

static void finish_top(pz_caffe *c, pz_tensor_id tensor) {
  int32_t b = pz_import_names_find(&c->blob_index, c->p->top[c->n_made++]);
  pz_caffe_blob *blob = &c->blobs[b];
  blob->writers--;
  blob->tensor = tensor;
  blob->maker = c->index;
  blob->consumed = false;
  c->versions[c->n_versions++] = (pz_caffe_version){b, tensor};
}

static pz_status emit_named(pz_caffe *c, pz_node *node, const char *name, int32_t n_out,
                            const char *const *names, pz_tensor_id *out) {
  if (!name) return no_memory(c);
  node->name = name;
  node->place = c->layer->place;
  return pz_graph_add_node(c->graph, node, n_out, names, out, c->err);
}

pz_status pz_caffe_emit(pz_caffe *c, pz_node *node, int32_t n_in, pz_tensor_id *in, int32_t n_out) {
  const char **names = PZ_NEW(c->arena, const char *, n_out);
  pz_tensor_id *out = PZ_NEW(c->arena, pz_tensor_id, n_out);
  if (!names || !out) return no_memory(c);
  for (int32_t i = 0; i < n_out; i++) PZ_TRY(name_top(c, c->n_made + i, &names[i]));
  node->n_in = n_in;
  node->in = in;
  PZ_TRY(emit_named(c, node, node_name(c), n_out, names, out));
  for (int32_t i = 0; i < n_out; i++) finish_top(c, out[i]);
  return PZ_OK;
}

pz_status pz_caffe_emit_simple(pz_caffe *c, pz_node *node) {
  return pz_caffe_emit(c, node, c->n_in, c->in, 1);
}

pz_status pz_caffe_emit_part(pz_caffe *c, pz_node *node, const char *part, int32_t n_in, pz_tensor_id *in,
                             pz_tensor_id *out) {
  const char *stem = pz_arena_printf(c->arena, "%s.%s", layer_name(c), part);
  const char *top = pz_caffe_tensor_name(c, part);
  if (!top) return no_memory(c);
  node->n_in = n_in;
  node->in = in;
  return emit_named(c, node, fresh(c, node_taken, stem), 1, &top, out);
}

pz_status pz_caffe_emit_input(pz_caffe *c, const pz_shape *shape) {
  const char *name;
  pz_tensor_id id;
  PZ_TRY(name_top(c, c->n_made, &name));
  if (!pz_shape_valid(shape, NULL)) {
    char text[PZ_SHAPE_TEXT];
    return pz_caffe_fail(
        c, "the shape %s of '%.200s' is not possible: sizes are 1 to 2^31-1, at most 2^40 elements",
        pz_shape_text(shape, text), name);
  }
  PZ_TRY(pz_graph_add_input(c->graph, name, shape, &id, c->err));
  finish_top(c, id);
  return PZ_OK;
}

/* ---- --input name=shape ---- */

static pz_status fail_override(pz_caffe *c, const char *input) {
  char list[512] = "";
  size_t used = 0;
  for (int32_t i = 0; i < c->n_blobs && used < sizeof list - 64; i++)
    if (c->blobs[i].input)
      used +=
          (size_t)snprintf(list + used, sizeof list - used, "%s'%.48s'", used ? ", " : "", c->blobs[i].name);
  return pz_fail(c->err, PZ_ERROR_USAGE, "%s: has no input '%.200s'; its inputs are %s", c->net->file, input,
                 used ? list : "none");
}

static pz_status check_overrides(pz_caffe *c) {
  for (int32_t i = 0; i < c->options->n_shapes; i++) {
    int32_t b = pz_import_names_find(&c->blob_index, c->options->shapes[i].input);
    if (b < 0 || !c->blobs[b].input) return fail_override(c, c->options->shapes[i].input);
  }
  return PZ_OK;
}

const pz_shape *pz_caffe_override(const pz_caffe *c) {
  const char *name = (size_t)c->n_made < c->p->n_top ? c->p->top[c->n_made] : "";
  for (int32_t i = 0; i < c->options->n_shapes; i++)
    if (!strcmp(c->options->shapes[i].input, name)) return &c->options->shapes[i].shape;
  return NULL;
}

/* ---- attributes ---- */

pz_status pz_caffe_axis(pz_caffe *c, const char *field, int64_t axis, int32_t rank, int32_t *out) {
  if (axis < -rank || axis >= rank)
    return pz_caffe_fail(c, "%s: %lld is not one of the %d dimensions of its bottom", field, (long long)axis,
                         (int)rank);
  *out = (int32_t)(axis < 0 ? axis + rank : axis);
  return PZ_OK;
}

pz_status pz_caffe_int32(pz_caffe *c, const char *field, int64_t value, int64_t least, int32_t *out) {
  if (value < least || value > INT32_MAX)
    return pz_caffe_fail(c, "%s: %lld, expected %lld to %d", field, (long long)value, (long long)least,
                         INT32_MAX);
  *out = (int32_t)value;
  return PZ_OK;
}

pz_status pz_caffe_shape(pz_caffe *c, const Caffe__BlobShape *from, pz_shape *out) {
  if (from->n_dim > PZ_MAX_RANK)
    return pz_caffe_fail(c, "a shape of %zu dimensions, at most %d are supported", from->n_dim, PZ_MAX_RANK);
  *out = (pz_shape){.rank = (int32_t)from->n_dim};
  for (size_t i = 0; i < from->n_dim; i++) out->dim[i] = from->dim[i];
  return PZ_OK;
}

/* ---- the network ---- */

static pz_status check_count(pz_caffe *c, const char *what, size_t count, int32_t least, int32_t most) {
  if (count >= (size_t)least && (most < 0 || count <= (size_t)most)) return PZ_OK;
  if (least == most) return pz_caffe_fail(c, "has %zu %ss, expected %d", count, what, (int)least);
  if (most < 0) return pz_caffe_fail(c, "has %zu %ss, expected at least %d", count, what, (int)least);
  return pz_caffe_fail(c, "has %zu %ss, expected %d to %d", count, what, (int)least, (int)most);
}

static pz_status build_layer(pz_caffe *c, int32_t index) {
  c->index = index;
  c->layer = &c->net->layers[index];
  c->p = c->layer->param;
  c->n_made = 0;
  const pz_caffe_layer_kind *kind = pz_caffe_find_kind(c->p->type);
  PZ_TRY(check_count(c, "bottom", c->p->n_bottom, kind->min_in, kind->max_in));
  PZ_TRY(check_count(c, "top", c->p->n_top, kind->min_out, kind->max_out));
  PZ_TRY(resolve_bottoms(c));
  PZ_TRY(kind->build(c));
  return check_count(c, "top", c->p->n_top, c->n_made, c->n_made);
}

/* Caffe's rule: what no layer reads is an output. An input that no layer reads is not. */
static pz_status add_outputs(pz_caffe *c) {
  for (int32_t i = 0; i < c->n_versions; i++) {
    const pz_caffe_blob *blob = &c->blobs[c->versions[i].blob];
    pz_tensor_id tensor = c->versions[i].tensor;
    bool untouched =
        blob->input && blob->tensor == tensor && makes_inputs(c->net->layers[blob->maker].param->type);
    if (blob->tensor == tensor && !blob->consumed && !untouched)
      PZ_TRY(pz_graph_add_output(c->graph, tensor, c->err));
  }
  if (!c->graph->n_inputs)
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: the network has no input: give it an Input layer",
                   c->net->file);
  if (!c->graph->n_outputs)
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: the network has no output: every blob is read by some layer",
                   c->net->file);
  return PZ_OK;
}

pz_status pz_caffe_build(pz_caffe *c) {
  c->blob_index.arena = c->shared.arena = c->weighted.arena = c->suffixes.arena = c->arena;
  PZ_TRY(count_writers(c));
  PZ_TRY(check_overrides(c));
  for (int32_t i = 0; i < c->net->n_layers; i++)
    if (!c->net->excluded[i]) PZ_TRY(build_layer(c, i));
  PZ_TRY(add_outputs(c));
  PZ_TRY(pz_import_ask_all(c->graph, c->parameters, pz_times(16, c->max_parameters), c->err));
  PZ_TRY(pz_caffe_load_weights(c));
  return pz_graph_verify(c->graph, c->err);
}
