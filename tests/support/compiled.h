/* compiled.h: a graph, optimised, planned, generated, compiled, loaded with plain dlopen and run with 1, 2 and 3
 * threads, at once and one after another, against the reference. */
#ifndef PZ_TESTS_SUPPORT_COMPILED_H
#define PZ_TESTS_SUPPORT_COMPILED_H

#include "base/arena.h"
#include "planner/planner.h"
#include "pznet/network_abi.h"

typedef struct pz_compiled_options {
  const char *name; /* for messages */
  uint64_t seed;    /* of the input's values */
  pz_plan_options plan;
  const char *disable; /* a pass, or NULL */
  double tolerance;    /* relative L2 error of each output */
  uint64_t *bits;      /* receives a checksum of all outputs; or NULL */
  bool timed;          /* runs with the times of steps */
  bool quick;          /* compiled as pz_test_quick_compiler says */
  /* Called by each of two threads and more in front of a barrier and behind it; or NULL. With it threads run at once alone. */
  void (*at_barrier)(const pz_abi_network *network, const float *arena, int32_t worker, bool behind);
} pz_compiled_options;

/* A cmocka test fails where the network does not compile, an output is further from the reference than that, or
 * other numbers of threads, or another order of theirs between barriers, give other bits. */
void pz_test_compiled(const pz_graph *graph, const pz_compiled_options *options);
/* Whether both make the same kernels of the graph, which then differ in the compiler's flags at most. AMX has those of AVX-512 where no
 * product is one of tiles. */
bool pz_test_same_kernels(const pz_graph *graph, const pz_plan_options *a, const pz_plan_options *b);

/* The same with a graph's text form (doc/graph-text.md), on every instruction set of this machine, with direct sums
 * alone: on its own as users have it, on others with the quick compiler, and not twice with the same kernels. */
void pz_test_compiled_text(const char *text, double tolerance);

/* Appends the text's lines behind its first, "graph", with the prefix in front of each name: networks side by side, which gcc compiles sooner than
 * one after another. */
void pz_test_append_graph(pz_text *all, const char *text, const char *prefix);

/* The networks of a file's tests, side by side; its last test has pz_test_collected, which compiles what those before have collected. */
void pz_test_collect(const char *text);
void pz_test_collected(double tolerance);

#endif
