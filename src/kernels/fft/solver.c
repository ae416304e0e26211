/* solver.c: convolution by Fourier transforms of tiles (kernels/fft). Variants: the size of a tile, one for all axes. */
#include "base/memory.h"
#include "kernels/conv/solver.h"
#include "kernels/fft/pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- variants ---- */

static const int32_t sizes[] = {8, 12, 16, 24, 32, 64};
enum { VARIANTS = 6 };

#define LEAST_KERNEL 5           /* along one axis at least; smaller ones are minimal filtering's */
#define BATCH        12          /* tiles at most; more leave the caches (doc/notes/2026-11-21-fft.md) */
#define MOST_SLOTS   (64 << 20)  /* bytes of a batch's transformed inputs */
#define MOST_WEIGHTS (256 << 20) /* bytes of transformed weights */

/* The smallest size that holds a whole row, but no more than `most`. */
static int32_t size_of(int32_t most, int64_t row) {
  int32_t i = 0;
  while (sizes[i] < most && sizes[i] < row) i++;
  return sizes[i];
}

/* A shape with what costs depend on; the views have sizes alone. False: tiles would be too small. */
static bool outline(const pz_query *q, pz_fft_shape *s) {
  const pz_shape5 in = pz_shape_as5(&q->problem->in[PZ_CONV_X].shape),
                  out = pz_shape_as5(&q->problem->out[0].shape);
  const int32_t *kernel = q->problem->attr.conv.kernel;
  *s = (pz_fft_shape){.conv = {.phases = 1, .groups = 1}};
  s->conv.in = (pz_view){.c = (int32_t)in.c, .block = q->target->block};
  s->conv.out = (pz_view){.n = (int32_t)out.n,
                          .c = (int32_t)out.c,
                          .d = (int32_t)out.s[0],
                          .h = (int32_t)out.s[1],
                          .w = (int32_t)out.s[2],
                          .block = q->target->block};
  for (int i = 0; i < PZ_SPATIAL; i++) {
    s->conv.kernel[i] = kernel[i];
    s->size[i] = kernel[i] > 1 ? size_of(q->parameters.of[0], out.s[i] + kernel[i] - 1) : 1;
    if (kernel[i] > 1 && s->size[i] <= kernel[i]) return false;
  }
  /* an even number of equal batches: work for two */
  const int64_t tiles = pz_fft_all_tiles(s), batches = (tiles + 2 * BATCH - 1) / (2 * BATCH) * 2;
  pz_fft_schedule(s, pz_conv_machine_of(q->target).registers, (int32_t)((tiles + batches - 1) / batches));
  return true;
}

/* ---- calls ---- */

static pz_status pack(const pz_fft_shape *s, const float *weights, float *packed, pz_error *err) {
  const size_t bytes = (size_t)pz_fft_pack_doubles(s) * sizeof(double);
  double *work = pz_memory_allows(bytes) ? malloc(bytes) : NULL;
  if (!work) return pz_fail_memory(err, "transformed weights", bytes);
  pz_fft_pack(s, weights, work, packed);
  free(work);
  return PZ_OK;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  pz_fft_shape s;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  outline(q, &s);
  const int32_t kb = s.conv.kb, rw = s.conv.rw;
  s.conv = pz_conv_shape_of(q, &p);
  s.conv.kb = kb, s.conv.rw = rw;
  s.conv.stats_units = 1; /* batches are of one sample then */
  const int64_t units = pz_fft_batches(&s);
  s.conv.stats_units = 0;
  PZ_TRY(pz_conv_collect_stats(q, b, &s.conv, units, &p, err));
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_fft_weight_floats(&s), &weights, &packed, err));
  if (!b->unpacked && !b->dry) PZ_TRY(pack(&s, q->problem->in[PZ_CONV_WEIGHT].data, packed, err));
  pz_text shape = {0};
  pz_text_fft(&shape, &s);
  b->step->multiply_adds_done =
      4.0 * (double)pz_fft_all_tiles(&s) * pz_fft_frequencies(&s) * s.conv.in.c * s.conv.out.c;
  PZ_TRY(pz_set_algorithm(b, err, "FFT, tiles of %dx%dx%d, batches of %d, %d blocks x %d tiles", s.size[0],
                          s.size[1], s.size[2], s.batch, kb, rw));
  return pz_conv_add_scratch_call(b, &p, weights, PZ_F32, "kernels/fft/fft.h", "pz_fft", &shape, true,
                                  pz_fft_scratch(&s), err);
}

/* ---- which applies ---- */

/* Relative L2 error of a layer of random values: of the transforms, and of sums over channels (doc/algorithm-fft.md). */
static double error_of(const pz_fft_shape *s) { return 1e-7 * sqrt(3.3 + 0.05 * s->conv.in.c); }

static double weight_bytes(const pz_query *q) {
  pz_fft_shape s;
  outline(q, &s);
  return 8.0 * pz_conv_weight_pairs(q) * s.size[0] * s.size[1] * pz_fft_half(&s);
}

static double slot_bytes(const pz_fft_shape *s) {
  return 4.0 * (double)pz_fft_slot(s) * s->size[0] * s->size[1] * pz_fft_half(s);
}

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  bool large = false;
  pz_fft_shape s;
  if (a->group != 1 || a->kernel[1] == 1 || a->kernel[2] == 1) return false;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
    large |= a->kernel[i] >= LEAST_KERNEL;
  }
  return large && outline(q, &s) && slot_bytes(&s) <= MOST_SLOTS && weight_bytes(q) <= MOST_WEIGHTS;
}

/* In vector multiply-adds at peak, from bench_fft on a core with AVX-512 (doc/notes/2026-11-21-fft.md): what a complex vector costs on
 * its way in along an axis of each size, and in parts of that on its way out; a product; all of them where a batch and its
 * weights do not stay near level 2; a vector of weights that comes from level 3 or from memory while products wait for it. */
static const double along[] = {12, 24, 26, 29, 31, 36};
#define OUTPUT         0.75
#define PRODUCT        1.05
#define OUTSIDE        1.25
#define LEVEL3_WEIGHTS 14.0
#define MEMORY_WEIGHTS 24.0
#define MANY_WEIGHTS   (16 << 20) /* bytes that do not stay in level 3 from run to run */

/* Of a complex vector through all axes. */
static double way_in(const pz_fft_shape *s) {
  double cost = 0;
  for (int i = 0; i < PZ_SPATIAL; i++)
    for (int k = 0; k < VARIANTS; k++)
      if (sizes[k] == s->size[i]) cost += along[k];
  return cost;
}

static void work(const pz_query *q, pz_work *w) {
  pz_fft_shape s;
  if (!outline(q, &s)) return;
  const double in = pz_fft_blocks(s.conv.in.c, q->target->block),
               out = pz_fft_blocks(s.conv.out.c, q->target->block);
  const double frequencies = (double)s.size[0] * s.size[1] * pz_fft_half(&s),
               tiles = (double)pz_fft_all_tiles(&s), passes = ceil(tiles / s.batch);
  const double vectors = 2.0 * s.conv.in.c * out * frequencies, bytes = 4.0 * q->target->block * vectors;
  const bool outside = bytes + slot_bytes(&s) > 2.0 * (double)pz_conv_machine_of(q->target).l2;
  const double far = outside ? OUTSIDE : 1, product = 2.0 * s.batch * PRODUCT * far;
  const double stream = bytes > MANY_WEIGHTS ? MEMORY_WEIGHTS : outside ? LEVEL3_WEIGHTS : 0;
  w->of[outside ? PZ_TERM_fft_transforms_outside : PZ_TERM_fft_transforms] =
      tiles * frequencies * way_in(&s) * (in + out * OUTPUT) * far;
  if (stream > product) w->of[PZ_TERM_fft_waits] = passes * vectors * stream;
  else w->of[outside ? PZ_TERM_fft_products_outside : PZ_TERM_fft_products] = passes * vectors * product;
}

/* Pieces are batches. */
static double uneven(const pz_query *q) {
  pz_fft_shape s;
  return outline(q, &s) ? pz_uneven((double)pz_fft_batches(&s), q->target->workers) : 1;
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  pz_fft_shape s;
  outline(q, &s);
  snprintf(label, PZ_LABEL_TEXT, "FFT, tiles of %dx%dx%d, batches of %d", s.size[0], s.size[1], s.size[2],
           s.batch);
  *error = error_of(&s);
}

static int32_t tile_rows(const pz_query *q) {
  pz_fft_shape s;
  outline(q, &s);
  return pz_fft_outputs(&s, 1);
}

const pz_solver pz_solver_fft = {.name = "FFT",
                                 .op = PZ_OP_CONV,
                                 .in = PZ_NCHWC,
                                 .out = PZ_NCHWC,
                                 .applies = applies,
                                 .family = PZ_FAMILY_fft,
                                 .work = work,
                                 .uneven = uneven,
                                 .emit = build,
                                 .overwrites = pz_conv_overwrites,
                                 .variants = VARIANTS,
                                 .choices = sizes,
                                 .describe = describe,
                                 .tile_rows = tile_rows,
                                 .weight_bytes = weight_bytes,
                                 .most_error = 0.5};
