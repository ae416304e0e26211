#include "volume/facts.h"

#include "base/digest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pz_blend_name(pz_blend v) { return (const char *const[]){"constant", "gaussian", "bump"}[v]; }
const char *pz_normalize_name(pz_normalize v) {
  return (const char *const[]){"auto", "none", "unit", "zscore"}[v];
}
const char *pz_border_name(pz_border v) { return (const char *const[]){"mirror", "zero"}[v]; }
const char *pz_nan_name(pz_nan v) { return (const char *const[]){"error", "propagate", "zero"}[v]; }
const char *pz_tiling_name(pz_tiling v) {
  return (const char *const[]){"pznet", "monai", "nnunet", "chunkflow", "exact"}[v];
}
static const char *weights_name(pz_weights v) {
  return (const char *const[]){"constant", "gaussian", "bump", "nnU-Net's gaussian", "chunkflow's bump"}[v];
}
const char *pz_store_name(pz_store v) {
  return (const char *const[]){"f32", "u8", "argmax", "threshold", "u16", "f16"}[v];
}
const char *pz_apply_name(pz_apply v) { return (const char *const[]){"nothing", "sigmoid", "softmax"}[v]; }

static void add(pz_facts *f, const char *name, bool input, const char *value) {
  f->fact[f->n++] = (pz_job_fact){name, value, input};
}

/* The names of the facts that say which file it is. */
typedef struct file_names {
  const char *place, *size, *time, *digest;
} file_names;

/* Of the file that is read, whatever has its name by now. */
static pz_status file_facts(pz_arena *a, pz_volume *v, const file_names *names, pz_facts *f,
                            const char **digest, pz_error *err) {
  const struct stat *info = &v->identity.noted;
  char real[PATH_MAX], text[PZ_DIGEST_TEXT], *block = PZ_NEW(a, char, PZ_IDENTITY_BLOCK);
  if (!block) return pz_fail_memory(err, "a digest", PZ_IDENTITY_BLOCK);
  PZ_TRY(pz_volume_digest(v, block, text, err));
  add(f, names->place, true, pz_arena_strdup(a, realpath(v->path, real) ? real : v->path));
  if (v->identity.known) {
    add(f, names->size, true, pz_arena_printf(a, "%lld bytes", (long long)info->st_size));
    add(f, names->time, true,
        pz_arena_printf(a, "%lld.%09ld", (long long)info->st_mtim.tv_sec, (long)info->st_mtim.tv_nsec));
  }
  *digest = pz_arena_strdup(a, text);
  add(f, names->digest, true, *digest);
  return PZ_OK;
}

static char *sizes(pz_arena *a, int64_t c, const int64_t s[3]) {
  return pz_arena_printf(a, "%lld x %lld x %lld x %lld", (long long)c, (long long)s[0], (long long)s[1],
                         (long long)s[2]);
}

/* "t=3, z, y, x": the file's array as it is used. */
static char *axes_in_words(pz_arena *a, const pz_volume *v) {
  char words[PZ_AXES_RANK * 32] = "";
  int n = 0;
  for (int i = 0; i < v->array.rank; i++) {
    bool used = false;
    for (int k = 0; k < 4; k++) used = used || v->axes.of[k] == i;
    if (v->array.size[i] == 1) continue;
    n += snprintf(words + n, sizeof words - (size_t)n, "%s%c", n ? ", " : "", v->axes.letter[i]);
    if (!used) n += snprintf(words + n, sizeof words - (size_t)n, "=%lld", (long long)v->axes.index[i]);
  }
  return pz_arena_strdup(a, words);
}

/* How patches are placed, weighted and summed. */
static void tiling_facts(pz_arena *a, const int64_t out[3], const pz_tiling_rules *t, pz_facts *f) {
  const pz_grid_rule *g = &t->grid;
  char flips[8 * 2 + 1] = "";
  add(f, "placement", false,
      g->exact          ? "exact"
      : g->even         ? "even"
      : g->whole_inputs ? "whole inputs"
      : g->centred      ? "centred"
                        : "flush");
  add(f, "overlap", false,
      pz_arena_printf(a, "%.9g,%.9g,%.9g", (double)out[0] - g->step[0], (double)out[1] - g->step[1],
                      (double)out[2] - g->step[2]));
  add(f, "crop", false,
      pz_arena_printf(a, "%lld,%lld,%lld", (long long)g->crop[0], (long long)g->crop[1],
                      (long long)g->crop[2]));
  add(f, "blending", false, weights_name(t->weights));
  add(f, "border", false, pz_border_name(t->mirror ? PZ_BORDER_MIRROR : PZ_BORDER_ZERO));
  add(f, "sums", false, t->half ? "half" : "float");
  for (int i = 1; i < t->flips; i++) flips[2 * i - 2] = ' ', flips[2 * i - 1] = (char)('0' + t->flip[i]);
  add(f, "flips", false, pz_arena_printf(a, "%s", t->flips > 1 ? flips + 1 : "none"));
}

/* "16:48,0:512,0:512": what the result is of, in voxels of the volume. */
static void box_facts(pz_arena *a, const pz_volume *v, const pz_run_layout *layout, const pz_infer_options *o,
                      pz_facts *f) {
  long long begin[3], end[3];
  bool tiled = true;
  for (int i = 0; i < 3; i++) {
    begin[i] = layout->view.start[i] + layout->grid.axis[i].origin;
    end[i] = begin[i] + layout->grid.axis[i].result;
    tiled = tiled && layout->view.size[i] == v->info.shape[i];
  }
  add(f, "box", false,
      pz_arena_printf(a, "%lld:%lld,%lld:%lld,%lld:%lld", begin[0], end[0], begin[1], end[1], begin[2],
                      end[2]));
  add(f, "context", false,
      tiled ? pz_arena_printf(a, "the volume")
            : pz_arena_printf(a, "%d,%d,%d", o->context[0], o->context[1], o->context[2]));
}

/* Of an input that is no file, its identity, where there is one. */
static pz_status input_facts(pz_arena *a, pz_volume *input, pz_facts *f, pz_error *err) {
  static const file_names names = {PZ_FACT_PLACE, PZ_FACT_SIZE, PZ_FACT_TIME, PZ_FACT_DIGEST};
  if (!input->calls) return file_facts(a, input, &names, f, &f->volume_digest, err);
  if (input->calls->identity) add(f, PZ_FACT_PLACE, true, pz_arena_strdup(a, input->calls->identity));
  return PZ_OK;
}

/* The first fact is one of runs without a mask too, so that what was begun with one does not go on without. */
static pz_status mask_facts(pz_arena *a, pz_volume *mask, pz_facts *f, pz_error *err) {
  static const file_names names = {PZ_FACT_MASK_PLACE, "mask's size", "mask's time of change",
                                   "mask's digest"};
  const char *identity = mask && mask->calls ? mask->calls->identity : NULL;
  add(f, "mask", true,
      !mask          ? "none"
      : !mask->calls ? "a file"
      : identity     ? pz_arena_strdup(a, identity)
                     : "not known");
  if (!mask || mask->calls) return PZ_OK;
  PZ_TRY(file_facts(a, mask, &names, f, &f->mask_digest, err));
  add(f, "mask's dataset", true, mask->dataset ? mask->dataset : "none");
  return PZ_OK;
}

/* As many facts as networks, and the number first: fewer are not more with some left away. */
static void network_facts(pz_arena *a, const pz_patch_function *function, pz_facts *f) {
  add(f, "network", true, function->digest);
  add(f, "networks averaged", true, pz_arena_printf(a, "%d", (int)pz_patch_networks(function)));
  for (int i = 0; i < function->n_others; i++)
    add(f, pz_arena_printf(a, "network %d", i + 2), true, function->others[i].digest);
}

pz_status pz_facts_collect(pz_arena *a, const pz_patch_function *function, pz_volume *input, pz_volume *mask,
                           const pz_run_layout *layout, const char *dataset_out, const pz_infer_options *o,
                           pz_normalize normalize, pz_facts *f, pz_error *err) {
  f->n = 0, f->volume_digest = f->mask_digest = NULL;
  add(f, "pznet", false, PZ_VERSION);
  network_facts(a, function, f);
  add(f, "network's input", true, sizes(a, function->channels_in, function->in));
  add(f, "network's output", true, sizes(a, function->channels_out, function->out));
  PZ_TRY(input_facts(a, input, f, err));
  add(f, "input dataset", true, input->dataset ? input->dataset : "none");
  add(f, "volume's axes", false, axes_in_words(a, input));
  add(f, "volume's shape", true, sizes(a, input->info.channels, input->info.shape));
  add(f, "volume's dtype", true, pz_dtype_name(input->info.dtype));
  PZ_TRY(mask_facts(a, mask, f, err));
  add(f, "output dataset", false, dataset_out ? dataset_out : "none");
  tiling_facts(a, function->out, &layout->tiling, f);
  box_facts(a, input, layout, o, f);
  add(f, "normalisation", false, pz_normalize_name(normalize));
  add(f, "treatment of not-a-numbers", false, pz_nan_name(o->nan));
  add(f, "kind of output", false, pz_store_name(o->store));
  add(f, "function of the result", false, pz_apply_name(o->apply));
  if (o->store == PZ_STORE_THRESHOLD)
    add(f, "threshold", false, pz_arena_printf(a, "%.9g", (double)o->threshold));
  add(f, "skipping of zero patches", false, o->skip_zero ? "on" : "off");
  for (int i = 0; i < f->n; i++)
    if (!f->fact[i].value || !f->fact[i].name) return pz_fail_memory(err, "the options in words", 0);
  return PZ_OK;
}
