/* solver.c: convolution by minimal filtering (kernels/winograd). Variants: the outputs of a tile along each axis, and
 * how many tiles make a batch; or all tiles at once, nonfused. */
#include "kernels/conv/solver.h"
#include "kernels/norm/shape.h"
#include "kernels/norm/solver.h"
#include "kernels/winograd/pack.h"
#include "kernels/winograd/solver.h"
#include "kernels/winograd/ways.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- variants ---- */

static const int32_t outputs_of_tile[] = {2, 4, 6};
/* Batches; those whose scratch keeps slices (kernels/winograd/shape.h, sliced); all tiles, workers share positions (nonfused.h), and
 * weights are small besides: G of two axes follows when they are used. */
typedef enum way { IN_BATCHES, SLICED, NONFUSED, SMALL } way;
static const struct {
  int32_t tiles;
  way way;
} batches[] = {{12, IN_BATCHES}, {16, IN_BATCHES}, {24, IN_BATCHES}, {36, IN_BATCHES},
               {18, SLICED},     {24, SLICED},     {192, NONFUSED},  {192, SMALL}};
enum {
  OUTPUTS = 3,
  BATCHES = sizeof batches / sizeof *batches,
  VARIANTS = OUTPUTS * OUTPUTS * OUTPUTS * BATCHES
};

typedef struct variant {
  int32_t m[3], batch, smaller; /* smaller: the batch before, of the same way; 0: none */
  bool sliced, nonfused, small;
  bool low_memory; /* memory comes first */
} variant;

/* The parameters: m, and of a batch its tiles, those of the one before of the same way, and the way. An axis of kernel 1 has one choice: the
 * first stands for it. */
enum { BATCH = 3, SMALLER, WAY };
static bool vary(const pz_query *q, int32_t i, pz_parameters *parameters) {
  int32_t *of = parameters->of, rest = i / BATCHES;
  *parameters = (pz_parameters){{0}};
  const int32_t batch = i % BATCHES;
  of[BATCH] = batches[batch].tiles, of[WAY] = batches[batch].way;
  if (batch && batches[batch - 1].way == batches[batch].way) of[SMALLER] = batches[batch - 1].tiles;
  for (int axis = 2; axis >= 0; axis--, rest /= OUTPUTS) {
    const bool filtered = q->problem->attr.conv.kernel[axis] > 1;
    if (!filtered && rest % OUTPUTS) return false;
    of[axis] = filtered ? outputs_of_tile[rest % OUTPUTS] : 1;
  }
  return true;
}

static variant variant_of(const pz_query *q) {
  const int32_t *of = q->parameters.of;
  return (variant){.m = {of[0], of[1], of[2]},
                   .batch = of[BATCH],
                   .smaller = of[SMALLER],
                   .sliced = of[WAY] == SLICED,
                   .nonfused = of[WAY] == NONFUSED || of[WAY] == SMALL,
                   .small = of[WAY] == SMALL};
}

/* Whether the last block of so many channels has few enough to be short (kernels/winograd/shape.h). */
static bool is_short(const pz_query *q, int64_t channels) {
  const int64_t rest = channels % q->target->block;
  return rest > 0 && rest <= PZ_WINOGRAD_SHORT;
}

#define SPARE_INNER_PAIRS_FROM                                                                               \
  20 /* channels in and out, where the products' sums come with products (inner_pairs.h) */

/* Kernels of 5 are not multiplied in inner pairs. */
static bool has_pairs(const pz_query *q) {
  const pz_operand *w = &q->problem->in[PZ_CONV_WEIGHT];
  const int64_t out = w->shape.dim[0], in = w->shape.dim[1];
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (q->problem->attr.conv.kernel[i] > 3) return false;
  const bool spare =
      out % q->target->block && !is_short(q, out) && out <= PZ_WINOGRAD_MOST_KB * q->target->block;
  return pz_conv_has_inner_pairs(q->target, in, out,
                                 spare ? SPARE_INNER_PAIRS_FROM : PZ_CONV_INNER_PAIRS_FROM);
}

/* What pairs add for each channel in where inputs have one sign: F(2,2,2), the most (doc/notes/2026-11-28-winograd.md). */
#define ONE_SIGN_ERROR 7e-9

/* Relative L2 error of a layer of random values: that of a short sum times a factor for each axis (doc/algorithm-winograd.md). */
static double error_of(const pz_query *q, const int32_t m[3]) {
  double error = PZ_SUM_ERROR;
  for (int i = 0; i < PZ_SPATIAL; i++)
    error *= pz_winograd_growth_of_error(q->problem->attr.conv.kernel[i], m[i]);
  if (!has_pairs(q)) return error;
  const double channels = (double)q->problem->in[PZ_CONV_WEIGHT].shape.dim[1];
  return hypot(1.3 * error, q->problem->in[PZ_CONV_X].one_sign ? ONE_SIGN_ERROR * channels : 0);
}

/* Transformed positions. */
static double points_of(const pz_query *q, const variant *v) {
  double points = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) points *= v->m[i] + (double)q->problem->attr.conv.kernel[i] - 1;
  return points;
}

/* Tiles of a batch, `most` at most: batches are of one size, for a shorter one is multiplied as if it were full, and as many for
 * each of the target's workers, for two where it does not say. */
static int32_t even_batch(const pz_query *q, double tiles, int32_t most) {
  const double workers = q->target->workers > 2 ? q->target->workers : 2,
               rounds = ceil(tiles / (workers * most));
  return (int32_t)ceil(tiles / (workers * rounds));
}

static int32_t batch_of(const pz_query *q, const variant *v, double tiles) {
  return v->nonfused ? (int32_t)tiles : even_batch(q, tiles, v->batch);
}

static double tiles_of(const pz_query *q, const variant *v) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  double tiles = (double)out.n;
  for (int i = 0; i < PZ_SPATIAL; i++) tiles *= (double)((out.s[i] + v->m[i] - 1) / v->m[i]);
  return tiles;
}

/* Last blocks of four channels and less are short (kernels/winograd/shape.h): neither nonfused nor where moments are collected. Vectors
 * of 8, which two tiles would share, lost (doc/notes/2026-11-28-winograd.md). */
static bool has_short(const pz_query *q, const variant *v) {
  return !v->nonfused && q->target->block >= 4 * PZ_WINOGRAD_SHORT && !q->problem->epilogue.norm_stats;
}

/* Vectors of `channels` channels at a position of a tile. */
static double vectors_of(const pz_query *q, const variant *v, int64_t channels) {
  if (!has_short(q, v) || !is_short(q, channels)) return (double)pz_block_count(channels, q->target->block);
  return (double)(channels / q->target->block) + (double)PZ_WINOGRAD_SHORT / q->target->block;
}

/* Pairs of channels, with those that fill up vectors. */
static double weight_pairs(const pz_query *q, const variant *v) {
  const pz_operand *w = &q->problem->in[PZ_CONV_WEIGHT];
  return (double)w->shape.dim[1] * vectors_of(q, v, w->shape.dim[0]) * q->target->block;
}

/* Bytes of weights at all positions from which on they are packed to be transformed on use: they are made for each batch, what is not made is read from
 * memory once (doc/notes/2026-11-28-winograd.md). More are early where memory does not come first and many batches use them; and of pairs beside
 * whose steps they are fetched, which wait for weights only where these are made (half as many where memory comes first). */
#define MANY_WEIGHTS (3 << 20)
#define MOST_EARLY   (6 << 20)
#define PAIRS_EARLY  (8 << 20) /* of pairs, which made weights keep waiting for longer */
#define BESIDE_EARLY (16 << 20)
#define MANY_BATCHES 64

static double early_bytes(const pz_query *q, const variant *v) {
  const bool pairs = has_pairs(q);
  if (pairs && !q->target->double_pumped && !v->nonfused)
    return v->low_memory ? BESIDE_EARLY / 2 : BESIDE_EARLY;
  if (v->low_memory || tiles_of(q, v) / v->batch < MANY_BATCHES) return MANY_WEIGHTS;
  return pairs ? PAIRS_EARLY : MOST_EARLY;
}

/* How many axes of G follow when weights are used (kernels/winograd/shape.h, on_use), by their size. */
static int32_t late_axes(const pz_query *q, const variant *v) {
  const double bytes = 4 * points_of(q, v) * weight_pairs(q, v);
  if (bytes < early_bytes(q, v)) return 0;
  return v->small ? 2 : 1;
}
/* Slices have their weights early, also where memory comes first. */
static int32_t on_use_axes(const pz_query *q, const variant *v) { return v->sliced ? 0 : late_axes(q, v); }

/* Of the transformed weights, what is packed. */
static double packed_part(const pz_query *q, const variant *v) {
  const int32_t axes = on_use_axes(q, v), first = v->m[0] > 1 ? 0 : 1;
  double part = 1;
  for (int32_t i = first; i < first + axes; i++)
    if (v->m[i] > 1)
      part *=
          (double)q->problem->attr.conv.kernel[i] / (v->m[i] + (double)q->problem->attr.conv.kernel[i] - 1);
  return part;
}

#define MOST_SLOTS (16 << 20) /* bytes of transformed inputs or products that workers share in level 3 */

/* Slices spare level 2: where weights come from behind it, and none are transformed on use. */
static bool may_slice(const pz_query *q, const variant *v) {
  return v->m[2] > 1 && !late_axes(q, v) &&
         4 * points_of(q, v) * weight_pairs(q, v) > PZ_WINOGRAD_NEAR_WEIGHTS;
}

/* Not where batches are as large as those that hold less, nor where tiles are too many to be one batch. */
static bool batch_applies(const pz_query *q, const variant *v) {
  const double tiles = tiles_of(q, v);
  if (v->sliced && !may_slice(q, v)) return false;
  if (!v->nonfused) return !v->smaller || even_batch(q, tiles, v->batch) > even_batch(q, tiles, v->smaller);
  const double in = (double)q->problem->in[PZ_CONV_X].shape.dim[1],
               out = (double)q->problem->out[0].shape.dim[1];
  return tiles >= 2 && tiles <= v->batch &&
         (!v->small || (v->m[0] > 1 && v->m[1] > 1 && on_use_axes(q, v) == 2)) &&
         4 * points_of(q, v) * tiles * (in > out ? in : out) <= MOST_SLOTS;
}

#define AHEAD_SLOTS 2 /* times level 2: with more, what is fetched for the next batch leaves it again */
#define AHEAD_SMALL 4 /* not in slices, pairs: slots take one part in so many of level 2 at most */

/* Whether the next batch's inputs are fetched while this one is multiplied (doc/notes/2026-11-28-winograd.md). */
static bool may_fetch_ahead(const pz_winograd_shape *s, const variant *v, const pz_conv_machine *m) {
  const int64_t bytes = 4 * pz_winograd_slots(s);
  if (v->nonfused || bytes > AHEAD_SLOTS * m->l2) return false;
  return s->apart || s->sliced || (s->inner_pairs && s->held && AHEAD_SMALL * bytes <= m->l2);
}

static pz_winograd_shape shape_for(const pz_query *q, bool low_memory, const pz_conv_direct_shape *conv) {
  variant v = variant_of(q);
  v.low_memory = low_memory;
  pz_winograd_shape s = {.conv = *conv,
                         .m = {v.m[0], v.m[1], v.m[2]},
                         .on_use = on_use_axes(q, &v),
                         .fours = has_short(q, &v),
                         .inner_pairs = has_pairs(q),
                         .held = !q->target->double_pumped,
                         .sliced = v.sliced};
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  pz_winograd_schedule(&s, &machine, batch_of(q, &v, (double)pz_winograd_all_tiles(&s)));
  s.apart = q->target->double_pumped;
  s.ahead = may_fetch_ahead(&s, &v, &machine);
  return s;
}

/* ---- calls ---- */

typedef struct parts {
  pz_conv_operands conv;
  pz_winograd_shape shape;
  int32_t registers; /* of vectors */
  pz_pointer weights, taken;
} parts;

static void tell_ways(pz_builder *b, const parts *p) {
  const pz_winograd_shape *s = &p->shape;
  pz_call_ways(b, "PZ_WINOGRAD_WAYS", pz_winograd_ways(s));
  pz_call_ways(b, "PZ_TRANSFORM_WAYS", pz_winograd_transform_ways(s));
  pz_call_ways(b, "PZ_CONV_WAYS", pz_winograd_product_ways(s, p->registers));
}

static pz_status add_batches(pz_builder *b, const parts *p, pz_error *err) {
  pz_arg args[12] = {{.name = "in", .at = p->conv.in.at},
                     {.name = "factors", .at = p->conv.factors},
                     {.name = "weights", .at = p->weights},
                     {.name = "taken", .at = p->taken}};
  pz_text shape = {0};
  int32_t n = pz_conv_epilogue_args(&p->conv, args, 4);
  args[n++] = (pz_arg){.name = "pooled", .written = true, .at = p->conv.pooled};
  args[n++] = (pz_arg){.name = "norm_stats", .written = true, .at = p->conv.norm_stats};
  args[n++] = (pz_arg){
      .name = "scratch", .written = true, .at = pz_add_scratch(b, PZ_F32, pz_winograd_scratch(&p->shape))};
  pz_text_winograd(&shape, &p->shape);
  PZ_TRY(pz_add_call(b, "kernels/winograd/winograd.h", "pz_winograd", &shape, args, n, err));
  b->step->calls[b->step->n_calls - 1].functions = "PZ_WINOGRAD_FUNCTIONS";
  tell_ways(b, p);
  return PZ_OK;
}

static pz_status add_stage(pz_builder *b, const parts *p, const char *function, const pz_arg *args, int32_t n,
                           pz_error *err) {
  pz_text shape = {0};
  pz_text_winograd(&shape, &p->shape);
  PZ_TRY(pz_add_call(b, "kernels/winograd/nonfused.h", function, &shape, args, n, err));
  tell_ways(b, p);
  return PZ_OK;
}

/* What the workers share of all tiles. */
typedef struct shared {
  pz_pointer scales, slots, products;
} shared;

static pz_status add_shared(pz_builder *b, const pz_winograd_shape *s, shared *to, pz_error *err) {
  *to = (shared){0};
  if (s->inner_pairs) PZ_TRY(pz_add_buffer(b, PZ_F32, pz_winograd_scale_floats(s), &to->scales, err));
  PZ_TRY(pz_add_buffer(b, PZ_F32, pz_winograd_slots(s), &to->slots, err));
  return pz_add_buffer(b, PZ_F32, pz_winograd_slots(s), &to->products, err);
}

/* What makes inputs of these tiles may begin while products of those before are read; but for pairs, whose scales their outputs read. */
static pz_status add_stages(pz_builder *b, const parts *p, const shared *all, bool first, pz_error *err) {
  const pz_pointer scratch = pz_add_scratch(b, PZ_F32, pz_winograd_position_floats(&p->shape));
  const pz_arg scales[] = {{.name = "in", .at = p->conv.in.at},
                           {.name = "taken", .at = p->taken},
                           {.name = "scales", .written = true, .at = all->scales}};
  const pz_arg inputs[] = {{.name = "in", .at = p->conv.in.at},
                           {.name = "scales", .at = all->scales},
                           {.name = "slots", .written = true, .at = all->slots}};
  const pz_arg positions[] = {{.name = "slots", .at = all->slots},
                              {.name = "weights", .at = p->weights},
                              {.name = "taken", .at = p->taken},
                              {.name = "products", .written = true, .at = all->products},
                              {.name = "scratch", .written = true, .at = scratch}};
  pz_arg outputs[8] = {{.name = "products", .at = all->products}, {.name = "scales", .at = all->scales}};
  int32_t n = pz_conv_epilogue_args(&p->conv, outputs, 2);
  outputs[n++] = (pz_arg){.name = "norm_stats", .written = true, .at = p->conv.norm_stats};
  if (p->shape.inner_pairs) {
    PZ_TRY(add_stage(b, p, "pz_winograd_scales", scales, 3, err));
    if (!first) pz_call_after_all(b);
  }
  PZ_TRY(add_stage(b, p, "pz_winograd_inputs", inputs, 3, err));
  if (p->shape.inner_pairs) pz_call_after_all(b);
  PZ_TRY(add_stage(b, p, "pz_winograd_positions", positions, 5, err));
  pz_call_after_all(b);
  PZ_TRY(add_stage(b, p, "pz_winograd_outputs", outputs, n, err));
  pz_call_after_all(b);
  return PZ_OK;
}

static pz_status add_weights(const pz_query *q, pz_builder *b, parts *p, pz_error *err) {
  void *packed;
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_winograd_weight_floats(&p->shape), &p->weights, &packed, err));
  if (!b->dry) pz_winograd_pack(&p->shape, q->problem->in[PZ_CONV_WEIGHT].data, packed);
  if (!p->shape.inner_pairs) return PZ_OK;
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_winograd_taken_floats(&p->shape), &p->taken, &packed, err));
  if (!b->dry) pz_winograd_pack_taken(&p->shape, q->problem->in[PZ_CONV_WEIGHT].data, packed);
  return PZ_OK;
}

#define PART_SLOTS (4 << 20) /* bytes of transformed inputs of a part, where memory comes first */

/* Rows of the result of one part: whole tiles. */
static int32_t rows_of_part(bool low_memory, const pz_winograd_shape *s) {
  const int64_t parts = low_memory ? (4 * pz_winograd_slots(s) + PART_SLOTS - 1) / PART_SLOTS : 1;
  return (int32_t)((pz_winograd_tiles(s, 1) + parts - 1) / parts * s->m[1]);
}

static void take_rows(pz_storage *s, int32_t first, int32_t rows) {
  pz_storage_move(s, first * s->view.stride_h);
  s->view.h = rows;
}

/* Of all parts together: each has its own. */
static int32_t units_of_parts(const parts *p, int32_t rows) {
  const int32_t height = p->conv.out.view.h;
  int32_t units = 0;
  for (int32_t first = 0; first < height; first += rows) {
    pz_storage out = p->conv.out;
    pz_winograd_shape s = p->shape;
    take_rows(&out, first, rows < height - first ? rows : height - first);
    s.conv.out = out.view;
    units += pz_winograd_units(&s);
  }
  return units;
}

/* All tiles nonfused; one part after the other has them where they would take much memory. */
static pz_status add_positions(const pz_query *q, const pz_placed *placed, pz_builder *b, const parts *p,
                               pz_error *err) {
  const pz_view in = p->conv.in.view, out = p->conv.out.view;
  const int32_t rows = rows_of_part(placed->low_memory, &p->shape);
  const int32_t units = q->problem->epilogue.norm_stats ? units_of_parts(p, rows) : 0;
  shared all = {0};
  parts before = *p;
  pz_pointer norm_stats = {PZ_SPACE_NULL, 0, 0};
  if (units) PZ_TRY(pz_add_norm_stats(b, &out, units, &norm_stats, err));
  for (int32_t first = 0; first < out.h; first += rows) {
    const int32_t n = rows < out.h - first ? rows : out.h - first;
    parts part = *p;
    take_rows(&part.conv.in, first, n + in.h - out.h);
    take_rows(&part.conv.out, first, n);
    if (part.conv.residual.tensor != PZ_NONE) take_rows(&part.conv.residual, first, n);
    const pz_conv_direct_shape conv = pz_conv_shape_of(q, &part.conv);
    part.shape = shape_for(q, placed->low_memory, &conv);
    part.shape.conv.stats_units = units, part.conv.norm_stats = norm_stats;
    if (units)
      norm_stats = pz_pointer_behind(
          norm_stats, PZ_F32, (int64_t)pz_winograd_units(&part.shape) * pz_norm_record(&part.conv.out.view));
    part.weights = before.weights, part.taken = before.taken;
    if (first == 0) PZ_TRY(add_shared(b, &part.shape, &all, err));
    if (first == 0 || part.shape.product.kb != before.shape.product.kb) PZ_TRY(add_weights(q, b, &part, err));
    PZ_TRY(add_stages(b, &part, &all, first == 0, err));
    before = part;
  }
  return PZ_OK;
}

static pz_status collect_stats(pz_builder *b, parts *p, pz_error *err) {
  p->shape.conv.stats_units = 1;
  p->shape.conv.stats_units = pz_winograd_batches(&p->shape);
  return pz_add_norm_stats(b, &p->conv.out.view, p->shape.conv.stats_units, &p->conv.norm_stats, err);
}

/* What products are made at a time: "2 blocks x 6 tiles", "2 blocks x 5 tiles and 4 channels, in inner pairs" with those of a short block. */
static void products_text(const pz_winograd_shape *s, char *text, size_t size) {
  const int32_t few = pz_winograd_short(s, s->conv.out.c), kb = s->product.kb, tiles = s->product.rw;
  char channels[32] = "";
  if (few) snprintf(channels, sizeof channels, "%s%d channels", kb ? " and " : "", few);
  if (kb)
    snprintf(text, size, "%d blocks x %d tiles%s%s", kb, tiles, channels,
             s->inner_pairs ? ", inner pairs" : "");
  else snprintf(text, size, "%s", channels);
}

/* The input lies as it was before its normalisation. */
static void take_pending(const pz_placed *placed, parts *p) {
  if (placed->pending.at.space == PZ_SPACE_NULL) return;
  p->shape.normed = 1, p->shape.norm_act = (int32_t)placed->pending.act.kind;
  p->shape.norm_alpha = placed->pending.act.alpha, p->shape.norm_beta = placed->pending.act.beta;
}

static bool normalises(const pz_query *q, const pz_activation *act) {
  const variant v = variant_of(q);
  return !v.nonfused && pz_activation_zero_at_zero(act->kind) &&
         !(has_short(q, &v) && is_short(q, pz_conv_cin(q)));
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  parts p = {.registers = q->target->registers};
  const variant v = variant_of(q);
  PZ_TRY(pz_conv_begin(q, placed, b, &p.conv, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(q, &p.conv);
  const pz_winograd_shape s = p.shape = shape_for(q, placed->low_memory, &conv);
  if (!v.nonfused && q->problem->epilogue.norm_stats) PZ_TRY(collect_stats(b, &p, err));
  take_pending(placed, &p);
  b->step->multiply_adds_done =
      (double)pz_winograd_all_tiles(&s) * pz_winograd_points(&s) * pz_winograd_all_steps(&s);
  char products[64];
  products_text(&s, products, sizeof products);
  PZ_TRY(pz_set_algorithm(b, err, "Winograd F(%d,%d,%d), %s %d%s, %s%s", s.m[0], s.m[1], s.m[2],
                          v.nonfused ? "all" : "batches of", s.product.out.w,
                          v.sliced      ? " in slices"
                          : !v.nonfused ? ""
                          : v.small     ? " tiles, nonfused, small weights"
                                        : " tiles, nonfused",
                          products, p.shape.normed ? ", of normalised input" : ""));
  if (v.nonfused) return add_positions(q, placed, b, &p, err);
  pz_conv_pool(q, placed, &p.conv, &p.shape.conv, &p.shape.pooled, p.shape.pool_window);
  PZ_TRY(pz_conv_tell_pool(b, &p.shape.pooled, p.shape.pool_window, err));
  PZ_TRY(add_weights(q, b, &p, err));
  return add_batches(b, &p, err);
}

/* ---- which applies ---- */

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const variant v = variant_of(q);
  int filtered = 0;
  if (a->group != 1) return false;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const int64_t r = a->kernel[i];
    if (a->stride[i] != 1 || a->dilation[i] != 1 || (r != 1 && r != 3 && r != 5)) return false;
    if (r > 1 && v.m[i] > 2 && out.s[i] < v.m[i]) return false;
    filtered += r > 1;
  }
  return filtered > 0 && batch_applies(q, &v);
}

/* All channels are a short block, which leaves the network: plain is what is wanted. */
static bool applies_plain(const pz_query *q) {
  const variant v = variant_of(q);
  return has_short(q, &v) && pz_conv_small_cout(q) && q->problem->out[0].shape.dim[1] <= PZ_WINOGRAD_SHORT &&
         !q->problem->in[PZ_CONV_RESIDUAL].present && applies(q);
}

/* Windows lie in tiles. */
static bool pools(const pz_query *q) {
  const int32_t *window = q->problem->epilogue.pool;
  const variant v = variant_of(q);
  if (v.nonfused || q->problem->epilogue.norm_stats) return false;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (v.m[i] % window[i]) return false;
  return true;
}

/* In vector multiply-adds at peak, from bench_winograd on cores with AVX-512 (doc/notes/2026-11-28-winograd.md), beside the core's own costs
 * (target/target.h): what a multiply-add does that is not of pairs; the factor of transforms whose batch is larger than half of level 2, which it
 * shares with the weights, where all tiles are one batch, which is written and read once; how long a batch waits for one vector of packed weights
 * that comes from level 2, from level 3 or from memory, and for one that is made of those. */
#define PRODUCT        1.1
#define ONCE_OUTSIDE   1.3
#define LEVEL2_WEIGHTS 1.0
#define LEVEL3_WEIGHTS 4.0
#define MEMORY_WEIGHTS 12.0
#define ON_USE         1.5
#define SMALL_WEIGHTS  2.5 /* and for all positions of a column together: */
#define SMALL_COLUMN   12.0
#define FAR_WEIGHTS    (16 << 20) /* bytes that do not stay in level 3 from run to run */

/* Points along the filtered axes, together: a transform takes about so many multiply-adds for each of its vectors. */
static double along(const pz_query *q, const variant *v) {
  double sum = 0;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (v->m[i] > 1) sum += v->m[i] + (double)q->problem->attr.conv.kernel[i] - 1;
  return sum;
}

static void work(const pz_query *q, pz_work *w) {
  const pz_shape5 in = pz_shape_as5(&q->problem->in[PZ_CONV_X].shape);
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const variant v = variant_of(q);
  const double blocks_in = vectors_of(q, &v, in.c), blocks_out = vectors_of(q, &v, out.c),
               vector = 4.0 * q->target->block, l2 = (double)pz_conv_machine_of(q->target).l2;
  const double tiles = tiles_of(q, &v), points = points_of(q, &v);
  const double batch = batch_of(q, &v, tiles), batches = ceil(tiles / batch);
  const double weights = (double)in.c * blocks_out, packed = packed_part(q, &v),
               bytes = weights * points * packed * vector;
  const double kept = v.sliced ? v.m[2] / (v.m[2] + (double)q->problem->attr.conv.kernel[2] - 1) : 1,
               slots = points * batch * kept * (blocks_in > blocks_out ? blocks_in : blocks_out) * vector;
  const pz_winograd_costs *t = pz_target_winograd(q->target);
  const double passes = points * batches * weights;
  w->of[v.nonfused ? PZ_TERM_winograd_products_nonfused : PZ_TERM_winograd_products] =
      passes * (has_pairs(q) ? t->product : PRODUCT) * batch;
  if (bytes > FAR_WEIGHTS) w->of[PZ_TERM_winograd_memory] = passes * packed * MEMORY_WEIGHTS;
  else if (bytes + slots > l2) w->of[PZ_TERM_winograd_level3] = passes * packed * LEVEL3_WEIGHTS;
  else w->of[PZ_TERM_winograd_level2] = passes * packed * LEVEL2_WEIGHTS;
  if (v.small)
    w->of[PZ_TERM_winograd_small] =
        passes * (SMALL_WEIGHTS + SMALL_COLUMN / (v.m[0] + q->problem->attr.conv.kernel[0] - 1));
  else if (packed < 1) w->of[PZ_TERM_winograd_on_use] = passes * ON_USE;
  const double outside = v.sliced     ? (1 + t->outside_level2) / 2
                         : v.nonfused ? fmin(ONCE_OUTSIDE, t->outside_level2)
                                      : t->outside_level2,
               crowding = v.sliced ? 1 : 1 + t->crowded * fmax(0, points - t->room);
  const bool far = slots > l2 / 2;
  const double each = points * tiles * (far ? outside : 1) * crowding;
  const pz_cost_term in_term = v.sliced     ? PZ_TERM_winograd_inputs_sliced
                               : v.nonfused ? PZ_TERM_winograd_inputs_nonfused
                               : far        ? PZ_TERM_winograd_inputs_outside
                                            : PZ_TERM_winograd_inputs,
                     out_term = v.sliced     ? PZ_TERM_winograd_outputs_sliced
                                : v.nonfused ? PZ_TERM_winograd_outputs_nonfused
                                : far        ? PZ_TERM_winograd_outputs_outside
                                             : PZ_TERM_winograd_outputs;
  w->of[in_term] = each * blocks_in * t->input;
  w->of[out_term] = each * blocks_out * t->output;
  w->of[PZ_TERM_winograd_along_in] = points * tiles * blocks_in * along(q, &v);
  w->of[PZ_TERM_winograd_along_out] = points * tiles * blocks_out * along(q, &v);
  const double bytes_in = 4 * (double)pz_shape_elements(&q->problem->in[PZ_CONV_X].shape);
  const int32_t workers = q->target->workers > 0 ? q->target->workers : 1;
  if (bytes_in > l2 * workers)
    w->of[PZ_TERM_winograd_halo] = bytes_in / 64 * (points / (v.m[0] * v.m[1] * v.m[2]) - 1);
  w->of[PZ_TERM_winograd_positions] = points * batches;
  w->of[PZ_TERM_winograd_barriers] = v.nonfused;
}

/* Groups of blocks of channels out that nonfused products share, by the schedule of their products. */
static double groups_of(const pz_query *q, const variant *v) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  pz_conv_direct_shape conv = {.in = {.c = (int32_t)pz_conv_cin(q), .block = q->target->block}};
  conv.out = (pz_view){.n = (int32_t)out.n,
                       .c = (int32_t)out.c,
                       .d = (int32_t)out.s[0],
                       .h = (int32_t)out.s[1],
                       .w = (int32_t)out.s[2],
                       .block = q->target->block};
  memcpy(conv.kernel, q->problem->attr.conv.kernel, sizeof conv.kernel);
  const pz_winograd_shape s = shape_for(q, v->low_memory, &conv);
  return pz_conv_outer_groups(&s.product).count;
}

/* Pieces are batches; nonfused, what pz_winograd_positions shares. */
static double uneven(const pz_query *q) {
  const variant v = variant_of(q);
  const double tiles = tiles_of(q, &v);
  if (q->target->workers < 2) return 1;
  if (!v.nonfused) return pz_uneven(ceil(tiles / batch_of(q, &v, tiles)), q->target->workers);
  double together = 1;
  if (on_use_axes(q, &v))
    for (int i = 1; i >= 0; i--)
      if (v.m[i] > 1) together = v.m[i] + (double)q->problem->attr.conv.kernel[i] - 1;
  return pz_uneven(points_of(q, &v) / together * groups_of(q, &v), q->target->workers);
}

/* Nothing is left to be converted. */
static void work_plain(const pz_query *q, pz_work *w) {
  work(q, w);
  for (int i = 0; i < PZ_COST_TERMS; i++)
    if (pz_cost_family_of((pz_cost_term)i) == PZ_FAMILY_winograd) w->of[i] *= 0.98;
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  const variant v = variant_of(q);
  snprintf(label, PZ_LABEL_TEXT,
           v.small      ? "Winograd F(%d,%d,%d), nonfused, all %d, small weights"
           : v.sliced   ? "Winograd F(%d,%d,%d), batches of %d in slices"
           : v.nonfused ? "Winograd F(%d,%d,%d), nonfused, all %d"
                        : "Winograd F(%d,%d,%d), batches of %d",
           v.m[0], v.m[1], v.m[2], batch_of(q, &v, tiles_of(q, &v)));
  *error = error_of(q, v.m);
}

static void describe_plain(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  describe(q, label, error);
  const size_t end = strlen(label);
  snprintf(label + end, PZ_LABEL_TEXT - end, ", to NCHW");
}

static int32_t tile_rows(const pz_query *q) {
  const variant v = variant_of(q);
  return v.m[1];
}

static double weight_bytes(const pz_query *q) {
  const variant v = variant_of(q);
  const double taken = has_pairs(q) ? points_of(q, &v) * (double)q->problem->out[0].shape.dim[1] : 0;
  return 4 * (points_of(q, &v) * packed_part(q, &v) * weight_pairs(q, &v) + taken);
}

const pz_solver pz_solver_winograd = {.name = "Winograd",
                                      .op = PZ_OP_CONV,
                                      .in = PZ_NCHWC,
                                      .out = PZ_NCHWC,
                                      .applies = applies,
                                      .family = PZ_FAMILY_winograd,
                                      .work = work,
                                      .uneven = uneven,
                                      .emit = build,
                                      .overwrites = pz_conv_overwrites,
                                      .variants = VARIANTS,
                                      .vary = vary,
                                      .describe = describe,
                                      .tile_rows = tile_rows,
                                      .weight_bytes = weight_bytes,
                                      .pools = pools,
                                      .normalises = normalises,
                                      .caps = PZ_CAP_CHANNELS_LAST};
const pz_solver pz_solver_winograd_to_nchw = {.name = "Winograd to NCHW",
                                              .op = PZ_OP_CONV,
                                              .in = PZ_NCHWC,
                                              .out = PZ_NCHW,
                                              .applies = applies_plain,
                                              .family = PZ_FAMILY_winograd,
                                              .work = work_plain,
                                              .uneven = uneven,
                                              .emit = build,
                                              .overwrites = pz_conv_overwrites,
                                              .variants = VARIANTS,
                                              .vary = vary,
                                              .describe = describe_plain,
                                              .tile_rows = tile_rows,
                                              .weight_bytes = weight_bytes,
                                              .normalises = normalises};
