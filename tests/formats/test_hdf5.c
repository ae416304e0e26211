/* What the readers of HDF5 share; whole files are damaged in tests/import and test_damaged.c. */
#include "unit.h"
#include "formats/hdf5_filters.h"
#include "formats/hdf5_lock.h"
#include "formats/hdf5_sum.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The values that lookup3.c (Jenkins, 2006) gives for its own driver's text. */
static void lookup3(void **state) {
  (void)state;
  static const char text[] = "Four score and seven years ago";
  assert_int_equal(pz_hdf5_lookup3((const uint8_t *)text, 0), 0xdeadbeef);
  assert_int_equal(pz_hdf5_lookup3((const uint8_t *)text, 30), 0x17770551);
}

enum { BYTES = 60, ELEMENT = 4 };

typedef struct chunk {
  pz_hdf5_filters filters;
  char *work[2];
  int64_t stored;
} chunk;

static uint8_t byte(int i) { return (uint8_t)(i * 7 + i / 9); }

/* Shuffled, deflated, summed up, as the library does it; of `bytes` bytes, which should be BYTES. */
static chunk stored(int64_t bytes) {
  chunk c = {
      .filters = {.count = 3,
                  .filter = {{.id = PZ_HDF5_SHUFFLE}, {.id = PZ_HDF5_DEFLATE}, {.id = PZ_HDF5_FLETCHER32}},
                  .element = ELEMENT,
                  .bytes = BYTES}};
  uint8_t shuffled[2 * BYTES];
  const int64_t n = bytes / ELEMENT;
  for (int64_t i = 0; i < bytes; i++) shuffled[i % ELEMENT * n + i / ELEMENT] = byte((int)i);
  for (int i = 0; i < 2; i++) assert_non_null(c.work[i] = malloc((size_t)pz_hdf5_chunk_room(BYTES)));
  uLongf size = 2 * BYTES;
  assert_int_equal(compress((Bytef *)c.work[0], &size, shuffled, (uLong)bytes), Z_OK);
  const uint32_t sum = pz_hdf5_fletcher32((const uint8_t *)c.work[0], size);
  for (int i = 0; i < 4; i++) c.work[0][size + i] = (char)(sum >> 8 * i);
  c.stored = (int64_t)size + 4;
  return c;
}

static const char *undone(chunk *c, uint32_t skipped, char **out) {
  return pz_hdf5_unfilter(&c->filters, skipped, c->stored, c->work, out);
}

static void release(chunk *c) { free(c->work[0]), free(c->work[1]); }

static void filters_are_undone(void **state) {
  (void)state;
  char *out;
  chunk c = stored(BYTES);
  assert_null(undone(&c, 0, &out));
  for (int i = 0; i < BYTES; i++) assert_int_equal((uint8_t)out[i], byte(i));
  release(&c);
}

/* Too little and too much after inflating; any byte changed; nothing stored; a filter that was left out. */
static void damage_is_found(void **state) {
  (void)state;
  char *out;
  for (int64_t bytes = BYTES - ELEMENT; bytes <= BYTES + ELEMENT; bytes += 2 * ELEMENT) {
    chunk c = stored(bytes);
    assert_non_null(undone(&c, 0, &out));
    release(&c);
  }
  for (int64_t size = 0;; size++) {
    chunk c = stored(BYTES);
    const bool end = size == c.stored;
    if (!end) c.work[0][size] ^= 4;
    assert_int_equal(undone(&c, 0, &out) == NULL, end);
    release(&c);
    c = stored(BYTES);
    c.stored = size;
    assert_int_equal(undone(&c, 0, &out) == NULL, end);
    release(&c);
    if (end) break;
  }
  for (uint32_t skipped = 1; skipped < 8; skipped++) {
    chunk c = stored(BYTES);
    /* but for inflating, what is left out is not missed: other numbers, and bytes behind zlib's stream */
    assert_int_equal(undone(&c, skipped, &out) == NULL, !(skipped & 2));
    release(&c);
  }
}

enum { THREADS = 4, TURNS = 5000 };

/* Not atomic: turns are lost unless the lock holds the others back. */
static void *take_turns(void *host) {
  volatile int *turns = host;
  for (int i = 0; i < TURNS; i++) {
    pz_hdf5_lock();
    const int seen = *turns;
    if (i % 64 == 0) sched_yield();
    *turns = seen + 1;
    pz_hdf5_unlock();
  }
  return NULL;
}

static void one_at_a_time(void **state) {
  (void)state;
  int turns = 0;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &turns), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(turns, THREADS * TURNS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lookup3),
      cmocka_unit_test(filters_are_undone),
      cmocka_unit_test(damage_is_found),
      cmocka_unit_test(one_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
