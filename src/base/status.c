#include "base/status.h"
#include "base/memory.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names from hostile files end up in messages: a message stays one line without control characters, and is
 * not cut inside a UTF-8 sequence. */
static void tidy(char *message, bool cut) {
  size_t n = strlen(message);
  if (cut)
    while (n > 0 && (message[n - 1] & 0x80)) message[--n] = 0;
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)message[i] < 0x20 || message[i] == 0x7f) message[i] = ' ';
}

pz_status pz_fail(pz_error *err, pz_status status, const char *format, ...) {
  if (!err || err->status != PZ_OK) return status;
  err->status = status;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  if (n < 0) snprintf(err->message, sizeof err->message, "a failure whose message could not be printed");
  tidy(err->message, n >= (int)sizeof err->message);
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
