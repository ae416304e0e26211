/* compiled.c: see compiled.h. */
#include "support/compiled.h"
#include "base/pool.h"
#include "emit/emit.h"
#include "optimise/optimise.h"
#include "reference/reference.h"
#include "support/elements.h"
#include "support/kernels.h"
#include "support/random_graph.h"

#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What runs: with one thread, with more at once, and with more that follow one another between barriers, where it does not
 * depend on luck whether a worker reads what another one has not made yet. */
enum { AT_ONCE, FIRST_FIRST, LAST_FIRST };
static const struct {
  int workers, order;
} runs[] = {{1, AT_ONCE}, {2, AT_ONCE}, {3, AT_ONCE}, {2, LAST_FIRST}, {3, FIRST_FIRST}, {3, LAST_FIRST}};
enum { ALL_AT_ONCE = 3, RUNS = sizeof runs / sizeof *runs };

enum { PORTS = 64 }; /* inputs, and outputs, at most */

typedef struct network {
  const pz_compiled_options *options;
  const pz_graph *before;
  pz_graph *after;
  pz_plan *plan;
  char folder[64], file[96];
  void *library;
  const pz_abi_network *abi;
  float *inputs[PORTS], *values[PORTS], *outputs[RUNS][PORTS]; /* values: of the inputs' elements */
  double *expected[PORTS];
  int n_runs;
  pz_error err;
} network;

static void make(network *t) {
  assert_int_equal(pz_graph_copy(t->before, &t->after, &t->err), PZ_OK);
  assert_int_equal(pz_optimise(t->after, t->options->disable, NULL, NULL, &t->err), PZ_OK);
  if (pz_plan_new(t->after, &t->options->plan, &t->plan, &t->err) != PZ_OK)
    fail_msg("%s: %s", t->options->name, t->err.message);
  strcpy(t->folder, "/tmp/pznet-test-XXXXXX");
  assert_non_null(mkdtemp(t->folder));
  snprintf(t->file, sizeof t->file, "%s/network.so", t->folder);
  const pz_emit_options emit =
      pz_test_with_cache((pz_emit_options){.model = "random",
                                           .model_digest = "0",
                                           .objects = t->folder,
                                           .cc = t->options->quick ? pz_test_quick_compiler() : NULL});
  pz_status status = pz_emit_source(t->plan, &emit, t->folder, &t->err);
  if (status == PZ_OK) status = pz_emit_manifest(t->plan, &emit, NULL, t->folder, NULL, &t->err);
  if (status == PZ_OK) status = pz_emit_compile(t->plan, &emit, t->folder, &t->err);
  if (status == PZ_OK) status = pz_emit_link(t->plan, &emit, t->folder, "network.so", &t->err);
  if (status != PZ_OK) fail_msg("%s: %s (%s)", t->options->name, t->err.message, t->folder);
  t->library = dlopen(t->file, RTLD_NOW | RTLD_LOCAL);
  if (!t->library) fail_msg("%s", dlerror());
  t->abi = ((pz_abi_entry)dlsym(t->library, PZ_ABI_SYMBOL))();
}

static int64_t elements(const pz_abi_port *p) {
  int64_t n = 1;
  for (int i = 0; i < p->rank; i++) n *= p->dim[i];
  return n;
}

static pz_element element_of(const network *t, const pz_tensor_id *ports, int32_t i) {
  return pz_tensor_element(&t->after->tensors[ports[i]]);
}
static size_t output_bytes(const network *t, int32_t i) {
  return (size_t)(elements(&t->abi->outputs[i]) * pz_dtype_bytes(element_of(t, t->after->outputs, i).type));
}

static void fill(network *t) {
  assert_true(t->abi->n_inputs <= PORTS && t->abi->n_outputs <= PORTS);
  for (int32_t i = 0; i < t->abi->n_inputs; i++) {
    const int64_t n = elements(&t->abi->inputs[i]);
    const pz_element e = element_of(t, t->after->inputs, i);
    t->inputs[i] = malloc((size_t)n * 4);
    t->values[i] = malloc((size_t)n * 4);
    pz_random_values(t->options->seed + 77 * (uint64_t)i, n, t->values[i]);
    pz_test_settle(e, n, t->values[i]);
    pz_test_encode(e, t->values[i], n, t->inputs[i]);
  }
  for (int32_t i = 0; i < t->abi->n_outputs; i++) {
    const size_t n = (size_t)elements(&t->abi->outputs[i]);
    t->expected[i] = malloc(n * sizeof(double));
    for (int k = 0; k < t->n_runs; k++) {
      t->outputs[k][i] = malloc(n * 4);
      memset(t->outputs[k][i], 0xff, n * 4); /* NaN */
    }
  }
}

typedef struct threads {
  const network *network;
  const float *arena;
  pz_pool *pool;
  int workers, order;
  _Atomic int turn; /* whose turn it is, where one follows another */
  void (*task)(void *, int32_t);
  void *arg;
} threads;

static int place(const threads *t, int32_t worker) {
  return t->order == LAST_FIRST ? t->workers - 1 - worker : worker;
}
static void wait_for_turn(const threads *t, int32_t worker) {
  while (t->order != AT_ONCE && atomic_load(&t->turn) != place(t, worker)) sched_yield();
}
/* The last one lets the first go on: it is behind the barrier then, or at the end. */
static void end_turn(threads *t, int32_t worker) {
  if (t->order != AT_ONCE) atomic_store(&t->turn, (place(t, worker) + 1) % t->workers);
}

static void work(void *arg, int32_t worker) {
  threads *t = arg;
  wait_for_turn(t, worker);
  t->task(t->arg, worker);
  end_turn(t, worker);
}
static void pool_run(void *host, void (*task)(void *, int32_t), void *arg) {
  threads *t = host;
  t->task = task, t->arg = arg;
  pz_pool_run(t->pool, work, t);
}
static void pool_barrier(void *host, int32_t worker) {
  threads *t = host;
  const pz_compiled_options *o = t->network->options;
  if (o->at_barrier) o->at_barrier(t->network->abi, t->arena, worker, false);
  end_turn(t, worker);
  pz_pool_barrier(t->pool, worker);
  wait_for_turn(t, worker);
  if (o->at_barrier) o->at_barrier(t->network->abi, t->arena, worker, true);
}

/* The arena is poisoned, so that nothing can depend on what it held. */
static void run(network *t, int k) {
  pz_pool *pool;
  const int workers = runs[k].workers;
  assert_int_equal(pz_pool_new(workers, false, &pool, &t->err), PZ_OK);
  const size_t bytes =
      (size_t)(t->abi->arena_bytes + (uint64_t)workers * t->abi->worker_bytes + 63) / 64 * 64;
  void *arena = aligned_alloc(64, bytes);
  memset(arena, 0xff, bytes);
  threads host = {.network = t, .arena = arena, .pool = pool, .workers = workers, .order = runs[k].order};
  const pz_abi_executor executor = {&host, workers, pool_run, pool_barrier};
  int64_t *times = calloc((size_t)t->abi->n_steps + 1, sizeof *times);
  const pz_abi_call call = {.arena = arena,
                            .inputs = (const void *const *)t->inputs,
                            .outputs = (void *const *)t->outputs[k],
                            .step_ns = t->options->timed ? times : NULL,
                            .executor = workers > 1 ? &executor : NULL};
  assert_int_equal(t->abi->run(&call), 0);
  free(arena);
  free(times);
  pz_pool_free(pool);
}

static void check(network *t) {
  const pz_compiled_options *o = t->options;
  for (int32_t i = 0; i < t->abi->n_outputs; i++) {
    const int64_t n = elements(&t->abi->outputs[i]);
    float *values = malloc((size_t)n * 4);
    pz_test_decode(element_of(t, t->after->outputs, i), t->outputs[0][i], n, values);
    const double error = pz_relative_error(values, t->expected[i], n);
    free(values);
    if (!(error <= o->tolerance))
      fail_msg("%s, %s, without %s: output %s: relative error %.3g (%s)", o->name,
               o->plan.target.name ? o->plan.target.name : "no target", o->disable ? o->disable : "nothing",
               t->abi->outputs[i].name, error, t->folder);
    for (int k = 1; k < t->n_runs; k++)
      if (memcmp(t->outputs[0][i], t->outputs[k][i], output_bytes(t, i)))
        fail_msg("%s: %d threads%s give other bits than 1", o->name, runs[k].workers,
                 runs[k].order == AT_ONCE       ? ""
                 : runs[k].order == FIRST_FIRST ? ", one after another,"
                                                : ", one after another from the last,");
  }
}

/* The file tells of each tensor how its elements stand for numbers. */
static void check_elements(const network *t) {
  const pz_graph *g = t->after;
  int32_t found = 0;
  for (int32_t i = 0; i < t->abi->n_tensors; i++) {
    const pz_abi_tensor *told = &t->abi->tensors[i];
    const pz_element is = {(pz_dtype)told->type, told->scale, told->zero_point};
    for (int32_t k = 0; k < g->n_tensors; k++) {
      if (strcmp(g->tensors[k].name, told->name)) continue;
      found++;
      if (!pz_element_equal(pz_tensor_element(&g->tensors[k]), is))
        fail_msg("%s: tensor %s has other elements", t->options->name, told->name);
    }
  }
  assert_true(found || !t->abi->n_tensors);
}

static void sum_bits(const network *t) {
  uint64_t sum = 0xcbf29ce484222325; /* FNV-1a */
  for (int32_t i = 0; i < t->abi->n_outputs; i++)
    for (size_t k = 0; k < output_bytes(t, i); k++)
      sum = (sum ^ ((const uint8_t *)t->outputs[0][i])[k]) * 0x100000001b3;
  *t->options->bits = sum;
}

static void drop(network *t) {
  char command[128];
  for (int i = 0; i < PORTS; i++) {
    free(t->inputs[i]);
    free(t->values[i]);
    free(t->expected[i]);
    for (int k = 0; k < t->n_runs; k++) free(t->outputs[k][i]);
  }
  dlclose(t->library);
  pz_plan_free(t->plan);
  pz_graph_free(t->after);
  snprintf(command, sizeof command, "rm -rf %s", t->folder);
  assert_int_equal(system(command), 0);
}

void pz_test_compiled(const pz_graph *graph, const pz_compiled_options *options) {
  network t = {.options = options, .before = graph, .n_runs = options->at_barrier ? ALL_AT_ONCE : RUNS};
  make(&t);
  fill(&t);
  for (int k = 0; k < t.n_runs; k++) run(&t, k);
  assert_int_equal(pz_reference_run(graph, (const float *const *)t.values, t.expected, NULL, NULL, &t.err),
                   PZ_OK);
  check(&t);
  check_elements(&t);
  if (options->bits) sum_bits(&t);
  drop(&t);
}

/* The caller: pz_plan_free, then pz_graph_free of its graph. */
static pz_plan *planned(const pz_graph *graph, const pz_plan_options *options, pz_graph **after) {
  pz_plan *plan = NULL;
  pz_error err = {0};
  assert_int_equal(pz_graph_copy(graph, after, &err), PZ_OK);
  assert_int_equal(pz_optimise(*after, NULL, NULL, NULL, &err), PZ_OK);
  if (pz_plan_new(*after, options, &plan, &err) != PZ_OK) fail_msg("%s", err.message);
  return plan;
}

static bool same_calls(const pz_step *a, const pz_step *b) {
  bool same = a->n_calls == b->n_calls;
  for (int32_t i = 0; same && i < a->n_calls; i++)
    same = !strcmp(a->calls[i].function, b->calls[i].function) &&
           !strcmp(a->calls[i].shape, b->calls[i].shape) && a->calls[i].n_sizes == b->calls[i].n_sizes &&
           !memcmp(a->calls[i].sizes, b->calls[i].sizes, (size_t)a->calls[i].n_sizes * sizeof(int64_t));
  return same;
}

bool pz_test_same_kernels(const pz_graph *graph, const pz_plan_options *a, const pz_plan_options *b) {
  pz_graph *graphs[2];
  pz_plan *const plans[2] = {planned(graph, a, &graphs[0]), planned(graph, b, &graphs[1])};
  bool same = plans[0]->n_steps == plans[1]->n_steps;
  for (int32_t i = 0; same && i < plans[0]->n_steps; i++)
    same = same_calls(&plans[0]->steps[i], &plans[1]->steps[i]);
  for (int i = 0; i < 2; i++) pz_plan_free(plans[i]), pz_graph_free(graphs[i]);
  return same;
}

/* AVX-512 on a machine that has AMX, where that makes the same kernels. */
static bool is_repeated(const pz_graph *graph, pz_isa isa) {
  const pz_plan_options of = {.target = pz_target_as(isa), .exact = true},
                        best = {.target = pz_target_as(pz_isa_native()), .exact = true};
  return isa == PZ_ISA_AVX512 && pz_isa_native() == PZ_ISA_AMX && pz_test_same_kernels(graph, &of, &best);
}

void pz_test_compiled_text(const char *text, double tolerance) {
  for (int isa = 0; isa < PZ_ISA_COUNT; isa++) {
    if (!pz_isa_supported((pz_isa)isa)) continue;
    pz_graph *graph = NULL;
    pz_error err;
    if (pz_graph_parse(text, strlen(text), NULL, &graph, &err) != PZ_OK) fail_msg("%s", err.message);
    const pz_compiled_options options = {.name = graph->name,
                                         .seed = 5,
                                         .plan = {.target = pz_target_as((pz_isa)isa), .exact = true},
                                         .tolerance = tolerance,
                                         .quick = isa != (int)pz_isa_native()};
    if (!is_repeated(graph, (pz_isa)isa)) pz_test_compiled(graph, &options);
    pz_graph_free(graph);
  }
}

void pz_test_append_graph(pz_text *all, const char *text, const char *prefix) {
  bool quoted = false;
  for (const char *at = strchr(text, '\n') + 1; *at; at++) {
    pz_text_append_bytes(all, at, 1);
    if (*at == '"') quoted = !quoted;
    if (*at == '%' || (*at == '"' && quoted)) pz_text_append(all, prefix);
  }
}

static pz_text collected;

void pz_test_collect(const char *text) {
  static int n;
  char prefix[16];
  snprintf(prefix, sizeof prefix, "n%d_", n++);
  if (!collected.size) pz_text_append(&collected, "graph \"collected\"\n");
  pz_test_append_graph(&collected, text, prefix);
}

void pz_test_collected(double tolerance) {
  assert_false(collected.failed);
  pz_test_compiled_text(collected.data, tolerance);
  pz_text_free(&collected);
}
