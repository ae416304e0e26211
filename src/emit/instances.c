/* instances.c: which kernel calls are the same specialised function. */
#include "base/digest.h"
#include "emit/emit.h"

#include <string.h>

static bool same_instance(const pz_call *a, const pz_call *b) {
  if (strcmp(a->function, b->function) || strcmp(a->shape, b->shape) || a->n_args != b->n_args) return false;
  if (a->n_ways != b->n_ways) return false;
  for (int32_t i = 0; i < a->n_ways; i++)
    if (strcmp(a->ways[i].name, b->ways[i].name) || a->ways[i].mask != b->ways[i].mask) return false;
  for (int32_t i = 0; i < a->n_args; i++) {
    if (strcmp(a->args[i].name, b->args[i].name) || a->args[i].written != b->args[i].written) return false;
    if (a->args[i].type != b->args[i].type) return false;
    if ((a->args[i].at.space == PZ_SPACE_NULL) != (b->args[i].at.space == PZ_SPACE_NULL)) return false;
  }
  return true;
}

static pz_status set_digits(const pz_plan *plan, pz_instance *kernel, pz_error *err) {
  char digest[PZ_DIGEST_TEXT];
  pz_code *code = pz_code_new();
  pz_code_put(code, "$ $ $\n", (int)pz_target_isa(&plan->target), plan->target.block,
              pz_code_word(kernel->call->header));
  pz_emit_kernel(code, kernel->call, "0");
  const pz_status status = pz_code_digest(code, digest, err);
  if (status == PZ_OK) memcpy(kernel->digits, digest, PZ_EMIT_DIGITS);
  pz_code_free(code);
  return status;
}

static int32_t find_or_add(pz_instances *all, const pz_call *call) {
  for (int32_t i = 0; i < all->count; i++)
    if (same_instance(all->all[i].call, call)) return i;
  all->all[all->count].call = call;
  return all->count++;
}

pz_status pz_emit_instances(const pz_plan *plan, pz_arena *arena, pz_instances *out, pz_error *err) {
  size_t calls = 0;
  for (int32_t i = 0; i < plan->n_steps; i++) calls += (size_t)plan->steps[i].n_calls;
  *out = (pz_instances){.all = PZ_NEW(arena, pz_instance, calls + 1),
                        .of_call = PZ_NEW(arena, int32_t, calls + 1)};
  if (!out->all || !out->of_call) return pz_fail_memory(err, "the generated source", calls * 32);
  int32_t n = 0;
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t c = 0; c < plan->steps[i].n_calls; c++)
      out->of_call[n++] = find_or_add(out, &plan->steps[i].calls[c]);
  for (int32_t i = 0; i < out->count; i++) PZ_TRY(set_digits(plan, &out->all[i], err));
  return PZ_OK;
}
