/* filler.c: init:SEED, Caffe's fillers.
 *
 * Numbers come from splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). Each blob
 * has a stream of its own whose start is a hash of seed, layer and index, so that a layer's weights do not depend on
 * what else is in the network. Uniform numbers are the upper 24 bits; normal ones by Box and Muller. */
#include "import/names.h"
#include "import/caffe/weights.h"
#include <math.h>
#include <string.h>

static uint64_t next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t stream(uint64_t seed, pz_caffe_weight_key key) {
  uint64_t state = seed, layer = pz_import_hash(PZ_IMPORT_HASH, key.layer);
  state = next(&state) ^ layer;
  state = next(&state) ^ (uint64_t)key.blob;
  return next(&state);
}

/* In [0, 1). */
static double uniform(uint64_t *state) { return (double)(next(state) >> 40) * 0x1p-24; }

typedef struct filling {
  const Caffe__FillerParameter *filler;
  const pz_shape *shape;
  int64_t count;
  uint64_t state;
  float *out;
  const volatile int *interrupt;
} filling;

/* Seen once in so many numbers; what is filled then is not used. */
static bool stops(const filling *j, int64_t i) { return i % 65536 == 0 && j->interrupt && *j->interrupt; }

static void fill_uniform(filling *j, double low, double high) {
  for (int64_t i = 0; i < j->count && !stops(j, i); i++)
    j->out[i] = (float)(low + (high - low) * uniform(&j->state));
}

/* Box and Muller: 1 - u is in (0, 1], so its logarithm is finite. */
static void fill_normal(filling *j, double mean, double std) {
  for (int64_t i = 0; i < j->count && !stops(j, i); i++) {
    double radius = sqrt(-2 * log(1 - uniform(&j->state))), angle = 6.283185307179586 * uniform(&j->state);
    j->out[i] = (float)(mean + std * radius * cos(angle));
  }
}

/* Caffe's n: values that one output reads (fan in), values that one input feeds (fan out), or their average. */
static double fan(const filling *j) {
  double count = (double)j->count;
  double in = j->shape->rank > 0 ? count / (double)j->shape->dim[0] : count;
  double out = j->shape->rank > 1 ? count / (double)j->shape->dim[1] : count;
  switch (j->filler->variance_norm) {
  case CAFFE__FILLER_PARAMETER__VARIANCE_NORM__FAN_OUT: return out;
  case CAFFE__FILLER_PARAMETER__VARIANCE_NORM__AVERAGE: return (in + out) / 2;
  default: return in;
  }
}

static const char *constant(filling *j) {
  for (int64_t i = 0; i < j->count; i++) j->out[i] = j->filler->value;
  return NULL;
}

static const char *uniform_between(filling *j) {
  if (!(j->filler->min <= j->filler->max)) return "its min is greater than its max";
  fill_uniform(j, j->filler->min, j->filler->max);
  return NULL;
}

/* sparse: that many of the inputs of each output are kept, on the average. */
static const char *gaussian(filling *j) {
  if (!(j->filler->std >= 0)) return "its std is negative";
  fill_normal(j, j->filler->mean, j->filler->std);
  if (j->filler->sparse < 0) return NULL;
  if (j->shape->rank < 1) return "sparse needs at least one dimension";
  double keep = (double)j->filler->sparse / (double)j->shape->dim[0];
  for (int64_t i = 0; i < j->count; i++)
    if (uniform(&j->state) >= keep) j->out[i] = 0;
  return NULL;
}

static const char *xavier(filling *j) {
  double bound = sqrt(3 / fan(j));
  fill_uniform(j, -bound, bound);
  return NULL;
}

static const char *msra(filling *j) {
  fill_normal(j, 0, sqrt(2 / fan(j)));
  return NULL;
}

/* Each output's weights are positive and sum to 1. */
static const char *positive_unitball(filling *j) {
  int64_t rows = j->shape->rank > 0 ? j->shape->dim[0] : 1, length = j->count / rows;
  fill_uniform(j, 0, 1);
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
    float *row = j->out + r * length;
    for (int64_t i = 0; i < length; i++) sum += row[i];
    for (int64_t i = 0; i < length && sum > 0; i++) row[i] = (float)(row[i] / sum);
  }
  return NULL;
}

/* Position i of an axis of n points: the hat function of interpolation by a factor f = ceil(n/2). */
static double hat(int64_t i, int64_t n) {
  double f = (double)((n + 1) / 2), centre = (2 * f - 1 - fmod(f, 2)) / (2 * f);
  return 1 - fabs((double)i / f - centre);
}

/* Caffe's is for square 2D kernels; this is the product over any spatial axes, which is the same for those. */
static const char *bilinear(filling *j) {
  const pz_shape *s = j->shape;
  if (s->rank < 3) return "bilinear is for weights with spatial dimensions";
  for (int64_t i = 0; i < j->count && !stops(j, i); i++) {
    double value = 1;
    int64_t rest = i;
    for (int32_t axis = s->rank - 1; axis >= 2; axis--) {
      value *= hat(rest % s->dim[axis], s->dim[axis]);
      rest /= s->dim[axis];
    }
    j->out[i] = (float)value;
  }
  return NULL;
}

static const struct {
  const char *type;
  const char *(*fill)(filling *j);
} fillers[] = {
    {"constant", constant}, {"uniform", uniform_between},
    {"gaussian", gaussian}, {"xavier", xavier},
    {"msra", msra},         {"positive_unitball", positive_unitball},
    {"bilinear", bilinear},
};

const char *pz_caffe_fill(const Caffe__FillerParameter *filler, const pz_shape *shape, uint64_t seed,
                          pz_caffe_weight_key key, const volatile int *interrupt, float *out) {
  filling j = {filler, shape, pz_shape_elements(shape), stream(seed, key), out, interrupt};
  for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
    if (!strcmp(fillers[i].type, filler->type)) return fillers[i].fill(&j);
  return "unknown type; known are constant, uniform, gaussian, xavier, msra, positive_unitball, bilinear";
}
