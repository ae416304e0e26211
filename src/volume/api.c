/* api.c: pz_infer, pz_net_infer and pz_volume_describe of the public header: a network file bound to the engine. */
#include "runtime/runtime.h"
#include "formats/calls.h"
#include "volume/engine.h"
#include "volume/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pz_status run_net(void *net, const void *in, void *out, pz_error *err) {
  if (pz_net_run(net, (const void *const[]){in}, (void *const[]){out}) == PZ_OK) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s", pz_last_message());
}

/* A network for exact tiles, with the place of its patch, which is that of all networks. */
typedef struct exact_net {
  pz_net *net;
  const float *place;
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

/* ------------------------------------------------------------------ one network, or several */

/* A network that is open, and what is known of it. */
typedef struct member {
  pz_net *net;
  exact_net exact;
  pz_network_locality locality;
  pz_network_tiles tiles;
  pz_patch_function f; /* as it would be alone */
} member;

/* job: its identity is needed. place: what networks for exact tiles read. */
static pz_status bind(member *m, const pz_infer_options *options, bool job, const char *wanted, float *place,
                      pz_error *err) {
  pz_net *net = m->net;
  const char *path = pz_runtime_path(net);
  const int64_t bytes = pz_runtime_file_bytes(net); /* code and weights count as memory */
  pz_patch_function *f = &m->f;
  PZ_TRY(check_pool(net, err));
  *f = (pz_patch_function){
      .run = run_net, .host = net, .pool = net->pool, .path = path, .memory = pz_net_memory(net) + bytes};
  PZ_TRY(identify(net, job, wanted, &f->digest, err));
  pz_network_locality_read(pz_net_manifest(net), &m->locality);
  PZ_TRY(pz_network_tiles_read(path, pz_net_manifest(net), &m->tiles, err));
  f->locality = &m->locality;
  m->exact = (exact_net){net, place};
  if (m->tiles.exact) {
    f->tiles = &m->tiles, f->place = place;
    f->run = run_exact, f->host = &m->exact, f->reset = reset_exact;
  }
  PZ_TRY(bind_ports(path, net, f, err));
  PZ_TRY(check_exact(path, options, &m->tiles, &m->locality, net, f, err));
  return check_scale(path, &m->locality, err);
}

/* "1 x 64 x 64 x 64 of u8, scale 0.5, zero point 128" */
enum { PORT_TEXT = 160 };
static const char *port_text(const pz_patch_function *f, bool output, char text[PORT_TEXT]) {
  const int64_t *size = output ? f->out : f->in;
  const pz_element *e = output ? &f->given : &f->taken;
  int n = snprintf(text, PORT_TEXT, "%d x ", output ? f->channels_out : f->channels_in);
  for (int i = f->planar; i < 3; i++)
    n += snprintf(text + n, (size_t)(PORT_TEXT - n), "%lld%s", (long long)size[i], i < 2 ? " x " : "");
  n += snprintf(text + n, (size_t)(PORT_TEXT - n), " of %s", pz_dtype_name(e->type));
  if (e->scale != 1 || e->zero_point)
    snprintf(text + n, (size_t)(PORT_TEXT - n), ", scale %.9g, zero point %d", (double)e->scale,
             e->zero_point);
  return text;
}

/* What the words say is all that a port is. */
static pz_status same_ports(const pz_patch_function *f, const pz_patch_function *first, pz_error *err) {
  char its[PORT_TEXT], that[PORT_TEXT];
  for (int output = 0; output < 2; output++)
    if (strcmp(port_text(f, output, its), port_text(first, output, that)) != 0)
      return pz_fail(err, PZ_ERROR_INPUT,
                     "%s: its %s is %s, that of %s is %s; networks that are averaged have the same", f->path,
                     output ? "output" : "input", its, first->path, that);
  return PZ_OK;
}

/* What patches of exact tiles read and give, along an axis. */
static bool same_axis(const member *m, const member *first, int i) {
  const pz_network_tiles *a = &m->tiles, *b = &first->tiles;
  const pz_network_locality *k = &m->locality, *l = &first->locality;
  return a->stream[i] == b->stream[i] && a->whole[i] == b->whole[i] && a->first[i] == b->first[i] &&
         a->result[i] == b->result[i] && a->before[i] == b->before[i] && k->stride[i] == l->stride[i] &&
         k->before[i] == l->before[i] && k->behind[i] == l->behind[i] && k->any_size[i] == l->any_size[i];
}

static pz_status same_tiles(const member *m, const member *first, pz_error *err) {
  if (m->tiles.exact != first->tiles.exact)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: was compiled %s exact tiles, %s %s; compile both in the same way", m->f.path,
                   m->tiles.exact ? "for" : "without", first->f.path,
                   m->tiles.exact ? "was not" : "for them");
  for (int i = 0; i < 3 && m->tiles.exact; i++)
    if (!same_axis(m, first, i))
      return pz_fail(err, PZ_ERROR_INPUT,
                     "%s: its exact tiles differ from those of %s along %c; networks that are averaged look "
                     "equally far and are compiled with the same --patch and --volume",
                     m->f.path, first->f.path, "zyx"[i]);
  return PZ_OK;
}

static pz_status agree(const member *all, int i, pz_error *err) {
  const member *m = &all[i];
  for (int k = 0; k < i; k++)
    if (m->net == all[k].net)
      return pz_fail(err, PZ_ERROR_USAGE, "%s: one open network is given twice; open it twice", m->f.path);
  PZ_TRY(same_ports(&m->f, &all[0].f, err));
  return same_tiles(m, &all[0], err);
}

/* All networks of a run, the first of which is what the options are of. */
typedef struct ensemble {
  pz_net *net[1 + PZ_MOST_ENSEMBLE];
  int n;
  member *member;
  pz_patch_other other[PZ_MOST_ENSEMBLE];
  pz_network_locality locality; /* of all: a patch costs the sum, and so does the ideal */
  float place[6];
} ensemble;

static void add_member(ensemble *e, int i, pz_patch_function *f) {
  const member *m = &e->member[i];
  pz_network_locality *l = &e->locality;
  l->run += m->locality.run;
  l->ideal = l->ideal > 0 && m->locality.ideal > 0 ? l->ideal + m->locality.ideal : 0;
  l->n_larger = 0;
  f->memory += m->f.memory;
  e->other[i - 1] = (pz_patch_other){m->f.run, m->f.host, m->f.reset, m->f.path, m->f.digest};
  f->n_others = i;
}

static pz_status bind_all(ensemble *e, const pz_infer_options *options, bool job, pz_patch_function *f,
                          pz_error *err) {
  for (int i = 0; i < e->n; i++) {
    e->member[i].net = e->net[i];
    PZ_TRY(bind(&e->member[i], options, job, i ? NULL : options->digest, e->place, err));
    if (i) PZ_TRY(agree(e->member, i, err));
  }
  *f = e->member[0].f;
  f->others = e->other;
  e->locality = e->member[0].locality;
  f->locality = &e->locality;
  for (int i = 1; i < e->n; i++) add_member(e, i, f);
  return PZ_OK;
}

static pz_status with_nets(ensemble *e, const pz_volume_reader *input, const pz_volume_writer *output,
                           const pz_infer_options *options, char **report, pz_error *err) {
  pz_patch_function f;
  e->member = calloc((size_t)e->n, sizeof *e->member);
  if (!e->member) return pz_fail_memory(err, "networks", (unsigned long long)e->n * sizeof *e->member);
  pz_status status = bind_all(e, options, output->path || output->job, &f, err);
  if (status == PZ_OK) status = with_volume(&f, input, output, options, report, err);
  free(e->member);
  return status;
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
  if (o->ensemble_size < 0 || o->ensemble_size > PZ_MOST_ENSEMBLE)
    return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: %d networks to average with; expected at most %d",
                   (int)o->ensemble_size, PZ_MOST_ENSEMBLE);
  if (o->memory < 0)
    return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: a negative limit on memory; expected bytes");
  return PZ_OK;
}

/* Those that were opened are e->net[0..e->n-1], also after a failure. */
static pz_status open_all(const char *network, const pz_infer_options *o, ensemble *e, pz_error *err) {
  if (o->ensemble_size && (!o->ensemble || o->ensemble_nets))
    return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: the networks to average with are paths, in `ensemble`");
  for (int i = 0; i < o->ensemble_size; i++)
    if (!o->ensemble[i]) return pz_fail(err, PZ_ERROR_USAGE, "pz_infer: the path of a network is missing");
  for (int i = 0; i <= o->ensemble_size; i++, e->n++) {
    const pz_net_options net_options = {.threads = o->threads, .digest = i ? NULL : o->digest};
    PZ_TRY(pz_runtime_open(i ? o->ensemble[i - 1] : network, &net_options, &e->net[i], err));
  }
  return PZ_OK;
}

static pz_status infer(const char *network, const char *input, const char *output,
                       const pz_infer_options *options, char **report, pz_error *err) {
  const pz_volume_reader reader = {.path = input};
  const pz_volume_writer writer = {.path = output};
  ensemble e = {.n = 0};
  PZ_TRY(check_options(options, err));
  pz_status status = open_all(network, options, &e, err);
  if (status == PZ_OK) status = with_nets(&e, &reader, &writer, options, report, err);
  for (int i = 0; i < e.n; i++) pz_runtime_close(e.net[i]);
  return status;
}

static pz_status infer_open(pz_net *net, const pz_volume_reader *input, const pz_volume_writer *output,
                            const pz_infer_options *o, char **report, pz_error *err) {
  ensemble e = {.net = {net}, .n = 1};
  PZ_TRY(check_options(o, err));
  if (o->ensemble_size && (!o->ensemble_nets || o->ensemble))
    return pz_fail(err, PZ_ERROR_USAGE,
                   "pz_net_infer: the networks to average with are open ones, in `ensemble_nets`");
  for (int i = 0; i < o->ensemble_size; i++) {
    if (!o->ensemble_nets[i]) return pz_fail(err, PZ_ERROR_USAGE, "pz_net_infer: a network is missing");
    e.net[e.n++] = o->ensemble_nets[i];
  }
  return with_nets(&e, input, output, o, report, err);
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
  else infer_open(net, input, output, options, report, &err);
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
