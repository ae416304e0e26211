/* fixture.h: a folder of its own for each test, the database "d" in it, and keys. */
#ifndef PZ_TESTS_TUNE_FIXTURE_H
#define PZ_TESTS_TUNE_FIXTURE_H

#include "unit.h"

#include "tune/tuning.h"

/* setup and teardown: the test's working folder is a new one, and gone afterwards. */
int enter_folder(void **state);
int leave_folder(void **state);

/* Of problems; of texts that tests write. */
#define HASH       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_HASH "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

extern const pz_tuning_key key; /* of our own solvers */

pz_tuning *open_new(const char *path);                           /* for writing; asserts that it works */
void store(pz_tuning *t, const char *candidate, double seconds); /* under `key` */
double seconds_of(pz_tuning *t, const pz_tuning_key *k, const char *candidate); /* 0: not found */
int count_rows(pz_tuning *t, const pz_tuning_key *filter);
void write_bytes(const char *path, const void *bytes, size_t n);
void write_words(const char *path, const char *text);
char *read_words(const char *path); /* free it */
void run_sql(const char *path, const char *text);
void assert_refused(pz_status status, const pz_error *err, pz_status expected, const char *words);

#endif
