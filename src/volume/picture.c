#include "volume/picture.h"

#include "base/file.h"
#include "formats/convert.h"
#include "runtime/runtime.h"
#include "volume/png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int64_t pixels_of(const pz_picture *p) { return p->small[0] * p->small[1]; }

static void scale(const int64_t size[2], int64_t *factor, int64_t small[2]) {
  const int64_t side = size[0] > size[1] ? size[0] : size[1];
  *factor = (side + PZ_PICTURE_SIDE - 1) / PZ_PICTURE_SIDE;
  for (int i = 0; i < 2; i++) small[i] = (size[i] + *factor - 1) / *factor;
}

/* Of a pixel: sum, count, the result's three channels and a sorted copy of them; then the two panels, as they are and as PNG has them. */
int64_t pz_picture_memory(const int64_t size[2]) {
  enum { PIXEL = 8 + 4 + 3 * 4 + 3 * 4, PANELS = 2 * 3 * 3, MORE = 1 << 16 };
  int64_t factor, small[2];
  scale(size, &factor, small);
  return small[0] * small[1] * (PIXEL + PANELS) + small[0] * PZ_PICTURE_GAP * 9 + MORE;
}

pz_status pz_picture_begin(const int64_t size[2], pz_dtype dtype, int32_t channels, bool labels,
                           pz_picture *p, pz_error *err) {
  *p = (pz_picture){.size = {size[0], size[1]}, .dtype = dtype, .channels = channels, .labels = labels};
  scale(size, &p->factor, p->small);
  p->shown = labels || channels <= 3 ? channels : 1;
  const int64_t n = pixels_of(p), planes = labels ? 1 : p->shown;
  p->grey = calloc((size_t)n, sizeof *p->grey);
  p->count = calloc((size_t)n, sizeof *p->count);
  p->result = calloc((size_t)(n * planes), sizeof *p->result);
  return p->grey && p->count && p->result ? PZ_OK
                                          : pz_fail_memory(err, "a picture", (unsigned long long)n * 24);
}

void pz_picture_free(pz_picture *p) {
  free(p->grey), free(p->count), free(p->result);
  *p = (pz_picture){0};
}

void pz_picture_put_plane(pz_picture *p, int64_t y, int64_t rows, const float *voxels) {
  for (int64_t i = 0; i < rows; i++, voxels += p->size[1]) {
    double *grey = p->grey + (y + i) / p->factor * p->small[1];
    float *count = p->count + (y + i) / p->factor * p->small[1];
    for (int64_t x = 0; x < p->size[1]; x++)
      if (isfinite(voxels[x])) grey[x / p->factor] += (double)voxels[x], count[x / p->factor]++;
  }
}

/* The voxel that is shown of a pixel: the middle one of its square, or the last that there is. */
static int64_t middle(const pz_picture *p, int i, int64_t pixel) {
  const int64_t at = pixel * p->factor + p->factor / 2;
  return at < p->size[i] ? at : p->size[i] - 1;
}

/* Pixels first..end-1 along an axis have their voxel in start..start+size-1. */
static void pixels_in(const pz_picture *p, int i, int64_t start, int64_t size, int64_t *first, int64_t *end) {
  *first = start / p->factor, *end = (start + size - 1) / p->factor + 1;
  while (*first < *end && middle(p, i, *first) < start) ++*first;
  while (*end > *first && middle(p, i, *end - 1) >= start + size) --*end;
}

static void put_pixel(pz_picture *p, int64_t channel, int64_t at, float value) {
  p->pixels++;
  if (!p->labels) p->result[channel * pixels_of(p) + at] = value;
  else if (p->channels == 1) p->result[at] = value;
  else if (value != 0) p->result[at] = (float)(channel + 1);
}

void pz_picture_put_result(pz_picture *p, int64_t channel, const int64_t start[2], const int64_t size[2],
                           const void *voxels, int64_t row_bytes) {
  const int64_t bytes = pz_dtype_bytes(p->dtype);
  int64_t first[2], end[2];
  if (channel >= p->shown) return;
  for (int i = 0; i < 2; i++) pixels_in(p, i, start[i], size[i], &first[i], &end[i]);
  for (int64_t y = first[0]; y < end[0]; y++)
    for (int64_t x = first[1]; x < end[1]; x++) {
      const int64_t at = (middle(p, 0, y) - start[0]) * row_bytes + (middle(p, 1, x) - start[1]) * bytes;
      float value;
      pz_convert(p->dtype, (const char *)voxels + at, 1, 0, 1, &value);
      put_pixel(p, channel, y * p->small[1] + x, value);
    }
}

bool pz_picture_is_whole(const pz_picture *p) { return p->pixels == pixels_of(p) * p->shown; }

/* ------------------------------------------------------------------ levels */

/* From black to white. */
typedef struct range {
  double low, high;
} range;

static uint8_t level(double v, range r) {
  const double part = r.high > r.low ? (v - r.low) / (r.high - r.low) : 0;
  if (!(part > 0)) return 0;
  return part < 1 ? (uint8_t)(part * 255 + 0.5) : 255;
}

static int by_size(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* As NumPy's percentile has it: between the two that are nearest. */
static double percentile(const float *sorted, int64_t n, double part) {
  const double at = part * (double)(n - 1);
  const int64_t low = (int64_t)at, high = low + 1 < n ? low + 1 : low;
  return (double)sorted[low] + (at - (double)low) * ((double)sorted[high] - (double)sorted[low]);
}

/* The 1st and the 99th percentile of what is finite; `work` has room for all. */
static range middle_range(const float *values, int64_t n, float *work) {
  int64_t used = 0;
  for (int64_t i = 0; i < n; i++)
    if (isfinite(values[i])) work[used++] = values[i];
  if (!used) return (range){0, 0};
  qsort(work, (size_t)used, sizeof *work, by_size);
  return (range){percentile(work, used, 0.01), percentile(work, used, 0.99)};
}

static bool are_parts(const float *values, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (values[i] < 0 || values[i] > 1) return false;
  return true;
}

static range result_range(const pz_picture *p, float *work) {
  const int64_t n = pixels_of(p) * p->shown;
  if (p->dtype == PZ_U8 || p->dtype == PZ_U16) return (range){0, pz_dtype_greatest(p->dtype)};
  return are_parts(p->result, n) ? (range){0, 1} : middle_range(p->result, n, work);
}

/* ------------------------------------------------------------------ colours */

/* Of labels 1, 2, ..., from the first again behind the last: those of S. Trubetskoy's list that are no grey. */
static const uint8_t colours[][3] = {{230, 25, 75},  {60, 180, 75},   {255, 225, 25}, {67, 99, 216},
                                     {245, 130, 49}, {145, 30, 180},  {66, 212, 244}, {240, 50, 230},
                                     {191, 239, 69}, {250, 190, 212}, {70, 153, 144}, {220, 190, 255},
                                     {154, 99, 36},  {255, 250, 200}, {128, 0, 0},    {170, 255, 195},
                                     {128, 128, 0},  {255, 216, 177}, {0, 0, 117}};
enum { COLOURS = sizeof colours / sizeof *colours };

static void put_label(float label, uint8_t grey, uint8_t rgb[3]) {
  const int64_t number = isfinite(label) ? (int64_t)fmod(fabs((double)label) - 1, COLOURS) : -1;
  for (int i = 0; i < 3; i++)
    rgb[i] = label != 0 && number >= 0 ? (uint8_t)((grey + colours[number][i]) / 2) : grey;
}

static void put_values(const pz_picture *p, int64_t at, range r, uint8_t rgb[3]) {
  for (int c = 0; c < 3; c++) {
    const bool there = p->shown == 1 || c < p->shown;
    const int64_t channel = p->shown == 1 ? 0 : c;
    rgb[c] = there ? level((double)p->result[channel * pixels_of(p) + at], r) : 0;
  }
}

/* Both panels; grey: levels of the plane. */
static void paint(const pz_picture *p, const uint8_t *grey, range result, uint8_t *rgb) {
  const int64_t wide = p->small[1], right = 3 * (wide + PZ_PICTURE_GAP), row = right + 3 * wide;
  for (int64_t y = 0; y < p->small[0]; y++, rgb += row) {
    memset(rgb + 3 * wide, 255, 3 * PZ_PICTURE_GAP);
    for (int64_t x = 0; x < wide; x++) {
      const int64_t at = y * wide + x;
      memset(rgb + 3 * x, grey[at], 3);
      if (p->labels) put_label(p->result[at], grey[at], rgb + right + 3 * x);
      else put_values(p, at, result, rgb + right + 3 * x);
    }
  }
}

/* Means, and from these levels. A pixel without any number is black. */
static void shade(const pz_picture *p, float *mean, float *work, uint8_t *grey) {
  const int64_t n = pixels_of(p);
  for (int64_t i = 0; i < n; i++) mean[i] = p->count[i] > 0 ? (float)(p->grey[i] / (double)p->count[i]) : NAN;
  const range r = middle_range(mean, n, work);
  for (int64_t i = 0; i < n; i++) grey[i] = level((double)mean[i], r);
}

pz_status pz_picture_write(const pz_picture *p, const char *path, pz_error *err) {
  const int64_t n = pixels_of(p), width = 2 * p->small[1] + PZ_PICTURE_GAP;
  const int64_t floats = n * (p->labels || p->shown < 2 ? 2 : 3),
                bytes = floats * 4 + n + 3 * width * p->small[0];
  float *work = calloc(1, (size_t)bytes);
  if (!work) return pz_fail_memory(err, "a picture", (unsigned long long)bytes);
  uint8_t *grey = (uint8_t *)(work + floats), *rgb = grey + n;
  shade(p, work, work + n, grey);
  const range result = p->labels ? (range){0, 0} : result_range(p, work);
  paint(p, grey, result, rgb);
  const pz_status status = pz_png_write(path, width, p->small[0], rgb, err);
  free(work);
  return status;
}

pz_status pz_picture_check_path(const char *path, pz_error *err) {
  const size_t n = strlen(path);
  if (n < 5 || strcasecmp(path + n - 4, ".png") != 0)
    return pz_fail(err, PZ_ERROR_USAGE, "%s: a preview is a PNG file; expected a name that ends with .png",
                   path);
  return pz_file_check_writable(path, err);
}

/* ------------------------------------------------------------------ at once */

static pz_status check(const pz_preview *v, pz_error *err) {
  int64_t pixels, bytes;
  const bool sound = v->plane && v->result && v->height > 0 && v->width > 0 && v->channels > 0 &&
                     (unsigned)v->dtype < PZ_FILE_DTYPES && pz_mul_i64(v->height, v->width, &pixels) &&
                     pz_mul_i64(pixels, 8 * (int64_t)v->channels, &bytes);
  if (sound) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_USAGE,
      "pz_preview_write: expected a plane and a result, sizes and channels of at least 1, a dtype of the "
      "enumeration");
}

static pz_status write_whole(const char *path, const pz_preview *v, pz_error *err) {
  const int64_t size[2] = {v->height, v->width}, row = v->width * pz_dtype_bytes(v->dtype);
  pz_picture p;
  pz_status status = pz_picture_begin(size, v->dtype, v->channels, v->labels, &p, err);
  if (status == PZ_OK) {
    pz_picture_put_plane(&p, 0, v->height, v->plane);
    for (int32_t c = 0; c < v->channels; c++)
      pz_picture_put_result(&p, c, (const int64_t[2]){0, 0}, size,
                            (const char *)v->result + c * v->height * row, row);
    status = pz_picture_write(&p, path, err);
  }
  pz_picture_free(&p);
  return status;
}

pz_status pz_preview_write(const char *path, const pz_preview *preview) {
  pz_error err = {0};
  if (!path || !preview) pz_fail(&err, PZ_ERROR_USAGE, "pz_preview_write: path and preview must be given");
  else if (check(preview, &err) == PZ_OK && pz_picture_check_path(path, &err) == PZ_OK)
    write_whole(path, preview, &err);
  return pz_public_status(&err);
}
