/* What a result depends on, against what changes where one voxel of the input does; which layers are said to look at all of space; arithmetic, by hand. */
#include "fixture.h"
#include "graph/locality.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>

static pz_graph *parse(const char *text) {
  pz_graph *g;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}
static pz_locality locality_of(const char *text) {
  pz_graph *g = parse(text);
  pz_locality l;
  assert_int_equal(pz_graph_locality(g, &l, NULL), PZ_OK);
  if (l.node != PZ_NONE) l.node = g->nodes[l.node].name[0]; /* which outlives the graph */
  pz_graph_free(g);
  return l;
}

/* The line's networks have one axis of so many voxels. */
enum { VOXELS = 96 };

/* changed[i * out + o]: result o is another where voxel i is. */
static void find_changes(const pz_graph *g, int64_t in, int64_t out, bool *changed) {
  float *x = malloc((size_t)in * sizeof *x);
  double *first = malloc((size_t)out * sizeof *first), *y = malloc((size_t)out * sizeof *y);
  assert_true(x && first && y);
  pz_graph_random(7, 1, in, x);
  assert_int_equal(pz_reference_run(g, (const float *const[]){x}, &first, NULL, NULL, NULL), PZ_OK);
  for (int64_t i = 0; i < in; i++)
    for (int sign = -1; sign < 2; sign += 2) {
      const float was = x[i];
      x[i] = 1e6f * (float)sign;
      assert_int_equal(pz_reference_run(g, (const float *const[]){x}, &y, NULL, NULL, NULL), PZ_OK);
      for (int64_t o = 0; o < out; o++) changed[i * out + o] |= y[o] != first[o];
      x[i] = was;
    }
  free(x), free(first), free(y);
}

/* The greatest reach that there is, of results away from the borders, is the one that is said. */
static void check_reach(const char *text, int64_t stride, int64_t lo, int64_t hi) {
  pz_graph *g = parse(text);
  pz_locality l;
  int64_t most_lo = INT64_MIN, most_hi = INT64_MIN;
  const int64_t out = g->tensors[g->outputs[0]].shape.dim[2];
  bool *changed = calloc((size_t)(VOXELS * out), sizeof *changed);
  assert_non_null(changed);
  assert_int_equal(pz_graph_locality(g, &l, NULL), PZ_OK);
  find_changes(g, VOXELS, out, changed);
  assert_true(l.known && l.node == PZ_NONE);
  for (int64_t i = 0; i < VOXELS; i++)
    for (int64_t o = 0; o < out; o++) {
      const int64_t own = o * l.coarser[2] / l.finer[2] + l.before[2];
      if (!changed[i * out + o]) continue;
      if (own - i > most_lo) most_lo = own - i;
      if (i - own > most_hi) most_hi = i - own;
    }
  if (l.stride[2] != stride || l.reach_lo[2] != lo || l.reach_hi[2] != hi || most_lo != lo || most_hi != hi)
    fail_msg("stride %lld, reach %lld and %lld, found %lld and %lld; expected %lld, %lld, %lld in\n%s",
             (long long)l.stride[2], (long long)l.reach_lo[2], (long long)l.reach_hi[2], (long long)most_lo,
             (long long)most_hi, (long long)stride, (long long)lo, (long long)hi, text);
  free(changed);
  pz_graph_free(g);
}

#define LINE                                                                                                 \
  "graph \"line\"\ninput %x 1x1x96\nconst %w 1x1x3 = seed 1 scale 1\nconst %v 1x1x2 = seed 3 scale 1\n"
#define SAME   "kernel 1,1,3 pad 0,0,1:0,0,1"
#define HALVES "kernel 1,1,2 stride 1,1,2"
static const char unet[] = LINE "%a = conv \"a\" %x, %w " SAME "\n"
                                "%p = pool \"p\" %a " HALVES "\n"
                                "%b = conv \"b\" %p, %w " SAME "\n"
                                "%u = deconv \"u\" %b, %v " HALVES "\n"
                                "%s = eltwise \"s\" %a, %u\n"
                                "%y = conv \"y\" %s, %w " SAME "\n"
                                "output %y\n";

static void test_reach(void **state) {
  (void)state;
  check_reach(LINE "%y = conv \"y\" %x, %w " SAME "\noutput %y\n", 1, 1, 1);
  check_reach(LINE "%y = conv \"y\" %x, %w kernel 1,1,3 dilation 1,1,4 pad 0,0,4:0,0,4\noutput %y\n", 1, 4,
              4);
  /* valid: the result lies in the middle */
  check_reach(LINE "%a = conv \"a\" %x, %w kernel 1,1,3\n%y = conv \"y\" %a, %w kernel 1,1,3\noutput %y\n", 1,
              2, 2);
  check_reach(unet, 2, 5, 5);
  /* a maximum of three, every second one; nearest and linear resizing */
  check_reach(LINE "%a = pool \"a\" %x kernel 1,1,3 stride 1,1,2 pad 0,0,1:0,0,1\n"
                   "%y = resize \"y\" %a size 1,1,96\noutput %y\n",
              2, 2, 1);
  check_reach(LINE "%a = conv \"a\" %x, %v " HALVES "\n"
                   "%y = resize \"y\" %a kind linear size 1,1,96\noutput %y\n",
              2, 2, 2);
  check_reach(LINE "%y = deconv \"y\" %x, %w kernel 1,1,3 pad 0,0,1:0,0,1\noutput %y\n", 1, 1, 1);
  check_reach(LINE "%a = conv \"a\" %x, %v " HALVES "\n%b = pool \"b\" %a " HALVES "\n"
                   "%y = deconv \"y\" %b, %w kernel 1,1,3 stride 1,1,4 output_pad 0,0,1\noutput %y\n",
              4, 2, 3);
  /* a result of half the resolution */
  check_reach(LINE "%y = conv \"y\" %x, %v " HALVES "\noutput %y\n", 2, 0, 1);
}

static void test_sizes(void **state) {
  (void)state;
  const pz_locality u = locality_of(unet);
  assert_false(u.any_size[2]);
  assert_true(u.any_size[0] && u.any_size[1] && u.stride[0] == 1);
  /* at the far end a window may be cut off, and the result resized to what it was */
  assert_true(locality_of(LINE "%y = pool \"y\" %x " HALVES " ceil\noutput %y\n").any_size[2]);
}

static void test_global(void **state) {
  (void)state;
#define VOLUME                                                                                               \
  "graph \"v\"\ninput %x 1x4x8x8x8\nconst %w 4x4x1x1x1 = seed 1 scale 1\n%a = conv \"a\" %x, %w\n"
  const struct {
    const char *text;
    char layer;
    const char *why;
    bool known;
  } rows[] = {
      {VOLUME "%y = group_norm \"n\" %a groups 4\noutput %y\n", 'n', "takes statistics over all of space",
       true},
      {VOLUME "%m = reduce \"m\" %a axis 2,3,4\n%g = activation \"g\" %m act sigmoid\n"
              "%y = eltwise \"e\" %a, %g kind prod\noutput %y\n",
       'm', "takes one value of all of space", true},
      {VOLUME "%m = pool \"m\" %a kernel 8,8,8 kind ave\n%y = eltwise \"e\" %a, %m\noutput %y\n", 'm',
       "takes one value of all of space", true},
      {VOLUME "%r = reshape \"r\" %a shape 1x2048\nconst %i 2x2048 = seed 2 scale 1\n"
              "%y = inner_product \"i\" %r, %i\noutput %y\n",
       'r', "is no map over space", false},
      {VOLUME "const %c 1x1x8x1x1 = seed 4 scale 1\n%y = eltwise \"p\" %a, %c\noutput %y\n", 'p',
       "has constants that differ from place to place", true},
      {VOLUME "%y = cumsum \"c\" %a axis 3\noutput %y\n", 'c', "sums up all that is in front", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const pz_locality l = locality_of(rows[i].text);
    if (l.node != rows[i].layer || strcmp(l.why, rows[i].why) != 0 || l.known != rows[i].known)
      fail_msg("%c %s, known %d; expected %c %s", l.node == PZ_NONE ? '-' : (char)l.node, l.why ? l.why : "-",
               l.known, rows[i].layer, rows[i].why);
  }
}

/* 3 for each voxel at full resolution, twice; at half of it 3 and 2 for each second one. */
static void test_arithmetic(void **state) {
  (void)state;
  assert_true(fabs(locality_of(unet).multiply_adds - (3 + 3 + 1.5 + 1)) < 1e-9);
  assert_true(locality_of(LINE "%y = conv \"y\" %x, %v " HALVES "\noutput %y\n").multiply_adds == 2);
}

/* As of the network that is made for the larger patch. */
static void test_larger(void **state) {
  (void)state;
  pz_graph *g = parse(unet);
  int64_t out[3];
  double multiply_adds;
  bool fits;
  assert_int_equal(pz_graph_arithmetic(g, (const int64_t[3]){1, 1, 144}, out, &multiply_adds, &fits, NULL),
                   PZ_OK);
  assert_true(fits && out[2] == 144 && fabs(multiply_adds - 144 * (3 + 3 + 1.5 + 1)) < 1e-9);
  assert_int_equal(pz_graph_arithmetic(g, (const int64_t[3]){1, 1, 145}, out, &multiply_adds, &fits, NULL),
                   PZ_OK);
  assert_false(fits);
  pz_graph_free(g);
  g = parse(LINE "%a = conv \"a\" %x, %w kernel 1,1,3\n%y = conv \"y\" %a, %w kernel 1,1,3\noutput %y\n");
  assert_int_equal(pz_graph_arithmetic(g, (const int64_t[3]){1, 1, 10}, out, &multiply_adds, &fits, NULL),
                   PZ_OK);
  assert_true(fits && out[2] == 6 && multiply_adds == 3 * 8 + 3 * 6);
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reach), cmocka_unit_test(test_sizes),
                                     cmocka_unit_test(test_global), cmocka_unit_test(test_arithmetic),
                                     cmocka_unit_test(test_larger)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
