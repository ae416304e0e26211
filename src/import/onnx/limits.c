/* limits.c: what constants may take: memory, by what the machine has; and, since a small file can ask for large constants, memory
 * and work in proportion to what the file holds. */
#include "base/memory.h"
#include "import/onnx/onnx.h"
#include <string.h>

int64_t pz_onnx_words(pz_onnx_type type, int64_t elements) {
  const bool wide = type == PZ_ONNX_DOUBLE || !pz_onnx_is_floating(type);
  return wide && elements < INT64_MAX / 2 ? 2 * elements : elements;
}

/* What is still to be read from the file, without the value `name`, which is being read. */
static double words_to_come(const pz_onnx *c, const char *name) {
  double words = 0;
  for (int32_t i = 0; i < c->n_values; i++)
    if (c->values[i].stored && strcmp(c->values[i].name, name))
      words += (double)pz_onnx_words((pz_onnx_type)c->values[i].stored->type, c->values[i].stored->elements);
  return words;
}

int64_t pz_onnx_constants(const pz_onnx *c) { return c->weights > c->elements ? c->weights : c->elements; }
int64_t pz_onnx_memory(const pz_onnx *c) {
  return pz_times(PZ_ONNX_SHARE * (int64_t)sizeof(float), c->max_elements);
}

void pz_onnx_count_weights(pz_onnx *c, const bool *needed) {
  const pz_onnx_graph *g = &c->model.graph;
  for (int32_t n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; needed[n] && i < g->nodes[n].n_in; i++) {
      const int32_t at = *g->nodes[n].in[i] ? pz_onnx_find_value(c, g->nodes[n].in[i]) : -1;
      pz_onnx_value *v = at >= 0 ? &c->values[at] : NULL;
      if (!v || v->counted || !v->stored || !pz_onnx_is_floating((pz_onnx_type)v->stored->type)) continue;
      v->counted = true;
      c->weights = pz_plus(c->weights, v->stored->elements);
    }
}

static const char *size_text(double bytes, char out[32]) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  for (; bytes >= 999.95 && unit < 5; unit++) bytes /= 1000;
  snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return out;
}

pz_status pz_onnx_take_elements(pz_onnx *c, const char *name, int64_t elements) {
  char need[32], have[32], would[32];
  if (elements <= c->max_elements - c->elements) {
    c->elements += elements;
    return PZ_OK;
  }
  const double bytes = sizeof(float) * ((double)c->elements + (double)elements + words_to_come(c, name));
  return pz_fail(
      c->err, PZ_ERROR_INPUT,
      "%s: '%.200s': the model's constants take %s at least, and may take %s here, one part in %d of the "
      "memory: a machine with %s would do",
      c->file, name, size_text(bytes, need), size_text(sizeof(float) * (double)c->max_elements, have),
      PZ_ONNX_SHARE, size_text(PZ_ONNX_SHARE * bytes, would));
}

/* What is computed may be larger than what the file holds, but not out of proportion to it: so a model that is refused in the
 * end has cost less than a gigabyte. */
#define FREE_WORDS     200000000 /* networks of constant weights have that many: VGG 19 */
#define FREE_NUMBERS   (1 << 24) /* doubles at a time */
#define FREE_WORK      1e9
#define MADE_OF_STORED 8

static int64_t of_stored(const pz_onnx *c, int64_t given) {
  return given + (c->stored < INT64_MAX / 16 ? MADE_OF_STORED * c->stored : INT64_MAX / 2);
}

pz_status pz_onnx_take_made(pz_onnx *c, int64_t words) {
  char most[32];
  if (words <= of_stored(c, FREE_WORDS) - c->made) {
    c->made += words;
    return PZ_OK;
  }
  return pz_fail(
      c->err, PZ_ERROR_INPUT,
      "%s: '%.200s': the constants that nodes compute up to here take more than %s, 8 times what the "
      "file holds and 800 MB: store them as initialisers",
      c->file, c->node_name, size_text(sizeof(float) * (double)of_stored(c, FREE_WORDS), most));
}

pz_status pz_onnx_take_work(pz_onnx *c, double work, double elements) {
  const double most = FREE_WORK + 64.0 * (double)c->stored;
  char need[32];
  if (elements * 2 > (double)(c->max_elements - c->elements) || elements > (double)of_stored(c, FREE_NUMBERS))
    return pz_fail(c->err, PZ_ERROR_INPUT,
                   "%s: '%.200s': computing this constant takes %s at once, too much for a file of "
                   "this size: store it as an initialiser",
                   c->file, c->node_name, size_text(8 * elements, need));
  c->work += work;
  if (c->work <= most) return PZ_OK;
  return pz_fail(
      c->err, PZ_ERROR_INPUT,
      "%s: '%.200s': the constants up to here take more than %.2g multiply-adds to compute: export the "
      "model with its constants folded",
      c->file, c->node_name, most);
}
