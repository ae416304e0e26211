/* instance.h: a specialised convolution with all that its test or benchmark needs; printed by gen_conv.c, the way the
 * emitter prints calls. */
#ifndef PZ_KERNELS_CONV_INSTANCE_H
#define PZ_KERNELS_CONV_INSTANCE_H

#include "kernels/conv/shape.h"

typedef struct conv_operands {
  const float *in, *weights, *bias, *residual, *residual_scale, *slope;
  float *out, *norm_stats;
} conv_operands;

enum { CONV_IN, CONV_OUT, CONV_RESIDUAL, CONV_TENSORS };

/* Where a view lies in storage of its own. */
typedef struct conv_extent {
  int64_t floats, origin;
} conv_extent;

typedef struct conv_instance {
  const char *name;
  pz_conv_direct_shape shape;
  conv_extent room[CONV_TENSORS];
  void (*run)(const conv_operands *o, int32_t worker, int32_t workers);
} conv_instance;

#endif
