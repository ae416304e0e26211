#include "volume/report.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static json_t *reals(pz_json *j, const double *v, int n) {
  json_t *all = json_array();
  for (int i = 0; i < n; i++) pz_json_append(j, all, pz_json_real(v[i]));
  return all;
}

/* Nothing where nothing is known; voxel_size, origin along z, y, x, the affine as NIfTI has it. */
static void put_geometry(pz_json *j, json_t *o, const pz_geometry *g) {
  if (!g->known) return;
  if (g->known == PZ_KNOWN_PLANE) pz_json_set(j, o, "pixel_size", reals(j, g->voxel + 1, 2));
  else pz_json_set(j, o, "voxel_size", reals(j, g->voxel, 3));
  pz_json_set(j, o, "unit", pz_json_name(g->unit));
  if (g->has_origin) pz_json_set(j, o, "origin", reals(j, g->origin, 3));
  if (!g->has_affine) return;
  json_t *rows = json_array();
  for (int i = 0; i < 3; i++) pz_json_append(j, rows, reals(j, g->affine[i], 4));
  pz_json_set(j, o, "affine", rows);
}

static void put_notes(pz_json *j, json_t *o, const pz_notes *notes) {
  if (!notes->n) return;
  json_t *list = json_array();
  for (int i = 0; i < notes->n; i++) pz_json_append(j, list, pz_json_name(notes->text[i]));
  pz_json_set(j, o, "notes", list);
}

static json_t *volume(pz_json *j, const pz_volume_info *info) {
  json_t *o = json_object();
  pz_json_set(j, o, "dtype", json_string(pz_dtype_name(info->dtype)));
  pz_json_set(j, o, "channels", json_integer(info->channels));
  pz_json_set(j, o, "shape", pz_json_triple(j, info->shape));
  put_geometry(j, o, &info->geometry);
  return o;
}

static json_t *bytes(pz_json *j, const pz_run_layout *p) {
  return pz_json_pack(j, "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "input",
                      (json_int_t)p->bytes.input, "sums", (json_int_t)p->bytes.sums, "patches",
                      (json_int_t)p->bytes.patches, "weights", (json_int_t)p->bytes.weights, "result",
                      (json_int_t)p->bytes.stores, "scratch", (json_int_t)p->bytes.scratch, "reader",
                      (json_int_t)p->bytes.reader, "mask", (json_int_t)p->bytes.mask, "network",
                      (json_int_t)p->bytes.network, "process", (json_int_t)p->bytes.process, "packing",
                      (json_int_t)p->bytes.packing, "total", (json_int_t)p->bytes.total);
}

/* What patches that reach into two blocks and more cost, as a part of the patches of the whole. */
static double repeated(const pz_run_layout *p) {
  return (double)p->patches / (double)pz_grid_patches(&p->grid) - 1;
}

/* Of a box: where it begins in the volume. */
static void put_place(pz_json *j, json_t *o, const pz_volume_info *input, const pz_run_layout *p) {
  int64_t at[3];
  bool whole = true;
  for (int i = 0; i < 3; i++) {
    at[i] = p->view.start[i] + p->grid.axis[i].origin;
    whole = whole && p->result.shape[i] == input->shape[i];
  }
  if (!whole) pz_json_set(j, o, "first_voxel", pz_json_triple(j, at));
}

/* How many times the ideal arithmetic the run is, and which larger patch would be cheaper; nothing where that is not known. */
static void put_arithmetic(pz_json *j, json_t *o, const pz_patch_function *f, const pz_run_layout *p) {
  const pz_network_locality *l = f->locality;
  const int64_t *size = p->result.shape;
  const double voxels = (double)size[0] * (double)size[1] * (double)size[2],
               times = l ? pz_arithmetic(l, (double)p->patches, voxels) : 0;
  double costs;
  if (times <= 0) return;
  json_t *a = json_object();
  pz_json_set(j, a, "times", pz_json_real(times));
  const pz_larger_patch *larger =
      f->tiles ? NULL : pz_larger_patch_find(l, p->view.size, f->out, &p->tiling.grid, times, &costs);
  if (larger) {
    pz_json_set(j, a, "larger", pz_json_triple(j, larger->in));
    pz_json_set(j, a, "larger_times", pz_json_real(costs));
  }
  pz_json_set(j, o, "arithmetic", a);
}

static void put_plan(pz_json *j, json_t *o, const pz_patch_function *f, const pz_volume *input,
                     const char *output, const pz_run_layout *p) {
  const pz_axis *a = p->grid.axis;
  const int64_t counts[3] = {a[0].count, a[1].count, a[2].count};
  int64_t overlap[3];
  for (int i = 0; i < 3; i++)
    overlap[i] = a[i].out - (int64_t)p->tiling.grid.step[i]; /* the least of neighbours */
  json_t *in = volume(j, &input->info), *out = volume(j, &p->result);
  pz_json_set(j, in, "path", pz_json_name(input->path));
  pz_json_set(j, out, "path", pz_json_name(output));
  put_place(j, out, &input->info, p);
  pz_json_set(j, o, "input", in);
  pz_json_set(j, o, "output", out);
  pz_json_set(j, o, "patch_in", pz_json_triple(j, f->in));
  pz_json_set(j, o, "patch_out", pz_json_triple(j, f->out));
  pz_json_set(j, o, "overlap", pz_json_triple(j, overlap));
  pz_json_set(j, o, "grid", pz_json_triple(j, counts));
  pz_json_set(j, o, "patches", json_integer(p->patches));
  pz_json_set(j, o, "blocks", json_integer(p->blocks));
  pz_json_set(j, o, "repeated", pz_json_real(repeated(p)));
  pz_json_set(j, o, "voxels", json_integer(p->result.shape[0] * p->result.shape[1] * p->result.shape[2]));
  put_arithmetic(j, o, f, p);
  pz_json_set(j, o, "input_planes", json_integer(p->ring));
  pz_json_set(j, o, "memory", bytes(j, p));
  put_notes(j, o, &input->notes);
  pz_json_set(j, o, "peak_bytes", json_integer(p->bytes.total));
}

/* Of one network, and without a mask, nothing is said of them. */
static json_t *network(pz_json *j, const char *path, const char *digest) {
  json_t *o = json_object();
  pz_json_set(j, o, "path", path ? pz_json_name(path) : json_null());
  pz_json_set(j, o, "digest", json_string(digest));
  return o;
}
static void put_ensemble(pz_json *j, json_t *o, const pz_patch_function *f) {
  if (!f->n_others) return;
  json_t *all = json_array();
  pz_json_append(j, all, network(j, f->path, f->digest));
  for (int i = 0; i < f->n_others; i++)
    pz_json_append(j, all, network(j, f->others[i].path, f->others[i].digest));
  pz_json_set(j, o, "ensemble", all);
}
static void put_mask(pz_json *j, json_t *o, const pz_volume *mask) {
  if (!mask) return;
  json_t *m = json_object();
  pz_json_set(j, m, "path", pz_json_name(mask->path));
  pz_json_set(j, m, "dtype", json_string(pz_dtype_name(mask->info.dtype)));
  pz_json_set(j, o, "mask", m);
}

static void put_counts(pz_json *j, json_t *o, const pz_run_layout *p, const pz_engine_counts *c) {
  const pz_job_tally *t = &c->tally;
  const double voxels = (double)p->result.shape[0] * (double)p->result.shape[1] * (double)p->result.shape[2];
  /* Only what this process computed counts for its speed. */
  const double share = c->patches > 0 ? (double)(c->run + c->skipped) / (double)c->patches : 0;
  pz_json_set(j, o, "patches_run", json_integer(c->run));
  pz_json_set(j, o, "patches_skipped", json_integer(c->skipped));
  pz_json_set(j, o, "patches_resumed", json_integer(c->patches - c->run - c->skipped));
  pz_json_set(j, o, "clipped", json_integer(t->clipped));
  pz_json_set(j, o, "not_finite", json_integer(t->not_finite));
  pz_json_set(j, o, "voxels_per_second", pz_json_real(c->seconds > 0 ? share * voxels / c->seconds : 0));
  pz_json_set(j, o, "seconds",
              pz_json_pack(j, "{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "total", c->seconds, "statistics",
                           c->statistics, "read", c->read, "compute", c->compute, "write", c->write, "wait",
                           c->wait, "finish", c->finish));
}

/* Nothing where nothing was rounded. */
static void put_rounding(pz_json *j, json_t *o, const pz_volume *input, const pz_rounding *r) {
  char text[256], channel[32] = "";
  if (!r->values) return;
  if (input->info.has_channels) snprintf(channel, sizeof channel, "channel %lld, ", (long long)r->first[0]);
  snprintf(text, sizeof text,
           "%lld value%s of %s not exact in float32, the first at %sz = %lld, y = %lld, x = %lld: %s",
           (long long)r->values, r->values == 1 ? "" : "s", pz_dtype_name(input->info.dtype), channel,
           (long long)r->first[1], (long long)r->first[2], (long long)r->first[3], r->example);
  pz_json_set(j, o, "rounded",
              pz_json_pack(j, "{s:I,s:[I,I,I,I],s:s}", "values", (json_int_t)r->values, "first",
                           (json_int_t)r->first[0], (json_int_t)r->first[1], (json_int_t)r->first[2],
                           (json_int_t)r->first[3], "text", text));
}

static void put_facts(pz_json *j, json_t *o, const pz_facts *f) {
  json_t *facts = json_object();
  for (int i = 0; i < f->n; i++) pz_json_set(j, facts, f->fact[i].name, pz_json_name(f->fact[i].value));
  pz_json_set(j, o, "determined_by", facts);
}

/* jansson prints with malloc, unless somebody has given it other functions. */
static char *print(const pz_json *j, json_t *o, int digits) {
  char *text = pz_json_print(j, o, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
  json_decref(o);
  return text;
}

char *pz_report_print(const pz_run *r, bool done) {
  pz_json j = {0};
  json_t *o = json_object();
  put_plan(&j, o, r->function, r->input, r->output_name, &r->layout);
  put_ensemble(&j, o, r->function);
  put_mask(&j, o, r->mask);
  if (r->stale[0]) pz_json_set(&j, o, "made_anew", pz_json_name(r->stale));
  if (!done && r->facts.n) put_facts(&j, o, &r->facts);
  if (!done && r->job) pz_json_set(&j, o, "resumed", json_boolean(pz_job_resumed(r->job)));
  if (done) {
    pz_json_set(&j, o, "finished_before", json_boolean(r->finished));
    put_counts(&j, o, &r->layout, &r->counts);
    put_facts(&j, o, &r->facts);
    put_rounding(&j, o, r->input, &r->counts.rounding);
  }
  return print(&j, o, 9);
}

/* The file's array: letters as they were resolved, "?" for an axis of length 1 that is none. */
static json_t *stored(pz_json *j, const pz_volume *v) {
  char letters[PZ_AXES_RANK + 1] = "";
  json_t *o = json_object(), *shape = json_array();
  for (int i = 0; i < v->array.rank; i++) {
    letters[i] = v->axes.letter[i] ? v->axes.letter[i] : '?';
    pz_json_append(j, shape, json_integer(v->array.size[i]));
  }
  pz_json_set(j, o, "axes", json_string(letters));
  pz_json_set(j, o, "said_by", v->array.said_by ? pz_json_name(v->array.said_by) : json_null());
  pz_json_set(j, o, "shape", shape);
  return o;
}

static json_t *axes(pz_json *j, bool has_channels) {
  json_t *all = json_array();
  if (has_channels) pz_json_append(j, all, json_string("c"));
  for (int d = 0; d < 3; d++) pz_json_append(j, all, json_string((const char *const[]){"z", "y", "x"}[d]));
  return all;
}

char *pz_report_volume(const pz_volume *v) {
  const pz_volume_info *i = &v->info;
  pz_json j = {0};
  json_t *o = volume(&j, i);
  pz_json_set(&j, o, "format", json_string(v->format->name));
  pz_json_set(&j, o, "path", pz_json_name(v->path));
  if (v->dataset) pz_json_set(&j, o, "dataset", pz_json_name(v->dataset));
  pz_json_set(&j, o, "axes", axes(&j, i->has_channels));
  pz_json_set(&j, o, "stored", stored(&j, v));
  if (v->axes.time_points > 1) pz_json_set(&j, o, "time_points", json_integer(v->axes.time_points));
  pz_json_set(&j, o, "step", pz_json_triple(&j, v->step));
  if (v->sequential) pz_json_set(&j, o, "sequential", json_true());
  put_notes(&j, o, &v->notes);
  pz_json_set(&j, o, "bytes", json_integer(pz_volume_bytes(i)));
  return print(&j, o, 15);
}
