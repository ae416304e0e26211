#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_model(false, data, size); }
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return fuzz_mutate(mutate_prototxt, data, size, most, seed);
}
