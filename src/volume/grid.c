#include "volume/grid.h"

static pz_status make_axis(int i, int64_t size, int64_t in, int64_t out, int32_t overlap, pz_axis *a,
                           pz_error *err) {
  const char name = "zyx"[i];
  if (out < 1 || in < out)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "the network's output is %lld along %c, its input %lld; expected an output no larger than the input",
        (long long)out, name, (long long)in);
  if (overlap < 0 || overlap >= out)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "overlap %d along %c; expected 0 to %lld, less than the network's output patch of %lld",
                   overlap, name, (long long)out - 1, (long long)out);
  *a = (pz_axis){.size = size, .in = in, .out = out, .overlap = overlap, .step = out - overlap};
  a->before = (in - out) / 2;
  a->count = size <= out ? 1 : (size - out + a->step - 1) / a->step + 1;
  return PZ_OK;
}

pz_status pz_grid_make(const int64_t size[3], const int64_t in[3], const int64_t out[3],
                       const int32_t overlap[3], pz_grid *grid, pz_error *err) {
  for (int i = 0; i < 3; i++) PZ_TRY(make_axis(i, size[i], in[i], out[i], overlap[i], &grid->axis[i], err));
  return PZ_OK;
}

int64_t pz_grid_patches(const pz_grid *grid) {
  int64_t n = grid->axis[0].count;
  /* No product overflows: there are no more patches than voxels, and these were counted when the volume was opened. */
  for (int i = 1; i < 3; i++) n *= grid->axis[i].count;
  return n;
}

int64_t pz_axis_covering(const pz_axis *a, int64_t i, int64_t *last) {
  const int64_t first = i < a->out ? 0 : (i - a->out) / a->step + 1;
  *last = pz_axis_start(a, a->count - 1) <= i ? a->count - 1 : i / a->step;
  return first < a->count ? first : a->count - 1;
}

/* A regular stretch has ceil(out / step); the last patch, moved inward, may add one. */
int64_t pz_axis_coverage(const pz_axis *a) {
  const int64_t regular = (a->out + a->step - 1) / a->step + 1;
  return regular < a->count ? regular : a->count;
}

int64_t pz_mirror(int64_t i, int64_t n) {
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1);
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : period - i;
}

int64_t pz_axis_needs(const pz_axis *a, int64_t k, bool mirror, int64_t *last) {
  const int64_t begin = pz_axis_start(a, k) - a->before, end = begin + a->in - 1;
  int64_t low = begin < 0 ? 0 : begin;
  *last = end < a->size ? end : a->size - 1;
  /* A voxel beyond the border stands for one inside, at most as far from the border. */
  if (mirror && begin < 0) *last = -begin > *last ? -begin : *last;
  if (mirror && end >= a->size) low = 2 * (a->size - 1) - end < low ? 2 * (a->size - 1) - end : low;
  if (low < 0) low = 0;
  if (*last > a->size - 1) *last = a->size - 1;
  return low;
}
