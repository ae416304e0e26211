/* run_layout.c: the memory of a run, known before it is taken. */
#include "volume/run_layout.h"
#include "base/memory.h"
#include "volume/blend.h"

#include <stdio.h>
#include <string.h>

/* The planes that layer k needs first: mirrored planes at the end of the volume make the last layer reach back, and
 * what it reaches back for must not have been given up before. */
int64_t pz_layer_first(const pz_axis *z, int64_t k, bool mirror) {
  int64_t last, first = pz_axis_needs(z, k, mirror, &last);
  const int64_t at_end = pz_axis_needs(z, z->count - 1, mirror, &last);
  return first < at_end ? first : at_end;
}

static int64_t layer_last(const pz_axis *z, int64_t k, bool mirror) {
  int64_t last;
  pz_axis_needs(z, k, mirror, &last);
  return last;
}

/* The least and the most planes of input that are of use: those of one layer, and those of the next as well. */
static void ring_limits(const pz_axis *z, bool mirror, int64_t *least, int64_t *most) {
  *least = *most = 1;
  for (int64_t k = 0; k < z->count; k++) {
    const int64_t first = pz_layer_first(z, k, mirror), next = k + 1 < z->count ? k + 1 : k;
    const int64_t one = layer_last(z, k, mirror) - first + 1, two = layer_last(z, next, mirror) - first + 1;
    if (one > *least) *least = one;
    if (two > *most) *most = two;
  }
}

/* Sums and products that stay at INT64_MAX instead of wrapping. */
static int64_t times(int64_t a, int64_t b) {
  int64_t r;
  return pz_mul_i64(a, b, &r) ? r : INT64_MAX;
}
static int64_t plus(int64_t a, int64_t b) {
  int64_t r;
  return pz_add_i64(a, b, &r) ? r : INT64_MAX;
}
static int64_t volume_of(const int64_t size[3]) { return times(times(size[0], size[1]), size[2]); }

/* Threads' stacks, the C library, HDF5's and SQLite's own caches, the code of all of them. */
enum { PROCESS_BYTES = 24 << 20 };

static void count_bytes(const pz_patch_function *f, const pz_volume *input, pz_run_layout *a) {
  const int64_t x = a->result.shape[2], yx = times(a->result.shape[1], x);
  const int64_t sum = times(f->channels_out, pz_sum_bytes(a->sum)), out = volume_of(f->out);
  a->bytes.input = times(times(a->ring, f->channels_in), pz_volume_plane_bytes(&input->info));
  a->bytes.sums = times(times(a->depth, yx), sum);
  const int64_t flipped = a->tiling.flips > 1;
  const int64_t of_in = f->channels_in * pz_dtype_bytes(f->taken.type),
                of_raw = f->given.type == PZ_F32 ? 0 : f->channels_out * pz_dtype_bytes(f->given.type);
  a->bytes.patches = plus(plus(times(1 + flipped, times(volume_of(f->in), of_in)), times(out, of_raw)),
                          times(a->buffers + flipped, times(out, f->channels_out * INT64_C(4))));
  a->bytes.weights = times(out, 4);
  a->bytes.stores =
      times(a->stores, times(times(a->store_planes, a->result.channels), pz_volume_plane_bytes(&a->result)));
  a->bytes.scratch = times(a->workers, times(x, 12 + (a->typed ? f->channels_out * INT64_C(4) : 0)));
  a->bytes.reader = input->memory;
  a->bytes.network = f->memory;
  a->bytes.process = PROCESS_BYTES;
  const int64_t parts[] = {a->bytes.input,   a->bytes.sums,    a->bytes.patches,
                           a->bytes.weights, a->bytes.stores,  a->bytes.scratch,
                           a->bytes.reader,  a->bytes.network, a->bytes.process};
  a->bytes.total = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) a->bytes.total = plus(a->bytes.total, parts[i]);
}

/* All that the run may have: what is there, and what it has already. The network's arena is allocated, and not written to yet; its code and
 * weights, and the process, are resident in part. */
static pz_memory memory_of_run(const pz_patch_function *f) {
  pz_memory m = pz_memory_there(f->memory);
  const int64_t resident = pz_memory_resident(), known = plus(f->memory, PROCESS_BYTES);
  m.bytes = plus(m.bytes, resident < known ? resident : known);
  if (m.bytes > m.whole) m.bytes = m.whole;
  return m;
}

static void human(int64_t bytes, char out[32]) {
  const double mib = (double)bytes / (1 << 20);
  snprintf(out, 32, mib < 10000 ? "%.0f MiB" : "%.1f GiB", mib < 10000 ? mib + 0.5 : mib / 1024);
}

/* machine: what there is, where that is the limit; NULL: `given` is. */
static pz_status too_little(int64_t given, const pz_memory *machine, const pz_run_layout *a, pz_error *err) {
  char need[32], have[32];
  human(a->bytes.total, need);
  human(machine ? machine->bytes : given, have);
  if (machine)
    return pz_fail(err, PZ_ERROR_MEMORY,
                   "%s of memory are needed (%lld bytes), %s are there (%lld bytes; %s); use a volume "
                   "smaller in y and x, or a network with smaller patches",
                   need, (long long)a->bytes.total, have, (long long)machine->bytes, machine->limit);
  return pz_fail(err, PZ_ERROR_MEMORY,
                 "%s of memory are needed (%lld bytes), the limit is %s; raise --memory, or use a volume "
                 "smaller in y and x, or a network with smaller patches",
                 need, (long long)a->bytes.total, have);
}

/* Fits the ring between its limits into what the rest leaves. */
static bool fits(const pz_patch_function *f, const pz_volume *input, int64_t limit, int64_t least,
                 int64_t most, pz_run_layout *a) {
  a->ring = most;
  count_bytes(f, input, a);
  if (a->bytes.total <= limit) return true;
  const int64_t plane = times(f->channels_in, pz_volume_plane_bytes(&input->info));
  const int64_t over = a->bytes.total == INT64_MAX ? most : (a->bytes.total - limit + plane - 1) / plane;
  a->ring = most - over > least ? most - over : least;
  count_bytes(f, input, a);
  return a->bytes.total <= limit;
}

/* Integers that the network gives are written as such; floats of 16 bits, which some formats do not have, as floats. */
static bool keeps_type(const pz_patch_function *f, const pz_infer_options *o) {
  const char kind = pz_dtype_kind(f->given.type);
  return o->store == PZ_STORE_F32 && o->apply == PZ_APPLY_NOTHING && (kind == 'u' || kind == 'i');
}

static void describe_result(const pz_patch_function *f, const pz_volume *input, pz_store store, bool typed,
                            const pz_grid *grid, pz_volume_info *r) {
  const int64_t first[3] = {grid->axis[0].origin, grid->axis[1].origin, grid->axis[2].origin};
  *r = input->info;
  for (int i = 0; i < 3; i++) r->shape[i] = grid->axis[i].result;
  pz_geometry_crop(&r->geometry, first);
  r->dtype = typed ? f->given.type : store == PZ_STORE_F32 ? PZ_F32 : PZ_U8;
  r->channels = store == PZ_STORE_ARGMAX ? 1 : f->channels_out;
  r->has_channels = r->channels > 1;
}

/* Whole numbers may be labels, which have no mean. */
static pz_status check_coverage(const pz_patch_function *f, int64_t coverage, int flips, pz_error *err) {
  const char kind = pz_dtype_kind(f->given.type);
  if ((kind != 'u' && kind != 'i') || f->given.scale != 1 || (coverage <= 1 && flips <= 1)) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "the network gives whole numbers (%s), as labels are, of which no mean is taken, and patches overlap "
      "or are flipped; use a volume that whole patches fill, or compile the network without its argmax and "
      "use --argmax",
      pz_dtype_name(f->given.type));
}

static void comfortable(const pz_engine_tuning *tuning, pz_run_layout *a) {
  const int64_t wanted = tuning && tuning->store_bytes ? tuning->store_bytes : PZ_PORTION;
  a->store_planes = wanted / times(a->result.channels, pz_volume_plane_bytes(&a->result));
  if (a->store_planes < 1) a->store_planes = 1;
  if (a->store_planes > a->depth) a->store_planes = a->depth;
  a->buffers = a->stores = 2;
}

/* From comfortable to thin: less reading ahead, one buffer for what is written, no cache in the reader. */
pz_status pz_lay_out_run(const pz_patch_function *f, pz_volume *input, const pz_infer_options *options,
                         const pz_engine_tuning *tuning, pz_run_layout *a, pz_error *err) {
  int64_t least, most;
  memset(a, 0, sizeof *a);
  PZ_TRY(pz_tiling_resolve(options, f->in, f->out, f->planar, &a->tiling, err));
  PZ_TRY(pz_grid_make(input->info.shape, f->in, f->out, &a->tiling.grid, &a->grid, err));
  const pz_axis *axis = a->grid.axis;
  ring_limits(&axis[0], a->tiling.mirror, &least, &most);
  a->typed = keeps_type(f, options);
  describe_result(f, input, options->store, a->typed, &a->grid, &a->result);
  PZ_TRY(pz_volume_check_info("the result", &a->result, err));
  a->layers = axis[0].count, a->layer_patches = axis[1].count * axis[2].count;
  a->depth = axis[0].out < axis[0].result ? axis[0].out : axis[0].result;
  const int64_t coverage =
      times(times(pz_axis_coverage(&axis[0]), pz_axis_coverage(&axis[1])), pz_axis_coverage(&axis[2]));
  PZ_TRY(check_coverage(f, coverage, a->tiling.flips, err));
  a->sum = a->tiling.half ? PZ_SUM_HALF : pz_blend_float_suffices(coverage) ? PZ_SUM_FLOAT : PZ_SUM_DOUBLE;
  a->workers = f->pool ? pz_pool_threads(f->pool) : 1;
  a->cached = true;
  comfortable(tuning, a);
  const pz_memory machine = memory_of_run(f);
  const bool given = options->memory > 0 && options->memory < machine.bytes;
  const int64_t limit = given ? options->memory : machine.bytes;
  if (fits(f, input, limit, least, most, a)) return PZ_OK;
  a->buffers = a->stores = a->store_planes = 1;
  if (fits(f, input, limit, least, most, a)) return PZ_OK;
  a->cached = input->cache_memory == 0;
  PZ_TRY(pz_volume_uncached(input, err));
  return fits(f, input, limit, least, most, a) ? PZ_OK : too_little(limit, given ? NULL : &machine, a, err);
}
