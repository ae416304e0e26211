/* instances.c: which kernel calls are the same specialised function. */
#include "base/digest.h"
#include "emit/emit.h"

#include <string.h>

static bool same_instance(const pz_call *a, const pz_call *b) {
  if (strcmp(a->function, b->function) || strcmp(a->shape, b->shape) || a->n_args != b->n_args) return false;
  for (int32_t i = 0; i < a->n_args; i++) {
    if (strcmp(a->args[i].name, b->args[i].name) || a->args[i].written != b->args[i].written) return false;
    if ((a->args[i].at.space == PZ_SPACE_NULL) != (b->args[i].at.space == PZ_SPACE_NULL)) return false;
  }
  return true;
}

static void set_digits(const pz_plan *plan, pz_instance *kernel, pz_text *text) {
  char digest[PZ_DIGEST_TEXT];
  text->size = 0;
  pz_text_printf(text, "%d %d %s\n", plan->isa, plan->block, kernel->call->header);
  pz_emit_kernel(text, kernel->call, "");
  pz_digest_text(text->data, text->size, digest);
  memcpy(kernel->digits, digest, PZ_EMIT_DIGITS);
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
  pz_text text = {0};
  for (int32_t i = 0; i < out->count && !text.failed; i++) set_digits(plan, &out->all[i], &text);
  const bool failed = text.failed;
  pz_text_free(&text);
  return failed ? pz_fail_memory(err, "the generated source", 1024) : PZ_OK;
}
