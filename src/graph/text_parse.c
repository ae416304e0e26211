/* text_parse.c: text to graph. The form is described in doc/graph-text.md. */
#include "graph/text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEEDED                                                                                           \
  (INT64_C(1) << 28) /* elements of all `seed` constants of a text: it is small, they are not */

typedef struct parser {
  pz_lexer lexer;
  pz_graph *g;
  int64_t seeded;
} parser;

/* A tensor on the left of a line. */
typedef struct result {
  const char *name;
  pz_token shape_token;
  bool has_shape, has_element;
  pz_shape shape;
  pz_element element;
  int32_t border_lo[PZ_SPATIAL], border_hi[PZ_SPATIAL];
} result;

static bool ends_line(const pz_lexer *lexer) { return lexer->token.kind <= PZ_TOKEN_LINE_END; }

static pz_status take_line_end(pz_lexer *lexer) {
  return ends_line(lexer) ? pz_lex_next(lexer) : pz_lex_expected(lexer, "the end of the line");
}

/* Puts the place of `token` in front of a message that has none. */
static pz_status placed(const pz_lexer *lexer, const pz_token *token, pz_status status,
                        const pz_error *inner) {
  if (status == PZ_OK) return PZ_OK;
  if (status != PZ_ERROR_INPUT) return pz_fail(lexer->err, status, "%s", inner->message);
  return pz_lex_fail(lexer, token, "%s", inner->message);
}

static bool is_type(const pz_lexer *lexer, pz_dtype *type) {
  for (int32_t i = 0; i < PZ_DTYPES; i++)
    if (pz_lex_is(lexer, pz_dtype_name((pz_dtype)i))) return *type = (pz_dtype)i, true;
  return false;
}

/* "u8", "u8 scale 0.5 zero_point 3"; nothing where the tensor is of f32. */
static pz_status parse_element(pz_lexer *lexer, result *r) {
  r->element = PZ_FLOATS;
  r->has_element = is_type(lexer, &r->element.type);
  if (!r->has_element) return PZ_OK;
  PZ_TRY(pz_lex_next(lexer));
  if (!pz_lex_is(lexer, "scale")) return PZ_OK;
  PZ_TRY(pz_lex_next(lexer));
  PZ_TRY(pz_lex_float(lexer, &r->element.scale));
  PZ_TRY(pz_lex_take(lexer, "zero_point"));
  return pz_lex_i32(lexer, &r->element.zero_point);
}

static pz_status parse_result(pz_lexer *lexer, bool needs_shape, result *r) {
  *r = (result){0};
  PZ_TRY(pz_lex_string(lexer, PZ_TOKEN_TENSOR, "a tensor: % and its name", &r->name));
  r->shape_token = lexer->token;
  pz_dtype type;
  bool other_next = pz_lex_is(lexer, "border") || is_type(lexer, &type);
  if (needs_shape || (lexer->token.kind == PZ_TOKEN_ATOM && !other_next)) {
    PZ_TRY(pz_lex_shape(lexer, &r->shape));
    r->has_shape = true;
  }
  PZ_TRY(parse_element(lexer, r));
  if (!pz_lex_is(lexer, "border")) return PZ_OK;
  PZ_TRY(pz_lex_next(lexer));
  return pz_lex_border(lexer, r->border_lo, r->border_hi);
}

static void set_border(pz_graph *g, pz_tensor_id id, const result *r) {
  memcpy(g->tensors[id].border_lo, r->border_lo, sizeof r->border_lo);
  memcpy(g->tensors[id].border_hi, r->border_hi, sizeof r->border_hi);
}

static pz_status find_tensor(parser *p, pz_tensor_id *id) {
  pz_token token = p->lexer.token;
  const char *name;
  PZ_TRY(pz_lex_string(&p->lexer, PZ_TOKEN_TENSOR, "a tensor: % and its name", &name));
  *id = pz_graph_find_tensor(p->g, name);
  if (*id != PZ_NONE) return PZ_OK;
  return pz_lex_fail(&p->lexer, &token, "there is no tensor '%s' above this line", name);
}

/* ---- input, output ---- */

static pz_status parse_wanted(parser *p, pz_tensor_id id) {
  if (!pz_lex_is(&p->lexer, "wanted")) return PZ_OK;
  PZ_TRY(pz_lex_next(&p->lexer));
  if (!is_type(&p->lexer, &p->g->tensors[id].wanted)) return pz_lex_expected(&p->lexer, "a type of elements");
  return pz_lex_next(&p->lexer);
}

static pz_status parse_input(parser *p) {
  pz_token token = p->lexer.token;
  pz_error inner = {0};
  pz_tensor_id id;
  result r;
  PZ_TRY(parse_result(&p->lexer, true, &r));
  PZ_TRY(placed(&p->lexer, &token, pz_graph_add_input(p->g, r.name, &r.shape, &id, &inner), &inner));
  PZ_TRY(placed(&p->lexer, &token, pz_graph_set_element(p->g, id, r.element, &inner), &inner));
  set_border(p->g, id, &r);
  return parse_wanted(p, id);
}

static pz_status parse_output(parser *p) {
  pz_tensor_id id;
  PZ_TRY(find_tensor(p, &id));
  PZ_TRY(pz_graph_add_output(p->g, id, p->lexer.err));
  return parse_wanted(p, id);
}

/* ---- const ---- */

void pz_graph_random(uint64_t seed, float scale, int64_t n, float *out) {
  for (int64_t i = 0; i < n;
       i++) { /* splitmix64; its upper 24 bits as a fraction in [-1, 1), exact in a float */
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    out[i] = ((float)(int32_t)(z >> 40) * 0x1p-23f - 1.0f) * scale;
  }
}

static pz_status parse_seed(parser *p, const pz_token *token, const result *r, pz_tensor_id *id) {
  pz_lexer *lexer = &p->lexer;
  pz_token number = lexer->token;
  pz_error inner = {0};
  const char *digits;
  char *end;
  float scale = 1;
  PZ_TRY(pz_lex_string(lexer, PZ_TOKEN_ATOM, "a seed", &digits));
  errno = 0;
  uint64_t seed = strtoull(digits, &end, 10);
  if (*end || errno || *digits == '-')
    return pz_lex_fail(lexer, &number, "'%s' is no seed from 0 to 2^64-1", digits);
  if (pz_lex_is(lexer, "scale")) {
    PZ_TRY(pz_lex_next(lexer));
    number = lexer->token;
    PZ_TRY(pz_lex_float(lexer, &scale));
    if (!isfinite(scale)) return pz_lex_fail(lexer, &number, "a scale is a finite number");
  }
  int64_t n = 0;
  if (pz_shape_valid(&r->shape, &n) && (p->seeded += n) > MAX_SEEDED)
    return pz_lex_fail(lexer, token, "the constants of a text have at most 2^28 seeded elements together");
  PZ_TRY(placed(lexer, token, pz_graph_add_constant(p->g, r->name, &r->shape, NULL, id, &inner), &inner));
  pz_graph_random(seed, scale, n, pz_graph_constant_data(p->g, *id));
  return PZ_OK;
}

/* A list takes at least two bytes an element, which bounds what a small text can ask for. */
static pz_status parse_list(parser *p, const pz_token *token, const result *r, pz_tensor_id *id) {
  pz_lexer *lexer = &p->lexer;
  pz_error inner = {0};
  int64_t n = 0;
  if (pz_shape_valid(&r->shape, &n) && (uint64_t)n > lexer->size)
    return pz_lex_fail(lexer, token, "the list has fewer than the %lld elements of %s", (long long)n,
                       PZ_SHAPE(&r->shape));
  PZ_TRY(placed(lexer, token, pz_graph_add_constant(p->g, r->name, &r->shape, NULL, id, &inner), &inner));
  float *data = pz_graph_constant_data(p->g, *id);
  for (int64_t i = 0; i < n; i++) PZ_TRY(pz_lex_float(lexer, &data[i]));
  return pz_lex_take(lexer, "]");
}

static pz_status parse_const(parser *p) {
  pz_lexer *lexer = &p->lexer;
  pz_token token = lexer->token;
  pz_tensor_id id = PZ_NONE;
  result r;
  PZ_TRY(parse_result(lexer, true, &r));
  if (r.has_element && r.element.type != PZ_F32)
    return pz_lex_fail(lexer, &token, "'%s': a constant is f32, not %s", r.name,
                       pz_dtype_name(r.element.type));
  PZ_TRY(pz_lex_take(lexer, "="));
  bool seed = pz_lex_is(lexer, "seed"), list = pz_lex_is(lexer, "[");
  if (pz_lex_is(lexer, "digest"))
    return pz_lex_fail(lexer, &lexer->token,
                       "a digest cannot be turned back into values; print the graph with its data");
  if (!seed && !list) return pz_lex_expected(lexer, "'[', 'seed' or 'digest'");
  PZ_TRY(pz_lex_next(lexer));
  PZ_TRY(seed ? parse_seed(p, &token, &r, &id) : parse_list(p, &token, &r, &id));
  set_border(p->g, id, &r);
  return PZ_OK;
}

/* ---- nodes ---- */

static pz_status parse_op(pz_lexer *lexer, pz_op *op) {
  for (int32_t i = PZ_OP_NONE + 1; i < PZ_OP_COUNT; i++)
    if (pz_lex_is(lexer, pz_op_name((pz_op)i))) {
      *op = (pz_op)i;
      return pz_lex_next(lexer);
    }
  return pz_lex_expected(lexer, "an operator");
}

/* How many entries a comma-separated list may have: one more than the commas in the rest of the line. */
static int32_t most_entries(const pz_lexer *lexer) {
  int32_t entries = 2;
  for (size_t at = lexer->at; at < lexer->size && lexer->text[at] != '\n'; at++)
    if (lexer->text[at] == ',' && entries < PZ_MAX_TENSORS) entries++;
  return entries;
}

static pz_status parse_results(parser *p, result **results, int32_t *count) {
  pz_lexer *lexer = &p->lexer;
  int32_t most = most_entries(lexer);
  *results = PZ_NEW(lexer->scratch, result, most);
  if (!*results) return pz_fail_memory(lexer->err, "a line", sizeof **results * (unsigned long long)most);
  for (*count = 0; *count < most;) {
    PZ_TRY(parse_result(lexer, false, &(*results)[(*count)++]));
    if (!pz_lex_is(lexer, ",")) break;
    PZ_TRY(pz_lex_next(lexer));
  }
  return pz_lex_take(lexer, "=");
}

static pz_status parse_operand(parser *p, pz_tensor_id *id) {
  if (!pz_lex_is(&p->lexer, "_")) return find_tensor(p, id);
  *id = PZ_NONE;
  return pz_lex_next(&p->lexer);
}

static pz_status parse_operands(parser *p, pz_node *node) {
  pz_lexer *lexer = &p->lexer;
  int32_t most = most_entries(lexer);
  node->in = PZ_NEW(lexer->scratch, pz_tensor_id, most);
  if (!node->in) return pz_fail_memory(lexer->err, "a line", sizeof *node->in * (unsigned long long)most);
  if (lexer->token.kind != PZ_TOKEN_TENSOR && !pz_lex_is(lexer, "_")) return PZ_OK;
  while (node->n_in < most) {
    PZ_TRY(parse_operand(p, &node->in[node->n_in++]));
    if (!pz_lex_is(lexer, ",")) break;
    PZ_TRY(pz_lex_next(lexer));
  }
  return PZ_OK;
}

static pz_status check_result(parser *p, const result *r, pz_tensor_id id) {
  const pz_shape *inferred = &p->g->tensors[id].shape;
  const pz_element made = pz_tensor_element(&p->g->tensors[id]);
  char is[PZ_ELEMENT_TEXT], makes[PZ_ELEMENT_TEXT];
  set_border(p->g, id, r);
  if ((r->has_element || r->has_shape) && !pz_element_equal(r->element, made))
    return pz_lex_fail(&p->lexer, &r->shape_token, "tensor '%s' is %s here, but its layer makes it %s",
                       r->name, pz_element_text(r->element, is), pz_element_text(made, makes));
  if (!r->has_shape || pz_shape_equal(&r->shape, inferred)) return PZ_OK;
  return pz_lex_fail(&p->lexer, &r->shape_token, "tensor '%s' is %s here, but its inputs make it %s", r->name,
                     PZ_SHAPE(&r->shape), PZ_SHAPE(inferred));
}

static pz_status add_node(parser *p, const pz_node *node, const result *results, int32_t count) {
  pz_arena *scratch = p->lexer.scratch;
  const char **names = PZ_NEW(scratch, const char *, count);
  pz_tensor_id *ids = PZ_NEW(scratch, pz_tensor_id, count);
  if (!names || !ids)
    return pz_fail_memory(p->lexer.err, "a line", sizeof *names * (unsigned long long)count);
  for (int32_t i = 0; i < count; i++) names[i] = results[i].name;
  PZ_TRY(pz_graph_add_node(p->g, node, count, names, ids, p->lexer.err));
  for (int32_t i = 0; i < count; i++) PZ_TRY(check_result(p, &results[i], ids[i]));
  return PZ_OK;
}

static pz_status parse_node(parser *p) {
  pz_lexer *lexer = &p->lexer;
  pz_place place = {lexer->file, lexer->token.line, lexer->token.column};
  result *results;
  int32_t count = 0;
  pz_op op = PZ_OP_NONE;
  PZ_TRY(parse_results(p, &results, &count));
  PZ_TRY(parse_op(lexer, &op));
  pz_node node = pz_node_new(op);
  node.place = place;
  node.n_out = count;
  PZ_TRY(pz_lex_string(lexer, PZ_TOKEN_STRING, "the layer's name in quotes", &node.name));
  PZ_TRY(parse_operands(p, &node));
  PZ_TRY(pz_text_parse_attributes(lexer, p->g, &node));
  return ends_line(lexer) ? add_node(p, &node, results, count)
                          : pz_lex_expected(lexer, "the end of the line");
}

/* ---- the whole ---- */

static pz_status skip_empty_lines(pz_lexer *lexer) {
  while (lexer->token.kind == PZ_TOKEN_LINE_END) PZ_TRY(pz_lex_next(lexer));
  return PZ_OK;
}

static pz_status parse_line(parser *p) {
  static const struct {
    const char *keyword;
    pz_status (*parse)(parser *p);
  } lines[] = {{"input", parse_input}, {"const", parse_const}, {"output", parse_output}};
  if (p->lexer.token.kind == PZ_TOKEN_TENSOR) return parse_node(p);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (pz_lex_is(&p->lexer, lines[i].keyword)) {
      PZ_TRY(pz_lex_next(&p->lexer));
      return lines[i].parse(p);
    }
  return pz_lex_expected(&p->lexer, "'input', 'const', 'output' or a tensor");
}

static pz_status parse_graph(parser *p) {
  pz_lexer *lexer = &p->lexer;
  const char *name;
  PZ_TRY(pz_lex_next(lexer));
  PZ_TRY(skip_empty_lines(lexer));
  PZ_TRY(pz_lex_take(lexer, "graph"));
  PZ_TRY(pz_lex_string(lexer, PZ_TOKEN_STRING, "the graph's name in quotes", &name));
  PZ_TRY(pz_graph_new(name, &p->g, lexer->err));
  PZ_TRY(take_line_end(lexer));
  for (;;) {
    PZ_TRY(skip_empty_lines(lexer));
    if (lexer->token.kind == PZ_TOKEN_END) break;
    PZ_TRY(parse_line(p));
    PZ_TRY(take_line_end(lexer));
  }
  pz_error inner = {0};
  pz_status status = pz_graph_verify(p->g, &inner);
  return status == PZ_OK ? PZ_OK : pz_fail(lexer->err, status, "%s: %s", lexer->file, inner.message);
}

pz_status pz_graph_parse(const char *text, size_t size, const char *file, pz_graph **graph, pz_error *err) {
  parser p = {
      .lexer = {.text = text, .file = file ? file : "graph text", .size = size, .line = 1, .err = err}};
  *graph = NULL;
  if (size > INT32_MAX) return pz_fail(err, PZ_ERROR_INPUT, "%s: larger than 2 GiB", p.lexer.file);
  p.lexer.scratch = pz_arena_new();
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point, whatever the host has set */
  pz_status status = PZ_ERROR_MEMORY;
  if (p.lexer.scratch && plain) {
    locale_t host = uselocale(plain);
    status = parse_graph(&p);
    uselocale(host);
  } else pz_fail_memory(err, "parsing a graph", size);
  if (plain) freelocale(plain);
  pz_arena_free(p.lexer.scratch);
  if (status == PZ_OK) *graph = p.g;
  else pz_graph_free(p.g);
  return status;
}
