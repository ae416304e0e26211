/* import.c: Caffe's prototxt and weights to a graph. */
#include "base/file.h"
#include "base/memory.h"
#include "import/caffe/import.h"
#include "import/caffe/net.h"

#define MAX_PROTOTXT ((size_t)64 << 20)

/* In floats: four copies are held at a time, of the model as it is read, as it is optimised, packed, and in the C compiler or in the network that is
 * run. */
static int64_t machine_parameters(void) { return pz_memory_there(0).bytes / (4 * (int64_t)sizeof(float)); }

static pz_status parse(pz_caffe_net *net, pz_error *err) {
  pz_caffe_text text = {.file = net->file, .arena = net->arena};
  char *data;
  PZ_TRY(pz_file_read(net->arena, net->file, MAX_PROTOTXT, &data, &text.size, err));
  text.data = data;
  PZ_TRY(pz_caffe_text_parse(&text, &caffe__net_parameter__descriptor, &net->parsed, err));
  net->param = (const Caffe__NetParameter *)net->parsed.root;
  return PZ_OK;
}

static pz_status understand(pz_caffe_net *net, pz_error *err) {
  PZ_TRY(parse(net, err));
  PZ_TRY(pz_caffe_upgrade(net, err));
  PZ_TRY(pz_caffe_apply_rules(net, err));
  PZ_TRY(pz_caffe_refuse_unknown(net, err));
  if (!net->n_layers)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: describes no layers, expected a Caffe prototxt", net->file);
  return PZ_OK;
}

static pz_status build(pz_caffe_net *net, pz_caffe *c) {
  const char *weights = c->options->weights;
  if (weights) PZ_TRY(pz_caffe_weights_open(weights, net->arena, &c->weights, c->err));
  PZ_TRY(pz_graph_new(net->param->name ? net->param->name : "", &c->graph, c->err));
  pz_arena_watch(c->graph->arena, c->options->interrupt);
  return pz_caffe_build(c);
}

static pz_status import(pz_caffe_net *net, pz_caffe *c) {
  PZ_TRY(understand(net, c->err));
  pz_status status = build(net, c);
  pz_caffe_weights_close(c->weights);
  if (status == PZ_OK) return PZ_OK;
  pz_graph_free(c->graph);
  c->graph = NULL;
  return status;
}

pz_status pz_caffe_import_within(const char *prototxt, const pz_import_options *options,
                                 int64_t max_parameters, pz_graph **graph, pz_error *err) {
  static const pz_import_options none = {0};
  pz_caffe_net net = {.file = prototxt, .arena = pz_arena_new()};
  *graph = NULL;
  if (!net.arena) return pz_fail_memory(err, prototxt, sizeof net);
  if (options) pz_arena_watch(net.arena, options->interrupt);
  pz_caffe c = {.net = &net,
                .arena = net.arena,
                .options = options ? options : &none,
                .max_parameters = max_parameters,
                .err = err};
  pz_status status = import(&net, &c);
  pz_arena_free(net.arena);
  *graph = c.graph;
  return status;
}

pz_status pz_import_caffe(const char *prototxt, const pz_import_options *options, pz_graph **graph,
                          pz_error *err) {
  return pz_caffe_import_within(prototxt, options, machine_parameters(), graph, err);
}
