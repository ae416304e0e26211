#include "fail_alloc.h"
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic long counted, failing; /* failing: 0 none */
static _Atomic bool reached;

void pz_fail_alloc_at(long n) {
  reached = false;
  counted = 0;
  failing = n;
}

bool pz_fail_alloc_end(void) {
  failing = 0;
  return reached;
}

long pz_fail_alloc_count(void) { return counted; }

bool pz_fail_loop_next(pz_fail_loop *loop) {
  bool failed = pz_fail_alloc_end();
  if (loop->n > 0 && !failed) return false;
  pz_fail_alloc_at(++loop->n);
  return true;
}

static bool fails(void) {
  long n = atomic_fetch_add(&counted, 1) + 1;
  if (n != failing) return false;
  reached = true;
  errno = ENOMEM;
  return true;
}

/* WRAP(result, value on failure, name, parameters, arguments) */
#define WRAP(type, none, name, parameters, arguments)                                                        \
  type __real_##name parameters;                                                                             \
  type __wrap_##name parameters;                                                                             \
  type __wrap_##name parameters { return fails() ? none : __real_##name arguments; }

WRAP(void *, NULL, malloc, (size_t size), (size))
WRAP(void *, NULL, calloc, (size_t count, size_t size), (count, size))
WRAP(void *, NULL, realloc, (void *old, size_t size), (old, size))
WRAP(void *, NULL, aligned_alloc, (size_t align, size_t size), (align, size))
WRAP(int, ENOMEM, posix_memalign, (void **out, size_t align, size_t size), (out, align, size))
WRAP(char *, NULL, strdup, (const char *s), (s))
WRAP(char *, NULL, strndup, (const char *s, size_t n), (s, n))

/* realpath allocates only where it is not handed a buffer. */
char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out) {
  return !out && fails() ? NULL : __real_realpath(path, out);
}
