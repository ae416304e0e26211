#include "fuzz.h"

/* Anything else would be read as a binary caffemodel. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return size >= 8 && !memcmp(data, "\x89HDF\r\n\x1a\n", 8) ? fuzz_weights(data, size) : 0;
}
