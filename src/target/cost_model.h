/* cost_model.h: what candidates are expected to take: amounts that their solvers count, times the factors of a core. Data: the terms are rows of
 * cost_terms.inc, the factors those of a row of the table of cores, or of a fit of this CPU's own measurements. */
#ifndef PZ_TARGET_COST_MODEL_H
#define PZ_TARGET_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pz_cost_family {
#define FAMILY(id, name) PZ_FAMILY_##id,
#define TERM(family, id, factor, what)
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
  PZ_COST_FAMILIES
} pz_cost_family;

typedef enum pz_cost_term {
#define FAMILY(id, name)
#define TERM(family, id, factor, what) PZ_TERM_##family##_##id,
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
  PZ_COST_TERMS
} pz_cost_term;

/* The amounts of a candidate, by term; none is negative. */
typedef struct pz_work {
  double of[PZ_COST_TERMS];
} pz_work;

typedef struct pz_cost_model {
  double factor
      [PZ_COST_TERMS]; /* by term: what one takes, in multiply-adds of vectors at peak; none is negative */
  /* By family: the standard deviation of ln(measured / expected) of candidates beside the others of their problem. */
  double error[PZ_COST_FAMILIES];
  double seconds; /* of the unit; 0: not known */
  int32_t block;  /* channels in a block of the layouts that it is of; 0: of any */
} pz_cost_model;

/* The model of cores that nobody has fitted: the factors of cost_terms.inc. */
const pz_cost_model *pz_cost_model_default(void);

/* "Winograd", "winograd", "winograd.inputs" */
const char *pz_cost_family_name(pz_cost_family family);
const char *pz_cost_family_id(pz_cost_family family);
const char *pz_cost_term_name(pz_cost_term term);
pz_cost_family pz_cost_family_of(pz_cost_term term);
/* By its name; false: there is none. */
bool pz_cost_find_term(const char *name, pz_cost_term *term);
bool pz_cost_find_family(const char *name, pz_cost_family *family);

/* The sum of amounts times factors. */
double pz_cost_of_work(const pz_cost_model *model, const pz_work *work);

#endif
