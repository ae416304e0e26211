#include "formats/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pz_notes_add(pz_notes *notes, const char *format, ...) {
  char text[400];
  va_list args;
  if (!notes || notes->n == PZ_MAX_NOTES) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (int i = 0; i < notes->n; i++)
    if (strcmp(notes->text[i], text) == 0) return;
  const char *kept = pz_arena_strdup(notes->arena, text);
  if (kept) notes->text[notes->n++] = kept;
}
