/* refuse.c: layers and fields that the importer does not know. All such layers are named in one message, so that a user
 * sees at once what is missing. In a layer that is not known, and in one that the phase excludes, unknown parameters
 * do not matter; in a rule they always do, for they decide whether the layer is there. */
#include "import/caffe/net.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pz_status pz_caffe_fail_layer(const pz_caffe_layer *layer, pz_error *err, const char *format, ...) {
  char text[640];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%d:%d: layer '%.200s' (%.60s): %s", layer->place.file,
                 (int)layer->place.line, (int)layer->place.column, layer->param->name, layer->param->type,
                 text);
}

static const pz_caffe_layer_kind kinds[] = {
#define LAYER(type, builder, min_in, max_in, min_out, max_out)                                               \
  {type, pz_caffe_layer_##builder, min_in, max_in, min_out, max_out},
#include "import/caffe/layers.inc"
#undef LAYER
};

const pz_caffe_layer_kind *pz_caffe_find_kind(const char *type) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].type, type)) return &kinds[i];
  return NULL;
}

/* ---- layers ---- */

#define DATA_HINT "data layers are replaced by an Input layer with the shape"
#define LOSS_HINT "losses and measures belong to training: use the deploy prototxt"
static const struct {
  const char *type, *hint;
} hints[] = {
    {"Data", DATA_HINT},
    {"ImageData", DATA_HINT},
    {"HDF5Data", DATA_HINT},
    {"MemoryData", DATA_HINT},
    {"WindowData", DATA_HINT},
    {"AnnotatedData", DATA_HINT},
    {"Python", "code cannot be imported"},
    {"Accuracy", LOSS_HINT},
    {"ContrastiveLoss", LOSS_HINT},
    {"EuclideanLoss", LOSS_HINT},
    {"HingeLoss", LOSS_HINT},
    {"InfogainLoss", LOSS_HINT},
    {"MultinomialLogisticLoss", LOSS_HINT},
    {"SigmoidCrossEntropyLoss", LOSS_HINT},
    {"SoftmaxWithLoss", LOSS_HINT},
    {"MultiBoxLoss", LOSS_HINT},
};

static const char *hint_of(const char *type) {
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
    if (!strcmp(hints[i].type, type)) return hints[i].hint;
  return NULL;
}

static bool is_missing(const pz_caffe_net *net, int32_t i) {
  return !net->excluded[i] && !pz_caffe_find_kind(net->layers[i].param->type);
}

#define LONGEST_LIST 700
/* "PriorBox ('a' line 3, 'b' line 9)": all of layer i's type, or as many as `most`, and how many more there are. */
static void list_type(const pz_caffe_net *net, int32_t i, int32_t most, pz_text *out) {
  const char *type = net->layers[i].param->type;
  int32_t n = 0;
  pz_text_printf(out, "%.60s (", *type ? type : "no type");
  for (int32_t k = i; k < net->n_layers; k++) {
    const pz_caffe_layer *layer = &net->layers[k];
    if (!is_missing(net, k) || strcmp(layer->param->type, type) || n++ >= most) continue;
    if (out->size >= LONGEST_LIST) return;
    pz_text_printf(out, "%s'%.60s' line %d", n > 1 ? ", " : "", layer->param->name, (int)layer->place.line);
  }
  if (n > most) pz_text_printf(out, " and %d more", (int)(n - most));
  pz_text_append(out, ")");
}

static void list_missing(const pz_caffe_net *net, int32_t most, pz_text *out) {
  const char *last = NULL;
  pz_import_names listed = {.arena = net->arena};
  for (int32_t i = 0; i < net->n_layers && out->size < LONGEST_LIST; i++) {
    const char *type = net->layers[i].param->type;
    if (!is_missing(net, i) || pz_import_names_find(&listed, type) >= 0) continue;
    if (listed.used) pz_text_append(out, ", ");
    if (!pz_import_names_put(&listed, type, i)) out->failed = true;
    list_type(net, i, most, out);
  }
  for (int32_t i = 0; i < net->n_layers && out->size < LONGEST_LIST; i++) {
    const char *hint = is_missing(net, i) ? hint_of(net->layers[i].param->type) : NULL;
    if (hint && hint != last) pz_text_printf(out, "; %s", last = hint);
  }
}

static int32_t count_missing(const pz_caffe_net *net, int32_t *first) {
  int32_t count = 0;
  for (int32_t i = net->n_layers - 1; i >= 0; i--)
    if (is_missing(net, i)) {
      count++;
      *first = i;
    }
  return count;
}

static pz_status refuse_layers(const pz_caffe_net *net, pz_error *err) {
  int32_t first = 0, count = count_missing(net, &first);
  if (!count) return PZ_OK;
  pz_text list = {0};
  list_missing(net, INT32_MAX, &list);
  for (int32_t most = 4; most && list.size >= LONGEST_LIST && !list.failed; most /= 2) {
    pz_text_free(&list);
    list_missing(net, most, &list);
  }
  pz_status status = PZ_ERROR_MEMORY;
  if (list.failed) pz_fail_memory(err, "a message", LONGEST_LIST);
  else
    status = pz_fail(err, PZ_ERROR_INPUT, "%s:%d: %d layer%s of types that are not supported: %s", net->file,
                     (int)net->layers[first].place.line, (int)count, count > 1 ? "s" : "", list.data);
  pz_text_free(&list);
  return status;
}

/* ---- fields ---- */

/* The layer that was made from a message; unknown fields come in the order of the file, and so do layers. */
static const pz_caffe_layer *layer_from(const pz_caffe_net *net, const void *source, int32_t *i) {
  for (; source && *i < net->n_layers; ++*i)
    if (net->layers[*i].source == source) return &net->layers[*i];
  return NULL;
}

static pz_status refuse_field(const pz_caffe_net *net, const pz_caffe_unknown *u, const pz_caffe_layer *layer,
                              pz_error *err) {
  const char *type = u->message->short_name;
  if (!layer)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%d:%d: unknown field '%.100s' in %s", net->file, (int)u->line,
                   (int)u->column, u->field, type);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%d:%d: unknown field '%.100s' in %s of layer '%.200s' (%.60s)",
                 net->file, (int)u->line, (int)u->column, u->field, type, layer->param->name,
                 layer->param->type);
}

/* In rules only, or everywhere but in excluded layers. */
static pz_status refuse_fields(const pz_caffe_net *net, bool rules, pz_error *err) {
  int32_t at = 0;
  for (int32_t i = 0; i < net->parsed.n_unknown; i++) {
    const pz_caffe_unknown *u = &net->parsed.unknown[i];
    int32_t k = at;
    const pz_caffe_layer *layer = layer_from(net, u->top, &k);
    if (layer) at = k;
    bool matters = rules ? u->message == &caffe__net_state_rule__descriptor : !layer || !net->excluded[k];
    if (matters) return refuse_field(net, u, layer, err);
  }
  return PZ_OK;
}

pz_status pz_caffe_refuse_unknown(const pz_caffe_net *net, pz_error *err) {
  PZ_TRY(refuse_fields(net, true, err));
  PZ_TRY(refuse_layers(net, err));
  return refuse_fields(net, false, err);
}
