/* build.c: the C compiler, called. As many at a time as the process may use cores. */
#include "base/cpu.h"
#include "base/file.h"
#include "emit/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- processes ---- */

/* A child starts as a program started by a shell does: the host's threads may block signals, or ignore them. */
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGINT);
  sigaddset(&usual, SIGTERM);
  sigaddset(&usual, SIGHUP);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &usual);
  return posix_spawnattr_setflags(attributes,
                                  POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* Runs argv in `folder`, in a process group of its own; its output goes to `log` there. A terminal's Ctrl-C does not reach it: who waits
 * ends the whole group when the interrupt flag is set. Returns an error number. */
static int spawn(const char *const *argv, const char *folder, const char *log, pid_t *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed) return failed;
  failed = posix_spawnattr_init(&attributes);
  if (!failed) {
    failed = set_attributes(&attributes);
    if (!failed) failed = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!failed) failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed)
      failed = posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (!failed)
      failed = posix_spawnp(child, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

/* True when the process has ended; it is not reaped, so that its number still names its group. */
static bool has_ended(int pid) {
  siginfo_t info = {.si_pid = 0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

/* The compiler and what it started: cc1, as, ld. It gets two seconds to remove its own temporary files. */
static void end_group(int pid) {
  kill(-pid, SIGTERM);
  for (int i = 0; i < 400 && !has_ended(pid); i++) nap();
  kill(-pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
  for (int i = 0; i < 200 && !kill(-pid, 0); i++) nap(); /* a large process takes a while to go */
}

typedef struct job {
  pid_t pid; /* 0: none runs */
  const char *log;
} job;

/* One of the jobs that has ended, which is reaped; *code: its exit status, 127 when it could not be started, 128 + the signal that ended
 * it, or less than 0, an error number's negative: it cannot be waited for. NULL: none has. */
static job *ended(job *jobs, int n, int *code) {
  for (int i = 0, status = 0; i < n; i++) {
    const pid_t done = jobs[i].pid ? waitpid(jobs[i].pid, &status, WNOHANG) : 0;
    if (done == 0 || (done < 0 && errno == EINTR)) continue;
    *code = done < 0 ? -errno : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    jobs[i].pid = 0;
    return &jobs[i];
  }
  return NULL;
}

/* Waits for one of the jobs, of which one runs at least. An interrupt ends them all. */
static pz_status wait_for_one(job *jobs, int n, const pz_emit_options *options, job **one, int *code,
                              pz_error *err) {
  for (int naps = 1; !(*one = ended(jobs, n, code)); naps++) {
    if (options->tick && naps % 20 == 0) options->tick(options->tick_host);
    if (options->interrupt && *options->interrupt) {
      for (int i = 0; i < n; i++)
        if (jobs[i].pid) end_group(jobs[i].pid), jobs[i].pid = 0;
      return pz_fail(err, PZ_INTERRUPTED, "interrupted while compiling");
    }
    nap();
  }
  return PZ_OK;
}

/* ---- which compiler ---- */

static bool on_path(const char *program) {
  if (strchr(program, '/')) return access(program, X_OK) == 0;
  char path[4096];
  const char *folders = getenv("PATH");
  for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
    const int n = (int)strcspn(at, ":");
    snprintf(path, sizeof path, "%.*s/%s", n, at, program);
    if (access(path, X_OK) == 0) return true;
    at += n + (at[n] == ':');
  }
  return false;
}

const char *pz_emit_compiler(const pz_emit_options *options) {
  if (options->cc) return options->cc;
  const char *named = getenv("CC");
  if (named && *named) return named;
  return on_path("gcc") || !on_path("clang") ? "gcc" : "clang";
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
 * by chance costs up to 8% (doc/kernels-winograd.md).
 * -Wno-pass-failed: clang counts a loop that it does not unroll as a warning; gcc ignores the flag. */
static const char *const common_flags =
    "-std=gnu11 -O2 -falign-loops=64 -ffunction-sections -fdata-sections -fPIC -fvisibility=hidden "
    "-fno-math-errno -fno-trapping-math -ffp-contract=off "
    "-Wall -Wextra -Werror -Wno-pass-failed -I. -c";

static pz_status compile_command(const pz_plan *plan, const pz_emit_options *o, const char *source,
                                 command *c, pz_error *err) {
  const int stem = (int)strlen(source) - 1;
  char *cc = pz_arena_strdup(plan->arena, pz_emit_compiler(o));
  char *common = pz_arena_strdup(plan->arena, common_flags);
  char *isa = pz_arena_strdup(plan->arena, pz_isa_get(plan->isa)->cflags);
  char *made = pz_arena_printf(plan->arena, "%.*so", stem, source);
  if (!cc || !common || !isa || !made) return pz_fail_memory(err, "the C compiler's command", 512);
  char *own =
      cc + strcspn(cc, " "); /* words behind the compiler's name come last, so that they win: "gcc -O1" */
  if (*own) *own++ = 0;
  add(c, cc);
  add_words(c, common);
  add_words(c, isa);
  add_words(c, own);
  add(c, source);
  add(c, "-o");
  add(c, made);
  return PZ_OK;
}

/* The first of the instruction set's flags that the line names, or NULL: what a compiler that is too old says. */
static const char *refused_flag(const pz_plan *plan, const char *line) {
  char *rest = NULL, *flags = pz_arena_strdup(plan->arena, pz_isa_get(plan->isa)->cflags);
  char *flag = flags ? strtok_r(flags, " ", &rest) : NULL;
  while (flag && !strstr(line, flag)) flag = strtok_r(NULL, " ", &rest);
  return flag;
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

#define MOST_LOG ((size_t)64 << 20) /* warnings may be many */
static pz_status compiler_failed(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                                 const char *log, int code, pz_error *err) {
  const char *path = log[0] == '/' ? log : pz_arena_printf(plan->arena, "%s/%s", folder, log);
  char *text = NULL;
  size_t size = 0;
  if (path && pz_file_read(plan->arena, path, MOST_LOG, &text, &size, NULL) != PZ_OK) text = NULL;
  const char *line = telling_line(text ? text : "");
  struct statvfs disk;
  if (strstr(line, "No space left") || strstr(line, "File too large") || strstr(line, "File size limit") ||
      (!statvfs(folder, &disk) && disk.f_blocks && !disk.f_bavail))
    return pz_fail(err, PZ_ERROR_OUTPUT,
                   "%s: no room on the disk for the C compiler's files; TMPDIR names another", folder);
  const int length = (int)strcspn(line, "\n");
  char *shown = pz_arena_strndup(plan->arena, line, (size_t)length);
  const char *flag = shown && plan->isa > 0 ? refused_flag(plan, shown) : NULL;
  if (flag)
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s does not know %s: compile with --isa %s, or name another compiler with --cc",
                   pz_emit_compiler(o), flag, pz_isa_get(plan->isa - 1)->name);
  return pz_fail(err, PZ_ERROR_RUN, "%s failed with status %d%s%.*s", pz_emit_compiler(o), code,
                 length ? ": " : " and said nothing", length, line);
}

/* ---- the work ---- */

static pz_status finish_one(const pz_plan *plan, const pz_emit_options *o, const char *folder, job *jobs,
                            int n, job **one, pz_error *err) {
  int code = 0;
  PZ_TRY(wait_for_one(jobs, n, o, one, &code, err));
  if (code < 0) return pz_fail(err, PZ_ERROR_RUN, "waiting for the C compiler: %s", strerror(-code));
  return code ? compiler_failed(plan, o, folder, (*one)->log, code, err) : PZ_OK;
}

static pz_status begin(const char *folder, const command *c, const char *log, job *j, pz_error *err) {
  const int failed = log ? spawn(c->words, folder, log, &j->pid) : ENOMEM;
  j->log = log;
  if (!failed) return PZ_OK;
  j->pid = 0;
  return pz_fail(err, PZ_ERROR_RUN, "%s: cannot run this C compiler: %s; name another with --cc", c->words[0],
                 strerror(failed));
}

static pz_status begin_source(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                              const char *source, job *j, pz_error *err) {
  command c = {.n = 0};
  PZ_TRY(compile_command(plan, o, source, &c, err));
  return begin(folder, &c, pz_arena_printf(plan->arena, "%s.log", source), j, err);
}

#define MAX_JOBS 64
/* As many at a time as there are cores; after a failure those that run are waited for. */
static pz_status compile_sources(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                                 const char *const *sources, int n, pz_error *err) {
  job jobs[MAX_JOBS] = {{0}};
  const int usable = pz_cpu_usable(), width = usable < MAX_JOBS ? usable : MAX_JOBS;
  pz_status status = PZ_OK;
  int begun = 0, running = 0;
  while (running || (begun < n && status == PZ_OK)) {
    job *free_one = NULL;
    for (int i = 0; i < width && begun < n && status == PZ_OK; i++)
      if (!jobs[i].pid) free_one = &jobs[i];
    if (free_one) {
      status = begin_source(plan, o, folder, sources[begun++], free_one, err);
      running += status == PZ_OK;
      continue;
    }
    job *one;
    const pz_status last = finish_one(plan, o, folder, jobs, width, &one, err);
    if (status == PZ_OK) status = last;
    if (last == PZ_INTERRUPTED) return last;
    running--;
  }
  return status;
}

/* ---- kernels, in groups ---- */

static pz_status write_text(const char *path, pz_text *text, pz_error *err) {
  const pz_status status = path && !text->failed
                               ? pz_file_write(path, text->data, text->size, err)
                               : pz_fail_memory(err, "the generated source", text->capacity);
  pz_text_free(text);
  return status;
}

/* A link to the object of the group that the kernel is in. */
static const char *link_of(const pz_plan *plan, const pz_emit_options *o, const pz_instance *kernel) {
  return pz_arena_printf(plan->arena, "%s/k%s.o", o->objects, kernel->digits);
}

static int by_function(const void *a, const void *b) {
  const pz_instance *x = a, *y = b;
  const int order = strcmp(x->call->function, y->call->function);
  return order ? order : strcmp(x->digits, y->digits);
}

/* Files for so many kernels: one for each core, of a few at least. Most of what a kernel takes to compile is what it is inlined from, which kernels
 * of one file have in common (doc/tuning.md). Each takes 10 MB of the compiler's memory besides. */
enum { LEAST_IN_GROUP = 6, MOST_IN_GROUP = 48 };
static int groups_of(int kernels) {
  const int most = (kernels + LEAST_IN_GROUP - 1) / LEAST_IN_GROUP,
            least = (kernels + MOST_IN_GROUP - 1) / MOST_IN_GROUP, usable = pz_cpu_usable();
  return usable > most ? most : usable < least ? least : usable;
}

/* Kernels that have no object yet. Kernel i is in group i % groups, which has the name of its first one. */
typedef struct missing {
  pz_instance *kernels;
  int n, groups;
} missing;

static pz_status find_missing(const pz_plan *plan, const pz_emit_options *o, const pz_instances *all,
                              missing *m, pz_error *err) {
  *m = (missing){.kernels = PZ_NEW(plan->arena, pz_instance, (size_t)all->count + 1)};
  if (!m->kernels) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int32_t i = 0; i < all->count; i++) {
    const char *link = link_of(plan, o, &all->all[i]);
    if (!link) return pz_fail_memory(err, "a path", 64);
    if (access(link, F_OK)) m->kernels[m->n++] = all->all[i];
  }
  if (m->n) qsort(m->kernels, (size_t)m->n, sizeof *m->kernels, by_function);
  m->groups = groups_of(m->n);
  return PZ_OK;
}

static pz_status write_group(const pz_plan *plan, const pz_emit_options *o, const missing *m, int group,
                             const char **source, pz_error *err) {
  pz_instance *kernels = PZ_NEW(plan->arena, pz_instance, (size_t)m->n);
  int n = 0;
  if (!kernels) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int i = group; i < m->n; i += m->groups) kernels[n++] = m->kernels[i];
  pz_code *c = pz_code_new();
  pz_emit_headers(c, plan, kernels, n);
  for (int i = 0; i < n; i++) pz_emit_kernel(c, kernels[i].call, kernels[i].digits);
  *source = pz_arena_printf(plan->arena, "%s/g%s.c", o->objects, kernels[0].digits);
  return pz_code_write(c, *source, err);
}

/* When all groups have been compiled. */
static pz_status link_kernels(const pz_plan *plan, const pz_emit_options *o, const missing *m,
                              pz_error *err) {
  for (int i = 0; i < m->n; i++) {
    const char *link = link_of(plan, o, &m->kernels[i]),
               *object = pz_arena_printf(plan->arena, "g%s.o", m->kernels[i % m->groups].digits);
    if (!link || !object) return pz_fail_memory(err, "a path", 64);
    if (symlink(object, link)) return pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s", link, strerror(errno));
  }
  return PZ_OK;
}

/* ---- compiling and linking ---- */

pz_status pz_emit_compile(const pz_plan *plan, const pz_emit_options *o, const char *folder, pz_error *err) {
  pz_instances all;
  missing m;
  PZ_TRY(pz_emit_instances(plan, plan->arena, &all, err));
  PZ_TRY(find_missing(plan, o, &all, &m, err));
  const char **sources = PZ_NEW(plan->arena, const char *, (size_t)m.groups + 1);
  if (!sources) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int i = 0; i < m.groups; i++) PZ_TRY(write_group(plan, o, &m, i, &sources[i], err));
  sources[m.groups] = "network.c";
  PZ_TRY(compile_sources(plan, o, folder, sources, m.groups + 1, err));
  return link_kernels(plan, o, &m, err);
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
static pz_status write_list(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                            pz_error *err) {
  pz_instances all;
  pz_text list = {0};
  PZ_TRY(pz_emit_instances(plan, plan->arena, &all, err));
  for (int32_t i = 0; i < all.count && !list.failed; i++) {
    char group[PZ_EMIT_DIGITS + 8];
    const char *link = link_of(plan, o, &all.all[i]);
    const ssize_t length = link ? readlink(link, group, sizeof group - 1) : -1;
    if (length < 0) {
      pz_text_free(&list);
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s", link ? link : o->objects, strerror(errno));
    }
    group[length] = 0;
    const char *object = pz_arena_printf(plan->arena, "%s/%s", o->objects, group);
    if (!object) list.failed = true;
    else if (!list.data || !strstr(list.data, group)) append_quoted(&list, object);
  }
  pz_text_append(&list, "network.o\nmanifest.o\n");
  return write_text(pz_arena_printf(plan->arena, "%s/objects.txt", folder), &list, err);
}

pz_status pz_emit_link(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                       const char *output, pz_error *err) {
  PZ_TRY(compile_sources(plan, options, folder, (const char *const[]){"manifest.c"}, 1, err));
  PZ_TRY(write_list(plan, options, folder, err));
  char *cc = pz_arena_strdup(plan->arena, pz_emit_compiler(options));
  if (!cc) return pz_fail_memory(err, "the linker's command", 512);
  command c = {.n = 0};
  char flags[] = "-shared -Wl,--gc-sections,-u,manifest -Wl,-z,relro,-z,now,-z,noexecstack "
                 "-Wl,--build-id=none -Wl,--as-needed -o";
  add_words(&c, cc);
  add_words(&c, flags);
  add(&c, output);
  add(&c, "@objects.txt");
  add(&c, "-lm");
  job j = {0}, *one;
  PZ_TRY(begin(folder, &c, "link.log", &j, err));
  return finish_one(plan, options, folder, &j, 1, &one, err);
}
