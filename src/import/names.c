#include "import/names.h"
#include <string.h>

uint64_t pz_import_hash(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
  return hash;
}

/* The slot of a name, or the free one where it would go. */
static pz_import_name *slot_of(pz_import_name *slots, uint32_t capacity, const char *text) {
  uint64_t hash = pz_import_hash(PZ_IMPORT_HASH, text);
  uint32_t i = (uint32_t)(hash ^ (hash >> 32)) & (capacity - 1);
  while (slots[i].text && strcmp(slots[i].text, text)) i = (i + 1) & (capacity - 1);
  return &slots[i];
}

int32_t pz_import_names_find(const pz_import_names *names, const char *text) {
  if (!names->used) return -1;
  const pz_import_name *slot = slot_of(names->slots, names->capacity, text);
  return slot->text ? slot->value : -1;
}

static bool grow(pz_import_names *names) {
  uint32_t capacity = names->capacity ? 2 * names->capacity : 64;
  pz_import_name *slots = capacity ? PZ_NEW(names->arena, pz_import_name, capacity) : NULL;
  if (!slots) return false;
  for (uint32_t i = 0; i < names->capacity; i++)
    if (names->slots[i].text) *slot_of(slots, capacity, names->slots[i].text) = names->slots[i];
  names->slots = slots;
  names->capacity = capacity;
  return true;
}

bool pz_import_names_put(pz_import_names *names, const char *text, int32_t value) {
  if (names->used >= names->capacity / 2 && !grow(names)) return false;
  pz_import_name *slot = slot_of(names->slots, names->capacity, text);
  names->used += !slot->text;
  *slot = (pz_import_name){text, value};
  return true;
}
