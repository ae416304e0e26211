/* Test vectors: FIPS 180-4's examples as published by NIST (CSRC, "SHA256.pdf", "SHA2_Additional.pdf"). */
#include "unit.h"
#include "base/digest.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_vectors),
      cmocka_unit_test(million_letters),
      cmocka_unit_test(pieces_make_no_difference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
