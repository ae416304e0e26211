/* cost_model.c: the table of terms, and the sum that a cost is. */
#include "target/cost_model.h"

#include <string.h>

static const char *const families[] = {
#define FAMILY(id, name) name,
#define TERM(family, id, factor, what)
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
};

static const char *const ids[] = {
#define FAMILY(id, name) #id,
#define TERM(family, id, factor, what)
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
};

static const struct {
  const char *name;
  pz_cost_family family;
} terms[] = {
#define FAMILY(id, name)
#define TERM(family, id, factor, what) {#family "." #id, PZ_FAMILY_##family},
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
};

/* Costs were right within this where they were compared with measurements (doc/notes/2026-11-28-winograd.md); nobody knows of each family. */
#define ERROR 0.25

static const pz_cost_model unfitted = {
    .factor =
        {
#define FAMILY(id, name)
#define TERM(family, id, factor, what) factor,
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
        },
    .error =
        {
#define FAMILY(id, name) ERROR,
#define TERM(family, id, factor, what)
#include "target/cost_terms.inc"
#undef FAMILY
#undef TERM
        },
};

const pz_cost_model *pz_cost_model_default(void) { return &unfitted; }

const char *pz_cost_family_name(pz_cost_family family) { return families[family]; }
const char *pz_cost_family_id(pz_cost_family family) { return ids[family]; }
const char *pz_cost_term_name(pz_cost_term term) { return terms[term].name; }
pz_cost_family pz_cost_family_of(pz_cost_term term) { return terms[term].family; }

bool pz_cost_find_term(const char *name, pz_cost_term *term) {
  for (int i = 0; i < PZ_COST_TERMS; i++)
    if (!strcmp(terms[i].name, name)) return *term = (pz_cost_term)i, true;
  return false;
}

bool pz_cost_find_family(const char *name, pz_cost_family *family) {
  for (int i = 0; i < PZ_COST_FAMILIES; i++)
    if (!strcmp(families[i], name)) return *family = (pz_cost_family)i, true;
  return false;
}

double pz_cost_of_work(const pz_cost_model *model, const pz_work *work) {
  double cost = 0;
  for (int i = 0; i < PZ_COST_TERMS; i++)
    if (work->of[i] > 0) cost += model->factor[i] * work->of[i];
  return cost;
}
