/* notes.h: what a user should know of a run that is no error, each said once. */
#ifndef PZ_FORMATS_NOTES_H
#define PZ_FORMATS_NOTES_H

#include "base/arena.h"

enum { PZ_MAX_NOTES = 16 };

typedef struct pz_notes {
  pz_arena *arena; /* the texts live in it */
  int n;
  const char *text[PZ_MAX_NOTES];
} pz_notes;

/* One plain sentence without the file's name. The same text is kept once; what does not fit is dropped. `notes` may be NULL. */
__attribute__((format(printf, 2, 3))) void pz_notes_add(pz_notes *notes, const char *format, ...);

#endif
