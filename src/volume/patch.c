#include "volume/patch.h"

#include "base/huge.h"
#include "volume/blend.h"
#include "volume/mask.h"
#include "formats/convert.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static int64_t product(const int64_t n[3]) { return n[0] * n[1] * n[2]; }

/* ------------------------------------------------------------------ memory */

static void *take(pz_window *s, int64_t bytes, const char *what, pz_error *err) {
  void *block = pz_arena_alloc(s->arena, (size_t)bytes, 1);
  if (!block) pz_fail_memory(err, what, (unsigned long long)bytes);
  return block;
}

/* What is read and written voxel by voxel lies in one block, so that huge pages cover it: without them scattering waits for address
 * translation. */
enum { VOXELS_ALIGN = 64 };
static void *place(char *block, int64_t *at, int64_t bytes) {
  char *here = block ? block + *at : NULL;
  *at += (bytes + VOXELS_ALIGN - 1) / VOXELS_ALIGN * VOXELS_ALIGN;
  return here;
}
/* Returns the block's bytes; block NULL: counts them only. */
static int64_t place_voxels(pz_window *s, char *block) {
  const pz_run_layout *p = s->layout;
  const pz_patch_function *f = s->function;
  const int64_t in = product(f->in) * f->channels_in * pz_dtype_bytes(f->taken.type),
                weights = product(f->out) * 4, out = weights * f->channels_out,
                raw = product(f->out) * f->channels_out * pz_dtype_bytes(f->given.type);
  int64_t at = 0;
  s->ring = place(block, &at, p->bytes.input), s->sums = place(block, &at, p->bytes.sums);
  s->in = place(block, &at, in), s->weights = place(block, &at, weights);
  for (int i = 0; i < p->buffers; i++) s->out[i] = place(block, &at, out);
  for (int i = 0; i < p->stores; i++) s->store[i] = place(block, &at, p->bytes.stores / p->stores);
  if (f->given.type != PZ_F32) s->raw = place(block, &at, raw);
  if (p->tiling.flips > 1) s->flipped_in = place(block, &at, in);
  if (pz_patch_runs(f, &p->tiling) > 1) s->more_out = place(block, &at, out);
  if (s->mask.volume) s->mask.ring = place(block, &at, pz_mask_ring_bytes(p, s->mask.volume));
  return at;
}

static bool take_voxels(pz_window *s, pz_error *err) {
  const int64_t bytes = place_voxels(s, NULL);
  const bool huge = bytes >= 2 * (int64_t)PZ_HUGE_PAGE;
  char *block = take(s, bytes + (huge ? (int64_t)PZ_HUGE_PAGE : 0), "the planes and the patches", err);
  if (!block) return false;
  if (huge) pz_huge_advise(block = pz_huge_align(block), (size_t)bytes);
  place_voxels(s, block);
  return true;
}

static bool take_all(pz_window *s, pz_error *err) {
  const pz_run_layout *p = s->layout;
  const pz_patch_function *f = s->function;
  const int64_t x = p->cut[1].most_out, workers = p->workers;
  return take_voxels(s, err) && (s->shift = take(s, f->channels_in * 16, "the normalisation", err)) &&
         (s->inverse = take(s, workers * x * 8, "a row", err)) &&
         (s->best = take(s, workers * x * 4, "a row", err)) &&
         (!p->typed || (s->row = take(s, workers * f->channels_out * x * 4, "a row", err))) &&
         (!s->mask.volume || (s->inside = take(s, workers * x, "a row", err))) &&
         (s->source = take(s, (f->in[0] + f->in[1] + f->in[2]) * 8, "indices", err));
}

pz_status pz_window_make(const pz_patch_function *f, const pz_run_layout *layout,
                         const pz_infer_options *options, const pz_volume_info *input, pz_volume *mask,
                         pz_window *s, pz_error *err) {
  *s = (pz_window){.function = f, .layout = layout, .options = options, .dtype = input->dtype};
  s->mask.volume = mask, s->mask.block = -1;
  s->arena = pz_arena_new();
  if (!s->arena) return pz_fail_memory(err, "a window", 0);
  double *scratch = take(s, (f->out[0] + f->out[1] + f->out[2]) * 8, "the weights", err);
  if (!scratch || !take_all(s, err)) {
    pz_window_free(s);
    return PZ_ERROR_MEMORY;
  }
  s->scale = s->shift + f->channels_in;
  for (int32_t c = 0; c < f->channels_in; c++) s->shift[c] = 0, s->scale[c] = 1;
  pz_blend_weights(layout->tiling.weights, f->out, layout->tiling.grid.step, scratch, s->weights);
  return PZ_OK;
}

void pz_window_free(pz_window *s) {
  pz_arena_free(s->arena);
  memset(s, 0, sizeof *s);
}

pz_block pz_window_block(const pz_window *s, int64_t index) {
  const pz_run_layout *p = s->layout;
  pz_block block;
  pz_block_make(&p->grid, &p->cut[0], &p->cut[1], index, p->tiling.mirror, &block);
  return block;
}

static int64_t row_bytes(const pz_window *s) { return s->block.input.size[2] * pz_dtype_bytes(s->dtype); }
int64_t pz_window_plane_bytes(const pz_window *s) {
  const pz_cuts *cut = s->layout->cut;
  return cut[0].most_in * cut[1].most_in * pz_dtype_bytes(s->dtype);
}
int64_t pz_window_channel_bytes(const pz_window *s) { return s->layout->ring * pz_window_plane_bytes(s); }
int64_t pz_window_count(const pz_window *s, int64_t block, int64_t z) {
  return block * s->layout->block_planes + z - s->layout->ring_base;
}
char *pz_window_plane(const pz_window *s, int64_t n) {
  return s->ring + n % s->layout->ring * pz_window_plane_bytes(s);
}
/* Row y of plane z of a channel, from voxel x on. */
static const char *voxels_at(const pz_window *s, int64_t c, int64_t z, int64_t y, int64_t x) {
  const int64_t *start = s->block.input.start;
  return pz_window_plane(s, pz_window_count(s, s->block.index, z)) + c * pz_window_channel_bytes(s) +
         (y - start[1]) * row_bytes(s) + (x - start[2]) * pz_dtype_bytes(s->dtype);
}

/* ------------------------------------------------------------------ work on the pool */

/* What the rows of a part are told to add up to; first: (row * channels + channel) * x + place in the row, INT64_MAX
 * for none. */
typedef struct tally {
  _Atomic int64_t not_finite, first, clipped;
} tally;

typedef struct patch_work {
  pz_window *window;
  const int64_t *k;
  const float *out;
  float *sum;
  int64_t from, units; /* first plane; rows of voxels, which are what is shared out */
  int64_t n;
  const pz_part *part;
  int which;
  void (*unit)(const struct patch_work *patch_work, int64_t i, int32_t worker);
  atomic_bool found;
  tally *tally;
} patch_work;

static void work(void *arg, int32_t worker) {
  const patch_work *j = arg;
  const int64_t workers = j->window->layout->workers;
  const int64_t begin = j->units * worker / workers, end = j->units * (worker + 1) / workers;
  for (int64_t i = begin; i < end; i++) j->unit(j, i, worker);
}

static void run(patch_work *j) {
  pz_pool *pool = j->window->function->pool;
  if (pool) pz_pool_run(pool, work, j);
  else work(j, 0);
}

/* ------------------------------------------------------------------ gather */

/* For each voxel of a patch along an axis the voxel of the volume, or -1 for a zero. */
static void fill_source(const pz_axis *a, int64_t k, bool mirror, int64_t *source) {
  const int64_t begin = pz_axis_input(a, k);
  for (int64_t i = 0; i < a->in; i++) {
    const int64_t at = begin + i;
    source[i] = at >= 0 && at < a->size ? at : mirror ? pz_mirror(at, a->size) : -1;
  }
}

/* The part lo..hi-1 of a patch's axis that is inside the volume. */
static void inside(const pz_axis *a, int64_t k, int64_t *lo, int64_t *hi) {
  const int64_t begin = pz_axis_input(a, k);
  *lo = begin < 0 ? -begin : 0;
  *hi = a->size - begin < a->in ? a->size - begin : a->in;
}

/* Elements of the number zero. */
static void put_zeros(const pz_window *s, char *out, int64_t n) {
  const pz_element *e = &s->function->taken;
  const int64_t bytes = pz_dtype_bytes(e->type);
  const float zero = 0;
  memset(out, 0, (size_t)(n * bytes));
  for (int64_t i = 0; e->zero_point && i < n; i++) pz_elements_from(*e, &zero, 1, out + i * bytes);
}

/* Elements as the volume has them, for networks that take no floats. row, begin: of the block's input, as below. */
static void copy_row(const pz_window *s, const char *row, int64_t begin, int64_t lo, int64_t hi,
                     const int64_t *source, char *out) {
  const int64_t bytes = pz_dtype_bytes(s->dtype), n = s->function->in[2];
  memcpy(out + lo * bytes, row + (begin + lo) * bytes, (size_t)((hi - lo) * bytes));
  for (int64_t x = 0; x < n; x = x + 1 == lo ? hi : x + 1) {
    if (x >= lo && x < hi) continue;
    if (source[x] < 0) put_zeros(s, out + x * bytes, 1);
    else memcpy(out + x * bytes, row + (source[x] - s->block.input.start[2]) * bytes, (size_t)bytes);
  }
}

/* A voxel beyond the border, which stands for voxel `at` of the view (below 0: for none): nearly always one of the patch's own. */
static float beyond(const pz_window *s, int64_t c, const char *row, const float *out, int64_t at,
                    int64_t begin, int64_t lo, int64_t hi) {
  float v = 0;
  if (at < 0) return 0;
  at -= s->block.input.start[2];
  if (at - begin >= lo && at - begin < hi) return out[at - begin];
  pz_convert(s->dtype, row + at * pz_dtype_bytes(s->dtype), 1, s->shift[c], s->scale[c], &v);
  return v;
}

/* The middle is converted, what is beyond the border copied from it. */
static void read_row(const patch_work *j, int64_t i, int32_t worker) {
  (void)worker;
  const pz_window *s = j->window;
  const pz_patch_function *f = s->function;
  const pz_axis *ax = &s->block.grid.axis[2];
  const int64_t c = i / (f->in[0] * f->in[1]), z = i / f->in[1] % f->in[0], y = i % f->in[1];
  const int64_t *sz = s->source, *sy = sz + f->in[0], *sx = sy + f->in[1];
  char *at = s->in + i * f->in[2] * pz_dtype_bytes(f->taken.type);
  if (sz[z] < 0 || sy[y] < 0) {
    put_zeros(s, at, f->in[2]);
    return;
  }
  const int64_t first = s->block.input.start[2];
  const char *row = voxels_at(s, c, sz[z], sy[y], first);
  const int64_t begin = pz_axis_input(ax, j->k[2]) - first;
  int64_t lo, hi;
  inside(ax, j->k[2], &lo, &hi);
  if (f->taken.type != PZ_F32) {
    copy_row(s, row, begin, lo, hi, sx, at);
    return;
  }
  float *out = (float *)(void *)at;
  pz_convert(s->dtype, row + (begin + lo) * pz_dtype_bytes(s->dtype), hi - lo, s->shift[c], s->scale[c],
             out + lo);
  for (int64_t x = 0; x < lo; x++) out[x] = beyond(s, c, row, out, sx[x], begin, lo, hi);
  for (int64_t x = hi; x < f->in[2]; x++) out[x] = beyond(s, c, row, out, sx[x], begin, lo, hi);
}

/* Sizes that the network takes: those that it is told of. */
static void tell_place(const pz_window *s, const int64_t k[3]) {
  const pz_patch_function *f = s->function;
  for (int i = 0; i < 3 && f->tiles; i++) {
    const pz_axis *a = &s->block.grid.axis[i];
    f->place[i] = (float)pz_axis_place(a, k[i]);
    f->place[3 + i] = (float)pz_network_size(f->tiles, f->locality, i, a->size);
  }
}

void pz_patch_read(pz_window *s, const int64_t k[3]) {
  const pz_patch_function *f = s->function;
  tell_place(s, k);
  int64_t *source = s->source;
  for (int i = 0; i < 3; source += f->in[i], i++)
    fill_source(&s->block.grid.axis[i], k[i], s->layout->tiling.mirror, source);
  patch_work j = {.window = s, .k = k, .units = f->channels_in * f->in[0] * f->in[1], .unit = read_row};
  run(&j);
}

/* ------------------------------------------------------------------ zero? */

static void look_at_row(const patch_work *j, int64_t i, int32_t worker) {
  (void)worker;
  const pz_window *s = j->window;
  const pz_axis *a = s->block.grid.axis;
  int64_t lo[3], hi[3];
  if (atomic_load_explicit(&j->found, memory_order_relaxed)) return;
  for (int d = 0; d < 3; d++) inside(&a[d], j->k[d], &lo[d], &hi[d]);
  const int64_t rows = hi[1] - lo[1], planes = hi[0] - lo[0];
  const int64_t c = i / (planes * rows), z = pz_axis_input(&a[0], j->k[0]) + lo[0] + i / rows % planes;
  const int64_t y = pz_axis_input(&a[1], j->k[1]) + lo[1] + i % rows,
                x = pz_axis_input(&a[2], j->k[2]) + lo[2];
  if (!pz_all_zero(s->dtype, voxels_at(s, c, z, y, x), hi[2] - lo[2]))
    atomic_store_explicit((atomic_bool *)&j->found, true, memory_order_relaxed);
}

bool pz_patch_is_zero(pz_window *s, const int64_t k[3]) {
  int64_t lo[2], hi[2];
  for (int d = 0; d < 2; d++) inside(&s->block.grid.axis[d], k[d], &lo[d], &hi[d]);
  patch_work j = {.window = s, .k = k, .unit = look_at_row};
  j.units = s->function->channels_in * (hi[0] - lo[0]) * (hi[1] - lo[1]);
  run(&j);
  return !atomic_load(&j.found);
}

/* ------------------------------------------------------------------ flips */

/* Row i of [channels][z][y][x] and of its mirror image. */
static int64_t flipped_row(int64_t i, const int64_t n[3], int flip) {
  const int64_t c = i / (n[0] * n[1]), z = i / n[1] % n[0], y = i % n[1];
  return (c * n[0] + (flip & 1 ? n[0] - 1 - z : z)) * n[1] + (flip & 2 ? n[1] - 1 - y : y);
}

static void flip_row(const patch_work *j, int64_t i, int32_t worker) {
  (void)worker;
  const pz_window *s = j->window;
  const int64_t *n = s->function->in;
  const int64_t bytes = pz_dtype_bytes(s->function->taken.type);
  const char *from = s->in + flipped_row(i, n, j->which) * n[2] * bytes;
  char *to = s->flipped_in + i * n[2] * bytes;
  for (int64_t x = 0; x < n[2]; x++)
    memcpy(to + x * bytes, from + (j->which & 4 ? n[2] - 1 - x : x) * bytes, (size_t)bytes);
}

/* The numbers that the network's elements stand for. */
static void decode_row(const patch_work *j, int64_t i, int32_t worker) {
  (void)worker;
  const pz_patch_function *f = j->window->function;
  const int64_t n = f->out[2];
  pz_elements_to(f->given, j->window->raw + i * n * pz_dtype_bytes(f->given.type), n, j->sum + i * n);
}

static pz_status run_network(const pz_patch_function *f, int32_t network, const void *in, void *out,
                             pz_error *err) {
  if (!network) return f->run(f->host, in, out, err);
  const pz_patch_other *other = &f->others[network - 1];
  return other->run(other->host, in, out, err);
}

static pz_status apply_once(pz_window *s, int32_t network, const char *in, float *out, pz_error *err) {
  const pz_patch_function *f = s->function;
  if (!s->raw) return run_network(f, network, in, out, err);
  PZ_TRY(run_network(f, network, in, s->raw, err));
  patch_work j = {
      .window = s, .sum = out, .units = f->channels_out * f->out[0] * f->out[1], .unit = decode_row};
  run(&j);
  return PZ_OK;
}

static void flip_input(pz_window *s, int flip) {
  const pz_patch_function *f = s->function;
  patch_work j = {
      .window = s, .which = flip, .units = f->channels_in * f->in[0] * f->in[1], .unit = flip_row};
  run(&j);
}

/* Adds the result of a flipped patch, flipped back; after the last one the sum is divided. */
static void add_flipped_row(const patch_work *j, int64_t i, int32_t worker) {
  (void)worker;
  const pz_window *s = j->window;
  const int64_t *n = s->function->out;
  const float *from = s->more_out + flipped_row(i, n, j->which) * n[2];
  const float divide = (float)j->n;
  float *to = j->sum + i * n[2];
  for (int64_t x = 0; x < n[2]; x++) to[x] = (to[x] + from[j->which & 4 ? n[2] - 1 - x : x]) / divide;
}

/* divide: by how much the sum is, behind the last one; 1 before. */
static void add_result(pz_window *s, int flip, float *sum, int divide) {
  const pz_patch_function *f = s->function;
  patch_work j = {.window = s, .which = flip, .sum = sum, .n = divide, .unit = add_flipped_row};
  j.units = f->channels_out * f->out[0] * f->out[1];
  run(&j);
}

int pz_patch_runs(const pz_patch_function *f, const pz_tiling_rules *t) {
  return t->flips * (int)pz_patch_networks(f);
}

/* Each mirror image goes through all networks, so that it is made once. */
pz_status pz_patch_apply(pz_window *s, float *out, pz_error *err) {
  const pz_tiling_rules *t = &s->layout->tiling;
  const int networks = (int)pz_patch_networks(s->function), runs = pz_patch_runs(s->function, t);
  PZ_TRY(apply_once(s, 0, s->in, out, err));
  for (int i = 1; i < runs; i++) {
    const int flip = t->flip[i / networks], network = i % networks;
    if (flip && !network) flip_input(s, flip);
    PZ_TRY(apply_once(s, network, flip ? s->flipped_in : s->in, s->more_out, err));
    add_result(s, flip, out, i + 1 == runs ? runs : 1);
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ scatter */

/* Where row i of what a patch adds lies, in voxels: in the sums, in a patch of weights, in the patch's result. */
typedef struct scattered {
  int64_t sum, weight, out;
} scattered;
static scattered scattered_at(const patch_work *j, int64_t i) {
  const pz_window *s = j->window;
  const pz_axis *a = s->block.grid.axis;
  const int64_t *out = s->function->out;
  const int64_t begin[3] = {j->from, pz_axis_begin(&a[1], j->k[1]), pz_axis_begin(&a[2], j->k[2])};
  const int64_t high = pz_axis_end(&a[1], j->k[1]) - begin[1];
  const int64_t c = i / (j->n * high), z = begin[0] + i / high % j->n, y = begin[1] + i % high, x = begin[2];
  const int64_t plane = c * s->layout->depth + z % s->layout->depth;
  const int64_t in_patch[3] = {z - pz_axis_start(&a[0], j->k[0]), y - pz_axis_start(&a[1], j->k[1]),
                               x - pz_axis_start(&a[2], j->k[2])};
  const int64_t at = (in_patch[0] * out[1] + in_patch[1]) * out[2] + in_patch[2];
  return (scattered){(plane * a[1].result + y) * a[2].result + x, at, c * product(out) + at};
}

static void fetch(const void *from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)from + i);
}

/* The network has driven all this out of the caches, and rows are too short for the processor to run ahead. */
enum { ROWS_AHEAD = 3 };

static void scatter_row(const patch_work *j, int64_t i, int32_t worker) {
  (void)worker;
  const pz_window *s = j->window;
  const pz_axis *ax = &s->block.grid.axis[2];
  const int64_t n = pz_axis_end(ax, j->k[2]) - pz_axis_begin(ax, j->k[2]);
  const scattered at = scattered_at(j, i);
  if (i + ROWS_AHEAD < j->units) {
    const scattered soon = scattered_at(j, i + ROWS_AHEAD);
    const int64_t sum = pz_sum_bytes(s->layout->sum);
    fetch((const char *)s->sums + soon.sum * sum, n * sum);
    fetch(s->weights + soon.weight, n * 4), fetch(j->out + soon.out, n * 4);
  }
  if (!pz_blend_add(s->layout->sum, s->sums, at.sum, s->weights + at.weight, j->out + at.out, n))
    atomic_store_explicit((atomic_bool *)&j->found, true, memory_order_relaxed);
}

/* What is scattered, by rows along x. No units: nothing is. */
static patch_work scattering(pz_window *s, const int64_t k[3], const float *out, int64_t from) {
  const pz_axis *a = s->block.grid.axis;
  const int64_t begin = pz_axis_begin(&a[0], k[0]), end = pz_axis_end(&a[0], k[0]);
  if (from < begin) from = begin;
  patch_work j = {.window = s, .k = k, .out = out, .from = from, .n = end - from, .unit = scatter_row};
  if (j.n > 0)
    j.units = s->function->channels_out * j.n * (pz_axis_end(&a[1], k[1]) - pz_axis_begin(&a[1], k[1]));
  return j;
}

bool pz_patch_scatter(pz_window *s, const int64_t k[3], const float *out, int64_t from) {
  patch_work j = scattering(s, k, out, from);
  if (j.units > 0) run(&j);
  return !atomic_load(&j.found);
}

bool pz_patch_find_not_finite(pz_window *s, const int64_t k[3], const float *out, int64_t from,
                              pz_lost_voxel *voxel) {
  const pz_axis *a = s->block.grid.axis;
  const int64_t x = pz_axis_begin(&a[2], k[2]), n = pz_axis_end(&a[2], k[2]) - x;
  const patch_work j = scattering(s, k, out, from);
  for (int64_t i = 0; i < j.units; i++) {
    const float *row = out + scattered_at(&j, i).out;
    const int64_t found = pz_find_not_finite(PZ_F32, row, n);
    if (found < 0) continue;
    const int64_t y = pz_axis_begin(&a[1], k[1]), high = pz_axis_end(&a[1], k[1]) - y;
    *voxel = (pz_lost_voxel){
        .channel = i / (j.n * high), .z = j.from + i / high % j.n, .y = y + i % high, .x = x + found};
    voxel->value = row[found];
    return true;
  }
  return false;
}

pz_lost_voxel pz_patch_greatest_input(const pz_window *s) {
  const int64_t *n = s->function->in, all = product(n) * s->function->channels_in;
  const int64_t *z = s->source, *y = z + n[0], *x = y + n[1];
  const int64_t bytes = pz_dtype_bytes(s->function->taken.type);
  int64_t at = 0;
  float greatest = 0;
  for (int64_t i = 0; i < all; i++) {
    float value;
    pz_elements_to(s->function->taken, s->in + i * bytes, 1, &value);
    if (!i || fabsf(value) > fabsf(greatest)) at = i, greatest = value;
  }
  return (pz_lost_voxel){.channel = at / product(n),
                         .z = z[at / n[2] / n[1] % n[0]],
                         .y = y[at / n[2] % n[1]],
                         .x = x[at % n[2]],
                         .value = greatest};
}

/* ------------------------------------------------------------------ store */

static void add_tally(tally *t, const pz_blend_tally *row, int64_t first) {
  if (row->clipped) atomic_fetch_add(&t->clipped, row->clipped);
  if (!row->not_finite) return;
  atomic_fetch_add(&t->not_finite, row->not_finite);
  int64_t least = atomic_load(&t->first);
  while (first < least && !atomic_compare_exchange_weak(&t->first, &least, first)) {}
}

/* The row's numbers as elements of the network's type. */
static void store_typed(const pz_window *s, pz_blend_row *row, int32_t worker) {
  const pz_element *given = &s->function->given;
  const int64_t bytes = pz_dtype_bytes(given->type);
  char *out = row->out;
  row->out = s->row + worker * row->channels * row->n;
  const int64_t stride = row->out_stride;
  row->out_stride = row->n;
  pz_blend_store(PZ_STORE_F32, row);
  for (int64_t c = 0; c < row->channels; c++)
    pz_elements_from(*given, (float *)row->out + c * row->n, row->n, out + c * stride * bytes);
}

static void store_row(const patch_work *j, int64_t i, int32_t worker) {
  const pz_window *s = j->window;
  const pz_run_layout *p = s->layout;
  const pz_part *part = j->part;
  const int64_t *size = s->block.result.size;
  const int64_t x = size[2], z = part->z + i / part->rows, y = part->y + i % part->rows;
  double *inverse = s->inverse + worker * x;
  pz_blend_inverse(p->sum, &s->block.grid, s->weights, z, y, inverse);
  const int64_t high = size[1], sum = (z % p->depth * high + y) * x;
  pz_blend_row row = {
      .sum = (char *)s->sums + sum * pz_sum_bytes(p->sum),
      .kind = p->sum,
      .inverse = inverse,
      .n = x,
      .channels = s->function->channels_out,
      .stride = p->depth * high * x,
      .out = s->store[j->which] + (i + part->at * part->rows) * x * pz_dtype_bytes(p->result.dtype),
      .out_stride = part->buffer * part->rows * x,
      .best = s->best + worker * x,
      .threshold = s->options->threshold,
  };
  const uint8_t *inside = pz_mask_row(s, z, y, worker);
  if (inside) pz_mask_sums(inside, &row);
  pz_blend_tally told = {.first = -1};
  pz_blend_count_not_finite(&row, &told);
  pz_blend_apply(s->options->apply, &row, inverse);
  pz_blend_count_clipped(s->options->store, &row, &told);
  add_tally(j->tally, &told, i * row.channels * x + told.first);
  if (p->typed) store_typed(s, &row, worker);
  else pz_blend_store(s->options->store, &row);
  if (inside && !p->typed) pz_mask_stored(inside, &row, p->result.channels, pz_dtype_bytes(p->result.dtype));
}

pz_part_tally pz_part_store(pz_window *s, const pz_part *part, int which) {
  const int64_t channels = s->function->channels_out, x = s->block.result.size[2];
  tally t = {.first = INT64_MAX};
  patch_work j = {
      .window = s, .part = part, .which = which, .unit = store_row, .units = part->planes * part->rows};
  j.tally = &t;
  run(&j);
  pz_part_tally told = {.not_finite = t.not_finite, .clipped = t.clipped};
  const int64_t first = told.not_finite ? t.first : 0, row = first / x / channels;
  told.first = (pz_lost_voxel){.channel = first / x % channels,
                               .z = part->z + row / part->rows,
                               .y = part->y + row % part->rows,
                               .x = first % x};
  return told;
}
