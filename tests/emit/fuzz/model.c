#include "model.h"
#include "base/cpu.h"
#include "base/inert.h"
#include "base/json.h"
#include "emit/emit.h"
#include "import/caffe/import.h"
#include "import/onnx/onnx.h"
#include "optimise/optimise.h"
#include "planner/planner.h"
#include "pznet/network_abi.h"
#include "reference/reference.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 10 };
#define MOST_CONSTANTS                                                                                       \
  1000000 /* elements of a model's constants: more are refused, as a machine refuses what it has no room for */
#define MOST_ELEMENTS INT64_C(400000000000)
#define MOST_WEIGHTS  (1 << 26) /* floats, packed */
#define MOST_RUN      300000    /* of what is run */
#define MOST_PRODUCTS 2e7

model_counts model_count;

typedef struct run {
  const model_options *options;
  bool onnx;
  uint64_t hash;
  pz_graph *before, *after;
  pz_plan *plan;
  pz_text text, again;
  pz_graph *read;
  pz_error err;
  char path[512], folder[512];
  bool good;
} run;

static bool finding(run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool finding(run *r, const char *format, ...) {
  char text[1200], shown[1200];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  pz_inert(text, shown, sizeof shown);
  fprintf(stderr, "finding: %s\n", shown);
  r->good = false;
  return false;
}

/* Of the processor, whatever else the machine does. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- messages ---- */

static bool is_inert(const char *text) {
  char shown[4096];
  return pz_inert(text, shown, sizeof shown), !strcmp(text, shown);
}

/* What a stage may say of a model; true: it says nothing, and the next stage follows. */
static bool goes_on(run *r, const char *stage, pz_status status) {
  if (status == PZ_OK) return true;
  if (r->options->told) fprintf(stderr, "%s: %s\n", stage, r->err.message);
  if (status != PZ_ERROR_INPUT && status != PZ_ERROR_MEMORY)
    return finding(r, "%s fails with status %d: %s", stage, (int)status, r->err.message);
  if (!r->err.message[0] || !is_inert(r->err.message))
    finding(r, "%s fails with the message '%s'", stage, r->err.message);
  return false;
}

/* ---- import, optimise, plan ---- */

static bool write_model(run *r, const uint8_t *data, size_t size) {
  snprintf(r->path, sizeof r->path, "%s/model.%s", r->options->folder, r->onnx ? "onnx" : "prototxt");
  FILE *f = fopen(r->path, "wb");
  const bool written = f && fwrite(data, 1, size, f) == size;
  return (!f || !fclose(f)) && written;
}

static bool import(run *r) {
  const pz_import_options caffe = {.weights = "init:1"}, none = {0};
  const pz_status status = r->onnx
                               ? pz_onnx_import_within(r->path, &none, MOST_CONSTANTS, &r->before, &r->err)
                               : pz_caffe_import_within(r->path, &caffe, MOST_CONSTANTS, &r->before, &r->err);
  if (status != PZ_OK && r->before) return finding(r, "an import that fails gives a graph");
  if (!goes_on(r, "import", status)) return false;
  if (pz_graph_verify(r->before, &r->err) != PZ_OK)
    return finding(r, "the imported graph: %s", r->err.message);
  model_count.imported++;
  return true;
}

static int64_t elements_of(const pz_graph *g) {
  int64_t n = 0;
  for (int32_t i = 0; i < g->n_tensors && n < INT64_MAX / 2; i++)
    n += pz_shape_elements(&g->tensors[i].shape);
  return n;
}

/* The text form is read back as the same graph; DOT is made of inert lines. */
static bool prints(run *r) {
  if (pz_graph_print(r->after, true, &r->text) != PZ_OK) return finding(r, "the graph is not printed");
  if (pz_graph_parse(r->text.data, r->text.size, "text", &r->read, &r->err) != PZ_OK)
    return finding(r, "the graph's text is not read back: %s", r->err.message);
  if (pz_graph_print(r->read, true, &r->again) != PZ_OK || strcmp(r->text.data, r->again.data))
    return finding(r, "the graph's text is read back as another graph");
  pz_text_free(&r->again);
  if (pz_graph_print_dot(r->after, &r->again) != PZ_OK) return finding(r, "the graph is not drawn");
  for (char *line = strtok(r->again.data, "\n"); line; line = strtok(NULL, "\n"))
    if (!is_inert(line)) return finding(r, "DOT has the line %s", line);
  return true;
}

static bool optimise(run *r) {
  if (elements_of(r->before) > MOST_ELEMENTS) return false;
  if (!goes_on(r, "copying", pz_graph_copy(r->before, &r->after, &r->err)) ||
      !goes_on(r, "optimising", pz_optimise(r->after, NULL, NULL, NULL, &r->err)))
    return false;
  if (pz_graph_verify(r->after, &r->err) != PZ_OK)
    return finding(r, "the optimised graph: %s", r->err.message);
  return elements_of(r->after) <= MOST_ELEMENTS && prints(r);
}

/* Any candidate, so that all of them are met; the same for the same model. */
static int32_t choose_any(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *candidates,
                          int32_t n) {
  (void)plan, (void)candidates;
  uint64_t hash = *(const uint64_t *)host;
  for (const char *s = node->name; *s; s++) hash = (hash ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
  return (int32_t)((hash >> 20) % (uint64_t)n);
}

/* As the command refuses what takes more memory than there is: sizes are known before weights are packed. */
static pz_status admit(void *host, const pz_plan *plan, pz_error *err) {
  (void)host;
  return plan->weight_bytes / 4 <= MOST_WEIGHTS ? PZ_OK : pz_fail(err, PZ_ERROR_INPUT, "too many weights");
}

/* The options depend on the model alone. */
static pz_plan_options wanted(uint64_t *host) {
  const uint64_t hash = *host;
  pz_isa isa = (pz_isa)(hash % PZ_ISA_COUNT);
  if (!pz_isa_supported(isa)) isa = pz_isa_native();
  return (pz_plan_options){.target = pz_target_as(isa),
                           .block = isa >= PZ_ISA_AVX512 && hash >> 8 & 1 ? 8 : 0,
                           .exact = hash >> 9 & 1,
                           .fuse_rows =
                               (pz_fuse_rows)(hash >> 10 & 1 ? PZ_FUSE_ROWS_ALWAYS : PZ_FUSE_ROWS_AUTO),
                           .threads = (int32_t)(hash >> 12 & 3),
                           .admit = admit,
                           .choose = hash >> 18 & 1 ? choose_any : NULL,
                           .choose_host = host,
                           .memory = (hash >> 14 & 7) == 0 ? 1e6 : 0};
}

static bool plan(run *r) {
  const pz_plan_options options = wanted(&r->hash);
  if (!goes_on(r, "planning", pz_plan_new(r->after, &options, &r->plan, &r->err))) return false;
  model_count.planned++;
  return true;
}

/* ---- what was generated ---- */

static const char *contents(run *r, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", r->folder, name);
  r->again.size = 0;
  FILE *f = fopen(path, "rb");
  char part[4096];
  for (size_t n; f && (n = fread(part, 1, sizeof part, f));) pz_text_append_bytes(&r->again, part, n);
  if (f) fclose(f);
  return f && r->again.data ? r->again.data : "";
}

static bool is_of_generator(const char *name) {
  return !strcmp(name, "network.c") || !strcmp(name, "network.h") || !strncmp(name, "kernels_", 8);
}

/* Read a second time, by other code than the generator's: comments and strings are left out, and what is left has no word of a name. */
static bool check_source(run *r, const char *name) {
  static const char *const words[] = {"pwned", "system", "'", "\\", "??", "//", "*/", "/*"};
  char *code = (char *)(uintptr_t)contents(r, name), *to = code;
  if (strlen(code) != r->again.size || !*code) return finding(r, "%s has a NUL, or nothing", name);
  for (char *s = code; *s;) {
    if (*s != '\n' && (*s < 0x20 || *s > 0x7E)) return finding(r, "%s has the byte %d", name, *s);
    if (s[0] == '?' && s[1] == '?') return finding(r, "%s has a trigraph", name);
    const bool comment = s[0] == '/' && s[1] == '*';
    char *end = comment ? strstr(s + 2, "*/") : NULL;
    if (*s == '"')
      for (end = s + 1; *end && *end != '"' && *end != '\n'; end++) end += *end == '\\';
    if ((comment || *s == '"') && (!end || !*end || *end == '\n'))
      return finding(r, "%s has a comment or string without end", name);
    if (end) s = end + (comment ? 2 : 1);
    else *to++ = *s++;
  }
  *to = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(code, words[i])) return finding(r, "%s has %s in its code", name, words[i]);
  return true;
}

static bool check_manifest(run *r, const char *json) {
  json_t *m = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
  const bool whole =
      json_array_size(json_object_get(m, "plan")) == (size_t)r->plan->n_steps &&
      json_string_value(json_object_get(json_array_get(json_object_get(m, "outputs"), 0), "name"));
  for (const char *s = json; *s; s++)
    if (*s != '\n' && (*s < 0x20 || *s > 0x7E)) finding(r, "the manifest has the byte %d", *s);
  json_decref(m);
  return whole ? r->good : finding(r, "the manifest is not whole");
}

static bool check_folder(run *r) {
  DIR *dir = opendir(r->folder);
  for (struct dirent *e; dir && r->good && (e = readdir(dir));)
    if (is_of_generator(e->d_name)) check_source(r, e->d_name);
  if (dir) closedir(dir);
  return r->good;
}

static bool emit(run *r) {
  static bool headers;
  const char *json = NULL;
  snprintf(r->folder, sizeof r->folder, "%s/source", r->options->folder);
  const pz_emit_options options = {
      .model = "a*/ int pwned; /*\n.onnx", .model_digest = "0", .objects = r->folder, .bare = headers};
  pz_status status = pz_emit_source(r->plan, &options, r->folder, &r->err);
  headers |= status == PZ_OK;
  if (status == PZ_OK) status = pz_emit_manifest(r->plan, &options, NULL, r->folder, &json, &r->err);
  if (!goes_on(r, "emitting", status)) return false;
  model_count.emitted++;
  return check_folder(r) && check_manifest(r, json);
}

/* ---- compiling ---- */

/* No file of the folder is named after anything but a number. */
static bool compiles(run *r) {
  char command[2048], flags[PZ_TARGET_FLAGS];
  pz_target_flags(&r->plan->target, flags);
  snprintf(command, sizeof command,
           "cd '%s' && for f in network.c kernels_*.c; do ${CC:-cc} -std=gnu11 %s -fsyntax-only -Wall "
           "-Wextra -Werror -I. $f || exit 1; "
           "done >log 2>&1",
           r->folder, flags);
  model_count.compiled++;
  if (system(command) == 0) return true;
  return finding(r, "the generated C does not compile: %.800s", contents(r, "log"));
}

/* ---- running ---- */

/* Where a small change becomes a step, a difference says nothing. */
static bool has_steps(const pz_graph *g) {
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *n = &g->nodes[i];
    const pz_activation_kind act = n->op == PZ_OP_ACTIVATION ? n->attr.activation.act.kind
                                   : n->op == PZ_OP_CONV     ? n->attr.conv.act.kind
                                   : n->op == PZ_OP_DECONV   ? n->attr.conv.act.kind
                                                             : PZ_ACT_NONE;
    if (n->op == PZ_OP_ARGMAX || (n->op == PZ_OP_ELTWISE && n->attr.eltwise.kind >= PZ_ELT_POW)) return true;
    if (act == PZ_ACT_ROUND || act == PZ_ACT_FLOOR || act == PZ_ACT_CEIL || act == PZ_ACT_SIGN ||
        act == PZ_ACT_THRESHOLDED_RELU)
      return true;
  }
  return false;
}

/* Inputs or outputs that are no floats are rounded. They run on what the floats' bytes are, and are not compared. */
static bool has_types(const pz_graph *g) {
  bool any = false;
  for (int32_t i = 0; i < g->n_inputs; i++) any |= g->tensors[g->inputs[i]].type != PZ_F32;
  for (int32_t i = 0; i < g->n_outputs; i++) any |= g->tensors[g->outputs[i]].type != PZ_F32;
  return any;
}

enum { PORTS = 16 };
typedef struct values {
  float *in[PORTS], *moved[PORTS], *out[PORTS];
  double *expected[PORTS], *other[PORTS];
} values;

static int64_t size_of(const pz_graph *g, pz_tensor_id id) {
  return pz_shape_elements(&g->tensors[id].shape);
}

static void take(const run *r, values *v) {
  const pz_graph *g = r->before;
  for (int32_t i = 0; i < g->n_inputs; i++) {
    const int64_t n = size_of(g, g->inputs[i]);
    v->in[i] = malloc((size_t)n * 4);
    v->moved[i] = malloc((size_t)n * 4);
    pz_graph_random(r->hash + (uint64_t)i, 1, n, v->in[i]);
    pz_graph_random(r->hash + 99, 2e-6f, n, v->moved[i]);
    for (int64_t k = 0; k < n; k++) v->moved[i][k] = v->in[i][k] * (1 + v->moved[i][k]);
  }
  for (int32_t i = 0; i < g->n_outputs; i++) {
    const size_t n = (size_t)size_of(g, g->outputs[i]);
    v->out[i] = malloc(n * 4);
    v->expected[i] = malloc(n * 8);
    v->other[i] = malloc(n * 8);
    memset(v->out[i], 0xff, n * 4);
  }
}

static void release(values *v) {
  for (int i = 0; i < PORTS; i++)
    free(v->in[i]), free(v->moved[i]), free(v->out[i]), free(v->expected[i]), free(v->other[i]);
}

static double norm(const double *a, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * a[i];
  return sqrt(sum);
}

/* How far outputs move with inputs that differ in their last bits; negative: not to be compared. */
static double condition(const run *r, values *v) {
  const pz_graph *g = r->before;
  pz_error err = {0};
  double worst = 0;
  if (pz_reference_run(g, (const float *const *)v->in, v->expected, NULL, NULL, &err) != PZ_OK ||
      pz_reference_run(g, (const float *const *)v->moved, v->other, NULL, NULL, &err) != PZ_OK)
    return -1;
  for (int32_t i = 0; i < g->n_outputs; i++) {
    const int64_t n = size_of(g, g->outputs[i]);
    const double size = norm(v->expected[i], n);
    if (!isfinite(size) || size > 1e12 || size < 1e-12 || !isfinite(norm(v->other[i], n))) return -1;
    for (int64_t k = 0; k < n; k++) v->other[i][k] -= v->expected[i][k];
    worst = fmax(worst, norm(v->other[i], n) / size);
  }
  return worst;
}

static bool call_network(run *r, values *v) {
  char path[1024];
  snprintf(path, sizeof path, "%s/network.so", r->folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return finding(r, "%s", dlerror());
  const pz_abi_network *abi = ((pz_abi_entry)dlsym(library, PZ_ABI_SYMBOL))();
  const size_t bytes = (size_t)(abi->arena_bytes + abi->worker_bytes + 63) / 64 * 64;
  void *arena = aligned_alloc(64, bytes);
  memset(arena, 0xff, bytes);
  const pz_abi_call call = {
      .arena = arena, .inputs = (const void *const *)v->in, .outputs = (void *const *)v->out};
  const int32_t code = abi->run(&call);
  free(arena);
  dlclose(library);
  return code == 0 ? true : finding(r, "the network fails with %d", code);
}

static bool build(run *r) {
  const pz_emit_options options = {.model = "model", .model_digest = "0", .objects = r->folder};
  pz_status status = pz_emit_compile(r->plan, &options, r->folder, &r->err);
  if (status == PZ_OK) status = pz_emit_link(r->plan, &options, r->folder, "network.so", &r->err);
  return status == PZ_OK ? true : finding(r, "the network is not compiled: %s", r->err.message);
}

static bool compare(run *r, values *v) {
  const double moved = has_steps(r->before) || has_types(r->after) ? -1 : condition(r, v);
  if (moved < 0 || moved > 1e-4) return true;
  model_count.compared++;
  for (int32_t i = 0; i < r->before->n_outputs; i++) {
    const double error =
        pz_relative_error(v->out[i], v->expected[i], size_of(r->before, r->before->outputs[i]));
    if (!(error <= 1e-3 + 100 * moved))
      return finding(r, "output %d differs from the reference by %.3g, expected at most %.3g", (int)i, error,
                     1e-3 + 100 * moved);
  }
  return true;
}

static bool runs(run *r) {
  const pz_graph *g = r->before;
  values v = {0};
  if (elements_of(g) > MOST_RUN || r->plan->multiply_adds > MOST_PRODUCTS || g->n_inputs > PORTS ||
      g->n_outputs > PORTS)
    return true;
  take(r, &v);
  const bool good = build(r) && call_network(r, &v) && compare(r, &v);
  release(&v);
  return good;
}

/* What one model has left does not serve the next. */
static void sweep(const run *r) {
  DIR *dir = opendir(r->folder);
  char path[1024];
  for (struct dirent *e; dir && (e = readdir(dir));) {
    const char *dot = strrchr(e->d_name, '.');
    snprintf(path, sizeof path, "%s/%s", r->folder, e->d_name);
    if (dot && (!strcmp(dot, ".o") || !strcmp(dot, ".so") || !strcmp(dot, ".log") ||
                is_of_generator(e->d_name) || e->d_name[0] == 'g'))
      unlink(path);
  }
  if (dir) closedir(dir);
}

/* ---- all of it ---- */

static void too_long(int number) {
  static const char text[] = "finding: more than 120 seconds\n";
  (void)number;
  if (write(2, text, sizeof text - 1)) abort();
  abort();
}

static void check_budget(run *r, double began) {
  struct rusage used;
  const double seconds = now() - began;
  if (seconds > MOST_SECONDS) finding(r, "the model takes %.1f s, %d are allowed", seconds, MOST_SECONDS);
  const long most = r->options->most_mib;
  if (most && !getrusage(RUSAGE_SELF, &used) && used.ru_maxrss > most * 1024)
    finding(r, "the process takes %ld MB, %ld are allowed", used.ru_maxrss / 1024, most);
}

static bool chosen(const run *r, int64_t every, int shift) {
  return every > 0 && (int64_t)((r->hash >> shift) % (uint64_t)every) == 0;
}

static void go(run *r) {
  const double began = now();
  const bool emitted = import(r) && optimise(r) && plan(r) && emit(r);
  if (r->good) check_budget(r, began);
  if (!emitted || !r->good) return;
  if (r->options->most_mib) alarm(0);
  if (chosen(r, r->options->syntax_every, 16) && !compiles(r)) return;
  if (chosen(r, r->options->run_every, 24)) runs(r);
}

bool model_reaches_c(bool onnx, const uint8_t *data, size_t size, const model_options *options) {
  run r = {.options = options, .onnx = onnx, .good = true, .hash = UINT64_C(0xcbf29ce484222325)};
  for (size_t i = 0; i < size; i++) r.hash = (r.hash ^ data[i]) * UINT64_C(0x100000001b3);
  model_count.models++;
  if (options->most_mib) {
    signal(SIGALRM, too_long);
    alarm(12 * MOST_SECONDS);
  }
  if (write_model(&r, data, size)) go(&r);
  else finding(&r, "%s cannot be written", r.path);
  if (options->most_mib) alarm(0);
  if (r.folder[0]) sweep(&r);
  pz_plan_free(r.plan);
  pz_graph_free(r.before);
  pz_graph_free(r.after);
  pz_graph_free(r.read);
  pz_text_free(&r.text);
  pz_text_free(&r.again);
  if (r.good) unlink(r.path);
  return r.good;
}
