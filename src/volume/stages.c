#include "volume/stages.h"
#include "base/clock.h"

#include "formats/convert.h"
#include "formats/io.h"
#include "formats/sink.h"
#include "volume/normalize.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum kind { PATCH, PART, LAYER } kind;
typedef struct item {
  kind kind;
  int64_t layer;
  int64_t index, patches; /* PATCH: of so many of the layer */
  int64_t needed;         /* LAYER: the first layer needed */
  pz_box box;             /* PART: of the result, of this block, up to this plane of it; its voxels ... */
  int64_t block, end;
  const char *voxels; /* ... lie here */
  int64_t stride[3];
  int which;
  pz_job_tally tally;
} item;

enum { QUEUE = 8 };

struct pz_stages {
  pz_window *window;
  pz_stages_input input;
  pz_stages_output output;
  pz_sink sink;
  pthread_t reader, writer;
  bool reading, writing; /* the threads exist */
  pthread_mutex_t lock;
  pthread_cond_t changed;

  /* under the lock */
  bool stop;
  pz_error error;
  int64_t have,
      released; /* planes (pz_window_count) before `have` are in the ring, before `released` may be overwritten */
  item queue[QUEUE];
  int64_t head, tail;
  bool patch_busy[2], store_busy[2];

  /* of the reader */
  pz_block block; /* that is read */
  double read_seconds;
  pz_rounding rounding;

  /* of the writer */
  int result, journal;   /* files; -1 when closed */
  int64_t journal_layer; /* of `journal` */
  char journal_path[PATH_MAX];
  int64_t layer, keep; /* layers before `layer` are finished, layers before `keep` forgotten */
  int64_t needed;      /* to resume at `layer`, layers from here on are needed */
  int64_t held;        /* layers keep..keep+held-1 have an entry in ... */
  int64_t *patches;    /* ... this: how many patches are in their journals; by layer % held */
  int64_t *recent;     /* the same in order, for the record */
  double write_seconds, recorded;
  bool unrecorded;
  pz_job_tally tally; /* of the layers before `layer` */
};

static void fail_stage(pz_stages *s, const pz_error *e) {
  pthread_mutex_lock(&s->lock);
  if (s->error.status == PZ_OK) s->error = *e;
  s->stop = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

/* ------------------------------------------------------------------ reading */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The count behind the last plane of what is read. */
static int64_t input_end(const pz_stages *s) {
  const pz_box *input = &s->block.input;
  return pz_window_count(s->window, s->block.index, input->start[0] + input->size[0]);
}

/* At the end of a block the first plane of the next one is next. */
static void next_block(pz_stages *s) {
  if (s->have < input_end(s) || s->block.index + 1 >= s->window->layout->blocks) return;
  s->block = pz_window_block(s->window, s->block.index + 1);
  s->have = pz_window_count(s->window, s->block.index, s->block.input.start[0]);
}

/* What is read next: n planes from a count on that lie together in the ring, up to the end of a step; 0 at the end. */
static int64_t next_planes(pz_stages *s, int64_t *at) {
  const pz_run_layout *p = s->window->layout;
  int64_t n = 0;
  pthread_mutex_lock(&s->lock);
  next_block(s);
  *at = s->have;
  const int64_t end = input_end(s), of_step = least(end, (*at / p->step + 1) * p->step);
  while (!s->stop && *at < end && of_step > s->released + p->ring) pthread_cond_wait(&s->changed, &s->lock);
  if (!s->stop && *at < end) {
    const int64_t wrap = (*at / p->ring + 1) * p->ring;
    const int64_t room = least(least(*at + s->input.read_planes, end), least(s->released + p->ring, wrap));
    n = (room == end ? end : room / p->step * p->step) - *at;
  }
  pthread_mutex_unlock(&s->lock);
  return n;
}

static bool is_stopped(pz_stages *s) {
  pthread_mutex_lock(&s->lock);
  const bool stop = s->stop;
  pthread_mutex_unlock(&s->lock);
  return stop;
}

/* Rows of the box that are read at once, up to a step's end: so many that an end that is asked for is not waited for long. What lies in one stream is
 * read in its order. */
static int64_t rows_at_once(const pz_volume *v, const pz_box *box, int64_t y) {
  enum { MOST = 32 << 20 };
  const int64_t end = box->start[1] + box->size[1], step = v->step[1];
  if (v->sequential && box->size[0] > 1) return end - y;
  const int64_t row = v->info.channels * box->size[0] * box->size[2] * pz_dtype_bytes(v->info.dtype);
  const int64_t to = ((y + MOST / row) / step + (MOST / row < step)) * step;
  return (to > y && to < end ? to : end) - y;
}

/* The box into planes of the ring. A stop leaves the rest. */
static pz_status read_box(pz_stages *s, const pz_box *box, char *to, pz_error *err) {
  const pz_volume *v = s->input.volume;
  const int64_t row = box->size[2] * pz_dtype_bytes(v->info.dtype), end = box->start[1] + box->size[1];
  const int64_t stride[3] = {pz_window_channel_bytes(s->window), pz_window_plane_bytes(s->window), row};
  pz_box part = *box;
  for (int64_t y = box->start[1]; y < end && !is_stopped(s); y += part.size[1]) {
    part.start[1] = y, part.size[1] = rows_at_once(v, box, y);
    PZ_TRY(pz_volume_read(s->input.volume, &part, to + (y - box->start[1]) * row, stride, err));
  }
  return PZ_OK;
}

/* n planes of the block from a count on. */
static pz_status read_planes(pz_stages *s, int64_t at, int64_t n, pz_error *err) {
  const pz_window *window = s->window;
  const pz_box *view = &window->layout->view;
  const double begin = pz_now();
  const int64_t channel = pz_window_channel_bytes(window);
  pz_box box = s->block.input, own = s->block.own;
  box.start[0] = at - pz_window_count(window, s->block.index, 0), box.size[0] = n;
  for (int i = 0; i < 3; i++) box.start[i] += view->start[i], own.start[i] += view->start[i];
  PZ_TRY(read_box(s, &box, pz_window_plane(window, at), err));
  if (is_stopped(s)) return PZ_OK;
  box.size[0] = 1;
  for (int64_t i = 0; i < n; i++, box.start[0]++) {
    char *plane = pz_window_plane(window, at + i);
    PZ_TRY(pz_box_mend(s->input.volume, window->options->nan, &box, plane, channel, err));
    if (s->input.count_rounded)
      pz_box_count_rounded(s->input.volume, &box, &own, plane, channel, &s->rounding);
  }
  s->read_seconds += pz_now() - begin;
  return PZ_OK;
}

static void *read_all(void *arg) {
  pz_stages *s = arg;
  pz_error err = {0};
  int64_t at, n;
  while ((n = next_planes(s, &at)) > 0) {
    if (read_planes(s, at, n, &err) != PZ_OK) {
      fail_stage(s, &err);
      break;
    }
    pthread_mutex_lock(&s->lock);
    s->have = at + n;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
  }
  return NULL;
}

/* ------------------------------------------------------------------ writing */

static int64_t record_bytes(const pz_stages *s) {
  const pz_patch_function *f = s->window->function;
  return f->out[0] * f->out[1] * f->out[2] * f->channels_out * 4;
}

/* The journal of a layer has room for all its patches from the beginning: what is never written reads as zeros, which is
 * what a skipped patch gives. */
static pz_status open_journal(pz_stages *s, const item *i, pz_error *err) {
  char *path = s->journal_path;
  const int64_t layer = i->layer;
  if (s->journal >= 0 && s->journal_layer == layer) return PZ_OK;
  if (s->journal >= 0) close(s->journal);
  s->journal = -1;
  if (!pz_job_layer_path(s->output.job, layer, path, PATH_MAX))
    return pz_fail(err, PZ_ERROR_RUN, "%s: the path is too long", s->output.result_path);
  s->journal = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (s->journal < 0) return pz_io_fail(err, path, "creating", errno);
  s->journal_layer = layer;
  if (ftruncate(s->journal, record_bytes(s) * i->patches) != 0)
    return pz_io_fail(err, path, "growing", errno);
  return pz_io_sync_folder(path, err);
}

static pz_status write_patch(pz_stages *s, const item *i, pz_error *err) {
  PZ_TRY(open_journal(s, i, err));
  const int64_t bytes = record_bytes(s);
  if (i->which >= 0)
    PZ_TRY(pz_io_write(s->journal, s->journal_path, s->window->out[i->which], bytes, i->index * bytes, err));
  s->patches[i->layer % s->held] = i->index + 1;
  return PZ_OK;
}

static pz_status write_part(pz_stages *s, const item *i, pz_error *err) {
  PZ_TRY(s->sink.write(&s->sink, &i->box, i->voxels, i->stride, err));
  if (!s->output.planes_job) return PZ_OK;
  return pz_job_record_planes(s->output.planes_job, i->block, i->end, i->tally, err);
}

static void forget_rows(pz_stages *s, int64_t keep) {
  char path[PATH_MAX];
  for (; s->keep < keep; s->keep++) {
    if (s->patches[s->keep % s->held] > 0 && pz_job_layer_path(s->output.job, s->keep, path, sizeof path))
      unlink(path);
    s->patches[s->keep % s->held] = 0;
  }
}

/* Data first, then the record of it. Files of layers that are not needed go last. */
static pz_status record(pz_stages *s, pz_error *err) {
  if (!s->output.job) return PZ_OK;
  const int64_t layers = s->layer - s->needed + 1;
  for (int64_t i = 0; i < layers; i++) s->recent[i] = s->patches[(s->needed + i) % s->held];
  if (s->journal >= 0 && fdatasync(s->journal) != 0)
    return pz_io_fail(err, s->journal_path, "syncing", errno);
  if (fdatasync(s->result) != 0) return pz_io_fail(err, s->output.result_path, "syncing", errno);
  const pz_job_progress p = {
      .layer = s->layer, .first = s->needed, .layers = layers, .patches = s->recent, .tally = s->tally};
  PZ_TRY(pz_job_record(s->output.job, &p, err));
  forget_rows(s, s->needed);
  s->recorded = pz_now();
  s->unrecorded = false;
  return PZ_OK;
}

/* A layer without a journal was cheap: it is recorded when the time has come, or the held is full. */
static pz_status end_row(pz_stages *s, const item *i, pz_error *err) {
  const bool journalled = s->patches[i->layer % s->held] > 0;
  s->layer = i->layer + 1;
  s->needed = i->needed;
  s->tally = i->tally;
  if (!s->output.job) return PZ_OK;
  return journalled || s->layer - s->keep >= s->held - 1 ? record(s, err) : PZ_OK;
}

static pz_status write_item(pz_stages *s, const item *i, pz_error *err) {
  static pz_status (*const kinds[])(pz_stages *, const item *, pz_error *) = {
      [PATCH] = write_patch, [PART] = write_part, [LAYER] = end_row};
  const double begin = pz_now();
  s->unrecorded = true;
  PZ_TRY(kinds[i->kind](s, i, err));
  if (s->unrecorded && i->kind != PART && begin - s->recorded >= s->output.record_seconds)
    PZ_TRY(record(s, err));
  s->write_seconds += pz_now() - begin;
  return PZ_OK;
}

/* After a stop the queue is still emptied. */
static bool next_item(pz_stages *s, item *i) {
  pthread_mutex_lock(&s->lock);
  while (s->head == s->tail && !s->stop) pthread_cond_wait(&s->changed, &s->lock);
  const bool any = s->head != s->tail;
  if (any) *i = s->queue[s->head % QUEUE];
  pthread_mutex_unlock(&s->lock);
  return any;
}

static void item_done(pz_stages *s, const item *i) {
  pthread_mutex_lock(&s->lock);
  s->head++;
  if (i->kind == PATCH && i->which >= 0) s->patch_busy[i->which] = false;
  if (i->kind == PART) s->store_busy[i->which] = false;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static void *write_all(void *arg) {
  pz_stages *s = arg;
  pz_error err = {0};
  item i;
  while (next_item(s, &i)) {
    if (err.status == PZ_OK && write_item(s, &i, &err) != PZ_OK) fail_stage(s, &err);
    item_done(s, &i);
  }
  if (err.status == PZ_OK && s->unrecorded && record(s, &err) != PZ_OK) fail_stage(s, &err);
  return NULL;
}

/* ------------------------------------------------------------------ for the caller */

typedef bool (*condition)(const pz_stages *s, int64_t which);

static bool input_there(const pz_stages *s, int64_t last) { return s->have > last; }
static bool patch_free(const pz_stages *s, int64_t which) { return !s->patch_busy[which]; }
static bool store_free(const pz_stages *s, int64_t which) { return !s->store_busy[which]; }
static bool queue_free(const pz_stages *s, int64_t which) {
  (void)which;
  return s->tail - s->head < QUEUE;
}

static pz_status wait_for(pz_stages *s, condition met, int64_t which, double *waited, pz_error *err) {
  const double begin = pz_now();
  pthread_mutex_lock(&s->lock);
  while (!s->stop && !met(s, which)) pthread_cond_wait(&s->changed, &s->lock);
  const bool stopped = s->stop;
  if (stopped && err && err->status == PZ_OK) *err = s->error;
  pthread_mutex_unlock(&s->lock);
  if (waited) *waited += pz_now() - begin;
  return !stopped ? PZ_OK : err ? err->status : PZ_ERROR_RUN;
}

pz_status pz_stages_wait_input(pz_stages *s, int64_t last, double *waited, pz_error *err) {
  return wait_for(s, input_there, last, waited, err);
}
pz_status pz_stages_wait_patch(pz_stages *s, int which, double *waited, pz_error *err) {
  return wait_for(s, patch_free, which, waited, err);
}
pz_status pz_stages_wait_store(pz_stages *s, int which, double *waited, pz_error *err) {
  return wait_for(s, store_free, which, waited, err);
}

void pz_stages_release(pz_stages *s, int64_t first) {
  pthread_mutex_lock(&s->lock);
  if (first > s->released) s->released = first;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

/* When the writer has failed the item is dropped; the next wait says why. */
static void put(pz_stages *s, item i) {
  pz_error ignored = {0};
  if (wait_for(s, queue_free, 0, NULL, &ignored) != PZ_OK) return;
  pthread_mutex_lock(&s->lock);
  s->queue[s->tail++ % QUEUE] = i;
  if (i.kind == PATCH && i.which >= 0) s->patch_busy[i.which] = true;
  if (i.kind == PART) s->store_busy[i.which] = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

void pz_stages_put_patch(pz_stages *s, int64_t layer, int64_t index, int which) {
  put(s, (item){.kind = PATCH,
                .layer = layer,
                .index = index,
                .patches = s->window->block.patches,
                .which = which});
}
void pz_stages_put_part(pz_stages *s, const pz_part *part, int which, pz_job_tally tally) {
  const pz_block *block = &s->window->block;
  const int64_t *start = block->result.start, x = block->result.size[2];
  const int64_t line = x * pz_dtype_bytes(s->window->layout->result.dtype), plane = part->rows * line;
  put(s, (item){.kind = PART,
                .box = {.start = {start[0] + part->z, start[1] + part->y, start[2]},
                        .size = {part->planes, part->rows, x}},
                .block = block->index,
                .end = part->z + part->planes,
                .voxels = s->window->store[which] + part->at * plane,
                .stride = {part->buffer * plane, plane, line},
                .which = which,
                .tally = tally});
}
void pz_stages_put_layer(pz_stages *s, int64_t layer, int64_t needed, pz_job_tally tally) {
  put(s, (item){.kind = LAYER, .layer = layer, .needed = needed, .which = -1, .tally = tally});
}

/* ------------------------------------------------------------------ beginning and ending */

/* The layers that are needed to resume at `layer`: those whose planes reach behind its first. */
int64_t pz_layers_needed(const pz_axis *z, int64_t layer) {
  int64_t last;
  return layer < z->count ? pz_axis_covering(z, pz_axis_begin(z, layer), &last) : z->count;
}

static void load_journals(pz_stages *s) {
  const pz_axis *z = &s->window->layout->grid.axis[0];
  const int64_t base = s->output.base;
  s->layer = base + s->output.first_layer;
  s->tally = pz_job_tallied(s->output.job);
  s->needed = s->keep = base + pz_layers_needed(z, s->output.first_layer);
  for (int64_t k = s->keep; k <= s->layer && k < base + z->count; k++)
    s->patches[k % s->held] = pz_job_patches(s->output.job, k);
}

pz_status pz_stages_begin_writing(pz_stages *s, const pz_stages_output *output, pz_error *err) {
  s->output = *output;
  const int64_t coverage = pz_axis_coverage(&s->window->layout->grid.axis[0]);
  s->held = 2 * coverage + 64;
  s->patches = calloc((size_t)s->held * 2, sizeof *s->patches);
  if (!s->patches) return pz_fail_memory(err, "the writer", (unsigned long long)s->held * 16);
  s->recent = s->patches + s->held;
  if (s->output.job) load_journals(s);
  s->recorded = pz_now();
  if (s->output.job) s->result = open(s->output.result_path, O_WRONLY | O_CLOEXEC);
  if (s->output.job && s->result < 0) return pz_io_fail(err, s->output.result_path, "opening", errno);
  const pz_volume_info *r = &s->window->layout->result;
  s->sink = output->sink ? pz_sink_to_calls(r, output->sink)
                         : pz_sink_to_file(r, s->result, output->result_path, output->result_offset);
  s->writing = pthread_create(&s->writer, NULL, write_all, s) == 0;
  return s->writing ? PZ_OK : pz_fail(err, PZ_ERROR_RUN, "cannot start a thread for writing");
}

pz_status pz_stages_start(pz_window *window, const pz_stages_input *input, pz_stages **stages,
                          pz_error *err) {
  *stages = NULL;
  pz_stages *s = calloc(1, sizeof *s);
  if (!s) return pz_fail_memory(err, "the stages", sizeof *s);
  s->window = window, s->input = *input;
  s->result = s->journal = -1;
  s->block = pz_window_block(window, input->first_block);
  s->have = s->released = pz_window_count(window, input->first_block, input->first_plane);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  *stages = s;
  s->reading = pthread_create(&s->reader, NULL, read_all, s) == 0;
  return s->reading ? PZ_OK : pz_fail(err, PZ_ERROR_RUN, "cannot start a thread for reading");
}

static void add_rounding(pz_rounding *all, const pz_rounding *more) {
  const int64_t values = all->values + more->values;
  if (!all->values) *all = *more;
  all->values = values;
}

pz_status pz_stages_stop(pz_stages *s, pz_engine_counts *counts, pz_error *err) {
  if (!s) return PZ_OK;
  pthread_mutex_lock(&s->lock);
  s->stop = true;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  if (s->reading) pthread_join(s->reader, NULL);
  if (s->writing) pthread_join(s->writer, NULL);
  if (counts)
    counts->read += s->read_seconds, counts->write += s->write_seconds,
        add_rounding(&counts->rounding, &s->rounding);
  const pz_status status = s->error.status;
  if (err && err->status == PZ_OK) *err = s->error;
  if (s->journal >= 0) close(s->journal);
  if (s->result >= 0) close(s->result);
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->changed);
  free(s->patches);
  free(s);
  return status;
}
