/* `--patch auto` for a volume whose size is known, beside every other tile: none that fits into the memory takes less arithmetic. */
#include "api/exact_auto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LEAST_PLANES = 4 };

/* A U-Net whose total stride is 1 x 4 x 4, or a network whose result is smaller than its input and strided along z. */
static const char *const networks[] = {
    "%a = conv \"a\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%p = pool \"p\" %a kernel 1,4,4 stride 1,4,4\n"
    "%c = conv \"c\" %p, %v kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
    "%u = deconv \"u\" %c, %q kernel 1,4,4 stride 1,4,4\n"
    "%s = concat \"s\" %a, %u\n"
    "%y = conv \"y\" %s, %z kernel 3,3,3 pad 1,1,1:1,1,1\n",
    "%a = conv \"a\" %x, %w kernel 3,3,3 act relu\n"
    "%p = pool \"p\" %a kernel 2,2,2 stride 2,2,2\n"
    "%c = conv \"c\" %p, %v kernel 3,3,3 act relu\n"
    "%y = deconv \"y\" %c, %t kernel 2,2,2 stride 2,2,2\n",
};

static pz_status import(void *host, const pz_shape *input, pz_graph **g, pz_error *err) {
  char text[2048];
  snprintf(text, sizeof text,
           "graph \"n\"\ninput %%x 1x1x%lldx%lldx%lld\n"
           "const %%w 8x1x3x3x3 = seed 1 scale 1\nconst %%v 8x8x3x3x3 = seed 2 scale 1\n"
           "const %%q 8x8x1x4x4 = seed 3 scale 1\nconst %%z 1x16x3x3x3 = seed 4 scale 1\n"
           "const %%t 8x1x2x2x2 = seed 5 scale 1\n%soutput %%y\n",
           (long long)input->dim[2], (long long)input->dim[3], (long long)input->dim[4],
           networks[*(const int *)host]);
  return pz_graph_parse(text, strlen(text), "test", g, err);
}

typedef struct asked {
  pz_exact_question q;
} asked;

/* All runs over the volume with such tiles. *choice: with its ways; *g: the caller's. */
static double price(const asked *a, const int64_t out[3], pz_exact_choice *choice, pz_graph **g) {
  pz_exact_tile t;
  pz_graph *made;
  double all = 0;
  *choice = (pz_exact_choice){.input = a->q.g->tensors[a->q.g->inputs[0]].shape};
  choice->tile = (pz_exact_options){.way = {PZ_TILE_STREAM, PZ_TILE_TILE, PZ_TILE_TILE}};
  for (int i = 0; i < 3; i++) choice->tile.out[i] = out[i];
  pz_exact_choose_whole(&a->q, choice);
  assert_int_equal(a->q.importer->import(a->q.importer->host, &choice->input, g, NULL), PZ_OK);
  assert_int_equal(pz_exact_tile_make(*g, &choice->tile, &made, &t, NULL), PZ_OK);
  for (pz_node_id n = 0; n < made->n_nodes; n++) all += pz_node_multiply_adds(made, &made->nodes[n]);
  for (int i = 0; i < 3; i++)
    if (t.way[i] != PZ_TILE_WHOLE) all *= (double)((a->q.volume[i] - t.result[i] + t.out[i] - 1) / t.out[i]);
  pz_graph_free(made);
  return all;
}

static double bytes_of(const asked *a, const int64_t out[3], double *cost) {
  pz_exact_choice choice;
  pz_graph *g;
  double bytes;
  *cost = price(a, out, &choice, &g);
  assert_int_equal(pz_exact_bytes(a->q.options, g, &choice.tile, &bytes, NULL), PZ_OK);
  pz_graph_free(g);
  return bytes;
}

/* No tile is cheaper than those of `best`, or it does not fit. */
static void check_all(const asked *a, const int64_t best[3]) {
  const int64_t *stride = a->q.l->stride, *volume = a->q.volume;
  double cost, other;
  pz_exact_choice choice;
  pz_graph *g;
  assert_true(bytes_of(a, best, &cost) <= (double)a->q.options->memory);
  for (int64_t z = pz_in_strides(LEAST_PLANES, stride[0]); z < volume[0] + 8; z += stride[0])
    for (int64_t y = stride[1]; y < volume[1] + stride[1]; y += stride[1])
      for (int64_t x = stride[2]; x < volume[2] + stride[2]; x += stride[2]) {
        const int64_t out[3] = {z, y, x};
        other = price(a, out, &choice, &g);
        pz_graph_free(g);
        if (other >= cost * (1 - 1e-6)) continue;
        if (bytes_of(a, out, &other) <= (double)a->q.options->memory)
          fail_msg("%lld x %lld x %lld fits and is cheaper than %lld x %lld x %lld", (long long)z,
                   (long long)y, (long long)x, (long long)best[0], (long long)best[1], (long long)best[2]);
      }
}

static void check(int kind, const int64_t volume[3], double part) {
  pz_compile_options o = PZ_COMPILE_OPTIONS;
  pz_graph *g;
  pz_locality l;
  pz_exact_choice choice = {0};
  pz_error err = {0};
  double cost;
  const pz_exact_importer importer = {import, &kind};
  assert_int_equal(import(&kind, &(const pz_shape){.rank = 5, .dim = {1, 1, 16, 16, 16}}, &g, &err), PZ_OK);
  assert_int_equal(pz_graph_locality(g, &l, &err), PZ_OK);
  const asked a = {.q = {.options = &o, .g = g, .l = &l, .volume = volume, .importer = &importer}};
  int64_t least[3], most[3];
  for (int i = 0; i < 3; i++)
    least[i] = i ? l.stride[i] : pz_in_strides(LEAST_PLANES, l.stride[i]),
    most[i] = pz_in_strides(volume[i] + 8, l.stride[i]);
  const double few = bytes_of(&a, least, &cost);
  o.memory = (int64_t)(few + part * (bytes_of(&a, most, &cost) - few));
  if (pz_exact_cheapest(&a.q, &choice, &err) != PZ_OK) fail_msg("%s", err.message);
  check_all(&a, choice.tile.out);
  o.memory = 1 << 20;
  assert_int_equal(pz_exact_cheapest(&a.q, &choice, &err), PZ_ERROR_MEMORY);
  assert_non_null(strstr(err.message, "the smallest tiles take"));
  pz_graph_free(g);
}

static void test_none_is_cheaper(void **state) {
  static const int64_t volumes[][3] = {{9, 40, 52}, {30, 33, 64}, {5, 21, 40}, {13, 64, 16}};
  (void)state;
  for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++) {
    check(0, volumes[i], 0.1 + 0.15 * (double)i);
    check(1, volumes[i], 0.5 - 0.1 * (double)i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_none_is_cheaper)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
