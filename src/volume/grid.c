#include "volume/grid.h"

#include <math.h>

/* Where patch j of the span begins, counted from the span's beginning. */
static int64_t place(const pz_axis *a, int64_t j) {
  if (a->even > 0) return (int64_t)rint(a->even * (double)j);
  return j < a->free / a->step + 1 && j * a->step < a->free ? j * a->step : a->free;
}

int64_t pz_axis_start(const pz_axis *a, int64_t k) { return place(a, k + a->skip) - a->low; }

static pz_status check_axis(char name, const pz_axis *a, int64_t crop, bool whole_inputs, pz_error *err) {
  const int64_t margin = (a->in - a->out + 1) / 2;
  if (a->out < 1 || a->in < a->out)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "the network's output is %lld along %c, its input %lld; expected an output no larger than the input",
        (long long)a->out, name, (long long)a->in);
  if (whole_inputs && a->size < a->in)
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "the volume has %lld voxels along %c, the network's input %lld; this tiling reads whole input "
        "patches and needs a volume no smaller than one",
        (long long)a->size, name, (long long)a->in);
  if (whole_inputs && crop < margin)
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "crop %lld along %c; this tiling has no result for the %lld voxels that the network's output "
        "loses: expected at least %lld",
        (long long)crop, name, (long long)margin, (long long)margin);
  if (crop < 0 || crop > (a->size - 1) / 2)
    return pz_fail(err, PZ_ERROR_USAGE, "crop %lld along %c leaves nothing of a volume of %lld voxels",
                   (long long)crop, name, (long long)a->size);
  return PZ_OK;
}

/* The whole span's patches, from its beginning. */
static void place_all(int64_t span, double step, bool even, pz_axis *a) {
  a->free = span > a->out ? span - a->out : 0;
  a->step = even ? 1 : (int64_t)step;
  a->count = 1 + (even ? (int64_t)ceil((double)a->free / step) : (a->free + a->step - 1) / a->step);
  a->even = even && a->count > 1 ? (double)a->free / (double)(a->count - 1) : 0;
}

/* Patches that end before the result or begin behind it go. */
static void leave_out(pz_axis *a) {
  const int64_t count = a->count;
  while (a->skip + 1 < count && place(a, a->skip) - a->low + a->out <= 0) a->skip++;
  a->count = count - a->skip;
  while (a->count > 1 && pz_axis_start(a, a->count - 1) >= a->result) a->count--;
}

int64_t pz_axis_place(const pz_axis *a, int64_t k) { return (k + a->skip) * a->out; }

/* Each is at a multiple of its results' size, so that where a volume is cut changes no bits. */
static void make_exact(int i, const pz_grid_rule *rule, pz_axis *a) {
  a->result = a->size, a->step = a->out;
  a->before = rule->from[i] - rule->first[i];
  a->low = -rule->from[i];
  a->count = (a->size - rule->from[i] + a->out - 1) / a->out;
  a->free = a->count * a->out;
  a->warm = rule->stream[i] ? (rule->warm[i] + a->out - 1) / a->out : 0;
}

static pz_status make_axis(int i, const pz_grid_rule *rule, pz_axis *a, pz_error *err) {
  const int64_t crop = rule->crop[i];
  if (rule->exact) return make_exact(i, rule, a), PZ_OK;
  PZ_TRY(check_axis("zyx"[i], a, crop, rule -> whole_inputs, err));
  a->before = (a->in - a->out) / 2;
  a->origin = crop, a->result = a->size - 2 * crop;
  const int64_t span = rule->whole_inputs ? a->size - (a->in - a->out) : a->size;
  place_all(span, rule->step[i], rule->even, a);
  a->low = crop - (rule->whole_inputs ? a->before : 0);
  if (rule->centred && span < a->out) a->low += (a->out - span) / 2;
  leave_out(a);
  return PZ_OK;
}

pz_status pz_grid_make(const int64_t size[3], const int64_t in[3], const int64_t out[3],
                       const pz_grid_rule *rule, pz_grid *grid, pz_error *err) {
  for (int i = 0; i < 3; i++) {
    grid->axis[i] = (pz_axis){.size = size[i], .in = in[i], .out = out[i]};
    PZ_TRY(make_axis(i, rule, &grid->axis[i], err));
  }
  return PZ_OK;
}

int64_t pz_grid_patches(const pz_grid *grid) {
  int64_t n = grid->axis[0].count;
  /* No product overflows: there are no more patches than voxels, and these were counted when the volume was opened. */
  for (int i = 1; i < 3; i++) n *= grid->axis[i].count;
  return n;
}

/* The last patch that begins at or before voxel i; -1: none. */
static int64_t last_at(const pz_axis *a, int64_t i) {
  int64_t low = -1, high = a->count;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (pz_axis_start(a, middle) <= i) low = middle;
    else high = middle;
  }
  return low;
}

int64_t pz_axis_covering(const pz_axis *a, int64_t i, int64_t *last) {
  *last = last_at(a, i);
  return last_at(a, i - a->out) + 1;
}

pz_axis pz_axis_part(const pz_axis *whole, int64_t begin, int64_t end) {
  pz_axis a = *whole;
  int64_t ignored, last;
  int64_t first = pz_axis_covering(whole, begin, &ignored);
  if (whole->warm) first = first > whole->warm ? first - whole->warm : 0;
  pz_axis_covering(whole, end - 1, &last);
  a.skip += first, a.count = last - first + 1;
  a.low += begin, a.origin += begin, a.result = end - begin;
  return a;
}

/* The voxel that most patches cover is the first of a patch. */
int64_t pz_axis_coverage(const pz_axis *a) {
  int64_t most = 1;
  for (int64_t k = 0, first = 0; k < a->count; k++) {
    while (pz_axis_start(a, first) + a->out <= pz_axis_start(a, k)) first++;
    if (k - first + 1 > most) most = k - first + 1;
  }
  return most;
}

int64_t pz_mirror(int64_t i, int64_t n) {
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1);
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : period - i;
}

int64_t pz_axis_needs(const pz_axis *a, int64_t k, bool mirror, int64_t *last) {
  const int64_t begin = pz_axis_input(a, k), end = begin + a->in - 1;
  int64_t low = begin < 0 ? 0 : begin < a->size ? begin : a->size;
  *last = end < a->size ? end : a->size - 1;
  /* A voxel beyond the border stands for one inside, at most as far from the border. */
  if (mirror && begin < 0) *last = -begin > *last ? -begin : *last;
  if (mirror && end >= a->size) low = 2 * (a->size - 1) - end < low ? 2 * (a->size - 1) - end : low;
  if (low < 0) low = 0;
  if (*last > a->size - 1) *last = a->size - 1;
  return low;
}

static void add_needs(const pz_axis *a, int64_t k, bool mirror, int64_t *first, int64_t *last) {
  int64_t end;
  const int64_t begin = pz_axis_needs(a, k, mirror, &end);
  if (begin < *first) *first = begin;
  if (end > *last) *last = end;
}

/* Those between reach neither border, and lie between the first and the last. */
int64_t pz_axis_reads(const pz_axis *a, bool mirror, int64_t *last) {
  int64_t first = a->size - 1, k = 0, end = a->count - 1;
  *last = 0;
  do add_needs(a, k++, mirror, &first, last);
  while (k < a->count && pz_axis_input(a, k) < 0);
  do add_needs(a, end--, mirror, &first, last);
  while (end >= k && pz_axis_input(a, end) + a->in > a->size);
  return first;
}
