/* parameters.c: a layer's weights as constants of the graph: found, checked against what the layer needs, then read;
 * or filled, for init:SEED. Layers whose `param`s have one name share weights; the first is the owner. */
#include "import/caffe/net.h"
#include <string.h>

struct pz_caffe_pending {
  pz_caffe_weight weight;
  pz_caffe_weight_key key;
  int32_t index; /* of its layer */
  pz_tensor_id tensor;
};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static const char *shared_name(const pz_caffe *c, int32_t blob) {
  const char *name = (size_t)blob < c->p->n_param ? c->p->param[blob]->name : NULL;
  return name && *name ? name : NULL;
}

/* Room for one more: the array doubles where its count is a power of two. NULL: out of memory. */
static void *grow(pz_caffe *c, void *list, int32_t count, size_t size) {
  if (count & (count - 1)) return list;
  void *moved = pz_arena_alloc(c->arena, count ? 2 * (size_t)count : 1, size);
  if (moved && count) memcpy(moved, list, (size_t)count * size);
  return moved;
}

/* The blob that holds this one's values: itself, unless it is shared and another layer came first. */
static pz_status find_owner(pz_caffe *c, int32_t blob, pz_caffe_weight_key *key) {
  const char *name = shared_name(c, blob);
  *key = (pz_caffe_weight_key){c->p->name, blob};
  if (!name) return PZ_OK;
  int32_t i = pz_import_names_find(&c->shared, name);
  if (i >= 0) {
    *key = c->owners[i];
    return PZ_OK;
  }
  pz_caffe_weight_key *owners = grow(c, c->owners, c->n_owners, sizeof *owners);
  if (!owners || !pz_import_names_put(&c->shared, name, c->n_owners))
    return pz_fail_memory(c->err, "shared weights", sizeof *key);
  c->owners = owners;
  c->owners[c->n_owners++] = *key;
  return PZ_OK;
}

/* Of the layer itself, or of the owner where the file has only that. */
static pz_status find_stored(pz_caffe *c, int32_t blob, pz_caffe_weight_key *key, pz_caffe_file_shape *shape,
                             bool *found) {
  pz_caffe_weight_key owner;
  PZ_TRY(find_owner(c, blob, &owner));
  *key = (pz_caffe_weight_key){c->p->name, blob};
  PZ_TRY(c->weights->source->find(c->weights, *key, shape, found, c->err));
  if (*found) return PZ_OK;
  *key = owner;
  return c->weights->source->find(c->weights, owner, shape, found, c->err);
}

/* ---- count ---- */

static pz_status count_stored(pz_caffe *c, int32_t *count) {
  pz_caffe_file_shape shape = {0};
  for (*count = 0; *count < 64; ++*count) {
    bool found;
    pz_caffe_weight_key key = {c->p->name, *count};
    PZ_TRY(c->weights->source->find(c->weights, key, &shape, &found, c->err));
    if (!found) break;
  }
  return PZ_OK;
}

static pz_status fail_count(pz_caffe *c, int32_t count) {
  const char *file = base_name(c->weights->name);
  int32_t stored;
  if (!c->weights->source->has_layer(c->weights, c->p->name))
    return pz_caffe_fail(c, "%.200s has no weights for a layer of this name", file);
  PZ_TRY(count_stored(c, &stored));
  return pz_caffe_fail(c, "the network needs %d blobs of weights, %.200s has %d%s", (int)count, file,
                       (int)stored, stored == 64 ? " or more" : "");
}

static pz_status note_weighted(pz_caffe *c) {
  int32_t before = pz_import_names_find(&c->weighted, c->p->name);
  if (before >= 0)
    return pz_caffe_fail(
        c,
        "the layer in line %d has weights and the same name, so the weights of the two cannot be told "
        "apart",
        (int)c->net->layers[before].place.line);
  if (!pz_import_names_put(&c->weighted, c->p->name, c->index)) return pz_fail_memory(c->err, c->p->name, 16);
  return PZ_OK;
}

pz_status pz_caffe_expect_blobs(pz_caffe *c, int32_t count) {
  if (!count) return PZ_OK;
  if (!c->weights)
    return pz_caffe_fail(
        c, "has weights, but none are given: use --weights with a .caffemodel, a .caffemodel.h5, or "
           "init:SEED");
  PZ_TRY(note_weighted(c));
  if (!c->weights->source) return PZ_OK;
  for (int32_t i = 0; i <= count; i++) {
    pz_caffe_file_shape shape = {0};
    pz_caffe_weight_key key = {c->p->name, i};
    bool found;
    if (i < count) PZ_TRY(find_stored(c, i, &key, &shape, &found));
    else PZ_TRY(c->weights->source->find(c->weights, key, &shape, &found, c->err));
    if (found != (i < count)) return fail_count(c, count);
  }
  return PZ_OK;
}

/* ---- values ---- */

static pz_status check_shape(pz_caffe *c, const pz_caffe_weight *weight, pz_caffe_weight_key *key) {
  pz_caffe_file_shape stored = {0};
  bool found;
  PZ_TRY(find_stored(c, weight->blob, key, &stored, &found));
  if (!found) return fail_count(c, weight->blob + 1);
  if (pz_caffe_file_shape_fits(&stored, &weight->shape)) return PZ_OK;
  char needs[PZ_SHAPE_TEXT], has[PZ_CAFFE_FILE_SHAPE_TEXT];
  return pz_fail(c->err, PZ_ERROR_INPUT,
                 "%s:%d:%d: layer '%.200s' weight %d: the network needs %s, %.200s has %s", c->net->file,
                 (int)c->layer->place.line, (int)c->layer->place.column, c->p->name, (int)weight->blob,
                 pz_shape_text(&weight->shape, needs), base_name(c->weights->name),
                 pz_caffe_file_shape_text(&stored, has));
}

/* Before any memory is taken for it. */
static pz_status check_size(pz_caffe *c, const pz_caffe_weight *weight) {
  int64_t elements;
  char text[PZ_SHAPE_TEXT];
  if (!pz_shape_valid(&weight->shape, &elements))
    return pz_caffe_fail(c, "its weights would be %s, which is not possible",
                         pz_shape_text(&weight->shape, text));
  if (elements > c->max_parameters - c->parameters)
    return pz_caffe_fail(
        c, "with its weights of %s the network has %lld, more than %lld, too many for this machine's memory",
        pz_shape_text(&weight->shape, text), (long long)(c->parameters + elements),
        (long long)c->max_parameters);
  c->parameters += elements;
  return PZ_OK;
}

static pz_status prepare(pz_caffe *c, const pz_caffe_weight *weight, pz_caffe_weight_key *key) {
  PZ_TRY(check_size(c, weight));
  return c->weights->source ? check_shape(c, weight, key) : find_owner(c, weight->blob, key);
}

static pz_status fill(pz_caffe *c, const pz_caffe_weight *weight, pz_caffe_weight_key key, float *out) {
  Caffe__FillerParameter constant = CAFFE__FILLER_PARAMETER__INIT;
  constant.value = weight->value;
  const Caffe__FillerParameter *filler = weight->filler ? weight->filler : &constant;
  const char *problem =
      pz_caffe_fill(filler, &weight->shape, c->weights->seed, key, c->options->interrupt, out);
  if (pz_arena_interrupted(c->arena)) return pz_fail_interrupted(c->err);
  return problem
             ? pz_caffe_fail(c, "filler '%.60s' of weight %d: %s", filler->type, (int)weight->blob, problem)
             : PZ_OK;
}

static pz_status load(pz_caffe *c, const pz_caffe_weight *weight, pz_caffe_weight_key key, float *out) {
  if (!c->weights->source) return fill(c, weight, key, out);
  return c->weights->source->read(c->weights, key, pz_shape_elements(&weight->shape), out, c->err);
}

pz_status pz_caffe_add_weight(pz_caffe *c, const pz_caffe_weight *weight, const pz_shape *shape,
                              pz_tensor_id *id) {
  pz_caffe_weight_key key;
  PZ_TRY(prepare(c, weight, &key));
  const char *name = pz_caffe_tensor_name(c, weight->name);
  if (!name) return pz_fail_memory(c->err, weight->name, 64);
  PZ_TRY(pz_graph_add_constant(c->graph, name, shape, NULL, id, c->err));
  if (weight->at_once) return load(c, weight, key, pz_graph_constant_data(c->graph, *id));
  struct pz_caffe_pending *pending = grow(c, c->pending, c->n_pending, sizeof *pending);
  if (!pending) return pz_fail_memory(c->err, weight->name, sizeof *pending);
  c->pending = pending;
  pending[c->n_pending++] = (struct pz_caffe_pending){*weight, key, c->index, *id};
  return PZ_OK;
}

pz_status pz_caffe_load_weights(pz_caffe *c) {
  for (int32_t i = 0; i < c->n_pending; i++) {
    const struct pz_caffe_pending *p = &c->pending[i];
    c->index = p->index;
    c->layer = &c->net->layers[p->index];
    c->p = c->layer->param;
    PZ_TRY(load(c, &p->weight, p->key, pz_graph_constant_data(c->graph, p->tensor)));
  }
  return PZ_OK;
}

pz_status pz_caffe_read_number(pz_caffe *c, const pz_caffe_weight *weight, float *value) {
  pz_caffe_weight_key key;
  PZ_TRY(prepare(c, weight, &key));
  return load(c, weight, key, value);
}
