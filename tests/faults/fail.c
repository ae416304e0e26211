/* fail.c: a library for LD_PRELOAD that lets system calls and allocations of one program fail.
 *
 *   PZ_FAIL=KINDS:N:ERROR      the N-th call (1, 2, ...) of these kinds fails with that error number; 0: none, calls are counted
 *   PZ_FAIL=KINDS:N:-1         every read and write among them moves a part only: 1 byte, or half of what was asked for
 *   PZ_FAIL=KINDS:N:-2         as a number, and all calls after it too (a disk that stays full): ENOSPC
 *   PZ_FAIL_ONLY=pznet         the program's name; in others (the C compiler) nothing fails
 *   pz_fail_set("...")         from within a program, as python.py has it
 *   PZ_FAIL_SERVE=1            the program waits in front of main, and a copy of it goes on for each request (serve, below)
 *   PZ_FAIL_COUNT=FILE         receives the numbers of calls at the end, a line "KIND CALLS" for each of these kinds
 *
 * KINDS are letters: w write, r read, m mmap, s sync, t truncate and allocate room, n rename, link and unlink, c close, o open, d make a folder,
 * a allocation, b flock, e getdents (readdir), i ioctl, f fsetxattr, g fgetxattr and getxattr, p fchmod, q fstat and stat, l lseek, k copy_file_range.
 * It sits between a program and libc, so that calls by libraries such as HDF5, libtiff and SQLite count too.
 * A close that fails has closed, as on Linux. Descriptors 0 to 2 are left alone but for writes. Allocations by HDF5, libtiff and Python's
 * interpreter themselves do not fail: HDF5 1.10 and libtiff 4.5 crash where one of their own fails, whoever calls them, which is why pz_memory_room
 * (src/base/memory.h) asks for room before; Python 3.11 crashes where it gets no memory for a new thread.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char kinds[32];
static long failing;
static int code;
static bool on;
static _Atomic long calls, calls_of['z' - 'a' + 1];
static const char *count_file;

/* The code of libraries that crash where one of their own allocations fails, whoever calls them. */
static struct { uintptr_t begin, end; } spared[8];
static int n_spared;

static bool is_spared(const char *name) {
  const char *file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
  if (!*file) return strncmp(program_invocation_short_name, "python", 6) == 0; /* the program itself */
  return !strncmp(file, "libhdf5_serial.", 15) || !strncmp(file, "libhdf5.", 8) ||
         !strncmp(file, "libtiff.", 8) || !strncmp(file, "libpython", 9);
}

static int spare(struct dl_phdr_info *info, size_t size, void *host) {
  (void)size, (void)host;
  if (!info->dlpi_name || !is_spared(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum && n_spared < 8; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    spared[n_spared].begin = info->dlpi_addr + p->p_vaddr;
    spared[n_spared].end = spared[n_spared].begin + p->p_memsz;
    n_spared++;
  }
  return 0;
}

static bool by_spared(uintptr_t at) {
  for (int i = 0; i < n_spared; i++)
    if (at >= spared[i].begin && at < spared[i].end) return true;
  return false;
}

/* ---- runs without loading and linking anew, which takes longer than most of what fails: the program waits in front of main ---- */

/* From a line of standard input, without its end; false: there are no more. */
static bool read_line(char *line, size_t room) {
  size_t n = 0;
  while (n + 1 < room && read(0, line + n, 1) == 1)
    if (line[n++] == '\n') return line[n - 1] = 0, true;
  return false;
}

/* Of a request: where it runs, PZ_FAIL and PZ_FAIL_COUNT or nothing, and the file that gets its standard output; that of the other has a 2 behind it. */
enum { FOLDER, FAIL, COUNT, SAYS, WORDS };
static bool split(char *line, char *word[WORDS]) {
  int n = 0;
  for (char *rest = line, *next; n < WORDS && (next = strsep(&rest, "\t"));) word[n++] = next;
  return n == WORDS;
}

static void set(const char *name, const char *value) {
  if (*value) setenv(name, value, 1);
  else unsetenv(name);
}

/* The copy's surroundings: those that a program of its own would be started in. */
static bool go_there(char *word[WORDS]) {
  char path[4096];
  snprintf(path, sizeof path, "%s/tmp", word[FOLDER]), set("TMPDIR", path);
  snprintf(path, sizeof path, "%s/cache", word[FOLDER]), set("PZNET_CACHE_DIR", path);
  set("PZ_FAIL", word[FAIL]), set("PZ_FAIL_COUNT", word[COUNT]), set("PZ_FAIL_SERVE", "");
  snprintf(path, sizeof path, "%s2", word[SAYS]);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int none = open("/dev/null", O_RDONLY | O_CLOEXEC), out = open(word[SAYS], flags, 0666),
            err = open(path, flags, 0666);
  const bool there = !chdir(word[FOLDER]) && dup2(none, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2;
  close(none), close(out), close(err);
  return there;
}

/* Returns in each copy. A request is a line with tabs between its words; the answer the copy's status, as wait gives it, in a line. */
static void serve(void) {
  char line[16384], *word[WORDS];
  while (read_line(line, sizeof line)) {
    int status = -1;
    const pid_t copy = split(line, word) ? fork() : -1;
    if (!copy && go_there(word)) return;
    if (!copy || (copy > 0 && waitpid(copy, &status, 0) != copy)) break;
    dprintf(1, "%d\n", status);
  }
  syscall(SYS_exit_group, 127);
}

__attribute__((constructor)) static void begin(void) {
  if (getenv("PZ_FAIL_SERVE")) serve();
  dl_iterate_phdr(spare, NULL);
  const char *setting = getenv("PZ_FAIL"), *only = getenv("PZ_FAIL_ONLY");
  count_file = getenv("PZ_FAIL_COUNT");
  if (!setting || (only && strcmp(only, program_invocation_short_name))) return;
  on = sscanf(setting, "%31[a-z]:%ld:%d", kinds, &failing, &code) == 3;
}

/* For a program that fails from a place on: begins anew with this setting, as in PZ_FAIL; NULL: nothing fails any more. Gives the calls so far. */
long pz_fail_set(const char *setting);
long pz_fail_set(const char *setting) {
  const long before = atomic_exchange(&calls, 0);
  n_spared = 0;
  dl_iterate_phdr(spare, NULL); /* more may have been loaded since */
  on = false;
  on = setting && sscanf(setting, "%31[a-z]:%ld:%d", kinds, &failing, &code) == 3;
  return before;
}

/* At the end, by system calls alone. */
__attribute__((destructor)) static void end(void) {
  char text[sizeof kinds * 24];
  int n = 0;
  if (!on || !count_file) return;
  on = false;
  for (const char *k = kinds; *k; k++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%c %ld\n", *k, (long)calls_of[*k - 'a']);
  const long fd = syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd >= 0) syscall(SYS_write, fd, text, (size_t)n), syscall(SYS_close, fd);
}

/* The command ends so, without handlers of libraries. */
void _exit(int status) {
  end();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

/* Whether this call is one that fails; sets errno. */
static bool fails(char kind) {
  if (!on || !strchr(kinds, kind)) return false;
  const long now = atomic_fetch_add(&calls, 1) + 1;
  atomic_fetch_add(&calls_of[kind - 'a'], 1);
  if (!failing || code == -1 || (code == -2 ? now < failing : now != failing)) return false;
  errno = code == -2 ? ENOSPC : code;
  return true;
}

static size_t part(size_t n) { return on && code == -1 && n > 1 ? n > 4096 ? n / 2 : 1 + n / 3 : n; }

#define REAL(type, name, parameters)                                                                         \
  static type(*real) parameters;                                                                             \
  if (!real) {                                                                                               \
    void *symbol = dlsym(RTLD_NEXT, #name);                                                                  \
    memcpy(&real, &symbol, sizeof real);                                                                     \
  }

#define PLAIN(kind, type, none, name, parameters, arguments)                                                 \
  type name parameters;                                                                                      \
  type name parameters {                                                                                     \
    REAL(type, name, parameters)                                                                             \
    return fails(kind) ? none : real arguments;                                                              \
  }

/* Reads and writes, with a size that may be cut. */
#define MOVES(kind, name, parameters, arguments)                                                             \
  ssize_t name parameters;                                                                                   \
  ssize_t name parameters {                                                                                  \
    REAL(ssize_t, name, parameters)                                                                          \
    if (fails(kind)) return -1;                                                                              \
    n = part(n);                                                                                             \
    return real arguments;                                                                                   \
  }

MOVES('w', write, (int fd, const void *data, size_t n), (fd, data, n))
MOVES('w', pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))
MOVES('w', pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at))
MOVES('r', read, (int fd, void *data, size_t n), (fd, data, n))
MOVES('r', pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at))
MOVES('r', pread64, (int fd, void *data, size_t n, off64_t at), (fd, data, n, at))
MOVES('k', copy_file_range, (int from, off64_t *at, int to, off64_t *place, size_t n, unsigned flags),
      (from, at, to, place, n, flags))
PLAIN('w', ssize_t, -1, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
PLAIN('m', void *, MAP_FAILED, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
      (at, n, prot, flags, fd, offset))
PLAIN('m', void *, MAP_FAILED, mmap64, (void *at, size_t n, int prot, int flags, int fd, off64_t offset),
      (at, n, prot, flags, fd, offset))
/* Nobody pulls the plug: what does not fail has nothing to wait for. */
int fsync(int fd) { return (void)fd, fails('s') ? -1 : 0; }
int fdatasync(int fd) { return (void)fd, fails('s') ? -1 : 0; }

PLAIN('t', int, -1, ftruncate, (int fd, off_t n), (fd, n))
PLAIN('t', int, -1, ftruncate64, (int fd, off64_t n), (fd, n))
PLAIN('t', int, -1, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
PLAIN('t', int, -1, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
PLAIN('n', int, -1, rename, (const char *from, const char *to), (from, to))
PLAIN('n', int, -1, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
PLAIN('n', int, -1, link, (const char *from, const char *to), (from, to))
PLAIN('n', int, -1, symlink, (const char *to, const char *path), (to, path))
PLAIN('n', int, -1, unlink, (const char *path), (path))
PLAIN('n', int, -1, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
PLAIN('n', int, -1, rmdir, (const char *path), (path))
PLAIN('d', int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
PLAIN('d', int, -1, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
PLAIN('d', char *, NULL, mkdtemp, (char *path), (path))
PLAIN('b', int, -1, flock, (int fd, int operation), (fd, operation))
PLAIN('p', int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
PLAIN('q', int, -1, fstat, (int fd, struct stat *info), (fd, info))
PLAIN('q', int, -1, fstat64, (int fd, struct stat64 *info), (fd, info))
PLAIN('q', int, -1, stat, (const char *path, struct stat *info), (path, info))
PLAIN('q', int, -1, stat64, (const char *path, struct stat64 *info), (path, info))
PLAIN('l', off_t, -1, lseek, (int fd, off_t at, int from), (fd, at, from))
PLAIN('l', off64_t, -1, lseek64, (int fd, off64_t at, int from), (fd, at, from))
PLAIN('f', int, -1, fsetxattr, (int fd, const char *name, const void *value, size_t n, int flags),
      (fd, name, value, n, flags))
PLAIN('g', ssize_t, -1, getxattr, (const char *path, const char *name, void *value, size_t n),
      (path, name, value, n))
PLAIN('g', ssize_t, -1, fgetxattr, (int fd, const char *name, void *value, size_t n), (fd, name, value, n))
PLAIN('e', struct dirent *, NULL, readdir, (DIR * folder), (folder))
PLAIN('e', struct dirent64 *, NULL, readdir64, (DIR * folder), (folder))

int ioctl(int fd, unsigned long what, ...);
int ioctl(int fd, unsigned long what, ...) {
  REAL(int, ioctl, (int, unsigned long, ...))
  va_list list;
  va_start(list, what);
  void *argument = va_arg(list, void *);
  va_end(list);
  return fails('i') ? -1 : real(fd, what, argument);
}

int posix_fallocate(int fd, off_t at, off_t n);
int posix_fallocate(int fd, off_t at, off_t n) {
  REAL(int, posix_fallocate, (int, off_t, off_t))
  return fails('t') ? errno : real(fd, at, n);
}

/* libc's own writes of a FILE are not seen from here: they fail where it is flushed or closed. */
int fflush(FILE *file);
int fflush(FILE *file) {
  REAL(int, fflush, (FILE *))
  return file && __fpending(file) && fails('w') ? EOF : real(file);
}

int fclose(FILE *file);
int fclose(FILE *file) {
  REAL(int, fclose, (FILE *))
  const bool failed = fails('c');
  const int result = real(file);
  return failed ? (errno = code == -2 ? ENOSPC : code, EOF) : result;
}

int close(int fd);
int close(int fd) {
  REAL(int, close, (int))
  const bool failed = fd > 2 && fails('c');
  const int result = real(fd);
  return failed ? (errno = code == -2 ? ENOSPC : code, -1) : result;
}

FILE *fopen(const char *path, const char *mode);
FILE *fopen(const char *path, const char *mode) {
  REAL(FILE *, fopen, (const char *, const char *))
  return fails('o') ? NULL : real(path, mode);
}

#define OPENS(name, parameters, given)                                                                       \
  int name parameters;                                                                                       \
  int name parameters {                                                                                      \
    REAL(int, name, parameters)                                                                              \
    mode_t mode = 0;                                                                                         \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                                                   \
      va_list list;                                                                                          \
      va_start(list, flags);                                                                                 \
      mode = va_arg(list, mode_t);                                                                           \
      va_end(list);                                                                                          \
    }                                                                                                        \
    const bool wants_room =                                                                                  \
        (flags & O_CREAT) ||                                                                                 \
        (flags & __O_TMPFILE) == __O_TMPFILE; /* a full disk keeps nobody from reading */                    \
    return (code != -2 || wants_room) && fails('o') ? -1 : real given;                                       \
  }
OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPENS(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

/* ---- allocations: libc's own names, so that nothing allocates while a name is looked up ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static bool allocation_fails(const void *caller) {
  const uintptr_t at = (uintptr_t)caller;
  return on && !by_spared(at) && fails('a');
}
#define FAILS allocation_fails(__builtin_return_address(0))

void *malloc(size_t size) { return FAILS ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return FAILS ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return FAILS ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t align, size_t size) { return FAILS ? NULL : __libc_memalign(align, size); }
int posix_memalign(void **out, size_t align, size_t size) {
  void *memory = FAILS ? NULL : __libc_memalign(align, size);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}

char *strdup(const char *text) {
  const size_t n = strlen(text) + 1;
  char *copy = FAILS ? NULL : __libc_malloc(n);
  return copy ? memcpy(copy, text, n) : NULL;
}
