#include "fuzz.h"

/* Anything else would be read as a binary caffemodel. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return size >= 8 && !memcmp(data, "\x89HDF\r\n\x1a\n", 8) ? fuzz_weights(data, size) : 0;
}

/* HDF5 asks for what a file says, and takes no for an answer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
