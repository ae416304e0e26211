/* guard.c: digests of the C and the weights that come out of the planner, for a refactoring that changes neither. Goes with the refactoring.
 *
 *     guard FOLDER [--quick] > now.txt      FOLDER is overwritten; a line a case: what, SHA-256
 *
 * Caches, cores and what instruction sets are supported are fixed here (--wrap), so that the digests are those of any machine. */
#include "api/api.h"
#include "base/cpu.h"
#include "base/digest.h"
#include "base/file.h"
#include "emit/emit.h"
#include "optimise/optimise.h"
#include "plan/solver.h"
#include "support/random_graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cores: nobody measured it; products and sums apart; double-pumped too. */
static int core;

pz_cache_sizes __wrap_pz_cpu_caches(void);
bool __wrap_pz_isa_supported(pz_isa isa);
int __wrap_pz_cpu_usable(void);
pz_cache_sizes __wrap_pz_cpu_caches(void) { return (pz_cache_sizes){48 << 10, 2 << 20, 60 << 20}; }
bool __wrap_pz_isa_supported(pz_isa isa) { return isa < PZ_ISA_COUNT; }
int __wrap_pz_cpu_usable(void) { return 2; }

static const char *folder;
static int failures;

static pz_target target_of(pz_isa isa) {
  static const char *const rows[] = {"x86-64-v4", "zen5", "zen4"};
  pz_target target = pz_target_as(isa), like;
  if (!pz_target_parse(rows[core], &like)) abort();
  target.core = "guard";
  target.adds_apart = like.adds_apart, target.double_pumped = like.double_pumped;
  target.inner_pairs = like.inner_pairs, target.wide = like.wide, target.narrow = like.narrow;
  return target;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* All files of the folder, which are removed. */
static void digest_files(pz_digest *digest) {
  char *names[4096], path[4096];
  int n = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir)) && n < 4096;)
    if (e->d_name[0] != '.') names[n++] = strdup(e->d_name);
  if (dir) closedir(dir);
  qsort(names, (size_t)n, sizeof *names, by_name);
  for (int i = 0; i < n; i++) {
    char bytes[1 << 14];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    pz_digest_add(digest, names[i], strlen(names[i]) + 1);
    FILE *f = fopen(path, "rb");
    for (size_t got; f && (got = fread(bytes, 1, sizeof bytes, f)) > 0;) pz_digest_add(digest, bytes, got);
    if (f) fclose(f);
    unlink(path);
    free(names[i]);
  }
}

static pz_status digest_plan(const pz_graph *g, const pz_plan_options *options, char text[PZ_DIGEST_TEXT],
                             pz_error *err) {
  const pz_emit_options emit = {.cc = "cc", .model = "guard", .model_digest = "", .bare = true};
  pz_plan *plan;
  pz_digest digest;
  const char *json;
  PZ_TRY(pz_plan_new(g, options, &plan, err));
  /* Where it fails, in the weights of a plan of sizes alone or in a port that no network file has, there is what was written before. */
  pz_emit_source(plan, &emit, folder, NULL);
  const pz_status status = pz_emit_manifest_text(plan, &emit, NULL, &json, err);
  pz_digest_begin(&digest);
  if (status == PZ_OK) pz_digest_add(&digest, json, strlen(json));
  digest_files(&digest);
  pz_digest_end_text(&digest, text);
  pz_plan_free(plan);
  return status;
}

static void one(const char *name, const pz_graph *g, const pz_plan_options *options) {
  static const char *const bands[] = {"never", "auto", "always"};
  char text[PZ_DIGEST_TEXT];
  pz_error err = {0};
  const pz_status status = digest_plan(g, options, text, &err);
  printf("%s %s block %d bands %s exact %d core %d%d sized %d memory %.0f: %s\n", name, options->target.name,
         options->block, bands[options->fuse_rows], options->exact, options->target.adds_apart,
         options->target.double_pumped, options->sized, options->memory,
         status == PZ_OK ? text : err.message);
  fflush(stdout);
}

/* ---- models ---- */

typedef struct model {
  const char *path, *weights, *input;
  bool sized; /* too large to be packed */
} model;

static void each_way(const char *name, const pz_graph *g, pz_plan_options o, bool cores) {
  for (int isa = 0; isa < PZ_ISA_COUNT; isa++)
    for (int bands = 0; bands < 3; bands++) {
      o.target = target_of((pz_isa)isa), o.fuse_rows = (pz_fuse_rows)bands;
      one(name, g, &o);
      for (int c = 1; c < 3 && cores && isa == PZ_ISA_AVX512 && bands == 1; c++) {
        core = c;
        o.target = target_of((pz_isa)isa);
        one(name, g, &o);
        core = 0;
      }
    }
}

static void of_model(const model *m, bool quick) {
  const char *shapes[] = {m->input};
  const pz_compile_options options = {.weights = m->weights,
                                      .input_shapes = shapes,
                                      .n_input_shapes = m->input != NULL,
                                      .isa = "avx512",
                                      .threads = 2};
  char name[256];
  pz_plan_options wanted;
  pz_model loaded;
  pz_error err = {0};
  snprintf(name, sizeof name, "%s%s%s", m->path, m->input ? " " : "", m->input ? m->input : "");
  if (pz_model_load(m->path, &options, &loaded, &err) != PZ_OK ||
      pz_plan_wanted(&options, &wanted, &err) != PZ_OK) {
    printf("%s: %s\n", name, err.message);
    failures++;
    return;
  }
  wanted.sized = m->sized;
  each_way(name, loaded.after, wanted, true);
  if (m->sized) {
    wanted.target = target_of(PZ_ISA_AMX), wanted.fuse_rows = PZ_FUSE_ROWS_AUTO, wanted.memory = 150e6;
    one(name, loaded.after, &wanted);
    wanted.target = target_of(PZ_ISA_AVX2), wanted.memory = 200e6;
    one(name, loaded.after, &wanted);
  }
  (void)quick;
  pz_model_free(&loaded);
}

static const model models[] = {
    {"models/block.prototxt", "init:1", NULL, false},
    {"examples/membrane/membrane.prototxt", "init:1", NULL, false},
    {"tests/networks/tiny.prototxt", "init:1", NULL, false},
    {"models/original.prototxt", "init:1", NULL, true},
    {"models/symmetric.prototxt", "init:1", NULL, true},
    {"models/residual.prototxt", "init:1", NULL, true},
    {"models/residual.prototxt", "init:1", "input=1x1x8x64x64", false},
    {"models/symmetric.prototxt", "init:1", "input=1x1x32x32x32", false},
};

static void of_onnx(bool quick) {
  char *names[256], path[512];
  int n = 0;
  DIR *dir = opendir("tests/import/data/onnx");
  for (struct dirent *e; dir && (e = readdir(dir)) && n < 256;) {
    const char *dot = strrchr(e->d_name, '.');
    if (dot && !strcmp(dot, ".onnx")) names[n++] = strdup(e->d_name);
  }
  if (dir) closedir(dir);
  qsort(names, (size_t)n, sizeof *names, by_name);
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "tests/import/data/onnx/%s", names[i]);
    of_model(&(model){path, NULL, NULL, false}, quick);
    free(names[i]);
  }
}

/* ---- random networks ---- */

/* As tests/plan/test_networks.c: on AMX, products of halves wherever they apply, in the layouts of the cheapest candidate. */
static int32_t bf16x2(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  static const char *const labels[] = {"bf16x2", "bf16x2, F(2,3) along ", "bf16x2, F(4,3) along "};
  const uint64_t seed = *(const uint64_t *)host;
  const char *wanted = labels[seed % 3];
  int32_t usual = -1, any = -1, last = 0;
  (void)plan;
  if (node->op != PZ_OP_CONV && node->op != PZ_OP_DECONV) return PZ_BY_COST;
  for (int32_t i = 0; i < n; i++) {
    if (c[i].solver->in != c[0].solver->in || c[i].solver->out != c[0].solver->out) continue;
    if (seed % 3 ? !strncmp(c[i].label, wanted, strlen(wanted)) : !strcmp(c[i].label, wanted)) return i;
    if (strstr(c[i].label, "bf16x2") && !strstr(c[i].label, "taps")) any = i;
    if (usual < 0 && c[i].error <= PZ_MAX_ERROR / 2) usual = i;
    last = i;
  }
  return any >= 0 ? any : usual >= 0 ? usual : last;
}

static void of_seed(uint64_t seed) {
  const pz_isa isa = (pz_isa)(seed % PZ_ISA_COUNT);
  char name[32];
  pz_graph *g;
  pz_error err = {0};
  snprintf(name, sizeof name, "random %llu", (unsigned long long)seed);
  if ((seed % 5 >= 3 ? pz_random_exported_graph : pz_random_graph)(seed, &g, &err) != PZ_OK ||
      pz_optimise(g, NULL, NULL, NULL, &err) != PZ_OK) {
    printf("%s: %s\n", name, err.message);
    failures++;
    return;
  }
  core = (int)(seed / 3 % 3);
  pz_plan_options options = {.target = target_of(isa),
                             .block = isa >= PZ_ISA_AVX512 && seed % 3 == 0 ? 8 : 0,
                             .threads = 2,
                             .slack = seed % 2 ? 0.03 : 0,
                             .fuse_rows = (pz_fuse_rows)(seed / 4 % 3),
                             .exact = seed % 7 == 0};
  if (isa == PZ_ISA_AMX && !options.exact && seed / 4 % 2) {
    options.max_error = 1e-4;
    options.choose = bf16x2, options.choose_host = &seed;
  }
  one(name, g, &options);
  core = 0;
  pz_graph_free(g);
}

int main(int argc, char **argv) {
  const bool quick = argc > 2 && !strcmp(argv[2], "--quick");
  if (argc < 2) return 2;
  folder = argv[1];
  for (uint64_t seed = 1; seed <= (quick ? 120 : 600); seed++) of_seed(seed);
  of_onnx(quick);
  for (size_t i = 0; i < (quick ? 3 : sizeof models / sizeof *models); i++) of_model(&models[i], quick);
  return failures != 0;
}
