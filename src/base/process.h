/* process.h: programs that this process starts, and that end with it. */
#ifndef PZ_BASE_PROCESS_H
#define PZ_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* A program that runs, in a process group of its own, with all that it starts. pid 0: none. */
typedef struct pz_process {
  pid_t pid;
  int life; /* the end of a pipe that this process alone holds: where it ends, however it does, the group is killed */
  double cpu; /* when it has ended: seconds of a processor that it took */
} pz_process;

typedef struct pz_process_place {
  const char *folder;    /* where it runs; NULL: here */
  const char *temporary; /* its TMPDIR; NULL: this process's */
  const char *log;       /* what it prints goes to this file, a path seen from `folder` ... */
  int out;               /* ... or where that is NULL to this descriptor, and errors nowhere */
} pz_process_place;

/* Runs argv, whose first word is a path or found on PATH. Its messages are in English. It starts as one does from a shell: signals that the host
 * blocks or ignores are not. A terminal's Ctrl-C does not reach it. No memory is taken between fork and exec, so that a host may have
 * threads. Returns an error number. */
int pz_process_start(const char *const *argv, const pz_process_place *place, pz_process *p);

/* True when it has ended; then *code is its exit status, 128 + the signal that ended it, or less than 0, an error number's negative: it cannot
 * be waited for. */
bool pz_process_ended(pz_process *p, int *code);

/* Seconds of a processor that it has taken so far, with all that it started; 0 where the system does not say. */
double pz_process_cpu(const pz_process *p);

/* Ends n of them (those with pid 0 are passed over) and all that they started: asks them to, so that they can clear away their files, and does not wait
 * for them longer than a tenth of a second. */
void pz_process_end(pz_process *const *processes, int n);

/* The file that is run by this name: on PATH, or where it says. False, and errno, where there is none. */
bool pz_process_find(const char *program, char *path, size_t size);
/* Whether there is one. */
bool pz_process_known(const char *program);

#endif
