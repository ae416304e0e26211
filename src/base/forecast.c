#include "base/forecast.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>

/* A part of which this share of units is done: what it has taken so far counts as much as what was expected. */
#define TRUSTED 0.02
/* Of the time that a part has taken which was to be over: it is not over yet. */
#define OVERDUE 0.1
#define TENTH   0.1

void pz_forecast_begin(pz_forecast *f, pz_progress progress, void *host, double now) {
  *f = (pz_forecast){.progress = progress, .host = host, .begun = now, .now = -1};
}

int pz_forecast_add(pz_forecast *f, double expected) {
  if (f->n == PZ_FORECAST_PARTS) return f->n - 1;
  f->parts[f->n] = (pz_forecast_part){.expected = expected};
  return f->n++;
}

void pz_forecast_expect(pz_forecast *f, int part, double expected) {
  if (part >= 0 && part < f->n) f->parts[part].expected = expected;
}

void pz_forecast_enter(pz_forecast *f, int part, double now) {
  if (part < 0 || part >= f->n || part == f->now) return;
  for (int i = 0; i < part; i++) f->parts[i].is_over = true;
  f->now = part;
  f->parts[part] = (pz_forecast_part){.expected = f->parts[part].expected, .begun = now, .last = now};
}

void pz_forecast_count(pz_forecast *f, int64_t done, int64_t total, double now) {
  pz_forecast_part *p = f->now < 0 ? NULL : &f->parts[f->now];
  if (!p) return;
  if (p->done - p->skipped <= 0 && done - p->skipped > 0) p->first = now;
  if (done > p->done) p->last = now;
  p->done = done, p->total = total;
}

void pz_forecast_skip(pz_forecast *f, int64_t units) {
  if (f->now < 0) return;
  f->parts[f->now].skipped += units;
  f->parts[f->now].done += units;
}

void pz_forecast_say(pz_forecast *f, double left, double now) {
  if (f->now < 0) return;
  pz_forecast_part *p = &f->parts[f->now];
  p->said = left, p->said_at = now, p->has_said = true;
}

void pz_forecast_bound(pz_forecast *f, double end) {
  if (f->now < 0) return;
  f->parts[f->now].is_bounded = true, f->parts[f->now].end = end;
}

/* Units take as long as those before. The first one also has what comes once: it does not count where there are others. */
static double by_units(const pz_forecast_part *p, int64_t worked, double now) {
  const double all = (p->last - p->begun) / (double)worked,
               rate = worked > 3 ? (p->last - p->first) / (double)(worked - 1) : all;
  const int64_t left = p->total - p->done;
  if (left <= 0) return 0;
  return fmax(rate * (double)left - (now - p->last), rate * (double)(left - 1));
}

static double by_expectation(const pz_forecast_part *p, double now) {
  const double spent = now - p->begun;
  return fmax(p->expected - spent, OVERDUE * spent);
}

static double unbounded_left(const pz_forecast_part *p, double now) {
  const int64_t worked = p->done - p->skipped, all = p->total - p->skipped;
  if (p->has_said) return fmax(p->said - (now - p->said_at), 0);
  if (worked <= 0) return p->expected < 0 ? -1 : by_expectation(p, now);
  const double measured = by_units(p, worked, now), share = all > 0 ? (double)worked / (double)all : 1,
               trust = p->expected < 0 ? 1 : share / (share + TRUSTED);
  return trust * measured + (trust < 1 ? (1 - trust) * by_expectation(p, now) : 0);
}

static double left_of_running(const pz_forecast_part *p, double now) {
  const double left = unbounded_left(p, now);
  return left >= 0 && p->is_bounded ? fmin(left, fmax(p->end - now, 0)) : left;
}

double pz_forecast_left(const pz_forecast *f, double now) {
  double left = 0;
  for (int i = 0; i < f->n; i++) {
    const pz_forecast_part *p = &f->parts[i];
    const double more = p->is_over ? 0 : i == f->now ? left_of_running(p, now) : p->expected;
    if (more < 0) return -1;
    left += more;
  }
  return left;
}

double pz_forecast_shown(const pz_forecast *f, double now) {
  const double left = pz_forecast_left(f, now), spent = now - f->begun;
  return spent < TENTH * (spent + left) ? -1 : left;
}

/* ---- telling ---- */

/* Calls of hosts that are under way, the newest first. No thread-local variable: what a library has of these is allocated when a thread first uses
 * it, and where there is no memory for that the C library ends the process. */
typedef struct telling {
  pthread_t thread;
  double left;
  struct telling *before;
} telling;
static telling *tellings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void begin_telling(telling *t) {
  pthread_mutex_lock(&lock);
  t->before = tellings, tellings = t;
  pthread_mutex_unlock(&lock);
}

static void end_telling(telling *t) {
  pthread_mutex_lock(&lock);
  telling **at = &tellings;
  while (*at != t) at = &(*at)->before;
  *at = t->before;
  pthread_mutex_unlock(&lock);
}

double pz_progress_left(void) {
  double left = -1;
  pthread_mutex_lock(&lock);
  const telling *t = tellings;
  while (t && !pthread_equal(t->thread, pthread_self())) t = t->before;
  if (t) left = t->left;
  pthread_mutex_unlock(&lock);
  return left;
}

void pz_forecast_tell(const pz_forecast *f, const char *what, int64_t done, int64_t total, double now) {
  if (!f->progress) return;
  telling t = {.thread = pthread_self(), .left = pz_forecast_shown(f, now)};
  begin_telling(&t);
  f->progress(f->host, what, done, total, now - f->begun);
  end_telling(&t);
}
