/* synthetic_cells.c: cells as chains of discs that wander along z; a section's cells are the additively weighted
 * Voronoi regions of the discs (distance to the centre less the radius), whose borders curve as membranes do. */
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>

/* Cells are placed in this order, the large ones first, each kind until `tries` places for it have failed. */
static const struct kind {
  float radius_low, radius_high;
  int32_t links; /* discs of a chain, at most */
  float share;   /* of the places found that are taken, so that the next kinds have room */
} KINDS[] = {{40, 60, 2, 0.15f}, {22, 36, 4, 0.4f}, {12, 20, 5, 0.6f}, {7, 12, 4, 0.9f}, {5, 7, 2, 1}};
enum { N_KINDS = sizeof KINDS / sizeof KINDS[0], TRIES = 3000, MARGIN = 90, MAX_DISCS = 1 << 20 };
enum { REACH = 46 }; /* pixels beyond its radius in which a disc is looked at */

/* What the hashes are for. */
enum { FOR_PLACE = 11, FOR_SIZE, FOR_CHAIN, FOR_TURN, FOR_DRIFT, FOR_WANDER, FOR_MITO, FOR_WARP = 40 };

typedef struct growth {
  em_tissue *tissue;
  int32_t capacity, cells, draws;
} growth;

static float draw(growth *g, uint32_t purpose, float low, float high) {
  return low + (high - low) * em_uniform(em_hash(g->tissue->seed + purpose, g->draws++, 0, 0));
}

static int fits(const em_tissue *t, float x, float y, float radius) {
  for (int32_t i = 0; i < t->n_discs; i++) {
    const em_disc *d = &t->discs[i];
    float apart = radius + d->radius, dx = x - d->x, dy = y - d->y;
    if (dx * dx + dy * dy < apart * apart) return 0;
  }
  return 1;
}

static int add_disc(growth *g, em_disc disc) {
  em_tissue *t = g->tissue;
  if (t->n_discs == g->capacity) {
    int32_t capacity = g->capacity ? 2 * g->capacity : 256;
    em_disc *discs = capacity > MAX_DISCS ? NULL : realloc(t->discs, (size_t)capacity * sizeof *discs);
    if (!discs) return -1;
    t->discs = discs;
    g->capacity = capacity;
  }
  t->discs[t->n_discs++] = disc;
  return 0;
}

/* A chain grows from its first disc in one direction that bends, as long as there is room. Its own discs overlap, so
 * the next one is tried against the tissue as it was before the chain began. */
static int add_chain(growth *g, const struct kind *kind, em_disc disc) {
  em_tissue *t = g->tissue;
  int32_t before = t->n_discs, length = 1 + (int32_t)draw(g, FOR_CHAIN, 0, (float)kind->links);
  float angle = draw(g, FOR_CHAIN, 0, 6.2831853f);
  for (int32_t link = 0; link < length; link++) {
    if (add_disc(g, disc)) return -1;
    disc.x += 1.1f * disc.radius * cosf(angle), disc.y += 1.1f * disc.radius * sinf(angle);
    angle += draw(g, FOR_TURN, -0.6f, 0.6f);
    em_tissue rest = *t;
    rest.n_discs = before;
    if (!fits(&rest, disc.x, disc.y, disc.radius)) break;
  }
  return 0;
}

static int place_kind(growth *g, const struct kind *kind) {
  em_tissue *t = g->tissue;
  for (int32_t failed = 0; failed < TRIES;) {
    em_disc disc = {.radius = draw(g, FOR_SIZE, kind->radius_low, kind->radius_high), .cell = g->cells};
    disc.x = draw(g, FOR_PLACE, -MARGIN, (float)t->width + MARGIN);
    disc.y = draw(g, FOR_PLACE, -MARGIN, (float)t->height + MARGIN);
    disc.drift_x = draw(g, FOR_DRIFT, -1.6f, 1.6f), disc.drift_y = draw(g, FOR_DRIFT, -1.6f, 1.6f);
    if (!fits(t, disc.x, disc.y, disc.radius) || draw(g, FOR_PLACE, 0, 1) > kind->share) {
      failed++;
      continue;
    }
    if (add_chain(g, kind, disc)) return -1;
    g->cells++;
  }
  return 0;
}

static em_mitochondrion make_mitochondrion(growth *g, int32_t disc, int32_t depth) {
  float radius = g->tissue->discs[disc].radius, angle = draw(g, FOR_MITO, 0, 3.1415927f);
  float size = fminf(radius * draw(g, FOR_MITO, 0.35f, 0.6f), 30);
  return (em_mitochondrion){.disc = disc,
                            .x = draw(g, FOR_MITO, -0.3f, 0.3f) * radius,
                            .y = draw(g, FOR_MITO, -0.3f, 0.3f) * radius,
                            .z = draw(g, FOR_MITO, -2, (float)depth + 2),
                            .a = size,
                            .b = size * draw(g, FOR_MITO, 0.6f, 0.95f),
                            .depth = draw(g, FOR_MITO, 4, 12),
                            .cosine = cosf(angle),
                            .sine = sinf(angle)};
}

/* Two in five large discs have a mitochondrion, for each 20 slices. */
static int add_mitochondria(growth *g, int32_t depth) {
  em_tissue *t = g->tissue;
  int32_t each = 1 + depth / 20;
  t->mitochondria = malloc(((size_t)t->n_discs * (size_t)each + 1) * sizeof *t->mitochondria);
  if (!t->mitochondria) return -1;
  for (int32_t i = 0; i < t->n_discs; i++)
    for (int32_t k = 0; k < each && t->discs[i].radius > 20; k++)
      if (draw(g, FOR_MITO, 0, 1) < 0.4f)
        t->mitochondria[t->n_mitochondria++] = make_mitochondrion(g, i, depth);
  return 0;
}

int em_tissue_grow(em_tissue *tissue, uint32_t seed, int32_t width, int32_t height, int32_t depth) {
  *tissue = (em_tissue){.seed = seed * 1000, .width = width, .height = height};
  growth g = {.tissue = tissue};
  for (int32_t k = 0; k < N_KINDS; k++)
    if (place_kind(&g, &KINDS[k])) return -1;
  return add_mitochondria(&g, depth);
}

void em_tissue_free(em_tissue *tissue) {
  free(tissue->discs);
  free(tissue->mitochondria);
}

/* Cells drift and wander about a line, all discs of a cell alike; their number tells them apart. */
void em_disc_position(const em_tissue *t, int32_t disc, float z, float *x, float *y) {
  const em_disc *d = &t->discs[disc];
  float own = (float)d->cell * 7.31f, amplitude = 5 + 0.16f * d->radius;
  *x = d->x + d->drift_x * z + amplitude * em_noise(t->seed + FOR_WANDER, own, 0.5f, z / 5);
  *y = d->y + d->drift_y * z + amplitude * em_noise(t->seed + FOR_WANDER, own, 9.5f, z / 5);
}

int em_section_new(em_section *s, const em_tissue *t) {
  size_t pixels = (size_t)t->width * (size_t)t->height;
  s->memory = malloc(5 * pixels * sizeof *s->memory);
  if (!s->memory) return -1;
  s->warp_x = s->memory, s->warp_y = s->memory + pixels;
  s->nearest = s->memory + 2 * pixels, s->next = s->memory + 3 * pixels;
  s->cell = (int32_t *)(s->memory + 4 * pixels);
  return 0;
}

void em_section_free(em_section *section) { free(section->memory); }

/* Three octaves: cells bend, membranes wave, membranes roughen. */
static float warp(uint32_t seed, float x, float y, float z) {
  return 18 * em_noise(seed, x / 55, y / 55, z / 7) + 5 * em_noise(seed + 1, x / 23, y / 23, z / 5) +
         1.2f * em_noise(seed + 2, x / 8, y / 8, z / 2);
}

static void prepare(em_section *s, const em_tissue *t, float z) {
  for (int32_t y = 0, i = 0; y < t->height; y++)
    for (int32_t x = 0; x < t->width; x++, i++) {
      s->warp_x[i] = (float)x + warp(t->seed + FOR_WARP, (float)x, (float)y, z);
      s->warp_y[i] = (float)y + warp(t->seed + FOR_WARP + 10, (float)x, (float)y, z);
      s->nearest[i] = s->next[i] = REACH;
      s->cell[i] = -1;
    }
}

/* Keeps the nearest cell and the distance to the next *other* one. */
static void meet(em_section *s, int64_t i, float distance, int32_t cell) {
  if (s->cell[i] == cell) {
    if (distance < s->nearest[i]) s->nearest[i] = distance;
  } else if (distance < s->nearest[i]) {
    s->next[i] = s->nearest[i];
    s->nearest[i] = distance;
    s->cell[i] = cell;
  } else if (distance < s->next[i]) {
    s->next[i] = distance;
  }
}

static int32_t clamp(float v, int32_t limit) { return v < 0 ? 0 : v > (float)limit ? limit : (int32_t)v; }

static void stamp(em_section *s, const em_tissue *t, int32_t disc, float z) {
  const float far = t->discs[disc].radius + REACH + 25; /* the warp moves a pixel by 24.2 at most */
  float cx, cy;
  em_disc_position(t, disc, z, &cx, &cy);
  int32_t y_end = clamp(cy + far, t->height), x_end = clamp(cx + far, t->width);
  for (int32_t y = clamp(cy - far, t->height); y < y_end; y++)
    for (int32_t x = clamp(cx - far, t->width); x < x_end; x++) {
      int64_t i = (int64_t)y * t->width + x;
      float dx = s->warp_x[i] - cx, dy = s->warp_y[i] - cy;
      meet(s, i, sqrtf(dx * dx + dy * dy) - t->discs[disc].radius, t->discs[disc].cell);
    }
}

void em_section_cut(em_section *section, const em_tissue *tissue, float z) {
  prepare(section, tissue, z);
  for (int32_t i = 0; i < tissue->n_discs; i++) stamp(section, tissue, i, z);
}
