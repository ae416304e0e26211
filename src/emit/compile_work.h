/* compile_work.h: what compiling a plan's kernels is expected to take, and what is left of it while several compilers run.
 *
 * Expected costs are seconds of a processor on the machine that compile_costs.inc was made on, by kind of kernel. How much slower this one is
 * shows what compilers took that have ended; how much of a processor each gets, on a machine that has other work too, show those that run. */
#ifndef PZ_EMIT_COMPILE_WORK_H
#define PZ_EMIT_COMPILE_WORK_H

enum { PZ_COMPILE_TASKS = 256 };

/* One call of the compiler. */
typedef struct pz_compile_task {
  double cost;  /* expected */
  double begun; /* when; */
  double cpu;   /* seconds of a processor that it has had */
  enum { PZ_TASK_WAITS, PZ_TASK_RUNS, PZ_TASK_IS_OVER } is;
} pz_compile_task;

typedef struct pz_compile_work {
  pz_compile_task tasks[PZ_COMPILE_TASKS]; /* in the order in which they begin */
  int n, width;                            /* width: of them at a time */
  double pace; /* seconds of a processor for each expected one, from earlier work; 0: 1 */
  double over_cost, over_cpu, over_wall; /* of those that are over */
} pz_compile_work;

/* Of a kernel whose function has this name ("pz_winograd"), in a file behind one with the function `before`: the first one of its kind costs more. NULL:
 * none is before it. */
double pz_compile_cost(const char *function, const char *before);
/* Seconds until so many kernels, of which nobody knows yet what they are, have been compiled, in a file for each of `width` compilers: as many of the dearest
 * kind. */
double pz_compile_cost_of_some(double kernels, int width);
/* Of a file beside its kernels; of a step in the list of steps. */
#define PZ_COMPILE_COST_OF_FILE 0.3
#define PZ_COMPILE_COST_OF_STEP 0.004

/* Begins anew, but for the pace, which is what was seen last. */
void pz_compile_work_begin(pz_compile_work *w, int width);
/* The next task; those that there is no room for add to the last one. Returns its index. */
int pz_compile_work_add(pz_compile_work *w, double cost);
void pz_compile_work_start(pz_compile_work *w, int task, double now);
void pz_compile_work_sample(pz_compile_work *w, int task, double cpu); /* of one that runs */
void pz_compile_work_end(pz_compile_work *w, int task, double cpu, double now);

/* Seconds until all are over. */
double pz_compile_work_left(const pz_compile_work *w, double now);
/* Of a processor, that a compiler gets, as far as it is known; 1 where it is not. */
double pz_compile_work_share(const pz_compile_work *w, double now);
double pz_compile_work_pace(const pz_compile_work *w); /* as far as it is known */

#endif
