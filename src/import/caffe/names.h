/* names.h: names to numbers, a hash table with open addressing. Zero-initialise but for `arena`; names are borrowed and
 * must outlive the table. */
#ifndef PZ_IMPORT_CAFFE_NAMES_H
#define PZ_IMPORT_CAFFE_NAMES_H

#include "base/arena.h"

typedef struct pz_caffe_name {
  const char *text; /* NULL: a free slot */
  int32_t value;
} pz_caffe_name;

typedef struct pz_caffe_names {
  pz_arena *arena;
  pz_caffe_name *slots;
  uint32_t capacity, used; /* capacity is a power of two, at most half of it is used */
} pz_caffe_names;

/* The value of a name, -1 where it is not there. */
int32_t pz_caffe_names_find(const pz_caffe_names *names, const char *text);
/* Adds a name or replaces its value; false when out of memory. */
bool pz_caffe_names_put(pz_caffe_names *names, const char *text, int32_t value);

/* 64-bit FNV-1a, going on from `hash` (begin with PZ_CAFFE_HASH). */
#define PZ_CAFFE_HASH UINT64_C(0xcbf29ce484222325)
uint64_t pz_caffe_hash(uint64_t hash, const char *text);

#endif
