/* tune_rows.c: what the tuning database has of this machine, as rows of a fit. A measurement names its problem by a text and its candidate by a label: the
 * problem is parsed, its candidates are found anew, and what their solvers count now is the row. A text that means another problem than the one that was
 * measured, or on another target, has another hash, and is left out. What the database holds is hostile. */
#include "api/tune_rows.h"
#include "choose/choose.h"
#include "plan/solver.h"

#include <stdlib.h>
#include <string.h>

/* The measurements of one problem, on one machine, come together. */
typedef struct reader {
  pz_fit_rows *all;
  pz_arena *arena; /* of the rows */
  bool stale;
  pz_arena *scratch; /* of the problem that was read last: */
  char hash[PZ_DIGEST_TEXT], cpu[PZ_TUNING_CPU_TEXT], compiler[PZ_TUNING_MOST_COMPILER + 1],
      solvers[PZ_TUNING_MOST_SOLVERS + 1];
  int32_t threads;
  bool begins;         /* no row of it was added yet */
  pz_fit_group *group; /* NULL: it is none of a fit */
  pz_problem problem;
  pz_target target;
  pz_candidates candidates;
  const char *text; /* in the rows' arena */
  int32_t fold;
} reader;

/* ---- problems ---- */

/* The problem is one that the graph could have: as many operands as its operator takes, of shapes that go together. */
static bool is_sound(const pz_problem *p) {
  pz_graph *g = NULL;
  pz_error err = {0};
  bool sound = (p->op == PZ_OP_CONV || p->op == PZ_OP_DECONV) && p->n_out == 1 && p->out[0].present &&
               p->n_in == PZ_CONV_INPUTS;
  if (!sound || pz_graph_new("fit", &g, &err) != PZ_OK) return false;
  pz_tensor_id in[PZ_CONV_INPUTS], out;
  pz_node node = pz_node_new(p->op);
  node.name = "node", node.attr = p->attr, node.in = in, node.n_in = p->n_in;
  for (int32_t i = 0; i < p->n_in && sound; i++) {
    char name[16] = "input_";
    name[5] = (char)('a' + i);
    in[i] = PZ_NONE;
    sound = p->in[i].same <= i && p->in[i].same >= 0;
    if (sound && p->in[i].present)
      sound = pz_graph_add_input(g, name, &p->in[i].shape, &in[i], &err) == PZ_OK;
  }
  const char *made = "result";
  sound = sound && p->in[PZ_CONV_X].present && p->in[PZ_CONV_WEIGHT].present &&
          pz_graph_add_node(g, &node, 1, &made, &out, &err) == PZ_OK &&
          pz_shape_equal(&g->tensors[out].shape, &p->out[0].shape);
  pz_graph_free(g);
  return sound;
}

/* Problems that differ in what no candidate's time depends on are in one fold: by their shapes. */
static int32_t fold_of(const pz_problem *p) {
  uint64_t h = UINT64_C(14695981039346656037);
  const pz_shape *shapes[] = {&p->in[PZ_CONV_X].shape, &p->in[PZ_CONV_WEIGHT].shape, &p->out[0].shape};
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
    for (int32_t i = 0; i < shapes[k]->rank; i++)
      h = (h ^ (uint64_t)shapes[k]->dim[i]) * UINT64_C(1099511628211);
  return (int32_t)((h >> 20) % PZ_FIT_FOLDS);
}

/* ", layer 3 of network 0123456789abcdef" behind the text, or its end. */
static const char *where_of(const char *text) {
  const char *where = strstr(text, ", layer ");
  return where ? where : text + strlen(text);
}

/* Among the targets that this machine is planned for with an instruction set, the one that the hash is of. */
static bool find_target(const pz_problem *p, const char *where, const pz_tuning_key *key, pz_isa isa,
                        pz_target *target) {
  const pz_target host = pz_target_host(), targets[] = {host, pz_target_as(isa)};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    char hash[PZ_DIGEST_TEXT];
    pz_text text = {0};
    pz_error err = {0};
    *target = targets[i];
    target->block = target->vector_width;
    target->workers = key->threads;
    const bool same = pz_target_isa(target) == isa &&
                      pz_problem_key(p, target, where, &text, hash, &err) == PZ_OK &&
                      !strcmp(hash, key->hash);
    pz_text_free(&text);
    if (same) return true;
  }
  return false;
}

/* ---- groups ---- */

static pz_status grow(pz_arena *arena, void **list, int32_t n, int32_t *capacity, size_t size,
                      pz_error *err) {
  if (n < *capacity) return PZ_OK;
  const int32_t more = *capacity ? 2 * *capacity : 16;
  char *moved = PZ_NEW(arena, char, (size_t)more *size);
  if (!moved) return pz_fail_memory(err, "measurements", (size_t)more * size);
  if (n) memcpy(moved, *list, (size_t)n * size);
  *list = moved, *capacity = more;
  return PZ_OK;
}

/* False: it is of another CPU, or of a row of the table of cores. */
static bool isa_of(const char *cpu, pz_isa *isa) {
  for (int32_t i = 0; i < PZ_ISA_COUNT; i++) {
    char own[PZ_TUNING_CPU_TEXT];
    pz_tuning_cpu((pz_isa)i, NULL, own);
    if (!strcmp(own, cpu)) return *isa = (pz_isa)i, true;
  }
  return false;
}

static pz_status find_group(reader *r, pz_isa isa, pz_error *err) {
  pz_fit_rows *all = r->all;
  for (int32_t i = 0; i < all->n; i++)
    if (all->groups[i].isa == isa && all->groups[i].threads == r->threads)
      return r->group = &all->groups[i], PZ_OK;
  PZ_TRY(grow(r->arena, (void **)&all->groups, all->n, &all->capacity, sizeof *all->groups, err));
  r->group = &all->groups[all->n++];
  *r->group = (pz_fit_group){.isa = isa, .threads = r->threads, .target = r->target};
  strcpy(r->group->cpu, r->cpu);
  return PZ_OK;
}

/* ---- measurements ---- */

static pz_status begin_problem(reader *r, const pz_tuning_entry *e, pz_error *err) {
  pz_error why = {0};
  pz_isa isa;
  strcpy(r->hash, e->key.hash);
  strcpy(r->cpu, e->key.cpu);
  strcpy(r->compiler, e->key.compiler);
  strcpy(r->solvers, e->key.solvers);
  r->threads = e->key.threads, r->group = NULL, r->begins = true;
  pz_arena_free(r->scratch);
  r->scratch = pz_arena_new();
  const char *where = where_of(e->key.problem);
  char *text =
      r->scratch ? pz_arena_strndup(r->scratch, e->key.problem, (size_t)(where - e->key.problem)) : NULL;
  if (!text) return pz_fail_memory(err, "measurements", PZ_TUNING_MOST_PROBLEM);
  if (!isa_of(e->key.cpu, &isa)) return PZ_OK;
  if (pz_problem_parse(text, r->scratch, &r->problem, &why) != PZ_OK || !is_sound(&r->problem) ||
      !find_target(&r->problem, where, &e->key, isa, &r->target))
    return PZ_OK;
  PZ_TRY(pz_candidates_of(&r->problem, &r->target, r->scratch, &r->candidates, err));
  r->fold = fold_of(&r->problem);
  r->text = pz_arena_strdup(r->arena, e->key.problem);
  if (!r->text) return pz_fail_memory(err, "measurements", PZ_TUNING_MOST_PROBLEM);
  return find_group(r, isa, err);
}

static const pz_candidate *find_candidate(const reader *r, const char *label) {
  for (int32_t i = 0; i < r->candidates.n; i++)
    if (!strcmp(r->candidates.list[i].label, label)) return &r->candidates.list[i];
  return NULL;
}

static pz_status add_row(reader *r, const pz_candidate *c, double seconds, pz_error *err) {
  pz_fit_group *g = r->group;
  PZ_TRY(grow(r->arena, (void **)&g->rows, g->n, &g->capacity, sizeof *g->rows, err));
  const pz_query q = {&r->problem, &r->target, c->parameters};
  pz_fit_row *row = &g->rows[g->n];
  row->problem = g->n ? g->rows[g->n - 1].problem + r->begins : 0;
  row->fold = r->fold, row->family = c->solver->family, row->seconds = seconds;
  row->text = r->text, row->label = pz_arena_strdup(r->arena, c->label);
  if (!row->label) return pz_fail_memory(err, "measurements", sizeof *row);
  pz_candidate_work(c->solver, &q, &row->work);
  g->n++, r->begins = false;
  return PZ_OK;
}

/* What compilers or pznets of other solvers measured of a problem is beside what these did, not among it. */
static bool is_of_same(const reader *r, const pz_tuning_key *key) {
  return !strcmp(key->hash, r->hash) && !strcmp(key->cpu, r->cpu) && key->threads == r->threads &&
         !strcmp(key->compiler, r->compiler) && !strcmp(key->solvers, r->solvers);
}

static pz_status visit(void *host, const pz_tuning_entry *e, pz_error *err) {
  reader *r = host;
  pz_fit_rows *all = r->all;
  pz_isa isa;
  all->read++;
  if (!isa_of(e->key.cpu, &isa)) {
    all->other_cpus++;
    strcpy(all->other_cpu, e->key.cpu);
    return PZ_OK;
  }
  if (!r->stale && strcmp(e->key.solvers, pz_tuning_solvers()) != 0) return all->stale++, PZ_OK;
  if (e->noisy) return all->noisy++, PZ_OK;
  if (!is_of_same(r, &e->key)) PZ_TRY(begin_problem(r, e, err));
  const pz_candidate *c = r->group ? find_candidate(r, e->candidate) : NULL;
  if (!c || !c->solver->work) return all->others++, PZ_OK;
  return add_row(r, c, e->seconds, err);
}

pz_status pz_fit_rows_of(pz_tuning *tuning, bool stale, pz_arena *arena, pz_fit_rows *rows, pz_error *err) {
  reader r = {.all = rows, .arena = arena, .stale = stale};
  *rows = (pz_fit_rows){.read = 0};
  const pz_status status = pz_tuning_list(tuning, NULL, visit, &r, err);
  pz_arena_free(r.scratch);
  return status;
}
