/* Random convolutions and deconvolutions, specialised as the emitter does, against a loop in double precision. gen_conv.c prints them,
 * of one kind a program; what their weights are packed by is a row here. */
#define PZ_CONV_STRIP_POINTS 32 /* as gen_conv: several strips even in small tensors */
#include "kernels/conv/test_conv.h"
#include "kernels/conv_depthwise/depthwise.h"
#include "kernels/conv_direct/direct.h"
#include "kernels/conv_direct/schedule.h"
#include "kernels/conv_dot/dot.h"
#include "kernels/deconv/deconv.h"

#include "instances.h"

typedef struct kind {
  const char *name;
  bool transposed;
  int64_t (*floats)(const pz_conv_direct_shape *s);
  void (*pack)(const pz_conv_direct_shape *s, const float *weights, float *packed);
} kind;

static const kind convolutions[] = {
    {"direct", false, pz_conv_direct_weight_floats, pz_conv_direct_pack},
    {"dot", false, pz_conv_dot_weight_floats, pz_conv_dot_pack},
    {"depthwise", false, pz_conv_depthwise_weight_floats, pz_conv_depthwise_pack},
};

/* ---- deconvolutions: all phases, each scheduled as the generator did, packed one behind the other ---- */

static void schedule(const kind *k, pz_conv_direct_shape *s) {
  const pz_conv_machine machine = {
      .registers = PZ_V_REGISTERS, .lanes = PZ_V_HAS_LANES, .l1 = 32 << 10, .l2 = 1 << 20};
  if (k == convolutions) pz_conv_direct_schedule(s, &machine);
  else pz_conv_depthwise_schedule(s, PZ_V_REGISTERS);
}

static void pack_phase(const kind *k, const pz_conv_direct_shape *s, const pz_deconv_phase *p,
                       const float *weights, float *packed) {
  float *plain = malloc((size_t)pz_deconv_weight_floats(p) * sizeof *plain + 1);
  assert_non_null(plain);
  pz_deconv_weights(s, p, weights, plain);
  k->pack(&p->shape, plain, packed);
  free(plain);
}

/* packed may be NULL. */
static int64_t pack_phases(const kind *k, pz_deconv_merge merge, const pz_conv_direct_shape *s,
                           const float *weights, float *packed) {
  int64_t floats = 0;
  for (int32_t i = 0; i < pz_deconv_phases(s, merge); ++i) {
    pz_deconv_phase p;
    if (!pz_deconv_phase_of(s, merge, i, &p)) continue;
    schedule(k, &p.shape);
    if (packed) pack_phase(k, s, &p, weights, packed + floats);
    floats += (k->floats(&p.shape) + 15) / 16 * 16;
  }
  return floats;
}

static int64_t deconv_floats(const pz_conv_direct_shape *s) {
  return pack_phases(convolutions, pz_deconv_merges(s), s, NULL, NULL);
}
static void deconv_pack(const pz_conv_direct_shape *s, const float *weights, float *packed) {
  pack_phases(convolutions, pz_deconv_merges(s), s, weights, packed);
}
static int64_t depthwise_floats(const pz_conv_direct_shape *s) {
  return pack_phases(convolutions + 2, PZ_DECONV_EACH, s, NULL, NULL);
}
static void depthwise_pack(const pz_conv_direct_shape *s, const float *weights, float *packed) {
  pack_phases(convolutions + 2, PZ_DECONV_EACH, s, weights, packed);
}
static const kind deconvolutions[] = {
    {"deconv", true, deconv_floats, deconv_pack},
    {"deconv_depthwise", true, depthwise_floats, depthwise_pack},
};

/* ---- the test ---- */

static const kind *find(const char *name, const kind *all, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (!strcmp(all[i].name, name)) return all + i;
  return NULL;
}

static void test_random(void **state) {
  (void)state;
  const kind *k = find(INSTANCES_KIND, convolutions, 3),
             *row = k ? k : find(INSTANCES_KIND, deconvolutions, 2);
  int bad = 0;
  assert_non_null(row);
  for (size_t i = 0; i < sizeof instances / sizeof *instances; ++i) {
    conv_case t;
    conv_open(&t, &instances[i], 2 * i + 77 + row->transposed, row->floats, row->pack);
    t.transposed = row->transposed;
    bad += !conv_run(&t);
    conv_close(&t);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  if (!pz_test_cpu()) return 77;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
