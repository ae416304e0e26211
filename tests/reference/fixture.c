#include "fixture.h"
#include <string.h>

void fixture_begin(fixture *f, pz_op op) {
  memset(f, 0, sizeof *f);
  assert_int_equal(pz_graph_new("test", &f->g, &f->err), PZ_OK);
  f->node = pz_node_new(op);
  f->node.name = "layer";
  f->node.in = f->in;
  for (int i = 0; i < MAX_OPERANDS; i++) f->in[i] = PZ_NONE;
}

void fixture_end(fixture *f) {
  for (int i = 0; i < f->n_out; i++) free(f->outputs[i]);
  pz_graph_free(f->g);
}

static void place(fixture *f, int slot, pz_tensor_id id) {
  f->in[slot] = id;
  if (slot >= f->node.n_in) f->node.n_in = slot + 1;
}

static const char *operand_name(int slot) {
  static const char *const names[MAX_OPERANDS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  return names[slot];
}

void fixture_input(fixture *f, int slot, pz_shape shape, const float *data) {
  pz_tensor_id id;
  f->inputs[f->g->n_inputs] = data;
  assert_int_equal(pz_graph_add_input(f->g, operand_name(slot), &shape, &id, &f->err), PZ_OK);
  place(f, slot, id);
}

void fixture_constant(fixture *f, int slot, pz_shape shape, const float *data) {
  pz_tensor_id id;
  assert_int_equal(pz_graph_add_constant(f->g, operand_name(slot), &shape, data, &id, &f->err), PZ_OK);
  place(f, slot, id);
}

const pz_shape *fixture_shape(const fixture *f, int output) { return &f->g->tensors[f->out[output]].shape; }
int64_t fixture_elements(const fixture *f, int output) { return pz_shape_elements(fixture_shape(f, output)); }

void fixture_run(fixture *f, int n_out) {
  static const char *const names[MAX_OPERANDS] = {"y0", "y1", "y2", "y3", "y4", "y5", "y6", "y7"};
  f->n_out = n_out;
  if (pz_graph_add_node(f->g, &f->node, n_out, names, f->out, &f->err) != PZ_OK)
    fail_msg("%s", f->err.message);
  for (int i = 0; i < n_out; i++) {
    assert_int_equal(pz_graph_add_output(f->g, f->out[i], &f->err), PZ_OK);
    f->outputs[i] = malloc((size_t)fixture_elements(f, i) * sizeof(double));
    for (int64_t k = 0; k < fixture_elements(f, i); k++) f->outputs[i][k] = NAN; /* all must be written */
  }
  if (pz_graph_verify(f->g, &f->err) != PZ_OK) fail_msg("%s", f->err.message);
  if (pz_reference_run(f->g, f->inputs, f->outputs, NULL, NULL, &f->err) != PZ_OK)
    fail_msg("%s", f->err.message);
}

void fixture_expect(const fixture *f, int output, pz_shape shape, const double *values) {
  char is[PZ_SHAPE_TEXT], expected[PZ_SHAPE_TEXT];
  assert_string_equal(pz_shape_text(fixture_shape(f, output), is), pz_shape_text(&shape, expected));
  double greatest = 0;
  for (int64_t i = 0; i < pz_shape_elements(&shape); i++)
    greatest = fabs(values[i]) > greatest ? fabs(values[i]) : greatest;
  for (int64_t i = 0; i < pz_shape_elements(&shape); i++)
    if (!(fabs(f->outputs[output][i] - values[i]) <= 1e-6 * greatest))
      fail_msg("value %d is %.9g, expected %.9g", (int)i, f->outputs[output][i], values[i]);
}

/* splitmix64 */
static uint64_t next(random_state *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
int64_t random_range(random_state *r, int64_t low, int64_t high) {
  return low + (int64_t)(next(r) % (uint64_t)(high - low + 1));
}
float random_float(random_state *r) { return (float)((double)(next(r) >> 11) * 0x1p-52 - 1); }
float *random_floats(random_state *r, int64_t n) {
  float *v = malloc((size_t)n * sizeof *v);
  assert_non_null(v);
  for (int64_t i = 0; i < n; i++) v[i] = random_float(r);
  return v;
}
