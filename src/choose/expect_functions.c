/* expect_functions.c: moments behind functions of normally distributed values, by numerical integration. */
#include "choose/expect.h"
#include "reference/ops.h"

#include <math.h>
#include <stdlib.h>

/* ---- of one value ---- */

/* Places where a function is looked at: sinh of even steps, up to 6 deviations away: dense around zero, where functions bend, however far
 * values are spread. */
enum { CELLS = 256 };
#define REACH 6.0

/* A constant is taken as spread by this part of itself. */
#define LEAST_SPREAD 1e-3

static void choose_places(pz_moments x, double deviation, double at[CELLS + 1]) {
  const double from = asinh(x.mean - REACH * deviation), to = asinh(x.mean + REACH * deviation);
  for (int i = 0; i <= CELLS; i++) at[i] = sinh(from + (to - from) * i / CELLS);
}

pz_moments pz_expect_activation(const pz_activation *act, double slope_below, pz_moments x, double *slope) {
  const double deviation = fmax(sqrt(x.variance), LEAST_SPREAD * (fabs(x.mean) + LEAST_SPREAD));
  double at[CELLS + 1], y[CELLS + 1], all = 0, sum = 0, squares = 0, slopes = 0;
  choose_places(x, deviation, at);
  for (int i = 0; i <= CELLS; i++) y[i] = at[i];
  pz_reference_activate(act, &slope_below, 1, (pz_axis_view){1, 1, CELLS + 1}, y);
  for (int i = 0; i < CELLS; i++) {
    const double width = at[i + 1] - at[i], t = ((at[i] + at[i + 1]) / 2 - x.mean) / deviation,
                 value = (y[i] + y[i + 1]) / 2, likely = exp(-t * t / 2) * width;
    if (!isfinite(value) || width <= 0) continue; /* beyond where the function is defined */
    all += likely, sum += likely * value, squares += likely * value * value;
    slopes += likely * pow((y[i + 1] - y[i]) / width, 2);
  }
  *slope = all > 0 ? slopes / all : 1;
  if (all <= 0) return x;
  sum /= all;
  return (pz_moments){sum, fmax(0, squares / all - sum * sum)};
}

pz_moments pz_expect_greatest(int64_t n, pz_moments x) {
  double all = 0, sum = 0, squares = 0;
  for (int i = 0; i < CELLS; i++) {
    const double t = REACH * (2 * (i + 0.5) / CELLS - 1), below = erfc(-t * M_SQRT1_2) / 2,
                 likely = exp(-t * t / 2) * pow(below, (double)n - 1);
    all += likely, sum += likely * t, squares += likely * t * t;
  }
  sum /= all;
  return (pz_moments){x.mean + sum * sqrt(x.variance), (squares / all - sum * sum) * x.variance};
}

/* ---- softmax ---- */

/* Positions that are drawn. Where values are spread further than WIDEST, so few of them have no clear winner that they are drawn nearer to each
 * other, and counted as many times less. */
enum { DRAWN = 4096, DRAWN_OF_MANY = 256, MANY = 64 };
#define WIDEST 32.0

/* splitmix64 (Steele, Lea, Flood 2014), to (0, 1). */
static double next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}
static double next_normal(uint64_t *state) {
  const double radius = sqrt(-2 * log(next_random(state)));
  return radius * cos(2 * M_PI * next_random(state));
}

static int draws_of(int32_t n) { return n > MANY ? DRAWN_OF_MANY : DRAWN; }

static double nearer(int32_t n, const pz_moments *x) {
  double widest = 0;
  for (int32_t c = 0; c < n; c++) widest = fmax(widest, sqrt(x[c].variance));
  return fmax(1, widest / WIDEST);
}

/* y[c]: softmax of a position that is drawn. */
static void draw(int32_t n, const pz_moments *x, double near, uint64_t *random, double *y) {
  double greatest = -INFINITY, sum = 0;
  for (int32_t c = 0; c < n; c++) {
    y[c] = (x[c].mean + sqrt(x[c].variance) * next_normal(random)) / near;
    greatest = fmax(greatest, y[c]);
  }
  for (int32_t c = 0; c < n; c++) sum += y[c] = exp(y[c] - greatest);
  for (int32_t c = 0; c < n; c++) y[c] /= sum;
}

/* dy[c]/dx[j] is y[c] (c == j) - y[c] y[j]; of the logarithm (c == j) - y[j]. Squares of both, summed with gain_y. */
static void add_gains(bool is_log, int32_t n, const double *y, const double *gain_y, double *gain_x) {
  double all = 0;
  for (int32_t c = 0; c < n; c++) all += gain_y[c] * (is_log ? 1 : y[c] * y[c]);
  for (int32_t j = 0; j < n; j++)
    gain_x[j] += (gain_y[j] * (1 - 2 * y[j]) * (is_log ? 1 : y[j] * y[j]) + y[j] * y[j] * all) / draws_of(n);
}

pz_status pz_expect_softmax(bool is_log, int32_t n, const pz_moments *x, pz_moments *y, const double *gain_y,
                            double *gain_x, pz_error *err) {
  const double near = is_log ? 1 : nearer(n, x);
  double *drawn = malloc((size_t)n * sizeof *drawn);
  uint64_t random = 1;
  if (!drawn) return pz_fail_memory(err, "what is expected of a softmax", (size_t)n * sizeof *drawn);
  for (int32_t c = 0; c < n; c++) {
    if (gain_y) gain_x[c] = 0;
    else y[c] = (pz_moments){0, 0};
  }
  for (int i = 0; i < draws_of(n); i++) {
    draw(n, x, near, &random, drawn);
    if (gain_y) add_gains(is_log, n, drawn, gain_y, gain_x);
    for (int32_t c = 0; c < n && !gain_y; c++) {
      const double value = is_log ? log(fmax(drawn[c], 1e-300)) : drawn[c];
      y[c].mean += value / draws_of(n), y[c].variance += value * value / draws_of(n);
    }
  }
  for (int32_t c = 0; c < n; c++) {
    if (gain_y) gain_x[c] /= near;
    else y[c].variance = fmax(0, y[c].variance - y[c].mean * y[c].mean);
  }
  free(drawn);
  return PZ_OK;
}
