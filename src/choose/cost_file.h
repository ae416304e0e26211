/* cost_file.h: fits of cost models, kept beside the tuning database that they were made from: one for each CPU, instruction set and number of threads. */
#ifndef PZ_CHOOSE_COST_FILE_H
#define PZ_CHOOSE_COST_FILE_H

#include "base/arena.h"
#include "base/status.h"
#include "target/cost_model.h"

#define PZ_COST_FILE ".costs" /* behind the database's path */

typedef struct pz_cost_fit {
  const char *cpu;                       /* as the tuning database spells it (tune/tuning.h) */
  int32_t threads, problems, candidates; /* that it was made from */
  pz_cost_model model;
} pz_cost_fit;

typedef struct pz_cost_fits {
  pz_cost_fit *list; /* in the arena */
  int32_t n;
} pz_cost_fits;

/* No file: none. A file that is none of these: PZ_ERROR_INPUT. Terms that this pznet has not are left out, those that the file has not have the default
 * model's factors. */
pz_status pz_cost_file_read(const char *path, pz_arena *arena, pz_cost_fits *fits, pz_error *err);
/* The file appears whole or not at all; equal fits give equal bytes. */
pz_status pz_cost_file_write(const char *path, const pz_cost_fits *fits, pz_error *err);
/* A fit takes the place of that of its CPU and threads. The fits have room for one more. */
void pz_cost_fits_put(pz_cost_fits *fits, const pz_cost_fit *fit);
/* Of the CPU, with the number of threads that is nearest; NULL: none. */
const pz_cost_fit *pz_cost_fits_find(const pz_cost_fits *fits, const char *cpu, int32_t threads);
/* The model as a row for target/cost_models.inc, `name` for the C name: appended. */
pz_status pz_cost_model_print(const pz_cost_fit *fit, const char *name, pz_text *out, pz_error *err);

#endif
