/* cast.c: Cast and CastLike of computed values. */
#include "import/onnx/ops.h"

pz_status pz_onnx_cast_target(pz_onnx *c, int64_t *to) {
  pz_onnx_attr(c, "saturate");
  pz_onnx_attr(c, "round_mode");
  if (strcmp(c->node->op, "CastLike")) return pz_onnx_attr_int(c, "to", 0, to);
  c->guessed |= pz_onnx_in(c, 1)->state == PZ_ONNX_REFUSED;
  *to = pz_onnx_in(c, 1)->type;
  return PZ_OK;
}

static bool is_whole(const pz_onnx_type_traits *t) { return t && t->class != PZ_ONNX_FLOATING; }

/* Every value of `from` is one of `to`, as far as floats tell: 24 bits are exact. */
static bool holds(const pz_onnx_type_traits *to, const pz_onnx_type_traits *from) {
  if (!is_whole(to)) return true;
  if (!is_whole(from)) return false;
  if (from->type == to->type || from->type == PZ_ONNX_BOOL) return true;
  const bool sign = from->class == PZ_ONNX_UNSIGNED || to->class == PZ_ONNX_SIGNED;
  const int32_t bits = to->bits - (to->class == PZ_ONNX_SIGNED && from->class == PZ_ONNX_UNSIGNED);
  return sign && (bits >= from->bits || bits > 24);
}

/* not (x == 0) */
static pz_status is_true(pz_onnx *c, pz_tensor_id *x) {
  pz_shape one = {.rank = pz_onnx_shape(c, *x)->rank};
  pz_tensor_id both[2] = {*x, PZ_NONE};
  for (int32_t d = 0; d < one.rank; d++) one.dim[d] = 1;
  PZ_TRY(pz_onnx_add_constant(c, "zero", &one, NULL, &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_EQUAL, NULL, 2, both, x));
  return pz_onnx_power(c, -1, 1, x);
}

/* Towards zero: sign(x) * floor(|x|) */
static pz_status cut_off(pz_onnx *c, pz_tensor_id *x) {
  pz_tensor_id both[2] = {*x, *x};
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_SIGN, 0, 0}, "sign", &both[0]));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_ABS, 0, 0}, "abs", &both[1]));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_FLOOR, 0, 0}, "floor", &both[1]));
  return pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, both, x);
}

static pz_status refuse_cast(pz_onnx *c, pz_onnx_type from, int64_t to) {
  return pz_onnx_refuse(c, "computed values cast from %s to %s", pz_onnx_type_name(from),
                        pz_onnx_type_name((pz_onnx_type)to));
}

/* Floats that may leave the type have no defined result: only int32 and int64, which hold what floats of a network are, are
 * taken on trust. */
static pz_status to_whole(pz_onnx *c, const pz_onnx_type_traits *to, pz_tensor_id x) {
  const pz_onnx_range from = pz_onnx_range_in(c, 0), cut = {trunc(from.low), trunc(from.high)},
                      all = pz_onnx_range_of(to->type);
  const bool trusted = to->class == PZ_ONNX_SIGNED && to->bits >= 32, held = pz_onnx_holds(all, cut);
  if (!trusted && !held) return refuse_cast(c, pz_onnx_type_in(c), (int64_t)to->type);
  PZ_TRY(cut_off(c, &x));
  return pz_onnx_give_in(c, 0, x, to->type, held ? cut : all);
}

/* Floats of other widths stay what they are. Integers wrap around where they may leave the type. */
pz_status pz_onnx_op_cast(pz_onnx *c) {
  const pz_onnx_type type = pz_onnx_type_in(c);
  pz_node identity = pz_node_new(PZ_OP_IDENTITY);
  pz_tensor_id x;
  int64_t wanted;
  if (pz_onnx_is_known(c, 0)) return pz_onnx_fold_cast(c);
  PZ_TRY(pz_onnx_cast_target(c, &wanted));
  const pz_onnx_type_traits *from = pz_onnx_type_get(type), *to = pz_onnx_type_get(wanted);
  const pz_onnx_range range = pz_onnx_range_in(c, 0);
  if (!to) return refuse_cast(c, type, wanted);
  if (is_whole(to) && is_whole(from) && to->type != PZ_ONNX_BOOL && !holds(to, from) &&
      !pz_onnx_is_exact(range))
    return refuse_cast(c, type, wanted);
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  if (to->type == PZ_ONNX_BOOL && type != PZ_ONNX_BOOL) {
    PZ_TRY(is_true(c, &x));
    return pz_onnx_give(c, 0, x, to->type);
  }
  if (is_whole(to) && !is_whole(from)) return to_whole(c, to, x);
  PZ_TRY(pz_onnx_apply(c, &identity, "cast", &x));
  if (!is_whole(to)) return pz_onnx_give_in(c, 0, x, to->type, range);
  if (pz_onnx_is_exact(range)) return pz_onnx_give_whole(c, x, range, to->type);
  return pz_onnx_give_in(c, 0, x, to->type, pz_onnx_range_of(to->type));
}
