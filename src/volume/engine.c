#include "volume/engine.h"
#include "base/clock.h"

#include "base/file.h"
#include "volume/run_layout.h"
#include "formats/convert.h"
#include "volume/finished.h"
#include "volume/mask.h"
#include "formats/io.h"
#include "formats/sink.h"
#include "volume/normalize.h"
#include "volume/preview.h"
#include "volume/report.h"
#include "volume/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const pz_engine_tuning defaults = {
    .record_seconds = 5, .journal_speed = 200e6, .store_bytes = PZ_PORTION, .read_bytes = PZ_PORTION};

void pz_run_tell(pz_run *r, pz_run_part part, int64_t done, int64_t total) {
  static const char *const names[] = {"mean and deviation", "patches", "writing"};
  const double now = pz_now();
  pz_forecast_enter(&r->forecast, (int)part, now);
  pz_forecast_count(&r->forecast, done, total, now);
  pz_forecast_tell(&r->forecast, names[part], done, total, now);
}

#define READ_RATE  1e9 /* bytes a second, about */
#define WRITE_RATE 1e9
#define PACK_RATE  8e7 /* of a thread */

/* What patches take is known when some are done. A pass over the volume comes before them for its mean, and where the result is to be turned into
 * its format one behind them. */
static void foresee(pz_run *r) {
  const bool statistics = r->normalize == PZ_NORMALIZE_ZSCORE,
             converts = !r->sink && (r->joins || pz_volume_converts(r->output.format, r->level));
  const int64_t *view = r->layout.view.size;
  const double in = (double)r->input->info.channels * (double)pz_dtype_bytes(r->input->info.dtype) *
                    (double)view[0] * (double)view[1] * (double)view[2],
               out = (double)pz_volume_bytes(&r->layout.result),
               threads = r->function->pool ? pz_pool_threads(r->function->pool) : 1,
               rate = r->level > 0                                     ? threads * PACK_RATE
                      : converts && r->output.format->convert_rate > 0 ? r->output.format->convert_rate
                                                                       : WRITE_RATE;
  pz_forecast_begin(&r->forecast, r->options->progress, r->options->progress_host, r->begun);
  pz_forecast_add(&r->forecast, statistics ? in / READ_RATE : 0);
  pz_forecast_add(&r->forecast, -1);
  pz_forecast_add(&r->forecast, r->sink ? 0 : out / rate);
}

bool pz_run_interrupted(const pz_run *r) { return r->options->interrupt && *r->options->interrupt; }

static bool mirror(const pz_run *r) { return r->layout.tiling.mirror; }

/* ------------------------------------------------------------------ before the work */

/* What gives a result that says nothing, or another than was meant, is refused. */
static pz_status check_store(const pz_infer_options *o, int32_t channels, pz_error *err) {
  const char *const flag = o->apply == PZ_APPLY_SOFTMAX ? "--softmax" : "--sigmoid";
  if (o->store == PZ_STORE_ARGMAX && channels == 1)
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "--argmax of a network with one channel is 0 everywhere; use --threshold 0.5, with --sigmoid "
        "where the network has none at its end");
  if (o->store == PZ_STORE_ARGMAX && o->apply != PZ_APPLY_NOTHING)
    return pz_fail(err, PZ_ERROR_USAGE, "--argmax goes without %s, which does not change what is greatest",
                   flag);
  if (o->apply == PZ_APPLY_SOFTMAX && channels == 1)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--softmax of a network with one channel is 1 everywhere; use --sigmoid");
  if (o->apply != PZ_APPLY_NOTHING && o->skip_zero)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--skip-zero goes without %s, which would not leave the 0 of skipped patches as it is",
                   flag);
  return PZ_OK;
}

static pz_status check_channels(const pz_run *r, pz_error *err) {
  const int32_t have = r->input->info.channels, want = r->function->channels_in;
  char more[2 * PZ_AXES_WORDS] = "";
  if (have != want && !r->input->calls) pz_axes_suggest(&r->input->array, &r->input->axes, want, more);
  if (have != want)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: %d channel%s, the network takes %d; a volume of %d channels has the shape [%d, z, y, x]%s",
        r->input->path, have, have == 1 ? "" : "s", want, want, want, more);
  PZ_TRY(check_store(r->options, r->function->channels_out, err));
  if (r->options->store == PZ_STORE_ARGMAX && r->function->channels_out > 256)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--argmax stores an index in 8 bits; the network has %d channels, at most 256",
                   r->function->channels_out);
  return PZ_OK;
}

/* What a link leads to is replaced, and not the link. A dataset that is there may be the finished result of --resume. */
static pz_status check_join(pz_run *r, pz_error *err) {
  pz_volume_path *o = &r->output;
  char real[PATH_MAX];
  if (!o->format->check_join) return PZ_OK;
  const pz_status status =
      o->format->check_join(o->file, o->dataset, r->options->update, &r->joins, &r->taken);
  if (status != PZ_OK && (status != PZ_ERROR_USAGE || !r->options->resume))
    return pz_fail(err, status, "%s", r->taken.message);
  if (!r->joins) return PZ_OK;
  o->file = realpath(o->file, real) ? pz_arena_strdup(r->arena, real) : NULL;
  return o->file ? PZ_OK : pz_fail(err, PZ_ERROR_OUTPUT, "%s: %m", r->output_name);
}

/* The input, or the mask. A file may hold both it and the output, as datasets of two names. */
static bool is_output(const pz_run *r, const pz_volume *input) {
  const pz_volume_path *o = &r->output;
  if (input->calls) return false;
  if (input->format->owns) return input->format->owns(input, o->file);
  if (!pz_io_same_file(input->path, o->file)) return false;
  return !o->format->join || !input->dataset || !o->dataset || strcmp(input->dataset, o->dataset) == 0;
}

static pz_status check_output(pz_run *r, pz_error *err) {
  const pz_volume_path *o = &r->output;
  if (r->sink) return PZ_OK;
  const bool input = is_output(r, r->input);
  if (input || (r->mask && is_output(r, r->mask)))
    return pz_fail(err, PZ_ERROR_USAGE,
                   "%s: the output is the %s, or would lie in it; give the result another name", o->file,
                   input ? "input" : "mask");
  PZ_TRY(pz_file_check_writable(o->file, err));
  PZ_TRY(check_join(r, err));
  return o->format->check_output ? o->format->check_output(o->file, o->dataset, &r->layout.result, err)
                                 : PZ_OK;
}

static void find_finished(pz_run *r) {
  if (access(r->output.file, F_OK) != 0) return;
  if (!pz_run_locate(r, r->output.file, &r->places)) r->places.output = UINT64_MAX; /* nobody's */
  r->finished =
      pz_finished_find(r->output.file, r->places, &r->facts, &r->counts.tally, r->stale, sizeof r->stale);
}

/* Before the work. A finished output is left alone; `stale` says why it is not one. */
static pz_status look_for_finished(pz_run *r, pz_error *err) {
  struct stat info;
  const char *output = r->output.file;
  if (r->sink) return PZ_OK;
  if (r->options->resume) find_finished(r);
  if (r->finished) return PZ_OK;
  if (r->taken.message[0])
    return pz_fail(err, PZ_ERROR_USAGE, "%s%s%s", r->taken.message, r->stale[0] ? ": " : "", r->stale);
  if (!r->options->no_overwrite || lstat(output, &info) != 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: exists, and is not to be overwritten%s%s", output,
                 r->stale[0] ? ": " : "; give another name", r->stale);
}

static pz_status announce(const pz_run *r, pz_error *err) {
  if (!r->options->planned) return PZ_OK;
  char *text = pz_report_print(r, false);
  if (!text) return pz_fail_memory(err, "the plan in words", 4096);
  r->options->planned(r->options->planned_host, text);
  free(text);
  return PZ_OK;
}

/* ------------------------------------------------------------------ normalisation */

static bool statistics_step(void *host, int64_t planes) {
  pz_run *r = host;
  pz_run_tell(r, PZ_RUN_STATISTICS, planes, r->layout.view.size[0]);
  return !pz_run_interrupted(r);
}

/* The numbers are remembered bit by bit, so that a resumed job need not read the volume again. */
static bool recall(pz_run *r) {
  char name[32], text[64];
  for (int32_t c = 0; c < r->function->channels_in; c++) {
    snprintf(name, sizeof name, "normalisation.%d", (int)c);
    if (!pz_job_get(r->job, name, text, sizeof text)) return false;
    if (sscanf(text, "%la %la", &r->window.shift[c], &r->window.scale[c]) != 2) return false;
  }
  return true;
}

static pz_status remember(pz_run *r, pz_error *err) {
  char name[32], text[64];
  for (int32_t c = 0; c < r->function->channels_in; c++) {
    snprintf(name, sizeof name, "normalisation.%d", (int)c);
    snprintf(text, sizeof text, "%a %a", r->window.shift[c], r->window.scale[c]);
    PZ_TRY(pz_job_set(r->job, name, text, err));
  }
  return PZ_OK;
}

static pz_status normalise(pz_run *r, pz_error *err) {
  if (r->normalize == PZ_NORMALIZE_ZSCORE && r->job && recall(r)) return PZ_OK;
  const double begin = pz_now();
  PZ_TRY(pz_normalize_prepare(r->normalize, r->input, &r->window, statistics_step, r, err));
  r->counts.statistics = pz_now() - begin;
  return r->normalize == PZ_NORMALIZE_ZSCORE && r->job ? remember(r, err) : PZ_OK;
}

/* ------------------------------------------------------------------ the work */

static const pz_axis *z_axis(const pz_run *r) { return &r->window.block.grid.axis[0]; }

/* The block that is at work is the index-th: what a job counts of layers is behind those of the blocks before. */
static int64_t layers_before(const pz_run *r, int64_t index) { return index * r->layout.layers; }

/* Patches are recorded for results in files alone: what a callback has taken is recorded by planes. */
static pz_job *journal_of(const pz_run *r) { return r->sink ? NULL : r->job; }

/* Patches of one layer. */
typedef struct layer {
  int64_t k, global; /* of the block, of all blocks */
  int64_t recorded;  /* patches that are in the journal */
  int journal;       /* the file with them; -1 */
  int64_t stored;    /* of its final planes, layers before this one */
  bool recording;    /* all its patches so far are in the journal */
  bool fed;          /* its input is there */
} layer;

/* A journal pays when writing a patch's result takes a small part of the time that computing it takes, and a layer takes longer than
 * what may be lost. */
static bool worth_recording(const pz_run *r) {
  const int64_t *out = r->function->out;
  if (z_axis(r)->warm) return false; /* the state behind it is not recorded */
  const double bytes = 4.0 * (double)(out[0] * out[1] * out[2]) * r->function->channels_out;
  if (r->patch_seconds == 0) return true;
  return bytes / r->tuning.journal_speed < r->patch_seconds / 10 &&
         r->patch_seconds * (double)r->window.block.patches >= r->tuning.record_seconds;
}

static pz_status begin_layer(const pz_run *r, int64_t block, int64_t k, layer *w, pz_error *err) {
  char path[PATH_MAX];
  *w = (layer){.k = k, .global = layers_before(r, block) + k, .journal = -1};
  if (!journal_of(r)) return PZ_OK;
  if (k <= r->first_layer) w->recorded = pz_job_patches(r->job, w->global);
  if (w->recorded < 0 || w->recorded > r->window.block.patches) return pz_run_damaged(r, err);
  w->recording = k >= r->first_layer;
  if (!w->recorded) return PZ_OK;
  if (!pz_job_layer_path(r->job, w->global, path, sizeof path)) return pz_run_damaged(r, err);
  w->journal = open(path, O_RDONLY | O_CLOEXEC);
  return w->journal >= 0 ? PZ_OK : pz_run_damaged(r, err);
}

static pz_status replay(pz_run *r, const layer *w, int64_t index, float *out, pz_error *err) {
  const int64_t *size = r->function->out, bytes = size[0] * size[1] * size[2] * r->function->channels_out * 4;
  r->counts.replayed++;
  return pz_io_read(w->journal, r->result_path, out, bytes, index * bytes, err);
}

/* A stream begins anew: of networks that have a state. */
static void reset_state(pz_run *r) {
  const pz_patch_function *f = r->function;
  if (f->reset) f->reset(f->host);
  for (int32_t i = 0; i < f->n_others; i++)
    if (f->others[i].reset) f->others[i].reset(f->others[i].host);
  r->state_lost = false;
}

static pz_status compute(pz_run *r, layer *w, const int64_t k[3], float *out, bool *skipped, pz_error *err) {
  if (!w->fed) {
    int64_t last;
    pz_axis_needs(z_axis(r), w->k, mirror(r), &last);
    last = pz_window_count(&r->window, r->window.block.index, last);
    PZ_TRY(pz_stages_wait_input(r->stages, last, &r->counts.wait, err));
    w->fed = true;
  }
  const double begin = pz_now();
  *skipped = pz_mask_leaves_out(&r->window, k) || (r->options->skip_zero && pz_patch_is_zero(&r->window, k));
  if (!*skipped) {
    if (r->state_lost) reset_state(r);
    pz_patch_read(&r->window, k);
    PZ_TRY(pz_patch_apply(&r->window, out, err));
    r->patch_seconds = pz_now() - begin;
  }
  r->state_lost = *skipped;
  r->counts.run += !*skipped, r->counts.skipped += *skipped;
  r->counts.compute += pz_now() - begin;
  return PZ_OK;
}

/* From places in the block's result, and in what is tiled, to those in the volume. */
static void to_volume(const pz_run *r, pz_lost_voxel *v, bool of_result) {
  int64_t *const at[3] = {&v->z, &v->y, &v->x};
  for (int i = 0; i < 3; i++)
    *at[i] += r->layout.view.start[i] + (of_result ? r->window.block.grid.axis[i].origin : 0);
}

/* The input is finite, or the run would have ended where it was read. */
static pz_status not_finite(pz_run *r, const layer *w, const int64_t k[3], const float *out, bool known,
                            pz_error *err) {
  pz_lost_voxel at;
  if (r->options->nan == PZ_NAN_PROPAGATE || !pz_patch_find_not_finite(&r->window, k, out, r->from, &at))
    return PZ_OK;
  if (known) return pz_run_damaged(r, err);
  r->hopeless = true;
  pz_lost_voxel top = pz_patch_greatest_input(&r->window);
  to_volume(r, &at, true), to_volume(r, &top, false);
  return pz_fail(
      err, PZ_ERROR_RUN,
      "%s: the network gives %s at channel %lld, z = %lld, y = %lld, x = %lld, in patch (%lld, %lld, "
      "%lld), whose input goes to %g, at channel %lld, z = %lld, y = %lld, x = %lld; use another "
      "--normalize, mend the volume, or let it pass with --nan propagate",
      r->input->path, pz_not_finite_name(at.value), (long long)at.channel, (long long)at.z, (long long)at.y,
      (long long)at.x, (long long)w->k, (long long)k[1], (long long)k[2], (double)top.value,
      (long long)top.channel, (long long)top.z, (long long)top.y, (long long)top.x);
}

static pz_status one_patch(pz_run *r, layer *w, int64_t index, pz_error *err) {
  const int64_t columns = r->window.block.grid.axis[2].count, k[3] = {w->k, index / columns, index % columns};
  const int which = (int)(r->done % r->layout.buffers);
  const bool known = index < w->recorded;
  bool skipped = false;
  float *out = r->window.out[which];
  if (pz_run_interrupted(r))
    return pz_fail(err, PZ_INTERRUPTED, "interrupted: %d%% done (%lld of %lld patches)%s",
                   (int)(100 * r->done / r->counts.patches), (long long)r->done, (long long)r->counts.patches,
                   r->job ? "; run the same command with --resume to go on" : "");
  PZ_TRY(pz_stages_wait_patch(r->stages, which, &r->counts.wait, err));
  PZ_TRY(known ? replay(r, w, index, out, err) : compute(r, w, k, out, &skipped, err));
  const double begin = pz_now();
  if (!skipped && !pz_patch_scatter(&r->window, k, out, r->from))
    PZ_TRY(not_finite(r, w, k, out, known, err));
  r->counts.compute += pz_now() - begin;
  w->recording = w->recording && (known || worth_recording(r));
  if (w->recording && !known) pz_stages_put_patch(r->stages, w->global, index, skipped ? -1 : which);
  if (known) pz_forecast_skip(&r->forecast, 1);
  pz_run_tell(r, PZ_RUN_PATCHES, ++r->done, r->counts.patches);
  return PZ_OK;
}

/* Each patch was finite. */
static pz_status tally(pz_run *r, const pz_part_tally *t, pz_error *err) {
  r->counts.tally.clipped += t->clipped, r->counts.tally.not_finite += t->not_finite;
  if (!t->not_finite || r->options->nan == PZ_NAN_PROPAGATE) return PZ_OK;
  r->hopeless = true;
  pz_lost_voxel at = t->first;
  to_volume(r, &at, true);
  return pz_fail(
      err, PZ_ERROR_RUN,
      "%s: the sum of the patches over channel %lld, z = %lld, y = %lld, x = %lld is beyond the range "
      "of 32-bit floats; use another --normalize, or let it pass with --nan propagate",
      r->input->path, (long long)at.channel, (long long)at.z, (long long)at.y, (long long)at.x);
}

static pz_status store_part(pz_run *r, const pz_part *part, int which, pz_error *err) {
  const double start = pz_now();
  const pz_part_tally told = pz_part_store(&r->window, part, which);
  PZ_TRY(tally(r, &told, err));
  r->counts.compute += pz_now() - start;
  return PZ_OK;
}

/* To a file: in portions that a buffer holds. */
static pz_status store_to_file(pz_run *r, const pz_part *all, pz_error *err) {
  if (all->rows <= 0) return PZ_OK;
  const int64_t most = r->layout.store_planes * r->window.block.result.size[1] / all->rows;
  for (pz_part part = *all; part.z < all->z + all->planes; part.z += part.planes) {
    const int64_t left = all->z + all->planes - part.z;
    part.planes = part.buffer = most < left ? most : left;
    const int which = (int)(r->stored++ % r->layout.stores);
    PZ_TRY(pz_stages_wait_store(r->stages, which, &r->counts.wait, err));
    PZ_TRY(store_part(r, &part, which, err));
    pz_stages_put_part(r->stages, &part, which, r->counts.tally);
  }
  return PZ_OK;
}

/* To a callback: a buffer is handed over when it is full, which is whole steps of what takes it, or with the last plane. */
static pz_status store_to_sink(pz_run *r, const pz_part *all, pz_error *err) {
  const int64_t room = r->layout.store_planes, end = all->z + all->planes,
                last = r->window.block.result.size[0];
  for (pz_part part = *all; part.z < end; part.z += part.planes) {
    const int64_t begin = r->from + (part.z - r->from) / room * room,
                  full = begin + room < last ? begin + room : last;
    part.at = part.z - begin, part.buffer = full - begin;
    part.planes = full < end ? full - part.z : end - part.z;
    const int which = (int)(r->stored % r->layout.stores);
    if (!part.at) PZ_TRY(pz_stages_wait_store(r->stages, which, &r->counts.wait, err));
    PZ_TRY(store_part(r, &part, which, err));
    if (part.z + part.planes < full) continue;
    const pz_part whole = {.z = begin, .planes = full - begin, .rows = part.rows, .buffer = part.buffer};
    pz_stages_put_part(r->stages, &whole, which, r->counts.tally);
    r->stored++;
  }
  return PZ_OK;
}

/* Where along an axis patch k is the last one. */
static int64_t final_end(const pz_axis *a, int64_t k) {
  return k + 1 < a->count ? pz_axis_begin(a, k + 1) : a->result;
}

/* Behind a line of patches along x: what no later patch adds to is written while those are computed, when it is much; less than that
 * disturbs them for nothing and waits for the end of the layer. A sink takes whole planes of the block. */
static pz_status store_line(pz_run *r, layer *w, int64_t line, pz_error *err) {
  enum { MUCH = 2 }; /* portions, which is what the buffers hold */
  const pz_axis *z = z_axis(r), *y = &r->window.block.grid.axis[1];
  const int64_t begin = pz_axis_begin(z, w->k);
  pz_part part = {.z = begin > r->from ? begin : r->from, .y = w->stored};
  part.planes = final_end(z, w->k) - part.z, part.rows = final_end(y, line) - part.y;
  const int64_t row =
      r->window.block.result.size[2] * r->layout.result.channels * pz_dtype_bytes(r->layout.result.dtype);
  const bool much = part.planes * part.rows > MUCH * r->tuning.store_bytes / row;
  if (w->k < r->first_layer || (line + 1 < y->count && (r->sink || !much))) return PZ_OK;
  w->stored = part.y + part.rows;
  if (part.planes <= 0) return PZ_OK;
  return r->sink ? store_to_sink(r, &part, err) : store_to_file(r, &part, err);
}

/* Behind the last patch of a layer: its input makes room for what is read ahead. */
static void release_input(pz_run *r, int64_t k) {
  const pz_axis *z = z_axis(r);
  const int64_t block = r->window.block.index, base = r->layout.ring_base;
  const int64_t first =
      k + 1 < z->count ? pz_layer_first(z, k + 1, mirror(r)) : base + r->layout.block_planes;
  pz_stages_release(r->stages, pz_window_count(&r->window, block, first));
}

/* By the caller's thread: of a mask little is read, beside what a layer takes to compute. */
static pz_status read_mask(pz_run *r, int64_t k, pz_error *err) {
  const double begin = pz_now();
  PZ_TRY(pz_mask_read(&r->window, k, err));
  r->counts.wait += pz_now() - begin;
  return PZ_OK;
}

static pz_status one_layer(pz_run *r, int64_t k, pz_error *err) {
  const int64_t line = r->window.block.grid.axis[2].count, patches = r->window.block.patches,
                block = r->window.block.index;
  layer w;
  PZ_TRY(begin_layer(r, block, k, &w, err));
  pz_status status = read_mask(r, k, err);
  for (int64_t i = 0; i < patches && status == PZ_OK; i++) {
    status = one_patch(r, &w, i, err);
    if (status == PZ_OK && i + 1 == patches) release_input(r, k);
    if (status == PZ_OK && (i + 1) % line == 0) status = store_line(r, &w, i / line, err);
  }
  if (w.journal >= 0) close(w.journal);
  if (status == PZ_OK && k >= r->first_layer)
    pz_stages_put_layer(r->stages, w.global, layers_before(r, block) + pz_layers_needed(z_axis(r), k + 1),
                        r->counts.tally);
  return status;
}

/* The first layer that reaches into what is not finished. */
static int64_t first_needed(const pz_run *r) {
  const pz_axis *z = z_axis(r);
  if (z->warm) return r->first_layer > z->warm ? r->first_layer - z->warm : 0;
  return r->sink ? r->first_layer : pz_layers_needed(z_axis(r), r->first_layer);
}

static pz_status all_layers(pz_run *r, pz_error *err) {
  const int64_t first = first_needed(r), skipped = first * r->window.block.patches;
  r->done += skipped;
  if (skipped) pz_forecast_skip(&r->forecast, skipped);
  reset_state(r);
  for (int64_t k = first; k < r->layout.layers; k++) PZ_TRY(one_layer(r, k, err));
  return PZ_OK;
}

/* The first layer of which something must be computed: before it no input is read. */
static int64_t first_hungry_layer(const pz_run *r) {
  int64_t k = first_needed(r);
  const int64_t block = r->window.block.index;
  if (!journal_of(r)) return k;
  while (k < r->layout.layers && k <= r->first_layer &&
         pz_job_patches(r->job, layers_before(r, block) + k) >= r->window.block.patches)
    k++;
  return k;
}

static pz_status start_reading(pz_run *r, int64_t layer, pz_error *err) {
  const pz_box *all = &r->window.block.input;
  const pz_stages_input input = {
      .volume = r->input,
      .first_block = r->window.block.index,
      .first_plane = layer < r->layout.layers ? pz_layer_first(z_axis(r), layer, mirror(r))
                                              : all->start[0] + all->size[0],
      .read_planes = pz_read_planes(&r->tuning, r->input, &r->layout),
      .count_rounded = r->normalize == PZ_NORMALIZE_NONE && pz_dtype_rounded(r->input->info.dtype)};
  return pz_stages_start(&r->window, &input, &r->stages, err);
}

/* Where the first layer is known and no pass over the volume comes before the work, reading begins beside the digests and the making of
 * the job's files. */
static pz_status read_early(pz_run *r, pz_error *err) {
  if (r->normalize == PZ_NORMALIZE_ZSCORE) return PZ_OK;
  r->window.block = pz_window_block(&r->window, 0);
  return start_reading(r, 0, err);
}

static pz_status start_stages(pz_run *r, pz_error *err) {
  const pz_stages_output output = {.job = journal_of(r),
                                   .sink = r->sink,
                                   .planes_job = r->sink ? r->job : NULL,
                                   .result_path = r->result_path,
                                   .result_offset = r->result_offset,
                                   .first_layer = r->first_layer,
                                   .base = layers_before(r, r->first_block),
                                   .record_seconds = r->tuning.record_seconds};
  if (!r->stages) PZ_TRY(start_reading(r, first_hungry_layer(r), err));
  return pz_stages_begin_writing(r->stages, &output, err);
}

static pz_status stop_stages(pz_run *r, pz_error *err) {
  const pz_status status = pz_stages_stop(r->stages, &r->counts, err);
  r->stages = NULL;
  return status;
}

static pz_status one_block(pz_run *r, int64_t index, pz_error *err) {
  int64_t last;
  r->window.block = pz_window_block(&r->window, index);
  r->from = r->sink ? r->first_plane : pz_axis_begin(z_axis(r), r->first_layer);
  if (r->sink) r->first_layer = pz_axis_covering(z_axis(r), r->from, &last);
  if (index == r->first_block) PZ_TRY(start_stages(r, err));
  PZ_TRY(all_layers(r, err));
  r->first_layer = r->first_plane = 0; /* of the next one */
  return PZ_OK;
}

/* What is read for the next block, and written of the last one, is so beside the work at this one. */
static pz_status all_blocks(pz_run *r, pz_error *err) {
  pz_status status = PZ_OK;
  for (int64_t i = r->first_block; i < r->layout.blocks && status == PZ_OK; i++)
    status = one_block(r, i, err);
  const pz_status stopped = stop_stages(r, err);
  return status != PZ_OK ? status : stopped;
}

/* Patches of the blocks before. */
static int64_t patches_before(const pz_run *r, int64_t index) {
  int64_t patches = 0;
  for (int64_t i = 0; i < index; i++) patches += pz_window_block(&r->window, i).patches * r->layout.layers;
  return patches;
}

static pz_status all_work(pz_run *r, pz_error *err) {
  PZ_TRY(normalise(r, err));
  pz_forecast_enter(&r->forecast, PZ_RUN_PATCHES, pz_now());
  r->done = patches_before(r, r->first_block);
  if (r->done) pz_forecast_skip(&r->forecast, r->done);
  return all_blocks(r, err);
}

/* What writes the file in the end may take as much memory as the window. */
static pz_status with_job(pz_run *r, pz_error *err) {
  PZ_TRY(pz_run_open_result(r, err));
  PZ_TRY(all_work(r, err));
  pz_window_free(&r->window);
  PZ_TRY(pz_run_take_preview(r, err));
  PZ_TRY(pz_run_publish(r, err));
  return pz_run_write_preview(r, err);
}

static pz_status choose_codec(pz_run *r, pz_error *err) {
  const char *codec = r->options->codec;
  if (!r->sink) return pz_volume_choose_codec(r->output.format, r->output.file, codec, &r->level, err);
  if (!codec) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "a codec is of outputs that are files or stores; what takes the result may compress it");
}

/* What a job cannot find again cannot be resumed. */
static bool is_known(const pz_volume *v) { return !v || !v->calls || v->calls->identity; }

static pz_status choose_output(pz_run *r, const pz_volume_writer *output, pz_error *err) {
  r->sink = output->path ? NULL : output;
  r->output_name = output->path ? output->path : "the result";
  const bool input = is_known(r->input) && is_known(r->mask);
  if (r->options->resume && (!input || (r->sink && !output->job)))
    return pz_fail(err, PZ_ERROR_USAGE,
                   "resume needs an input, an output and a mask, where there is one, that are files or in "
                   "stores");
  if (r->sink) r->output.file = input ? output->job : NULL;
  if (r->sink) return PZ_OK;
  PZ_TRY(pz_volume_parse_output(r->arena, output->path, &r->output, err));
  if (r->output.format->has_dataset && !r->output.dataset) r->output.dataset = "/main";
  return PZ_OK;
}

/* What is begun in one way does not go on in the other. */
static pz_status collect_facts(pz_run *r, pz_error *err) {
  pz_facts *f = &r->facts;
  PZ_TRY(pz_facts_collect(r->arena, r->function, r->input, r->mask, &r->layout, r->output.dataset, r->options,
                          r->normalize, f, err));
  f->fact[f->n++] = (pz_job_fact){PZ_FACT_BESIDE, r->joins ? "beside others" : "a file of its own", false};
  if (r->sink) return PZ_OK;
  const char *codec = r->level ? pz_arena_printf(r->arena, "gzip:%d", r->level) : "none";
  f->fact[f->n++] = (pz_job_fact){"compression", codec, false};
  return codec ? PZ_OK : pz_fail_memory(err, "the options in words", 0);
}

static pz_status check_sink(const pz_run *r, pz_error *err) {
  int64_t step[3];
  return r->sink ? pz_step_of(r->sink->step, r->layout.result.shape, step, err) : PZ_OK;
}

static pz_status lay_out(pz_run *r, const int64_t *blocks, pz_error *err) {
  const pz_run_asked asked = {.function = r->function,
                              .input = r->input,
                              .mask = r->mask,
                              .options = r->options,
                              .tuning = &r->tuning,
                              .sink = r->sink ? r->sink->step : NULL,
                              .blocks = blocks,
                              .packs = r->level > 0};
  PZ_TRY(pz_lay_out_run(r->arena, &asked, &r->layout, err));
  r->counts.patches = r->layout.patches;
  return PZ_OK;
}

static void hold_geometry(pz_run *r, pz_notes *notes) {
  if (!r->sink) pz_volume_hold(r->output.format, &r->layout.result, notes);
}

/* A run that ended between giving the result its name and removing its job leaves one without the result. */
static bool result_is_lost(pz_run *r) {
  char offset[32];
  const char *path = pz_job_path(r->job, "result.raw");
  return pz_job_resumed(r->job) && pz_job_get(r->job, "offset", offset, sizeof offset) && path &&
         access(path, F_OK) != 0 && errno == ENOENT;
}

static pz_status open_job(pz_run *r, pz_error *err) {
  const pz_facts *f = &r->facts;
  PZ_TRY(pz_job_open(r->output.file, r->options->resume, f->fact, f->n, &r->job, err));
  if (!result_is_lost(r)) return PZ_OK;
  pz_job_close(r->job);
  r->job = NULL;
  return pz_job_open(r->output.file, false, f->fact, f->n, &r->job, err);
}

#define BLOCKS "blocks"

/* A job that is gone on with has its blocks, whatever memory there is now. */
static pz_status take_blocks(pz_run *r, pz_error *err) {
  char text[64];
  long long y, x;
  if (!pz_job_get(r->job, BLOCKS, text, sizeof text)) {
    snprintf(text, sizeof text, "%lld x %lld", (long long)r->layout.asked[0], (long long)r->layout.asked[1]);
    return pz_job_set(r->job, BLOCKS, text, err);
  }
  if (sscanf(text, "%lld x %lld", &y, &x) != 2 || y < 1 || x < 1 || y > r->layout.result.shape[1] ||
      x > r->layout.result.shape[2])
    return pz_run_damaged(r, err);
  if (y == r->layout.asked[0] && x == r->layout.asked[1]) return PZ_OK;
  PZ_TRY(lay_out(r, (const int64_t[2]){y, x}, err));
  hold_geometry(r, NULL); /* which has been told of */
  return PZ_OK;
}

static pz_status find_job(pz_run *r, pz_error *err) {
  PZ_TRY(open_job(r, err));
  return take_blocks(r, err);
}

static pz_status prepare(pz_run *r, const pz_volume_writer *output, pz_error *err) {
  PZ_TRY(pz_mask_open(r->options, r->input, &r->mask, err));
  PZ_TRY(choose_output(r, output, err));
  PZ_TRY(choose_codec(r, err));
  PZ_TRY(check_channels(r, err));
  PZ_TRY(lay_out(r, NULL, err));
  PZ_TRY(check_sink(r, err));
  hold_geometry(r, &r->input->notes);
  PZ_TRY(pz_normalize_choose(r->options->normalize, r->layout.tiling.divided, r->input,
                             r->function->taken.type, &r->normalize, err));
  PZ_TRY(check_output(r, err));
  PZ_TRY(pz_run_begin_preview(r, err));
  if (r->options->resume) PZ_TRY(collect_facts(r, err));
  PZ_TRY(look_for_finished(r, err));
  if (r->finished) return PZ_OK;
  if (r->options->resume) PZ_TRY(find_job(r, err));
  PZ_TRY(announce(r, err));
  PZ_TRY(pz_window_make(r->function, &r->layout, r->options, &r->input->info, r->mask, &r->window, err));
  if (r->options->resume) return PZ_OK;
  PZ_TRY(read_early(r, err));
  return collect_facts(r, err);
}

/* Work is kept for --resume after an interruption, a full disk and the like; a volume that is bad is not resumed. */
static bool worth_keeping(const pz_run *r, pz_status status) {
  return is_known(r->input) && is_known(r->mask) && status != PZ_OK && status != PZ_ERROR_INPUT &&
         status != PZ_ERROR_USAGE && !r->published && !r->hopeless &&
         (r->done > 0 || status == PZ_INTERRUPTED || pz_job_resumed(r->job));
}

/* A job of the run that made it, which ended before it was removed, is removed; another one is left alone. Where the volume is in
 * the same file, that has changed since. */
static pz_status leave_finished(pz_run *r) {
  char folder[PATH_MAX];
  struct stat info;
  pz_error ignored = {0};
  pz_job *job;
  pz_job_fact facts[PZ_MAX_FACTS];
  int kept = 0;
  const int n = snprintf(folder, sizeof folder, "%s.pznet-job", r->output.file);
  if (n >= (int)sizeof folder || lstat(folder, &info) != 0) return PZ_OK;
  for (int i = 0; i < r->facts.n; i++)
    if (pz_finished_counts(r->places, &r->facts.fact[i])) facts[kept++] = r->facts.fact[i];
  if (pz_job_open(r->output.file, true, facts, kept, &job, &ignored) == PZ_OK) pz_job_remove(job);
  return PZ_OK;
}

static pz_status to_file(pz_run *r, pz_error *err) {
  if (r->finished) {
    PZ_TRY(leave_finished(r));
    PZ_TRY(pz_run_take_preview(r, err));
    return pz_run_write_preview(r, err);
  }
  if (!r->job) PZ_TRY(find_job(r, err));
  return with_job(r, err);
}

static void end_job(pz_run *r, pz_status status) {
  if (worth_keeping(r, status)) pz_job_close(r->job);
  else pz_job_remove(r->job);
  r->job = NULL;
}

/* What the callback had taken when the work ended. */
static pz_status find_planes(pz_run *r, pz_error *err) {
  if (!pz_job_resumed(r->job)) return PZ_OK;
  pz_job_planes(r->job, &r->first_block, &r->first_plane);
  r->counts.tally = pz_job_tallied(r->job);
  const int64_t planes = r->layout.result.shape[0];
  if (r->first_plane == planes) r->first_block++, r->first_plane = 0;
  const bool sound = r->first_block >= 0 && r->first_block <= r->layout.blocks && r->first_plane >= 0 &&
                     r->first_plane < planes;
  return sound ? PZ_OK : pz_run_damaged(r, err);
}

static pz_status to_sink(pz_run *r, pz_error *err) {
  if (r->output.file && !r->job) PZ_TRY(find_job(r, err));
  if (r->job) PZ_TRY(find_planes(r, err));
  PZ_TRY(all_work(r, err));
  pz_window_free(&r->window);
  PZ_TRY(pz_run_take_preview(r, err));
  PZ_TRY(pz_run_confirm(r, err));
  return pz_run_write_preview(r, err);
}

static pz_status work(pz_run *r, const pz_volume_writer *output, pz_error *err) {
  PZ_TRY(prepare(r, output, err));
  foresee(r);
  return r->sink ? to_sink(r, err) : to_file(r, err);
}

static pz_status whole_run(pz_run *r, const pz_volume_writer *output, char **report, pz_error *err) {
  const pz_status status = work(r, output, err);
  if (r->job) end_job(r, status);
  if (status != PZ_OK || !report) return status;
  r->counts.seconds = pz_now() - r->begun;
  *report = pz_report_print(r, true);
  return *report ? PZ_OK : pz_fail_memory(err, "the report", 4096);
}

static void use_defaults(const pz_engine_tuning *given, pz_engine_tuning *t) {
  *t = defaults;
  if (!given) return;
  if (given->record_seconds) t->record_seconds = given->record_seconds;
  if (given->journal_speed) t->journal_speed = given->journal_speed;
  if (given->store_bytes) t->store_bytes = given->store_bytes;
  if (given->read_bytes) t->read_bytes = given->read_bytes;
}

pz_status pz_engine_run(const pz_patch_function *function, pz_volume *input, const pz_volume_writer *output,
                        const pz_infer_options *options, const pz_engine_tuning *tuning, char **report,
                        pz_error *err) {
  pz_run r = {.function = function, .input = input, .options = options, .begun = pz_now()};
  if (report) *report = NULL;
  use_defaults(tuning, &r.tuning);
  r.arena = pz_arena_new();
  if (!r.arena) return pz_fail_memory(err, "a run", sizeof r);
  const pz_status status = whole_run(&r, output, report, err);
  pz_stages_stop(r.stages, NULL, NULL);
  pz_window_free(&r.window);
  pz_volume_close(r.mask);
  pz_picture_free(&r.picture);
  pz_arena_free(r.arena);
  return status;
}
