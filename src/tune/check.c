/* check.c: what a measurement must be, wherever it comes from: the planner, an imported file, the database itself. */
#include "tune/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_text(const char *s, size_t most) {
  size_t n = 0;
  for (; s && s[n] && n <= most; n++)
    if (s[n] < 0x20 || s[n] > 0x7e) return false;
  return n > 0 && n <= most;
}

static bool is_hash(const char *s) {
  return s && strlen(s) == PZ_TUNING_HASH && strspn(s, "0123456789abcdef") == PZ_TUNING_HASH;
}

bool pz_tuning_check(const pz_tuning_entry *e, pz_tuning_fault *fault) {
  const struct {
    const char *name, *text;
    int most;
  } texts[] = {{"problem", e->key.problem, PZ_TUNING_MOST_PROBLEM},
               {"candidate", e->candidate, PZ_TUNING_MOST_CANDIDATE},
               {"cpu", e->key.cpu, PZ_TUNING_MOST_CPU},
               {"compiler", e->key.compiler, PZ_TUNING_MOST_COMPILER},
               {"solvers", e->key.solvers, PZ_TUNING_MOST_SOLVERS}};
  *fault = (pz_tuning_fault){0};
  if (!is_hash(e->key.hash)) {
    fault->field = "hash";
    snprintf(fault->expected, sizeof fault->expected, "%d lower-case hexadecimal digits", PZ_TUNING_HASH);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts && !fault->field; i++) {
    if (is_text(texts[i].text, (size_t)texts[i].most)) continue;
    fault->field = texts[i].name;
    snprintf(fault->expected, sizeof fault->expected, "1 to %d printable ASCII characters", texts[i].most);
  }
  if (fault->field) return false;
  if (e->key.threads < 1 || e->key.threads > PZ_TUNING_MOST_THREADS) {
    fault->field = "threads";
    snprintf(fault->expected, sizeof fault->expected, "a whole number from 1 to %d", PZ_TUNING_MOST_THREADS);
  } else if (!isfinite(e->seconds) || e->seconds <= 0 || e->seconds > PZ_TUNING_MOST_SECONDS) {
    fault->field = "seconds";
    snprintf(fault->expected, sizeof fault->expected, "a number greater than 0 and at most %g",
             PZ_TUNING_MOST_SECONDS);
  } else if (e->measured < 0) {
    fault->field = "measured";
    snprintf(fault->expected, sizeof fault->expected, "seconds since 1970, at least 0");
  }
  return !fault->field;
}

void pz_tuning_text(const char *problem, char out[PZ_TUNING_MOST_PROBLEM + 1]) {
  const int written = snprintf(out, PZ_TUNING_MOST_PROBLEM + 1, "%s", problem);
  if (written > PZ_TUNING_MOST_PROBLEM) strcpy(out + PZ_TUNING_MOST_PROBLEM - 3, "...");
}
