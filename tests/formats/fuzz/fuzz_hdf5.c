#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_volume(".h5", data, size); }

/* The HDF5 library asks for what a damaged file says and copes with a refusal, and loses some memory when it gives up:
 * neither is ours to find here. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }
