/* random.h: inside tests/support: what a random graph is made with.
 *
 * A failure (of memory) anywhere leaves by longjmp to pz_random_graph: all that was taken lies in the graph's arena. */
#ifndef PZ_TESTS_RANDOM_H
#define PZ_TESTS_RANDOM_H

#include "support/random_graph.h"
#include <setjmp.h>

typedef struct maker {
  pz_graph *g;
  pz_error *err;
  uint64_t state;
  int32_t spatial; /* dimensions */
  bool exported;
  double budget; /* multiply-adds that are left */
  jmp_buf failed;
} maker;

/* ---- random.c: numbers, names, adding ---- */

int32_t pick(maker *m, int32_t least, int32_t most); /* both included */
bool chance(maker *m, int32_t percent);
#define ONE_OF(m, list) ((list)[pick((m), 0, (int32_t)(sizeof(list) / sizeof *(list)) - 1)])

pz_shape shape_of(const maker *m, pz_tensor_id id);
/* A constant with values in [shift - scale, shift + scale). */
pz_tensor_id constant(maker *m, const char *stem, const pz_shape *shape, float scale, float shift);
pz_tensor_id vector(maker *m, const char *stem, int64_t n, float scale, float shift);
/* Adds the node under a fresh name that begins with `stem`; `in` are its inputs. Gives its only output. */
pz_tensor_id add(maker *m, pz_node *node, const char *stem, int32_t n_in, const pz_tensor_id *in);
void add_many(maker *m, pz_node *node, const char *stem, pz_tensor_id x, int32_t n_out, pz_tensor_id *out);

/* ---- random_layers.c: single layers. Each gives x back where it would not fit or would cost too much. ---- */

pz_tensor_id random_conv(maker *m, pz_tensor_id x);
pz_tensor_id flat_deconv(maker *m, pz_tensor_id x); /* of stride 1 */
pz_tensor_id point_conv(maker *m, pz_tensor_id x, int64_t channels,
                        const int32_t stride[PZ_SPATIAL]); /* of 1x1 */
/* Keeps the spatial sizes. residual: a tensor of the result's shape, or PZ_NONE. */
pz_tensor_id same_conv(maker *m, pz_tensor_id x, int64_t channels, pz_tensor_id residual);
/* Spatial sizes about twice as large along the axes where twice[i]. */
pz_tensor_id upsample(maker *m, pz_tensor_id x, int64_t channels, const bool twice[PZ_SPATIAL]);
pz_tensor_id halve(maker *m, pz_tensor_id x, const bool twice[PZ_SPATIAL]);
pz_tensor_id random_pool(maker *m, pz_tensor_id x);
pz_tensor_id activation(maker *m, pz_tensor_id x, pz_activation_kind kind);
pz_tensor_id random_activation(maker *m, pz_tensor_id x);
pz_tensor_id batch_norm(maker *m, pz_tensor_id x);
pz_tensor_id scale(maker *m, pz_tensor_id x);
pz_tensor_id power(maker *m, pz_tensor_id x);
pz_tensor_id softmax(maker *m, pz_tensor_id x);
pz_tensor_id cumsum(maker *m, pz_tensor_id x); /* and a factor that keeps values as large as they were */
pz_tensor_id lrn(maker *m, pz_tensor_id x);
pz_tensor_id inner_product(maker *m, pz_tensor_id x);
pz_tensor_id crop_to(maker *m, pz_tensor_id x, const pz_shape *size);
pz_tensor_id random_crop(maker *m, pz_tensor_id x);
pz_tensor_id reshape(maker *m, pz_tensor_id x);
pz_tensor_id permute(maker *m, pz_tensor_id x);
pz_tensor_id nothing(maker *m, pz_tensor_id x); /* a layer that does nothing, of several kinds */
pz_tensor_id concat(maker *m, int32_t n, const pz_tensor_id *in, int32_t axis);
pz_tensor_id eltwise(maker *m, pz_eltwise_kind kind, int32_t n, const pz_tensor_id *in);

/* ---- random_blocks.c: several layers ---- */

pz_tensor_id random_block(maker *m, pz_tensor_id x);
pz_tensor_id random_exported_block(maker *m, pz_tensor_id x);       /* random_exported.c */
pz_tensor_id random_join(maker *m, pz_tensor_id a, pz_tensor_id b); /* of equal shape */
/* Both to the smaller size of each spatial axis. */
void crop_both(maker *m, pz_tensor_id *a, pz_tensor_id *b);

#endif
