/* A shell stands between this process and the program, and watches a pipe that this process holds the other end of: the kernel's
 * PR_SET_PDEATHSIG reaches neither what a compiler starts (cc1, as, ld) nor a program that is started with posix_spawn, which is what hosts
 * with threads and with much memory can do safely. Where this process ends, by SIGKILL too, reading ends, and the group is killed. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_WORDS = 80, LIFE = 3 };
#define SHELL "/bin/sh"

/* With huge pages, where the system has them for who asks, gcc takes 0.88 of its time (doc/notes/2026-11-29-compiling.md); a user's own tunables stay. */
static const char watch[] = "LC_ALL=C; export LC_ALL; : \"${GLIBC_TUNABLES=glibc.malloc.hugetlb=1}\"; "
                            "export GLIBC_TUNABLES; [ -z \"$1\" ] || { TMPDIR=$1; export TMPDIR; }; shift; "
                            "(read -r x <&3; kill -9 0) >/dev/null 2>&1 & w=$!; \"$@\" 3<&-; s=$?; "
                            "{ kill -9 $w; wait $w; } 2>/dev/null; exit $s";

bool pz_process_find(const char *program, char *path, size_t size) {
  if (strchr(program, '/'))
    return access(program, X_OK) == 0 && snprintf(path, size, "%s", program) < (int)size;
  const char *folders = getenv("PATH");
  for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
    const int n = (int)strcspn(at, ":");
    const bool whole = snprintf(path, size, "%.*s%s%s", n, at, n ? "/" : "", program) < (int)size;
    if (whole && access(path, X_OK) == 0) return true;
    at += n + (at[n] == ':');
  }
  errno = ENOENT;
  return false;
}

bool pz_process_known(const char *program) {
  char path[4096];
  return pz_process_find(program, path, sizeof path);
}

/* As a program that a shell starts: the host's threads may block signals, or ignore them. */
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

/* `life` is another descriptor than 0 to 3 here. */
static int set_actions(posix_spawn_file_actions_t *actions, const pz_process_place *place, int life) {
  const char *folder = place->folder, *log = place->log;
  int failed = folder ? posix_spawn_file_actions_addchdir_np(actions, folder) : 0;
  if (!failed) failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (!failed)
    failed = log ? posix_spawn_file_actions_addopen(actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666)
                 : posix_spawn_file_actions_adddup2(actions, place->out, 1);
  if (!failed)
    failed = log ? posix_spawn_file_actions_adddup2(actions, 1, 2)
                 : posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
  if (!failed) failed = posix_spawn_file_actions_adddup2(actions, life, LIFE);
  return failed;
}

static int spawn(const char *const *argv, const pz_process_place *place, int life, pid_t *pid) {
  const char *words[MOST_WORDS + 6] = {"sh", "-c", watch, "sh", place->temporary ? place->temporary : ""};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int n = 5;
  for (int i = 0; argv[i]; i++) {
    if (i == MOST_WORDS) return E2BIG;
    words[n++] = argv[i];
  }
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed) return failed;
  failed = posix_spawnattr_init(&attributes);
  if (!failed) {
    failed = set_attributes(&attributes);
    if (!failed) failed = set_actions(&actions, place, life);
    if (!failed)
      failed = posix_spawn(pid, SHELL, &actions, &attributes, (char *const *)(uintptr_t)words, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/* Away from the descriptors that the child gets. */
static bool open_life(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC)) return false;
  for (int i = 0; i < 2; i++) {
    const int high = fcntl(ends[i], F_DUPFD_CLOEXEC, LIFE + 1);
    if (high < 0) {
      const int reason = errno;
      close(ends[0]), close(ends[1]);
      return errno = reason, false;
    }
    close(ends[i]);
    ends[i] = high;
  }
  return true;
}

int pz_process_start(const char *const *argv, const pz_process_place *place, pz_process *p) {
  int ends[2];
  *p = (pz_process){.life = -1};
  if (!pz_process_known(argv[0])) return errno;
  if (!open_life(ends)) return errno;
  const int failed = spawn(argv, place, ends[0], &p->pid);
  close(ends[0]);
  if (failed) close(ends[1]), p->pid = 0;
  else p->life = ends[1];
  return failed;
}

static void forget(pz_process *p) {
  close(p->life);
  *p = (pz_process){.life = -1};
}

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

bool pz_process_ended(pz_process *p, int *code) {
  int status;
  struct rusage used = {0};
  const pid_t done = wait4(p->pid, &status, WNOHANG, &used);
  if (done == 0 || (done < 0 && errno == EINTR)) return false;
  *code = done < 0 ? -errno : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  forget(p);
  p->cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
  return true;
}

/* ---- what they take ---- */

static size_t read_proc(int pid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
  if (file >= 0) close(file);
  text[n > 0 ? n : 0] = 0;
  return n > 0 ? (size_t)n : 0;
}

/* Of a process and its children that have ended: fields 14 to 17 of its `stat`, of which the second is a name in brackets. */
static double ticks_of(int pid) {
  char text[1024];
  unsigned long own = 0, system = 0, children = 0, of_system = 0;
  if (!read_proc(pid, "stat", text, sizeof text)) return 0;
  const char *rest = strrchr(text, ')');
  if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &own, &system,
                      &children, &of_system) != 4)
    return 0;
  return (double)own + (double)system + (double)children + (double)of_system;
}

enum { DEPTH = 5 }; /* shell, compiler's driver, compiler: a wrapper or two more */
static double ticks_below(int pid, int depth) {
  char name[64], text[1024];
  double ticks = ticks_of(pid);
  snprintf(name, sizeof name, "task/%d/children", pid);
  if (depth == 0 || !read_proc(pid, name, text, sizeof text)) return ticks;
  for (char *at = text, *end;; at = end) {
    const long child = strtol(at, &end, 10);
    if (end == at) return ticks;
    ticks += ticks_below((int)child, depth - 1);
  }
}

double pz_process_cpu(const pz_process *p) {
  const long a_second = sysconf(_SC_CLK_TCK);
  return p->pid && a_second > 0 ? ticks_below(p->pid, DEPTH) / (double)a_second : 0;
}

/* ---- ending them ---- */

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

/* It is not reaped, so that its number still names its group. */
static bool is_over(const pz_process *p) {
  siginfo_t info = {.si_pid = 0};
  return !p->pid || waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == p->pid;
}

static bool all_over(pz_process *const *p, int n) {
  for (int i = 0; i < n; i++)
    if (!is_over(p[i])) return false;
  return true;
}

void pz_process_end(pz_process *const *p, int n) {
  for (int i = 0; i < n; i++)
    if (p[i]->pid) kill(-p[i]->pid, SIGTERM);
  for (int naps = 0; naps < 20 && !all_over(p, n); naps++) nap();
  for (int i = 0; i < n; i++)
    if (p[i]->pid) kill(-p[i]->pid, SIGKILL);
  for (int i = 0; i < n; i++) {
    const pid_t pid = p[i]->pid;
    if (!pid) continue;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    for (int naps = 0; naps < 20 && !kill(-pid, 0); naps++) nap(); /* a large process takes a while to go */
    forget(p[i]);
  }
}
