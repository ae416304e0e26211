/* number.c: arithmetic of constants that is exact in their own type, where the reference's doubles are not: integers of 64
 * bits, which wrap around as their type does. Floats are computed in double precision and rounded once. */
#include "import/onnx/ops.h"

int64_t pz_onnx_wrap(pz_onnx_type type, int64_t v) {
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

void pz_onnx_put(const pz_onnx_space *space, int64_t i, double number) {
  if (space->floats) space->floats[i] = (float)number;
  else if (space->doubles) space->doubles[i] = number;
  else space->ints[i] = pz_onnx_wrap(space->constant->type, pz_onnx_to_int(number));
}

/* ---- two values ---- */

typedef struct binary {
  const char *op;
  double (*floats)(double a, double b);
  bool (*ints)(int64_t a, int64_t b, int64_t *out); /* false: it has no result */
  bool boolean;                                     /* the result */
  bool same_types;                                  /* of both values */
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
static bool int_remainder(int64_t a, int64_t b, int64_t *out) { /* the sign is the dividend's */
  *out = b && b != -1 ? a % b : 0;
  return b != 0;
}
static bool int_pow(int64_t a, int64_t b, int64_t *out) {
  uint64_t product = 1, square = (uint64_t)a;
  for (uint64_t rest = b > 0 ? (uint64_t)b : 0; rest; rest >>= 1, square *= square)
    if (rest & 1) product *= square;
  *out = b < 0 ? pz_onnx_to_int(pow((double)a, (double)b)) : (int64_t)product;
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
    {"Add", float_add, int_add, false, true},
    {"Sub", float_sub, int_sub, false, true},
    {"Mul", float_mul, int_mul, false, true},
    {"Div", float_div, int_div, false, true},
    {"Mod", float_mod, int_mod, false, true},
    {"Pow", pow, int_pow, false, false},
    {"Max", float_max, int_max, false, true},
    {"Min", float_min, int_min, false, true},
    {"Sum", float_add, int_add, false, true},
    {"Equal", float_equal, int_equal, true, true},
    {"Less", float_less, int_less, true, true},
    {"LessOrEqual", float_less_equal, int_less_equal, true, true},
    {"Greater", float_greater, int_greater, true, true},
    {"GreaterOrEqual", float_greater_equal, int_greater_equal, true, true},
    {"And", float_and, int_and, true, true},
    {"Or", float_or, int_or, true, true},
    {"Xor", float_xor, int_xor, true, true},
};

static const binary remainder_of = {"Mod", float_mod, int_remainder, false, true};

static const binary *find_binary(const char *op) {
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (!strcmp(binaries[i].op, op)) return &binaries[i];
  return NULL;
}

static pz_status combine(pz_onnx *c, const binary *b, const pz_onnx_constant *x, const pz_onnx_constant *y,
                         const pz_onnx_constant **out) {
  pz_shape shape;
  pz_onnx_space space;
  const bool mixed = !x->ints != !y->ints;
  if (mixed && b->same_types) return pz_onnx_fail(c, "its inputs differ in type");
  PZ_TRY(pz_onnx_broadcast(c, (const pz_shape *[]){&x->shape, &y->shape}, 2, &shape));
  PZ_TRY(pz_onnx_new_constant(c, b->boolean ? PZ_ONNX_BOOL : x->type, &shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    const int64_t m = pz_onnx_source(&shape, &x->shape, i), n = pz_onnx_source(&shape, &y->shape, i);
    int64_t value;
    if (mixed || !x->ints) pz_onnx_put(&space, i, b->floats(pz_onnx_number(x, m), pz_onnx_number(y, n)));
    else if (b->ints(x->ints[m], y->ints[n], &value))
      space.ints[i] = pz_onnx_wrap(space.constant->type, value);
    else return pz_onnx_fail(c, "a division by zero");
  }
  *out = space.constant;
  return PZ_OK;
}

pz_status pz_onnx_fold_binary(pz_onnx *c) {
  const pz_onnx_constant *x, *y;
  bool fmod_wanted = false;
  if (!strcmp(c->node->op, "Mod")) PZ_TRY(pz_onnx_attr_flag(c, "fmod", false, &fmod_wanted));
  PZ_TRY(pz_onnx_constant_in(c, 0, &x));
  for (int32_t i = 1; i < c->node->n_in; i++) {
    PZ_TRY(pz_onnx_constant_in(c, i, &y));
    PZ_TRY(combine(c, fmod_wanted ? &remainder_of : find_binary(c->node->op), x, y, &x));
  }
  return pz_onnx_give_constant(c, 0, x);
}

/* The lower bound first: where they cross, everything becomes the upper one. */
pz_status pz_onnx_fold_clip(pz_onnx *c) {
  const pz_onnx_constant *x, *bound;
  PZ_TRY(pz_onnx_constant_in(c, 0, &x));
  for (int32_t i = 1; i < 3; i++) {
    if (!pz_onnx_has(c, i)) continue;
    PZ_TRY(pz_onnx_constant_in(c, i, &bound));
    if (bound->elements != 1) return pz_onnx_fail(c, "its input %d must be a single number", (int)i);
    PZ_TRY(combine(c, find_binary(i == 1 ? "Max" : "Min"), x, bound, &x));
  }
  return pz_onnx_give_constant(c, 0, x);
}

/* ---- Cast, Where ---- */

pz_status pz_onnx_fold_cast(pz_onnx *c) {
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
    else if (k->ints && space.ints) space.ints[i] = pz_onnx_wrap((pz_onnx_type)to, k->ints[i]);
    else pz_onnx_put(&space, i, number);
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

pz_status pz_onnx_fold_where(pz_onnx *c) {
  const pz_onnx_constant *k[3];
  pz_shape shape;
  pz_onnx_space space;
  for (int32_t i = 0; i < 3; i++) PZ_TRY(pz_onnx_constant_in(c, i, &k[i]));
  if (!k[0]->ints || !pz_onnx_alike(k[1], k[2])) return pz_onnx_fail(c, "its inputs differ in type");
  PZ_TRY(pz_onnx_broadcast(c, (const pz_shape *[]){&k[0]->shape, &k[1]->shape, &k[2]->shape}, 3, &shape));
  PZ_TRY(pz_onnx_new_constant(c, k[1]->type, &shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    const pz_onnx_constant *from = k[0]->ints[pz_onnx_source(&shape, &k[0]->shape, i)] ? k[1] : k[2];
    const int64_t at = pz_onnx_source(&shape, &from->shape, i);
    pz_onnx_move(&space, i, from, at, 1);
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

/* ---- reductions ---- */

typedef struct joining {
  const char *op;
  double (*floats)(double a, double b);
  bool (*ints)(int64_t a, int64_t b, int64_t *out);
} joining;
static const joining joinings[] = {
    {"ReduceMean", float_add, int_add}, {"ReduceSum", float_add, int_add}, {"ReduceProd", float_mul, int_mul},
    {"ReduceMax", float_max, int_max},  {"ReduceMin", float_min, int_min},
};

static const joining *find_joining(const char *op) {
  for (size_t i = 0; i < sizeof joinings / sizeof *joinings; i++)
    if (!strcmp(joinings[i].op, op)) return &joinings[i];
  return NULL;
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
static pz_status join_all(pz_onnx *c, const pz_onnx_constant *k, const pz_shape *kept,
                          const pz_onnx_space *space) {
  const joining *join = find_joining(c->node->op);
  const int64_t n = space->constant->elements;
  const double each = strcmp(join->op, "ReduceMean") ? 1 : (double)k->elements / (double)n;
  bool *begun = PZ_NEW(c->arena, bool, n);
  double *sums = PZ_NEW(c->arena, double, k->ints ? 1 : n);
  if (!begun || !sums) return pz_onnx_no_memory(c);
  for (int64_t i = 0; i < k->elements; i++) {
    const int64_t at = pz_onnx_source(&k->shape, kept, i);
    if (k->ints && !begun[at]) space->ints[at] = k->ints[i];
    else if (k->ints) join->ints(space->ints[at], k->ints[i], &space->ints[at]);
    else sums[at] = begun[at] ? join->floats(sums[at], pz_onnx_number(k, i)) : pz_onnx_number(k, i);
    begun[at] = true;
  }
  for (int64_t i = 0; i < n; i++) {
    if (!k->ints) pz_onnx_put(space, i, sums[i] / each);
    else space->ints[i] = pz_onnx_wrap(k->type, each > 1 ? space->ints[i] / (int64_t)each : space->ints[i]);
  }
  return PZ_OK;
}

pz_status pz_onnx_fold_reduce(pz_onnx *c) {
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
  PZ_TRY(join_all(c, k, &kept, &space));
  return pz_onnx_give_constant(c, 0, space.constant);
}
