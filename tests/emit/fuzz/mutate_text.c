/* mutate_text.c: a Caffe prototxt as its pieces: numbers, texts in quotes, and the layers, whose braces are counted. */
#include "mutate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum kind { OTHER, NUMBER, QUOTED, WORD } kind;
typedef struct piece {
  kind kind;
  const char *text;
  size_t size;
  int depth;   /* of braces around it */
  bool begins; /* the first of a statement of depth 0 */
} piece;

typedef struct mutant {
  pz_arena *arena;
  uint64_t random;
  piece *pieces;
  int64_t n;
} mutant;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t length_of(const char *s, size_t size, kind *is) {
  size_t n = 1;
  *is = OTHER;
  if (*s == '"' || *s == '\'') {
    *is = QUOTED;
    while (n < size && s[n] != *s && s[n] != '\n') n += s[n] == '\\' && n + 1 < size ? 2 : 1;
    return n < size ? n + 1 : n;
  }
  if (is_letter(*s) || is_digit(*s) || *s == '-') {
    *is = is_letter(*s) ? WORD : NUMBER;
    while (n < size && (is_letter(s[n]) || is_digit(s[n]) || s[n] == '.' ||
                        (*is == NUMBER && (s[n] == '+' || s[n] == '-'))))
      n++;
  }
  if (*s == '#')
    while (n < size && s[n] != '\n') n++;
  return n;
}

static void split(mutant *m, const char *s, size_t size) {
  int depth = 0;
  bool begins = true;
  m->pieces = PZ_NEW(m->arena, piece, size + 1);
  for (size_t at = 0; m->pieces && at < size;) {
    piece *p = &m->pieces[m->n++];
    const size_t n = length_of(s + at, size - at, &p->kind);
    p->text = s + at;
    p->size = n < size - at ? n : size - at;
    if (*p->text == '}' && p->size == 1) depth--;
    p->depth = depth;
    p->begins = begins && p->kind == WORD && depth == 0;
    if (*p->text == '{' && p->size == 1) depth++;
    begins = p->kind == OTHER ? begins || *p->text == '}' || *p->text == '\n' : false;
    at += p->size;
  }
}

static piece *any(mutant *m, kind is) {
  const int64_t from = mutate_pick(&m->random, m->n);
  for (int64_t i = 0; i < m->n; i++) {
    piece *p = &m->pieces[(from + i) % m->n];
    if (p->kind == is) return p;
  }
  return NULL;
}

static void set(mutant *m, piece *p, const char *text) {
  const char *copy = pz_arena_strdup(m->arena, text);
  if (!copy || !p) return;
  p->text = copy;
  p->size = strlen(copy);
}

static void number(mutant *m) {
  char text[48];
  const float value = mutate_float(&m->random);
  piece *p = any(m, NUMBER);
  const bool real = p && memchr(p->text, '.', p->size);
  if (mutate_pick(&m->random, 10) ? !real : real)
    snprintf(text, sizeof text, "%lld", (long long)mutate_number(&m->random));
  else snprintf(text, sizeof text, isnan(value) ? "nan" : isinf(value) ? "inf" : "%.9g", (double)value);
  set(m, p, text);
}

static void name(mutant *m) {
  pz_text quoted = {0};
  pz_text_append(&quoted, "\"");
  for (const char *s = mutate_name(&m->random); *s; s++)
    pz_text_printf(&quoted, "\\%03o", (unsigned)(unsigned char)*s);
  pz_text_append(&quoted, "\"");
  piece *p = any(m, QUOTED);
  if (!quoted.failed && p) {
    const piece from = *p;
    const bool all = mutate_pick(&m->random, 2);
    for (int64_t i = 0; i < m->n; i++)
      if (&m->pieces[i] == p ||
          (all && m->pieces[i].size == from.size && !memcmp(m->pieces[i].text, from.text, from.size)))
        set(m, &m->pieces[i], quoted.data);
  }
  pz_text_free(&quoted);
}

/* Edges, types and words of one place stand in another. */
static void exchange(mutant *m) {
  const kind is = mutate_pick(&m->random, 3) ? QUOTED : WORD;
  piece *a = any(m, is);
  const piece *b = any(m, is);
  if (a && b) a->text = b->text, a->size = b->size;
}

static int64_t end_of(const mutant *m, int64_t i) {
  for (i++; i < m->n && !m->pieces[i].begins; i++) {}
  return i;
}

/* A layer again, away, or in another place. */
static void layer(mutant *m) {
  int64_t from = mutate_pick(&m->random, m->n), i = from;
  while (i > 0 && !m->pieces[i].begins) i--;
  const int64_t end = end_of(m, i), n = end - i, what = mutate_pick(&m->random, 3);
  int64_t to = mutate_pick(&m->random, m->n);
  while (to > 0 && !m->pieces[to].begins) to--;
  piece *all = PZ_NEW(m->arena, piece, (size_t)(m->n + n + 1));
  if (!all) return;
  int64_t count = 0;
  for (int64_t k = 0; k <= m->n; k++) {
    if (k == to && what != 0)
      for (int64_t j = i; j < end; j++) all[count++] = m->pieces[j];
    if (k < m->n && (what == 1 || k < i || k >= end)) all[count++] = m->pieces[k];
  }
  m->pieces = all;
  m->n = count;
}

static void type(mutant *m) {
  static const char *const types[] = {
      "Convolution", "Deconvolution", "Pooling",      "ReLU",    "ELU",     "PReLU",   "Sigmoid",
      "TanH",        "BatchNorm",     "Scale",        "Bias",    "Eltwise", "Concat",  "Slice",
      "Crop",        "Softmax",       "InnerProduct", "LRN",     "Power",   "Exp",     "Log",
      "AbsVal",      "Flatten",       "Reshape",      "Permute", "Split",   "Dropout", "Input",
      "ArgMax",      "Reduction",     "Silence",      "MVN",     "BNLL"};
  char text[40];
  snprintf(text, sizeof text, "\"%s\"", types[mutate_pick(&m->random, sizeof types / sizeof *types)]);
  for (int64_t from = mutate_pick(&m->random, m->n), i = 0; i < m->n; i++) {
    const int64_t at = (from + i) % m->n;
    if (m->pieces[at].kind != WORD || m->pieces[at].size != 4 || memcmp(m->pieces[at].text, "type", 4))
      continue;
    for (int64_t k = at; k < m->n && k < at + 4; k++)
      if (m->pieces[k].kind == QUOTED) return set(m, &m->pieces[k], text);
  }
}

static void (*const changes[])(mutant *) = {number,   number,   number, number, name, name,
                                            exchange, exchange, layer,  layer,  type};

void mutate_prototxt(uint64_t seed, const uint8_t *data, size_t size, pz_text *out) {
  mutant m = {.arena = pz_arena_new(), .random = seed};
  if (!m.arena) return;
  split(&m, (const char *)data, size);
  do changes[mutate_pick(&m.random, sizeof changes / sizeof *changes)](&m);
  while (m.n && mutate_pick(&m.random, 2));
  for (int64_t i = 0; i < m.n; i++) pz_text_append_bytes(out, m.pieces[i].text, m.pieces[i].size);
  pz_arena_free(m.arena);
}
