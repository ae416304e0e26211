/* Keys of problems: equal problems have equal keys, and each field of a problem and of a target, of every operator, changes them. */
#include "any_target.h"
#include "graph/internal.h"
#include "plan/problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { INPUTS = 3, OUTPUTS = 2, MOST = 4096 };

typedef struct keys {
  char key[MOST][PZ_DIGEST_TEXT], *text[MOST];
  int n;
} keys;

static void key_of(const pz_problem *p, const pz_target *t, const char *where, pz_text *text,
                   char key[PZ_DIGEST_TEXT]) {
  pz_error err = {0};
  *text = (pz_text){0};
  assert_int_equal(pz_problem_key(p, t, where, text, key, &err), PZ_OK);
  assert_int_equal(strlen(key), 64);
  for (const char *c = text->data; *c; c++) assert_true(*c >= 0x20 && *c <= 0x7e);
}

/* The text means the problem: it is written again as it was. */
static void parse(const char *text) {
  pz_arena *arena = pz_arena_new();
  pz_problem p;
  pz_text again = {0};
  pz_error err = {0};
  if (pz_problem_parse(text, arena, &p, &err) != PZ_OK || pz_problem_text(&p, &again, &err) != PZ_OK)
    fail_msg("'%s': %s", text, err.message);
  assert_string_equal(again.data, text);
  pz_text_free(&again);
  pz_arena_free(arena);
}

/* Another key and another text than all before. */
static void add(keys *k, const pz_problem *p) {
  pz_text text;
  assert_true(k->n < MOST);
  key_of(p, &target, "", &text, k->key[k->n]);
  for (int i = 0; i < k->n; i++)
    if (!strcmp(k->key[i], k->key[k->n]) || !strcmp(k->text[i], text.data))
      fail_msg("two different problems are '%s'", text.data);
  parse(text.data);
  k->text[k->n++] = text.data;
}

static void end(keys *k) {
  for (int i = 0; i < k->n; i++) free(k->text[i]);
  free(k);
}

/* An operator with all defaults; three inputs, of which the second is a constant, and two outputs. */
typedef struct made {
  pz_problem problem;
  pz_operand in[INPUTS], out[OUTPUTS];
} made;

static const float values[1] = {1};
static int64_t splits[OUTPUTS + 1] = {0, 3, 7}, entries[] = {4, 2};

static void make(made *m, pz_op op) {
  const pz_operand computed = {.present = true, .shape = {5, {1, 32, 8, 16, 16}}, .element = PZ_FLOATS};
  *m = (made){.problem = {.op = op, .attr = pz_node_new(op).attr, .n_in = INPUTS, .n_out = OUTPUTS}};
  m->problem.in = m->in, m->problem.out = m->out;
  for (int i = 0; i < INPUTS; i++) m->in[i] = computed, m->in[i].same = i;
  for (int i = 0; i < OUTPUTS; i++) m->out[i] = computed, m->out[i].same = i;
  m->in[1].data = values;
  if (op == PZ_OP_SLICE) m->problem.attr.slice.begin = splits;
  if (op == PZ_OP_GATHER) m->problem.attr.gather.index = (pz_index_list){2, entries};
  if (op == PZ_OP_VOLUME_BORDER) m->problem.attr.volume_border.axes = (pz_index_list){2, entries};
}

/* ---- attributes, by the table that the text form of graphs goes by ---- */

static void flip_i32(keys *k, const pz_problem *p, int32_t *list, int n) {
  for (int i = 0; i < n; i++) list[i]++, add(k, p), list[i]--;
}
static void flip_i64(keys *k, const pz_problem *p, int64_t *list, int n) {
  for (int i = 0; i < n; i++) list[i]++, add(k, p), list[i]--;
}
/* To the next one: keys have all digits. */
static void flip_floats(keys *k, const pz_problem *p, float *list, int n) {
  for (int i = 0; i < n; i++) {
    const float before = list[i];
    list[i] = nextafterf(before, INFINITY), add(k, p);
    list[i] = -7, add(k, p);
    list[i] = before;
  }
}
static void flip_flags(keys *k, const pz_problem *p, bool *list, int n) {
  for (int i = 0; i < n; i++) list[i] = !list[i], add(k, p), list[i] = !list[i];
}

static void flip_activation(keys *k, const pz_problem *p, pz_activation *act) {
  for (int kind = PZ_ACT_NONE + 1; kind < PZ_ACT_COUNT; kind++) {
    act->kind = (pz_activation_kind)kind, add(k, p);
    flip_floats(k, p, &act->alpha, 1);
    flip_floats(k, p, &act->beta, 1);
  }
  act->kind = PZ_ACT_NONE;
}

static void flip_enum(keys *k, const pz_problem *p, int32_t *value, pz_attr_kind kind) {
  int32_t n = 0;
  while (pz_attr_enum_names(kind)[n]) n++;
  for (*value = 1; *value < n; ++*value) add(k, p);
  *value = 0;
}

static void flip_lists(keys *k, made *m, const pz_attr_field *row, void *at) {
  static float coefficients[INPUTS] = {1, 2, 3};
  pz_shape *shape = at;
  switch (row->kind) {
  case PZ_ATTR_FLOATS:
    *(const float **)at = coefficients, add(k, &m->problem);
    flip_floats(k, &m->problem, coefficients, INPUTS);
    *(const float **)at = NULL;
    break;
  case PZ_ATTR_SPLITS: flip_i64(k, &m->problem, splits, OUTPUTS + 1); break;
  case PZ_ATTR_LIST:
    flip_i64(k, &m->problem, entries, 2);
    ((pz_index_list *)at)->n = 1, add(k, &m->problem), ((pz_index_list *)at)->n = 2;
    break;
  case PZ_ATTR_SHAPE:
    *shape = (pz_shape){2, {3, 4}}, add(k, &m->problem);
    flip_i64(k, &m->problem, shape->dim, 2);
    shape->rank = 3, add(k, &m->problem);
    *shape = (pz_shape){0};
    break;
  default: fail_msg("no flip for the attribute '%s'", row->keyword);
  }
}

static void flip_attribute(keys *k, made *m, const pz_attr_field *row) {
  void *at = (char *)&m->problem.attr + row->offset - offsetof(pz_node, attr);
  const int rank = m->in[0].shape.rank;
  switch (row->kind) {
  case PZ_ATTR_INT: flip_i32(k, &m->problem, at, 1); break;
  case PZ_ATTR_SIZES: flip_i32(k, &m->problem, at, PZ_SPATIAL); break;
  case PZ_ATTR_PADS: flip_i32(k, &m->problem, at, 2 * PZ_SPATIAL); break;
  case PZ_ATTR_FLAG: flip_flags(k, &m->problem, at, 1); break;
  case PZ_ATTR_FLOAT: flip_floats(k, &m->problem, at, 1); break;
  case PZ_ATTR_SCALES: flip_floats(k, &m->problem, at, PZ_SPATIAL); break;
  case PZ_ATTR_ACT: flip_activation(k, &m->problem, at); break;
  case PZ_ATTR_AXES: flip_flags(k, &m->problem, at, PZ_MAX_RANK); break;
  case PZ_ATTR_DIMS: flip_i64(k, &m->problem, at, rank); break;
  case PZ_ATTR_ORDER: flip_i32(k, &m->problem, at, rank); break;
  default:
    if (pz_attr_enum_names(row->kind)) flip_enum(k, &m->problem, at, row->kind);
    else flip_lists(k, m, row, at);
  }
}

static void test_attributes(void **state) {
  (void)state;
  for (int op = PZ_OP_NONE + 1; op < PZ_OP_COUNT; op++) {
    keys *k = calloc(1, sizeof *k);
    made m;
    assert_non_null(k);
    make(&m, (pz_op)op);
    add(k, &m.problem);
    for (const pz_attr_field *row = pz_attr_fields((pz_op)op); row->keyword && row->op == (pz_op)op; row++)
      flip_attribute(k, &m, row);
    end(k);
  }
}

/* ---- all else ---- */

static void flip_operand(keys *k, made *m, pz_operand *o) {
  const pz_problem *p = &m->problem;
  const float *data = o->data;
  flip_flags(k, p, &o->present, 1);
  flip_i64(k, p, o->shape.dim, o->shape.rank);
  o->shape.rank--, add(k, p), o->shape.rank++;
  for (int type = 0; type < PZ_DTYPES; type++)
    if (type != PZ_F32) o->element.type = (pz_dtype)type, add(k, p);
  o->element.type = PZ_U8;
  flip_floats(k, p, &o->element.scale, 1);
  flip_i32(k, p, &o->element.zero_point, 1);
  o->element = PZ_FLOATS;
  o->data = data ? NULL : values, add(k, p), o->data = data;
  flip_flags(k, p, &o->packed, 1);
  flip_i32(k, p, &o->same, 1);
  flip_flags(k, p, &o->nchw, 1);
  flip_flags(k, p, &o->one_sign, 1);
}

static void test_fields(void **state) {
  (void)state;
  keys *k = calloc(1, sizeof *k);
  made m, other;
  assert_non_null(k);
  for (int op = PZ_OP_NONE + 1; op < PZ_OP_COUNT; op++)
    if (op != PZ_OP_CONV) make(&other, (pz_op)op), add(k, &other.problem);
  make(&m, PZ_OP_CONV);
  add(k, &m.problem);
  for (int i = 0; i < INPUTS; i++) flip_operand(k, &m, &m.in[i]);
  for (int i = 0; i < OUTPUTS; i++) flip_operand(k, &m, &m.out[i]);
  pz_problem *p = &m.problem;
  p->n_in--, add(k, p), p->n_in++;
  p->n_out--, add(k, p), p->n_out++;
  flip_flags(k, p, &p->epilogue.pools, 1);
  flip_i32(k, p, p->epilogue.pool, PZ_SPATIAL);
  flip_flags(k, p, &p->epilogue.normalised, 1);
  flip_flags(k, p, &p->epilogue.norm_stats, 1);
  flip_flags(k, p, &p->padded, 1);
  end(k);
}

/* One more case for each field that a problem gets: here, in key.c, and in doc/tuning-database.md. */
_Static_assert(sizeof(pz_operand) == 120 && sizeof(pz_epilogue) == 20, "test_fields flips all fields");

static void assert_same(const pz_problem *a, const pz_target *s, const pz_problem *b, const pz_target *t,
                        bool same) {
  pz_text one, two;
  char first[PZ_DIGEST_TEXT], second[PZ_DIGEST_TEXT];
  key_of(a, s, "", &one, first);
  key_of(b, t, "", &two, second);
  assert_int_equal(!strcmp(first, second), same);
  pz_text_free(&one);
  pz_text_free(&two);
}

static void test_targets(void **state) {
  (void)state;
  static const pz_winograd_costs costs = {1, 2, 3, 4, 5, 6};
  made m;
  make(&m, PZ_OP_CONV);
  pz_target t[15];
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) t[i] = target;
  t[0].core = "other";
  t[1].features ^= 1;
  t[2].vector_width++;
  t[3].registers++;
  t[4].block++;
  t[5].caches.l1d++;
  t[6].caches.l2++;
  t[7].caches.l3++;
  t[8].workers++;
  t[9].adds_apart = !t[9].adds_apart;
  t[10].double_pumped = !t[10].double_pumped;
  t[11].inner_pairs += 1e-9;
  t[12].wide = &costs;
  t[13].narrow = &costs;
  for (size_t i = 0; i < 14; i++)
    for (size_t k = 0; k <= i; k++)
      assert_same(&m.problem, &t[i], &m.problem, k < i ? &t[k] : &target, false);
  t[14].name = "another name of it";
  assert_same(&m.problem, &target, &m.problem, &t[14], true);
}

static void test_where(void **state) {
  (void)state;
  made m;
  pz_text one, two, three;
  char first[PZ_DIGEST_TEXT], second[PZ_DIGEST_TEXT], third[PZ_DIGEST_TEXT];
  make(&m, PZ_OP_CONV);
  key_of(&m.problem, &target, "", &one, first);
  key_of(&m.problem, &target, ", layer 1 of network x", &two, second);
  key_of(&m.problem, &target, ", layer 2 of network x", &three, third);
  assert_true(strcmp(first, second) != 0 && strcmp(second, third) != 0);
  assert_memory_equal(one.data, two.data, one.size);
  assert_string_equal(two.data + one.size, ", layer 1 of network x");
  pz_text_free(&one);
  pz_text_free(&two);
  pz_text_free(&three);
}

/* Names, values of weights and where a layer stands do not count. */
static void test_equal_ones(void **state) {
  (void)state;
  static const char text[] = "graph \"g\"\n"
                             "input %x 1x32x8x16x16\n"
                             "const %w 32x32x3x3x3 = seed 1 scale 0.05\n"
                             "const %v 32x32x3x3x3 = seed 2 scale 0.05\n"
                             "%a = conv \"first\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%b = conv \"second\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%c = conv \"third\" %b, %v kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%d = conv \"fourth\" %c, %v kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "output %d\n";
  pz_graph *g;
  pz_error err = {0};
  const pz_problem *p;
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  pz_arena *arena = pz_arena_new();
  assert_int_equal(pz_problems_of(g, &target, arena, &p, &err), PZ_OK);
  assert_same(&p[1], &target, &p[2], &target, true);
  assert_same(&p[0], &target, &p[1], &target, false); /* it reads the network's input */
  assert_same(&p[2], &target, &p[3], &target, false); /* it makes the network's output */
  pz_text line = {0};
  assert_int_equal(pz_problem_text(&p[1], &line, &err), PZ_OK);
  assert_string_equal(line.data, "conv 1x32x8x16x16, 32x32x3x3x3 weights, _, _, _, _ to 1x32x8x16x16 "
                                 "kernel 3,3,3 pad 1,1,1:1,1,1");
  pz_text_free(&line);
  pz_arena_free(arena);
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attributes), cmocka_unit_test(test_fields),
                                     cmocka_unit_test(test_targets), cmocka_unit_test(test_where),
                                     cmocka_unit_test(test_equal_ones)};
  return cmocka_run_group_tests(tests, set_target, NULL);
}
