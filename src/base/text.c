/* Texts that are printed: into an arena, or piece by piece into a pz_text. */
#include "base/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *pz_arena_printf(pz_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) return NULL;
  char *out = PZ_NEW(arena, char, (size_t)n + 1);
  if (!out) return NULL;
  va_start(args, format);
  vsnprintf(out, (size_t)n + 1, format, args);
  va_end(args);
  return out;
}

/* Room for n more bytes and the NUL. */
static bool reserve(pz_text *text, size_t n) {
  if (text->failed) return false;
  if (n < text->capacity - text->size) return true;
  size_t need, capacity = text->capacity ? text->capacity : 256;
  text->failed = __builtin_add_overflow(text->size, n, &need) || need > PTRDIFF_MAX / 2;
  if (text->failed) return false;
  while (capacity <= need) capacity *= 2;
  char *data = realloc(text->data, capacity);
  text->failed = !data;
  if (!data) return false;
  text->data = data;
  text->capacity = capacity;
  return true;
}

void pz_text_append_bytes(pz_text *text, const void *bytes, size_t n) {
  if (!reserve(text, n)) return;
  if (n) memcpy(text->data + text->size, bytes, n);
  text->size += n;
  text->data[text->size] = 0;
}

void pz_text_append(pz_text *text, const char *s) { pz_text_append_bytes(text, s, strlen(s)); }

void pz_text_printf(pz_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) text->failed = true;
  if (n < 0 || !reserve(text, (size_t)n)) return;
  va_start(args, format);
  vsnprintf(text->data + text->size, (size_t)n + 1, format, args);
  va_end(args);
  text->size += (size_t)n;
}

void pz_text_free(pz_text *text) {
  free(text->data);
  *text = (pz_text){0};
}
