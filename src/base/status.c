#include "base/status.h"
#include "base/inert.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A message is one line that does nothing to a terminal, whatever names are in it (inert.h). Of one that is too long the middle is left
 * out: it begins with the place and ends with what to do. */
static void set_message(pz_error *err, const char *text) {
  pz_inert(text, err->message, sizeof err->message);
}

pz_status pz_fail(pz_error *err, pz_status status, const char *format, ...) {
  if (!err || err->status != PZ_OK) return status;
  char text[sizeof err->message], *whole = text;
  va_list args;
  err->status = status;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n >= (int)sizeof text && (whole = malloc((size_t)n + 1))) {
    va_start(args, format);
    n = vsnprintf(whole, (size_t)n + 1, format, args);
    va_end(args);
  }
  set_message(err, n < 0 ? "a failure whose message could not be printed" : whole ? whole : text);
  if (whole != text) free(whole);
  return status;
}

pz_status pz_fail_interrupted(pz_error *err) { return pz_fail(err, PZ_INTERRUPTED, "interrupted"); }

pz_status pz_fail_memory(pz_error *err, const char *what, unsigned long long bytes) {
  if (bytes < PZ_MEMORY_LARGE || bytes > INT64_MAX)
    return pz_fail(err, PZ_ERROR_MEMORY, "out of memory: %llu bytes for %s", bytes, what);
  const pz_memory there = pz_memory_there(0);
  return pz_fail(err, PZ_ERROR_MEMORY, "out of memory: %llu bytes for %s, %lld are there (%s)", bytes, what,
                 (long long)there.bytes, there.limit);
}
