#include "emit/compile_work.h"

#include <math.h>
#include <string.h>

/* ---- costs ---- */

typedef struct cost {
  const char *function;
  double first, each;
} cost;

/* Kinds by the beginning of their function's name, the longest that fits counts. */
static const cost costs[] = {
#define COST(function, first, each) {function, first, each},
#include "emit/compile_costs.inc"
#undef COST
};

static const cost *cost_of(const char *function) {
  const cost *best = &costs[0]; /* "", of any */
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
    if (!strncmp(function, costs[i].function, strlen(costs[i].function)) &&
        strlen(costs[i].function) >= strlen(best->function))
      best = &costs[i];
  return best;
}

double pz_compile_cost(const char *function, const char *before) {
  const cost *c = cost_of(function);
  return c->each + (before && cost_of(before) == c ? 0 : c->first);
}

double pz_compile_cost_of_some(double kernels, int width) {
  const cost *dearest = &costs[0];
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
    if (costs[i].first + costs[i].each > dearest->first + dearest->each) dearest = &costs[i];
  return PZ_COMPILE_COST_OF_FILE + (dearest->each * kernels / width + dearest->first);
}

/* ---- tasks ---- */

/* So many expected seconds of what was seen before weigh as much as those that were seen now. */
#define BEFORE 3
/* A task that has had as much as was expected is that far, at most. */
#define MOST_DONE   0.96
#define LEAST_SHARE 0.02
/* What is learned of a processor's share in less time is noise. */
#define LEAST_WALL 0.5

void pz_compile_work_begin(pz_compile_work *w, int width) {
  const double pace = pz_compile_work_pace(w);
  *w = (pz_compile_work){.pace = pace, .width = width > 0 ? width : 1};
}

int pz_compile_work_add(pz_compile_work *w, double cost) {
  if (w->n == PZ_COMPILE_TASKS) return w->tasks[w->n - 1].cost += cost, w->n - 1;
  w->tasks[w->n] = (pz_compile_task){.cost = cost};
  return w->n++;
}

void pz_compile_work_start(pz_compile_work *w, int task, double now) {
  w->tasks[task].is = PZ_TASK_RUNS, w->tasks[task].begun = now;
}

void pz_compile_work_sample(pz_compile_work *w, int task, double cpu) {
  w->tasks[task].cpu = fmax(w->tasks[task].cpu, cpu);
}

void pz_compile_work_end(pz_compile_work *w, int task, double cpu, double now) {
  pz_compile_task *t = &w->tasks[task];
  t->cpu = cpu, t->is = PZ_TASK_IS_OVER;
  w->over_cost += t->cost, w->over_cpu += cpu, w->over_wall += now - t->begun;
}

double pz_compile_work_pace(const pz_compile_work *w) {
  const double before = w->pace > 0 ? w->pace : 1;
  return (w->over_cpu + BEFORE * before) / (w->over_cost + BEFORE);
}

/* With those that run: that one has had more than was expected is known before it is over. */
static double pace_now(const pz_compile_work *w) {
  const double pace = pz_compile_work_pace(w);
  double cpu = w->over_cpu + BEFORE * pace, cost = w->over_cost + BEFORE;
  for (int i = 0; i < w->n; i++)
    if (w->tasks[i].is == PZ_TASK_RUNS && w->tasks[i].cpu > pace * w->tasks[i].cost)
      cpu += w->tasks[i].cpu, cost += w->tasks[i].cost;
  return fmax(pace, cpu / cost);
}

double pz_compile_work_share(const pz_compile_work *w, double now) {
  double cpu = 0, wall = 0;
  for (int i = 0; i < w->n; i++)
    if (w->tasks[i].is == PZ_TASK_RUNS) cpu += w->tasks[i].cpu, wall += now - w->tasks[i].begun;
  if (wall < LEAST_WALL) cpu += w->over_cpu, wall += w->over_wall;
  return wall < LEAST_WALL ? 1 : fmin(fmax(cpu / wall, LEAST_SHARE), 1);
}

static double left_of(const pz_compile_task *t, double pace) {
  if (t->is == PZ_TASK_IS_OVER) return 0;
  return fmax(t->cost * pace - t->cpu, t->cpu * (1 - MOST_DONE) / MOST_DONE);
}

/* Each task goes to the compiler that is free first. */
double pz_compile_work_left(const pz_compile_work *w, double now) {
  enum { MOST_WIDTH = 64 };
  double busy[MOST_WIDTH] = {0}, longest = 0;
  const double pace = pace_now(w), share = pz_compile_work_share(w, now);
  const int width = w->width < MOST_WIDTH ? w->width : MOST_WIDTH;
  for (int state = PZ_TASK_RUNS; state >= PZ_TASK_WAITS; state--)
    for (int i = 0; i < w->n; i++) {
      if ((int)w->tasks[i].is != state) continue;
      int first = 0;
      for (int k = 1; k < width; k++)
        if (busy[k] < busy[first]) first = k;
      busy[first] += left_of(&w->tasks[i], pace) / share;
      longest = fmax(longest, busy[first]);
    }
  return longest;
}
