/* cutter.h: a file that is cut in front of the program's own k-th read of anything, for tests of readers that must end in a line and not in
 * a signal. Its functions stand in for the C library's, libraries call them too: for one file of a program only. */
#ifndef PZ_TESTS_CUTTER_H
#define PZ_TESTS_CUTTER_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static struct {
  const char *path;
  off_t size; /* what is left of it */
  int reads;  /* that come first */
} cutter;

static void cutter_sees_read(void) {
  if (!cutter.path || cutter.reads-- > 0) return;
  if (truncate(cutter.path, cutter.size)) abort();
  cutter.path = NULL;
}

ssize_t read(int fd, void *to, size_t size) {
  cutter_sees_read();
  return syscall(SYS_read, fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t at) {
  cutter_sees_read();
  return syscall(SYS_pread64, fd, to, size, at);
}

ssize_t pread64(int fd, void *to, size_t size, off_t at) { return pread(fd, to, size, at); }

static inline void cutter_begin(const char *path, int reads, off_t size) {
  cutter.reads = reads, cutter.size = size, cutter.path = path;
}

/* Whether the file was cut; if not, all reads were done before. */
static inline bool cutter_end(void) {
  const bool cut = !cutter.path;
  cutter.path = NULL;
  return cut;
}

#endif
