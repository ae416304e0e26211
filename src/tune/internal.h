/* internal.h: inside the module. */
#ifndef PZ_TUNE_INTERNAL_H
#define PZ_TUNE_INTERNAL_H

#include "tune/tuning.h"

#include <sqlite3.h>

#define PZ_TUNING_FILE "tuning.sqlite"

/* What a file turned out to be. */
typedef enum pz_tuning_condition {
  PZ_TUNING_GOOD,
  PZ_TUNING_MISSING,
  PZ_TUNING_UNUSABLE, /* cannot be opened, busy, out of memory */
  PZ_TUNING_DAMAGED,  /* or of another version of pznet */
  PZ_TUNING_FOREIGN   /* another program's */
} pz_tuning_condition;

struct pz_tuning {
  pz_arena *arena;
  const char *path;
  bool named; /* the path was given: messages repeat it */
  sqlite3 *db;
  pz_tuning_condition condition;
};

/* Finds the path and opens what is there; *tuning is made, and the caller's to close, whatever the status is, unless memory
 * runs out. */
pz_status pz_tuning_examine(const char *path, pz_tuning_mode mode, pz_tuning **tuning, pz_error *err);

/* The message for the last failure of t->db. Sets the condition where it tells of damage. */
pz_status pz_tuning_sql_fail(pz_tuning *t, pz_error *err);
pz_status pz_tuning_sql(pz_tuning *t, const char *text, pz_error *err);
/* The one integer that a statement gives. */
pz_status pz_tuning_sql_number(pz_tuning *t, const char *text, int64_t *number, pz_error *err);

/* The statement that stores an entry, and its step. An entry that is as noisy as what is there, and not newer, is stored with `always` alone; one
 * that is noisier never is. */
sqlite3_stmt *pz_tuning_prepare_store(pz_tuning *t, bool always);
bool pz_tuning_step_store(sqlite3_stmt *statement, const pz_tuning_entry *entry);

/* False where a field of the entry is none: its name and what is expected of it. */
typedef struct pz_tuning_fault {
  const char *field;
  char expected[96];
} pz_tuning_fault;
bool pz_tuning_check(const pz_tuning_entry *entry, pz_tuning_fault *fault);

#endif
