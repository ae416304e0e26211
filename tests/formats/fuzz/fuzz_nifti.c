#include "fuzz.h"

/* The first byte chooses: the rest as it is, or through the reader of compressed files (which takes both). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  return fuzz_volume(data[0] & 1 ? ".nii.gz" : ".nii", data + 1, size - 1);
}
