#include "formats/deflate_out.h"

#include <stdlib.h>
#include <zlib.h>

/* What zlib takes for its window and tables: (1 << 17) + (1 << 17) bytes and a little (zconf.h). */
enum { MOST_PORTIONS = 16, ZLIB_BYTES = 300 << 10 };

typedef struct portion {
  z_stream z;
  bool ready, failed;
  pz_error err;
  int64_t bytes, made;
  char *plain, *work, *packed;
} portion;

typedef struct batch {
  const pz_deflate *d;
  int64_t first;
  int n, used;  /* portions; of these, what is worked on */
  int64_t room; /* of `packed` */
  portion portion[MOST_PORTIONS];
} batch;

static int64_t room_of(int64_t bytes) { return (int64_t)compressBound((uLong)bytes); }

static int portions_of(int threads) { return threads < MOST_PORTIONS ? threads : MOST_PORTIONS; }

int64_t pz_deflate_memory(int threads, int64_t bytes) {
  return portions_of(threads) * (2 * bytes + room_of(bytes) + ZLIB_BYTES) + (int64_t)sizeof(batch);
}

static void compress_one(batch *b, portion *p, int64_t index) {
  const pz_deflate *d = b->d;
  p->bytes = 0;
  if (d->fill(d->host, index, p->work, p->plain, &p->bytes, &p->err) != PZ_OK) return;
  p->z.next_in = (Bytef *)p->plain, p->z.avail_in = (unsigned)p->bytes;
  p->z.next_out = (Bytef *)p->packed, p->z.avail_out = (unsigned)b->room;
  p->failed = deflateReset(&p->z) != Z_OK || deflate(&p->z, Z_FINISH) != Z_STREAM_END;
  p->made = b->room - p->z.avail_out;
}

static void compress_share(void *arg, int32_t worker) {
  batch *b = arg;
  if (worker < b->used) compress_one(b, &b->portion[worker], b->first + worker);
}

static pz_status make_portion(portion *p, const pz_deflate *d, int64_t room, pz_error *err) {
  const int64_t bytes = 2 * d->bytes + room;
  p->plain = malloc((size_t)bytes);
  if (!p->plain) return pz_fail_memory(err, "compression", (unsigned long long)bytes);
  p->work = p->plain + d->bytes, p->packed = p->work + d->bytes;
  /* Of numbers as results are, level 1 by its own strategy takes twice the time that runs of one byte take, for as many bytes. */
  const int strategy = d->level == 1 ? Z_RLE : Z_DEFAULT_STRATEGY;
  p->ready = deflateInit2(&p->z, d->level, Z_DEFLATED, 15, 8, strategy) == Z_OK;
  return p->ready ? PZ_OK : pz_fail_memory(err, "compression", ZLIB_BYTES);
}

static void free_portions(batch *b) {
  for (int i = 0; i < b->n; i++) {
    if (b->portion[i].ready) deflateEnd(&b->portion[i].z);
    free(b->portion[i].plain);
  }
  free(b);
}

static pz_status hand_over(batch *b, int i, pz_error *err) {
  portion *p = &b->portion[i];
  if (p->err.status != PZ_OK) return pz_fail(err, p->err.status, "%s", p->err.message);
  if (p->failed) return pz_fail_memory(err, "compression", ZLIB_BYTES);
  const pz_deflated block = {b->first + i, p->plain, p->packed, p->bytes, p->made};
  return b->d->put(b->d->host, &block, err);
}

/* As many blocks as there are portions. */
static pz_status one_batch(batch *b, pz_error *err) {
  const pz_deflate *d = b->d;
  const int64_t left = d->blocks - b->first;
  b->used = left < b->n ? (int)left : b->n;
  if (d->go_on && !d->go_on(d->host, b->first))
    return pz_fail(err, PZ_INTERRUPTED, "interrupted while writing");
  if (d->pool) pz_pool_run(d->pool, compress_share, b);
  else compress_share(b, 0);
  for (int i = 0; i < b->used; i++) PZ_TRY(hand_over(b, i, err));
  b->first += b->used;
  return PZ_OK;
}

pz_status pz_deflate_blocks(const pz_deflate *d, pz_error *err) {
  batch *b = calloc(1, sizeof *b);
  if (!b) return pz_fail_memory(err, "compression", sizeof *b);
  *b = (batch){.d = d, .room = room_of(d->bytes), .n = portions_of(d->pool ? pz_pool_threads(d->pool) : 1)};
  pz_status status = PZ_OK;
  for (int i = 0; i < b->n && status == PZ_OK; i++) status = make_portion(&b->portion[i], d, b->room, err);
  while (status == PZ_OK && b->first < d->blocks) status = one_batch(b, err);
  free_portions(b);
  return status;
}
