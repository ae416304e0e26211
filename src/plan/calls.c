/* calls.c: kernel calls, packed weights and their texts, for solvers. */
#include "kernels/cast/shape.h"
#include "kernels/copy/copy.h"
#include "base/memory.h"
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pz_status pz_plan_grow(pz_plan *plan, void **items, int32_t *capacity, int32_t count, size_t size,
                       pz_error *err) {
  if (count < *capacity) return PZ_OK;
  int32_t wanted = *capacity ? 2 * *capacity : 64;
  void *bigger = pz_arena_alloc(plan->arena, (size_t)wanted, size);
  if (!bigger) return pz_fail_memory(err, "the plan", (unsigned long long)wanted * size);
  if (count) memcpy(bigger, *items, (size_t)count * size);
  *items = bigger;
  *capacity = wanted;
  return PZ_OK;
}

pz_status pz_new_buffer(pz_plan *plan, int64_t bytes, int32_t *index, pz_error *err) {
  PZ_TRY(pz_plan_grow(plan, (void **)&plan->buffers, &plan->cap_buffers, plan->n_buffers, sizeof(pz_buffer),
                      err));
  plan->buffers[plan->n_buffers] = (pz_buffer){.bytes = bytes, .first = INT32_MAX, .last = -1, .anchor = -1};
  *index = plan->n_buffers++;
  return PZ_OK;
}

pz_status pz_add_buffer(pz_builder *b, pz_dtype type, int64_t n, pz_pointer *at, pz_error *err) {
  *at = (pz_pointer){PZ_SPACE_ARENA, 0, 0};
  return pz_new_buffer(b->plan, n * pz_dtype_bytes(type), &at->index, err);
}

static int64_t rounded(pz_dtype type, int64_t n) {
  return (n * pz_dtype_bytes(type) + PZ_ALIGN - 1) / PZ_ALIGN * PZ_ALIGN;
}

/* At once what the sizes that were computed before say. */
static pz_status reserve_weights(pz_plan *plan, int64_t needed, pz_error *err) {
  if (needed <= plan->weight_capacity && plan->weights) return PZ_OK;
  /* Of a layer without any too: a pointer that is one. */
  const int64_t capacity =
      (needed <= plan->most_weight_bytes ? plan->most_weight_bytes : needed + needed / 2) + PZ_ALIGN;
  char *bigger = pz_memory_allows((uint64_t)capacity) ? realloc(plan->weights, (size_t)capacity) : NULL;
  if (!bigger) return pz_fail_memory(err, "packed weights", (size_t)capacity);
  plan->weights = bigger;
  plan->weight_capacity = capacity;
  return PZ_OK;
}

/* Blocks that were packed and dropped since end with the weights. */
static pz_status note_block(pz_plan *plan, pz_error *err) {
  while (plan->n_weight_blocks && plan->weight_blocks[plan->n_weight_blocks - 1] >= plan->weight_bytes)
    plan->n_weight_blocks--;
  PZ_TRY(pz_plan_grow(plan, (void **)&plan->weight_blocks, &plan->cap_weight_blocks, plan->n_weight_blocks,
                      sizeof *plan->weight_blocks, err));
  plan->weight_blocks[plan->n_weight_blocks++] = plan->weight_bytes;
  return PZ_OK;
}

pz_status pz_add_weights(pz_builder *b, pz_dtype type, int64_t n, pz_pointer *at, void **data,
                         pz_error *err) {
  pz_plan *plan = b->plan;
  const int64_t bytes = rounded(type, n), needed = plan->weight_bytes + bytes;
  if (pz_arena_interrupted(plan->arena)) return pz_fail_interrupted(err);
  if (!plan->dry) PZ_TRY(reserve_weights(plan, needed, err));
  PZ_TRY(note_block(plan, err));
  *at = (pz_pointer){PZ_SPACE_WEIGHTS, 0, plan->weight_bytes};
  *data = plan->dry ? NULL : plan->weights + plan->weight_bytes;
  if (*data) memset(*data, 0, (size_t)bytes);
  plan->weight_bytes = needed;
  if (needed > plan->most_weight_bytes) plan->most_weight_bytes = needed;
  return PZ_OK;
}

pz_pointer pz_add_scratch(pz_builder *b, pz_dtype type, int64_t n) {
  const int64_t bytes = rounded(type, n);
  if (bytes > b->plan->worker_bytes) b->plan->worker_bytes = bytes;
  return (pz_pointer){PZ_SPACE_SCRATCH, 0, 0};
}

pz_pointer pz_add_state(pz_builder *b, pz_dtype type, int64_t n) {
  const pz_pointer at = {PZ_SPACE_STATE, 0, b->plan->state_bytes};
  b->plan->state_bytes += rounded(type, n);
  return at;
}

pz_status pz_add_channel_vector(pz_builder *b, const pz_operand *operand, int64_t c, pz_pointer *at,
                                pz_error *err) {
  *at = (pz_pointer){PZ_SPACE_NULL, 0, 0};
  if (!operand || !operand->present) return PZ_OK;
  const int32_t block = b->plan->target.block;
  const bool shared = pz_shape_elements(&operand->shape) == 1;
  void *data;
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_block_count(c, block) * block, at, &data, err));
  float *values = data;
  for (int64_t i = 0; values && i < c; i++) values[i] = operand->data[shared ? 0 : i];
  return PZ_OK;
}

/* Puts `sizes[0]`, `sizes[1]`, .. in place of numbers in brackets, and these into the call. False: out of memory. */
static bool take_sizes(pz_arena *arena, const char *text, pz_call *call) {
  pz_text shape = {0};
  size_t most = 0;
  for (const char *c = text; *c; c++) most += *c == '<';
  int64_t *sizes = PZ_NEW(arena, int64_t, most + 1);
  for (const char *c; sizes && (c = strchr(text, '<')); text = strchr(c, '>') + 1) {
    sizes[call->n_sizes] = strtoll(c + 1, NULL, 10);
    pz_text_printf(&shape, "%.*ssizes[%d]", (int)(c - text), text, call->n_sizes++);
  }
  pz_text_append(&shape, text);
  call->sizes = sizes;
  call->shape = sizes && !shape.failed ? pz_arena_strdup(arena, shape.data) : NULL;
  pz_text_free(&shape);
  return call->shape != NULL;
}

pz_status pz_add_call(pz_builder *b, const char *header, const char *function, pz_text *shape,
                      const pz_arg *args, int32_t n_args, pz_error *err) {
  pz_plan *plan = b->plan;
  pz_step *step = b->step;
  if (step->n_calls == step->cap_calls) {
    const int32_t capacity = step->cap_calls ? 2 * step->cap_calls : 4;
    pz_call *bigger = PZ_NEW(plan->arena, pz_call, (size_t)capacity);
    if (bigger && step->n_calls) memcpy(bigger, step->calls, (size_t)step->n_calls * sizeof *bigger);
    if (bigger) step->calls = bigger, step->cap_calls = capacity;
  }
  pz_call call = {.header = header, .function = function, .n_args = n_args, .chunk_counter = -1};
  const bool taken = !shape->failed && take_sizes(plan->arena, shape->data ? shape->data : "", &call);
  pz_text_free(shape);
  if (!taken || step->n_calls == step->cap_calls)
    return pz_fail_memory(err, "a kernel call", sizeof(pz_call));
  memcpy(call.args, args, (size_t)n_args * sizeof *args);
  step->calls[step->n_calls++] = call;
  return PZ_OK;
}

typedef struct conversion {
  const char *header, *function, *algorithm;
} conversion;
/* [from][to], PZ_NCHW and PZ_NCHWC */
static const conversion conversions[2][2] = {
    {{"kernels/copy/copy.h", "pz_copy", "copy"}, {"kernels/copy/to_nchwc.h", "pz_to_nchwc", "NCHW to NCHWc"}},
    {{"kernels/copy/to_nchw.h", "pz_to_nchw", "NCHWc to NCHW"}, {"kernels/copy/copy.h", "pz_copy", "copy"}}};

static pz_status add_cast_call(pz_builder *b, const pz_storage *from, const pz_storage *to, pz_error *err) {
  pz_text shape = {0};
  pz_text_cast(&shape, &(pz_cast_shape){.in = from->view,
                                        .out = to->view,
                                        .from = (int32_t)from->element.type,
                                        .to = (int32_t)to->element.type,
                                        .in_scale = from->element.scale,
                                        .out_scale = to->element.scale,
                                        .in_zero = from->element.zero_point,
                                        .out_zero = to->element.zero_point});
  const pz_arg args[] = {{.name = "in", .at = from->at, .type = from->element.type},
                         {.name = "out", .written = true, .at = to->at, .type = to->element.type}};
  PZ_TRY(pz_add_call(b, "kernels/cast/cast.h", "pz_cast", &shape, args, 2, err));
  if (!b->step->algorithm[0]) b->step->algorithm = "cast";
  return PZ_OK;
}

/* Elements of a float's size that stay what they are move as floats do, bit by bit: a float has no room for a number of i32. */
static bool move_as_floats(const pz_element *from, const pz_element *to) {
  return pz_element_equal(*from, *to) && pz_dtype_bytes(from->type) == sizeof(float);
}

pz_status pz_add_copy_call(pz_builder *b, const pz_storage *from, const pz_storage *to, pz_error *err) {
  if (!move_as_floats(&from->element, &to->element)) return add_cast_call(b, from, to, err);
  const conversion *c = &conversions[from->view.block > 1][to->view.block > 1];
  pz_text shape = {0};
  pz_text_copy(&shape, &(pz_copy_shape){.in = from->view, .out = to->view});
  const pz_arg args[] = {{.name = "in", .at = from->at}, {.name = "out", .written = true, .at = to->at}};
  PZ_TRY(pz_add_call(b, c->header, c->function, &shape, args, 2, err));
  if (!b->step->algorithm[0]) b->step->algorithm = c->algorithm;
  return PZ_OK;
}

void pz_call_ways(pz_builder *b, const char *name, uint32_t mask) {
  pz_call *call = &b->step->calls[b->step->n_calls - 1];
  call->ways[call->n_ways++] = (pz_call_way){name, mask};
}

void pz_call_after_all(pz_builder *b) { b->step->calls[b->step->n_calls - 1].after_all = true; }

pz_status pz_add_border_call(pz_builder *b, const pz_storage *s, pz_error *err) {
  bool any = false;
  for (int i = 0; i < PZ_SPATIAL; i++) any |= s->view.border_lo[i] || s->view.border_hi[i];
  if (!any) return PZ_OK;
  pz_text shape = {0};
  pz_text_view(&shape, &s->view);
  const pz_arg args[] = {{.name = "out", .written = true, .at = s->at}};
  return pz_add_call(b, "kernels/copy/border.h", "pz_border_zero", &shape, args, 1, err);
}

pz_status pz_set_algorithm(pz_builder *b, pz_error *err, const char *format, ...) {
  char line[256];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  b->step->algorithm = pz_arena_strdup(b->plan->arena, line);
  return b->step->algorithm ? PZ_OK : pz_fail_memory(err, "the plan's text", sizeof line);
}
