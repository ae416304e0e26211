#include "fuzz.h"
#include "import/onnx/onnx.h"

/* A failure without a message of one line is a finding; so is a graph that does not verify. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_file(".in", data, size);
  pz_graph *g = NULL;
  pz_error err = {0};
  if (!path) return 0;
  const pz_status status = pz_onnx_import_within(path, NULL, 100000, &g, &err);
  if (status != PZ_OK && (g || !err.message[0] || strchr(err.message, '\n'))) abort();
  if (status == PZ_OK && pz_graph_verify(g, &err) != PZ_OK) abort();
  pz_graph_free(g);
  unlink(path);
  return 0;
}
