/* fuzz.h: libFuzzer's entries of a kind of models. */
#include "model.h"
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static inline int fuzz_model(bool onnx, const uint8_t *data, size_t size) {
  static char folder[] = "/dev/shm/pznet-fuzz-XXXXXX";
  static bool made;
  if (!made && !mkdtemp(folder)) abort();
  made = true;
  if (!model_reaches_c(onnx, data, size, &(model_options){.folder = folder, .syntax_every = 2000})) abort();
  return 0;
}

/* Bytes now and then: what is no model is refused too. */
static inline size_t fuzz_mutate(void (*mutate)(uint64_t, const uint8_t *, size_t, pz_text *), uint8_t *data,
                                 size_t size, size_t most, unsigned seed) {
  pz_text out = {0};
  if (seed % 64 == 0) return LLVMFuzzerMutate(data, size, most);
  mutate(seed, data, size, &out);
  const size_t n = out.data && out.size <= most ? out.size : 0;
  if (n) memcpy(data, out.data, n);
  pz_text_free(&out);
  return n ? n : LLVMFuzzerMutate(data, size, most);
}
