/* api.c: pz_infer, pz_net_infer and pz_volume_describe of the public header: a network file bound to the engine. */
#include "runtime/runtime.h"
#include "formats/calls.h"
#include "volume/engine.h"
#include "volume/report.h"

#include <math.h>
#include <stdio.h>

static pz_status run_net(void *net, const void *in, void *out, pz_error *err) {
  if (pz_net_run(net, (const void *const[]){in}, (void *const[]){out}) == PZ_OK) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s", pz_last_message());
}

/* A network for exact tiles, with the place of its patch. */
typedef struct exact_net {
  pz_net *net;
  float place[6];
} exact_net;
static pz_status run_exact(void *host, const void *in, void *out, pz_error *err) {
  const exact_net *e = host;
  if (pz_net_run(e->net, (const void *const[]){in, e->place}, (void *const[]){out}) == PZ_OK) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s", pz_last_message());
}
static void reset_exact(void *host) { pz_net_reset(((const exact_net *)host)->net); }

/* A 2D network is a 3D one whose patches are one plane thick. */
static pz_status spatial(const char *path, const char *what, const pz_port *port, int32_t *channels,
                         int64_t size[3], pz_error *err) {
  if ((port->rank != 4 && port->rank != 5) || port->dim[0] != 1 || port->dim[1] > PZ_VOLUME_MAX_CHANNELS)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: the %s \"%s\" has rank %d and batch %lld; expected [1, channels, (z,) y, x]", path,
                   what, port->name, port->rank, (long long)port->dim[0]);
  *channels = (int32_t)port->dim[1];
  size[0] = port->rank == 5 ? port->dim[2] : 1;
  size[1] = port->dim[port->rank - 2];
  size[2] = port->dim[port->rank - 1];
  return PZ_OK;
}

/* Those that pznet compiles networks for. */
static pz_status check_type(const char *path, const char *what, const pz_port *port, pz_error *err) {
  if (pz_type_of_tensors(port->dtype)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: the %s \"%s\" is of %s, which infer does not know", path, what,
                 port->name, pz_dtype_name(port->dtype));
}

static pz_status bind_ports(const char *path, pz_net *net, pz_patch_function *f, pz_error *err) {
  pz_port in, out;
  if (pz_net_inputs(net) != 1 + (f->tiles != NULL) || pz_net_outputs(net) != 1)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: %d inputs and %d outputs; infer needs a network with one of each", path,
                   pz_net_inputs(net), pz_net_outputs(net));
  if (pz_net_input(net, 0, &in) != PZ_OK || pz_net_output(net, 0, &out) != PZ_OK)
    return pz_fail(err, PZ_ERROR_INPUT, "%s", pz_last_message());
  PZ_TRY(spatial(path, "input", &in, &f->channels_in, f->in, err));
  PZ_TRY(spatial(path, "output", &out, &f->channels_out, f->out, err));
  if (in.rank != out.rank)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: an input of rank %d and an output of rank %d; expected the same",
                   path, in.rank, out.rank);
  f->planar = in.rank == 4;
  f->taken = (pz_element){in.dtype, in.scale, in.zero_point};
  f->given = (pz_element){out.dtype, out.scale, out.zero_point};
  PZ_TRY(check_type(path, "input", &in, err));
  PZ_TRY(check_type(path, "output", &out, err));
  return PZ_OK;
}

static pz_status check_exact(const char *path, const pz_infer_options *options, const pz_network_tiles *t,
                             const pz_network_locality *l, const pz_net *net, const pz_patch_function *f,
                             pz_error *err) {
  pz_port place;
  if (!t->exact && options->tiling == PZ_TILING_EXACT && l->layer[0])
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: layer '%s' %s, so that no tile can be exact; use overlapping patches", path, l->layer,
                   l->why);
  if (!t->exact && options->tiling == PZ_TILING_EXACT)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: was not compiled for exact tiles; compile it with --tiling exact", path);
  if (!t->exact) return PZ_OK;
  bool sound = true;
  for (int i = 0; i < 3; i++)
    sound = sound && t->in[i] == f->in[i] && t->out[i] == f->out[i] && t->first[i] <= 0 &&
            t->result[i] <= 0 && t->first[i] > -PZ_MOST_PLACE && t->result[i] > -PZ_MOST_PLACE &&
            t->before[i] < PZ_MOST_PLACE;
  if (!sound || !l->known || pz_net_inputs(net) != 2 || pz_net_input(net, 1, &place) != PZ_OK ||
      place.rank != 1 || place.elements != 6 || place.dtype != PZ_F32)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: is not as pznet compiles networks for exact tiles; compile it again", path);
  return PZ_OK;
}

/* A result of another resolution than the volume's would be taken for the middle of it. */
static pz_status check_scale(const char *path, const pz_network_locality *l, pz_error *err) {
  for (int i = 0; i < 3; i++)
    if (l->known && l->coarser[i] != l->finer[i])
      return pz_fail(
          err, PZ_ERROR_INPUT,
          "%s: its result has %lld voxel%s along %c for %lld of the volume; infer needs one for each", path,
          (long long)l->finer[i], l->finer[i] == 1 ? "" : "s", "zyx"[i], (long long)l -> coarser[i]);
  return PZ_OK;
}

static pz_status with_volume(const pz_patch_function *f, const pz_volume_reader *input,
                             const pz_volume_writer *output, const pz_infer_options *options, char **report,
                             pz_error *err) {
  pz_volume *volume;
  pz_axes_choice choice;
  PZ_TRY(pz_axes_choose(options->axes, options->at, &choice, err));
  if (!input->path && (choice.axes[0] || choice.at_t || choice.at_c))
    return pz_fail(err, PZ_ERROR_USAGE, "axes and at are for volumes that are files");
  PZ_TRY(input->path ? pz_volume_open_chosen(input->path, &choice, &volume, err)
                     : pz_volume_from_calls(input, &volume, err));
  const pz_status status = pz_engine_run(f, volume, output, options, NULL, report, err);
  pz_volume_close(volume);
  return status;
}

static pz_status check_pool(const pz_net *net, pz_error *err) {
  if (pz_pool_usable(net->pool)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN,
                 "%s: was opened by the process that this one was forked from: open it here",
                 pz_runtime_path(net));
}

/* A job needs the network's identity: of what was opened, whatever has its name now. */
static pz_status identify(pz_net *net, bool job, const char *wanted, const char **digest, pz_error *err) {
  *digest = "none";
  if (wanted) PZ_TRY(pz_runtime_check_digest(net, wanted, err));
  return job ? pz_runtime_digest(net, digest, err) : PZ_OK;
}

static pz_status with_net(pz_net *net, const pz_volume_reader *input, const pz_volume_writer *output,
                          const pz_infer_options *options, char **report, pz_error *err) {
  const char *path = pz_runtime_path(net);
  const char *digest;
  const int64_t bytes = pz_runtime_file_bytes(net); /* code and weights count as memory */
  PZ_TRY(check_pool(net, err));
  PZ_TRY(identify(net, output->path || output->job, options->digest, &digest, err));
  pz_patch_function f = {
      .run = run_net, .host = net, .pool = net->pool, .digest = digest, .memory = pz_net_memory(net) + bytes};
  pz_network_locality locality;
  pz_network_tiles tiles;
  exact_net exact = {.net = net};
  pz_network_locality_read(pz_net_manifest(net), &locality);
  PZ_TRY(pz_network_tiles_read(path, pz_net_manifest(net), &tiles, err));
  f.locality = &locality;
  if (tiles.exact) {
    f.tiles = &tiles, f.place = exact.place;
    f.run = run_exact, f.host = &exact, f.reset = reset_exact;
  }
  PZ_TRY(bind_ports(path, net, &f, err));
  PZ_TRY(check_exact(path, options, &tiles, &locality, net, &f, err));
  PZ_TRY(check_scale(path, &locality, err));
  return with_volume(&f, input, output, options, report, err);
}

/* What an enumeration holds comes from the caller and indexes tables. */
static pz_status check_options(const pz_infer_options *o, pz_error *err) {
  if ((unsigned)o->blend > PZ_BLEND_BUMP || (unsigned)o->normalize > PZ_NORMALIZE_ZSCORE ||
      (unsigned)o->border > PZ_BORDER_ZERO || (unsigned)o->nan > PZ_NAN_ZERO ||
      (unsigned)o->store > PZ_STORE_F16 || (unsigned)o->apply > PZ_APPLY_SOFTMAX ||
      (unsigned)o->tiling > PZ_TILING_EXACT || (unsigned)o->sums > PZ_SUMS_HALF)
    return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: an option is none of the values of its enumeration");
  if (o->store == PZ_STORE_THRESHOLD && !isfinite(o->threshold))
    return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: a threshold that is no finite number");
  if (o->memory < 0)
    return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: a negative limit on memory; expected bytes");
  return PZ_OK;
}

static pz_status infer(const char *network, const char *input, const char *output,
                       const pz_infer_options *options, char **report, pz_error *err) {
  const pz_net_options net_options = {.threads = options->threads, .digest = options->digest};
  const pz_volume_reader reader = {.path = input};
  const pz_volume_writer writer = {.path = output};
  pz_net *net;
  PZ_TRY(check_options(options, err));
  PZ_TRY(pz_runtime_open(network, &net_options, &net, err));
  const pz_status status = with_net(net, &reader, &writer, options, report, err);
  pz_runtime_close(net);
  return status;
}

static const pz_infer_options defaults = PZ_INFER_OPTIONS;

pz_status pz_infer(const char *network, const char *input, const char *output,
                   const pz_infer_options *options, char **report) {
  pz_error err = {0};
  if (report) *report = NULL;
  if (!network || !input || !output)
    pz_fail(&err, PZ_ERROR_USAGE, "pz_infer: network, input and output must be given");
  else infer(network, input, output, options ? options : &defaults, report, &err);
  return pz_public_status(&err);
}

pz_status pz_net_infer(pz_net *net, const pz_volume_reader *input, const pz_volume_writer *output,
                       const pz_infer_options *options, char **report) {
  pz_error err = {0};
  if (report) *report = NULL;
  if (!options) options = &defaults;
  if (!net || !input || !output || (!input->path && !input->read) || (!output->path && !output->write))
    pz_fail(&err, PZ_ERROR_USAGE,
            "pz_net_infer: net, input and output must be given, each with a path or a function");
  else if (check_options(options, &err) == PZ_OK) with_net(net, input, output, options, report, &err);
  return pz_public_status(&err);
}

pz_status pz_volume_describe(const char *path, char **json) {
  pz_error err = {0};
  pz_volume *volume = NULL;
  *json = NULL;
  const pz_axes_choice choice = {.any_time = true};
  if (pz_volume_open_chosen(path, &choice, &volume, &err) == PZ_OK) {
    *json = pz_report_volume(volume);
    if (!*json) pz_fail_memory(&err, "a description", 4096);
  }
  pz_volume_close(volume);
  return pz_public_status(&err);
}
