/* refuse.c: layers and fields that the importer does not know. All of them are in one message, so that a user sees at once
 * what is missing. In a layer that is not known, and in one that the phase excludes, unknown parameters
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

#define LONGEST_LIST 3000
#define MOST_NAMES   4

/* Layers of one type that is not supported. */
typedef struct missing {
  const char *type;
  int32_t count, layers[MOST_NAMES];
} missing;
typedef struct missing_list {
  missing *kinds;
  int32_t n, layers;
} missing_list;

static pz_status find_missing(const pz_caffe_net *net, missing_list *list, pz_error *err) {
  pz_import_names index = {.arena = net->arena};
  *list = (missing_list){.kinds = PZ_NEW(net->arena, missing, net->n_layers)};
  if (!list->kinds) return pz_fail_memory(err, "a message", LONGEST_LIST);
  for (int32_t i = 0; i < net->n_layers; i++) {
    const char *type = net->layers[i].param->type;
    if (!is_missing(net, i)) continue;
    int32_t at = pz_import_names_find(&index, type);
    if (at < 0 && !pz_import_names_put(&index, type, at = list->n++))
      return pz_fail_memory(err, "a message", 64);
    missing *kind = &list->kinds[at];
    kind->type = type;
    if (kind->count < MOST_NAMES) kind->layers[kind->count] = i;
    kind->count++;
    list->layers++;
  }
  return PZ_OK;
}

/* "PriorBox: 2 layers ('a' line 3, 'b' line 9)", "Exp ('c' line 4)": with at most `names` names. */
static void list_type(const pz_caffe_net *net, const missing *kind, int32_t names, pz_text *out) {
  pz_text_printf(out, "%.60s", *kind->type ? kind->type : "no type");
  if (kind->count > 1 || !names)
    pz_text_printf(out, ": %d layer%s", (int)kind->count, kind->count > 1 ? "s" : "");
  for (int32_t k = 0; k < kind->count && k < names; k++) {
    const pz_caffe_layer *layer = &net->layers[kind->layers[k]];
    pz_text_printf(out, "%s'%.60s' line %d", k ? ", " : " (", layer->param->name, (int)layer->place.line);
  }
  if (kind->count > names && names) pz_text_printf(out, " and %d more", (int)(kind->count - names));
  if (names) pz_text_append(out, ")");
}

static void list_missing(const pz_caffe_net *net, const missing_list *list, int32_t names, pz_text *out) {
  int32_t kinds = 0, left = 0;
  for (int32_t i = 0; i < list->n; i++) {
    if (out->size >= LONGEST_LIST) {
      kinds++;
      left += list->kinds[i].count;
      continue;
    }
    pz_text_append(out, i ? "; " : "");
    list_type(net, &list->kinds[i], names, out);
  }
  if (left) pz_text_printf(out, "; and %d more of %d more types", (int)left, (int)kinds);
}

static void advise(const missing_list *list, pz_text *out) {
  const char *last = NULL;
  for (int32_t i = 0; i < list->n && out->size < LONGEST_LIST + 600; i++) {
    const char *hint = hint_of(list->kinds[i].type);
    if (hint && hint != last) pz_text_printf(out, ". Note: %s", last = hint);
  }
}

static void list_layers(const pz_caffe_net *net, const missing_list *list, pz_text *out) {
  int32_t names = MOST_NAMES;
  list_missing(net, list, names, out);
  while (out->size >= LONGEST_LIST && names && !out->failed) {
    pz_text_free(out);
    list_missing(net, list, names /= 2, out);
  }
  advise(list, out);
}

/* ---- fields ---- */

/* The layer that was made from a message; unknown fields come in the order of the file, and so do layers. */
static const pz_caffe_layer *layer_from(const pz_caffe_net *net, const void *source, int32_t *i) {
  for (; source && *i < net->n_layers; ++*i)
    if (net->layers[*i].source == source) return &net->layers[*i];
  return NULL;
}

/* "'stride' in PoolingParameter of layer 'p' (Pooling)" */
static void list_field(const pz_caffe_unknown *u, const pz_caffe_layer *layer, pz_text *out) {
  pz_text_printf(out, "'%.100s' in %s", u->field, u->message->short_name);
  if (layer) pz_text_printf(out, " of layer '%.60s' (%.60s)", layer->param->name, layer->param->type);
}

/* In rules only, or everywhere but in layers that are excluded or of a type that is not known. */
static const pz_caffe_unknown *list_fields(const pz_caffe_net *net, bool rules, int32_t *count,
                                           pz_text *out) {
  const pz_caffe_unknown *first = NULL;
  int32_t at = 0;
  *count = 0;
  for (int32_t i = 0; i < net->parsed.n_unknown; i++) {
    const pz_caffe_unknown *u = &net->parsed.unknown[i];
    int32_t k = at;
    const pz_caffe_layer *layer = layer_from(net, u->top, &k);
    if (layer) at = k;
    const bool matters = rules ? u->message == &caffe__net_state_rule__descriptor
                               : !layer || (!net->excluded[k] && !is_missing(net, k));
    if (!matters) continue;
    if (!first) first = u;
    if (++*count > 1 && out->size < LONGEST_LIST) pz_text_printf(out, "; line %d: ", (int)u->line);
    if (out->size < LONGEST_LIST) list_field(u, layer, out);
  }
  return first;
}

static pz_status fail_fields(const pz_caffe_net *net, const pz_caffe_unknown *first, int32_t count,
                             const pz_text *fields, pz_error *err) {
  if (count == 1)
    return pz_fail(err, PZ_ERROR_INPUT, "%s:%d:%d: unknown field %s", net->file, (int)first->line,
                   (int)first->column, fields->data);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%d:%d: %d unknown fields: %s", net->file, (int)first->line,
                 (int)first->column, (int)count, fields->data);
}

static pz_status refuse_rules(const pz_caffe_net *net, pz_error *err) {
  pz_text fields = {0};
  int32_t count;
  const pz_caffe_unknown *first = list_fields(net, true, &count, &fields);
  pz_status status = PZ_OK;
  if (fields.failed) status = pz_fail_memory(err, "a message", LONGEST_LIST);
  else if (first) status = fail_fields(net, first, count, &fields, err);
  pz_text_free(&fields);
  return status;
}

/* Types and fields in one message. */
static pz_status refuse_all(const pz_caffe_net *net, const missing_list *missing, pz_error *err) {
  pz_text layers = {0}, fields = {0};
  int32_t count;
  const pz_caffe_unknown *first = list_fields(net, false, &count, &fields);
  pz_status status = PZ_OK;
  if (missing->n) list_layers(net, missing, &layers);
  if (layers.failed || fields.failed) status = pz_fail_memory(err, "a message", LONGEST_LIST);
  else if (missing->n)
    status = pz_fail(err, PZ_ERROR_INPUT, "%s:%d: %d layer%s of types that are not supported: %s%s%.900s",
                     net->file, (int)net->layers[missing->kinds[0].layers[0]].place.line,
                     (int)missing->layers, missing->layers > 1 ? "s" : "", layers.data,
                     first ? ". Unknown besides: field " : "", first ? fields.data : "");
  else if (first) status = fail_fields(net, first, count, &fields, err);
  pz_text_free(&layers);
  pz_text_free(&fields);
  return status;
}

pz_status pz_caffe_refuse_unknown(const pz_caffe_net *net, pz_error *err) {
  missing_list missing;
  PZ_TRY(refuse_rules(net, err));
  PZ_TRY(find_missing(net, &missing, err));
  return refuse_all(net, &missing, err);
}
