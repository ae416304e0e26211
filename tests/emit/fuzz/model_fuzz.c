/* model_fuzz FILE... [--seed S] [--count N] [--seconds T] [--syntax N] [--run N] [--least N] [--keep FOLDER] [--told]
 * Takes the models, then N mutants of them, or as many as T seconds have room for, all the way to C (model.h). Mutants that come there are mutated
 * again. The same files, seed and N give the same mutants. A finding stays in FOLDER (by default the current one), and the status is 1, as it is where
 * fewer than N of --least came to C. A
 * model that ends the process lies there as current.onnx or current.prototxt. */
#include "base/digest.h"
#include "model.h"
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct sample {
  bool onnx;
  char *data;
  size_t size;
} sample;
#ifdef __SANITIZE_ADDRESS__
enum { MOST_MIB = 2048 }; /* shadow, red zones, quarantine */
#else
enum { MOST_MIB = 1024 };
#endif
enum { SEEDS = 1024 };
static sample seeds[SEEDS];
static int n_seeds, n_given;

static struct {
  uint64_t seed;
  long count, seconds, least;
  const char *keep;
  model_options model;
} wanted = {.seed = 1, .keep = ".", .model = {.syntax_every = 500, .run_every = 2000, .most_mib = MOST_MIB}};

static bool ends_with(const char *s, const char *end) {
  return strlen(s) >= strlen(end) && !strcmp(s + strlen(s) - strlen(end), end);
}

static bool read_seed(const char *path) {
  FILE *f = fopen(path, "rb");
  pz_text text = {0};
  char part[4096];
  for (size_t n; f && (n = fread(part, 1, sizeof part, f));) pz_text_append_bytes(&text, part, n);
  if (!f || fclose(f) || text.failed || n_seeds == SEEDS) return false;
  seeds[n_seeds++] = (sample){ends_with(path, ".onnx"), text.data, text.size};
  return true;
}

static void write_file(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, size, f) != size || fclose(f))
    fprintf(stderr, "model_fuzz: %s cannot be written\n", path), exit(2);
}

/* A model that ends the process is there already. */
static bool take(const sample *s, const char *name) {
  char current[1024], found[1024];
  snprintf(current, sizeof current, "%s/current.%s", wanted.keep, s->onnx ? "onnx" : "prototxt");
  write_file(current, s->size ? s->data : "", s->size);
  const bool good =
      model_reaches_c(s->onnx, (const uint8_t *)(s->size ? s->data : ""), s->size, &wanted.model);
  if (!good) {
    char digest[PZ_DIGEST_TEXT];
    pz_digest_text(s->size ? s->data : "", s->size, digest);
    snprintf(found, sizeof found, "%s/finding-%.10s.%s", wanted.keep, digest, s->onnx ? "onnx" : "prototxt");
    rename(current, found);
    fprintf(stderr, "model_fuzz: %s: kept as %s\n", name, found);
  } else unlink(current);
  return good;
}

enum { MOST_BYTES = 30000 };
/* A mutant that came to C is a seed of later ones. */
static void keep_mutant(const sample *s, uint64_t *state) {
  if (s->size > MOST_BYTES) return;
  const int at = n_seeds < SEEDS ? n_seeds++ : n_given + (int)mutate_pick(state, SEEDS - n_given);
  free(seeds[at].data);
  seeds[at] = *s;
  seeds[at].data = malloc(s->size + 1);
  if (!seeds[at].data) exit(2);
  memcpy(seeds[at].data, s->data, s->size);
}

static bool take_mutant(uint64_t number) {
  uint64_t state = number;
  const sample *from = &seeds[mutate_pick(&state, mutate_pick(&state, 3) ? n_seeds : n_given)];
  const int64_t before = model_count.emitted;
  char name[64];
  pz_text text = {0};
  (from->onnx ? mutate_onnx : mutate_prototxt)(
      mutate_next(&state), (const uint8_t *)(from->size ? from->data : ""), from->size, &text);
  snprintf(name, sizeof name, "mutant %llu", (unsigned long long)number);
  const sample made = {from->onnx, text.data, text.size};
  const bool good = take(&made, name);
  if (good && model_count.emitted > before) keep_mutant(&made, &state);
  pz_text_free(&text);
  return good;
}

static bool set(const char *name, const char *value) {
  if (!strcmp(name, "--seed")) wanted.seed = strtoull(value, NULL, 10);
  else if (!strcmp(name, "--count")) wanted.count = strtol(value, NULL, 10);
  else if (!strcmp(name, "--seconds")) wanted.seconds = strtol(value, NULL, 10);
  else if (!strcmp(name, "--syntax")) wanted.model.syntax_every = strtol(value, NULL, 10);
  else if (!strcmp(name, "--run")) wanted.model.run_every = strtol(value, NULL, 10);
  else if (!strcmp(name, "--least")) wanted.least = strtol(value, NULL, 10);
  else if (!strcmp(name, "--keep")) wanted.keep = value;
  else return false;
  return true;
}

static void read_arguments(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--told")) wanted.model.told = true;
    else if (i + 1 < argc && set(argv[i], argv[i + 1])) i++;
    else if (!read_seed(argv[i]))
      fprintf(stderr, "model_fuzz: %s: no file, and no option\n", argv[i]), exit(2);
  }
}

int main(int argc, char **argv) {
  char folder[] = "/tmp/pznet-test-XXXXXX", command[64];
  const time_t begin = time(NULL);
  int findings = 0;
  read_arguments(argc, argv);
  if (!mkdtemp(folder)) return 2;
  wanted.model.folder = folder;
  n_given = n_seeds;
  for (int i = 0; i < n_given; i++) {
    char name[32];
    snprintf(name, sizeof name, "file %d", i + 1);
    findings += !take(&seeds[i], name);
  }
  long made = 0;
  for (; n_seeds && made < wanted.count && (!wanted.seconds || time(NULL) - begin < wanted.seconds); made++)
    findings += !take_mutant(wanted.seed * UINT64_C(1000000007) + (uint64_t)made);
  printf("%d models and %ld mutants: %lld imported, %lld planned, %lld emitted, %lld compiled, %lld "
         "compared; %d findings, %ld s\n",
         n_given, made, (long long)model_count.imported, (long long)model_count.planned,
         (long long)model_count.emitted, (long long)model_count.compiled, (long long)model_count.compared,
         findings, (long)(time(NULL) - begin));
  if (model_count.emitted < wanted.least)
    fprintf(stderr, "model_fuzz: fewer than %ld came to C\n", wanted.least), findings++;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command)) findings++;
  for (int i = 0; i < n_seeds; i++) free(seeds[i].data);
  return findings ? 1 : 0;
}
