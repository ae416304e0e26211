/* verb_infer.c: pznet infer. */
#include "tool.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct state {
  pz_infer_options options;
  tool_progress progress;
  const char *json, *output;
  const char *format, *chunks, *shards; /* of outputs in stores */
  const char *recipe, *configuration, *previous;
  int dtype; /* of dtypes[] */
  bool augment_none, argmax, threshold, sigmoid, softmax;
  char *names[PZ_MOST_ENSEMBLE]; /* of --ensemble, which are freed */
  pz_volume_reader mask;
} state;

static const char *const blends[] = {"constant", "gaussian", "bump", NULL};
static const char *const normalizes[] = {"auto", "none", "unit", "zscore", NULL};
static const char *const borders[] = {"mirror", "zero", NULL};
static const char *const nans[] = {"error", "propagate", "zero", NULL};
static const char *const dtypes[] = {"f32", "u8", "u16", "f16", NULL};
static const pz_store stores[] = {PZ_STORE_F32, PZ_STORE_U8, PZ_STORE_U16, PZ_STORE_F16};
static const char *const tilings[] = {"pznet", "monai", "nnunet", "chunkflow", "exact", NULL};
static const char *const sums[] = {"auto", "float", "half", NULL};

/* Voxels such as 4,32,32, or parts of the output patch such as 0.25 or 0.25,0.5,0.5: those have a point. */
static bool overlap(const char *value, pz_infer_options *o) {
  double *part = o->overlap_part;
  int end = 0;
  o->given |= PZ_GIVEN_OVERLAP;
  for (int i = 0; i < 3; i++) o->overlap[i] = 0, part[i] = 0;
  if (!strchr(value, '.')) return tool_triple("overlap", value, o->overlap);
  const int n = sscanf(value, "%lf%n,%lf,%lf%n", &part[0], &end, &part[1], &part[2], &end);
  if (n == 1) part[1] = part[2] = part[0];
  bool good = (n == 1 || n == 3) && !value[end];
  for (int i = 0; i < 3; i++) good = good && part[i] >= 0 && part[i] < 1;
  if (!good)
    tool_warn(
        "pznet: --overlap %s: expected voxels such as 4,32,32, or parts of the patch from 0.0 to below 1 "
        "such as "
        "0.25 or 0.25,0.5,0.5\n",
        value);
  return good;
}

/* 100:164,2048:4096,: along z, y and x; an end that is left away is the volume's. */
static bool box(const char *value, pz_infer_options *o) {
  const char *at = value;
  bool good = true;
  for (int i = 0; i < 3 && good; i++, at += *at == ',') {
    char *end;
    int64_t start = 0, stop = 0;
    errno = 0;
    if (*at >= '0' && *at <= '9') start = strtoll(at, &end, 10), at = end;
    good = *at++ == ':';
    const bool ends = good && *at >= '0' && *at <= '9';
    if (ends) stop = strtoll(at, &end, 10), at = end;
    if (good && ends && stop <= start && !errno) {
      tool_warn("pznet: --box %s: is empty along %c\n", value, "zyx"[i]);
      return false;
    }
    good = good && !errno && *at == (i < 2 ? ',' : 0);
    o->box.start[i] = start, o->box.size[i] = ends ? stop - start : 0;
  }
  if (!good)
    tool_warn("pznet: --box %s: expected ranges of voxels along z, y and x such as 100:164,2048:4096,:\n",
              value);
  return good;
}

/* none, mirror, or mirror:0,1 */
static bool augment(const char *value, pz_infer_options *o) {
  uint32_t axes = 0;
  const char *at = value + strlen("mirror");
  bool good = !strncmp(value, "mirror", strlen("mirror"));
  if (good && !*at) return o->mirror_axes = PZ_MIRROR_ALL, true;
  for (bool more = good && *at == ':'; more; more = good && *at == ',') {
    good = at[1] >= '0' && at[1] <= '2' && !(axes >> (at[1] - '0') & 1);
    if (good) axes |= 1u << (at[1] - '0'), at += 2;
  }
  if (good && !*at) return o->mirror_axes = axes, true;
  tool_warn("pznet: --augment %s: expected mirror, none, or axes of the network as in mirror:0,1\n", value);
  return false;
}

static bool threshold(const char *value, float *out) {
  char *end;
  errno = 0;
  *out = strtof(value, &end);
  if (end != value && !*end && isfinite(*out)) return true;
  tool_warn("pznet: --threshold %s: expected a number such as 0.5\n", value);
  return false;
}

/* b.so,c.so; more than once adds to them. */
static bool ensemble(const char *value, state *s) {
  int32_t *n = &s->options.ensemble_size;
  for (const char *at = value, *end; at; at = *end ? end + 1 : NULL) {
    end = at + strcspn(at, ",");
    if (end == at || *n == PZ_MOST_ENSEMBLE) {
      tool_warn("pznet: --ensemble %s: expected network files as in b.so,c.so, at most %d\n", value,
                PZ_MOST_ENSEMBLE);
      return false;
    }
    if (!(s->names[*n] = strndup(at, (size_t)(end - at)))) return false;
    ++*n;
  }
  s->options.ensemble = (const char *const *)s->names;
  return true;
}

static void forget(state *s) {
  for (int i = 0; i < s->options.ensemble_size; i++) free(s->names[i]);
}

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  pz_infer_options *o = &s->options;
  int choice = 0;
  bool good = true;
  if (!strcmp(name, "overlap")) return overlap(value, o);
  if (!strcmp(name, "box")) return box(value, o);
  if (!strcmp(name, "context")) return o->given |= PZ_GIVEN_CONTEXT, tool_triple(name, value, o->context);
  if (!strcmp(name, "crop")) return o->given |= PZ_GIVEN_CROP, tool_triple(name, value, o->crop);
  if (!strcmp(name, "format")) return s->format = value, true;
  if (!strcmp(name, "chunks")) return s->chunks = value, true;
  if (!strcmp(name, "shards")) return s->shards = value, true;
  if (!strcmp(name, "codec")) return o->codec = value, true;
  if (!strcmp(name, "preview")) return o->preview = value, true;
  if (!strcmp(name, "axes")) return o->axes = value, true;
  if (!strcmp(name, "at")) return o->at = value, true;
  if (!strcmp(name, "recipe")) return s->recipe = value, true;
  if (!strcmp(name, "previous")) return s->previous = value, true;
  if (!strcmp(name, "configuration")) return s->configuration = value, true;
  if (!strcmp(name, "augment") && !strcmp(value, "none"))
    return s->augment_none = true, o->mirror_axes = 0, true;
  if (!strcmp(name, "augment")) return s->augment_none = false, augment(value, o);
  if (!strcmp(name, "threshold")) return s->threshold = true, threshold(value, &o->threshold);
  if (!strcmp(name, "memory")) return tool_bytes(name, value, &o->memory);
  if (!strcmp(name, "digest")) return o->digest = value, true;
  if (!strcmp(name, "ensemble")) return ensemble(value, s);
  if (!strcmp(name, "mask")) return s->mask.path = value, o->mask = &s->mask, true;
  if (!strcmp(name, "threads")) return tool_int(name, value, 0, 4096, &o->threads);
  if (!strcmp(name, "blend")) {
    good = tool_choice(name, value, blends, &choice), o->blend = (pz_blend)choice;
    o->given |= PZ_GIVEN_BLEND;
  } else if (!strcmp(name, "tiling"))
    good = tool_choice(name, value, tilings, &choice), o->tiling = (pz_tiling)choice;
  else if (!strcmp(name, "sums")) good = tool_choice(name, value, sums, &choice), o->sums = (pz_sums)choice;
  else if (!strcmp(name, "normalize"))
    good = tool_choice(name, value, normalizes, &choice), o->normalize = (pz_normalize)choice;
  else if (!strcmp(name, "border")) {
    good = tool_choice(name, value, borders, &choice), o->border = (pz_border)choice;
    o->given |= PZ_GIVEN_BORDER;
  } else if (!strcmp(name, "nan")) good = tool_choice(name, value, nans, &choice), o->nan = (pz_nan)choice;
  else if (!strcmp(name, "dtype")) good = tool_choice(name, value, dtypes, &s->dtype);
  else if (!strcmp(name, "argmax")) s->argmax = true;
  else if (!strcmp(name, "sigmoid")) s->sigmoid = true;
  else if (!strcmp(name, "softmax")) s->softmax = true;
  else if (!strcmp(name, "no-overwrite")) o->no_overwrite = true;
  else if (!strcmp(name, "skip-zero")) o->skip_zero = true;
  else if (!strcmp(name, "resume")) o->resume = true;
  else if (!strcmp(name, "update")) o->update = true;
  else if (!strcmp(name, "quiet")) s->progress.quiet = true;
  else if (!strcmp(name, "progress")) good = tool_progress_set(&s->progress, value);
  else if (!strcmp(name, "json")) s->json = value;
  return good;
}

static void print_dims(const json_t *dims) {
  for (size_t i = 0; i < json_array_size(dims); i++)
    tool_warn("%s%lld", i ? " x " : "", (long long)json_integer_value(json_array_get(dims, i)));
}

/* What the user should know that is no error. */
static void print_notes(const json_t *notes) {
  for (size_t i = 0; i < json_array_size(notes); i++)
    tool_warn("pznet: note: %s\n", json_string_value(json_array_get(notes, i)));
}

/* What patches that overlap, or reach beyond their result, cost. */
static void print_arithmetic(const json_t *a) {
  const double times = json_number_value(json_object_get(a, "times"));
  if (times < 1.05) return;
  tool_warn("%.3g times the ideal arithmetic", times);
  if (json_object_get(a, "larger")) {
    tool_warn("; patches of ");
    print_dims(json_object_get(a, "larger"));
    tool_warn(" would cost %.3g times", json_number_value(json_object_get(a, "larger_times")));
  }
  tool_warn("\n");
}

/* What is about to be done, before it starts: shapes, patches, memory. */
static void planned(void *host, const char *text) {
  state *s = host;
  json_t *p = json_loads(text, 0, NULL);
  char memory[16];
  const double patches = json_number_value(json_object_get(p, "patches"));
  s->progress.voxels = patches > 0 ? json_number_value(json_object_get(p, "voxels")) / patches : 0;
  if (!s->progress.quiet) {
    const char *why = json_string_value(json_object_get(p, "made_anew"));
    if (why) tool_warn("%s: is made anew: %s\n", s->output, why);
    tool_warn("volume ");
    print_dims(json_object_get(json_object_get(p, "input"), "shape"));
    tool_warn(", output ");
    print_dims(json_object_get(json_object_get(p, "output"), "shape"));
    tool_warn(", %lld patches, peak memory about %s\n",
              (long long)json_integer_value(json_object_get(p, "patches")),
              tool_size(json_number_value(json_object_get(p, "peak_bytes")), memory));
    const long long blocks = json_integer_value(json_object_get(p, "blocks"));
    if (blocks > 1 && json_number_value(json_object_get(p, "repeated")) > 0) /* not columns of exact tiles */
      tool_warn("%lld blocks, since memory does not suffice for whole planes: %.0f%% of the patches again\n",
                blocks, 100 * json_number_value(json_object_get(p, "repeated")));
    print_arithmetic(json_object_get(p, "arithmetic"));
    print_notes(json_object_get(p, "notes"));
  }
  json_decref(p);
}

static int write_report(const state *s, const char *report) {
  FILE *file = !strcmp(s->json, "-") ? stdout : fopen(s->json, "w");
  bool written = file && fputs(report, file) >= 0 && fputc('\n', file) >= 0 && tool_flush(file);
  struct stat st;
  if (file && file != stdout) {
    if (!written && !fstat(fileno(file), &st) && S_ISREG(st.st_mode)) unlink(s->json); /* not half of one */
    if (fclose(file)) written = false;
  }
  if (!written) tool_warn("pznet: %s: cannot write the report\n", s->json);
  return written ? 0 : PZ_ERROR_INPUT;
}

/* Found before the work; the file is not touched. */
static bool report_is_writable(const char *path) {
  char folder[4096] = ".";
  const char *slash = strrchr(path, '/');
  struct stat st;
  if (!strcmp(path, "-")) return true;
  if (slash) snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  const bool there = stat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode)) errno = EISDIR;
  else if (!access(there ? path : folder, there ? W_OK : W_OK | X_OK)) return true;
  tool_warn("pznet: %s: cannot write the report: %s\n", path, strerror(errno));
  return false;
}

static void warn(const char *output, const json_t *report, const char *name, const char *what) {
  const json_int_t n = json_integer_value(json_object_get(report, name));
  if (n) tool_warn("pznet: warning: %s: %lld value%s %s\n", output, (long long)n, n == 1 ? "" : "s", what);
}

/* By --dtype; what clips nothing has no words. */
static const char *const clipped[] = {
    "", "outside of 0..1 clipped by --dtype u8; --sigmoid and --softmax make probabilities",
    "outside of 0..1 clipped by --dtype u16; --sigmoid and --softmax make probabilities",
    "beyond 65504 clipped by --dtype f16; --dtype f32 holds them"};

static void print_report(const state *s, const char *input, const char *report) {
  const char *output = s->output;
  json_t *r = json_loads(report, 0, NULL);
  warn(output, r, "clipped", clipped[s->dtype]);
  warn(output, r, "not_finite", "not a number or infinite, as --nan propagate lets pass");
  const char *rounded = json_string_value(json_object_get(json_object_get(r, "rounded"), "text"));
  if (rounded) tool_warn("pznet: warning: %s: %s\n", input, rounded);
  const double seconds = json_number_value(json_object_get(json_object_get(r, "seconds"), "total"));
  if (json_is_true(json_object_get(r, "finished_before")))
    tool_warn("%s: was finished before; nothing was done\n", output);
  else
    tool_warn("%s: %lld patches in %.1f s, %.2f Mvoxels/s\n", output,
              (long long)json_integer_value(json_object_get(r, "patches")), seconds,
              1e-6 * json_number_value(json_object_get(r, "voxels_per_second")));
  json_decref(r);
}

static json_t *text_or_null(const char *text) { return text ? json_string(text) : json_null(); }

/* Voxels, or parts of the patch, along z, y and x; null where the option was not given. */
static json_t *overlap_json(const pz_infer_options *o) {
  if (!(o->given & PZ_GIVEN_OVERLAP)) return json_null();
  json_t *all = json_array();
  const double *part = o->overlap_part;
  const bool parts = part[0] > 0 || part[1] > 0 || part[2] > 0;
  for (int i = 0; i < 3; i++)
    json_array_append_new(all, parts ? json_real(part[i]) : json_integer(o->overlap[i]));
  return all;
}
static json_t *triple_json(const int32_t v[3], bool given) {
  return given ? json_pack("[i,i,i]", v[0], v[1], v[2]) : json_null();
}
static json_t *box_json(const pz_box *b) {
  json_t *all = json_array();
  for (int i = 0; i < 3; i++)
    json_array_append_new(all, json_pack("[I,o]", (json_int_t)b->start[i],
                                         b->size[i] ? json_integer(b->start[i] + b->size[i]) : json_null()));
  return all;
}
static json_t *augment_json(uint32_t axes, bool none) {
  if (!axes) return none ? json_string("none") : json_null();
  if (axes == PZ_MIRROR_ALL) return json_string("mirror");
  json_t *all = json_array();
  for (int i = 0; i < 3; i++)
    if (axes >> i & 1) json_array_append_new(all, json_integer(i));
  return all;
}

static json_t *ensemble_json(const pz_infer_options *o) {
  if (!o->ensemble_size) return json_null();
  json_t *all = json_array();
  for (int i = 0; i < o->ensemble_size; i++)
    if (json_array_append_new(all, json_string(o->ensemble[i])) != 0) return json_decref(all), NULL;
  return all;
}

/* The options as pznet.infer has them. */
static json_t *options_json(const state *s) {
  const pz_infer_options *o = &s->options;
  const uint32_t given = o->given;
  return json_pack(
      "{s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:s,s:s,s:s,s:b,s:o,s:b,s:b,s:s,s:b,s:b,s:b,s:b,s:I,s:o,s:o,"
      "s:o,s:o,s:o,s:o,s:o,s:o}",
      "box", box_json(&o->box), "context", triple_json(o->context, given & PZ_GIVEN_CONTEXT), "axes",
      text_or_null(o->axes), "at", text_or_null(o->at), "tiling", tilings[o->tiling], "overlap",
      overlap_json(o), "blend", given & PZ_GIVEN_BLEND ? json_string(blends[o->blend]) : json_null(),
      "border", given & PZ_GIVEN_BORDER ? json_string(borders[o->border]) : json_null(), "crop",
      triple_json(o->crop, given & PZ_GIVEN_CROP), "augment", augment_json(o->mirror_axes, s->augment_none),
      "normalize", normalizes[o->normalize], "nan", nans[o->nan], "dtype", dtypes[s->dtype], "argmax",
      s->argmax, "threshold", s->threshold ? json_real((double)o->threshold) : json_null(), "sigmoid",
      s->sigmoid, "softmax", s->softmax, "sums", sums[o->sums], "skip_zero", o->skip_zero, "resume",
      o->resume, "overwrite", !o->no_overwrite, "update", o->update, "memory", (json_int_t)o->memory,
      "threads", o->threads ? json_integer(o->threads) : json_null(), "format", text_or_null(s->format),
      "chunks", text_or_null(s->chunks), "shards", text_or_null(s->shards), "codec", text_or_null(o->codec),
      "preview", text_or_null(o->preview), "ensemble", ensemble_json(o), "mask", text_or_null(s->mask.path));
}

static int in_python(const state *s, const char *const args[3]) {
  json_t *asked =
      json_pack("{s:s,s:s,s:s,s:s,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o}", "version", pz_version(), "network",
                args[0], "input", args[1], "output", args[2], "digest", text_or_null(s->options.digest),
                "quiet", s->progress.quiet, "progress", json_string(s->progress.json ? "json" : "bar"),
                "json", text_or_null(s->json), "options", options_json(s), "recipe", text_or_null(s->recipe),
                "configuration", text_or_null(s->configuration), "previous", text_or_null(s->previous));
  if (!asked) {
    tool_warn("pznet: the names of the volumes and networks are no UTF-8, which stores' must be\n");
    return PZ_ERROR_USAGE;
  }
  const int status = tool_become_python(asked);
  json_decref(asked);
  return status;
}

static int check_kinds(const tool_verb *verb, const state *s) {
  if (s->argmax && s->dtype)
    return tool_usage(verb, "--argmax and --dtype exclude each other: labels are u8 already");
  if (s->threshold && (s->argmax || s->dtype))
    return tool_usage(verb, "--threshold goes without --argmax and --dtype: it gives 0 and 1, u8 already");
  if (s->sigmoid && s->softmax) return tool_usage(verb, "--sigmoid and --softmax exclude each other");
  return 0;
}

static void fill_options(state *s) {
  pz_infer_options *o = &s->options;
  o->store = s->argmax ? PZ_STORE_ARGMAX : s->threshold ? PZ_STORE_THRESHOLD : stores[s->dtype];
  o->apply = s->sigmoid ? PZ_APPLY_SIGMOID : s->softmax ? PZ_APPLY_SOFTMAX : PZ_APPLY_NOTHING;
  o->progress = tool_progress_show, o->progress_host = &s->progress;
  o->interrupt = tool_interrupt("; the same command with --resume goes on from what was recorded");
  o->planned = planned, o->planned_host = s;
}

static int in_files(state *s, const char *const args[3]) {
  char *report = NULL;
  const pz_status status = pz_infer(args[0], args[1], args[2], &s->options, &report);
  tool_progress_end(&s->progress);
  if (status != PZ_OK) {
    pz_free(report);
    return tool_fail(status);
  }
  if (!s->progress.quiet) print_report(s, args[1], report);
  const int written = s->json ? write_report(s, report) : 0;
  pz_free(report);
  return written;
}

/* Recipes, folders of cases, and volumes that the Python package reads and writes. */
static bool is_for_python(const state *s, const char *const args[3]) {
  const char *const volumes[] = {args[1], args[2], s->mask.path};
  bool is = s->recipe || tool_is_case_folder(args[1]);
  for (int i = 0; i < 3; i++)
    is = is || (volumes[i] && (tool_is_store(volumes[i]) || tool_is_image(volumes[i])));
  return is;
}

static int infer(const tool_verb *verb, state *s, const char *const args[3]) {
  const int wrong = check_kinds(verb, s);
  if (wrong) return wrong;
  s->output = args[2];
  fill_options(s);
  if (s->json && !report_is_writable(s->json)) return PZ_ERROR_INPUT;
  if ((s->configuration || s->previous) && !s->recipe)
    return tool_usage(verb, "--configuration and --previous are of a --recipe");
  if (is_for_python(s, args)) return in_python(s, args);
  if (s->format || s->chunks || s->shards)
    return tool_usage(verb, "--format, --chunks and --shards are of outputs in stores, as out.zarr");
  return in_files(s, args);
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.progress = {.unit = "patches"}};
  s.options = (pz_infer_options)PZ_INFER_OPTIONS;
  const char *args[3];
  int n, status = PZ_ERROR_USAGE;
  if (tool_parse(verb, argc, argv, set, &s, args, 3, &n))
    status =
        n == 3 ? infer(verb, &s, args) : tool_usage(verb, "name the network file, the volume and the output");
  forget(&s);
  return status;
}

static const tool_option options[] = {
    {"axes", 0, "LETTERS",
     "which axis of the input's array is which, the slowest first: zyxc, tzyx; default: as the file says"},
    {"at", 0, "t=N",
     "of several time points the one to use, counted from 0; a channel: c=N; of a pyramid: level=s1"},
    {"box", 0, "Z:Z,Y:Y,X:X",
     "the part of the volume to compute, in voxels: 100:164,2048:4096,: (default: all)"},
    {"context", 0, "Z,Y,X",
     "tile the box with so many voxels around it by itself; default: as a run of the whole volume has it"},
    {"tiling", 0, "NAME",
     "pznet (default), monai, nnunet, chunkflow: patches as that package has them; exact: of exact tiles"},
    {"overlap", 0, "Z,Y,X",
     "what neighbouring patches share: voxels (4,32,32), or a part of the patch (0.25); default 0,\n"
     "                               monai 0.25, nnunet 0.5, chunkflow 0.5"},
    {"blend", 0, "HOW",
     "weights of overlapping patches: constant (default), gaussian, bump; tilings have their own"},
    {"normalize", 0, "HOW",
     "auto (default: unit for u8, else none), none, unit (0..1), zscore (over the whole volume)"},
    {"border", 0, "HOW", "beyond the volume: mirror (default) or zero (monai's and nnunet's default)"},
    {"crop", 0, "Z,Y,X",
     "voxels at each end that the output is without; default 0; chunkflow: what the network loses"},
    {"augment", 0, "HOW",
     "mirror: mean over the results for all flips; mirror:0,1: of these of the network's spatial axes"},
    {"sums", 0, "HOW", "auto (default: nnunet in half precision, as nnU-Net), float, half"},
    {"nan", 0, "WHAT",
     "NaN and infinities: error (default), propagate, zero (those of the input; of the output: error)"},
    {"dtype", 0, "TYPE",
     "of the output: f32 (default), f16, or u8 and u16 (probabilities times 255 or 65535)"},
    {"sigmoid", 0, NULL, "write the sigmoid of the blended values"},
    {"softmax", 0, NULL, "write the softmax of the blended values over the channels"},
    {"argmax", 0, NULL, "write the index of the greatest channel, u8"},
    {"threshold", 0, "T", "write 1 where a value is greater than T, else 0, u8, for each channel"},
    {"recipe", 0, "FILE",
     "what is done before and after the network: nnU-Net's plans.json, or a MONAI bundle's inference.json"},
    {"configuration", 0, "NAME", "of plans: as 3d_fullres; default: the one that has the network's patch"},
    {"previous", 0, "LABELS", "of a cascade's second stage: the labels of the first, a file or a folder"},
    {"ensemble", 0, "B.so,C.so",
     "average NET.so and these networks, which have the same ports; --digest is of NET.so alone"},
    {"mask", 0, "MASK",
     "a volume of the same size: 0 where it is 0, and no patch is run that is outside of it as a whole"},
    {"skip-zero", 0, NULL, "do not run patches whose input is all zero; their output is 0"},
    {"memory", 0, "SIZE", "a limit such as 4G: obeyed, or refused with the number needed"},
    TOOL_DIGEST_OPTION,
    {"threads", 't', "N", "threads; default: the cores that this process may use"},
    {"resume", 0, NULL,
     "go on from the work that an interrupted run finished; do nothing where the output is finished"},
    {"no-overwrite", 0, NULL, "refuse an output that exists; else it is replaced when the new one is whole"},
    {"update", 0, NULL, "replace the dataset of this name in an HDF5 file that holds others too"},
    {"format", 0, "NAME", "of an output in a store: zarr3 (default), zarr2, n5, precomputed"},
    {"chunks", 0, "Z,Y,X", "of an output in a store: voxels of a chunk; default 64,64,64"},
    {"shards", 0, "Z,Y,X",
     "of a zarr3 output: voxels of a shard, multiples of the chunks; default about 16 MB a channel"},
    {"codec", 0, "NAME",
     "in a store: zstd (default), blosc, gzip, none; of .h5 and .tif: none (default), gzip; gzip:LEVEL"},
    {"preview", 0, "FILE.png", "a picture of the volume's middle plane and of the result's beside it"},
    {"json", 0, "FILE", "write a report as JSON (- for standard output)"},
    TOOL_PROGRESS_OPTION,
    {"quiet", 'q', NULL, "print errors only"},
    {0},
};
const tool_verb verb_infer = {
    "infer",
    "NET.so VOLUME OUTPUT [options]",
    "apply a network file to a volume of any size",
    "Applies a network patch by patch to a volume and blends the results. VOLUME and OUTPUT: stack.tif, "
    "file.h5:/dataset,\n"
    "scan.nii, scan.nii.gz or array.npy; VOLUME also array.npz or a folder of .tif slices. Through the "
    "Python package both: em.zarr,\n"
    "em.n5, em.precomputed, in folders, s3://, gs:// and, to read, https://.\n"
    "The output appears under its name only when it is whole. An HDF5 file that holds other datasets keeps "
    "them.\n" TOOL_PROGRAM,
    options,
    run};
