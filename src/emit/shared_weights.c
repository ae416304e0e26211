#include "emit/shared_weights.h"
#include "base/digest.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GAP = 4096 };

/* A block that the file has. Blocks are told apart by size and SHA-256. */
typedef struct block {
  uint8_t digest[PZ_DIGEST_BYTES];
  int64_t bytes, at;
  struct block *next; /* of its bucket */
} block;

enum { BUCKETS = 4096 }; /* by the first bits of the digest */
struct pz_shared_weights {
  pz_arena *arena;
  const char *path;
  int file;
  int64_t bytes;
  block *buckets[BUCKETS];
};

pz_status pz_shared_weights_new(const char *path, pz_shared_weights **out, pz_error *err) {
  pz_arena *arena = pz_arena_new();
  pz_shared_weights *s = *out = arena ? PZ_NEW(arena, pz_shared_weights, 1) : NULL;
  if (!s) return pz_arena_free(arena), pz_fail_memory(err, "packed weights", sizeof *s);
  s->arena = arena, s->file = -1;
  s->path = pz_arena_strdup(arena, path);
  if (!s->path) return pz_fail_memory(err, "packed weights", 64);
  s->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  return s->file >= 0 ? PZ_OK
                      : pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
}

void pz_shared_weights_free(pz_shared_weights *s) {
  if (!s) return;
  if (s->file >= 0) close(s->file);
  pz_arena_free(s->arena);
}

int64_t pz_shared_weights_bytes(const pz_shared_weights *s) { return s->bytes; }

/* ---- blocks ---- */

static block **bucket_of(pz_shared_weights *s, const block *b) {
  return &s->buckets[(b->digest[0] | b->digest[1] << 8) % BUCKETS];
}

static const block *find(pz_shared_weights *s, const block *wanted) {
  const block *b = *bucket_of(s, wanted);
  while (b && (b->bytes != wanted->bytes || memcmp(b->digest, wanted->digest, sizeof b->digest))) b = b->next;
  return b;
}

static pz_status append(pz_shared_weights *s, const char *bytes, block *b, pz_error *err) {
  if (pz_file_write_all(s->file, bytes, (size_t)b->bytes))
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %s", s->path, strerror(errno));
  block *kept = PZ_NEW(s->arena, block, 1);
  if (!kept) return pz_fail_memory(err, "packed weights", sizeof *kept);
  b->at = s->bytes;
  b->next = *bucket_of(s, b);
  *kept = *b;
  *bucket_of(s, b) = kept;
  s->bytes += b->bytes;
  return PZ_OK;
}

static pz_status add_block(pz_shared_weights *s, const pz_plan *plan, int64_t begin, int64_t end,
                           pz_weights_map *map, pz_error *err) {
  block b = {.bytes = end - begin};
  pz_digest digest;
  if (pz_arena_interrupted(plan->arena)) return pz_fail_interrupted(err);
  pz_digest_begin(&digest);
  pz_digest_add(&digest, plan->weights + begin, (size_t)b.bytes);
  pz_digest_end(&digest, b.digest);
  const block *known = find(s, &b);
  if (known) b.at = known->at, map->shared += b.bytes;
  else PZ_TRY(append(s, plan->weights + begin, &b, err));
  map->from[map->n] = begin, map->to[map->n] = b.at;
  map->read[map->n++] = (pz_weights_range){b.at, b.at + b.bytes};
  return PZ_OK;
}

/* ---- a plan ---- */

static int by_begin(const void *a, const void *b) {
  const pz_weights_range *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

static void join_ranges(pz_weights_map *map) {
  qsort(map->read, (size_t)map->n, sizeof *map->read, by_begin);
  for (int32_t i = 0; i < map->n; i++) {
    pz_weights_range *last = map->n_read ? &map->read[map->n_read - 1] : NULL;
    if (!last || map->read[i].begin - last->end >= GAP) map->read[map->n_read++] = map->read[i];
    else if (map->read[i].end > last->end) last->end = map->read[i].end;
  }
}

pz_status pz_shared_weights_add(pz_shared_weights *s, const pz_plan *plan, pz_weights_map *map,
                                pz_error *err) {
  const size_t room = (size_t)plan->n_weight_blocks + 1;
  *map = (pz_weights_map){.from = PZ_NEW(plan->arena, int64_t, room),
                          .to = PZ_NEW(plan->arena, int64_t, room),
                          .read = PZ_NEW(plan->arena, pz_weights_range, room)};
  if (!map->from || !map->to || !map->read) return pz_fail_memory(err, "packed weights", room * 32);
  for (int32_t i = 0; i < plan->n_weight_blocks && plan->weight_blocks[i] < plan->weight_bytes; i++) {
    const int64_t next = i + 1 < plan->n_weight_blocks ? plan->weight_blocks[i + 1] : plan->weight_bytes;
    PZ_TRY(add_block(s, plan, plan->weight_blocks[i], next < plan->weight_bytes ? next : plan->weight_bytes,
                     map, err));
  }
  join_ranges(map);
  return PZ_OK;
}

int64_t pz_weights_mapped(const pz_weights_map *map, int64_t offset) {
  int32_t low = 0, high = map->n; /* the last block that begins at `offset` or before is in [low, high) */
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (map->from[middle] <= offset) low = middle;
    else high = middle;
  }
  return map->n ? map->to[low] + (offset - map->from[low]) : offset;
}
