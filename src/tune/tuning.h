/* tuning.h: the tuning database: what candidates took on which machine, so that each is measured once (NeoCPU 3.3.1).
 *
 * An SQLite file. A measurement is found under the very key it was stored with, so stale tuning is never used. Several
 * processes may read and write at once: a writer waits up to ten seconds for the others.
 *
 * A cache is no reason to fail: where the database cannot be opened the caller turns the status into a warning and goes on
 * with a NULL pz_tuning, which finds nothing and keeps nothing. Statuses: PZ_ERROR_RUN where the file cannot be opened,
 * read or written; PZ_ERROR_INPUT where it is damaged or no tuning database; PZ_ERROR_USAGE for a key that is none. */
#ifndef PZ_TUNE_TUNING_H
#define PZ_TUNE_TUNING_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/cpu.h"
#include "base/status.h"

typedef struct pz_tuning pz_tuning;

/* Texts: printable ASCII, not empty, at most PZ_TUNING_MOST_... bytes. */
enum {
  PZ_TUNING_HASH = 64, /* digits */
  PZ_TUNING_MOST_PROBLEM = 1024,
  PZ_TUNING_MOST_CANDIDATE = 128,
  PZ_TUNING_MOST_CPU = 128,
  PZ_TUNING_MOST_COMPILER = 256,
  PZ_TUNING_MOST_SOLVERS = 64,
  PZ_TUNING_MOST_THREADS = 4096
};
#define PZ_TUNING_MOST_SECONDS 1e6

/* `problem` is beside the key and no part of it: what a listing shows. */
typedef struct pz_tuning_key {
  const char *hash;     /* 64 hexadecimal digits of the problem on its target (plan/problem.h) */
  const char *problem;  /* its text, cut to PZ_TUNING_MOST_PROBLEM (pz_tuning_text) */
  const char *cpu;      /* pz_tuning_cpu */
  const char *compiler; /* pz_compiler_identity */
  const char *solvers;  /* pz_tuning_solvers */
  int threads;
} pz_tuning_key;

typedef struct pz_tuning_entry {
  pz_tuning_key key;
  const char *candidate; /* "Winograd F(4,4,4)", "direct" */
  double seconds;        /* a run; finite, greater than 0 */
  int64_t measured;      /* when, in seconds since 1970 */
  bool noisy;            /* other work was in the way: worth taking again */
} pz_tuning_entry;

/* The text of a problem as it may be stored: where it is too long, "..." ends it. */
void pz_tuning_text(const char *problem, char out[PZ_TUNING_MOST_PROBLEM + 1]);

/* The database that is used when none is named, in the arena: tuning.sqlite in $PZNET_CACHE_DIR, else
 * $XDG_CACHE_HOME/pznet, else ~/.cache/pznet. PZ_ERROR_RUN where none of them is set. */
pz_status pz_tuning_default_path(pz_arena *arena, const char **path, pz_error *err);

typedef enum pz_tuning_mode {
  PZ_TUNING_READ, /* nothing is made: where the default database is not there, PZ_OK and *tuning is NULL */
  PZ_TUNING_WRITE /* makes the database, and for the default one its folder (mode 0700) */
} pz_tuning_mode;

/* path NULL: the default. A database that may only be read opens in both modes; storing in it fails. On success the caller
 * closes *tuning, on failure it is NULL. A pz_tuning is used by one thread at a time. */
pz_status pz_tuning_open(const char *path, pz_tuning_mode mode, pz_tuning **tuning, pz_error *err);
void pz_tuning_close(pz_tuning *tuning); /* NULL is fine */
const char *pz_tuning_path(const pz_tuning *tuning);

/* *found and, where found, *seconds. */
pz_status pz_tuning_find(pz_tuning *tuning, const pz_tuning_key *key, const char *candidate, double *seconds,
                         bool *found, pz_error *err);
/* Replaces what was stored under the key; but a noisy time takes no quiet one's place. */
pz_status pz_tuning_store(pz_tuning *tuning, const pz_tuning_key *key, const char *candidate, double seconds,
                          bool noisy, pz_error *err);

/* Calls visit for each measurement that agrees with the filter, in the order of problem, machine and seconds. Of the
 * filter NULL and 0 stand for any, and its problem is not looked at; NULL: all. The entry lives for the call, which must not change the database; a
 * status other than PZ_OK ends the list and is returned. */
typedef pz_status (*pz_tuning_visit)(void *host, const pz_tuning_entry *entry, pz_error *err);
pz_status pz_tuning_list(pz_tuning *tuning, const pz_tuning_key *filter, pz_tuning_visit visit, void *host,
                         pz_error *err);

/* All measurements as JSON lines, an object a line with the fields problem, candidate, seconds, threads, cpu, compiler,
 * solvers, measured, hash, and, where it is, noisy. The file appears whole or not at all. *count: lines. */
pz_status pz_tuning_export(pz_tuning *tuning, const char *file, int64_t *count, pz_error *err);

/* What pz_tuning_export wrote, here or elsewhere; all of it or nothing. Where both have a measurement the one that is not noisy stays, else the
 * newer one.
 * A bad line: PZ_ERROR_INPUT with file:line:column. */
pz_status pz_tuning_import(pz_tuning *tuning, const char *file, pz_tune_counts *counts, pz_error *err);

/* Removes all measurements, or those of other solvers than `keep` (NULL: none is kept). *removed: how many, -1 where the
 * database was damaged: it is then removed whole, if it is one by its header or by its name tuning.sqlite; with `keep`
 * it is refused. path as for pz_tuning_open. */
pz_status pz_tuning_clear(const char *path, const char *keep, int64_t *removed, pz_error *err);

/* ---- parts of a key ---- */

/* The CPU's model, its family, model and stepping (one brand string may stand for several), the instruction set, and the target that was planned for
 * where that is not the CPU itself (else NULL): schedules follow its caches. */
#define PZ_TUNING_CPU_TEXT (PZ_TUNING_MOST_CPU + 1)
void pz_tuning_cpu(pz_isa isa, const char *target, char out[PZ_TUNING_CPU_TEXT]);

/* The solvers' signature: 16 hexadecimal digits of a SHA-256 over the version and the source of the kernels, the planner
 * and the emitter, made when pznet is built. A static string. */
const char *pz_tuning_solvers(void);

#endif
