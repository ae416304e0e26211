/* build.c: the C compiler, called. As many at a time as the process may use cores. */
#include "base/cpu.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "emit/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMPILERS = 64 };

/* ---- processes ---- */

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

typedef struct compiler {
  pz_process process; /* pid 0: none runs */
  const char *log;
  int task; /* of the work that is told of */
} compiler;

/* One of the compilers that has ended, with its code (process.h). NULL: none has. */
static compiler *ended(compiler *compilers, int n, int *code) {
  for (int i = 0; i < n; i++)
    if (compilers[i].process.pid && pz_process_ended(&compilers[i].process, code)) return &compilers[i];
  return NULL;
}

static void end_all(compiler *compilers, int n) {
  pz_process *all[MAX_COMPILERS];
  for (int i = 0; i < n; i++) all[i] = &compilers[i].process;
  pz_process_end(all, n);
}

static void tell(const pz_emit_options *o, const compiler *compilers, int n) {
  if (!o->tick) return;
  for (int i = 0; i < n && o->work; i++)
    if (compilers[i].process.pid && compilers[i].task >= 0)
      pz_compile_work_sample(o->work, compilers[i].task, pz_process_cpu(&compilers[i].process));
  o->tick(o->tick_host);
}

/* Waits for one of the compilers, of which one runs at least. An interrupt ends them all. */
static pz_status wait_for_one(compiler *compilers, int n, const pz_emit_options *options, compiler **one,
                              int *code, pz_error *err) {
  for (int naps = 1; !(*one = ended(compilers, n, code)); naps++) {
    if (naps % 20 == 0) tell(options, compilers, n);
    if (options->interrupt && *options->interrupt) {
      end_all(compilers, n);
      return pz_fail(err, PZ_INTERRUPTED, "interrupted while compiling");
    }
    nap();
  }
  return PZ_OK;
}

/* ---- which compiler ---- */

const char *pz_emit_compiler(const pz_emit_options *options) {
  if (options->cc) return options->cc;
  const char *named = getenv("CC");
  if (named && *named) return named;
  return pz_process_known("gcc") || !pz_process_known("clang") ? "gcc" : "clang";
}

/* ---- compiling ---- */

#define MAX_WORDS 64
typedef struct command {
  const char *words[MAX_WORDS + 1];
  int n;
} command;

static void add(command *c, const char *word) {
  if (c->n < MAX_WORDS) c->words[c->n++] = word;
}

/* A text of words with blanks between, split in place. */
static void add_words(command *c, char *text) {
  char *rest = NULL;
  for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) add(c, word);
}

/* -ffp-contract=off: only the kernels' own fused operations, so that every compiler gives the same bits.
 * Sections: the linker leaves out what a network does not have of a group of kernels.
 * -O2 with full unrolling by pragmas: -O3 brings nothing here and compiles a third longer. Loops at cache lines: where they lie
 * by chance costs up to 8% (doc/notes/2026-11-28-winograd.md).
 * -Wno-pass-failed: clang counts a loop that it does not unroll as a warning; gcc ignores the flag. */
static const char *const common_flags =
    "-std=gnu11 -O2 -falign-loops=64 -ffunction-sections -fdata-sections -fPIC -fvisibility=hidden "
    "-fno-math-errno -fno-trapping-math -ffp-contract=off "
    "-Wall -Wextra -Werror -Wno-pass-failed -I. -c";

/* Of the target; NULL: out of memory. */
static char *flags_of(const pz_plan *plan) {
  char flags[PZ_TARGET_FLAGS];
  pz_target_flags(&plan->target, flags);
  return pz_arena_strdup(plan->arena, flags);
}

static pz_status compile_command(const pz_plan *plan, const pz_emit_options *o, const char *source,
                                 command *c, pz_error *err) {
  const int stem = (int)strlen(source) - 1;
  char *cc = pz_arena_strdup(plan->arena, pz_emit_compiler(o));
  char *common = pz_arena_strdup(plan->arena, common_flags);
  char *target = flags_of(plan);
  char *made = pz_arena_printf(plan->arena, "%.*so", stem, source);
  if (!cc || !common || !target || !made) return pz_fail_memory(err, "the C compiler's command", 512);
  char *own =
      cc + strcspn(cc, " "); /* words behind the compiler's name come last, so that they win: "gcc -O1" */
  if (*own) *own++ = 0;
  add(c, cc);
  add_words(c, common);
  add_words(c, target);
  add_words(c, own);
  add(c, source);
  add(c, "-o");
  add(c, made);
  return PZ_OK;
}

/* The first of the target's flags that the line names, or NULL: what a compiler that is too old says. */
static const char *refused_flag(const pz_plan *plan, const char *line) {
  char *rest = NULL, *flags = flags_of(plan);
  char *flag = flags ? strtok_r(flags, " ", &rest) : NULL;
  while (flag && !strstr(line, flag)) flag = strtok_r(NULL, " ", &rest);
  return flag;
}

/* The strongest instruction set that needs less; NULL: there is none. */
static const pz_isa_traits *weaker(pz_isa isa) {
  int less = (int)isa - 1;
  while (less >= 0 && !pz_features_have(pz_isa_get(isa)->needs, pz_isa_get((pz_isa)less)->needs)) less--;
  return less >= 0 ? pz_isa_get((pz_isa)less) : NULL;
}

/* A compiler of another machine knows none of the target's flags, and says so in many ways: gcc of -march=, clang of a CPU. */
static bool is_for_another_machine(const pz_plan *plan, const char *line) {
  const char *flag = refused_flag(plan, line);
  return pz_isa_get(pz_target_isa(&plan->target))->machine != pz_machine_here() &&
         (flag || strstr(line, "-march=") || strstr(line, "target CPU"));
}

/* The line of a compiler's output that tells why: the first that names an error, but for that of gcc about its linker, whose own lines are before
 * it; else the last one. Empty where there is none. */
static const char *telling_line(const char *text) {
  static const char linker[] = "collect2: error";
  const char *last = "", *error = strstr(text, "error");
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    const size_t length = strcspn(line, "\n");
    if (!length || !strncmp(line, linker, sizeof linker - 1)) continue;
    if (error && error < line) error = strstr(line, "error");
    if (error && error < line + length) return line;
    last = line;
  }
  return last;
}

/* What a file of some kernels takes on its way to an object. */
#define PROBE (INT64_C(16) << 20)

/* Where a compiler has no room it may have none to say so either: its messages go to the same disk; and it takes away what it wrote, so that there
 * is some afterwards. What the system says of quotas is known by writing alone. */
static bool has_room(const char *folder) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/room", folder) >= (int)sizeof path) return true;
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno != ENOSPC && errno != EDQUOT;
  const int failed = posix_fallocate(file, 0, PROBE);
  close(file);
  unlink(path);
  return failed != ENOSPC && failed != EDQUOT && failed != EFBIG;
}

static bool is_out_of_room(const char *text, const char *folder) {
  static const char *const says[] = {"No space left on device", "Disk quota exceeded", "File too large",
                                     "File size limit"};
  for (size_t i = 0; i < sizeof says / sizeof *says; i++)
    if (strstr(text, says[i])) return true;
  return (!*text || strstr(text, "Bus error")) && !has_room(folder);
}

#define MOST_LOG ((size_t)64 << 20) /* warnings may be many */
static pz_status compiler_failed(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                                 const char *log, int code, pz_error *err) {
  const char *path = log[0] == '/' ? log : pz_arena_printf(plan->arena, "%s/%s", folder, log);
  char *text = NULL;
  size_t size = 0;
  if (path && pz_file_read(plan->arena, path, MOST_LOG, &text, &size, NULL) != PZ_OK) text = NULL;
  if (is_out_of_room(text ? text : "", folder))
    return pz_fail(err, PZ_ERROR_OUTPUT,
                   "%s: no room on the disk for the C compiler's files; TMPDIR names another", folder);
  if (code == 128 + SIGKILL || (text && strstr(text, "Killed"))) {
    const pz_memory there = pz_memory_there(0);
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s was killed, for want of memory it seems: %lld bytes are there now (%s)",
                   pz_emit_compiler(o), (long long)there.bytes, there.limit);
  }
  const char *line = telling_line(text ? text : "");
  const int length = (int)strcspn(line, "\n");
  char *shown = pz_arena_strndup(plan->arena, line, (size_t)length);
  const pz_isa isa = pz_target_isa(&plan->target);
  const pz_isa_traits *less = weaker(isa);
  if (shown && is_for_another_machine(plan, shown))
    return pz_fail(err, PZ_ERROR_RUN, "%s makes no code for %s: name a compiler that does with --cc%s",
                   pz_emit_compiler(o), pz_machine_name(pz_isa_get(isa)->machine),
                   pz_isa_get(isa)->machine == PZ_MACHINE_AARCH64 ? ", such as aarch64-linux-gnu-gcc" : "");
  const char *flag = shown && less ? refused_flag(plan, shown) : NULL;
  if (flag)
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s does not know %s: compile with --isa %s, or name another compiler with --cc",
                   pz_emit_compiler(o), flag, less->name);
  return pz_fail(err, PZ_ERROR_RUN, "%s failed with status %d%s%.*s", pz_emit_compiler(o), code,
                 length ? ": " : " and said nothing", length, line);
}

/* ---- the work ---- */

static pz_status finish_one(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                            compiler *compilers, int n, compiler **one, pz_error *err) {
  int code = 0;
  PZ_TRY(wait_for_one(compilers, n, o, one, &code, err));
  if (o->work && (*one)->task >= 0) pz_compile_work_end(o->work, (*one)->task, (*one)->process.cpu, pz_now());
  if (code < 0) return pz_fail(err, PZ_ERROR_RUN, "waiting for the C compiler: %s", strerror(-code));
  return code ? compiler_failed(plan, o, folder, (*one)->log, code, err) : PZ_OK;
}

/* What compilers are working on lies with the objects, so that nothing is left elsewhere. */
static pz_status begin(const pz_emit_options *o, const char *folder, const command *c, const char *log,
                       compiler *j, pz_error *err) {
  const pz_process_place place = {.folder = folder, .temporary = o->objects, .log = log};
  const int failed = log ? pz_process_start(c->words, &place, &j->process) : ENOMEM;
  j->log = log, j->task = -1;
  if (!failed) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s: cannot run this C compiler: %s; name another with --cc", c->words[0],
                 strerror(failed));
}

static pz_status begin_source(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                              const char *source, compiler *j, pz_error *err) {
  command c = {.n = 0};
  PZ_TRY(compile_command(plan, o, source, &c, err));
  return begin(o, folder, &c, pz_arena_printf(plan->arena, "%s.log", source), j, err);
}

/* Bytes that gcc takes of a file, and of each kernel in it (doc/memory-limits.md). */
#define OF_FILE   (INT64_C(64) << 20)
#define OF_KERNEL (INT64_C(34) << 20)

/* Files of so many kernels that are compiled at a time: one for each core, as far as there is memory for them. */
static int width_for(int kernels) {
  const int64_t fit = pz_memory_there(0).bytes / (OF_FILE + kernels * OF_KERNEL);
  int width = pz_cpu_usable();
  if (fit < width) width = fit > 1 ? (int)fit : 1;
  return width < MAX_COMPILERS ? width : MAX_COMPILERS;
}

/* Files to be compiled, and what each is expected to cost; costs NULL: nobody is told of it. */
typedef struct sources {
  const char *const *files;
  const double *costs;
  int n;
} sources;

static void begin_work(const pz_emit_options *o, const sources *s, int width) {
  if (!o->work || !s->costs) return;
  pz_compile_work_begin(o->work, width);
  for (int i = 0; i < s->n; i++) pz_compile_work_add(o->work, s->costs[i]);
}

static pz_status begin_next(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                            const sources *s, int i, compiler *j, pz_error *err) {
  PZ_TRY(begin_source(plan, o, folder, s->files[i], j, err));
  if (!o->work || !s->costs) return PZ_OK;
  j->task = i < PZ_COMPILE_TASKS ? i : -1;
  if (j->task >= 0) pz_compile_work_start(o->work, j->task, pz_now());
  return PZ_OK;
}

/* `width` at a time; after a failure those that run are waited for. */
static pz_status compile_sources(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                                 const sources *s, int width, pz_error *err) {
  compiler compilers[MAX_COMPILERS];
  memset(compilers, 0, sizeof compilers);
  pz_status status = PZ_OK;
  int begun = 0, running = 0;
  begin_work(o, s, width);
  while (running || (begun < s->n && status == PZ_OK)) {
    compiler *free_one = NULL;
    for (int i = 0; i < width && begun < s->n && status == PZ_OK; i++)
      if (!compilers[i].process.pid) free_one = &compilers[i];
    if (free_one) {
      status = begin_next(plan, o, folder, s, begun++, free_one, err);
      running += status == PZ_OK;
      continue;
    }
    compiler *one;
    const pz_status last = finish_one(plan, o, folder, compilers, width, &one, err);
    if (status == PZ_OK) status = last;
    if (last == PZ_INTERRUPTED) return last;
    running--;
  }
  return status;
}

/* ---- kernels, in groups ---- */

static pz_status write_text(const char *path, pz_text *text, pz_error *err) {
  const pz_status status = path && !text->failed
                               ? pz_file_write_quick(path, text->data, text->size, err)
                               : pz_fail_memory(err, "the generated source", text->capacity);
  pz_text_free(text);
  return status;
}

/* A link to the object of the group that the kernel is in. */
static const char *link_of(const pz_plan *plan, const pz_emit_options *o, const pz_instance *kernel) {
  return pz_arena_printf(plan->arena, "%s/k%s.o", o->objects, kernel->digits);
}

/* The first of its ways, which tell its family of kernels; "": it has none. */
static const char *family_of(const pz_instance *kernel) {
  return kernel->call->n_ways ? kernel->call->ways[0].name : "";
}

static int compare(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Kernels of a family beside each other, and in it those that take the same ways: what a file has of them is the sum of its kernels'. */
static int by_family(const void *a, const void *b) {
  const pz_instance *x = a, *y = b;
  int order = strcmp(family_of(x), family_of(y));
  if (!order) order = strcmp(x->call->function, y->call->function);
  for (int i = 0; !order && i < x->call->n_ways && i < y->call->n_ways; i++)
    order = compare(x->call->ways[i].mask, y->call->ways[i].mask);
  return order ? order : strcmp(x->digits, y->digits);
}

/* Kernels that are compiled in one file, neighbours. It has the name of its first one. */
typedef struct group {
  int first, n;
  double cost; /* expected (compile_work.h) */
} group;

/* Kernels that have no object yet. */
typedef struct missing {
  pz_instance *kernels;
  const char **keys; /* of them, in the cache; or NULL */
  int n;
  group *groups;
  int n_groups;
} missing;

enum { LEAST_IN_GROUP = 6, MOST_IN_GROUP = 48 };

/* Kernels of one file that the compilers of all cores have memory for; a few in any case. */
static int most_in_group(int usable) {
  const int64_t fit = (pz_memory_there(0).bytes / usable - OF_FILE) / OF_KERNEL;
  return fit > MOST_IN_GROUP ? MOST_IN_GROUP : fit < LEAST_IN_GROUP ? LEAST_IN_GROUP : (int)fit;
}

/* What the kernel costs in a file that begins with kernel `first` (compile_work.h). */
static double cost_of(const missing *m, int first, int kernel) {
  return pz_compile_cost(m->kernels[kernel].call->function,
                         kernel == first ? NULL : m->kernels[kernel - 1].call->function);
}

static bool same_family(const missing *m, int a, int b) {
  return !strcmp(family_of(&m->kernels[a]), family_of(&m->kernels[b]));
}

#define SHORT 3.0 /* the cost of all, for which one file a core is enough */
#define SOON  1.0

/* Of the kernels from `first` on, as many as cost about so much; apart: of one family, but for those that are soon made. */
static group group_from(const missing *m, int first, double cost, bool apart, int most) {
  group g = {first, 0, 0};
  while (first + g.n < m->n && g.n < most) {
    const double next = cost_of(m, first, first + g.n);
    if (g.n && g.cost + next / 2 > cost) break;
    if (g.n && apart && g.cost > SOON && !same_family(m, first, first + g.n)) break;
    g.cost += next, g.n++;
  }
  g.cost += PZ_COMPILE_COST_OF_FILE;
  return g;
}

static int longest_first(const void *a, const void *b) {
  const group *x = a, *y = b;
  return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1) : x->first - y->first;
}

/* Files of equal length, neighbours in each; the longest are begun first, so that no core waits long for the last one. */
static pz_status make_groups(const pz_plan *plan, missing *m, pz_error *err) {
  const int usable = pz_cpu_usable(), most = most_in_group(usable);
  double all = 0;
  m->groups = PZ_NEW(plan->arena, group, (size_t)m->n + 1);
  if (!m->groups) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int i = 0; i < m->n; i++) all += cost_of(m, 0, i);
  const double cost = all / usable / (all < SHORT ? 1 : 2);
  for (int i = 0; i < m->n; i += m->groups[m->n_groups++].n)
    m->groups[m->n_groups] = group_from(m, i, cost, all >= SHORT, most);
  qsort(m->groups, (size_t)m->n_groups, sizeof *m->groups, longest_first);
  return PZ_OK;
}

/* What all keys have in common: the compiler, its flags and what else it obeys, and the headers. */
static pz_status begin_key(const pz_plan *plan, const pz_emit_options *o, pz_digest *d, pz_error *err) {
  static const char *const variables[] = {"CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"};
  command c = {.n = 0};
  PZ_TRY(compile_command(plan, o, "kernel.c", &c, err));
  pz_digest_begin(d);
  pz_digest_add(d, o->compiler, strlen(o->compiler) + 1);
  for (int i = 0; i < c.n; i++) pz_digest_add(d, c.words[i], strlen(c.words[i]) + 1);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    pz_digest_add(d, value ? value : "", value ? strlen(value) + 1 : 1);
  }
  for (int i = 0; i < pz_embedded_header_count; i++)
    pz_digest_add(d, pz_embedded_headers[i].begin,
                  (size_t)(pz_embedded_headers[i].end - pz_embedded_headers[i].begin));
  return PZ_OK;
}

/* NULL: out of memory. */
static const char *key_of(const pz_plan *plan, const pz_digest *begun, const pz_instance *kernel) {
  char c_digest[PZ_DIGEST_TEXT], key[PZ_DIGEST_TEXT];
  pz_code *c = pz_code_new();
  pz_digest d = *begun;
  pz_emit_headers(c, plan, kernel, 1);
  pz_emit_kernel(c, kernel->call, kernel->digits);
  const pz_status status = pz_code_digest(c, c_digest, NULL);
  pz_code_free(c);
  if (status != PZ_OK) return NULL;
  pz_digest_add(&d, c_digest, sizeof c_digest);
  pz_digest_end_text(&d, key);
  return pz_arena_strdup(plan->arena, key);
}

static pz_status make_link(const char *link, const char *object, pz_error *err) {
  if (!link || !object) return pz_fail_memory(err, "a path", 64);
  return symlink(object, link) ? pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s", link, strerror(errno)) : PZ_OK;
}

/* Those that the cache has get their links, the others move up. */
static pz_status take_cached(const pz_plan *plan, const pz_emit_options *o, const pz_digest *begun,
                             missing *m, pz_error *err) {
  int left = 0;
  m->keys = PZ_NEW(plan->arena, const char *, (size_t)m->n + 1);
  if (!m->keys) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int i = 0; i < m->n; i++) {
    const pz_instance kernel = m->kernels[i];
    const char *key = key_of(plan, begun, &kernel);
    char object[PZ_OBJECT_NAME];
    if (!key) return pz_fail_memory(err, "a key", 64);
    if (pz_object_cache_take(o->cache, key, o->objects, object)) {
      PZ_TRY(make_link(link_of(plan, o, &kernel), object, err));
      continue;
    }
    m->kernels[left] = kernel;
    m->keys[left++] = key;
  }
  if (o->counts) o->counts->cached += m->n - left;
  m->n = left;
  return PZ_OK;
}

static pz_status find_missing(const pz_plan *plan, const pz_emit_options *o, const pz_instances *all,
                              const pz_digest *begun, missing *m, pz_error *err) {
  *m = (missing){.kernels = PZ_NEW(plan->arena, pz_instance, (size_t)all->count + 1)};
  if (!m->kernels) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int32_t i = 0; i < all->count; i++) {
    const char *link = link_of(plan, o, &all->all[i]);
    if (!link) return pz_fail_memory(err, "a path", 64);
    if (access(link, F_OK)) m->kernels[m->n++] = all->all[i];
  }
  if (m->n) qsort(m->kernels, (size_t)m->n, sizeof *m->kernels, by_family);
  if (m->n && o->cache) PZ_TRY(take_cached(plan, o, begun, m, err));
  if (o->counts) o->counts->compiled += m->n;
  return make_groups(plan, m, err);
}

static pz_status write_group(const pz_plan *plan, const pz_emit_options *o, const missing *m, int group,
                             const char **source, pz_error *err) {
  const pz_instance *kernels = m->kernels + m->groups[group].first;
  const int n = m->groups[group].n;
  pz_code *c = pz_code_new();
  pz_emit_headers(c, plan, kernels, n);
  for (int i = 0; i < n; i++) pz_emit_kernel(c, kernels[i].call, kernels[i].digits);
  *source = pz_arena_printf(plan->arena, "%s/g%s.c", o->objects, kernels[0].digits);
  return pz_code_write(c, *source, err);
}

/* When it has been compiled. */
static pz_status link_group(const pz_plan *plan, const pz_emit_options *o, const missing *m, int group,
                            pz_error *err) {
  const pz_instance *kernels = m->kernels + m->groups[group].first;
  for (int i = 0; i < m->groups[group].n; i++)
    PZ_TRY(make_link(link_of(plan, o, &kernels[i]), pz_arena_printf(plan->arena, "g%s.o", kernels[0].digits),
                     err));
  return PZ_OK;
}

static pz_status keep_group(const pz_plan *plan, const pz_emit_options *o, const missing *m, int group,
                            pz_error *err) {
  const int first = m->groups[group].first;
  const char *object = pz_arena_printf(plan->arena, "%s/g%s.o", o->objects, m->kernels[first].digits);
  if (!object) return pz_fail_memory(err, "a path", 64);
  pz_object_cache_keep(o->cache, object, m->keys + first, m->groups[group].n);
  return PZ_OK;
}

/* ---- the list of steps, which is the same whatever the weights are ---- */

#define MOST_SOURCE ((size_t)256 << 20)
/* Of network.c, from its first include on: what is in front of that tells of the model and is a comment. */
static pz_status add_source(const pz_plan *plan, const char *folder, const char *name, pz_digest *d,
                            pz_error *err) {
  const char *path = pz_arena_printf(plan->arena, "%s/%s", folder, name);
  char *text;
  size_t size;
  if (!path) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_file_read(plan->arena, path, MOST_SOURCE, &text, &size, err));
  const char *code = strstr(text, "\n#");
  if (!code) code = text;
  pz_digest_add(d, code, size - (size_t)(code - text));
  return PZ_OK;
}

/* Whatever lies under its name is removed: a compiler would write through a link. */
static pz_status take_network(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                              const pz_digest *begun, char key[PZ_DIGEST_TEXT], const char **path,
                              bool *taken, pz_error *err) {
  char object[PZ_OBJECT_NAME];
  pz_digest d = *begun;
  *taken = false;
  *path = pz_arena_printf(plan->arena, "%s/network.o", folder);
  if (!*path) return pz_fail_memory(err, "a path", 64);
  unlink(*path);
  if (!o->cache) return PZ_OK;
  PZ_TRY(add_source(plan, folder, "network.h", &d, err));
  PZ_TRY(add_source(plan, folder, "network.c", &d, err));
  pz_digest_end_text(&d, key);
  *taken = pz_object_cache_take(o->cache, key, o->objects, object);
  return *taken ? make_link(*path, pz_arena_printf(plan->arena, "%s/%s", o->objects, object), err) : PZ_OK;
}

/* ---- compiling and linking ---- */

pz_status pz_emit_compile(const pz_plan *plan, const pz_emit_options *o, const char *folder, pz_error *err) {
  pz_instances all;
  missing m;
  const char *network;
  char key[PZ_DIGEST_TEXT];
  bool taken;
  pz_digest begun = {.size = 0};
  PZ_TRY(pz_emit_instances(plan, plan->arena, &all, err));
  if (o->cache) PZ_TRY(begin_key(plan, o, &begun, err));
  PZ_TRY(find_missing(plan, o, &all, &begun, &m, err));
  PZ_TRY(take_network(plan, o, folder, &begun, key, &network, &taken, err));
  const char **files = PZ_NEW(plan->arena, const char *, (size_t)m.n_groups + 2);
  double *costs = PZ_NEW(plan->arena, double, (size_t)m.n_groups + 2);
  int n = m.n_groups, most = 0;
  if (!files || !costs) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int i = 0; i < m.n_groups; i++) {
    PZ_TRY(write_group(plan, o, &m, i, &files[i], err));
    costs[i] = m.groups[i].cost;
    if (m.groups[i].n > most) most = m.groups[i].n;
  }
  if (!taken)
    costs[n] = PZ_COMPILE_COST_OF_FILE + plan->n_steps * PZ_COMPILE_COST_OF_STEP, files[n++] = "network.c";
  if (!o->weights) costs[n] = PZ_COMPILE_COST_OF_FILE, files[n++] = "weights.c";
  const sources all_files = {files, costs, n};
  PZ_TRY(compile_sources(plan, o, folder, &all_files, width_for(most), err));
  for (int i = 0; i < m.n_groups && m.keys; i++) PZ_TRY(keep_group(plan, o, &m, i, err));
  if (!taken) pz_object_cache_keep(o->cache, network, (const char *const[]){key}, 1);
  for (int i = 0; i < m.n_groups; i++) PZ_TRY(link_group(plan, o, &m, i, err));
  return PZ_OK;
}

/* As they would be grouped. */
pz_status pz_emit_costs(const pz_plan *plan, const pz_emit_options *o, double *cost, pz_error *err) {
  pz_instances all;
  pz_digest begun = {.size = 0};
  missing m = {.n = 0};
  *cost = PZ_COMPILE_COST_OF_STEP * plan->n_steps;
  PZ_TRY(pz_emit_instances(plan, plan->arena, &all, err));
  if (o->cache) PZ_TRY(begin_key(plan, o, &begun, err));
  m.kernels = PZ_NEW(plan->arena, pz_instance, (size_t)all.count + 1);
  if (!m.kernels) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int32_t i = 0; i < all.count; i++) {
    const char *key = o->cache ? key_of(plan, &begun, &all.all[i]) : NULL;
    if (!key || !pz_object_cache_has(o->cache, key)) m.kernels[m.n++] = all.all[i];
  }
  if (m.n) qsort(m.kernels, (size_t)m.n, sizeof *m.kernels, by_family);
  PZ_TRY(make_groups(plan, &m, err));
  for (int i = 0; i < m.n_groups; i++) *cost += m.groups[i].cost;
  return PZ_OK;
}

/* A word of a file of arguments. */
static void append_quoted(pz_text *t, const char *word) {
  pz_text_append(t, "\"");
  for (; *word; word++) {
    if (*word == '"' || *word == '\\') pz_text_append(t, "\\");
    pz_text_append_bytes(t, word, 1);
  }
  pz_text_append(t, "\"\n");
}

/* Each group's object once. */
static pz_status add_objects(const pz_plan *plan, const pz_emit_options *o, pz_text *list, pz_error *err) {
  pz_instances all;
  PZ_TRY(pz_emit_instances(plan, plan->arena, &all, err));
  for (int32_t i = 0; i < all.count && !list->failed; i++) {
    char group[PZ_OBJECT_NAME];
    const char *link = link_of(plan, o, &all.all[i]);
    const ssize_t length = link ? readlink(link, group, sizeof group - 1) : -1;
    if (length < 0) return pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s", link ? link : o->objects, strerror(errno));
    group[length] = 0;
    const char *object = pz_arena_printf(plan->arena, "%s/%s", o->objects, group);
    if (!object) list->failed = true;
    else if (!list->data || !strstr(list->data, group)) append_quoted(list, object);
  }
  return PZ_OK;
}

pz_status pz_emit_add_objects(const pz_plan *plan, const pz_emit_options *o, const char *network,
                              pz_text *list, pz_error *err) {
  PZ_TRY(add_objects(plan, o, list, err));
  append_quoted(list, network);
  return list->failed ? pz_fail_memory(err, "a list of objects", list->capacity) : PZ_OK;
}

static pz_status link_list(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                           const char *output, pz_error *err) {
  char *cc = pz_arena_strdup(plan->arena, pz_emit_compiler(options));
  if (!cc) return pz_fail_memory(err, "the linker's command", 512);
  command c = {.n = 0};
  char flags[] = "-shared -Wl,--gc-sections,-u,manifest -Wl,-z,relro,-z,now,-z,noexecstack "
                 "-Wl,--build-id=none -Wl,--as-needed -o";
  add_words(&c, cc);
  add_words(&c, flags);
  add(&c, output);
  /* Objects of several compilations may have a kernel in common, the same code: the first is taken. */
  if (options->cache) add(&c, "-Wl,-z,muldefs");
  add(&c, "@objects.txt");
  add(&c, "-lm");
  compiler j = {.log = NULL}, *one;
  PZ_TRY(begin(options, folder, &c, "link.log", &j, err));
  return finish_one(plan, options, folder, &j, 1, &one, err);
}

pz_status pz_emit_link_objects(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                               const pz_text *list, bool weights, const char *output, pz_error *err) {
  const sources files = {.files = (const char *const[]){"manifest.c", "weights.c"}, .n = weights ? 2 : 1};
  pz_text all = {0};
  PZ_TRY(compile_sources(plan, options, folder, &files, 1, err));
  pz_text_append(&all, list->data ? list->data : "");
  pz_text_append(&all, "weights.o\nmanifest.o\n");
  PZ_TRY(write_text(pz_arena_printf(plan->arena, "%s/objects.txt", folder), &all, err));
  return link_list(plan, options, folder, output, err);
}

pz_status pz_emit_link(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                       const char *output, pz_error *err) {
  pz_text list = {0};
  pz_status status = pz_emit_add_objects(plan, options, "network.o", &list, err);
  if (status == PZ_OK) status = pz_emit_link_objects(plan, options, folder, &list, false, output, err);
  pz_text_free(&list);
  return status;
}
