/* source.c: the generated C. network.c is a list of steps that call kernels by name, run by run_loop.h; kernels_NN.c hold the
 * kernels, each specialised by its shape; network.h declares them. */
#include "base/file.h"
#include "emit/code.h"
#include "emit/emit.h"
#include "pznet/network_abi.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct writer {
  const pz_plan *plan;
  const pz_emit_options *options;
  const char *folder;
  pz_arena *arena;
  pz_instances instances;
  pz_sources *needs; /* by step */
} writer;

int64_t pz_emit_arena_bytes(const pz_plan *plan) { return plan->arena_bytes + 64; /* 64: never empty */ }

static pz_status write_code(const writer *w, const char *name, pz_code *code, pz_error *err) {
  return pz_code_write(code, name ? pz_arena_printf(w->arena, "%s/%s", w->folder, name) : NULL, err);
}

static void front_matter(const writer *w, pz_code *c) {
  const pz_plan *p = w->plan;
  pz_code_put(c,
              " * Made by pznet $ from $\n * model SHA-256 $\n * $, blocks of $ channels; $ multiply-adds, $ "
              "bytes of "
              "weights, $ bytes of memory a run\n */\n",
              pz_code_word(PZ_VERSION), pz_code_name(w->options->model),
              pz_code_name(w->options->model_digest),
              pz_code_name(pz_isa_get(pz_target_isa(&p->target))->title), p->target.block, p->multiply_adds,
              p->weight_bytes, pz_emit_arena_bytes(p));
}

static void name(pz_code *c, const pz_call *call, const char *digits) {
  pz_code_put(c, "k$_$", pz_code_word(digits), pz_code_word(call->function + 3)); /* without "pz_" */
}

static void prototype(pz_code *c, const pz_call *call, const char *digits) {
  pz_code_add(c, "void ");
  name(c, call, digits);
  pz_code_add(c, "(");
  for (int32_t i = 0; i < call->n_args; i++)
    if (call->args[i].at.space != PZ_SPACE_NULL)
      pz_code_put(c, "$$ *$, ", pz_code_choice(call->args[i].written, "", "const "),
                  pz_code_word(pz_dtype_c_type(call->args[i].type)), pz_code_word(call->args[i].name));
  if (call->n_sizes) pz_code_add(c, "const int64_t *sizes, ");
  pz_code_add(c, "int32_t worker, int32_t workers)");
}

/* A shape of constants has a place of its own: what clang copies from there it knows; of a literal it keeps in memory whatever is
 * indexed by more than constants, and a network is seven times slower (doc/notes/2026-11-28-convolutions.md). */
static void put_shape(pz_code *c, const pz_call *call, const char *digits) {
  const pz_code_value function = pz_code_word(call->function), number = pz_code_word(digits),
                      shape = pz_code_constants(call->shape);
  if (!call->n_sizes) pz_code_put(c, "static const $_shape shape_$ = {$};\n", function, number, shape);
  else
    pz_code_put(c, "PZ_INLINE $_shape shape_$(const int64_t *sizes) {\n  return ($_shape){$};\n}\n", function,
                number, function, shape);
  if (call->functions) pz_code_put(c, "$(shape_$)\n", pz_code_word(call->functions), number);
}

void pz_emit_kernel(pz_code *c, const pz_call *call, const char *digits) {
  const pz_code_value number = pz_code_word(digits);
  put_shape(c, call, digits);
  prototype(c, call, digits);
  pz_code_put(c, " {\n  $(shape_$$, ", pz_code_word(call->function), number,
              pz_code_choice(call->n_sizes, "(sizes)", ""));
  if (call->functions) pz_code_put(c, "shape_$_functions, ", number);
  if (call->functions && call->n_sizes) pz_code_add(c, "sizes, ");
  for (int32_t i = 0; i < call->n_args; i++) {
    const pz_arg *a = &call->args[i];
    if (a->listed && (i == 0 || !a[-1].listed)) pz_code_add(c, "(const float *const[]){");
    if (a->at.space == PZ_SPACE_NULL) pz_code_add(c, "0");
    else pz_code_put(c, "$", pz_code_word(a->name));
    pz_code_put(c, "$", pz_code_choice(a->listed && (i + 1 == call->n_args || !a[1].listed), "}, ", ", "));
  }
  pz_code_add(c, "worker, workers);\n}\n\n");
}

static const pz_call_way *way_of(const pz_call *call, const char *name) {
  for (int32_t i = 0; i < call->n_ways; i++)
    if (!strcmp(call->ways[i].name, name)) return &call->ways[i];
  return NULL;
}

static const pz_embedded *embedded(const char *path, size_t length) {
  for (int i = 0; i < pz_embedded_header_count; i++)
    if (strlen(pz_embedded_headers[i].path) == length && !memcmp(pz_embedded_headers[i].path, path, length))
      return &pz_embedded_headers[i];
  return NULL;
}

static bool has(const pz_embedded *header, const char *line) {
  return memmem(header->begin, (size_t)(header->end - header->begin), line, strlen(line)) != NULL;
}

/* The family's code stands behind these. */
static bool has_code(const pz_embedded *header, const char *family) {
  char may[64], bit[64];
  snprintf(may, sizeof may, "PZ_MAY(%s,", family);
  snprintf(bit, sizeof bit, "PZ_MAY_BIT(%s,", family);
  return has(header, may) || has(header, bit);
}

/* Whether a header, or one that it includes, has a family's code. (Depth: headers that include each other are none of ours.) */
static bool reaches(const pz_embedded *header, const char *family, int depth) {
  static const char include[] = "#include \"";
  if (!header || depth > 16) return true; /* not known: as if it did */
  if (has_code(header, family)) return true;
  for (const char *at = header->begin;
       (at = memmem(at, (size_t)(header->end - at), include, sizeof include - 1));) {
    at += sizeof include - 1;
    const char *end = memchr(at, '"', (size_t)(header->end - at));
    if (!end || reaches(embedded(at, (size_t)(end - at)), family, depth + 1)) return true;
  }
  return false;
}

/* A kernel that does not tell the family's ways may take any, if it has the family's code: then there is no mask. */
static void put_ways(pz_code *c, const pz_instance *kernels, int32_t n, const char *name) {
  uint32_t mask = 0;
  char family[64];
  snprintf(family, sizeof family, "%.*s", (int)(strlen(name) - strlen("PZ__WAYS")), name + strlen("PZ_"));
  const char *seen = ""; /* the header before, which has not the code */
  for (int32_t i = 0; i < n; i++) {
    const char *header = kernels[i].call->header;
    const pz_call_way *way = way_of(kernels[i].call, name);
    if (way) mask |= way->mask;
    else if (strcmp(header, seen) && reaches(embedded(header, strlen(header)), family, 0)) return;
    else seen = header;
  }
  pz_code_put(c, "#define $ $u\n", pz_code_word(name), (int64_t)mask);
}

static bool told_before(const pz_instance *kernels, int32_t n, const char *name) {
  for (int32_t i = 0; i < n; i++)
    if (way_of(kernels[i].call, name)) return true;
  return false;
}

void pz_emit_headers(pz_code *c, const pz_plan *plan, const pz_instance *kernels, int32_t n) {
  pz_code_put(c, "#define PZ_S $\n", plan->target.block);
  for (int32_t k = 0; k < n; k++)
    for (int32_t i = 0; i < kernels[k].call->n_ways; i++)
      if (!told_before(kernels, k, kernels[k].call->ways[i].name))
        put_ways(c, kernels, n, kernels[k].call->ways[i].name);
  for (int32_t i = 0; i < n; i++) {
    bool seen = false;
    for (int32_t k = 0; k < i; k++) seen |= !strcmp(kernels[k].call->header, kernels[i].call->header);
    if (!seen) pz_code_put(c, "#include \"$\"\n", pz_code_word(kernels[i].call->header));
  }
  pz_code_add(c, "\n");
}

enum { PER_FILE = 8 };
static pz_status write_kernels(const writer *w, int32_t file, pz_error *err) {
  const int32_t left = w->instances.count - file * PER_FILE, n = left < PER_FILE ? left : PER_FILE;
  const pz_instance *kernels = w->instances.all + file * PER_FILE;
  pz_code *c = pz_code_new();
  pz_code_add(c, "/* Kernels, specialised\n");
  front_matter(w, c);
  pz_code_add(c, "#include \"network.h\"\n");
  pz_emit_headers(c, w->plan, kernels, n);
  for (int32_t i = 0; i < n; i++) pz_emit_kernel(c, kernels[i].call, kernels[i].digits);
  return write_code(w, pz_arena_printf(w->arena, "kernels_%02d.c", file), c, err);
}

/* Those that a plan with more of them, written here before, has left. */
static void remove_kernels(const writer *w, int32_t first) {
  const char *path;
  do path = pz_arena_printf(w->arena, "%s/kernels_%02d.c", w->folder, first++);
  while (path && unlink(path) == 0);
}

static pz_status write_header(const writer *w, pz_error *err) {
  pz_code *c = pz_code_new();
  pz_code_add(c, "#ifndef NETWORK_H\n#define NETWORK_H\n\n#include <stdint.h>\n\n"
                 "#pragma GCC visibility push(hidden)\n");
  for (int32_t i = 0; i < w->instances.count; i++) {
    prototype(c, w->instances.all[i].call, w->instances.all[i].digits);
    pz_code_add(c, ";\n");
  }
  pz_code_add(c, "#pragma GCC visibility pop\n\n#endif\n");
  return write_code(w, "network.h", c, err);
}

/* ---- network.c ---- */

static void pointer(const writer *w, pz_code *c, const pz_pointer *at) {
  const pz_plan *p = w->plan;
  const int64_t offset = at->offset + (at->space == PZ_SPACE_ARENA ? p->buffers[at->index].offset : 0);
  if (at->space == PZ_SPACE_ARENA) pz_code_put(c, "ARENA($), ", offset);
  else if (at->space == PZ_SPACE_STATE) pz_code_put(c, "STATE($), ", offset);
  else if (at->space == PZ_SPACE_WEIGHTS)
    pz_code_put(c, "WEIGHTS($), ",
                w->options->weights ? pz_weights_mapped(w->options->weights, offset) : offset);
  else if (at->space == PZ_SPACE_SCRATCH && !offset) pz_code_add(c, "SCRATCH, ");
  else if (at->space == PZ_SPACE_SCRATCH) pz_code_put(c, "(void *)((char *)SCRATCH + $), ", offset);
  else
    pz_code_put(c, "$($, $), ", pz_code_choice(at->space == PZ_SPACE_INPUT, "INPUT", "OUTPUT"), at->index,
                offset);
}

static void sizes_of(pz_code *c, const pz_call *call, int32_t index) {
  if (!call->n_sizes) return;
  pz_code_put(c, "  static const int64_t sizes_$[] = {", index);
  for (int32_t i = 0; i < call->n_sizes; i++)
    pz_code_put(c, "$$", call->sizes[i], pz_code_choice(i + 1 < call->n_sizes, ", ", "};\n"));
}

static void step_function(const writer *w, pz_code *c, int32_t index, int32_t *call_number) {
  const pz_step *s = &w->plan->steps[index];
  pz_code_put(c,
              "/* $ $: $ */\nstatic void step_$(const pz_abi_call *r, int32_t worker, int32_t workers) {\n",
              pz_code_name(s->op), pz_code_name(s->name), pz_code_name(s->algorithm), index);
  for (int32_t i = 0; i < s->n_calls; i++) {
    const pz_call *call = &s->calls[i];
    const pz_instance *kernel = &w->instances.all[w->instances.of_call[(*call_number)++]];
    if (call->after_all) pz_code_add(c, "  wait_for_all(r->executor, worker);\n");
    const bool steal = call->chunk_counter >= 0;
    sizes_of(c, call, i);
    if (steal)
      pz_code_put(c, "  for (int32_t chunk; (chunk = next_chunk(r, $, worker, workers)) >= 0;)\n  ",
                  call->chunk_counter);
    pz_code_add(c, "  ");
    name(c, kernel->call, kernel->digits);
    pz_code_add(c, "(");
    for (int32_t a = 0; a < call->n_args; a++)
      if (call->args[a].at.space != PZ_SPACE_NULL) pointer(w, c, &call->args[a].at);
    if (call->n_sizes) pz_code_put(c, "sizes_$, ", i);
    pz_code_put(c, "$", pz_code_choice(steal, "chunk, PZ_RUN_CHUNKS(workers));\n", "worker, workers);\n"));
  }
  pz_code_add(c, "  (void)r;\n}\n\n");
}

static const char *const type_names[PZ_DTYPES] = {
#define PZ_DTYPE(dtype, ...) [dtype] = &#dtype[3], /* without "PZ_" */
#include "base/dtypes.inc"
#undef PZ_DTYPE
};

/* A tensor of more dimensions than the ABI knows is told as it lies: one row. */
static void element_and_shape(pz_code *c, pz_element element, const pz_shape *shape) {
  const pz_shape row = {5, {1, 1, 1, 1, pz_shape_elements(shape)}};
  const pz_shape *s = shape->rank > PZ_ABI_MAX_RANK ? &row : shape;
  pz_code_put(c, "PZ_ABI_$, $, {", pz_code_word(type_names[element.type]), s->rank);
  for (int i = 0; i < s->rank; i++) pz_code_put(c, "$$", pz_code_choice(i, ", ", ""), s->dim[i]);
  char scale[40];
  snprintf(scale, sizeof scale, "%a", (double)element.scale);
  pz_code_put(c, "$$, $", pz_code_choice(s->rank, "}, ", "0}, "), pz_code_constants(scale),
              element.zero_point);
}

static pz_status check_port(const writer *w, pz_tensor_id id, pz_error *err) {
  const pz_tensor *tensor = &w->plan->graph->tensors[id];
  if (tensor->shape.rank <= PZ_ABI_MAX_RANK) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "'%s' has %d dimensions: an input or output of a network file has %d at most; reshape it in the model",
      tensor->name, tensor->shape.rank, PZ_ABI_MAX_RANK);
}

static void ports(const writer *w, pz_code *c, const pz_tensor_id *ids, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    const pz_tensor *tensor = &w->plan->graph->tensors[ids[i]];
    pz_code_put(c, "    {\"$\", ", pz_code_name(tensor->name));
    element_and_shape(c, pz_tensor_element(tensor), &tensor->shape);
    pz_code_add(c, "},\n");
  }
  pz_code_add(c, "};\n\n");
}

static bool observable(const pz_plan *p, const pz_step *s) {
  if (s->storage < 0) return false;
  const pz_space space = p->storages[s->storage].at.space;
  return space == PZ_SPACE_ARENA || space == PZ_SPACE_OUTPUT || space == PZ_SPACE_STATE;
}

static void tensor_row(const pz_plan *p, pz_code *c, const pz_storage *s) {
  const pz_tensor *tensor = &p->graph->tensors[s->tensor];
  const bool arena = s->at.space == PZ_SPACE_ARENA;
  const int64_t size = pz_dtype_bytes(s->element.type);
  pz_code_put(c, "    {\"$\", ", pz_code_name(tensor->name));
  element_and_shape(c, s->element, &tensor->shape);
  const pz_code_value space = s->at.space == PZ_SPACE_STATE
                                  ? pz_code_word("PZ_ABI_STATE")
                                  : pz_code_choice(arena, "PZ_ABI_ARENA", "PZ_ABI_OUTPUT");
  pz_code_put(
      c, ", $, $, $, $, $, $, $, $, $},\n", space, arena ? 0 : s->at.index,
      s->view.channels_last ? (int32_t)s->view.stride_w : s->view.block, /* channels-last: one block */
      s->at.offset + (arena ? p->buffers[s->at.index].offset : 0), size * s->view.stride_n,
      size * s->view.stride_c, size * s->view.stride_d, size * s->view.stride_h, size * s->view.stride_w);
}

static int32_t tensor_table(const writer *w, pz_code *c) {
  const pz_plan *p = w->plan;
  int32_t n = 0;
  pz_code_add(c, "/* where each step's result lies */\nstatic const pz_abi_tensor tensors[] = {\n");
  for (int32_t i = 0; i < p->n_steps; i++) {
    if (!observable(p, &p->steps[i])) continue;
    tensor_row(p, c, &p->storages[p->steps[i].storage]);
    n++;
  }
  pz_code_put(c, "$",
              pz_code_choice(n, "};\n\n", "    {\"\", 0, 0, {0}, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}};\n\n"));
  return n;
}

static void needs_table(const writer *w, pz_code *c) {
  pz_code_add(c, "/* which steps must have finished before each begins */\nstatic const int32_t needs[] = {");
  for (int32_t i = 0; i < w->plan->n_steps; i++) {
    for (int32_t k = 0; k < w->needs[i].n; k++) pz_code_put(c, "$, ", w->needs[i].of[k]);
    if (i % 16 == 15) pz_code_add(c, "\n    ");
  }
  pz_code_add(c, "0};\n\n");
}

static void step_table(const writer *w, pz_code *c) {
  const pz_plan *p = w->plan;
  int32_t tensor = 0, need = 0;
  pz_code_add(c, "static const pz_abi_step steps[] = {\n");
  for (int32_t i = 0; i < p->n_steps; i++) {
    const pz_step *s = &p->steps[i];
    pz_code_put(c, "    {\"$\", \"$\", \"$\", $, $, $, $, needs + $},\n", pz_code_name(s->name),
                pz_code_name(s->op), pz_code_name(s->algorithm), s->multiply_adds, s->bytes,
                observable(p, s) ? tensor++ : -1, w->needs[i].n, need);
    need += w->needs[i].n;
  }
  pz_code_put(c, "$",
              pz_code_choice(p->n_steps, "};\n\n", "    {\"\", \"\", \"\", 0, 0, -1, 0, needs}};\n\n"));
  pz_code_add(c, "static const pz_run_step functions[] = {\n   ");
  for (int32_t i = 0; i < p->n_steps; i++)
    pz_code_put(c, " step_$,$", i, pz_code_choice(i % 8 == 7, "\n   ", ""));
  pz_code_add(c, " 0};\n\n");
}

static void network_head(const writer *w, pz_code *c) {
  const pz_plan *p = w->plan;
  const int64_t scratch = pz_emit_arena_bytes(p);
  pz_code_put(c, "/* $\n", pz_code_name(p->graph->name ? p->graph->name : ""));
  front_matter(w, c);
  pz_code_put(c,
              "#include \"network.h\"\n\n#define PZ_RUN_STEPS $\n#define PZ_RUN_CALLS $\n"
              "#define PZ_RUN_COUNTERS $\n#define PZ_RUN_WORKER $\n#define PZ_RUN_TILES $\n"
              "#include \"run_loop.h\"\n\n",
              p->n_steps, p->n_chunk_counters, scratch + p->chunk_counters, p->worker_bytes,
              (int)pz_target_has(&p->target, PZ_NEEDS_TILES));
  pz_code_put(c,
              "#define ARENA(at) ((void *)((char *)r->arena + (at)))\n#define STATE(at) ((void *)((char "
              "*)r->state + (at)))\n"
              "#define WEIGHTS(at) ((const void *)(weights + (at)))\n"
              "#define INPUT(i, at) ((const void *)((const char *)r->inputs[i] + (at)))\n"
              "#define OUTPUT(i, at) ((void *)((char *)r->outputs[i] + (at)))\n"
              "#define SCRATCH ARENA($ + (int64_t)worker * $)\n\n"
              "extern const char weights[] __attribute__((visibility(\"hidden\")));\n\n",
              scratch, p->worker_bytes);
}

/* network_abi.h has its name. */
static void write_entry(int32_t variant, char entry[32]) {
  if (variant) snprintf(entry, 32, PZ_ABI_SYMBOL "_%d", variant);
  else strcpy(entry, PZ_ABI_SYMBOL);
}

static pz_status write_network(const writer *w, pz_error *err) {
  const pz_plan *p = w->plan;
  char entry[32];
  write_entry(w->options->variant, entry);
  pz_code *c = pz_code_new();
  network_head(w, c);
  int32_t call_number = 0;
  for (int32_t i = 0; i < p->n_steps; i++) step_function(w, c, i, &call_number);
  pz_code_add(c, "static const pz_abi_port inputs[] = {\n");
  ports(w, c, p->graph->inputs, p->graph->n_inputs);
  pz_code_add(c, "static const pz_abi_port outputs[] = {\n");
  ports(w, c, p->graph->outputs, p->graph->n_outputs);
  const int32_t tensors = tensor_table(w, c);
  needs_table(w, c);
  step_table(w, c);
  pz_code_put(
      c,
      "static const pz_abi_network network = {PZ_ABI_VERSION, sizeof(pz_abi_network), sizeof(pz_abi_port),\n"
      "    sizeof(pz_abi_tensor), sizeof(pz_abi_step), sizeof(pz_abi_call), $, $, 64, $, $,\n"
      "    $, $, $, PZ_RUN_STEPS, inputs, outputs, tensors, steps, run};\n\n",
      pz_emit_arena_bytes(p), p->worker_bytes, p->state_bytes, p->state_bytes ? 64 : 0, p->graph->n_inputs,
      p->graph->n_outputs, tensors);
  pz_code_put(c,
              "__attribute__((visibility(\"default\"))) const pz_abi_network *$(void);\n"
              "const pz_abi_network *$(void) { return &network; }\n",
              pz_code_word(entry), pz_code_word(entry));
  return write_code(w, "network.c", c, err);
}

/* ---- the folder ---- */

static pz_status make_folder(const char *path, pz_error *err) {
  if (!path) return pz_fail_memory(err, "a path", 64);
  if (mkdir(path, 0777) && errno != EEXIST)
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot make this folder: %s", path, strerror(errno));
  return PZ_OK;
}

static pz_status write_embedded(const writer *w, const pz_embedded *file, pz_error *err) {
  for (const char *slash = strchr(file->path, '/'); slash; slash = strchr(slash + 1, '/'))
    PZ_TRY(make_folder(pz_arena_printf(w->arena, "%s/%.*s", w->folder, (int)(slash - file->path), file->path),
                       err));
  const char *path = pz_arena_printf(w->arena, "%s/%s", w->folder, file->path);
  if (!path) return pz_fail_memory(err, "a path", 64);
  return pz_file_write_quick(path, file->begin, (size_t)(file->end - file->begin), err);
}

/* In a file of their own: with other weights all other objects are the same. */
pz_status pz_emit_weights_source(pz_arena *arena, const char *folder, pz_error *err) {
  static const char section[] =
      "/* The packed weights. */\n"
      "__asm__(\".section " PZ_ABI_WEIGHTS_SECTION
      ",\\\"a\\\",@progbits\\n.balign 4096\\n.global weights\\n.hidden weights\\n\"\n"
      "        \"weights:\\n.incbin \\\"weights.bin\\\"\\n.zero 64\\n.previous\\n\");\n";
  const char *source = pz_arena_printf(arena, "%s/weights.c", folder);
  if (!source) return pz_fail_memory(err, "a path", 64);
  return pz_file_write_quick(source, section, sizeof section - 1, err);
}

static pz_status write_weights(const writer *w, pz_error *err) {
  const char *path = pz_arena_printf(w->arena, "%s/weights.bin", w->folder);
  if (!path) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_emit_weights_source(w->arena, w->folder, err));
  return pz_file_write_quick(path, w->plan->weights ? (const void *)w->plan->weights : "",
                             (size_t)w->plan->weight_bytes, err);
}

static pz_status write_all(writer *w, pz_error *err) {
  const pz_graph *g = w->plan->graph;
  for (int32_t i = 0; i < g->n_inputs; i++) PZ_TRY(check_port(w, g->inputs[i], err));
  for (int32_t i = 0; i < g->n_outputs; i++) PZ_TRY(check_port(w, g->outputs[i], err));
  PZ_TRY(make_folder(w->folder, err));
  PZ_TRY(pz_emit_instances(w->plan, w->arena, &w->instances, err));
  PZ_TRY(pz_emit_needs(w->plan, w->arena, &w->needs, err));
  for (int i = 0; i < pz_embedded_header_count && !w->options->bare; i++)
    PZ_TRY(write_embedded(w, &pz_embedded_headers[i], err));
  const int32_t files = (w->instances.count + PER_FILE - 1) / PER_FILE;
  for (int32_t i = 0; i < files; i++) PZ_TRY(write_kernels(w, i, err));
  remove_kernels(w, files);
  PZ_TRY(write_header(w, err));
  PZ_TRY(write_network(w, err));
  return w->options->weights ? PZ_OK : write_weights(w, err);
}

pz_status pz_emit_source(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                         pz_error *err) {
  writer w = {.plan = plan, .options = options, .folder = folder, .arena = pz_arena_new()};
  pz_status status = w.arena ? write_all(&w, err) : pz_fail_memory(err, "the generated source", 64);
  pz_arena_free(w.arena);
  return status;
}
