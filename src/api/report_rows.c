/* report_rows.c: the rows of the page: a plan's steps, those of one layer (its bands) as one, and what share each has. */
#include "api/report.h"

#include <math.h>
#include <string.h>

static void add(pz_json *j, json_t *to, const json_t *from, const char *key) {
  pz_json_set(j, to, key, pz_json_real(pz_json_number(to, key) + pz_json_number(from, key)));
}

/* "from" of a step, as rows; what is no step before it is left out. */
static void add_sources(pz_page *page, json_t *row, const json_t *from, int32_t step) {
  json_t *all = json_object_get(row, "from");
  const json_t *source;
  size_t i;
  json_array_foreach(from, i, source) {
    const json_int_t v = json_is_integer(source) ? json_integer_value(source) : INT32_MAX;
    if (v < step)
      pz_json_append(&page->json, all, json_integer(v < 0 ? v : (json_int_t)page->row_of_step[v]));
  }
}

static json_t *new_row(pz_json *j, const json_t *step) {
  json_t *row = json_object();
  pz_json_update(j, row, step);
  pz_json_set(j, row, "from", json_array());
  pz_json_set(j, row, "steps", json_integer(1));
  return row;
}

static void grow_row(pz_json *j, json_t *row, const json_t *step) {
  static const char *const sums[] = {"multiply_adds", "multiply_adds_done", "bytes", "cost"};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) add(j, row, step, sums[i]);
  pz_json_set(j, row, "steps", json_integer(json_integer_value(json_object_get(row, "steps")) + 1));
}

/* The row of a step that was not there yet, or of its layer and operator. `known`: {"operator layer": row}. */
static pz_status place_step(pz_page *page, json_t *known, const json_t *step, int32_t i, pz_error *err) {
  const char *key =
      pz_arena_printf(page->arena, "%s %s", pz_json_text(step, "op"), pz_json_text(step, "layer"));
  const json_t *at = key ? json_object_get(known, key) : NULL;
  if (at) page->row_of_step[i] = (int32_t)json_integer_value(at);
  else {
    page->row_of_step[i] = (int32_t)json_array_size(page->rows);
    if (!key) return pz_fail_memory(err, "the page", 64);
    pz_json_append(&page->json, page->rows, new_row(&page->json, step));
    pz_json_set(&page->json, known, key, json_integer(page->row_of_step[i]));
    /* A row that is not whole may share its sources with the step itself: nothing is added to it. */
    PZ_TRY(pz_json_end(&page->json, "the page", err));
  }
  json_t *row = json_array_get(page->rows, (size_t)page->row_of_step[i]);
  if (at) grow_row(&page->json, row, step);
  add_sources(page, row, json_object_get(step, "from"), i);
  return PZ_OK;
}

static pz_status place_steps(pz_page *page, const json_t *plan, pz_error *err) {
  json_t *known = json_object();
  const json_t *step;
  pz_status status = known ? PZ_OK : pz_fail_memory(err, "the page", 64);
  size_t i;
  json_array_foreach(plan, i, step) {
    if (status != PZ_OK) break;
    status = place_step(page, known, step, (int32_t)i, err);
  }
  json_decref(known);
  return status;
}

/* ---- times ---- */

static void find_rates(pz_page *page) {
  const double peak = pz_json_number(page->bench, "peak_gflops");
  json_t *t;
  size_t i;
  json_array_foreach(page->times, i, t) {
    const json_t *row = json_array_get(page->rows, i);
    const double flops = 2e-6 / fmax(pz_json_number(t, "milliseconds"), 1e-9);
    const double done = flops * pz_json_number(row, "multiply_adds_done");
    pz_json_set(&page->json, t, "gflops", pz_json_real(flops * pz_json_number(row, "multiply_adds")));
    pz_json_set(&page->json, t, "percent_of_algorithm", pz_json_real(peak > 0 ? 100 * done / peak : 0));
  }
}

static pz_status find_times(pz_page *page, pz_error *err) {
  const json_t *layers = json_object_get(page->bench, "layers");
  if (!page->bench) return PZ_OK;
  page->times = json_array();
  for (size_t i = 0; i < json_array_size(page->rows); i++)
    pz_json_append(&page->json, page->times, json_object());
  for (int32_t i = 0; i < page->n_steps; i++)
    add(&page->json, json_array_get(page->times, (size_t)page->row_of_step[i]),
        json_array_get(layers, (size_t)i), "milliseconds");
  find_rates(page);
  return pz_json_end(&page->json, "the page", err);
}

/* ---- shares ---- */

/* Times; else what the algorithm is expected to cost, in multiply-adds, and 4 a byte where the layer only moves data: about
 * what a core multiplies while it fetches one from memory. */
static double weight_of(const pz_page *page, const json_t *row, size_t i) {
  if (page->times) return pz_json_number(json_array_get(page->times, i), "milliseconds");
  const double cost = pz_json_number(row, "cost"), done = pz_json_number(row, "multiply_adds_done");
  return fmax(cost > 0 ? cost : done, 4 * pz_json_number(row, "bytes"));
}

static pz_status find_shares(pz_page *page, pz_error *err) {
  const json_t *row;
  double sum = 0;
  size_t i;
  page->shares = PZ_NEW(page->arena, double, json_array_size(page->rows) + 1);
  if (!page->shares) return pz_fail_memory(err, "the page", json_array_size(page->rows) * 8);
  json_array_foreach(page->rows, i, row) {
    const double weight = weight_of(page, row, i);
    page->shares[i] = weight > 0 && weight < 1e18 ? weight : 0;
    sum += page->shares[i];
  }
  for (i = 0; i < json_array_size(page->rows); i++) {
    if (sum > 0) page->shares[i] /= sum;
    page->largest_share = fmax(page->largest_share, page->shares[i]);
  }
  return PZ_OK;
}

pz_status pz_page_find_rows(pz_page *page, pz_error *err) {
  const json_t *plan = json_object_get(page->manifest, "plan");
  if (json_array_size(plan) > PZ_MAX_TENSORS)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its manifest is damaged", page->path);
  page->n_steps = (int32_t)json_array_size(plan);
  page->rows = json_array();
  page->row_of_step = PZ_NEW(page->arena, int32_t, (size_t)page->n_steps + 1);
  if (!page->rows || !page->row_of_step) return pz_fail_memory(err, "the page", (size_t)page->n_steps * 4);
  PZ_TRY(place_steps(page, plan, err));
  PZ_TRY(find_times(page, err));
  return find_shares(page, err);
}
