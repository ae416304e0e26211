/* names.h: names to numbers, a hash table with open addressing. Zero-initialise but for `arena`; names are borrowed and
 * must outlive the table. */
#ifndef PZ_IMPORT_NAMES_H
#define PZ_IMPORT_NAMES_H

#include "base/arena.h"

typedef struct pz_import_name {
  const char *text; /* NULL: a free slot */
  int32_t value;
} pz_import_name;

typedef struct pz_import_names {
  pz_arena *arena;
  pz_import_name *slots;
  uint32_t capacity, used; /* capacity is a power of two, at most half of it is used */
} pz_import_names;

/* The value of a name, -1 where it is not there. */
int32_t pz_import_names_find(const pz_import_names *names, const char *text);
/* Adds a name or replaces its value; false when out of memory. */
bool pz_import_names_put(pz_import_names *names, const char *text, int32_t value);

/* 64-bit FNV-1a, going on from `hash` (begin with PZ_IMPORT_HASH). */
#define PZ_IMPORT_HASH UINT64_C(0xcbf29ce484222325)
uint64_t pz_import_hash(uint64_t hash, const char *text);

#endif
