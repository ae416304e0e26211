#include "volume/mask.h"

#include "base/memory.h"
#include "formats/calls.h"

#include <string.h>

static int64_t up(int64_t i, int64_t step) { return (i + step - 1) / step * step; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* ------------------------------------------------------------------ which voxels */

/* Bits that tell an element from 0: all, but for the sign of floats. By bits, since workers take denormal numbers for zeros and the caller's
 * thread may not. A not-a-number is not 0. */
static uint64_t telling_bits(pz_dtype dtype) {
  const char kind = pz_dtype_kind(dtype);
  return kind == 'u' || kind == 'i' || kind == 'b' ? UINT64_MAX
                                                   : UINT64_MAX >> (65 - 8 * pz_dtype_bytes(dtype));
}

/* Functions for each size of an element; their loops are what the compiler vectorises. */
#define DEFINE_SIZE(T)                                                                                       \
  static bool any_##T(const void *in, int64_t n, uint64_t bits) {                                            \
    const T *v = in;                                                                                         \
    T all = 0;                                                                                               \
    for (int64_t i = 0; i < n; i++) all |= v[i];                                                             \
    return (all & (T)bits) != 0;                                                                             \
  }                                                                                                          \
  static void tell_##T(const void *in, int64_t n, uint64_t bits, uint8_t *inside) {                          \
    const T *v = in, telling = (T)bits;                                                                      \
    for (int64_t i = 0; i < n; i++) inside[i] = (v[i] & telling) != 0;                                       \
  }
DEFINE_SIZE(uint8_t)
DEFINE_SIZE(uint16_t)
DEFINE_SIZE(uint32_t)
DEFINE_SIZE(uint64_t)

static const struct {
  bool (*any)(const void *in, int64_t n, uint64_t bits);
  void (*tell)(const void *in, int64_t n, uint64_t bits, uint8_t *inside);
} sizes[] = {[1] = {any_uint8_t, tell_uint8_t},
             [2] = {any_uint16_t, tell_uint16_t},
             [4] = {any_uint32_t, tell_uint32_t},
             [8] = {any_uint64_t, tell_uint64_t}};

/* ------------------------------------------------------------------ before the work */

static pz_status check(const pz_volume *m, const pz_volume *input, pz_error *err) {
  const int64_t *have = m->info.shape, *want = input->info.shape;
  if (m->info.channels != 1)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: a mask of %d channels; expected one, which says what voxels are wanted", m->path,
                   m->info.channels);
  if (memcmp(have, want, sizeof m->info.shape) == 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: a mask of %lld x %lld x %lld voxels (z, y, x) for a volume of %lld x %lld x %lld, %s; "
                 "expected the same size",
                 m->path, (long long)have[0], (long long)have[1], (long long)have[2], (long long)want[0],
                 (long long)want[1], (long long)want[2], input->path);
}

pz_status pz_mask_open(const pz_infer_options *o, const pz_volume *input, pz_volume **mask, pz_error *err) {
  const pz_volume_reader *r = o->mask;
  const pz_axes_choice as_it_says = {.any_time = false};
  *mask = NULL;
  if (!r) return PZ_OK;
  if (!r->path && !r->read)
    return pz_fail(err, PZ_ERROR_USAGE, "a mask must be given with a path or a function");
  PZ_TRY(r->path ? pz_volume_open_chosen(r->path, &as_it_says, mask, err)
                 : pz_volume_from_calls(r, mask, err));
  if (!r->path) (*mask)->path = "the mask";
  return check(*mask, input, err);
}

/* ------------------------------------------------------------------ its planes */

/* Of layer k: behind the last plane of the block's result that is looked at, which may be of patches further on in the stream. */
static int64_t last_layer(const pz_axis *z, int64_t k) { return least(k + z->warm, z->count - 1); }
static int64_t planes_end(const pz_axis *z, int64_t k) { return pz_axis_end(z, last_layer(z, k)); }

static int64_t plane_bytes(const pz_run_layout *a, const pz_volume *mask) {
  return pz_times(pz_times(a->cut[0].most_out, a->cut[1].most_out), pz_dtype_bytes(mask->info.dtype));
}

int64_t pz_mask_ring_bytes(const pz_run_layout *a, const pz_volume *mask) {
  return pz_times(a->mask.planes, plane_bytes(a, mask));
}

void pz_mask_lay_out(const pz_volume *mask, bool whole_steps, const pz_engine_tuning *tuning,
                     pz_run_layout *a) {
  const pz_axis *z = &a->grid.axis[0];
  const int64_t step = whole_steps || mask->calls ? mask->step[0] : 1;
  const int64_t portion = tuning && tuning->read_bytes ? tuning->read_bytes : PZ_PORTION;
  int64_t planes = 1;
  for (int64_t k = 0; k < z->count; k++) planes = most(planes, planes_end(z, k) - pz_axis_begin(z, k));
  a->mask.cached = !whole_steps || !mask->cache_memory;
  a->mask.step = step;
  a->mask.planes = up(planes + step - 1, step);
  a->mask.read_planes = most(portion / plane_bytes(a, mask) / step * step, step);
}

int64_t pz_mask_bytes(const pz_run_layout *a, const pz_volume *mask) {
  if (!mask) return 0;
  const int64_t reader = mask->memory - (a->mask.cached ? 0 : mask->cache_memory);
  /* what a callback is expected to hold while it fills a box: a copy of it */
  const int64_t copy =
      mask->calls ? pz_times(least(a->mask.read_planes, a->mask.planes), plane_bytes(a, mask)) : 0;
  return pz_plus(pz_plus(reader, copy), pz_mask_ring_bytes(a, mask));
}

/* The first plane of the block's result, in the volume; and a place of its rows. */
static int64_t first_voxel(const pz_window *s, int axis) {
  return s->layout->view.start[axis] + s->block.grid.axis[axis].origin;
}

static char *row_at(const pz_window *s, int64_t volume_z, int64_t y) {
  const int64_t *size = s->block.result.size;
  const int64_t row = (volume_z % s->layout->mask.planes * size[1] + y) * size[2];
  return s->mask.ring + row * pz_dtype_bytes(s->mask.volume->info.dtype);
}

/* Planes at..at+n-1 of the volume, which lie together in the ring. */
static pz_status read_planes(pz_window *s, int64_t at, int64_t n, pz_error *err) {
  const int64_t *size = s->block.result.size, row = size[2] * pz_dtype_bytes(s->mask.volume->info.dtype);
  const pz_box box = {.start = {at, first_voxel(s, 1), first_voxel(s, 2)}, .size = {n, size[1], size[2]}};
  const int64_t stride[3] = {n * size[1] * row, size[1] * row, row};
  return pz_volume_read(s->mask.volume, &box, row_at(s, at, 0), stride, err);
}

pz_status pz_mask_read(pz_window *s, int64_t k, pz_error *err) {
  if (!s->mask.volume) return PZ_OK;
  const pz_axis *z = &s->block.grid.axis[0];
  const int64_t first = first_voxel(s, 0), step = s->layout->mask.step, ring = s->layout->mask.planes;
  const int64_t end = least(up(first + planes_end(z, k), step), first + z->result);
  if (s->mask.block != s->block.index)
    s->mask.block = s->block.index, s->mask.have = first + pz_axis_begin(z, k);
  while (s->mask.have < end) {
    const int64_t at = s->mask.have, whole = (at + s->layout->mask.read_planes) / step * step;
    const int64_t to = least(least(whole, end), (at / ring + 1) * ring);
    PZ_TRY(read_planes(s, at, to - at, err));
    s->mask.have = to;
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ what is wanted */

/* Whether a voxel of the box begin..end-1 of the block's result is wanted. */
static bool any_inside(const pz_window *s, const int64_t begin[3], const int64_t end[3]) {
  const pz_dtype dtype = s->mask.volume->info.dtype;
  const int64_t element = pz_dtype_bytes(dtype), first = first_voxel(s, 0), n = end[2] - begin[2];
  const uint64_t bits = telling_bits(dtype);
  for (int64_t z = begin[0]; z < end[0]; z++)
    for (int64_t y = begin[1]; y < end[1]; y++)
      if (sizes[element].any(row_at(s, first + z, y) + begin[2] * element, n, bits)) return true;
  return false;
}

bool pz_mask_leaves_out(const pz_window *s, const int64_t k[3]) {
  const pz_axis *a = s->block.grid.axis;
  int64_t begin[3], end[3];
  if (!s->mask.volume) return false;
  for (int i = 0; i < 3; i++) begin[i] = pz_axis_begin(&a[i], k[i]), end[i] = pz_axis_end(&a[i], k[i]);
  end[0] = planes_end(&a[0], k[0]);
  return !any_inside(s, begin, end);
}

const uint8_t *pz_mask_row(const pz_window *s, int64_t z, int64_t y, int32_t worker) {
  if (!s->mask.volume) return NULL;
  const pz_dtype dtype = s->mask.volume->info.dtype;
  const int64_t n = s->block.result.size[2];
  uint8_t *inside = s->inside + worker * n;
  sizes[pz_dtype_bytes(dtype)].tell(row_at(s, first_voxel(s, 0) + z, y), n, telling_bits(dtype), inside);
  return memchr(inside, 0, (size_t)n) ? inside : NULL;
}

void pz_mask_sums(const uint8_t *inside, const pz_blend_row *row) {
  const int64_t element = pz_sum_bytes(row->kind);
  for (int64_t c = 0; c < row->channels; c++) {
    char *sum = (char *)row->sum + c * row->stride * element;
    for (int64_t i = 0; i < row->n; i++)
      if (!inside[i]) memset(sum + i * element, 0, (size_t)element);
  }
}

void pz_mask_stored(const uint8_t *inside, const pz_blend_row *row, int64_t channels, int64_t element) {
  for (int64_t c = 0; c < channels; c++) {
    char *out = (char *)row->out + c * row->out_stride * element;
    for (int64_t i = 0; i < row->n; i++)
      if (!inside[i]) memset(out + i * element, 0, (size_t)element);
  }
}
