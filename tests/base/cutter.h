/* cutter.h: a thread that cuts a file after some nanoseconds, for tests of readers that must end in a line and not in a signal. */
#ifndef PZ_TESTS_CUTTER_H
#define PZ_TESTS_CUTTER_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef struct cutter {
  const char *path;
  long wait; /* nanoseconds */
  off_t size;
  pthread_t thread;
  atomic_bool runs, go, failed;
} cutter;

static inline void *cutter_thread(void *host) {
  cutter *c = host;
  struct timespec begin, now;
  atomic_store(&c->runs, true);
  while (!atomic_load(&c->go)) {}
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < c->wait);
  atomic_store(&c->failed, truncate(c->path, c->size) != 0);
  return NULL;
}

/* Counts from the moment when it returns: by then the thread runs, however busy the machine is, and it waits without sleeping, since a
 * sleep is longer than most reads. */
static inline bool cutter_begin(cutter *c) {
  if (pthread_create(&c->thread, NULL, cutter_thread, c)) return false;
  while (!atomic_load(&c->runs)) sched_yield();
  atomic_store(&c->go, true);
  return true;
}

/* Whether the file was cut. */
static inline bool cutter_end(cutter *c) {
  return pthread_join(c->thread, NULL) == 0 && !atomic_load(&c->failed);
}

#endif
