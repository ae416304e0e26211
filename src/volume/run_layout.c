/* run_layout.c: the memory of a run, known before it is taken. */
#include "volume/run_layout.h"
#include "base/memory.h"
#include "formats/deflate_out.h"
#include "formats/sink.h"
#include "volume/blend.h"
#include "volume/mask.h"
#include "volume/picture.h"

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

/* Threads' stacks, the C library, HDF5's and SQLite's own caches, the code of all of them. */
enum { PROCESS_BYTES = 24 << 20 };

static int64_t up(int64_t i, int64_t step) { return (i + step - 1) / step * step; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t volume_of(const int64_t size[3]) { return pz_times(pz_times(size[0], size[1]), size[2]); }

/* ---- what is tiled, and what is made of it ---- */

static pz_status bad_box(const pz_infer_options *o, const int64_t shape[3], int i, pz_error *err) {
  const int64_t start = o->box.start[i], end = pz_plus(start, o->box.size[i]);
  return pz_fail(err, PZ_ERROR_USAGE,
                 "the box goes from %lld to %lld along %c; expected a part of the volume's 0 to %lld",
                 (long long)start, (long long)(o->box.size[i] ? end : shape[i]), "zyx"[i],
                 (long long)shape[i]);
}

/* The box with its open ends closed, and what is tiled for it. */
static pz_status choose_view(const int64_t shape[3], const pz_infer_options *o, pz_box *box, pz_box *view,
                             pz_error *err) {
  const bool context = o->given & PZ_GIVEN_CONTEXT;
  bool whole = true;
  for (int i = 0; i < 3; i++) {
    const int64_t start = o->box.start[i], size = o->box.size[i];
    if (start < 0 || start >= shape[i] || size < 0 || size > shape[i] - start)
      return bad_box(o, shape, i, err);
    box->start[i] = start, box->size[i] = size ? size : shape[i] - start;
    whole = whole && box->size[i] == shape[i];
    view->start[i] = 0, view->size[i] = shape[i];
    if (!context) continue;
    if (o->context[i] < 0)
      return pz_fail(err, PZ_ERROR_USAGE, "context %d along %c; expected 0 or more voxels", o->context[i],
                     "zyx"[i]);
    view->start[i] = larger(0, start - o->context[i]);
    view->size[i] = smaller(shape[i], start + box->size[i] + o->context[i]) - view->start[i];
  }
  const bool asked = o->box.start[0] || o->box.start[1] || o->box.start[2] || o->box.size[0] ||
                     o->box.size[1] || o->box.size[2];
  if (context && !asked)
    return pz_fail(err, PZ_ERROR_USAGE, "a context goes with a box, whose surroundings it is");
  if (!asked || whole) box->size[0] = 0; /* no box */
  return PZ_OK;
}

/* Of the view's result the part that is made. */
static pz_status cut_grid(const pz_infer_options *o, const pz_box *box, const pz_box *view, pz_grid *grid,
                          pz_error *err) {
  if (!box->size[0]) return PZ_OK;
  for (int i = 0; i < 3; i++) {
    pz_axis *a = &grid->axis[i];
    const int64_t begin = box->start[i] - view->start[i] - a->origin, end = begin + box->size[i];
    if (begin < 0 || end > a->result)
      return pz_fail(
          err, PZ_ERROR_USAGE,
          "the box goes from %lld to %lld along %c; this tiling has a result from %lld to %lld there%s",
          (long long)box->start[i], (long long)(box->start[i] + box->size[i]), "zyx"[i],
          (long long)(view->start[i] + a->origin), (long long)(view->start[i] + a->origin + a->result),
          o -> given &PZ_GIVEN_CONTEXT ? ": give it more context" : "");
    *a = pz_axis_part(a, begin, end);
  }
  return PZ_OK;
}

/* Integers that the network gives are written as such; floats of 16 bits, which some formats do not have, as floats. */
static bool keeps_type(const pz_patch_function *f, const pz_infer_options *o) {
  const char kind = pz_dtype_kind(f->given.type);
  return o->store == PZ_STORE_F32 && o->apply == PZ_APPLY_NOTHING && (kind == 'u' || kind == 'i');
}

static pz_dtype dtype_of_store(pz_store store) {
  static const pz_dtype dtypes[] = {
      [PZ_STORE_F32] = PZ_F32,      [PZ_STORE_U8] = PZ_U8,   [PZ_STORE_ARGMAX] = PZ_U8,
      [PZ_STORE_THRESHOLD] = PZ_U8, [PZ_STORE_U16] = PZ_U16, [PZ_STORE_F16] = PZ_F16};
  return dtypes[store];
}

static void describe_result(const pz_run_asked *q, pz_run_layout *a) {
  const pz_store store = q->options->store;
  pz_volume_info *r = &a->result;
  int64_t first[3];
  *r = q->input->info;
  for (int i = 0; i < 3; i++) {
    r->shape[i] = a->grid.axis[i].result;
    first[i] = a->view.start[i] + a->grid.axis[i].origin;
  }
  pz_geometry_crop(&r->geometry, first);
  r->dtype = a->typed ? q->function->given.type : dtype_of_store(store);
  r->channels = store == PZ_STORE_ARGMAX ? 1 : q->function->channels_out;
  r->has_channels = r->channels > 1;
}

/* Whole numbers may be labels, which have no mean. */
static pz_status check_coverage(const pz_patch_function *f, int64_t coverage, int runs, pz_error *err) {
  const char kind = pz_dtype_kind(f->given.type);
  if ((kind != 'u' && kind != 'i') || f->given.scale != 1 || (coverage <= 1 && runs <= 1)) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "the network gives whole numbers (%s), as labels are, of which no mean is taken, and patches overlap "
      "or are flipped, or networks are averaged; use a volume that whole patches fill, or compile the "
      "network without its argmax and "
      "use --argmax",
      pz_dtype_name(f->given.type));
}

/* ---- what memory holds ---- */

/* How a run is laid out, from comfortable to thin. */
typedef struct mode {
  bool thin;        /* one buffer for what is written */
  bool blocks;      /* as many as memory wants */
  bool whole_steps; /* the input is read in whole steps, and the reader needs no cache for parts of them */
} mode;

/* Planes from the first that is read, or the step that it is in, to the last. */
static int64_t planes_of_input(const pz_run_layout *a, int64_t *base) {
  int64_t last;
  const int64_t first = pz_axis_reads(&a->grid.axis[0], a->tiling.mirror, &last);
  *base = first - (first + a->view.start[0]) % a->step;
  return last + 1 - *base;
}

/* The least and the most planes of input that are of use: those of one layer, and those of the next as well, which behind the last one is the
 * first of the next block. */
typedef struct ring {
  int64_t least, most;
} ring;
static ring ring_limits(const pz_run_layout *a, bool blocks) {
  const pz_axis *z = &a->grid.axis[0];
  const bool mirror = a->tiling.mirror;
  int64_t base;
  const int64_t all = planes_of_input(a, &base), whole = up(all, a->step);
  ring r = {1, 1};
  for (int64_t k = 0; k < z->count; k++) {
    const int64_t first = pz_layer_first(z, k, mirror) - base, next = (k + 1) % z->count;
    const int64_t one = up(layer_last(z, k, mirror) + 1 - base, a->step),
                  two = up(layer_last(z, next, mirror) + 1 - base, a->step) + (next > k ? 0 : whole);
    r.least = larger(r.least, one - first), r.most = larger(r.most, two - first);
  }
  r.least = up(r.least, a->step), r.most = up(r.most, a->step);
  return blocks ? r : (ring){smaller(r.least, all), smaller(r.most, all)};
}

static int64_t input_plane(const pz_run_asked *q, const pz_run_layout *a) {
  return pz_times(pz_times(a->cut[0].most_in, a->cut[1].most_in),
                  q->function->channels_in * pz_dtype_bytes(q->input->info.dtype));
}
static int64_t result_plane(const pz_run_layout *a) {
  return pz_times(pz_times(a->cut[0].most_out, a->cut[1].most_out),
                  a->result.channels * pz_dtype_bytes(a->result.dtype));
}

/* A row of the volume, of which means and deviations are taken. */
static int64_t row_for_statistics(const pz_run_asked *q, const pz_run_layout *a) {
  if (q->options->normalize != PZ_NORMALIZE_ZSCORE) return 0;
  return pz_times(a->view.size[2], q->function->channels_in * pz_dtype_bytes(q->input->info.dtype));
}

static int64_t packing_bytes(const pz_run_asked *q, const pz_run_layout *a) {
  enum { BLOCK = 1 << 20 }; /* a chunk of HDF5; strips of TIFF are smaller */
  const int64_t window =
      pz_plus(pz_plus(a->bytes.input, a->bytes.sums), pz_plus(a->bytes.patches, a->bytes.stores));
  return q->packs ? larger(0, pz_deflate_memory(a->workers, BLOCK) - window) : 0;
}

static void count_bytes(const pz_run_asked *q, pz_run_layout *a) {
  const pz_patch_function *f = q->function;
  const int64_t x = a->cut[1].most_out, yx = pz_times(a->cut[0].most_out, x), out = volume_of(f->out);
  a->bytes.input = larger(pz_times(a->ring, input_plane(q, a)), row_for_statistics(q, a));
  a->bytes.sums = pz_times(pz_times(a->depth, yx), pz_times(f->channels_out, pz_sum_bytes(a->sum)));
  const int64_t flipped = a->tiling.flips > 1, more = pz_patch_runs(f, &a->tiling) > 1;
  const int64_t of_in = f->channels_in * pz_dtype_bytes(f->taken.type),
                of_raw = f->given.type == PZ_F32 ? 0 : f->channels_out * pz_dtype_bytes(f->given.type);
  a->bytes.patches =
      pz_plus(pz_plus(pz_times(1 + flipped, pz_times(volume_of(f->in), of_in)), pz_times(out, of_raw)),
              pz_times(a->buffers + more, pz_times(out, f->channels_out * INT64_C(4))));
  a->bytes.weights = pz_times(out, 4);
  a->bytes.stores = pz_times(a->stores, pz_times(a->store_planes, result_plane(a)));
  a->bytes.scratch = pz_times(
      a->workers, pz_times(x, 12 + (q->mask != NULL) + (a->typed ? f->channels_out * INT64_C(4) : 0)));
  a->bytes.reader = q->input->memory - (a->cached ? 0 : q->input->cache_memory);
  /* what a callback is expected to hold while it fills a box: a copy of it */
  if (q->input->calls)
    a->bytes.reader =
        pz_plus(a->bytes.reader, pz_times(pz_read_planes(q->tuning, q->input, a), input_plane(q, a)));
  a->bytes.mask = pz_mask_bytes(a, q->mask);
  a->bytes.network = f->memory;
  a->bytes.process = PROCESS_BYTES;
  if (q->options->preview) a->bytes.process += pz_picture_memory(a->result.shape + 1);
  a->bytes.packing = packing_bytes(q, a);
  const int64_t parts[] = {a->bytes.input,   a->bytes.sums,    a->bytes.patches, a->bytes.weights,
                           a->bytes.stores,  a->bytes.scratch, a->bytes.reader,  a->bytes.mask,
                           a->bytes.network, a->bytes.process, a->bytes.packing};
  a->bytes.total = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    a->bytes.total = pz_plus(a->bytes.total, parts[i]);
}

int64_t pz_read_planes(const pz_engine_tuning *tuning, const pz_volume *input, const pz_run_layout *a) {
  const int64_t plane =
      input->info.channels * a->cut[0].most_in * a->cut[1].most_in * pz_dtype_bytes(input->info.dtype);
  const int64_t bytes = tuning && tuning->read_bytes ? tuning->read_bytes : PZ_PORTION;
  const int64_t step =
      a->cached ? input->step[0] : a->step; /* what has a cache may be given parts of a step */
  const int64_t n = bytes / plane / step * step;
  return n > step ? n : step;
}

/* Planes of the result that go to the writer at once. */
static void choose_stores(const pz_run_asked *q, const mode *m, const int64_t sink[3], pz_run_layout *a) {
  const int64_t wanted = q->tuning && q->tuning->store_bytes ? q->tuning->store_bytes : PZ_PORTION;
  const int64_t n = m->thin ? 1 : wanted / result_plane(a), step = sink ? sink[0] : 1;
  a->stores = m->thin ? 1 : 2;
  a->buffers = m->thin || q->sink ? 1 : 2; /* what goes to a callback is not recorded */
  a->store_planes = larger(n / step, 1) * step;
  a->store_planes = smaller(a->store_planes, step > 1 ? a->result.shape[0] : a->depth);
}

/* Fits the ring between its limits into what the rest leaves. */
static bool fits(const pz_run_asked *q, const mode *m, const int64_t sink[3], const ring *r, int64_t limit,
                 pz_run_layout *a) {
  choose_stores(q, m, sink, a);
  if (q->mask) pz_mask_lay_out(q->mask, m->whole_steps, q->tuning, a);
  a->ring = r->most;
  count_bytes(q, a);
  if (a->bytes.total <= limit) return true;
  const int64_t plane = input_plane(q, a);
  const int64_t over = a->bytes.total == INT64_MAX ? r->most : (a->bytes.total - limit + plane - 1) / plane;
  a->ring = larger(r->least, (r->most - over) / a->step * a->step);
  count_bytes(q, a);
  return a->bytes.total <= limit;
}

/* ---- blocks ---- */

enum { MOST_CUTS = 128, FINE = 512, MOST_PARTS = 1 << 14 };

/* Ways to cut an axis, from one part to the most that are of use. */
typedef struct ways {
  pz_cuts cut[MOST_CUTS];
  int64_t asked[MOST_CUTS];
  int n;
} ways;

static pz_status find_ways(pz_arena *arena, const pz_axis *axis, int64_t align, bool mirror, ways *w,
                           pz_error *err) {
  const int64_t finest = align > 1 ? (axis->result + align - 1) / align : smaller(axis->count, axis->result);
  const int64_t most = smaller(finest, MOST_PARTS);
  w->n = 0;
  for (int64_t parts = 1; parts <= most && w->n < MOST_CUTS - 1;
       parts += 1 + parts / (parts < FINE ? 8 : 2)) {
    PZ_TRY(pz_cuts_make(arena, axis, parts, align, mirror, &w->cut[w->n], err));
    w->asked[w->n++] = parts;
  }
  if (w->asked[w->n - 1] == most) return PZ_OK;
  PZ_TRY(pz_cuts_make(arena, axis, most, align, mirror, &w->cut[w->n], err));
  w->asked[w->n++] = most;
  return PZ_OK;
}

static void use_cuts(const ways w[2], int y, int x, pz_run_layout *a) {
  a->cut[0] = w[0].cut[y], a->cut[1] = w[1].cut[x];
  a->asked[0] = w[0].asked[y], a->asked[1] = w[1].asked[x];
  a->blocks = a->cut[0].n * a->cut[1].n;
  a->patches = pz_times(pz_times(a->cut[0].patches, a->cut[1].patches), a->layers);
}

/* The fewest patches, then the least reading, of those that fit. */
static bool better(const pz_run_layout *a, const pz_run_layout *than) {
  if (!than->blocks || a->patches != than->patches) return !than->blocks || a->patches < than->patches;
  return (double)a->cut[0].reads * (double)a->cut[1].reads <
         (double)than->cut[0].reads * (double)than->cut[1].reads;
}

static bool fit_blocks(const pz_run_asked *q, const mode *m, const int64_t sink[3], const ways w[2],
                       int64_t limit, pz_run_layout *a) {
  pz_run_layout best = {0}, tried = *a;
  tried.step = m->whole_steps || q->input->calls ? q->input->step[0] : 1;
  tried.cached = !m->whole_steps || !q->input->cache_memory;
  const ring r = ring_limits(&tried, m->blocks);
  for (int y = 0; y < w[0].n; y++)
    for (int x = 0; x < w[1].n; x++) {
      if (!m->blocks && (y || x)) continue;
      use_cuts(w, y, x, &tried);
      if (better(&tried, &best) && fits(q, m, sink, &r, limit, &tried)) best = tried;
    }
  *a = best.blocks ? best : tried; /* the last: what needs the least */
  return best.blocks > 0;
}

/* A stream has the state of one column of patches: each is a block. */
static pz_status cut_streams(pz_arena *arena, const pz_axis *axis, char name, int64_t align, bool mirror,
                             ways *w, pz_error *err) {
  w->n = 1, w->asked[0] = axis->count;
  PZ_TRY(pz_cuts_by_patch(arena, axis, mirror, &w->cut[0], err));
  for (int64_t i = 0; i < w->cut[0].n; i++)
    if (w->cut[0].at[i] % align)
      return pz_fail(err, PZ_ERROR_USAGE,
                     "the output is written in boxes of %lld voxels along %c, which do not divide the "
                     "network's tiles of "
                     "%lld; choose chunks that do, or compile the network for other tiles",
                     (long long)align, name, (long long)axis->out);
  return PZ_OK;
}

/* The ways of the job that is gone on with, and no others. */
static pz_status find_all_ways(pz_arena *arena, const pz_run_asked *q, const int64_t sink[3],
                               const pz_run_layout *a, ways w[2], pz_error *err) {
  for (int i = 0; i < 2; i++) {
    const pz_axis *axis = &a->grid.axis[1 + i];
    const int64_t align = sink ? sink[1 + i] : 1;
    if (a->tiling.grid.stream[0])
      PZ_TRY(cut_streams(arena, axis, "yx"[i], align, a -> tiling.mirror, &w[i], err));
    else if (!q->blocks) PZ_TRY(find_ways(arena, axis, align, a->tiling.mirror, &w[i], err));
    else {
      w[i].n = 1, w[i].asked[0] = q->blocks[i];
      PZ_TRY(pz_cuts_make(arena, axis, q->blocks[i], align, a->tiling.mirror, &w[i].cut[0], err));
    }
  }
  return PZ_OK;
}

/* What blocks begin at multiples of, and how thick what is written at once is. Where a caller does not say, any. */
static const int64_t *sink_step(const pz_run_asked *q, const pz_run_layout *a, int64_t step[3]) {
  if (!q->sink) return NULL;
  for (int i = 0; i < 3; i++) step[i] = q->sink[i] > 0 ? smaller(q->sink[i], a->result.shape[i]) : 1;
  return step;
}

/* All that the run may have: what is there, and what it has already. The network's arena is allocated, and not written to yet; its code and
 * weights, and the process, are resident in part. */
static pz_memory memory_of_run(const pz_patch_function *f) {
  pz_memory m = pz_memory_there(f->memory);
  const int64_t resident = pz_memory_resident(), known = pz_plus(f->memory, PROCESS_BYTES);
  m.bytes = pz_plus(m.bytes, resident < known ? resident : known);
  if (m.bytes > m.whole) m.bytes = m.whole;
  return m;
}

/* machine: what there is, where that is the limit; NULL: `given` is. */
static pz_status too_little(int64_t given, const pz_memory *machine, const pz_run_layout *a, pz_error *err) {
  char need[PZ_MEMORY_TEXT], have[PZ_MEMORY_TEXT];
  pz_memory_text(a->bytes.total, need);
  pz_memory_text(machine ? machine->bytes : given, have);
  if (machine)
    return pz_fail(err, PZ_ERROR_MEMORY,
                   "%s of memory are needed (%lld bytes), %s are there (%lld bytes; %s); use a network with "
                   "smaller patches",
                   need, (long long)a->bytes.total, have, (long long)machine->bytes, machine->limit);
  return pz_fail(
      err, PZ_ERROR_MEMORY,
      "%s of memory are needed (%lld bytes), the limit is %s; raise --memory, or use a network with "
      "smaller patches",
      need, (long long)a->bytes.total, have);
}

/* From comfortable to thin: less reading ahead, one buffer for what is written, blocks, and in the end parts of steps, which may be decoded
 * again and again. */
static pz_status fit(const pz_run_asked *q, const ways w[2], const int64_t sink[3], pz_run_layout *a,
                     pz_error *err) {
  static const mode modes[] = {{false, false, false},
                               {true, false, false},
                               {false, true, true},
                               {true, true, true},
                               {true, true, false}};
  const pz_memory machine = memory_of_run(q->function);
  const bool given = q->options->memory > 0 && q->options->memory < machine.bytes;
  const int64_t limit = given ? q->options->memory : machine.bytes;
  use_cuts(w, 0, 0, a);
  const bool partial =
      a->cut[0].most_in < q->input->info.shape[1] || a->cut[1].most_in < q->input->info.shape[2];
  const bool streams = a->tiling.grid.stream[0]; /* in blocks, mostly */
  /* A reader's cache is for whole planes; a mask has its own beside the input's. */
  for (size_t i = streams || (partial && q->input->cache_memory) ? 2 : 0; i < sizeof modes / sizeof *modes;
       i++)
    if (fit_blocks(q, &modes[i], sink, w, limit, a)) return PZ_OK;
  return too_little(limit, given ? NULL : &machine, a, err);
}

/* Along axes of which a run makes all; and that places are numbers of single precision. */
static pz_status check_sizes(const pz_patch_function *f, const pz_box *view, pz_error *err) {
  for (int i = 0; i < 3 && f->tiles; i++) {
    const int64_t size = view->size[i], in = f->in[i], out = f->out[i], stride = f->locality->stride[i];
    const bool fits = f->locality->any_size[i] ? size == out : size <= out && size > out - stride;
    if (size > PZ_MOST_PLACE)
      return pz_fail(err, PZ_ERROR_INPUT,
                     "the volume has %lld voxels along %c; exact tiles are of at most %d", (long long)size,
                     "zyx"[i], PZ_MOST_PLACE);
    if (f->tiles->whole[i] && !fits)
      return pz_fail(err, PZ_ERROR_INPUT,
                     "the volume has %lld voxels along %c; the network was compiled for whole volumes of "
                     "%lld: compile it "
                     "with --volume for this size, or without",
                     (long long)size, "zyx"[i], (long long)(in - 2 * f->tiles->before[i]));
  }
  return PZ_OK;
}

static pz_status tile(const pz_run_asked *q, pz_run_layout *a, pz_error *err) {
  const pz_patch_function *f = q->function;
  pz_box box;
  if (f->tiles) PZ_TRY(pz_tiling_exact(q->options, f->tiles, f->locality, &a->tiling, err));
  else PZ_TRY(pz_tiling_resolve(q->options, f->in, f->out, f->planar, &a->tiling, err));
  PZ_TRY(choose_view(q->input->info.shape, q->options, &box, &a->view, err));
  PZ_TRY(check_sizes(f, &a->view, err));
  PZ_TRY(pz_grid_make(a->view.size, f->in, f->out, &a->tiling.grid, &a->grid, err));
  /* Of the whole, so that a box is summed as the whole is. */
  const pz_axis *axis = a->grid.axis;
  const int64_t coverage =
      pz_times(pz_times(pz_axis_coverage(&axis[0]), pz_axis_coverage(&axis[1])), pz_axis_coverage(&axis[2]));
  PZ_TRY(check_coverage(f, coverage, pz_patch_runs(f, &a->tiling), err));
  a->sum = a->tiling.half ? PZ_SUM_HALF : pz_blend_float_suffices(coverage) ? PZ_SUM_FLOAT : PZ_SUM_DOUBLE;
  return cut_grid(q->options, &box, &a->view, &a->grid, err);
}

pz_status pz_lay_out_run(pz_arena *arena, const pz_run_asked *q, pz_run_layout *a, pz_error *err) {
  int64_t step[3];
  memset(a, 0, sizeof *a);
  PZ_TRY(tile(q, a, err));
  a->typed = keeps_type(q->function, q->options);
  describe_result(q, a);
  PZ_TRY(pz_volume_check_info("the result", &a->result, err));
  const pz_axis *z = &a->grid.axis[0];
  a->layers = z->count;
  a->depth = z->out < z->result ? z->out : z->result;
  a->workers = q->function->pool ? pz_pool_threads(q->function->pool) : 1;
  const int64_t *sink = sink_step(q, a, step);
  ways *w = PZ_NEW(arena, ways, 2);
  if (!w) return pz_fail_memory(err, "ways to cut into blocks", 2 * sizeof *w);
  PZ_TRY(find_all_ways(arena, q, sink, a, w, err));
  PZ_TRY(fit(q, w, sink, a, err));
  if (!a->cached) PZ_TRY(pz_volume_uncached(q->input, err));
  if (q->mask && !a->mask.cached) PZ_TRY(pz_volume_uncached(q->mask, err));
  a->block_planes = up(planes_of_input(a, &a->ring_base), a->step);
  return PZ_OK;
}
