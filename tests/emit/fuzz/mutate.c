#include "mutate.h"

#include <math.h>

uint64_t mutate_next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int64_t mutate_pick(uint64_t *state, int64_t n) {
  const uint64_t random = mutate_next(state);
  return n < 1 ? 0 : (int64_t)(random % (uint64_t)n);
}

int64_t mutate_number(uint64_t *state) {
  static const int64_t edges[] = {0,     -1,      -2,        100,       255,       256,
                                  65535, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
                                  1000,  4096,    1 << 16,   -1000,     1LL << 32, 1LL << 40};
  const int64_t kind = mutate_pick(state, 16);
  if (kind == 0) return edges[mutate_pick(state, sizeof edges / sizeof *edges)];
  if (kind < 4) return mutate_pick(state, 40) - 4;
  return mutate_pick(state, 6);
}

float mutate_float(uint64_t *state) {
  static const float edges[] = {0,         -0.0f, 1,      -1,   1e-30f, 1e30f,  INFINITY,
                                -INFINITY, NAN,   1e-45f, 0.5f, 2,      3.4e38f};
  if (mutate_pick(state, 2)) return edges[mutate_pick(state, sizeof edges / sizeof *edges)];
  return (float)(mutate_pick(state, 2001) - 1000) / 250.0f;
}

const char *mutate_name(uint64_t *state) {
  static const char *const names[] = {"a*/ int pwned; /*",
                                      "/*",
                                      "*/",
                                      "//",
                                      "\\",
                                      "\"",
                                      "'",
                                      "?"
                                      "?/",
                                      "a\nb",
                                      "\\\n",
                                      "*\\\n/",
                                      "\x1b[31m",
                                      "\xc2\x9b"
                                      "31m",
                                      "\xe2\x80\xae",
                                      "\xff",
                                      "\xed\xa0\x80",
                                      "$",
                                      "%s%n",
                                      "$(pwned)",
                                      "</script>",
                                      "-o",
                                      "@x",
                                      "x",
                                      "y",
                                      "weights",
                                      "inputs",
                                      "tensors",
                                      "step_0",
                                      "worker",
                                      "r",
                                      " ",
                                      "\x7f",
                                      "int",
                                      "0",
                                      "a/b",
                                      "../x",
                                      "\\\"",
                                      "\"}}; int pwned; /*",
                                      "\xe5\xb1\x82",
                                      "_",
                                      "none",
                                      "",
                                      "#",
                                      "\t",
                                      "a\"b'c`d"};
  return names[mutate_pick(state, sizeof names / sizeof *names)];
}
