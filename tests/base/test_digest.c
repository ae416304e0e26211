/* Test vectors: FIPS 180-4's examples as published by NIST (CSRC, "SHA256.pdf", "SHA2_Additional.pdf"). */
#include "unit.h"
#include "base/digest.h"
#include "base/digest_blocks.h"
#include <stdlib.h>
#include <string.h>

typedef struct vector {
  const char *text;
  const char *digest;
} vector;

static const vector vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrs"
     "tnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static void published_vectors(void **state) {
  (void)state;
  char out[PZ_DIGEST_TEXT];
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    pz_digest_text(vectors[i].text, strlen(vectors[i].text), out);
    assert_string_equal(out, vectors[i].digest);
  }
}

static void million_letters(void **state) {
  (void)state;
  char letters[1000], out[PZ_DIGEST_TEXT];
  memset(letters, 'a', sizeof letters);
  pz_digest digest;
  pz_digest_begin(&digest);
  for (int i = 0; i < 1000; i++) pz_digest_add(&digest, letters, sizeof letters);
  pz_digest_end_text(&digest, out);
  assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Whole against in pieces, for every size about the block's: the padding has its cases there. */
static void pieces_make_no_difference(void **state) {
  (void)state;
  unsigned char bytes[300];
  srand(2);
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)rand();
  for (size_t n = 0; n <= sizeof bytes; n++) {
    char whole[PZ_DIGEST_TEXT], pieces[PZ_DIGEST_TEXT];
    pz_digest_text(bytes, n, whole);
    pz_digest digest;
    pz_digest_begin(&digest);
    for (size_t at = 0; at < n;) {
      size_t step = (size_t)rand() % 90;
      if (step > n - at) step = n - at;
      pz_digest_add(&digest, bytes + at, step);
      at += step;
    }
    pz_digest_end_text(&digest, pieces);
    assert_string_equal(whole, pieces);
  }
}

/* By the processor's instructions against plain C, from any state; the published vectors are taken by one of them alone. */
static void both_ways_agree(void **state) {
  (void)state;
  enum { BLOCKS = 9 };
  uint8_t bytes[64 * BLOCKS + 1];
  if (!pz_digest_has_sha()) skip();
  srand(3);
  for (int n = 0; n < 1000; n++) {
    uint32_t plain[8], sha[8];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)rand();
    for (int i = 0; i < 8; i++) plain[i] = sha[i] = (uint32_t)rand() << 16 ^ (uint32_t)rand();
    pz_digest_blocks_plain(plain, bytes + n % 2, (size_t)n % (BLOCKS + 1));
    pz_digest_blocks_sha(sha, bytes + n % 2, (size_t)n % (BLOCKS + 1));
    assert_memory_equal(sha, plain, sizeof plain);
  }
}

/* What a processor without the instructions computes. */
static void plain_vector(void **state) {
  (void)state;
  uint32_t sums[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint32_t of_abc[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                              0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
  uint8_t block[64] = {'a', 'b', 'c', 0x80, [63] = 24};
  pz_digest_blocks_plain(sums, block, 1);
  assert_memory_equal(sums, of_abc, sizeof sums);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_vectors),
      cmocka_unit_test(million_letters),
      cmocka_unit_test(pieces_make_no_difference),
      cmocka_unit_test(both_ways_agree),
      cmocka_unit_test(plain_vector),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
