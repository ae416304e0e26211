#include "volume/report.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

/* jansson's _new setters own the value also when they fail, so every one is called and failures are gathered. */
static bool put(json_t *o, const char *name, json_t *value) {
  return json_object_set_new(o, name, value) == 0;
}

static json_t *sizes(const int64_t s[3]) {
  return json_pack("[I,I,I]", (json_int_t)s[0], (json_int_t)s[1], (json_int_t)s[2]);
}

static json_t *three(const double v[3]) { return json_pack("[f,f,f]", v[0], v[1], v[2]); }

/* Nothing where nothing is known; voxel_size, origin along z, y, x, the affine as NIfTI has it. */
static bool put_geometry(json_t *o, const pz_geometry *g) {
  bool good = true;
  if (!g->known) return true;
  if (g->known == PZ_KNOWN_PLANE) good = put(o, "pixel_size", json_pack("[f,f]", g->voxel[1], g->voxel[2]));
  else good = put(o, "voxel_size", three(g->voxel));
  good = put(o, "unit", pz_json_name(g->unit)) && good;
  if (g->has_origin) good = put(o, "origin", three(g->origin)) && good;
  if (!g->has_affine) return good;
  json_t *rows = json_array();
  for (int i = 0; i < 3; i++) {
    const double *r = g->affine[i];
    json_array_append_new(rows, json_pack("[f,f,f,f]", r[0], r[1], r[2], r[3]));
  }
  good = json_array_size(rows) == 3 && good;
  return put(o, "affine", rows) && good;
}

static bool put_notes(json_t *o, const pz_notes *notes) {
  json_t *list = json_array();
  for (int i = 0; i < notes->n; i++) json_array_append_new(list, pz_json_name(notes->text[i]));
  const bool good = json_array_size(list) == (size_t)notes->n;
  return put(o, "notes", list) && good;
}

static json_t *volume(const pz_volume_info *info) {
  json_t *o = json_object();
  bool good = put(o, "dtype", json_string(pz_dtype_name(info->dtype)));
  good = put(o, "channels", json_integer(info->channels)) && good;
  good = put(o, "shape", sizes(info->shape)) && good;
  good = put_geometry(o, &info->geometry) && good;
  if (good) return o;
  json_decref(o);
  return NULL;
}

static json_t *bytes(const pz_arrangement *p) {
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "input", (json_int_t)p->bytes.input, "sums",
                   (json_int_t)p->bytes.sums, "patches", (json_int_t)p->bytes.patches, "weights",
                   (json_int_t)p->bytes.weights, "result", (json_int_t)p->bytes.stores, "scratch",
                   (json_int_t)p->bytes.scratch, "reader", (json_int_t)p->bytes.reader, "network",
                   (json_int_t)p->bytes.network, "process", (json_int_t)p->bytes.process, "total",
                   (json_int_t)p->bytes.total);
}

static bool put_plan(json_t *o, const pz_patch_function *f, const pz_volume *input, const char *output,
                     const pz_arrangement *p) {
  const pz_axis *a = p->grid.axis;
  const int64_t counts[3] = {a[0].count, a[1].count, a[2].count};
  int64_t overlap[3];
  for (int i = 0; i < 3; i++)
    overlap[i] = a[i].out - (int64_t)p->tiling.grid.step[i]; /* the least of neighbours */
  json_t *in = volume(&input->info), *out = volume(&p->result);
  bool good =
      in && out && put(in, "path", pz_json_name(input->path)) && put(out, "path", pz_json_name(output));
  good = put(o, "input", in) && good;
  good = put(o, "output", out) && good;
  good = put(o, "patch_in", sizes(f->in)) && good;
  good = put(o, "patch_out", sizes(f->out)) && good;
  good = put(o, "overlap", sizes(overlap)) && good;
  good = put(o, "grid", sizes(counts)) && good;
  good = put(o, "patches", json_integer(pz_grid_patches(&p->grid))) && good;
  good = put(o, "voxels", json_integer(p->result.shape[0] * p->result.shape[1] * p->result.shape[2])) && good;
  good = put(o, "input_planes", json_integer(p->ring)) && good;
  good = put(o, "memory", bytes(p)) && good;
  if (input->notes.n) good = put_notes(o, &input->notes) && good;
  return put(o, "peak_bytes", json_integer(p->bytes.total)) && good;
}

static bool put_counts(json_t *o, const pz_arrangement *p, const pz_engine_counts *c) {
  const pz_job_tally *t = &c->tally;
  const double voxels = (double)p->result.shape[0] * (double)p->result.shape[1] * (double)p->result.shape[2];
  /* Only what this process computed counts for its speed. */
  const double share = c->patches > 0 ? (double)(c->run + c->skipped) / (double)c->patches : 0;
  bool good = put(o, "patches_run", json_integer(c->run));
  good = put(o, "patches_skipped", json_integer(c->skipped)) && good;
  good = put(o, "patches_resumed", json_integer(c->patches - c->run - c->skipped)) && good;
  good = put(o, "clipped", json_integer(t->clipped)) && good;
  good = put(o, "not_finite", json_integer(t->not_finite)) && good;
  good = put(o, "voxels_per_second", json_real(c->seconds > 0 ? share * voxels / c->seconds : 0)) && good;
  return put(o, "seconds",
             json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "total", c->seconds, "statistics", c->statistics,
                       "read", c->read, "compute", c->compute, "write", c->write, "wait", c->wait, "finish",
                       c->finish)) &&
         good;
}

/* Nothing where nothing was rounded. */
static bool put_rounding(json_t *o, const pz_volume *input, const pz_rounding *r) {
  char text[256], channel[32] = "";
  if (!r->values) return true;
  if (input->info.has_channels) snprintf(channel, sizeof channel, "channel %lld, ", (long long)r->first[0]);
  snprintf(text, sizeof text,
           "%lld value%s of %s not exact in float32, the first at %sz = %lld, y = %lld, x = %lld: %s",
           (long long)r->values, r->values == 1 ? "" : "s", pz_dtype_name(input->info.dtype), channel,
           (long long)r->first[1], (long long)r->first[2], (long long)r->first[3], r->example);
  return put(o, "rounded",
             json_pack("{s:I,s:[I,I,I,I],s:s}", "values", (json_int_t)r->values, "first",
                       (json_int_t)r->first[0], (json_int_t)r->first[1], (json_int_t)r->first[2],
                       (json_int_t)r->first[3], "text", text));
}

static bool put_facts(json_t *o, const pz_facts *f) {
  json_t *facts = json_object();
  bool good = facts;
  for (int i = 0; i < f->n && good; i++) good = put(facts, f->fact[i].name, pz_json_name(f->fact[i].value));
  return put(o, "determined_by", facts) && good;
}

/* jansson prints with malloc, unless somebody has given it other functions. */
static char *print(json_t *o, int digits, bool good) {
  char *text = good ? pz_json_print(o, JSON_INDENT(2) | JSON_REAL_PRECISION(digits)) : NULL;
  json_decref(o);
  return text;
}

char *pz_report_print(const pz_run *r, bool done) {
  json_t *o = json_object();
  bool good = o && put_plan(o, r->function, r->input, r->output_name, &r->plan);
  if (r->stale[0]) good = good && put(o, "made_anew", pz_json_name(r->stale));
  if (done) good = good && put(o, "finished_before", json_boolean(r->finished));
  if (done)
    good = good && put_counts(o, &r->plan, &r->counts) && put_facts(o, &r->facts) &&
           put_rounding(o, r->input, &r->counts.rounding);
  return print(o, 9, good);
}

/* The file's array: letters as they were resolved, "?" for an axis of length 1 that is none. */
static json_t *stored(const pz_volume *v) {
  char letters[PZ_AXES_RANK + 1] = "";
  json_t *o = json_object(), *shape = json_array();
  bool good = o && shape;
  for (int i = 0; i < v->array.rank; i++) {
    letters[i] = v->axes.letter[i] ? v->axes.letter[i] : '?';
    good = good && json_array_append_new(shape, json_integer(v->array.size[i])) == 0;
  }
  good = good && put(o, "axes", json_string(letters));
  good = good && put(o, "said_by", v->array.said_by ? json_string(v->array.said_by) : json_null());
  if (!good || json_object_set(o, "shape", shape) != 0) {
    json_decref(o);
    o = NULL;
  }
  json_decref(shape);
  return o;
}

char *pz_report_volume(const pz_volume *v) {
  const pz_volume_info *i = &v->info;
  json_t *o = volume(i);
  bool good = o && put(o, "format", json_string(v->format->name)) && put(o, "path", pz_json_name(v->path));
  if (good && v->dataset) good = put(o, "dataset", pz_json_name(v->dataset));
  json_t *axes = json_array();
  if (i->has_channels) json_array_append_new(axes, json_string("c"));
  for (int d = 0; d < 3; d++)
    json_array_append_new(axes, json_string((const char *const[]){"z", "y", "x"}[d]));
  good = good && json_array_size(axes) == (size_t)(3 + i->has_channels);
  good = put(o, "axes", axes) && good;
  good = good && put(o, "stored", stored(v));
  if (v->axes.time_points > 1) good = good && put(o, "time_points", json_integer(v->axes.time_points));
  if (good && v->notes.n) good = put_notes(o, &v->notes);
  good = good && put(o, "bytes", json_integer(pz_volume_bytes(i)));
  return print(o, 15, good);
}
