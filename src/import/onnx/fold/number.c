/* number.c: arithmetic of constants, element by element. Floats are computed in double precision and rounded; integers wrap
 * as their type does. */
#include "import/onnx/ops.h"

static int64_t wrap(pz_onnx_type type, int64_t v) {
  const pz_onnx_type_traits *traits = pz_onnx_type_get(type);
  const int shift = 64 - traits->bits;
  if (type == PZ_ONNX_BOOL) return v != 0;
  return traits->class == PZ_ONNX_SIGNED ? (int64_t)((uint64_t)v << shift) >> shift
                                         : (int64_t)((uint64_t)v << shift >> shift);
}

int64_t pz_onnx_to_int(double v) {
  if (v != v) return 0;
  if (v >= 9.2e18) return INT64_MAX;
  return v <= -9.2e18 ? INT64_MIN : (int64_t)v;
}

static void put(const pz_onnx_space *space, int64_t i, double number) {
  if (space->floats) space->floats[i] = (float)number;
  else space->ints[i] = wrap(space->constant->type, pz_onnx_to_int(number));
}

/* ---- two values ---- */

typedef struct binary {
  const char *op;
  double (*floats)(double a, double b);
  bool (*ints)(int64_t a, int64_t b, int64_t *out); /* false: it has no result */
  bool boolean;                                     /* the result */
} binary;

#define FLOATS(name, expression)                                                                             \
  static double float_##name(double a, double b) { return expression; }
#define INTS(name, condition, expression)                                                                    \
  static bool int_##name(int64_t a, int64_t b, int64_t *out) {                                               \
    *out = (condition) ? (int64_t)(expression) : 0;                                                          \
    return condition;                                                                                        \
  }
#define BOTH(name, expression) FLOATS(name, (double)(expression)) INTS(name, true, expression)

static double float_mod(double a, double b) { return fmod(a, b); }
static bool int_mod(int64_t a, int64_t b, int64_t *out) { /* the sign is the divisor's */
  *out = b && b != -1 ? a % b : 0;
  if (*out && (*out < 0) != (b < 0)) *out += b;
  return b != 0;
}
static bool int_pow(int64_t a, int64_t b, int64_t *out) {
  *out = pz_onnx_to_int(pow((double)a, (double)b));
  return true;
}
FLOATS(add, a + b)
FLOATS(sub, a - b)
FLOATS(mul, a *b)
FLOATS(div, a / b)
INTS(add, true, (uint64_t)a + (uint64_t)b)
INTS(sub, true, (uint64_t)a - (uint64_t)b)
INTS(mul, true, (uint64_t)a *(uint64_t)b)
INTS(div, b != 0, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / (b ? b : 1))
BOTH(max, a > b ? a : b)
BOTH(min, a < b ? a : b)
BOTH(equal, a == b)
BOTH(less, a < b)
BOTH(less_equal, a <= b)
BOTH(greater, a > b)
BOTH(greater_equal, a >= b)
BOTH(and, a &&b)
BOTH(or, a || b)
BOTH(xor, !a != !b)

static const binary binaries[] = {
    {"Add", float_add, int_add, false},
    {"Sub", float_sub, int_sub, false},
    {"Mul", float_mul, int_mul, false},
    {"Div", float_div, int_div, false},
    {"Mod", float_mod, int_mod, false},
    {"Pow", pow, int_pow, false},
    {"Max", float_max, int_max, false},
    {"Min", float_min, int_min, false},
    {"Sum", float_add, int_add, false},
    {"Equal", float_equal, int_equal, true},
    {"Less", float_less, int_less, true},
    {"LessOrEqual", float_less_equal, int_less_equal, true},
    {"Greater", float_greater, int_greater, true},
    {"GreaterOrEqual", float_greater_equal, int_greater_equal, true},
    {"And", float_and, int_and, true},
    {"Or", float_or, int_or, true},
    {"Xor", float_xor, int_xor, true},
};

static const binary *find_binary(const char *op) {
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (!strcmp(binaries[i].op, op)) return &binaries[i];
  return NULL;
}

static pz_status combine(pz_onnx *c, const binary *b, const pz_onnx_constant *x, const pz_onnx_constant *y,
                         const pz_onnx_constant **out) {
  pz_shape shape;
  pz_onnx_space space;
  const bool mixed = (x->floats != NULL) != (y->floats != NULL);
  if (mixed && strcmp(b->op, "Pow")) return pz_onnx_fail(c, "its inputs differ in type");
  PZ_TRY(pz_onnx_broadcast(c, (const pz_shape *[]){&x->shape, &y->shape}, 2, &shape));
  PZ_TRY(pz_onnx_new_constant(c, b->boolean ? PZ_ONNX_BOOL : x->type, &shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    const int64_t m = pz_onnx_source(&shape, &x->shape, i), n = pz_onnx_source(&shape, &y->shape, i);
    int64_t value;
    if (mixed || x->floats) put(&space, i, b->floats(pz_onnx_number(x, m), pz_onnx_number(y, n)));
    else if (b->ints(x->ints[m], y->ints[n], &value)) space.ints[i] = wrap(space.constant->type, value);
    else return pz_onnx_fail(c, "a division by zero");
  }
  *out = space.constant;
  return PZ_OK;
}

pz_status pz_onnx_op_fold_binary(pz_onnx *c) {
  const pz_onnx_constant *x, *y;
  bool fmod_wanted = false;
  if (!strcmp(c->node->op, "Mod")) PZ_TRY(pz_onnx_attr_flag(c, "fmod", false, &fmod_wanted));
  PZ_TRY(pz_onnx_constant_in(c, 0, &x));
  for (int32_t i = 1; i < c->node->n_in; i++) {
    PZ_TRY(pz_onnx_constant_in(c, i, &y));
    if (fmod_wanted && x->ints) return pz_onnx_refuse(c, "fmod of integers");
    PZ_TRY(combine(c, find_binary(c->node->op), x, y, &x));
  }
  return pz_onnx_give_constant(c, 0, x);
}

/* ---- one value ---- */

static double float_neg(double v) { return -v; }
static double float_not(double v) { return v == 0; }
static double float_sign(double v) { return (v > 0) - (v < 0); }
static double float_reciprocal(double v) { return 1 / v; }

static const struct unary {
  const char *op;
  double (*function)(double v);
} unaries[] = {
    {"Neg", float_neg}, {"Not", float_not}, {"Sign", float_sign}, {"Reciprocal", float_reciprocal},
    {"Abs", fabs},      {"Floor", floor},   {"Ceil", ceil},       {"Round", rint},
    {"Sqrt", sqrt},     {"Exp", exp},       {"Log", log},
};

/* Integers beyond 2^53 would lose digits in a double; shapes have none. */
pz_status pz_onnx_op_fold_unary(pz_onnx *c) {
  const pz_onnx_constant *k = NULL;
  const struct unary *u = unaries;
  pz_onnx_space space;
  while (strcmp(u->op, c->node->op)) u++;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  PZ_TRY(pz_onnx_new_constant(c, k->type, &k->shape, &space));
  for (int64_t i = 0; i < k->elements; i++) put(&space, i, u->function(pz_onnx_number(k, i)));
  return pz_onnx_give_constant(c, 0, space.constant);
}

/* ---- Cast, Where ---- */

pz_status pz_onnx_op_fold_cast(pz_onnx *c) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  int64_t to;
  PZ_TRY(pz_onnx_cast_target(c, &to));
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  if (!pz_onnx_type_get(to)) return pz_onnx_refuse(c, "ONNX's data type %lld", (long long)to);
  PZ_TRY(pz_onnx_new_constant(c, (pz_onnx_type)to, &k->shape, &space));
  for (int64_t i = 0; i < k->elements; i++) {
    const double number = pz_onnx_number(k, i);
    if (to == PZ_ONNX_BOOL) space.ints[i] = number != 0;
    else if (k->ints && space.ints) space.ints[i] = wrap((pz_onnx_type)to, k->ints[i]);
    else put(&space, i, number);
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

pz_status pz_onnx_op_fold_where(pz_onnx *c) {
  const pz_onnx_constant *k[3];
  pz_shape shape;
  pz_onnx_space space;
  for (int32_t i = 0; i < 3; i++) PZ_TRY(pz_onnx_constant_in(c, i, &k[i]));
  if (!k[0]->ints || (k[1]->floats != NULL) != (k[2]->floats != NULL))
    return pz_onnx_fail(c, "its inputs differ in type");
  PZ_TRY(pz_onnx_broadcast(c, (const pz_shape *[]){&k[0]->shape, &k[1]->shape, &k[2]->shape}, 3, &shape));
  PZ_TRY(pz_onnx_new_constant(c, k[1]->type, &shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    const pz_onnx_constant *from = k[0]->ints[pz_onnx_source(&shape, &k[0]->shape, i)] ? k[1] : k[2];
    const int64_t at = pz_onnx_source(&shape, &from->shape, i);
    if (space.floats) space.floats[i] = from->floats[at];
    else space.ints[i] = from->ints[at];
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

/* ---- reductions ---- */

static double joined(const char *op, double a, double b) {
  if (!strcmp(op, "ReduceProd")) return a * b;
  if (!strcmp(op, "ReduceMax")) return a > b ? a : b;
  if (!strcmp(op, "ReduceMin")) return a < b ? a : b;
  return a + b;
}

/* Marks the axes that are reduced. */
static pz_status read_axes(pz_onnx *c, int32_t rank, bool marks[PZ_MAX_RANK]) {
  const int64_t *axes;
  int32_t count;
  bool noop;
  PZ_TRY(pz_onnx_list(c, "axes", 1, strcmp(c->node->op, "ReduceSum") ? 18 : 13, &axes, &count));
  PZ_TRY(pz_onnx_attr_flag(c, "noop_with_empty_axes", false, &noop));
  PZ_TRY(pz_onnx_mark_axes(c, axes, count, rank, marks));
  for (int32_t d = 0; d < rank && count <= 0 && !noop; d++) marks[d] = true;
  return PZ_OK;
}

/* Each value is joined to the element of the result that broadcasting would put in its place. */
static pz_status join_all(pz_onnx *c, const pz_onnx_constant *k, const pz_shape *kept, double *sums) {
  const int64_t n = pz_onnx_elements(kept);
  bool *begun = PZ_NEW(c->arena, bool, n);
  if (!begun) return pz_onnx_no_memory(c);
  for (int64_t i = 0; i < k->elements; i++) {
    const int64_t at = pz_onnx_source(&k->shape, kept, i);
    const double value = pz_onnx_number(k, i);
    sums[at] = begun[at] ? joined(c->node->op, sums[at], value) : value;
    begun[at] = true;
  }
  return PZ_OK;
}

pz_status pz_onnx_op_fold_reduce(pz_onnx *c) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  pz_shape kept, shape = {0};
  bool keep, marks[PZ_MAX_RANK];
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  PZ_TRY(pz_onnx_attr_flag(c, "keepdims", true, &keep));
  PZ_TRY(read_axes(c, k->shape.rank, marks));
  if (!k->elements) return pz_onnx_refuse(c, "an empty input");
  kept = k->shape;
  for (int32_t d = 0; d < k->shape.rank; d++) {
    if (marks[d]) kept.dim[d] = 1;
    if (keep || !marks[d]) shape.dim[shape.rank++] = kept.dim[d];
  }
  PZ_TRY(pz_onnx_new_constant(c, k->type, &shape, &space));
  double *sums = PZ_NEW(c->arena, double, space.constant->elements);
  if (!sums) return pz_onnx_no_memory(c);
  PZ_TRY(join_all(c, k, &kept, sums));
  const double each =
      strcmp(c->node->op, "ReduceMean") ? 1 : (double)k->elements / (double)space.constant->elements;
  for (int64_t i = 0; i < space.constant->elements; i++) put(&space, i, sums[i] / each);
  return pz_onnx_give_constant(c, 0, space.constant);
}
