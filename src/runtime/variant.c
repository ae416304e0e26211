#include "runtime/variant.h"
#include "base/cpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
  const json_t *json;
  const char *name, *target;
  pz_isa isa;
  bool known;         /* it is an instruction set of isa.inc */
  bool masked, runs;  /* the mask is against it; the machine has the instruction set */
  bool own, any_core; /* planned for this machine's core; for no core by name */
} row;

typedef struct list {
  const char *path;
  const json_t *manifest;
  row rows[PZ_ABI_MAX_VARIANTS];
  int32_t n;
  bool several; /* the manifest has rows */
} list;

pz_mask pz_mask_of_environment(void) {
  const char *name = getenv(PZ_MASK_VARIABLE);
  return (pz_mask){name && *name ? name : NULL, PZ_MASK_VARIABLE};
}

/* ---- rows ---- */

static pz_status damaged(const list *l, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: manifest: variants: %s: compile it again", l->path, what);
}

static bool parse_isa(const char *name, pz_isa *isa) {
  return strcmp(name, "native") && pz_isa_parse(name, isa);
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static bool within(const json_t *range, unsigned value) {
  const json_int_t first = json_integer_value(json_array_get(range, 0)),
                   last = json_integer_value(json_array_get(range, 1));
  return json_array_size(range) == 2 && first >= 0 && (json_int_t)value >= first && (json_int_t)value <= last;
}

static bool is_among(const json_t *cpus, const pz_cpu_id *id) {
  for (size_t i = 0; i < json_array_size(cpus); i++) {
    const json_t *cpu = json_array_get(cpus, i);
    if (!strcmp(text_of(cpu, "vendor"), id->vendor) &&
        json_integer_value(json_object_get(cpu, "family")) == (json_int_t)id->family &&
        within(json_object_get(cpu, "model"), id->model) &&
        within(json_object_get(cpu, "stepping"), id->stepping))
      return true;
  }
  return false;
}

static row read_row(const json_t *json) {
  row r = {.json = json, .name = text_of(json, "isa"), .target = text_of(json, "target")};
  pz_cpu_id id;
  r.known = parse_isa(r.name, &r.isa);
  r.runs = r.known && pz_isa_supported(r.isa);
  r.any_core = !json_array_size(json_object_get(json, "cpus"));
  r.own = pz_cpu_identity(&id) && is_among(json_object_get(json, "cpus"), &id);
  return r;
}

static void write_symbol(int32_t index, char symbol[32]) {
  if (index) snprintf(symbol, 32, PZ_ABI_SYMBOL "_%d", index);
  else strcpy(symbol, PZ_ABI_SYMBOL);
}

static pz_status check_row(const list *l, int32_t i, pz_error *err) {
  const row *r = &l->rows[i];
  char symbol[32];
  write_symbol(i, symbol);
  if (!*r->name || !*r->target) return damaged(l, "a row without isa or target", err);
  if (strcmp(text_of(r->json, "symbol"), symbol)) return damaged(l, "a symbol that is not the row's", err);
  if (i && !json_is_object(json_object_get(r->json, "manifest")))
    return damaged(l, "a row without its manifest", err);
  for (int32_t k = 0; k < i; k++)
    if (!strcmp(l->rows[k].target, r->target)) return damaged(l, "two of one target", err);
  return PZ_OK;
}

static pz_status read_rows(list *l, const json_t *rows, pz_error *err) {
  const size_t n = json_array_size(rows);
  if (n < 1 || n > PZ_ABI_MAX_VARIANTS) return damaged(l, "expected 1 to 16 rows", err);
  for (; l->n < (int32_t)n; l->n++) {
    l->rows[l->n] = read_row(json_array_get(rows, (size_t)l->n));
    PZ_TRY(check_row(l, l->n, err));
  }
  if (strcmp(text_of(l->manifest, "isa"), l->rows->name) ||
      strcmp(text_of(l->manifest, "target"), l->rows->target))
    return damaged(l, "the first is not what the manifest is of", err);
  return PZ_OK;
}

/* A file without rows is one row: what it says at the top. */
static pz_status read_list(const json_t *manifest, const char *path, list *l, pz_error *err) {
  *l = (list){.path = path, .manifest = manifest};
  const json_t *rows = json_object_get(manifest, "variants");
  l->several = rows != NULL;
  if (rows) return read_rows(l, rows, err);
  l->rows[l->n++] = read_row(manifest);
  if (l->rows->known) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: manifest: isa: '%.40s' is not an instruction set that this pznet knows: compile it again", path,
      l->rows->name);
}

/* ---- picking ---- */

/* "x86-64-v3 (avx2), zen4 (avx512)" */
static const char *named(const list *l, char *out, size_t size) {
  size_t at = 0;
  *out = 0;
  for (int32_t i = 0; i < l->n && at < size; i++) {
    const row *r = &l->rows[i];
    at += (size_t)(*r->target
                       ? snprintf(out + at, size - at, "%s%.40s (%.20s)", i ? ", " : "", r->target, r->name)
                       : snprintf(out + at, size - at, "%.20s", r->name));
  }
  return out;
}

static pz_status set_mask(list *l, const pz_mask *mask, pz_error *err) {
  char has[PZ_ABI_MAX_VARIANTS * 72];
  pz_isa most;
  if (!mask->name) return PZ_OK;
  const bool is_isa = parse_isa(mask->name, &most);
  int32_t left = 0;
  for (int32_t i = 0; i < l->n; i++) {
    row *r = &l->rows[i];
    r->masked = is_isa ? !r->known || !pz_features_have(pz_isa_get(most)->needs, pz_isa_get(r->isa)->needs)
                       : strcmp(r->target, mask->name) != 0;
    left += !r->masked;
  }
  if (left) return PZ_OK;
  if (is_isa)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: has no variant that %s alone suffices for, as %s %s asks: it has %s", l->path,
                   pz_isa_get(most)->title, mask->given, mask->name, named(l, has, sizeof has));
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: has no variant for '%.40s', which %s names: it has %s; an instruction set may be named too",
      l->path, mask->name, mask->given, named(l, has, sizeof has));
}

static bool is_better(const row *a, const row *b) {
  if (a->isa != b->isa) return a->isa > b->isa;
  if (a->own != b->own) return a->own;
  return a->any_core && !b->any_core;
}

static pz_status none_runs(const list *l, const pz_mask *mask, pz_error *err) {
  char has[PZ_ABI_MAX_VARIANTS * 72];
  const pz_isa native = pz_isa_native();
  const pz_isa_traits *here = pz_isa_get(native);
  const char *wanted = l->rows->known ? pz_isa_get(l->rows->isa)->title : l->rows->name;
  if (!l->several && !pz_isa_supported(native))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: was compiled for %s, and this machine does not even have %s",
                   l->path, wanted, here->title);
  if (!l->several)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: was compiled for %s, this machine has %s: compile it again with --isa %s", l->path,
                   wanted, here->title, here->name);
  named(l, has, sizeof has);
  if (mask->name)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: %s %s leaves nothing that this machine, which has %s, can run, of %s", l->path,
                   mask->given, mask->name, here->title, has);
  if (!pz_isa_supported(native))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has variants for %s, and this machine does not even have %s",
                   l->path, has, here->title);
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: has variants for %s, this machine has %s: compile it again with --isa %s, or with --isa all",
      l->path, has, here->title, here->name);
}

static pz_status pick(const list *l, const pz_mask *mask, bool any, int32_t *index, pz_error *err) {
  int32_t best = -1, first = -1;
  for (int32_t i = 0; i < l->n; i++) {
    if (l->rows[i].masked) continue;
    if (first < 0) first = i;
    if (l->rows[i].runs && (best < 0 || is_better(&l->rows[i], &l->rows[best]))) best = i;
  }
  *index = best >= 0 ? best : any ? first : -1;
  return *index >= 0 ? PZ_OK : none_runs(l, mask, err);
}

/* ---- what it reads of the weights ---- */

static pz_status read_weights(pz_arena *arena, const list *l, pz_variant *v, pz_error *err) {
  const json_t *all = l->several ? json_object_get(l->rows[v->index].json, "weights") : NULL;
  const size_t n = json_array_size(all);
  uint64_t end = 0;
  v->reads_all = !l->several;
  if (v->reads_all) return PZ_OK;
  if (!json_is_array(all)) return damaged(l, "a row without its weights", err);
  v->weights = PZ_NEW(arena, pz_stretch, n + 1);
  if (!v->weights) return pz_fail_memory(err, "the manifest", n * sizeof *v->weights);
  for (size_t i = 0; i < n; i++) {
    const json_t *b = json_array_get(json_array_get(all, i), 0),
                 *e = json_array_get(json_array_get(all, i), 1);
    const pz_stretch s = {(uint64_t)json_integer_value(b), (uint64_t)json_integer_value(e)};
    if (!json_is_integer(b) || !json_is_integer(e) || s.begin < end || s.end <= s.begin || s.end >> 46)
      return damaged(l, "weights that are no stretches", err);
    v->weights[v->n_weights++] = s;
    end = s.end;
  }
  return PZ_OK;
}

pz_status pz_variant_find(pz_arena *arena, const json_t *manifest, const char *path, const pz_mask *mask,
                          bool any, pz_variant *variant, pz_error *err) {
  list l;
  *variant = (pz_variant){0};
  PZ_TRY(read_list(manifest, path, &l, err));
  PZ_TRY(set_mask(&l, mask, err));
  PZ_TRY(pick(&l, mask, any, &variant->index, err));
  write_symbol(variant->index, variant->symbol);
  return read_weights(arena, &l, variant, err);
}

/* ---- what it says ---- */

static json_t *brief_row(pz_json *j, const json_t *from) {
  json_t *row = json_object(), *value;
  const char *key;
  json_object_foreach((json_t *)(uintptr_t)from, key, value) {
    if (strcmp(key, "manifest")) pz_json_set(j, row, key, json_incref(value));
  }
  pz_json_set(j, row, "runs_here", json_boolean(read_row(from).runs));
  return row;
}

json_t *pz_variant_manifest(pz_json *j, const json_t *manifest, int32_t index) {
  json_t *all = json_object(), *brief = json_array();
  const json_t *rows = json_object_get(manifest, "variants");
  pz_json_update(j, all, manifest);
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *from = json_array_get(rows, i);
    pz_json_append(j, brief, brief_row(j, from));
    if ((int32_t)i == index && i) pz_json_update(j, all, json_object_get(from, "manifest"));
  }
  json_t *checksum = json_object_get(manifest, PZ_ABI_CHECKSUM); /* is the file's */
  if (checksum) pz_json_set(j, all, PZ_ABI_CHECKSUM, json_incref(checksum));
  pz_json_set(j, all, "variants", brief);
  pz_json_set(j, all, "variant", json_integer(index));
  return all;
}
