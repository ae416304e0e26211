#include "volume/tiling.h"

#include "volume/facts.h"

#include <string.h>

/* What a name stands for. */
typedef struct preset {
  double overlap; /* part of the output patch */
  bool down;      /* the overlap is rounded down to voxels, otherwise the step is */
  bool even, centred, half;
  bool same_size; /* the package knows no network whose output is smaller */
  bool whole_inputs;
  pz_blend blend;
  pz_border border;
  pz_weights weights[3]; /* by pz_blend; NO_WEIGHTS: the package has none such */
} preset;

enum { NO_WEIGHTS = -1 };

static const preset presets[] = {
    [PZ_TILING_PZNET] = {.weights = {PZ_WEIGHTS_CONSTANT, PZ_WEIGHTS_GAUSSIAN, PZ_WEIGHTS_BUMP}},
    [PZ_TILING_MONAI] = {.overlap = 0.25,
                         .centred = true,
                         .same_size = true,
                         .blend = PZ_BLEND_GAUSSIAN,
                         .border = PZ_BORDER_ZERO,
                         .weights = {PZ_WEIGHTS_CONSTANT, PZ_WEIGHTS_GAUSSIAN, (pz_weights)NO_WEIGHTS}},
    [PZ_TILING_NNUNET] = {.overlap = 0.5,
                          .even = true,
                          .centred = true,
                          .half = true,
                          .same_size = true,
                          .blend = PZ_BLEND_GAUSSIAN,
                          .border = PZ_BORDER_ZERO,
                          .weights = {PZ_WEIGHTS_CONSTANT, PZ_WEIGHTS_NNUNET, (pz_weights)NO_WEIGHTS}},
    [PZ_TILING_CHUNKFLOW] = {.overlap = 0.5,
                             .down = true,
                             .whole_inputs = true,
                             .blend = PZ_BLEND_BUMP,
                             .weights = {(pz_weights)NO_WEIGHTS, (pz_weights)NO_WEIGHTS,
                                         PZ_WEIGHTS_CHUNKFLOW}},
};

static bool given(const pz_infer_options *o, uint32_t what) {
  return o->tiling == PZ_TILING_PZNET || o->given & what;
}

/* Voxels from one patch to the next along axis i. */
static pz_status step_of(const pz_infer_options *o, const preset *p, int i, int64_t out, double *step,
                         pz_error *err) {
  const char axis = "zyx"[i];
  double part = p->overlap;
  if (given(o, PZ_GIVEN_OVERLAP)) {
    part = o->overlap_part[i];
    if (!(part >= 0 && part < 1))
      return pz_fail(err, PZ_ERROR_USAGE,
                     "overlap %g along %c; expected a part of the patch from 0 to below 1", part, axis);
    if (part == 0 && (o->overlap[i] < 0 || o->overlap[i] >= out))
      return pz_fail(err, PZ_ERROR_USAGE,
                     "overlap %d along %c; expected 0 to %lld, less than the network's output patch of %lld",
                     o->overlap[i], axis, (long long)out - 1, (long long)out);
    if (part == 0) {
      *step = (double)(out - o->overlap[i]);
      return PZ_OK;
    }
  }
  *step = (double)out * (1 - part);
  if (p->down) *step = (double)(out - (int64_t)((double)out * part));
  else if (!p->even) *step = (double)(int64_t)*step;
  if (*step < 1) *step = 1;
  return PZ_OK;
}

/* Subsets of the axes in the order of nnU-Net, which is that of their sums: by size, then by axis. */
static pz_status choose_flips(const pz_infer_options *o, const int64_t in[3], const int64_t out[3],
                              bool planar, pz_tiling_rules *r, pz_error *err) {
  static const uint8_t subsets[] = {0, 1, 2, 4, 3, 5, 6, 7};
  const uint32_t known = planar ? 3 : 7, wanted = o->mirror_axes == PZ_MIRROR_ALL ? known : o->mirror_axes;
  if (wanted & ~known)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "augment: a mirrored axis that the network does not have; expected 0 to %d",
                   planar ? 1 : 2);
  const uint8_t axes = (uint8_t)(wanted << planar);
  for (int i = 0; i < 3; i++)
    if (axes >> i & 1 && (in[i] - out[i]) % 2)
      return pz_fail(
          err, PZ_ERROR_USAGE,
          "augment: along %c the network's output of %lld has no centre in its input of %lld; expected an "
          "even difference, or other axes",
          "zyx"[i], (long long)out[i], (long long)in[i]);
  for (size_t i = 0; i < sizeof subsets; i++)
    if (!(subsets[i] & ~axes)) r->flip[r->flips++] = subsets[i];
  return PZ_OK;
}

static pz_status check_sizes(const pz_infer_options *o, const preset *p, const int64_t in[3],
                             const int64_t out[3], pz_error *err) {
  const char *name = pz_tiling_name(o->tiling);
  for (int i = 0; i < 3; i++) {
    if (p->same_size && in[i] != out[i])
      return pz_fail(
          err, PZ_ERROR_USAGE,
          "tiling %s: the network's output is %lld along %c, its input %lld; %s knows only networks whose "
          "output is as large as their input",
          name, (long long)out[i], "zyx"[i], (long long)in[i], name);
    if (p->whole_inputs && (in[i] - out[i]) % 2)
      return pz_fail(
          err, PZ_ERROR_USAGE,
          "tiling %s: the network's output of %lld along %c has no centre in its input of %lld; expected "
          "an even difference",
          name, (long long)out[i], "zyx"[i], (long long)in[i]);
  }
  return PZ_OK;
}

static pz_status choose_weights(const pz_infer_options *o, const preset *p, pz_tiling_rules *r,
                                pz_error *err) {
  const char *name = pz_tiling_name(o->tiling);
  const pz_blend blend = given(o, PZ_GIVEN_BLEND) ? o->blend : p->blend;
  r->weights = p->weights[blend];
  if ((int)r->weights == NO_WEIGHTS)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "tiling %s: it blends with %s, not %s; leave one of the two options away", name,
                   p->whole_inputs ? "bump" : "gaussian or constant", pz_blend_name(blend));
  if (p->whole_inputs && given(o, PZ_GIVEN_BORDER))
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "tiling %s: it reads nothing beyond the volume, so that a border has no meaning; leave it away",
        name);
  const pz_border border = given(o, PZ_GIVEN_BORDER) ? o->border : p->border;
  r->mirror = border == PZ_BORDER_MIRROR;
  return PZ_OK;
}

pz_status pz_tiling_resolve(const pz_infer_options *o, const int64_t in[3], const int64_t out[3], bool planar,
                            pz_tiling_rules *r, pz_error *err) {
  const preset *p = &presets[o->tiling];
  *r = (pz_tiling_rules){.divided = p->whole_inputs};
  PZ_TRY(check_sizes(o, p, in, out, err));
  PZ_TRY(choose_weights(o, p, r, err));
  r->half = o->sums == PZ_SUMS_AUTO ? p->half : o->sums == PZ_SUMS_HALF;
  r->grid = (pz_grid_rule){.even = p->even, .centred = p->centred, .whole_inputs = p->whole_inputs};
  for (int i = 0; i < 3; i++) {
    PZ_TRY(step_of(o, p, i, out[i], &r->grid.step[i], err));
    r->grid.crop[i] = given(o, PZ_GIVEN_CROP) ? o->crop[i] : p->whole_inputs ? (in[i] - out[i]) / 2 : 0;
  }
  return choose_flips(o, in, out, planar, r, err);
}

static pz_status check_exact_options(const pz_infer_options *o, pz_error *err) {
  const char *what = NULL;
  for (int i = 0; i < 3; i++) {
    if (o->overlap[i] || o->overlap_part[i] > 0) what = "an overlap";
    if (o->crop[i]) what = "a crop";
  }
  if (o->blend != PZ_BLEND_CONSTANT) what = "a blend";
  if (o->mirror_axes) what = "an augmentation";
  if (o->skip_zero) what = "skipping zero patches";
  if (o->given & PZ_GIVEN_CONTEXT) what = "a context";
  if (o->tiling != PZ_TILING_PZNET && o->tiling != PZ_TILING_EXACT) what = "another package's tiling";
  if (!what) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "the network file was compiled for exact tiles, with which %s has no meaning; leave it "
                 "away, or compile "
                 "the model without --tiling exact",
                 what);
}

pz_status pz_tiling_exact(const pz_infer_options *o, const pz_network_tiles *t, const pz_network_locality *l,
                          pz_tiling_rules *r, pz_error *err) {
  const bool smaller = t->before[0] || t->before[1] || t->before[2];
  *r = (pz_tiling_rules){.flips = 1, .mirror = smaller && o->border == PZ_BORDER_MIRROR};
  PZ_TRY(check_exact_options(o, err));
  r->grid.exact = true;
  for (int i = 0; i < 3; i++) {
    r->grid.step[i] = (double)t->out[i];
    r->grid.stream[i] = t->stream[i];
    r->grid.first[i] = t->first[i], r->grid.from[i] = t->result[i];
    r->grid.warm[i] = l->before[i] - t->result[i] + l->stride[i];
  }
  return PZ_OK;
}
