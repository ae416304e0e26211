/* parse_key.c: the problem that a text of key.c is of. */
#include "graph/text.h"
#include "plan/problem.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 64 };

static const float unread[1];

typedef struct operands {
  pz_operand of[MOST_OPERANDS];
  int32_t n;
} operands;

/* As pz_text_number writes one: C's, in hexadecimal. */
static pz_status take_number(pz_lexer *lexer, float *value) {
  char *end = NULL;
  if (lexer->token.kind == PZ_TOKEN_ATOM) *value = strtof(lexer->token.text, &end);
  if (!end || end == lexer->token.text || strcmp(end, "f") != 0) return pz_lex_expected(lexer, "a number");
  return pz_lex_next(lexer);
}

static pz_status take_type(pz_lexer *lexer, pz_operand *o) {
  for (int32_t i = 0; i < PZ_DTYPES; i++) {
    if (!pz_lex_is(lexer, pz_dtype_name((pz_dtype)i))) continue;
    o->element.type = (pz_dtype)i;
    PZ_TRY(pz_lex_next(lexer));
    PZ_TRY(pz_lex_take(lexer, "scale"));
    PZ_TRY(take_number(lexer, &o->element.scale));
    PZ_TRY(pz_lex_take(lexer, "zero_point"));
    return pz_lex_i32(lexer, &o->element.zero_point);
  }
  return PZ_OK;
}

/* One of the words behind an operand's shape and type; *known false: it is none. */
static pz_status take_word(pz_lexer *lexer, pz_operand *o, bool *known) {
  static const struct {
    const char *word;
    bool constant, packed, nchw, one_sign;
  } words[] = {{"weights", true, true, false, false},
               {"constant", true, false, false, false},
               {"packed", false, true, false, false},
               {"nchw", false, false, true, false},
               {"one-sign", false, false, false, true}};
  *known = lexer->token.kind == PZ_TOKEN_ATOM;
  if (!*known) return PZ_OK;
  if (!strncmp(lexer->token.text, "as-", 3)) {
    o->same = (int32_t)strtol(lexer->token.text + 3, NULL, 10);
    return pz_lex_next(lexer);
  }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!pz_lex_is(lexer, words[i].word)) continue;
    if (words[i].constant) o->data = unread;
    o->packed |= words[i].packed, o->nchw |= words[i].nchw, o->one_sign |= words[i].one_sign;
    return pz_lex_next(lexer);
  }
  *known = false;
  return PZ_OK;
}

static pz_status take_operand(pz_lexer *lexer, operands *all) {
  if (all->n == MOST_OPERANDS)
    return pz_lex_fail(lexer, &lexer->token, "more than %d operands", MOST_OPERANDS);
  pz_operand *o = &all->of[all->n];
  *o = (pz_operand){.same = all->n, .element = PZ_FLOATS};
  all->n++;
  if (pz_lex_is(lexer, "_")) return pz_lex_next(lexer);
  o->present = true;
  PZ_TRY(pz_lex_shape(lexer, &o->shape));
  PZ_TRY(take_type(lexer, o));
  for (bool known = true; known;) PZ_TRY(take_word(lexer, o, &known));
  return PZ_OK;
}

static pz_status take_operands(pz_lexer *lexer, operands *all) {
  PZ_TRY(take_operand(lexer, all));
  while (pz_lex_is(lexer, ",")) {
    PZ_TRY(pz_lex_next(lexer));
    PZ_TRY(take_operand(lexer, all));
  }
  return PZ_OK;
}

static pz_status take_op(pz_lexer *lexer, pz_op *op) {
  for (int32_t i = 0; i < PZ_OP_COUNT; i++)
    if (pz_lex_is(lexer, pz_op_name((pz_op)i))) return *op = (pz_op)i, pz_lex_next(lexer);
  return pz_lex_expected(lexer, "an operator");
}

static pz_status take_epilogue(pz_lexer *lexer, pz_problem *p) {
  while (lexer->token.kind == PZ_TOKEN_ATOM) {
    if (pz_lex_is(lexer, "pools")) p->epilogue.pools = true;
    else if (pz_lex_is(lexer, "normalised")) p->epilogue.normalised = true;
    else if (pz_lex_is(lexer, "statistics")) p->epilogue.norm_stats = true;
    else if (pz_lex_is(lexer, "bordered")) p->padded = true;
    else if (!pz_lex_is(lexer, "windows")) return pz_lex_expected(lexer, "an attribute or an epilogue");
    else {
      PZ_TRY(pz_lex_next(lexer));
      for (int i = 0; i < PZ_SPATIAL; i++) {
        if (i) PZ_TRY(pz_lex_take(lexer, ","));
        PZ_TRY(pz_lex_i32(lexer, &p->epilogue.pool[i]));
      }
      continue;
    }
    PZ_TRY(pz_lex_next(lexer));
  }
  return lexer->token.kind == PZ_TOKEN_END ? PZ_OK : pz_lex_expected(lexer, "the end");
}

static pz_status copy_operands(pz_arena *arena, const operands *in, const operands *out, pz_problem *p,
                               pz_error *err) {
  pz_operand *all = PZ_NEW(arena, pz_operand, (size_t)(in->n + out->n) + 1);
  if (!all) return pz_fail_memory(err, "a problem", sizeof *all);
  memcpy(all, in->of, (size_t)in->n * sizeof *all);
  memcpy(all + in->n, out->of, (size_t)out->n * sizeof *all);
  p->in = all, p->n_in = in->n, p->out = all + in->n, p->n_out = out->n;
  return PZ_OK;
}

static pz_status take_problem(pz_lexer *lexer, pz_arena *arena, pz_problem *p) {
  operands in = {.n = 0}, out = {.n = 0};
  PZ_TRY(pz_lex_next(lexer));
  *p = (pz_problem){.op = PZ_OP_COUNT};
  PZ_TRY(take_op(lexer, &p->op));
  if (!pz_lex_is(lexer, "to")) PZ_TRY(take_operands(lexer, &in));
  PZ_TRY(pz_lex_take(lexer, "to"));
  PZ_TRY(take_operands(lexer, &out));
  pz_node node = pz_node_new(p->op);
  node.n_in = in.n, node.n_out = out.n;
  PZ_TRY(pz_text_parse_known_attributes(lexer, in.n ? in.of[0].shape.rank : 0, &node));
  p->attr = node.attr;
  PZ_TRY(take_epilogue(lexer, p));
  return copy_operands(arena, &in, &out, p, lexer->err);
}

pz_status pz_problem_parse(const char *text, pz_arena *arena, pz_problem *problem, pz_error *err) {
  pz_lexer lexer = {
      .text = text, .file = "a problem", .size = strlen(text), .line = 1, .scratch = arena, .err = err};
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point, whatever the host has set */
  if (!plain) return pz_fail_memory(err, "a problem", 256);
  locale_t host = uselocale(plain);
  const pz_status status = take_problem(&lexer, arena, problem);
  uselocale(host);
  freelocale(plain);
  return status;
}
