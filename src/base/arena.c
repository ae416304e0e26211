#include "base/arena.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define RED_ZONE       64 /* behind every block, so that an overrun is seen as one of malloc's would be */
#else
#define POISON(p, n)   ((void)0)
#define UNPOISON(p, n) ((void)0)
#define RED_ZONE       0
#endif

#define ALIGN       64
#define FIRST_CHUNK ((size_t)16 << 10)
#define LAST_CHUNK  ((size_t)1 << 20)

/* Chunks come from calloc: zeroed, and for large ones a mapping whose pages are not touched. A block larger than a
 * quarter of a chunk gets a chunk of its own, behind the current one, so that at most a quarter is wasted. */
typedef struct chunk {
  struct chunk *next;
  char *data; /* aligned */
  size_t used, size;
} chunk;

struct pz_arena {
  chunk *current; /* and all others behind it */
  size_t chunk_size;
  const volatile int *interrupt;
};

pz_arena *pz_arena_new(void) {
  pz_arena *arena = calloc(1, sizeof *arena);
  if (arena) arena->chunk_size = FIRST_CHUNK;
  return arena;
}

void pz_arena_watch(pz_arena *arena, const volatile int *interrupt) { arena->interrupt = interrupt; }
const volatile int *pz_arena_watched(const pz_arena *arena) { return arena->interrupt; }
bool pz_arena_interrupted(const pz_arena *arena) { return arena->interrupt && *arena->interrupt; }

void pz_arena_free(pz_arena *arena) {
  if (!arena) return;
  for (chunk *c = arena->current, *next; c; c = next) {
    next = c->next;
    UNPOISON(c->data, c->size);
    free(c);
  }
  free(arena);
}

static chunk *chunk_new(size_t size) {
  size_t bytes;
  if (__builtin_add_overflow(size, sizeof(chunk) + ALIGN - 1, &bytes)) return NULL;
  chunk *c = calloc(1, bytes);
  if (!c) return NULL;
  c->data = (char *)(((uintptr_t)(c + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
  c->size = size;
  POISON(c->data, size);
  return c;
}

static chunk *add_own_chunk(pz_arena *arena, size_t size) {
  chunk *c = chunk_new(size);
  if (!c) return NULL;
  chunk **link = arena->current ? &arena->current->next : &arena->current;
  c->next = *link;
  return *link = c;
}

static chunk *add_shared_chunk(pz_arena *arena) {
  chunk *c = chunk_new(arena->chunk_size);
  if (!c) return NULL;
  if (arena->chunk_size < LAST_CHUNK) arena->chunk_size *= 2;
  c->next = arena->current;
  return arena->current = c;
}

static chunk *chunk_for(pz_arena *arena, size_t need) {
  chunk *c = arena->current;
  if (c && c->size - c->used >= need) return c;
  return need > arena->chunk_size / 4 ? add_own_chunk(arena, need) : add_shared_chunk(arena);
}

void *pz_arena_alloc(pz_arena *arena, size_t count, size_t size) {
  size_t bytes, need;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - 4096) return NULL;
  if (pz_arena_interrupted(arena) || !pz_memory_allows(bytes)) return NULL;
  need = ((bytes ? bytes : 1) + ALIGN - 1) / ALIGN * ALIGN + RED_ZONE;
  chunk *c = chunk_for(arena, need);
  if (!c) return NULL;
  char *block = c->data + c->used;
  c->used += need;
  UNPOISON(block, bytes);
  return block;
}

char *pz_arena_strndup(pz_arena *arena, const char *s, size_t n) {
  size_t size = strnlen(s, n);
  char *copy = PZ_NEW(arena, char, size + 1);
  if (copy) memcpy(copy, s, size);
  return copy;
}

char *pz_arena_strdup(pz_arena *arena, const char *s) { return pz_arena_strndup(arena, s, strlen(s)); }
