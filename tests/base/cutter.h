/* cutter.h: a thread that cuts a file after some nanoseconds, for tests of readers that must end in a line and not in a signal. */
#ifndef PZ_TESTS_CUTTER_H
#define PZ_TESTS_CUTTER_H

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef struct cutter {
  const char *path;
  long wait; /* nanoseconds */
  off_t size;
} cutter;

/* A thread's function, of a cutter. NULL: the file was cut. It waits without sleeping, since a sleep is longer than most reads. */
static inline void *cut(void *host) {
  const cutter *c = host;
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < c->wait);
  return truncate(c->path, c->size) == 0 ? NULL : host;
}

#endif
