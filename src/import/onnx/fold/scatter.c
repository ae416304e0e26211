/* scatter.c: ScatterND and ScatterElements of constants: a copy of the data, some of whose entries are replaced by updates,
 * or joined with them, one after the other. */
#include "import/onnx/ops.h"

typedef struct scatter {
  const pz_onnx_constant *data, *index, *updates;
  pz_onnx_space out;
  enum { NONE, ADD, MUL, MIN, MAX } how;
} scatter;

static pz_status read_reduction(pz_onnx *c, scatter *s) {
  static const char *const names[] = {"none", "add", "mul", "min", "max"};
  const char *text;
  PZ_TRY(pz_onnx_attr_text(c, "reduction", "none", &text));
  for (int i = 0; i < 5; i++)
    if (!strcmp(names[i], text)) {
      s->how = i;
      return PZ_OK;
    }
  return pz_onnx_fail(c, "its reduction '%.40s' is none", text);
}

static pz_status read_inputs(pz_onnx *c, scatter *s) {
  PZ_TRY(read_reduction(c, s));
  PZ_TRY(pz_onnx_constant_in(c, 0, &s->data));
  PZ_TRY(pz_onnx_constant_in(c, 1, &s->index));
  PZ_TRY(pz_onnx_constant_in(c, 2, &s->updates));
  if (!s->index->ints) return pz_onnx_fail(c, "its indices must be integers");
  if (!pz_onnx_alike(s->data, s->updates)) return pz_onnx_fail(c, "its data and updates differ in type");
  PZ_TRY(pz_onnx_new_constant(c, s->data->type, &s->data->shape, &s->out));
  pz_onnx_move(&s->out, 0, s->data, 0, s->data->elements);
  return PZ_OK;
}

static double joined(const scatter *s, double a, double b) {
  switch (s->how) {
  case ADD: return a + b;
  case MUL: return a * b;
  case MIN: return b < a || b != b ? b : a;
  case MAX: return b > a || b != b ? b : a;
  default: return b;
  }
}

/* Modulo 2^64; the type's own range is put in order afterwards. */
static int64_t joined_ints(const scatter *s, int64_t a, int64_t b) {
  switch (s->how) {
  case ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
  case MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case MIN: return b < a ? b : a;
  case MAX: return b > a ? b : a;
  default: return b;
  }
}

/* Entry `at` takes update `from`. */
static void take(scatter *s, int64_t at, int64_t from) {
  if (s->out.ints)
    s->out.ints[at] = pz_onnx_wrap(s->data->type, joined_ints(s, s->out.ints[at], s->updates->ints[from]));
  else
    pz_onnx_put(&s->out, at,
                joined(s, pz_onnx_number(s->out.constant, at), pz_onnx_number(s->updates, from)));
}

static pz_status position(pz_onnx *c, int64_t index, int64_t size, int64_t *at) {
  if (index < -size || index >= size)
    return pz_onnx_fail(c, "its index %lld is not one of %lld entries", (long long)index, (long long)size);
  *at = index < 0 ? index + size : index;
  return PZ_OK;
}

/* ---- ScatterND: each tuple of indices is the place of a slice ---- */

/* The number of slices, and of entries of one. */
static pz_status check_nd(pz_onnx *c, const scatter *s, int64_t *slices, int64_t *size) {
  const pz_shape *x = &s->data->shape, *i = &s->index->shape, *u = &s->updates->shape;
  const int64_t tuple = i->rank ? i->dim[i->rank - 1] : 0;
  if (x->rank < 1 || tuple < 1 || tuple > x->rank) return pz_onnx_fail(c, "its indices do not fit its data");
  pz_shape expected = {0};
  *slices = *size = 1;
  for (int32_t d = 0; d < i->rank - 1; d++) expected.dim[expected.rank++] = i->dim[d];
  for (int32_t d = 0; d < i->rank - 1; d++) *slices *= i->dim[d];
  for (int32_t d = (int32_t)tuple; d < x->rank && expected.rank < PZ_MAX_RANK; d++)
    expected.dim[expected.rank++] = x->dim[d];
  for (int32_t d = (int32_t)tuple; d < x->rank; d++) *size *= x->dim[d];
  if (!pz_shape_equal(&expected, u)) return pz_onnx_fail(c, "its updates do not fit its indices");
  return PZ_OK;
}

pz_status pz_onnx_op_scatter_nd(pz_onnx *c) {
  scatter s = {0};
  int64_t slices = 0, size = 0;
  PZ_TRY(read_inputs(c, &s));
  PZ_TRY(check_nd(c, &s, &slices, &size));
  const int64_t tuple = s.index->shape.dim[s.index->shape.rank - 1];
  for (int64_t i = 0; i < slices; i++) {
    int64_t at = 0, digit = 0;
    for (int64_t d = 0; d < tuple; d++) {
      PZ_TRY(position(c, s.index->ints[i * tuple + d], s.data->shape.dim[d], &digit));
      at = at * s.data->shape.dim[d] + digit;
    }
    for (int64_t n = 0; n < size; n++) take(&s, at * size + n, i * size + n);
  }
  return pz_onnx_give_constant(c, 0, s.out.constant);
}

/* ---- ScatterElements: an index along an axis for each update ---- */

pz_status pz_onnx_op_scatter_elements(pz_onnx *c) {
  scatter s = {0};
  int32_t axis;
  PZ_TRY(read_inputs(c, &s));
  const pz_shape x = s.data->shape, u = s.updates->shape;
  PZ_TRY(pz_onnx_attr_axis(c, 0, x.rank, &axis));
  bool fits = u.rank == x.rank && pz_shape_equal(&u, &s.index->shape);
  for (int32_t d = 0; d < x.rank && fits; d++) fits = d == axis || u.dim[d] <= x.dim[d];
  if (!fits) return pz_onnx_fail(c, "its indices and updates do not fit its data");
  for (int64_t i = 0; i < s.updates->elements; i++) {
    int64_t at = 0, stride = 1, rest = i;
    for (int32_t d = x.rank - 1; d >= 0; d--) {
      int64_t digit = rest % u.dim[d];
      rest /= u.dim[d];
      if (d == axis) PZ_TRY(position(c, s.index->ints[i], x.dim[d], &digit));
      at += digit * stride;
      stride *= x.dim[d];
    }
    take(&s, at, i);
  }
  return pz_onnx_give_constant(c, 0, s.out.constant);
}
