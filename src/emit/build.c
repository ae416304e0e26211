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

pz_status pz_emit_spawn(const char *const *argv, const char *folder, const char *log, int *pid,
                        pz_error *err) {
  pid_t child = 0;
  const int failed = spawn(argv, folder, log, &child);
  if (failed)
    return pz_fail(err, PZ_ERROR_RUN, "%s: cannot run this C compiler: %s; name another with --cc", argv[0],
                   strerror(failed));
  *pid = child;
  return PZ_OK;
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

pz_status pz_emit_wait(int pid, const pz_emit_options *options, int *code, pz_error *err) {
  for (int status = 0, naps = 1;; naps++) {
    const pid_t done = waitpid(pid, &status, options->interrupt || options->tick ? WNOHANG : 0);
    if (done == pid) {
      *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return PZ_OK;
    }
    if (done < 0 && errno != EINTR)
      return pz_fail(err, PZ_ERROR_RUN, "waiting for the C compiler: %s", strerror(errno));
    if (options->tick && naps % 20 == 0) options->tick(options->tick_host);
    if (options->interrupt && *options->interrupt) {
      end_group(pid);
      return pz_fail(err, PZ_INTERRUPTED, "interrupted while compiling");
    }
    if (done == 0) nap();
  }
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
 * -O2 with full unrolling by pragmas: -O3 brings nothing here and compiles a third longer. Loops at cache lines: where they lie
 * by chance costs up to 8% (doc/kernels-winograd.md).
 * -Wno-pass-failed: clang counts a loop that it does not unroll as a warning; gcc ignores the flag. */
static const char *const common_flags = "-std=gnu11 -O2 -falign-loops=64 -fPIC -fvisibility=hidden "
                                        "-fno-math-errno -fno-trapping-math -ffp-contract=off "
                                        "-Wall -Wextra -Werror -Wno-pass-failed -I. -c";

static pz_status compile_command(const pz_plan *plan, const pz_emit_options *o, const char *source,
                                 command *c, pz_error *err) {
  char *cc = pz_arena_strdup(plan->arena, pz_emit_compiler(o));
  char *common = pz_arena_strdup(plan->arena, common_flags);
  char *isa = pz_arena_strdup(plan->arena, pz_isa_get(plan->isa)->cflags);
  char *object = pz_arena_strdup(plan->arena, source);
  if (!cc || !common || !isa || !object) return pz_fail_memory(err, "the C compiler's command", 512);
  object[strlen(object) - 1] = 'o';
  char *own =
      cc + strcspn(cc, " "); /* words behind the compiler's name come last, so that they win: "gcc -O1" */
  if (*own) *own++ = 0;
  add(c, cc);
  add_words(c, common);
  add_words(c, isa);
  add_words(c, own);
  add(c, source);
  add(c, "-o");
  add(c, object);
  return PZ_OK;
}

/* The first of the instruction set's flags that the line names, or NULL: what a compiler that is too old says. */
static const char *refused_flag(const pz_plan *plan, const char *line) {
  char *rest = NULL, *flags = pz_arena_strdup(plan->arena, pz_isa_get(plan->isa)->cflags);
  char *flag = flags ? strtok_r(flags, " ", &rest) : NULL;
  while (flag && !strstr(line, flag)) flag = strtok_r(NULL, " ", &rest);
  return flag;
}

/* The first line of a compiler's output that names an error, for the message. */
static pz_status compiler_failed(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                                 const char *log, int code, pz_error *err) {
  const char *path = pz_arena_printf(plan->arena, "%s/%s", folder, log);
  char *text = NULL;
  size_t size = 0;
  if (path && pz_file_read(plan->arena, path, 1 << 20, &text, &size, NULL) != PZ_OK) text = NULL;
  const char *line = text ? strstr(text, "error") : NULL;
  while (line && line > text && line[-1] != '\n') line--;
  if (!line) line = text ? text : "";
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
  return pz_fail(err, PZ_ERROR_RUN, "%s failed with status %d: %.*s", pz_emit_compiler(o), code, length,
                 line);
}

typedef struct job {
  int pid;
  const char *log;
} job;

static pz_status finish(const pz_plan *plan, const pz_emit_options *o, const char *folder, job *j,
                        pz_error *err) {
  int code = 0;
  const int pid = j->pid;
  j->pid = 0;
  PZ_TRY(pz_emit_wait(pid, o, &code, err));
  return code ? compiler_failed(plan, o, folder, j->log, code, err) : PZ_OK;
}

static pz_status start(const pz_plan *plan, const pz_emit_options *o, const char *folder, const char *source,
                       job *j, pz_error *err) {
  command c = {.n = 0};
  PZ_TRY(compile_command(plan, o, source, &c, err));
  j->log = pz_arena_printf(plan->arena, "%s.log", source);
  if (!j->log) return pz_fail_memory(err, "a path", 64);
  return pz_emit_spawn(c.words, folder, j->log, &j->pid, err);
}

#define MAX_JOBS 64
static pz_status run_jobs(const pz_plan *plan, const pz_emit_options *o, const char *folder,
                          const char *const *sources, int n, pz_error *err) {
  job jobs[MAX_JOBS] = {{0}};
  int width = pz_cpu_usable();
  if (width > MAX_JOBS) width = MAX_JOBS;
  pz_status status = PZ_OK;
  for (int i = 0; i < n && status == PZ_OK; i++) {
    job *j = &jobs[i % width];
    if (j->pid) status = finish(plan, o, folder, j, err);
    if (status == PZ_OK) status = start(plan, o, folder, sources[i], j, err);
  }
  for (int i = 0; i < width; i++) {
    if (!jobs[i].pid) continue;
    const pz_status last = finish(plan, o, folder, &jobs[i], err);
    if (status == PZ_OK) status = last;
  }
  return status;
}

static pz_status source_names(const pz_plan *plan, const char ***names, int *n, pz_error *err) {
  pz_instances instances;
  PZ_TRY(pz_emit_instances(plan, plan->arena, &instances, err));
  *n = pz_emit_files(&instances) + 1;
  *names = PZ_NEW(plan->arena, const char *, (size_t)*n);
  if (!*names) return pz_fail_memory(err, "the C compiler's commands", 64);
  for (int i = 0; i + 1 < *n; i++)
    if (!((*names)[i] = pz_arena_printf(plan->arena, "kernels_%02d.c", i)))
      return pz_fail_memory(err, "a path", 64);
  (*names)[*n - 1] = "network.c";
  return PZ_OK;
}

pz_status pz_emit_compile(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                          pz_error *err) {
  const char **sources;
  int n;
  PZ_TRY(source_names(plan, &sources, &n, err));
  return run_jobs(plan, options, folder, sources, n, err);
}

pz_status pz_emit_link(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                       const char *output, pz_error *err) {
  const char **sources;
  int n;
  PZ_TRY(run_jobs(plan, options, folder, (const char *const[]){"manifest.c"}, 1, err));
  PZ_TRY(source_names(plan, &sources, &n, err));
  pz_text list = {0};
  for (int i = 0; i < n; i++) pz_text_printf(&list, "%.*so\n", (int)strlen(sources[i]) - 1, sources[i]);
  pz_text_append(&list, "manifest.o\n");
  const char *path = pz_arena_printf(plan->arena, "%s/objects.txt", folder);
  char *cc = pz_arena_strdup(plan->arena, pz_emit_compiler(options));
  pz_status status = list.failed || !path || !cc ? pz_fail_memory(err, "the linker's command", 512)
                                                 : pz_file_write(path, list.data, list.size, err);
  pz_text_free(&list);
  PZ_TRY(status);
  command c = {.n = 0};
  char flags[] = "-shared -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--build-id=none -Wl,--as-needed -o";
  add_words(&c, cc);
  add_words(&c, flags);
  add(&c, output);
  add(&c, "@objects.txt");
  add(&c, "-lm");
  job j = {.log = "link.log"};
  PZ_TRY(pz_emit_spawn(c.words, folder, j.log, &j.pid, err));
  return finish(plan, options, folder, &j, err);
}
