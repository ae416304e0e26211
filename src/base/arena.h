/* arena.h: memory by lifetime. An arena hands out zeroed, 64-byte aligned blocks and frees them all at once. */
#ifndef PZ_BASE_ARENA_H
#define PZ_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pz_arena pz_arena;

/* NULL when out of memory. The caller frees it with pz_arena_free (NULL is fine there). */
pz_arena *pz_arena_new(void);
void pz_arena_free(pz_arena *arena);

/* From now on the arena gives nothing more once *interrupt (may be NULL) is not 0: work on it ends as if memory were out, and who began it says
 * that it was interrupted. Long loops that take no memory ask pz_arena_interrupted. The flag outlives the arena's use. */
void pz_arena_watch(pz_arena *arena, const volatile int *interrupt);
const volatile int *pz_arena_watched(const pz_arena *arena);
bool pz_arena_interrupted(const pz_arena *arena);

/* count * size bytes, zeroed, aligned to 64; NULL when out of memory or when the product overflows. A large block is not taken where
 * the machine, or a limit of this process, does not have it (base/memory.h): pages that are not written to cost nothing, and who writes
 * to more than there are is ended. Large blocks get a mapping of their own. A size of zero gives a valid pointer. */
void *pz_arena_alloc(pz_arena *arena, size_t count, size_t size);
#define PZ_NEW(arena, type, count) ((type *)pz_arena_alloc((arena), (count), sizeof(type)))

/* A copy of a string, or of its first n bytes (NUL-terminated). NULL when out of memory. */
char *pz_arena_strdup(pz_arena *arena, const char *s);
char *pz_arena_strndup(pz_arena *arena, const char *s, size_t n);
char *pz_arena_printf(pz_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Checked arithmetic on sizes that come from files: false when the result does not fit. */
static inline bool pz_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool pz_add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

/* A growing byte string, for texts that are printed piece by piece. Zero-initialise. `failed` is sticky:
 * after a failed allocation all appends do nothing, and the writer checks once at the end. */
typedef struct pz_text {
  char *data; /* NUL-terminated once anything was appended; owned by the text */
  size_t size, capacity;
  bool failed;
} pz_text;
void pz_text_append(pz_text *text, const char *s);
void pz_text_append_bytes(pz_text *text, const void *bytes, size_t n);
void pz_text_printf(pz_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pz_text_free(pz_text *text);

#endif
