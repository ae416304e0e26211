/* target.c: the table of cores, and the host as a row of it. */
#include "target/target.h"

#include <stdio.h>
#include <string.h>

/* ---- costs that were measured (bench_winograd, doc/notes/2026-11-28-winograd.md) ---- */

/* On cores with AVX-512: what one vector costs on its way through a transform, more of it for each of more points than a tile has room for near the
 * core. An Intel Xeon with AMX, where larger tiles are kept out; Zen 4 and Zen 5, with pairs. */
static const pz_winograd_costs xeon = {
    .input = 14, .output = 12, .room = 288, .crowded = 0.02, .outside_level2 = 2, .product = 1.1};
static const pz_winograd_costs zen4 = {
    .input = 9, .output = 9.6, .room = 216, .crowded = 0.002, .outside_level2 = 1.25, .product = 0.8};
static const pz_winograd_costs zen5 = {
    .input = 15, .output = 9.5, .room = 288, .crowded = 0.02, .outside_level2 = 1.5, .product = 0.97};

#include "target/cost_models.inc"

/* .pairs of Zen 5: near enough to the direct convolution that both are measured. */
#define COSTS_OF_XEON .wide = &xeon, .narrow = &xeon, .inner_pairs = 0.95
#define COSTS_OF_ZEN4                                                                                        \
  .adds_apart = true, .double_pumped = true, .wide = &zen4, .narrow = &zen4, .inner_pairs = 0.8
#define COSTS_OF_ZEN5 .adds_apart = true, .wide = &zen5, .narrow = &xeon, .inner_pairs = 0.95

/* ---- the table ---- */

typedef struct row {
  pz_target target;
  pz_cpu_range ids[4];
} row;

#define INTEL "GenuineIntel"
#define AMD   "AuthenticAMD"
#define ARM   "ARM"
#define IDS(...)                                                                                             \
  { __VA_ARGS__ }
#define NO_IDS IDS({NULL, 0, 0, 0, 0, 0})
#define KIB    *1024
#define MIB    *1024 * 1024

#define WITH_SSE4         .features = PZ_NEEDS_SSE4, .vector_width = 4, .registers = 16
#define WITH_AVX2(more)   .features = PZ_NEEDS_AVX2 | (more), .vector_width = 8, .registers = 16
#define WITH_AVX512(more) .features = PZ_NEEDS_AVX512 | (more), .vector_width = 16, .registers = 32
#define WITH_TILES(more)                                                                                     \
  WITH_AVX512(PZ_NEEDS_TILES | PZ_HAS(AVX512_VNNI) | PZ_HAS(AVX_VNNI) | PZ_HAS(AVX512_FP16) |                \
              PZ_HAS(AMX_INT8) | (more))

#define WITH_NEON(more) .features = PZ_NEEDS_NEON | (more), .vector_width = 4, .registers = 32
#define NEON_OF_82      (PZ_HAS(ASIMDHP) | PZ_HAS(ASIMDDP))

static const row rows[] = {
#define CORE(title, numbers, ...) {.target = {.name = title, .core = title, __VA_ARGS__}, .ids = numbers},
#include "target/cores.inc"
#undef CORE
};
enum { ROWS = sizeof rows / sizeof *rows, IDS_OF_ROW = sizeof rows->ids / sizeof *rows->ids };

const pz_target *pz_target_row(int32_t i) { return i >= 0 && i < ROWS ? &rows[i].target : NULL; }

static const row *row_named(const char *name) {
  for (int i = 0; i < ROWS; i++)
    if (!strcmp(name, rows[i].target.name)) return &rows[i];
  return NULL;
}

static bool is_generic(const row *r) { return !r->ids[0].vendor; }

static bool is_among(const pz_cpu_range *all, const pz_cpu_id *id) {
  for (int i = 0; i < IDS_OF_ROW && all[i].vendor; i++)
    if (!strcmp(all[i].vendor, id->vendor) && all[i].family == id->family && id->model >= all[i].first &&
        id->model <= all[i].last && id->stepping >= all[i].first_stepping &&
        id->stepping <= all[i].last_stepping)
      return true;
  return false;
}

const pz_target *pz_target_of_cpu(const pz_cpu_id *id) {
  for (int i = 0; i < ROWS; i++)
    if (is_among(rows[i].ids, id)) return &rows[i].target;
  return NULL;
}

const pz_cpu_range *pz_target_cpus(const char *core, int32_t i) {
  const row *r = row_named(core);
  return r && i >= 0 && i < IDS_OF_ROW && r->ids[i].vendor ? &r->ids[i] : NULL;
}

/* The generic row with the most of these features; where they are too few for any, that of the instruction set that code is of nevertheless. */
static const pz_target *generic_of(pz_features features) {
  const pz_features needs = pz_isa_get(pz_isa_of(features))->needs;
  const pz_target *best = NULL;
  for (int i = 0; i < ROWS; i++)
    if (is_generic(&rows[i]) && pz_features_have(features | needs, rows[i].target.features) &&
        (!best || pz_features_have(rows[i].target.features, best->features)))
      best = &rows[i].target;
  return best;
}

bool pz_target_parse(const char *name, pz_target *target) {
  const row *r = row_named(name);
  if (!strcmp(name, "native")) return *target = pz_target_host(), true;
  if (r) *target = r->target;
  return r;
}

const char *pz_target_names(void) {
  return "native"
#define CORE(title, numbers, ...) ", " title
#include "target/cores.inc"
#undef CORE
      ;
}

/* ---- features ---- */

pz_isa pz_target_isa(const pz_target *target) { return pz_isa_of(target->features); }

static void set_features(pz_target *target, pz_features features) {
  const pz_isa_traits *traits = pz_isa_get(pz_isa_of(features));
  target->features = features;
  target->vector_width = traits->vector_width;
  target->registers = traits->registers;
}

pz_target pz_target_without(const pz_target *target, pz_features features) {
  pz_target less = *target;
  set_features(&less, target->features & ~features);
  return less;
}

void pz_target_flags(const pz_target *target, char out[PZ_TARGET_FLAGS]) {
  const pz_features used = pz_isa_get(pz_target_isa(target))->needs;
  size_t at = 0;
  for (int i = 0; i < PZ_FEATURE_COUNT && at < PZ_TARGET_FLAGS; i++)
    if (used >> i & 1 && *pz_feature_flag((pz_feature)i))
      at += (size_t)snprintf(out + at, PZ_TARGET_FLAGS - at, "%s%s", at ? " " : "",
                             pz_feature_flag((pz_feature)i));
}

/* ---- the host ---- */

/* What the row says of the core, with what there is of it here. */
static pz_target here_as(const char *name, const pz_target *core, pz_features features) {
  pz_target target = *core;
  target.name = name;
  set_features(&target, features);
  target.caches = pz_cpu_caches();
  target.workers = pz_cpu_usable();
  return target;
}

static const pz_target *row_of_host(void) {
  pz_cpu_id id;
  return pz_cpu_identity(&id) ? pz_target_of_cpu(&id) : NULL;
}

pz_target pz_target_host(void) {
  const pz_features features = pz_cpu_features();
  const pz_target *core = row_of_host();
  return here_as("native", core ? core : generic_of(features), features);
}

pz_target pz_target_as(pz_isa isa) {
  const pz_isa_traits *traits = pz_isa_get(isa);
  const pz_target *core = pz_isa_supported(isa) ? row_of_host() : NULL;
  return here_as(traits->name, core ? core : generic_of(traits->needs), traits->needs);
}

bool pz_target_runs_here(const pz_target *target) { return pz_isa_supported(pz_target_isa(target)); }

bool pz_target_times_here(const pz_target *target) {
  const row *r = row_named(target->name);
  if (!pz_target_runs_here(target)) return false;
  return !r || is_generic(r) || &r->target == row_of_host();
}
