/* key.c: a problem as text, complete, and the key that it has on a target. doc/tuning-database.md describes both.
 *
 * A field that a solver can read stands in the text, or two problems would share measurements that are not theirs. Values of weights do
 * not: nothing that is timed depends on them. */
#include "base/digest.h"
#include "plan/problem.h"
#include "plan/shape_text.h"

#include <string.h>

/* Nothing where all are zero. */
static void window(pz_text *t, const int32_t v[PZ_SPATIAL]) {
  if (v[0] || v[1] || v[2]) pz_text_printf(t, " windows %d,%d,%d", v[0], v[1], v[2]);
}

static void operand(pz_text *t, const pz_operand *o, int32_t i) {
  char shape[PZ_SHAPE_TEXT];
  if (!o->present) {
    pz_text_append(t, "_");
    return;
  }
  pz_text_append(t, pz_shape_text(&o->shape, shape));
  if (!pz_element_equal(o->element, PZ_FLOATS)) {
    pz_text_printf(t, " %s scale ", pz_dtype_name(o->element.type));
    pz_text_number(t, o->element.scale);
    pz_text_printf(t, " zero_point %d", (int)o->element.zero_point);
  }
  if (o->data && o->packed) pz_text_append(t, " weights");
  else if (o->data) pz_text_append(t, " constant");
  else if (o->packed) pz_text_append(t, " packed");
  if (o->same != i) pz_text_printf(t, " as-%d", o->same);
  if (o->nchw) pz_text_append(t, " nchw");
  if (o->one_sign) pz_text_append(t, " one-sign");
}

static void operands(pz_text *t, const char *before, const pz_operand *list, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    pz_text_append(t, i ? ", " : before);
    operand(t, &list[i], i);
  }
}

static void epilogue(pz_text *t, const pz_epilogue *e) {
  if (e->pools) pz_text_append(t, " pools");
  window(t, e->pool);
  if (e->normalised) pz_text_append(t, " normalised");
  if (e->norm_stats) pz_text_append(t, " statistics");
}

pz_status pz_problem_text(const pz_problem *p, pz_text *out, pz_error *err) {
  const pz_node node = {.op = p->op, .attr = p->attr, .n_in = p->n_in, .n_out = p->n_out};
  pz_text_append(out, pz_op_name(p->op));
  operands(out, " ", p->in, p->n_in);
  operands(out, " to ", p->out, p->n_out);
  pz_attributes_print(&node, p->n_in && p->in[0].present ? p->in[0].shape.rank : 0, out);
  epilogue(out, &p->epilogue);
  if (p->padded) pz_text_append(out, " bordered");
  return out->failed ? pz_fail_memory(err, "a problem's text", 512) : PZ_OK;
}

static void add_number(pz_digest *d, int64_t value) { pz_digest_add(d, &value, sizeof value); }

/* All that solvers may read: kernels are cut for the vectors, the caches and the workers, and which candidates there are follows from the
 * core's ways and costs. Not the name: one machine has several. */
static void add_target(pz_digest *d, const pz_target *m) {
  pz_digest_add(d, m->core, strlen(m->core) + 1);
  add_number(d, (int64_t)m->features);
  add_number(d, m->vector_width);
  add_number(d, m->registers);
  add_number(d, m->block);
  add_number(d, (int64_t)m->caches.l1d);
  add_number(d, (int64_t)m->caches.l2);
  add_number(d, (int64_t)m->caches.l3);
  add_number(d, m->workers);
  add_number(d, m->adds_apart);
  add_number(d, m->double_pumped);
  pz_digest_add(d, &m->inner_pairs, sizeof m->inner_pairs);
  pz_digest_add(d, m->wide, sizeof *m->wide);
  pz_digest_add(d, m->narrow, sizeof *m->narrow);
}
_Static_assert(sizeof(pz_winograd_costs) == 6 * sizeof(double), "costs have no gaps whose bytes would count");

pz_status pz_problem_key(const pz_problem *p, const pz_target *target, const char *where, pz_text *text,
                         char key[PZ_DIGEST_TEXT], pz_error *err) {
  pz_digest digest;
  PZ_TRY(pz_problem_text(p, text, err));
  pz_text_append(text, where);
  if (text->failed) return pz_fail_memory(err, "a problem's text", text->size);
  pz_digest_begin(&digest);
  pz_digest_add(&digest, text->data, text->size + 1);
  add_target(&digest, target);
  pz_digest_end_text(&digest, key);
  return PZ_OK;
}
