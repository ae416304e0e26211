/* Exact tiles against the evaluation of the whole volume, in double precision: networks of all kinds of local layers, random sizes, tiles along all axes,
 * streams along z, axes left whole. What no tiles are made of is refused by name. */
#include "graph/locality.h"
#include "optimise/exact_tile.h"
#include "reference/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 88172645463325252u;
static int64_t pick(int64_t lo, int64_t hi) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return lo + (int64_t)(seed % (uint64_t)(hi - lo + 1));
}

/* D, H, W: the input's sizes, d, h, w half of them. */
static const char *const networks[] = {
    /* a U-Net with a skip */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%p = pool \"p\" %a kernel 1,2,2 stride 1,2,2\n"
    "%c = conv \"c\" %p, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%u = deconv \"u\" %c, %q kernel 1,2,2 stride 1,2,2\n"
    "%s = concat \"s\" %a, %u\n"
    "%y = conv \"y\" %s, %z, %b kernel 3,3,3 pad 1,1,1:1,1,1\n",
    /* pooled along all axes, summed, overlapping transposed */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
    "%p = pool \"p\" %a kernel 2,2,2 stride 2,2,2\n"
    "%c = conv \"c\" %p, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%u = deconv \"u\" %c, %t, %b kernel 4,4,4 stride 2,2,2 pad 1,1,1:1,1,1\n"
    "%s = eltwise \"s\" %a, %u\n"
    "%y = conv \"y\" %s, %v, %b, %a kernel 3,3,3 pad 1,1,1:1,1,1 act sigmoid\n",
    /* valid */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 act relu\n"
    "%y = conv \"y\" %a, %v, %b kernel 3,3,3\n",
    /* no join: any size; strided, then nearest up */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1 act relu\n"
    "%c = conv \"c\" %a, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1 dilation 1,1,1\n"
    "%d = deconv \"d\" %c, %v, %b kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1 output_pad 1,1,1\n"
    "%y = conv \"y\" %d, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1\n",
    /* maxima with padding and beyond the end; padding of its own */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1\n"
    "%m = pool \"m\" %a kernel 3,3,3 pad 1,1,1:1,1,1\n"
    "%e = pad \"e\" %m lo 0,0,1,0,2 hi 0,0,1,0,2 value 0.5\n"
    "%y = conv \"y\" %e, %v, %b kernel 3,1,5 pad 0,0,0:0,0,0\n",
    /* dilated, asymmetric padding, channels by the way */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 dilation 1,2,3 pad 2,1,3:0,3,3 act relu\n"
    "%l = softmax \"l\" %a\n"
    "%s1, %s2 = slice \"s\" %l begin 0,1,3\n"
    "%j = concat \"j\" %s2, %s1\n"
    "%y = conv \"y\" %j, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1\n",
    /* linear up, thrice along z, twice along y and x, and what it reads is read by others too */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%p = pool \"p\" %a kernel 3,2,2 stride 3,2,2\n"
    "%c = conv \"c\" %p, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%r = resize \"r\" %c kind linear size D,H,W\n"
    "%q2 = deconv \"q2\" %c, %t3 kernel 3,2,2 stride 3,2,2\n"
    "%e = eltwise \"e\" %r, %a\n"
    "%s = concat \"s\" %e, %q2\n"
    "%y = conv \"y\" %s, %z, %b kernel 3,3,3 pad 1,1,1:1,1,1\n",
    /* the same by positions from 0 on, of which y alone is resized */
    "%f = conv \"f\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1\n"
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 stride 1,2,1 pad 1,1,1:1,1,1\n"
    "%r = resize \"r\" %a kind linear size D,H,W coordinate asymmetric\n"
    "%s = eltwise \"s\" %f, %r\n"
    "%y = conv \"y\" %s, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1\n",
    /* averages of what is inside, with another reader beside, and strided */
    "%a = conv \"a\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1\n"
    "%m = pool \"m\" %a kind ave kernel 3,5,3 pad 1,2,1:1,2,1 divisor valid\n"
    "%n = pool \"n\" %m kind ave kernel 3,3,2 stride 1,2,2 pad 1,1,0:1,1,0 divisor valid\n"
    "%u = resize \"u\" %n size D,H,W coordinate asymmetric rounding floor\n"
    "%s = eltwise \"s\" %u, %a\n"
    "%y = conv \"y\" %s, %v, %b kernel 3,3,3 pad 1,1,1:1,1,1\n",
};
enum { NETWORKS = sizeof networks / sizeof *networks };

static pz_graph *network(int kind, const int64_t size[3]) {
  static const char constants[] =
      "const %w 3x2x3x3x3 = seed 1 scale 0.4\nconst %v 3x3x3x3x3 = seed 2 scale 0.3\n"
      "const %z 3x6x3x3x3 = seed 3 scale 0.2\nconst %q 3x3x1x2x2 = seed 4 scale 0.6\n"
      "const %t 3x3x4x4x4 = seed 5 scale 0.3\nconst %b 3 = seed 6 scale 1\n"
      "const %t3 3x3x3x2x2 = seed 7 scale 0.5\n";
  char text[4096];
  pz_graph *g;
  pz_error err = {0};
  snprintf(text, sizeof text, "graph \"n\"\ninput %%x 1x2x%lldx%lldx%lld\n%s%soutput %%y\n",
           (long long)size[0], (long long)size[1], (long long)size[2], constants, networks[kind]);
  for (char *at; (at = strstr(text, "size D,H,W"));) {
    char sizes[64], rest[sizeof text];
    snprintf(sizes, sizeof sizes, "size %lld,%lld,%lld", (long long)size[0], (long long)size[1],
             (long long)size[2]);
    strcpy(rest, at + 10);
    snprintf(at, (size_t)(text + sizeof text - at), "%s%s", sizes, rest);
  }
  if (kind == 4) { /* its last kernel has another shape */
    char *at = strstr(text, "const %v 3x3x3x3x3");
    memcpy(at, "const %v 3x3x3x1x5", 18);
  }
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%d: %s", kind, err.message);
  return g;
}

static double *evaluate(const pz_graph *g, const float *const *in, pz_reference_visit visit, void *host) {
  const int64_t n = pz_shape_elements(&g->tensors[g->outputs[0]].shape);
  double *out = malloc((size_t)n * sizeof *out);
  pz_error err = {0};
  assert_non_null(out);
  if (pz_reference_run(g, in, &out, visit, host, &err) != PZ_OK) fail_msg("%s", err.message);
  return out;
}

/* What histories keep, by tensor. */
typedef struct memory {
  double **of;
} memory;

static pz_status remember(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  const memory *m = host;
  const pz_node_id n = pz_graph_producer(g, id);
  if (g->nodes[n].op != PZ_OP_HISTORY) return PZ_OK;
  const pz_shape *s = &g->tensors[id].shape;
  const int64_t plane = s->dim[3] * s->dim[4], planes = g->nodes[n].attr.history.planes, depth = s->dim[2],
                maps = s->dim[0] * s->dim[1];
  if (!m->of[id]) m->of[id] = calloc((size_t)(maps * planes * plane), sizeof(double));
  assert_non_null(m->of[id]);
  for (int64_t c = 0; c < maps; c++) {
    double *kept = m->of[id] + c * planes * plane, *at = values + c * depth * plane;
    memcpy(at, kept, (size_t)(planes * plane) * sizeof *at);
    memcpy(kept, at + (depth - planes) * plane, (size_t)(planes * plane) * sizeof *at);
  }
  return PZ_OK;
}

typedef struct volume {
  int64_t size[3], asked[3]; /* asked: what the tiles are told, rounded up where that must be */
  const float *voxels;
  const double *whole; /* of asked, of [3][result] */
  int64_t result[3];
} volume;

static float voxel(const volume *v, int64_t c, const int64_t at[3]) {
  for (int i = 0; i < 3; i++)
    if (at[i] < 0 || at[i] >= v->size[i]) return 0;
  return v->voxels[((c * v->size[0] + at[0]) * v->size[1] + at[1]) * v->size[2] + at[2]];
}

/* The result of a place beside the whole's. before: of a valid network, whose result begins there. */
static int64_t compare(const volume *v, const pz_exact_tile *t, const int64_t place[3],
                       const int64_t before[3], const double *got) {
  int64_t n = 0, at[3];
  for (int64_t c = 0; c < 3; c++)
    for (int64_t z = 0; z < t->out[0]; z++)
      for (int64_t y = 0; y < t->out[1]; y++)
        for (int64_t x = 0; x < t->out[2]; x++, got++) {
          const int64_t own[3] = {z, y, x};
          bool inside = true;
          for (int i = 0; i < 3; i++) {
            at[i] = place[i] + t->result[i] + own[i] - before[i];
            inside = inside && at[i] >= 0 && at[i] < v->result[i];
          }
          if (!inside) continue;
          const double want =
              v->whole[((c * v->result[0] + at[0]) * v->result[1] + at[1]) * v->result[2] + at[2]];
          if (!(fabs(*got - want) <= 1e-9 * (1 + fabs(want))))
            fail_msg("channel %lld, %lld, %lld, %lld: %.12g, the whole has %.12g", (long long)c,
                     (long long)at[0], (long long)at[1], (long long)at[2], *got, want);
          n++;
        }
  return n;
}

static void run_tiles(const volume *v, const pz_graph *g, const pz_exact_tile *t, const pz_locality *l) {
  int64_t count[3], compared = 0;
  float place[6];
  float *in = malloc((size_t)(2 * t->in[0] * t->in[1] * t->in[2]) * sizeof *in);
  assert_non_null(in);
  for (int i = 0; i < 3; i++) {
    const int64_t end = v->size[i] + l->before[i] - t->result[i];
    count[i] = t->way[i] == PZ_TILE_WHOLE ? 1 : (end + t->out[i] - 1) / t->out[i];
    place[3 + i] = (float)v->asked[i];
  }
  for (int64_t y = 0; y < count[1]; y++)
    for (int64_t x = 0; x < count[2]; x++) {
      memory kept = {calloc((size_t)g->n_tensors, sizeof *kept.of)};
      assert_non_null(kept.of);
      for (int64_t z = 0; z < count[0]; z++) {
        const int64_t at[3] = {z * t->out[0], y * t->out[1], x * t->out[2]};
        float *to = in;
        for (int64_t c = 0; c < 2; c++)
          for (int64_t d = 0; d < t->in[0]; d++)
            for (int64_t h = 0; h < t->in[1]; h++)
              for (int64_t w = 0; w < t->in[2]; w++)
                *to++ = voxel(v, c,
                              (const int64_t[3]){at[0] + t->first[0] + d, at[1] + t->first[1] + h,
                                                 at[2] + t->first[2] + w});
        for (int i = 0; i < 3; i++) place[i] = (float)at[i];
        double *out = evaluate(g, (const float *const[]){in, place}, remember, &kept);
        compared += compare(v, t, at, l->before, out);
        free(out);
      }
      for (int32_t k = 0; k < g->n_tensors; k++) free(kept.of[k]);
      free(kept.of);
    }
  int64_t all = 3;
  for (int i = 0; i < 3; i++)
    all *= v->result[i] < v->size[i] - 2 * l->before[i] ? v->result[i] : v->size[i] - 2 * l->before[i];
  assert_true(compared >= all);
  free(in);
}

static void check(int kind, const pz_exact_options *asked, const int64_t size[3]) {
  volume v;
  pz_locality l;
  pz_graph *tile;
  pz_exact_tile t;
  pz_exact_options o = *asked;
  pz_error err = {0};
  pz_graph *guess = network(kind, (const int64_t[3]){18, 18, 18});
  assert_int_equal(pz_graph_locality(guess, &l, NULL), PZ_OK);
  pz_graph_free(guess);
  for (int i = 0; i < 3; i++) {
    const int64_t stride = l.stride[i];
    v.size[i] = v.asked[i] = size[i];
    if (!l.any_size[i]) v.asked[i] = (size[i] + stride - 1) / stride * stride;
    o.out[i] = (o.out[i] + stride - 1) / stride * stride;
    if (o.way[i] == PZ_TILE_WHOLE) v.size[i] = v.asked[i];
  }
  pz_graph *g = network(kind, v.asked);
  float *voxels = malloc((size_t)(2 * v.asked[0] * v.asked[1] * v.asked[2]) * sizeof *voxels),
        *extended = malloc((size_t)(2 * v.asked[0] * v.asked[1] * v.asked[2]) * sizeof *voxels);
  assert_true(voxels && extended);
  pz_graph_random(3, 1, 2 * v.size[0] * v.size[1] * v.size[2], voxels);
  v.voxels = voxels;
  float *to = extended;
  for (int64_t c = 0; c < 2; c++)
    for (int64_t z = 0; z < v.asked[0]; z++)
      for (int64_t y = 0; y < v.asked[1]; y++)
        for (int64_t x = 0; x < v.asked[2]; x++) *to++ = voxel(&v, c, (const int64_t[3]){z, y, x});
  v.whole = evaluate(g, (const float *const[]){extended}, NULL, NULL);
  for (int i = 0; i < 3; i++) v.result[i] = g->tensors[g->outputs[0]].shape.dim[2 + i];
  if (pz_exact_tile_make(g, &o, &tile, &t, &err) != PZ_OK) fail_msg("%d: %s", kind, err.message);
  run_tiles(&v, tile, &t, &l);
  pz_graph_free(tile), pz_graph_free(g);
  free(voxels), free(extended), free((void *)(uintptr_t)v.whole);
}

static void test_tiles(void **state) {
  (void)state;
  for (int round = 0; round < 90; round++) {
    pz_exact_options o = {.way = {PZ_TILE_TILE, PZ_TILE_TILE, PZ_TILE_TILE}};
    int64_t size[3];
    for (int i = 0; i < 3; i++) o.out[i] = pick(1, 6), size[i] = pick(6, 15);
    check(round % NETWORKS, &o, size);
  }
}

static void test_streams(void **state) {
  (void)state;
  for (int round = 0; round < 90; round++) {
    pz_exact_options o = {.way = {PZ_TILE_STREAM, (pz_tile_way)pick(0, 1), (pz_tile_way)pick(0, 1)}};
    int64_t size[3];
    for (int i = 0; i < 3; i++) o.out[i] = pick(1, 5), size[i] = pick(6, 13);
    const int kind = round % NETWORKS;
    if (kind == 2) o.way[1] = o.way[2] = PZ_TILE_TILE;
    check(kind, &o, size);
  }
}

static void test_refused(void **state) {
  (void)state;
#define HEAD                                                                                                 \
  "graph \"n\"\ninput %x 1x2x8x8x8\nconst %w 2x2x3x3x3 = seed 1 scale 1\n%a = conv \"a\" %x, %w kernel "     \
  "3,3,3 pad 1,1,1:1,1,1\n"
  const struct {
    const char *text, *message;
  } rows[] = {
      {HEAD "%y = group_norm \"n\" %a groups 2\noutput %y\n",
       "takes statistics over all of space, so that no tile can be exact"},
      {HEAD "%y = pool \"p\" %a kind ave kernel 3,3,3 pad 1,1,1:1,1,1 ceil divisor caffe\noutput %y\n",
       "averages fewer values where windows end beyond the volume"},
      {HEAD "%p = pool \"p\" %a kernel 2,2,2 stride 2,2,2\n"
            "%y = resize \"y\" %p size 8,8,8 scale 2.1,2.1,2.1\noutput %y\n",
       "larger by a part of itself"},
      {HEAD "%y = pad \"p\" %a kind reflect lo 0,0,1,0,0 hi 0,0,1,0,0\noutput %y\n",
       "pads with values of the volume"},
      {HEAD "%y = conv \"y\" %a, %w kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1\noutput %y\n",
       "1 voxels along z for 2 of the volume"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const pz_exact_options o = {.way = {PZ_TILE_TILE, PZ_TILE_TILE, PZ_TILE_TILE}, .out = {4, 4, 4}};
    pz_graph *g, *tile;
    pz_exact_tile t;
    pz_error err = {0};
    assert_int_equal(pz_graph_parse(rows[i].text, strlen(rows[i].text), "test", &g, &err), PZ_OK);
    assert_int_equal(pz_exact_tile_make(g, &o, &tile, &t, &err), PZ_ERROR_INPUT);
    assert_null(tile);
    if (!strstr(err.message, rows[i].message)) fail_msg("%s\nexpected: %s", err.message, rows[i].message);
    pz_graph_free(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles), cmocka_unit_test(test_streams),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
