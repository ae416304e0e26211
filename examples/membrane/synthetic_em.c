/* synthetic_em: a stack that looks like serial-section electron microscopy of nerve tissue, made from nothing.
 *
 *   synthetic_em out.tif [--size DEPTH,HEIGHT,WIDTH] [--seed N] [--labels labels.tif]
 *
 * Cells with dark membranes that blur where they are cut obliquely, mitochondria, vesicles, dark smears beside
 * membranes, a cytoplasm with texture, and the noise of a microscope; u8, multi-page TIFF. --labels writes the
 * truth, 0 on membranes and 255 inside cells, as the ISBI 2012 challenge does. The same seed gives the same stack. */
#include "synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum { CUTS = 3 };          /* a slice is the mean of so many sections through its thickness */
#define MEMBRANE_WIDTH 2.2f /* pixels from its middle at which darkness is down to 1/e */
#define LABEL_WIDTH    2.8f /* pixels from its middle that the truth calls membrane */
enum { FOR_GRAIN = 100, FOR_FINE = 110, FOR_CELL, FOR_SMEAR, FOR_VESICLE, FOR_CRISTAE, FOR_SLICE, FOR_CLOUD };

typedef struct options {
  const char *output, *labels;
  int32_t depth, height, width;
  uint32_t seed;
} options;

/* The slice being made: brightness, and how much of its thickness is membrane. */
typedef struct slice {
  const em_tissue *tissue;
  em_section section;
  float *image, *membrane, *scratch;
  uint8_t *bytes;
  int32_t z;
} slice;

static int64_t pixels(const slice *s) { return (int64_t)s->tissue->width * s->tissue->height; }

/* ------------------------------------------------------------------ what a section shows */

static float cell_brightness(const em_tissue *t, int32_t cell) {
  return 156 + 18 * (2 * em_uniform(em_hash(t->seed + FOR_CELL, cell, 0, 0)) - 1);
}

static float cytoplasm(const em_tissue *t, float x, float y, float z, int32_t cell) {
  return cell_brightness(t, cell) + 13 * em_noise(t->seed + FOR_CLOUD, x / 30, y / 30, z / 4) +
         26 * em_noise(t->seed + FOR_FINE, x / 4.5f, y / 4.5f, z * 1.7f);
}

/* Membranes are a little uneven, and here and there a dark smear lies beside them. */
static float membrane_darkness(const em_tissue *t, float distance, float x, float y, float z) {
  float uneven = 1 + 0.25f * em_noise(t->seed + FOR_SMEAR, x / 15, y / 15, z / 2);
  float line = expf(-distance * distance / (MEMBRANE_WIDTH * MEMBRANE_WIDTH));
  float smear = em_noise(t->seed + FOR_SMEAR + 50, x / 34, y / 34, z / 3) - 0.4f;
  smear = smear > 0 ? fminf(1, 4 * smear) * expf(-distance * distance / 90) : 0;
  return 114 * uneven * line + 66 * smear * (1 - line);
}

static void add_section(slice *s, float z) {
  const em_tissue *t = s->tissue;
  em_section_cut(&s->section, t, z);
  for (int32_t y = 0, i = 0; y < t->height; y++)
    for (int32_t x = 0; x < t->width; x++, i++) {
      float distance = em_membrane_distance(&s->section, i);
      s->image[i] -= membrane_darkness(t, distance, (float)x, (float)y, z) / CUTS;
      s->membrane[i] += (distance < LABEL_WIDTH ? 1.0f : 0.0f) / CUTS;
    }
}

/* ------------------------------------------------------------------ what lies in the cells */

/* The ellipse that a slice cuts from a mitochondrion; its half axes shrink towards its ends. */
static void stamp_mitochondrion(slice *s, const em_mitochondrion *m) {
  const em_tissue *t = s->tissue;
  float up = ((float)s->z - m->z) / m->depth;
  if (up * up >= 0.95f) return;
  float cx, cy, shrink = sqrtf(1 - up * up), a = m->a * shrink, b = m->b * shrink;
  em_disc_position(t, m->disc, (float)s->z, &cx, &cy);
  int32_t cell = t->discs[m->disc].cell;
  for (int64_t i = 0; i < pixels(s); i++) {
    float dx = s->section.warp_x[i] - cx - m->x, dy = s->section.warp_y[i] - cy - m->y;
    float u = (dx * m->cosine + dy * m->sine) / a, v = (dy * m->cosine - dx * m->sine) / b, r = u * u + v * v;
    if (r > 4 || s->section.cell[i] != cell) continue;
    float distance = (sqrtf(r) - 1) * b, inside = 1 / (1 + expf(distance * 1.5f));
    float wave = em_noise(t->seed + FOR_CRISTAE, dx / 9, dy / 9, (float)s->z / 2);
    float cristae = 22 * sinf(v * b / 1.9f + 3 * wave);
    s->image[i] -= inside * (52 + cristae) + 52 * expf(-distance * distance / 4);
    s->image[i] += 14 * expf(-(distance - 5) * (distance - 5) / 8);
  }
}

static void stamp_vesicle(slice *s, float cx, float cy, float radius, float darkness) {
  const em_tissue *t = s->tissue;
  for (int32_t y = (int32_t)cy - 7; y < (int32_t)cy + 8; y++)
    for (int32_t x = (int32_t)cx - 7; x < (int32_t)cx + 8; x++) {
      if (x < 0 || y < 0 || x >= t->width || y >= t->height) continue;
      float dx = (float)x - cx, dy = (float)y - cy, ring = sqrtf(dx * dx + dy * dy) - radius;
      s->image[(int64_t)y * t->width + x] -= darkness * expf(-ring * ring / 1.4f);
    }
}

/* Vesicles are thinner than a slice, so each slice has its own; they gather in clouds, away from membranes. */
static void stamp_vesicles(slice *s) {
  const em_tissue *t = s->tissue;
  uint32_t seed = t->seed + FOR_VESICLE;
  for (int32_t i = 0; i < pixels(s) / 110; i++) {
    float x = em_uniform(em_hash(seed, i, s->z, 0)) * (float)(t->width - 1);
    float y = em_uniform(em_hash(seed, i, s->z, 1)) * (float)(t->height - 1);
    float cloud = em_noise(seed + 20, x / 40, y / 40, (float)s->z / 4);
    float clear = em_membrane_distance(&s->section, (int64_t)y * t->width + (int64_t)x);
    if (clear > 7 && em_uniform(em_hash(seed, i, s->z, 2)) < 0.35f + 0.6f * cloud)
      stamp_vesicle(s, x, y, 4 * em_uniform(em_hash(seed, i, s->z, 3)),
                    26 + 36 * em_uniform(em_hash(seed, i, s->z, 4)));
  }
}

/* ------------------------------------------------------------------ the microscope */

static void blur_line(const float *in, float *out, int32_t n, int64_t step) {
  static const float side = 0.25f, centre = 0.5f; /* a binomial of three points: sigma 0.7 pixels */
  for (int32_t i = 0; i < n; i++) {
    float before = in[(i ? i - 1 : 0) * step], after = in[(i + 1 < n ? i + 1 : i) * step];
    out[i * step] = centre * in[i * step] + side * (before + after);
  }
}

static void blur(slice *s) {
  int32_t width = s->tissue->width, height = s->tissue->height;
  for (int32_t y = 0; y < height; y++)
    blur_line(s->image + (int64_t)y * width, s->scratch + (int64_t)y * width, width, 1);
  for (int32_t x = 0; x < width; x++) blur_line(s->scratch + x, s->image + x, height, width);
}

static void add_grain(slice *s, uint32_t seed, float sigma) {
  for (int32_t y = 0, i = 0; y < s->tissue->height; y++)
    for (int32_t x = 0; x < s->tissue->width; x++, i++) s->image[i] += sigma * em_gaussian(seed, x, y, s->z);
}

/* Each slice was exposed a little differently. */
static void expose(slice *s, float *gain, float *offset) {
  *gain = 1 + 0.06f * em_noise(s->tissue->seed + FOR_SLICE, (float)s->z * 0.77f, 0.5f, 0.5f);
  *offset = 6 * em_noise(s->tissue->seed + FOR_SLICE, (float)s->z * 0.77f, 5.5f, 0.5f);
}

static uint8_t to_byte(float v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5f); }

static void draw_slice(slice *s) {
  const em_tissue *t = s->tissue;
  memset(s->image, 0, (size_t)pixels(s) * sizeof *s->image);
  memset(s->membrane, 0, (size_t)pixels(s) * sizeof *s->membrane);
  for (int32_t cut = 0; cut < CUTS; cut++)
    add_section(s, (float)s->z + ((float)cut - 0.5f * (CUTS - 1)) / CUTS);
  em_section_cut(&s->section, t, (float)s->z);
  for (int32_t y = 0, i = 0; y < t->height; y++)
    for (int32_t x = 0; x < t->width; x++, i++)
      s->image[i] += cytoplasm(t, (float)x, (float)y, (float)s->z, s->section.cell[i]);
  for (int32_t i = 0; i < t->n_mitochondria; i++) stamp_mitochondrion(s, &t->mitochondria[i]);
  stamp_vesicles(s);
  add_grain(s, t->seed + FOR_GRAIN, 46);
  blur(s);
  add_grain(s, t->seed + FOR_GRAIN + 3, 6);
}

static const uint8_t *image_bytes(slice *s) {
  float gain, offset;
  expose(s, &gain, &offset);
  for (int64_t i = 0; i < pixels(s); i++) s->bytes[i] = to_byte((s->image[i] - 128) * gain + 128 + offset);
  return s->bytes;
}

static const uint8_t *label_bytes(slice *s) {
  for (int64_t i = 0; i < pixels(s); i++) s->bytes[i] = s->membrane[i] >= 0.5f ? 0 : 255;
  return s->bytes;
}

/* ------------------------------------------------------------------ files and arguments */

static int write_page(TIFF *tif, const slice *s, const uint8_t *bytes) {
  const em_tissue *t = s->tissue;
  TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, (uint32_t)t->width);
  TIFFSetField(tif, TIFFTAG_IMAGELENGTH, (uint32_t)t->height);
  TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(tif, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, 64);
  for (int32_t y = 0; y < t->height; y++)
    if (TIFFWriteScanline(tif, (void *)(uintptr_t)(bytes + (int64_t)y * t->width), (uint32_t)y, 0) < 0)
      return -1;
  return TIFFWriteDirectory(tif) ? 0 : -1;
}

static int slice_new(slice *s, const em_tissue *t) {
  size_t n = (size_t)t->width * (size_t)t->height;
  *s = (slice){.tissue = t};
  s->image = malloc(n * sizeof *s->image);
  s->membrane = malloc(n * sizeof *s->membrane);
  s->scratch = malloc(n * sizeof *s->scratch);
  s->bytes = malloc(n);
  return !s->image || !s->membrane || !s->scratch || !s->bytes || em_section_new(&s->section, t) ? -1 : 0;
}

static void slice_free(slice *s) {
  free(s->image);
  free(s->membrane);
  free(s->scratch);
  free(s->bytes);
  em_section_free(&s->section);
}

static int write_slices(const options *o, slice *s, TIFF *image, TIFF *labels) {
  for (s->z = 0; s->z < o->depth; s->z++) {
    draw_slice(s);
    if (write_page(image, s, image_bytes(s))) return -1;
    if (labels && write_page(labels, s, label_bytes(s))) return -1;
  }
  return 0;
}

static int write_stack(const options *o, slice *s) {
  TIFF *image = TIFFOpen(o->output, "w"), *labels = o->labels ? TIFFOpen(o->labels, "w") : NULL;
  int failed = !image || (o->labels && !labels) || write_slices(o, s, image, labels);
  if (image) TIFFClose(image);
  if (labels) TIFFClose(labels);
  return failed ? -1 : 0;
}

static int make(const options *o) {
  em_tissue tissue = {0};
  slice s = {0};
  int failed = em_tissue_grow(&tissue, o->seed, o->width, o->height, o->depth) || slice_new(&s, &tissue);
  if (failed) fprintf(stderr, "synthetic_em: out of memory\n");
  if (!failed && write_stack(o, &s)) {
    failed = 1;
    fprintf(stderr, "synthetic_em: %s: cannot be written\n", o->output);
  }
  slice_free(&s);
  em_tissue_free(&tissue);
  return failed ? 1 : 0;
}

static int read_option(options *o, const char *name, const char *value) {
  if (!strcmp(name, "--seed")) return sscanf(value, "%u", &o->seed) == 1;
  if (!strcmp(name, "--size")) return sscanf(value, "%d,%d,%d", &o->depth, &o->height, &o->width) == 3;
  if (strcmp(name, "--labels")) return 0;
  o->labels = value;
  return 1;
}

static int read_arguments(options *o, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--", 2) && !o->output) {
      o->output = argv[i];
    } else if (i + 1 == argc || !read_option(o, argv[i], argv[i + 1])) {
      return 0;
    } else {
      i++;
    }
  }
  const int32_t most = 8192;
  return o->output && o->depth > 0 && o->depth <= most && o->height > 31 && o->height <= most &&
         o->width > 31 && o->width <= most;
}

int main(int argc, char **argv) {
  options o = {.depth = 30, .height = 512, .width = 512, .seed = 1};
  if (!read_arguments(&o, argc, argv)) {
    fprintf(stderr,
            "usage: synthetic_em out.tif [--size DEPTH,HEIGHT,WIDTH] [--seed N] [--labels labels.tif]\n"
            "height and width 32 to 8192, depth 1 to 8192\n");
    return 2;
  }
  TIFFSetErrorHandler(NULL); /* one line a failure, and it is ours */
  return make(&o);
}
