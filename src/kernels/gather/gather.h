/* gather.h: each axis of a NCHW tensor by a table: padding (constant, edge, reflected, periodic), repetition,
 * steps, along any axes.
 *
 * Layouts: plain, up to 8 axes with sizes and strides of `out` and strides of `in`, out[last] = 1; any address; they
 * may not overlap. out[o0, o1, ...] = in[t0(o0), t1(o1), ...], or `value` where one of the positions is negative.
 * `tables`, int32 bits: for each axis but the last a position for each of its elements; for the last one `runs`
 * times {elements, first position, step}, which together make the row: first position negative: filled; step 1: a
 * copy, 0: one value repeated, -1: a copy turned round, all by vectors; other steps: a scalar loop. Unit of work: a
 * row of `out`. Exact. */
#ifndef PZ_KERNELS_GATHER_GATHER_H
#define PZ_KERNELS_GATHER_GATHER_H

#include "kernels/copy/transpose.h"

enum { PZ_GATHER_AXES = 8 };

#define PZ_GATHER_FIELDS(ONE, MANY)                                                                          \
  ONE(int, axes)                                                                                             \
  MANY(int, size, PZ_GATHER_AXES)                                                                            \
  MANY(long, in, PZ_GATHER_AXES)                                                                             \
  MANY(long, out, PZ_GATHER_AXES)                                                                            \
  ONE(int, runs)                                                                                             \
  ONE(float, value)
typedef struct pz_gather_shape {
  PZ_GATHER_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_gather_shape;

PZ_INLINE void pz_gather_fill(float *out, int64_t count, float value) {
  int64_t i = 0;
  for (; i + PZ_S <= count; i += PZ_S) pz_v_storeu(out + i, pz_v_set1(value));
  for (; i < count; ++i) out[i] = value;
}

#define PZ_GATHER_TURN(l) (PZ_S - 1 - (l))

/* `in`: the element that comes first. */
PZ_INLINE void pz_gather_turned(float *out, const float *in, int64_t count) {
  int64_t i = 0;
  for (; i + PZ_S <= count; i += PZ_S) {
    const pz_v x = pz_v_loadu(in - i - (PZ_S - 1));
    pz_v_storeu(out + i, __builtin_shufflevector(x, x, PZ_LANES(PZ_GATHER_TURN)));
  }
  for (; i < count; ++i) out[i] = in[-i];
}

/* `stride`: from element to element of the run, in the input. */
PZ_INLINE void pz_gather_run(float *out, const float *in, int64_t count, int64_t stride) {
  if (stride == 1) memcpy(out, in, (size_t)count * sizeof *out);
  else if (stride == 0) pz_gather_fill(out, count, *in);
  else if (stride == -1) pz_gather_turned(out, in, count);
  else
    for (int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
}

PZ_INLINE void pz_gather_line(const pz_gather_shape *s, const float *in, const float *runs, float *out) {
  for (int32_t i = 0; i < s->runs; ++i) {
    int32_t run[3]; /* elements, first position, step */
    memcpy(run, runs + 3 * i, sizeof run);
    if (run[1] < 0) pz_gather_fill(out, run[0], s->value);
    else pz_gather_run(out, in + run[1] * s->in[s->axes - 1], run[0], run[2] * s->in[s->axes - 1]);
    out += run[0];
  }
}

PZ_INLINE void pz_gather(const pz_gather_shape s, const float *in, const float *tables, float *out,
                         int32_t worker, int32_t workers) {
  const int32_t last = s.axes - 1;
  int64_t begin, end, rows = 1, positions = 0;
  for (int32_t a = 0; a < last; ++a) rows *= s.size[a], positions += s.size[a];
  pz_share(rows, worker, workers, &begin, &end);
  for (int64_t row = begin; row < end; ++row) {
    const float *table = tables + positions;
    int64_t rest = row, from = 0, to = 0;
    int filled = 0;
    for (int32_t a = last - 1; a >= 0; rest /= s.size[a], --a) {
      int32_t at;
      table -= s.size[a];
      memcpy(&at, table + rest % s.size[a], sizeof at);
      filled |= at < 0, from += at * s.in[a], to += rest % s.size[a] * s.out[a];
    }
    if (filled) pz_gather_fill(out + to, s.size[last], s.value);
    else pz_gather_line(&s, in + from, tables + positions, out + to);
  }
}

#endif
