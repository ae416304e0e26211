/* whole.c: arithmetic of computed values of an integer type: what ArgMax gives, quantised values, inputs. They are whole
 * numbers in floats, which hold them exactly up to 2^24. So each has a range, and what may leave the exact one is refused. */
#include "import/onnx/ops.h"

static pz_onnx_range hull(const double *v, int n) {
  pz_onnx_range r = {v[0], v[0]};
  for (int i = 1; i < n; i++) r = (pz_onnx_range){fmin(r.low, v[i]), fmax(r.high, v[i])};
  return r;
}

static pz_status refuse_range(pz_onnx *c, pz_onnx_range r, pz_onnx_type type) {
  return pz_onnx_refuse(c,
                        "computed values of type %s that may be %g to %g: whole numbers are exact up to 2^24",
                        pz_onnx_type_name(type), r.low, r.high);
}

/* x - size*floor((x - low)/size): all three are exact. */
static pz_status wrap(pz_onnx *c, const pz_onnx_range *to, pz_tensor_id *x) {
  const double size = to->high - to->low + 1;
  const float coeff[2] = {1, -(float)size};
  pz_tensor_id both[2] = {*x, *x};
  PZ_TRY(pz_onnx_power(c, 1 / size, -to->low / size, &both[1]));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_FLOOR, 0, 0}, "floor", &both[1]));
  return pz_onnx_eltwise(c, PZ_ELT_SUM, coeff, 2, both, x);
}

pz_status pz_onnx_give_whole(pz_onnx *c, pz_tensor_id x, pz_onnx_range range, pz_onnx_type type) {
  const pz_onnx_range all = pz_onnx_range_of(type);
  if (!pz_onnx_is_exact(range)) return refuse_range(c, range, type);
  if (pz_onnx_holds(all, range)) return pz_onnx_give_in(c, 0, x, type, range);
  if (!pz_onnx_is_exact(all)) return refuse_range(c, range, type); /* below 0 of an unsigned type */
  PZ_TRY(wrap(c, &all, &x));
  return pz_onnx_give_in(c, 0, x, type, all);
}

/* floor(a/b) for b > 0. (a + 0.5)/b is at least 0.5/b away from any whole number, which is more than the quotient's
 * rounding, also as a product with 1/b, as long as |a| is at most 2^22. */
static pz_status floor_quotient(pz_onnx *c, pz_tensor_id a, pz_tensor_id b, pz_tensor_id *q) {
  pz_tensor_id both[2] = {a, b};
  PZ_TRY(pz_onnx_power(c, 1, 0.5, &both[0]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_DIV, NULL, 2, both, q));
  return pz_onnx_activate(c, (pz_activation){PZ_ACT_FLOOR, 0, 0}, "floor", q);
}

/* The same towards zero: sign(a) * floor(|a|/b) */
static pz_status cut_quotient(pz_onnx *c, pz_tensor_id a, pz_tensor_id b, pz_tensor_id *q) {
  pz_tensor_id size = a, both[2] = {a, PZ_NONE};
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_ABS, 0, 0}, "abs", &size));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_SIGN, 0, 0}, "sign", &both[0]));
  PZ_TRY(floor_quotient(c, size, b, &both[1]));
  return pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, both, q);
}

static pz_status divide(pz_onnx *c, pz_onnx_operation op, const pz_tensor_id in[2], const pz_onnx_range r[2],
                        pz_onnx_type type) {
  static const float minus[2] = {1, -1};
  const double most = fmax(fabs(r[0].low), fabs(r[0].high));
  bool cut = op == PZ_ONNX_DIV;
  pz_tensor_id q, both[2] = {in[0], in[1]};
  if (op == PZ_ONNX_MOD) PZ_TRY(pz_onnx_attr_flag(c, "fmod", false, &cut));
  if (!(r[1].low > 0))
    return pz_onnx_refuse(c, "a divisor of type %s that may be 0 or less", pz_onnx_type_name(type));
  if (most > PZ_ONNX_EXACT / 4 || r[1].high > PZ_ONNX_EXACT / 4)
    return refuse_range(c, r[most <= PZ_ONNX_EXACT / 4], type);
  cut &= r[0].low < 0;
  PZ_TRY(cut ? cut_quotient(c, in[0], in[1], &q) : floor_quotient(c, in[0], in[1], &q));
  if (op == PZ_ONNX_DIV) {
    const double ends[] = {r[0].low, r[0].high, r[0].low / r[1].low, r[0].high / r[1].low, 0};
    const pz_onnx_range range = hull(ends, 5);
    return pz_onnx_give_whole(c, q, range, type);
  }
  both[0] = q;
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, both, &both[1]));
  both[0] = in[0];
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SUM, minus, 2, both, &q));
  return pz_onnx_give_whole(c, q, (pz_onnx_range){cut ? 1 - r[1].high : 0, r[1].high - 1}, type);
}

static pz_onnx_range range_of(pz_onnx_operation op, pz_onnx_range a, pz_onnx_range b) {
  const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  if (op == PZ_ONNX_ADD) return (pz_onnx_range){a.low + b.low, a.high + b.high};
  if (op == PZ_ONNX_SUB) return (pz_onnx_range){a.low - b.high, a.high - b.low};
  return hull(products, 4);
}

pz_status pz_onnx_whole_arithmetic(pz_onnx *c, pz_onnx_operation op) {
  static const float minus[2] = {1, -1};
  const pz_onnx_type type = pz_onnx_type_in(c);
  const pz_onnx_constant *k;
  pz_onnx_range r[2];
  pz_tensor_id in[2], out;
  if (pz_onnx_in(c, 1)->type != type) return pz_onnx_fail(c, "its inputs differ in type");
  for (int32_t i = 0; i < 2; i++) {
    if (pz_onnx_is_known(c, i)) PZ_TRY(pz_onnx_constant_in(c, i, &k));
    r[i] = pz_onnx_range_in(c, i);
    if (!pz_onnx_is_exact(r[i])) return refuse_range(c, r[i], type);
    PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  }
  if (op == PZ_ONNX_DIV || op == PZ_ONNX_MOD) return divide(c, op, in, r, type);
  PZ_TRY(pz_onnx_eltwise(c, op == PZ_ONNX_MUL ? PZ_ELT_PROD : PZ_ELT_SUM, op == PZ_ONNX_SUB ? minus : NULL, 2,
                         in, &out));
  return pz_onnx_give_whole(c, out, range_of(op, r[0], r[1]), type);
}
