/* solver_tables.c: the calls of kernels/gather and their tables. */
#include "kernels/gather/gather.h"
#include "kernels/gather/points.h"
#include "kernels/gather/solver_tables.h"
#include "plan/axes.h"

#include <string.h>

static const pz_shape *shape_in(const pz_query *q) { return &q->problem->in[0].shape; }
static const pz_shape *shape_out(const pz_query *q) { return &q->problem->out[0].shape; }

static bool is_kept(const pz_query *q, pz_source source, int32_t axis) {
  const int64_t size = shape_out(q)->dim[axis];
  if (size != shape_in(q)->dim[axis]) return false;
  for (int64_t o = 0; o < size; o++)
    if (source(q, axis, o) != o) return false;
  return true;
}

bool pz_gathers_points(const pz_query *q, pz_source source) {
  const int32_t rank = shape_out(q)->rank;
  return rank <= 5 && (rank < 2 || is_kept(q, source, 1));
}

static void put(float *table, int64_t at, int64_t value) {
  const int32_t bits = (int32_t)value;
  memcpy(table + at, &bits, sizeof bits);
}

/* ---- NCHWc ---- */

/* The tables of n, d, h, w, written where `table` is not NULL; whether any entry is filled. */
static bool put_points(const pz_query *q, pz_source source, float *table) {
  const int32_t rank = shape_out(q)->rank;
  const pz_shape5 y = pz_shape_as5(shape_out(q));
  const int64_t size[5] = {y.n, y.c, y.s[0], y.s[1], y.s[2]};
  bool fills = false;
  for (int axis = 0; axis < 5; axis++) {
    int32_t own = PZ_NONE; /* the tensor may have fewer dimensions */
    for (int32_t i = 0; i < rank; i++)
      if (pz_axis5(rank, i) == axis) own = i;
    for (int64_t o = 0; axis != 1 && o < size[axis]; o++) {
      const int64_t from = own == PZ_NONE ? o : source(q, own, o);
      fills |= from < 0;
      if (table) put(table++, 0, from);
    }
  }
  return fills;
}

pz_status pz_gather_nchwc(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_source source,
                          float value, pz_error *err) {
  const pz_storage in = placed->in[0];
  pz_pointer tables;
  void *table;
  const pz_storage out = placed->out[0];
  const int64_t entries = (int64_t)out.view.n + out.view.d + out.view.h + out.view.w;
  PZ_TRY(pz_add_weights(b, PZ_F32, entries, &tables, &table, err));
  const bool fills = put_points(q, source, table);
  pz_text shape = {0};
  pz_text_gather_points(&shape, &(pz_gather_points_shape){.in = in.view,
                                                          .out = out.view,
                                                          .stream = pz_passes_caches(q->target, &out.view),
                                                          .fills = fills,
                                                          .value = value});
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "tables", .at = tables},
                         {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/gather/points.h", "pz_gather_points", &shape, args, 3, err);
}

/* ---- NCHW ---- */

/* The axes and, for each, the dimension of the node that its positions come from: PZ_NONE where they are kept. */
typedef struct table {
  pz_axes axes;
  int32_t dimension[PZ_MAX_RANK];
  int64_t offset; /* in the input: of dimensions of one entry */
} table;

static bool joins(const table *t, int64_t size, int64_t in) {
  const int32_t last = t->axes.n - 1;
  return last >= 0 && t->dimension[last] == PZ_NONE && t->axes.in[last] == size * in &&
         t->axes.size[last] * size <= PZ_MAX_DIM;
}

/* Dimensions of one entry are left out, neighbours that are kept are joined. */
static void find_axes(const pz_query *q, pz_source source, const pz_view *in, const pz_view *out, table *t) {
  const pz_shape *y = shape_out(q);
  int64_t stride_in[PZ_MAX_RANK], stride_out[PZ_MAX_RANK];
  pz_nd_strides(shape_in(q), in, stride_in);
  pz_nd_strides(y, out, stride_out);
  for (int32_t i = 0; i < y->rank; i++) {
    const int64_t first = source(q, i, 0), size = y->dim[i];
    const bool kept = is_kept(q, source, i);
    if (size == 1 && first >= 0) {
      t->offset += first * stride_in[i];
      continue;
    }
    const bool join = kept && joins(t, size, stride_in[i]);
    const int32_t at = join ? t->axes.n - 1 : t->axes.n++;
    t->axes.size[at] = join ? t->axes.size[at] * size : size;
    t->axes.in[at] = stride_in[i], t->axes.out[at] = stride_out[i];
    t->dimension[at] = kept ? PZ_NONE : i;
  }
  if (t->axes.n) return;
  t->axes = (pz_axes){1, {1}, {1}, {1}};
  t->dimension[0] = PZ_NONE;
}

static int64_t position(const pz_query *q, pz_source source, const table *t, int32_t axis, int64_t o) {
  return t->dimension[axis] == PZ_NONE ? o : source(q, t->dimension[axis], o);
}

/* How many entries of the last axis, from o on, are filled, or are in steps of *step. */
static int64_t run_from(const pz_query *q, pz_source source, const table *t, int64_t o, int64_t *step) {
  const int32_t last = t->axes.n - 1;
  const int64_t size = t->axes.size[last], first = position(q, source, t, last, o);
  int64_t n = 1;
  *step = 0;
  if (t->dimension[last] == PZ_NONE) return *step = 1, size - o;
  for (int64_t before = first; o + n < size; n++) {
    const int64_t at = position(q, source, t, last, o + n);
    if ((at < 0) != (first < 0)) break;
    if (first >= 0 && n == 1) *step = at - first;
    if (first >= 0 && at - before != *step) break;
    before = at;
  }
  return n;
}

/* Writes {entries, first, step} for each run where `to` is not NULL. *scalar: some go in larger steps. */
static int32_t find_runs(const pz_query *q, pz_source source, const table *t, float *to, bool *scalar) {
  const int32_t last = t->axes.n - 1;
  int32_t runs = 0;
  for (int64_t o = 0, n, step; o < t->axes.size[last]; o += n, runs++) {
    n = run_from(q, source, t, o, &step);
    const int64_t stride = step * t->axes.in[last];
    *scalar |= stride < -1 || stride > 1;
    if (!to) continue;
    put(to, 3 * runs, n);
    put(to, 3 * runs + 1, position(q, source, t, last, o));
    put(to, 3 * runs + 2, step);
  }
  return runs;
}

pz_status pz_gather_nchw(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_source source,
                         float value, pz_error *err) {
  const pz_storage in = placed->in[0];
  table t = {.offset = 0};
  pz_pointer tables;
  void *data;
  const pz_storage out = placed->out[0];
  find_axes(q, source, &in.view, &out.view, &t);
  const int32_t last = t.axes.n - 1, runs = find_runs(q, source, &t, NULL, &b->step->scalar);
  int64_t entries = 3 * (int64_t)runs, at = 0;
  for (int32_t i = 0; i < last; i++) entries += t.axes.size[i];
  PZ_TRY(pz_add_weights(b, PZ_F32, entries, &tables, &data, err));
  for (int32_t i = 0; i < last; i++)
    for (int64_t o = 0; data && o < t.axes.size[i]; o++) put(data, at++, position(q, source, &t, i, o));
  if (data) find_runs(q, source, &t, (float *)data + at, &b->step->scalar);
  pz_gather_shape s = {.axes = t.axes.n, .runs = runs, .value = value};
  for (int32_t i = 0; i < t.axes.n; i++)
    s.size[i] = (int32_t)t.axes.size[i], s.in[i] = t.axes.in[i], s.out[i] = t.axes.out[i];
  pz_text shape = {0};
  pz_text_gather(&shape, &s);
  const pz_arg args[] = {{.name = "in", .at = pz_pointer_behind(in.at, PZ_F32, t.offset)},
                         {.name = "tables", .at = tables},
                         {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/gather/gather.h", "pz_gather", &shape, args, 3, err);
}
