#include "formats/raw.h"

#include "formats/io.h"

#include <stdlib.h>
#include <string.h>

/* Elements between two that are wanted are read and thrown away up to this many bytes: a read of its own costs more. */
enum { GAP = 16 << 10 };

/* The axes of a box that are longer than 1, from the farthest apart in the file to the closest. */
typedef struct order {
  int n, axis[PZ_AXES_RANK];
} order;

static order sort(const pz_raw *r, const pz_array_box *box) {
  order o = {.n = 0};
  for (int i = 0; i < box->rank; i++) {
    if (box->count[i] == 1) continue;
    int at = o.n++;
    for (; at > 0 && r->array->stride[o.axis[at - 1]] < r->array->stride[i]; at--)
      o.axis[at] = o.axis[at - 1];
    o.axis[at] = i;
  }
  return o;
}

/* How many of the innermost axes lie together in the file and at the destination: these are read straight to it. */
static int together(const pz_raw *r, const pz_array_box *box, const order *o) {
  int64_t elements = 1;
  for (int k = 0; k < o->n; k++) {
    const int a = o->axis[o->n - 1 - k];
    if (r->array->stride[a] != elements || box->to[a] != elements * r->element) return k;
    elements *= box->count[a];
  }
  return o->n;
}

/* The innermost axes that one stretch covers: `axes` of them whole, and `part` indices of the next one. */
typedef struct piece {
  int axes;
  int64_t part, span; /* span: elements from the first to the last of a stretch */
} piece;

static piece cut(const pz_raw *r, const pz_array_box *box, const order *o) {
  piece p = {.part = 1, .span = 1};
  for (; p.axes < o->n; p.axes++) {
    const int a = o->axis[o->n - 1 - p.axes];
    const int64_t stride = r->array->stride[a], count = box->count[a];
    if (a == r->channel || (stride - p.span) * r->element > GAP) return p;
    const int64_t room = (PZ_RAW_STRETCH / r->element - p.span) / stride + 1;
    if (room < count) {
      p.part = room > 1 ? room : 1;
      p.span += (p.part - 1) * stride;
      return p;
    }
    p.span += (count - 1) * stride;
  }
  return p;
}

static int64_t place(const pz_raw *r, const int64_t at[PZ_AXES_RANK]) {
  int64_t elements = 0;
  for (int i = 0; i < r->array->rank; i++) elements += at[i] * r->array->stride[i];
  return r->offset + elements * r->element;
}

static pz_status take_stretch(pz_raw *r, pz_error *err) {
  const int64_t bytes = PZ_RAW_STRETCH + (r->convert ? PZ_RAW_STRETCH / r->element * r->delivered : 0);
  if (!r->stretch && !(r->stretch = malloc((size_t)bytes)))
    return pz_fail_memory(err, "a stretch of a file", (unsigned long long)bytes);
  return PZ_OK;
}

static pz_status fetch(const pz_raw *r, const int64_t at[PZ_AXES_RANK], void *to, int64_t elements,
                       pz_error *err) {
  const int stream = r->channel < 0 ? 0 : (int)at[r->channel];
  PZ_TRY(r->fetch(r->host, stream, to, elements * r->element, place(r, at), err));
  if (r->swap) pz_io_swap(to, elements, r->element);
  return PZ_OK;
}

/* A stretch of the file, and what is wanted of it to where it belongs. */
static pz_status scatter(pz_raw *r, const pz_array_box *part, const int64_t at[PZ_AXES_RANK], int64_t span,
                         char *to, pz_error *err) {
  int64_t stride[PZ_AXES_RANK];
  char *from = r->stretch;
  PZ_TRY(fetch(r, at, from, span, err));
  if (r->convert) {
    from += PZ_RAW_STRETCH;
    r->convert(r->host, r->stretch, span, from);
  }
  for (int i = 0; i < part->rank; i++) stride[i] = r->array->stride[i] * r->delivered;
  pz_copy_strided(from, stride, to, part->to, part->count, part->rank, r->delivered);
  return PZ_OK;
}

/* Goes through the outer axes of the box. `whole`: stretches are read straight to their place. */
typedef struct walk {
  pz_raw *raw;
  const pz_array_box *box;
  order order;
  piece piece;
  bool whole;
} walk;

static pz_status go(const walk *w, int level, int64_t at[PZ_AXES_RANK], char *to, pz_error *err) {
  const int outer = w->order.n - w->piece.axes;
  if (level < outer) {
    const int a = w->order.axis[level];
    const int64_t step = level + 1 == outer ? w->piece.part : 1, first = w->box->start[a];
    for (int64_t i = 0; i < w->box->count[a]; i += step) {
      at[a] = first + i;
      PZ_TRY(go(w, level + 1, at, to + i * w->box->to[a], err));
    }
    return PZ_OK;
  }
  if (w->whole) return fetch(w->raw, at, to, w->piece.span, err);
  pz_array_box part = *w->box;
  int64_t span = w->piece.span;
  for (int i = 0; i < outer; i++) part.count[w->order.axis[i]] = 1;
  if (outer > 0) {
    const int a = w->order.axis[outer - 1];
    const int64_t left = w->box->start[a] + w->box->count[a] - at[a];
    part.count[a] = left < w->piece.part ? left : w->piece.part;
    span -= (w->piece.part - part.count[a]) * w->raw->array->stride[a];
  }
  return scatter(w->raw, &part, at, span, to, err);
}

pz_status pz_raw_read(pz_raw *r, const pz_array_box *box, void *to, pz_error *err) {
  enum { WORTH = 64 << 10, FEW = 64 }; /* bytes that lie together, or reads: straight to the place */
  walk w = {.raw = r, .box = box, .order = sort(r, box)};
  const int direct = r->convert ? 0 : together(r, box, &w.order);
  int64_t at[PZ_AXES_RANK], elements = 1;
  memcpy(at, box->start, sizeof at);
  for (int k = 0; k < direct; k++) elements *= box->count[w.order.axis[w.order.n - 1 - k]];
  w.piece = cut(r, box, &w.order);
  const bool few = direct + 1 == w.order.n && box->count[w.order.axis[0]] <= FEW;
  w.whole =
      !r->convert && (few || direct >= w.piece.axes + (w.piece.part > 1) || elements * r->element >= WORTH);
  if (w.whole) w.piece = (piece){.axes = direct, .part = 1, .span = elements};
  else PZ_TRY(take_stretch(r, err));
  return go(&w, 0, at, to, err);
}

void pz_raw_free(pz_raw *r) {
  free(r->stretch);
  r->stretch = NULL;
}

/* ------------------------------------------------------------------ what it costs */

/* Whether x, y and z follow on each other in the file, from its closest elements on. */
static bool in_order(const pz_raw *r, const pz_axes *axes) {
  int64_t next = 1;
  for (int i = 3; i >= 1; i--) {
    if (axes->shape[i - 1] == 1) continue;
    if (r->array->stride[axes->of[i]] != next) return false;
    next *= axes->shape[i - 1];
  }
  return true;
}

int64_t pz_raw_memory(const pz_raw *r, const pz_axes *axes) {
  if (r->convert) return PZ_RAW_STRETCH + PZ_RAW_STRETCH / r->element * r->delivered;
  return in_order(r, axes) ? 0 : PZ_RAW_STRETCH;
}

/* Planes whose rows lie apart from those of the next plane are read one by one at no great cost. */
static int64_t planes_at_once(const pz_raw *r, const pz_axes *axes, int64_t room) {
  const int z = axes->of[1];
  bool slowest = true;
  for (int i = 2; i < 4 && z >= 0; i++)
    slowest = slowest && (axes->of[i] < 0 || r->array->stride[axes->of[i]] <= r->array->stride[z]);
  if (slowest) return 1;
  const int64_t plane = axes->channels * axes->shape[1] * axes->shape[2] * r->delivered;
  const int64_t planes = plane < room ? room / plane : 1;
  return planes < axes->shape[0] ? planes : axes->shape[0];
}

void pz_raw_step(const pz_raw *r, const pz_axes *axes, int64_t room, int64_t step[3]) {
  pz_axes_rows(r->array, axes, step);
  step[0] = planes_at_once(r, axes, room);
}

pz_status pz_raw_fetch_file(void *host, int stream, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  const pz_raw_file *f = host;
  (void)stream;
  return pz_io_read(f->fd, f->path, to, bytes, offset, err);
}
