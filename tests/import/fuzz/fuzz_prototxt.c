#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_import(fuzz_file(".in", data, size), "init:1");
}
