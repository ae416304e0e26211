/* evaluate.c: a graph's text from standard input, evaluated by the reference; its outputs to standard output, a line
 * for each: name, shape, values. Inputs are `const` tensors of the text. For check_torch.py. */
#include "reference/reference.h"
#include <stdio.h>
#include <stdlib.h>

static pz_status print(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  (void)host;
  if (!pz_graph_is_output(g, id)) return PZ_OK;
  char shape[PZ_SHAPE_TEXT];
  printf("%s %s", g->tensors[id].name, pz_shape_text(&g->tensors[id].shape, shape));
  for (int64_t i = 0; i < pz_shape_elements(&g->tensors[id].shape); i++) printf(" %.17g", values[i]);
  printf("\n");
  return PZ_OK;
}

static char *read_all(size_t *size) {
  size_t capacity = 1 << 16;
  char *text = malloc(capacity);
  *size = 0;
  for (size_t n; text && (n = fread(text + *size, 1, capacity - *size, stdin)) > 0;) {
    *size += n;
    if (*size < capacity) continue;
    char *larger = realloc(text, capacity *= 2);
    if (!larger) free(text);
    text = larger;
  }
  return text;
}

int main(void) {
  pz_error err = {0};
  pz_graph *g = NULL;
  size_t size;
  char *text = read_all(&size);
  pz_status status = text ? pz_graph_parse(text, size, "stdin", &g, &err) : PZ_ERROR_MEMORY;
  if (status == PZ_OK && g->n_inputs > 0)
    status = pz_fail(&err, PZ_ERROR_USAGE, "give the inputs as constants");
  if (status == PZ_OK) status = pz_reference_run(g, NULL, NULL, print, NULL, &err);
  if (status != PZ_OK) fprintf(stderr, "%s\n", err.message);
  pz_graph_free(g);
  free(text);
  return status;
}
