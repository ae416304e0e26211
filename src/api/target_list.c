#include "api/target_list.h"
#include "base/cpu.h"

#include <string.h>

#define ALL "all" /* of --isa */

/* ---- machines ---- */

/* The instruction set that all others of the machine have within them. */
static pz_isa weakest_in(pz_features features) {
  int isa = 0;
  while (isa + 1 < PZ_ISA_COUNT && !pz_features_have(features, pz_isa_get((pz_isa)isa)->needs)) isa++;
  return (pz_isa)isa;
}

/* The first row of the table with this instruction set: a generic one where there is one. */
static const pz_target *row_of(pz_isa isa) {
  const pz_target *row = NULL;
  for (int32_t i = 0; (row = pz_target_row(i)) && pz_target_isa(row) != isa;) i++;
  return row;
}

/* One for each instruction set of this machine's kind. */
static pz_status take_all(const pz_compile_options *o, pz_target_list *targets, pz_error *err) {
  const pz_isa weakest = weakest_in(pz_isa_get(pz_isa_native())->needs);
  if (o->target)
    return pz_fail(err, PZ_ERROR_USAGE, "--isa %s and --target %s exclude each other: a target has its own",
                   o->isa, o->target);
  for (int isa = 0; isa < PZ_ISA_COUNT; isa++) {
    const bool fits = pz_features_have(pz_isa_get((pz_isa)isa)->needs, pz_isa_get(weakest)->needs);
    const pz_target *row = fits ? row_of((pz_isa)isa) : NULL;
    if (row && targets->n < PZ_ABI_MAX_VARIANTS) targets->names[targets->n++] = row->name;
  }
  return PZ_OK;
}

/* ---- a list ---- */

static pz_status add(const char *list, const char *name, pz_target_list *targets, pz_error *err) {
  pz_target target, first;
  if (!*name) return pz_fail(err, PZ_ERROR_USAGE, "--target %s: a name is missing beside a comma", list);
  if (!pz_target_parse(name, &target))
    return pz_fail(err, PZ_ERROR_USAGE, "--target %s: '%s' is not one of %s", list, name, pz_target_names());
  for (int32_t i = 0; i < targets->n; i++)
    if (!strcmp(targets->names[i], name))
      return pz_fail(err, PZ_ERROR_USAGE, "--target %s: %s is named twice", list, name);
  if (targets->n == PZ_ABI_MAX_VARIANTS)
    return pz_fail(err, PZ_ERROR_USAGE, "--target %s: a file has %d variants at most", list,
                   PZ_ABI_MAX_VARIANTS);
  if (targets->n && pz_target_parse(targets->names[0], &first) &&
      weakest_in(first.features) != weakest_in(target.features))
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--target %s: %s and %s are of different machines: a network file is of one", list,
                   targets->names[0], name);
  targets->names[targets->n++] = name;
  return PZ_OK;
}

static pz_isa isa_of(const char *name) {
  pz_target target;
  return pz_target_parse(name, &target) ? pz_target_isa(&target) : 0;
}

/* By insertion: those that are equal stay as they were given. */
static void sort(pz_target_list *targets) {
  for (int32_t i = 1; i < targets->n; i++)
    for (int32_t k = i; k > 0 && isa_of(targets->names[k]) < isa_of(targets->names[k - 1]); k--) {
      const char *name = targets->names[k];
      targets->names[k] = targets->names[k - 1], targets->names[k - 1] = name;
    }
}

static pz_status take_list(pz_arena *arena, const char *list, pz_target_list *targets, pz_error *err) {
  for (const char *at = list;; at++) {
    const size_t length = strcspn(at, ",");
    const char *name = pz_arena_strndup(arena, at, length);
    if (!name) return pz_fail_memory(err, "a list of targets", 64);
    PZ_TRY(add(list, name, targets, err));
    at += length;
    if (!*at) break;
  }
  sort(targets);
  return PZ_OK;
}

pz_status pz_target_list_wanted(pz_arena *arena, const pz_compile_options *options, pz_target_list *targets,
                                pz_error *err) {
  *targets = (pz_target_list){.n = 0};
  if (options->isa && !strcmp(options->isa, ALL)) return take_all(options, targets, err);
  if (options->isa || !options->target || !strchr(options->target, ',')) return PZ_OK;
  return take_list(arena, options->target, targets, err);
}
