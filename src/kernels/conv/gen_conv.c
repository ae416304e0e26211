/* gen_conv: prints specialised instances of the convolution kernels: `gen_conv KIND S REGISTERS [COUNT SEED]`.
 * KIND: a row of `kinds` below. Tests and benchmarks include what it prints. */
#define PZ_CONV_STRIP_POINTS 32 /* as the tests have it: several strips even in small tensors */
#include "kernels/conv/instance.h"
#include "kernels/conv_depthwise/pack.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/conv_direct/schedule.h"
#include "kernels/conv_dot/pack.h"
#include "kernels/conv_dot/tail.h"
#include "kernels/deconv/deconv.h"
#include "kernels/norm/shape.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

typedef struct generator {
  int32_t s;
  pz_conv_machine machine;
  pz_test_random random;
} generator;

/* ---- printing ---- */

/* Kernels that collect moments do so into records from unit `unit` on. */
static void print_statistics(const char *kernel, const pz_conv_direct_shape *s, int32_t unit) {
  if (strcmp(kernel, "pz_conv_direct") && strcmp(kernel, "pz_conv_depthwise")) return;
  if (s->stats_units) printf("o->norm_stats + %d * 5 * PZ_S, ", unit);
  else printf("NULL, ");
}

/* As src/plan/shape_text.c does. */
static void print_int(const int32_t *x) { printf("%d, ", *x); }
static void print_long(const int64_t *x) { printf("%lld, ", (long long)*x); }
static void print_float(const float *x) { printf("%af, ", (double)*x); }
static void print_ints(const int32_t *x, int32_t n) {
  printf("{");
  for (int32_t i = 0; i < n; ++i) print_int(x + i);
  printf("}, ");
}
#define print_size          print_int
#define print_sizes         print_ints
#define print_span          print_long
#define ONE(type, name)     print_##type(&v->name);
#define MANY(type, name, n) print_##type##s(v->name, n);
static void print_view(const pz_view *v) {
  printf("{");
  PZ_VIEW_FIELDS(ONE, MANY)
  printf("},\n  ");
}
#undef ONE
#undef MANY

#define ONE(type, name)                                                                                      \
  printf(".%s = ", #name);                                                                                   \
  print_##type(&s->name);
#define MANY(type, name, n)                                                                                  \
  printf(".%s = ", #name);                                                                                   \
  print_##type##s(s->name, n);
static void print_shape(const pz_conv_direct_shape *s) {
  printf("{");
  PZ_CONV_DIRECT_FIELDS(ONE, MANY)
  printf("}");
}

static void print_run(const generator *g, int32_t index, const char *kernel, const pz_conv_direct_shape *s) {
  (void)g;
  printf("static __attribute__((noinline)) void run_%d(const conv_operands *o, int32_t worker, int32_t "
         "workers) {\n",
         index);
  printf("  %s((pz_conv_direct_shape)", kernel);
  print_shape(s);
  printf(",\n  o->in, o->weights, o->bias, o->residual, o->residual_scale, o->slope, o->out, ");
  print_statistics(kernel, s, 0);
  printf("worker, workers);\n}\n");
}

/* As the solver does: two calls where a tail is cut off, its packed weights behind the others. */
static void print_cut(const generator *g, int32_t index, const char *kernel, const pz_conv_direct_shape *s) {
  pz_conv_direct_shape whole = *s;
  pz_conv_tail tail;
  if (!pz_conv_cut_tail(&whole, &tail)) {
    print_run(g, index, kernel, s);
    return;
  }
  pz_conv_direct_schedule(&whole, &g->machine);
  pz_conv_dot_schedule(&tail.shape, g->machine.registers);
  printf("static __attribute__((noinline)) void run_%d(const conv_operands *o, int32_t worker, int32_t "
         "workers) {\n  %s((pz_conv_direct_shape)",
         index, kernel);
  print_shape(&whole);
  printf(",\n  o->in, o->weights, o->bias, NULL, NULL, NULL, o->out, NULL, worker, workers);\n"
         "  pz_conv_dot((pz_conv_direct_shape)");
  print_shape(&tail.shape);
  printf(
      ",\n  o->in, o->weights + %lld, o->bias + %d, NULL, NULL, NULL, o->out + %lld, worker, workers);\n}\n",
      (long long)pz_conv_direct_weight_floats(&whole), tail.first, (long long)tail.out_offset);
}

typedef struct problem {
  char name[64];
  pz_conv_direct_shape shape;
  conv_extent room[CONV_TENSORS];
} problem;

static void print_table(const problem *p, int32_t count) {
  printf("static const conv_instance instances[] = {\n");
  for (int32_t i = 0; i < count; ++i) {
    printf("{\"%s\", ", p[i].name);
    print_shape(&p[i].shape);
    printf(", {");
    for (int32_t t = 0; t < CONV_TENSORS; ++t)
      printf("{%lld, %lld}, ", (long long)p[i].room[t].floats, (long long)p[i].room[t].origin);
    printf("}, run_%d},\n", i);
  }
  printf("};\n");
}

/* ---- storage ---- */

/* Strides for storage with the view's border, `around` more points and blocks on either side, and points that lie
 * `spread` blocks apart; h_major: a row of all blocks and planes in front of the next row. */
static conv_extent place(pz_view *v, const int32_t lo[4], const int32_t hi[4], int32_t spread, bool h_major) {
  int64_t size[3] = {v->d, v->h, v->w};
  if (!v->c) return (conv_extent){0, 0};
  for (int i = 0; i < 3; ++i) size[i] += v->border_lo[i] + v->border_hi[i] + lo[i + 1] + hi[i + 1];
  const int64_t blocks = v->channels_last ? 1 : pz_test_blocks(v) + lo[0] + hi[0];
  v->stride_w = v->channels_last ? lo[0] + v->c + hi[0] : (int64_t)v->block * spread;
  const int64_t row = v->stride_w * size[2];
  v->stride_d = h_major ? row : row * size[1], v->stride_c = v->stride_d * size[0];
  v->stride_h = h_major ? v->stride_c * blocks : row;
  v->stride_n = row * size[1] * size[0] * blocks;
  int64_t origin = lo[0] * (v->channels_last ? 1 : v->stride_c);
  if (v->channels_last) v->stride_c = v->block;
  origin += (v->border_lo[0] + lo[1]) * v->stride_d + (v->border_lo[1] + lo[2]) * v->stride_h;
  return (conv_extent){v->stride_n * v->n, origin + (v->border_lo[2] + lo[3]) * v->stride_w};
}

static conv_extent place_dense(pz_view *v) {
  const int32_t none[4] = {0};
  return place(v, none, none, 1, false);
}

static conv_extent place_random(generator *g, pz_view *v, int32_t spread) {
  int32_t lo[4] = {0}, hi[4] = {0};
  for (int i = 0; i < 4; ++i)
    lo[i] = pz_test_int(&g->random, 0, 3) / 3, hi[i] = pz_test_int(&g->random, 0, 2);
  return place(v, lo, hi, spread, pz_test_int(&g->random, 0, 2) == 0);
}

/* The zero border that the windows need, and `more` of it. */
static void border_for(pz_conv_direct_shape *s, const int32_t out[3], int32_t more) {
  int32_t size[3] = {s->in.d, s->in.h, s->in.w};
  for (int i = 0; i < 3; ++i) {
    int32_t last = (out[i] - 1) * s->stride[i] + (s->kernel[i] - 1) * s->dilation[i] - s->pad[i];
    s->in.border_lo[i] = s->pad[i] + more;
    s->in.border_hi[i] = (last >= size[i] ? last - size[i] + 1 : 0) + more;
  }
}

/* ---- benchmark ---- */

typedef struct bench_row {
  const char *name;
  int32_t c, k, size[3], kernel[3];
} bench_row;

static const bench_row bench_rows[] = {
#include "bench_rows.inc"
};

static problem bench_problem(const generator *g, const bench_row *row) {
  problem p = {.shape = {.groups = 1, .phases = 1, .act = PZ_K_ACT_RELU, .has_bias = 1}};
  pz_conv_direct_shape *s = &p.shape;
  snprintf(p.name, sizeof p.name, "%s", row->name);
  for (int i = 0; i < 3; ++i)
    s->kernel[i] = row->kernel[i], s->stride[i] = s->dilation[i] = 1, s->pad[i] = row->kernel[i] / 2;
  s->in = (pz_view){.n = 1, .c = row->c, .d = row->size[0], .h = row->size[1], .w = row->size[2]};
  s->out = s->in;
  s->in.block = row->c < g->s ? 1 : g->s, s->out.block = g->s, s->out.c = row->k;
  border_for(s, row->size, 0);
  p.room[CONV_IN] = place_dense(&s->in), p.room[CONV_OUT] = place_dense(&s->out);
  pz_conv_direct_schedule(s, &g->machine);
  return p;
}

static int32_t make_bench(generator *g, problem *p, int32_t count) {
  int32_t rows = (int32_t)(sizeof bench_rows / sizeof *bench_rows);
  (void)count;
  for (int32_t i = 0; i < rows; ++i) p[i] = bench_problem(g, &bench_rows[i]);
  return rows;
}

/* ---- random problems ---- */

static int32_t odd_channels(generator *g) {
  static const int32_t some[] = {1, 3, 4, 7, 8, 9, 12, 15, 16, 17, 24, 28, 32, 36, 40};
  return some[pz_test_int(&g->random, 0, (int32_t)(sizeof some / sizeof *some) - 1)];
}

/* Mostly 1, else up to `most`. */
static int32_t seldom(generator *g, int32_t most) {
  return pz_test_int(&g->random, 0, 2) ? 1 : pz_test_int(&g->random, 1, most);
}

static int32_t span(const pz_conv_direct_shape *s, int i) { return (s->kernel[i] - 1) * s->dilation[i] + 1; }

/* Kernel, stride, dilation, padding; sizes of in and out that go with them. */
static void random_windows(generator *g, pz_conv_direct_shape *s) {
  pz_test_random *r = &g->random;
  int32_t out[3], in[3];
  for (int i = 0; i < 3; ++i) {
    s->kernel[i] = pz_test_int(r, 0, 1) ? 3 : pz_test_int(r, 1, i ? 5 : 3);
    s->stride[i] = seldom(g, 3), s->dilation[i] = seldom(g, 2);
    s->pad[i] = pz_test_int(r, 0, span(s, i) / 2);
    out[i] = pz_test_int(r, 1, i == 2 ? 19 : 5);
    in[i] = (out[i] - 1) * s->stride[i] + span(s, i) - s->pad[i] - pz_test_int(r, 0, s->pad[i]);
    if (in[i] < 1) in[i] = 1;
  }
  s->in.d = in[0], s->in.h = in[1], s->in.w = in[2];
  s->out.d = out[0], s->out.h = out[1], s->out.w = out[2];
  border_for(s, out, pz_test_int(r, 0, 2));
}

static void random_point(generator *g, pz_conv_direct_shape *s) {
  for (int i = 0; i < 3; ++i) s->kernel[i] = s->stride[i] = s->dilation[i] = 1, s->pad[i] = 0;
  s->out.d = pz_test_int(&g->random, 1, 3), s->out.h = pz_test_int(&g->random, 1, 7);
  s->out.w = pz_test_int(&g->random, 1, 19);
  s->in.d = s->out.d, s->in.h = s->out.h, s->in.w = s->out.w;
}

static void random_epilogue(generator *g, pz_conv_direct_shape *s) {
  pz_test_random *r = &g->random;
  do s->act = pz_test_int(r, 0, PZ_K_ACT_COUNT - 1);
  while (!pz_test_smooth(s->act));
  s->alpha = pz_test_int(r, 0, 1) ? pz_test_float(r, 0, 1.5f) : 0.0f;
  s->beta = s->alpha + pz_test_float(r, 0, 1.5f);
  s->has_bias = pz_test_int(r, 0, 3) > 0, s->stream = pz_test_int(r, 0, 3) == 0;
  if (pz_test_int(r, 0, 1)) s->residual = s->out, s->has_residual_scale = pz_test_int(r, 0, 1);
}

static void place_all(generator *g, problem *p, int32_t spread) {
  pz_conv_direct_shape *s = &p->shape;
  bool dense = pz_test_int(&g->random, 0, 3) == 0 && spread == 1;
  p->room[CONV_IN] = dense ? place_dense(&s->in) : place_random(g, &s->in, 1);
  p->room[CONV_OUT] = dense ? place_dense(&s->out) : place_random(g, &s->out, spread);
  p->room[CONV_RESIDUAL] = dense ? place_dense(&s->residual) : place_random(g, &s->residual, spread);
}

static void name_it(problem *p, int32_t index) {
  const pz_conv_direct_shape *s = &p->shape;
  snprintf(p->name, sizeof p->name, "%d: %d-%d /%d %dx%dx%d", index, s->in.c, s->out.c, s->groups,
           s->kernel[0], s->kernel[1], s->kernel[2]);
}

static problem random_start(generator *g, int32_t in_block, int32_t out_block) {
  problem p = {.shape = {.groups = 1, .phases = 1}};
  p.shape.in = (pz_view){.n = seldom(g, 3), .c = odd_channels(g), .block = in_block};
  p.shape.out = (pz_view){.n = p.shape.in.n, .c = odd_channels(g), .block = out_block};
  return p;
}

/* Dense and grouped; NCHWc and NCHW inputs; one block of results; phases side by side; points that lie apart. */
static int32_t make_direct(generator *g, problem *p, int32_t count) {
  pz_conv_machine machine = g->machine;
  for (int32_t i = 0; i < count; ++i) {
    p[i] = random_start(g, g->s, g->s);
    pz_conv_direct_shape *s = &p[i].shape;
    if (i % 4 == 0) s->out.c = (s->out.c - 1) % g->s + 1;
    if (i % 4 == 1) s->in.block = 1, s->in.c = pz_test_int(&g->random, 1, 5);
    if (i % 4 == 2) s->groups = pz_test_int(&g->random, 2, 4);
    s->in.c = i % 4 == 2 ? s->in.c / 2 * s->groups + s->groups : s->in.c;
    s->out.c = i % 4 == 2 ? s->out.c / 2 * s->groups + s->groups : s->out.c;
    if (i % 8 == 3) s->phases = pz_test_int(&g->random, 2, 3);
    if (i % 3) random_windows(g, s);
    else random_point(g, s);
    random_epilogue(g, s);
    place_all(g, &p[i], s->phases > 1 ? s->phases : seldom(g, 2));
    machine.rank = i / 2 % PZ_CONV_RANKS;
    pz_conv_direct_schedule(s, &machine);
    if (i % 2) s->c_chunk = pz_test_int(&g->random, 1, s->c_chunk);
    if (i % 3 != 1) s->stats_units = 1, s->stats_units = pz_conv_units(s);
    name_it(&p[i], i);
  }
  return count;
}

/* Few out channels: a NCHW output, or one block. */
static int32_t make_dot(generator *g, problem *p, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    p[i] = random_start(g, g->s, i % 2 ? g->s : 1);
    p[i].shape.out.c = pz_test_int(&g->random, 1, i % 2 ? g->s : 6);
    random_windows(g, &p[i].shape);
    random_epilogue(g, &p[i].shape);
    place_all(g, &p[i], seldom(g, 2));
    pz_conv_dot_schedule(&p[i].shape, g->machine.registers);
    name_it(&p[i], i);
  }
  return count;
}

static int32_t units_of(const pz_conv_direct_shape *s, bool depthwise) {
  return depthwise ? (int32_t)pz_norm_units(&s->out) : pz_conv_units(s);
}

static int32_t make_depthwise(generator *g, problem *p, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    p[i] = random_start(g, g->s, g->s);
    p[i].shape.out.c = p[i].shape.groups = p[i].shape.in.c;
    random_windows(g, &p[i].shape);
    random_epilogue(g, &p[i].shape);
    place_all(g, &p[i], seldom(g, 2));
    if (i % 2) p[i].shape.stats_units = units_of(&p[i].shape, true);
    pz_conv_depthwise_schedule(&p[i].shape, g->machine.registers);
    name_it(&p[i], i);
  }
  return count;
}

/* ---- deconvolutions ---- */

static void random_deconv(generator *g, pz_conv_direct_shape *s, int32_t index) {
  pz_test_random *r = &g->random;
  const bool plain = index % 3 == 0; /* kernel = stride */
  int32_t in[3], out[3];
  if (plain) s->ahead = index / 3 % 3;
  for (int i = 0; i < 3; ++i) {
    s->stride[i] = pz_test_int(r, 1, 3), s->dilation[i] = plain ? 1 : seldom(g, 3);
    s->kernel[i] = plain ? s->stride[i] : pz_test_int(r, 1, 5), in[i] = pz_test_int(r, 1, i == 2 ? 12 : 4);
    if (index % 6 == 3 && i < 2) in[i] = 8 + i; /* more than PZ_CONV_MANY_ROWS */
    int32_t whole = s->stride[i] * (in[i] - 1) + span(s, i);
    s->pad[i] = plain ? 0 : pz_test_int(r, 0, (whole - 1) / 2 < 3 ? (whole - 1) / 2 : 3);
    out[i] = whole - s->pad[i] - (plain ? 0 : pz_test_int(r, 0, s->pad[i]));
    out[i] += plain ? 0 : pz_test_int(r, 0, s->stride[i] - 1);
  }
  s->in.d = in[0], s->in.h = in[1], s->in.w = in[2];
  s->out.d = out[0], s->out.h = out[1], s->out.w = out[2];
}

/* The border that the phases read, and not a point more. */
static void border_for_phases(pz_conv_direct_shape *s) {
  pz_deconv_phase p;
  for (int32_t i = 0; i < pz_deconv_phases(s, PZ_DECONV_EACH); ++i) {
    if (!pz_deconv_phase_of(s, PZ_DECONV_EACH, i, &p) || !p.shape.kernel[0]) continue;
    const int32_t out[3] = {p.shape.out.d, p.shape.out.h, p.shape.out.w},
                  size[3] = {s->in.d, s->in.h, s->in.w};
    for (int a = 0; a < 3; ++a) {
      int32_t low = p.shape.pad[a],
              high = out[a] + (p.shape.kernel[a] - 1) * p.shape.dilation[a] - low - size[a];
      if (low > s->in.border_lo[a]) s->in.border_lo[a] = low;
      if (high > s->in.border_hi[a]) s->in.border_hi[a] = high;
    }
  }
}

/* That all phases collect. */
static int32_t units_of_phases(const generator *g, const pz_conv_direct_shape *s, bool depthwise) {
  const pz_deconv_merge merge = depthwise ? PZ_DECONV_EACH : pz_deconv_merges(s);
  int32_t units = 0;
  pz_deconv_phase p;
  for (int32_t i = 0; i < pz_deconv_phases(s, merge); ++i) {
    if (!pz_deconv_phase_of(s, merge, i, &p)) continue;
    p.shape.stats_units = 1;
    if (!depthwise) pz_conv_direct_schedule(&p.shape, &g->machine);
    units += units_of(&p.shape, depthwise);
  }
  return units;
}

static void tighten(generator *g, pz_conv_direct_shape *s) {
  pz_view *const views[] = {&s->in, &s->out, &s->residual};
  for (int i = 0; i < 3; ++i) views[i]->channels_last = views[i]->c && pz_test_int(&g->random, 0, 2);
  s->stream &= !s->out.channels_last;
}

static int32_t make_deconv(generator *g, problem *p, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    p[i] = random_start(g, g->s, g->s);
    if (i % 4 == 1) p[i].shape.groups = 2, p[i].shape.in.c *= 2, p[i].shape.out.c *= 2;
    random_deconv(g, &p[i].shape, i);
    border_for_phases(&p[i].shape);
    random_epilogue(g, &p[i].shape);
    if (i % 4 == 0) tighten(g, &p[i].shape);
    place_all(g, &p[i], 1);
    p[i].shape.kb = p[i].shape.rw = p[i].shape.rh = 1;
    if (i % 2) p[i].shape.stats_units = units_of_phases(g, &p[i].shape, false);
    name_it(&p[i], i);
  }
  return count;
}

static int32_t make_deconv_depthwise(generator *g, problem *p, int32_t count) {
  make_deconv(g, p, count);
  for (int32_t i = 0; i < count; ++i) {
    pz_conv_direct_shape *s = &p[i].shape;
    s->out.c = s->groups = s->in.c, s->residual.c = s->residual.c ? s->in.c : 0;
    s->in.channels_last = s->out.channels_last = s->residual.channels_last = 0;
    place_all(g, &p[i], 1);
    s->stats_units = s->stats_units ? units_of_phases(g, s, true) : 0;
    name_it(&p[i], i);
  }
  return count;
}

/* One function for all phases of a deconvolution; their packed weights lie one behind the other. */
static void print_phases(const generator *g, int32_t index, const char *kernel,
                         const pz_conv_direct_shape *s) {
  const bool depthwise = strstr(kernel, "depthwise");
  const pz_deconv_merge merge = depthwise ? PZ_DECONV_EACH : pz_deconv_merges(s);
  int64_t weights = 0;
  int32_t unit = 0;
  printf("static __attribute__((noinline)) void run_%d(const conv_operands *o, int32_t worker, int32_t "
         "workers) {\n",
         index);
  for (int32_t i = 0; i < pz_deconv_phases(s, merge); ++i) {
    pz_deconv_phase p;
    if (!pz_deconv_phase_of(s, merge, i, &p)) continue;
    if (depthwise) pz_conv_depthwise_schedule(&p.shape, g->machine.registers);
    else pz_conv_direct_schedule(&p.shape, &g->machine);
    printf("  %s((pz_conv_direct_shape)", kernel);
    print_shape(&p.shape);
    printf(",\n  o->in, o->weights + %lld, o->bias, ", (long long)weights);
    if (s->residual.c) printf("o->residual + %lld, ", (long long)p.base_offset);
    else printf("NULL, ");
    printf("o->residual_scale, o->slope, o->out + %lld, ", (long long)p.out_offset);
    print_statistics(kernel, &p.shape, unit);
    printf("worker, workers);\n");
    unit += p.shape.stats_units ? units_of(&p.shape, depthwise) : 0;
    weights +=
        ((depthwise ? pz_conv_depthwise_weight_floats(&p.shape) : pz_conv_direct_weight_floats(&p.shape)) +
         15) /
        16 * 16;
  }
  printf("}\n");
}

/* ---- kinds ---- */

typedef struct kind {
  const char *name, *kernel;
  int32_t (*make)(generator *g, problem *p, int32_t count);
  void (*print)(const generator *g, int32_t index, const char *kernel, const pz_conv_direct_shape *s);
} kind;

static const kind kinds[] = {
    {"bench", "pz_conv_direct", make_bench, print_cut},
    {"direct", "pz_conv_direct", make_direct, print_run},
    {"dot", "pz_conv_dot", make_dot, print_run},
    {"depthwise", "pz_conv_depthwise", make_depthwise, print_run},
    {"deconv", "pz_conv_direct", make_deconv, print_phases},
    {"deconv_depthwise", "pz_conv_depthwise", make_deconv_depthwise, print_phases},
};

int main(int argc, char **argv) {
  static problem problems[256];
  generator g = {.machine = {.l1 = 32 << 10, .l2 = 1 << 20}};
  if (argc < 5) return fprintf(stderr, "usage: gen_conv KIND S REGISTERS LANES [COUNT SEED]\n"), 2;
  g.s = atoi(argv[2]), g.machine.registers = atoi(argv[3]), g.machine.lanes = atoi(argv[4]);
  g.random.state = argc > 6 ? (uint64_t)atoi(argv[6]) * 2654435761u + 1 : 1;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(argv[1], kinds[i].name)) continue;
    int32_t count = kinds[i].make(&g, problems, argc > 5 ? atoi(argv[5]) : 0);
    for (int32_t p = 0; p < count; ++p) kinds[i].print(&g, p, kinds[i].kernel, &problems[p].shape);
    printf("#define INSTANCES_KIND \"%s\"\n", kinds[i].name);
    print_table(problems, count);
    return 0;
  }
  return fprintf(stderr, "gen_conv: no such kind: %s\n", argv[1]), 2;
}
