/* text_attributes.c: attributes printed and parsed, by the table of attributes.inc: one row below for each kind of
 * attribute. */
#include "graph/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a kind's functions work on. */
typedef struct field {
  int32_t rank; /* of input 0 */
  pz_node *node;
  const pz_attr_field *row;
  void *at;      /* the attribute, in node */
  int32_t count; /* entries of its list */
} field;

/* ---- printing ---- */

static void print_int(const field *f, pz_text *out) { pz_text_printf(out, " %d", (int)*(int32_t *)f->at); }

static void print_i32s(const field *f, pz_text *out) {
  for (int32_t i = 0; i < f->count; i++)
    pz_text_printf(out, "%s%d", i ? "," : " ", (int)((int32_t *)f->at)[i]);
}

static void print_i64s(const field *f, pz_text *out) {
  const int64_t *list = f->row->kind == PZ_ATTR_SPLITS ? *(const int64_t **)f->at : f->at;
  for (int32_t i = 0; i < f->count; i++) pz_text_printf(out, "%s%" PRId64, i ? "," : " ", list[i]);
}

static void print_list(const field *f, pz_text *out) {
  const pz_index_list *list = f->at;
  for (int32_t i = 0; i < list->n; i++) pz_text_printf(out, "%s%" PRId64, i ? "," : " ", list->entries[i]);
}

static void print_pads(const field *f, pz_text *out) {
  pz_text_append(out, " ");
  pz_text_print_border(out, f->at, (int32_t *)f->at + PZ_SPATIAL);
}

static void print_flag(const field *f, pz_text *out) { (void)f, (void)out; }

static void print_float(const field *f, pz_text *out) {
  pz_text_append(out, " ");
  pz_text_print_float(out, *(float *)f->at);
}

static void print_floats(const field *f, pz_text *out) {
  const float *list = *(const float **)f->at;
  for (int32_t i = 0; i < f->count; i++) {
    pz_text_append(out, i ? "," : " ");
    pz_text_print_float(out, list[i]);
  }
}

static void print_scales(const field *f, pz_text *out) {
  for (int32_t i = 0; i < f->count; i++) {
    pz_text_append(out, i ? "," : " ");
    pz_text_print_float(out, ((const float *)f->at)[i]);
  }
}

static void print_axes(const field *f, pz_text *out) {
  const char *before = " ";
  for (int32_t i = 0; i < PZ_MAX_RANK; i++) {
    if (!((const bool *)f->at)[i]) continue;
    pz_text_printf(out, "%s%d", before, (int)i);
    before = ",";
  }
}

static void print_act(const field *f, pz_text *out) {
  const pz_activation *act = f->at;
  pz_text_printf(out, " %s", pz_activation_name(act->kind));
  bool both = pz_activation_uses_beta(act->kind) || act->beta != 0 || signbit(act->beta);
  if (!both && act->alpha == 0 && !signbit(act->alpha)) return;
  pz_text_append(out, " ");
  pz_text_print_float(out, act->alpha);
  if (!both) return;
  pz_text_append(out, " ");
  pz_text_print_float(out, act->beta);
}

static void print_enum(const field *f, pz_text *out) {
  const char *const *names = pz_attr_enum_names(f->row->kind);
  for (int32_t i = *(int32_t *)f->at; i > 0 && *names; i--) names++;
  pz_text_printf(out, " %s", *names ? *names : "?");
}

static void print_shape(const field *f, pz_text *out) {
  pz_text_printf(out, " %s", PZ_SHAPE((pz_shape *)f->at));
}

/* ---- parsing ---- */

static pz_status parse_int(pz_lexer *lexer, field *f) { return pz_lex_i32(lexer, f->at); }

static pz_status parse_i32s(pz_lexer *lexer, field *f) {
  for (int32_t i = 0; i < f->count; i++) {
    if (i) PZ_TRY(pz_lex_take(lexer, ","));
    PZ_TRY(pz_lex_i32(lexer, (int32_t *)f->at + i));
  }
  return PZ_OK;
}

static pz_status parse_i64s(pz_lexer *lexer, field *f) {
  int64_t *list = f->at;
  if (f->row->kind == PZ_ATTR_SPLITS) {
    list = PZ_NEW(lexer->scratch, int64_t, f->count);
    if (!list) return pz_fail_memory(lexer->err, "a list", sizeof *list * (unsigned long long)f->count);
    *(const int64_t **)f->at = list;
  }
  for (int32_t i = 0; i < f->count; i++) {
    if (i) PZ_TRY(pz_lex_take(lexer, ","));
    PZ_TRY(pz_lex_i64(lexer, &list[i]));
  }
  return PZ_OK;
}

/* As long as there are commas; room doubles. */
static pz_status parse_list(pz_lexer *lexer, field *f) {
  int64_t *list = NULL;
  int32_t n = 0;
  for (bool more = true; more; n++) {
    if (!(n & (n - 1))) {
      int64_t *moved = n < (1 << 28) ? PZ_NEW(lexer->scratch, int64_t, n ? 2 * n : 1) : NULL;
      if (!moved) return pz_fail_memory(lexer->err, "a list", sizeof *list * 2 * (unsigned long long)n);
      if (n) memcpy(moved, list, sizeof *list * (size_t)n);
      list = moved;
    }
    PZ_TRY(pz_lex_i64(lexer, &list[n]));
    more = pz_lex_is(lexer, ",");
    if (more) PZ_TRY(pz_lex_next(lexer));
  }
  *(pz_index_list *)f->at = (pz_index_list){n, list};
  return PZ_OK;
}

static pz_status parse_pads(pz_lexer *lexer, field *f) {
  return pz_lex_border(lexer, f->at, (int32_t *)f->at + PZ_SPATIAL);
}

static pz_status parse_flag(pz_lexer *lexer, field *f) {
  (void)lexer;
  *(bool *)f->at = true;
  return PZ_OK;
}

static pz_status parse_float(pz_lexer *lexer, field *f) { return pz_lex_float(lexer, f->at); }

static pz_status parse_floats(pz_lexer *lexer, field *f) {
  float *list = PZ_NEW(lexer->scratch, float, f->count);
  if (!list) return pz_fail_memory(lexer->err, "a list", sizeof *list * (unsigned long long)f->count);
  *(const float **)f->at = list;
  for (int32_t i = 0; i < f->count; i++) {
    if (i) PZ_TRY(pz_lex_take(lexer, ","));
    PZ_TRY(pz_lex_float(lexer, &list[i]));
  }
  return PZ_OK;
}

static bool starts_number(const pz_lexer *lexer) {
  return lexer->token.kind == PZ_TOKEN_ATOM && strchr("0123456789+-.", lexer->token.text[0]);
}

static pz_status parse_scales(pz_lexer *lexer, field *f) {
  for (int32_t i = 0; i < f->count; i++) {
    if (i) PZ_TRY(pz_lex_take(lexer, ","));
    PZ_TRY(pz_lex_float(lexer, (float *)f->at + i));
  }
  return PZ_OK;
}

static pz_status parse_axes(pz_lexer *lexer, field *f) {
  for (bool more = true; more;) {
    pz_token token = lexer->token;
    int32_t axis = 0;
    PZ_TRY(pz_lex_i32(lexer, &axis));
    if (axis < 0 || axis >= PZ_MAX_RANK || ((bool *)f->at)[axis])
      return pz_lex_fail(lexer, &token, "'%s' is no dimension, or is named twice", token.text);
    ((bool *)f->at)[axis] = true;
    more = pz_lex_is(lexer, ",");
    if (more) PZ_TRY(pz_lex_next(lexer));
  }
  return PZ_OK;
}

static pz_status parse_act(pz_lexer *lexer, field *f) {
  pz_activation *act = f->at;
  int32_t kind = 0;
  while (kind < PZ_ACT_COUNT && !pz_lex_is(lexer, pz_activation_name((pz_activation_kind)kind))) kind++;
  if (kind == PZ_ACT_COUNT) return pz_lex_expected(lexer, "an activation");
  act->kind = (pz_activation_kind)kind;
  PZ_TRY(pz_lex_next(lexer));
  bool both = pz_activation_uses_beta(act->kind);
  if (both || starts_number(lexer)) PZ_TRY(pz_lex_float(lexer, &act->alpha));
  return both || starts_number(lexer) ? pz_lex_float(lexer, &act->beta) : PZ_OK;
}

static pz_status parse_enum(pz_lexer *lexer, field *f) {
  const char *const *names = pz_attr_enum_names(f->row->kind);
  for (int32_t i = 0; names[i]; i++)
    if (pz_lex_is(lexer, names[i])) {
      *(int32_t *)f->at = i;
      return pz_lex_next(lexer);
    }
  char what[64];
  snprintf(what, sizeof what, "a value of '%s', such as '%s'", f->row->keyword, names[0]);
  return pz_lex_expected(lexer, what);
}

static pz_status parse_shape(pz_lexer *lexer, field *f) { return pz_lex_shape(lexer, f->at); }

/* ---- the kinds ---- */

static int32_t one(const field *f) { return (void)f, 1; }
static int32_t spatial(const field *f) { return (void)f, PZ_SPATIAL; }
static int32_t inputs(const field *f) { return f->node->n_in; }
static int32_t splits(const field *f) { return f->node->n_out + 1; }
static int32_t rank(const field *f) { return f->rank; }

static const struct {
  size_t size; /* of the attribute, for the comparison with its default */
  int32_t (*count)(const field *f);
  void (*print)(const field *f, pz_text *out);
  pz_status (*parse)(pz_lexer *lexer, field *f);
} kinds[PZ_ATTR_KINDS] = {
    [PZ_ATTR_INT] = {sizeof(int32_t), one, print_int, parse_int},
    [PZ_ATTR_SIZES] = {sizeof(int32_t[PZ_SPATIAL]), spatial, print_i32s, parse_i32s},
    [PZ_ATTR_PADS] = {sizeof(int32_t[2 * PZ_SPATIAL]), one, print_pads, parse_pads},
    [PZ_ATTR_FLAG] = {sizeof(bool), one, print_flag, parse_flag},
    [PZ_ATTR_FLOAT] = {sizeof(float), one, print_float, parse_float},
    [PZ_ATTR_ACT] = {sizeof(pz_activation), one, print_act, parse_act},
    [PZ_ATTR_POOL] = {sizeof(pz_pool_kind), one, print_enum, parse_enum},
    [PZ_ATTR_DIVISOR] = {sizeof(pz_pool_divisor), one, print_enum, parse_enum},
    [PZ_ATTR_ELTWISE] = {sizeof(pz_eltwise_kind), one, print_enum, parse_enum},
    [PZ_ATTR_RESIZE] = {sizeof(pz_resize_kind), one, print_enum, parse_enum},
    [PZ_ATTR_COORDINATE] = {sizeof(pz_coordinate), one, print_enum, parse_enum},
    [PZ_ATTR_ROUNDING] = {sizeof(pz_rounding), one, print_enum, parse_enum},
    [PZ_ATTR_REDUCE] = {sizeof(pz_reduce_kind), one, print_enum, parse_enum},
    [PZ_ATTR_PAD_KIND] = {sizeof(pz_pad_kind), one, print_enum, parse_enum},
    [PZ_ATTR_TYPE] = {sizeof(pz_dtype), one, print_enum, parse_enum},
    [PZ_ATTR_SCALES] = {sizeof(float[PZ_SPATIAL]), spatial, print_scales, parse_scales},
    [PZ_ATTR_AXES] = {sizeof(bool[PZ_MAX_RANK]), one, print_axes, parse_axes},
    [PZ_ATTR_FLOATS] = {sizeof(const float *), inputs, print_floats, parse_floats},
    [PZ_ATTR_SPLITS] = {sizeof(const int64_t *), splits, print_i64s, parse_i64s},
    [PZ_ATTR_LIST] = {sizeof(pz_index_list), one, print_list, parse_list},
    [PZ_ATTR_DIMS] = {sizeof(int64_t[PZ_MAX_RANK]), rank, print_i64s, parse_i64s},
    [PZ_ATTR_ORDER] = {sizeof(int32_t[PZ_MAX_RANK]), rank, print_i32s, parse_i32s},
    [PZ_ATTR_SHAPE] = {sizeof(pz_shape), one, print_shape, parse_shape},
};
_Static_assert(sizeof(pz_pool_kind) == sizeof(int32_t) && sizeof(pz_pool_divisor) == sizeof(int32_t) &&
                   sizeof(pz_eltwise_kind) == sizeof(int32_t) && sizeof(pz_resize_kind) == sizeof(int32_t) &&
                   sizeof(pz_coordinate) == sizeof(int32_t) && sizeof(pz_rounding) == sizeof(int32_t) &&
                   sizeof(pz_reduce_kind) == sizeof(int32_t) && sizeof(pz_pad_kind) == sizeof(int32_t) &&
                   sizeof(pz_dtype) == sizeof(int32_t),
               "print_enum and parse_enum take enums as int32_t");

static int32_t rank_of_x(const pz_graph *g, const pz_node *node) {
  pz_tensor_id x = pz_node_input(node, 0);
  return x == PZ_NONE ? 0 : g->tensors[x].shape.rank;
}

static field field_of(int32_t rank_of_x, pz_node *node, const pz_attr_field *row) {
  field f = {rank_of_x, node, row, (char *)node + row->offset, 0};
  f.count = kinds[row->kind].count(&f);
  return f;
}

static void print_fields(int32_t rank_of_x, const pz_node *node, pz_text *out) {
  pz_node preset = pz_node_new(node->op), copy = *node;
  for (const pz_attr_field *row = pz_attr_fields(node->op); row->keyword && row->op == node->op; row++) {
    field f = field_of(rank_of_x, &copy, row);
    if (f.count == 0 || !memcmp(f.at, (char *)&preset + row->offset, kinds[row->kind].size)) continue;
    pz_text_printf(out, " %s", row->keyword);
    kinds[row->kind].print(&f, out);
  }
}

void pz_text_print_attributes(const pz_graph *g, const pz_node *node, pz_text *out) {
  print_fields(rank_of_x(g, node), node, out);
}

void pz_attributes_print(const pz_node *node, int32_t rank_of_x, pz_text *out) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point, whatever the host has set */
  if (!plain) {
    out->failed = true;
    return;
  }
  locale_t host = uselocale(plain);
  print_fields(rank_of_x, node, out);
  uselocale(host);
  freelocale(plain);
}

static pz_status unknown(const pz_lexer *lexer, pz_op op) {
  char known[256] = "";
  size_t at = 0;
  for (const pz_attr_field *row = pz_attr_fields(op); row->keyword && row->op == op; row++)
    at += (size_t)snprintf(known + at, sizeof known - at, " '%s'", row->keyword);
  return pz_lex_fail(lexer, &lexer->token, "%s has no attribute '%.60s'; it has%s", pz_op_name(op),
                     lexer->token.text, at ? known : " none");
}

pz_status pz_text_parse_known_attributes(pz_lexer *lexer, int32_t rank_of_x, pz_node *node) {
  const pz_attr_field *first = pz_attr_fields(node->op);
  uint64_t seen = 0;
  while (lexer->token.kind == PZ_TOKEN_ATOM) {
    const pz_attr_field *row = first;
    while (row->keyword && row->op == node->op && !pz_lex_is(lexer, row->keyword)) row++;
    if (!row->keyword || row->op != node->op) return PZ_OK;
    uint64_t bit = UINT64_C(1) << (row - first);
    if (seen & bit) return pz_lex_fail(lexer, &lexer->token, "'%s' is given twice", row->keyword);
    seen |= bit;
    PZ_TRY(pz_lex_next(lexer));
    field f = field_of(rank_of_x, node, row);
    PZ_TRY(kinds[row->kind].parse(lexer, &f));
  }
  return PZ_OK;
}

pz_status pz_text_parse_attributes(pz_lexer *lexer, const pz_graph *g, pz_node *node) {
  PZ_TRY(pz_text_parse_known_attributes(lexer, rank_of_x(g, node), node));
  return lexer->token.kind == PZ_TOKEN_ATOM ? unknown(lexer, node->op) : PZ_OK;
}
