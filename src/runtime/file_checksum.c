#include "runtime/file_checksum.h"
#include "base/checksum.h"
#include "pznet/network_abi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text inside JSON cannot look like this: its quotes have backslashes before them. */
static const char key[] = "\"" PZ_ABI_CHECKSUM "\": \"";
static const char no_checksum[] = "0000000000000000";

pz_status pz_file_checksum_find(const pz_elf *elf, const uint8_t **digits, pz_error *err) {
  const uint8_t *manifest;
  size_t size = 0;
  *digits = NULL;
  PZ_TRY(pz_elf_find(elf, PZ_ABI_MANIFEST_SECTION, &manifest, &size, err));
  const uint8_t *found = manifest ? memmem(manifest, size, key, sizeof key - 1) : NULL;
  if (!found) return PZ_OK;
  found += sizeof key - 1;
  if ((size_t)(manifest + size - found) <= PZ_FILE_CHECKSUM_DIGITS || found[PZ_FILE_CHECKSUM_DIGITS] != '"')
    return pz_elf_damaged(elf, "checksum", err);
  *digits = found;
  return PZ_OK;
}

static void print(uint64_t sum, char out[PZ_FILE_CHECKSUM_DIGITS + 1]) {
  snprintf(out, PZ_FILE_CHECKSUM_DIGITS + 1, "%016llx", (unsigned long long)sum);
}

void pz_file_checksum_compute(const pz_elf *elf, const uint8_t *digits,
                              char out[PZ_FILE_CHECKSUM_DIGITS + 1]) {
  const uint8_t *behind = digits + PZ_FILE_CHECKSUM_DIGITS;
  const uint64_t front = pz_checksum(elf->data, (size_t)(digits - elf->data), 0);
  print(pz_checksum(behind, (size_t)(elf->data + elf->size - behind), front), out);
}

/* ---- files whose large weights were left out ---- */

/* Until weights of more than this counted too, they did not, at all. */
#define LEFT_OUT (32 << 20)

static uint64_t add_part(const uint8_t *begin, const uint8_t *end, uint64_t sum) {
  return begin < end ? pz_checksum(begin, (size_t)(end - begin), sum) : sum;
}

/* True where the digits are right by that old rule. It needs no byte of the weights. */
static bool leaves_weights_out(const pz_elf *elf, const uint8_t *digits) {
  const uint8_t *weights = NULL, *end = elf->data + elf->size, *behind = digits + PZ_FILE_CHECKSUM_DIGITS;
  char expected[PZ_FILE_CHECKSUM_DIGITS + 1];
  size_t size = 0;
  if (pz_elf_find(elf, PZ_ABI_WEIGHTS_SECTION, &weights, &size, NULL) != PZ_OK || !weights ||
      size <= LEFT_OUT)
    return false;
  uint64_t sum = 0;
  if (weights < digits)
    sum = add_part(weights + size, digits, add_part(elf->data, weights, sum)),
    sum = add_part(behind, end, sum);
  else
    sum = add_part(elf->data, digits, sum),
    sum = add_part(weights + size, end, add_part(behind, weights, sum));
  print(sum, expected);
  return !memcmp(digits, expected, PZ_FILE_CHECKSUM_DIGITS);
}

/* ---- a file while it is read ---- */

/* Both sums of a file, of pieces in their order. */
typedef struct sums {
  uint64_t at, size, digits; /* offsets; digits == size: no checksum is wanted */
  pz_checksum_state part;
  pz_digest *digest; /* or NULL */
} sums;

/* What lies in front of the digits is one part of the checksum, what lies behind them another. */
static void begin(sums *s, const pz_elf *elf, const uint8_t *digits, pz_digest *digest) {
  *s = (sums){
      .size = elf->size, .digits = digits ? (uint64_t)(digits - elf->data) : elf->size, .digest = digest};
  pz_checksum_begin(&s->part, s->digits, 0);
  if (digest) pz_digest_begin(digest);
}

static void add(sums *s, const uint8_t *bytes, size_t n) {
  const uint64_t from = s->at, to = from + n, behind = s->digits + PZ_FILE_CHECKSUM_DIGITS;
  s->at = to;
  if (s->digest) pz_digest_add(s->digest, bytes, n);
  if (s->digits == s->size) return;
  if (from < s->digits) pz_checksum_add(&s->part, bytes, to < s->digits ? n : s->digits - from);
  if (from < s->digits && to >= s->digits)
    pz_checksum_begin(&s->part, s->size - behind, pz_checksum_end(&s->part));
  if (to > behind)
    pz_checksum_add(&s->part, from < behind ? bytes + (behind - from) : bytes,
                    from < behind ? to - behind : n);
}

static pz_status add_all(sums *s, pz_image *image, pz_error *err) {
  uint8_t *buffer = pz_image_needs_buffer(image) ? malloc(PZ_IMAGE_PIECE) : NULL;
  pz_status status = PZ_OK;
  if (pz_image_needs_buffer(image) && !buffer) return pz_fail_memory(err, image->path, PZ_IMAGE_PIECE);
  while (status == PZ_OK && s->at < s->size) {
    const uint8_t *bytes;
    size_t n;
    status = pz_image_read(image, s->at, buffer, &bytes, &n, err);
    if (status == PZ_OK) add(s, bytes, n);
  }
  free(buffer);
  return status;
}

static pz_status compare(sums *s, const pz_image *image, const uint8_t *digits, pz_error *err) {
  char expected[PZ_FILE_CHECKSUM_DIGITS + 1];
  print(pz_checksum_end(&s->part), expected);
  if (!memcmp(digits, expected, PZ_FILE_CHECKSUM_DIGITS)) return PZ_OK;
  PZ_TRY(pz_image_check_unchanged(image, err));
  if (leaves_weights_out(&image->elf, digits))
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: was made by an older pznet, whose checksum leaves large weights out: compile it again",
        image->path);
  return pz_elf_damaged(&image->elf, "its bytes do not have its checksum", err);
}

pz_status pz_file_checksum_check(pz_image *image, bool unfinished, char *digest, pz_error *err) {
  const uint8_t *digits;
  pz_digest state;
  sums s;
  PZ_TRY(pz_file_checksum_find(&image->elf, &digits, err));
  const bool has_checksum = digits && memcmp(digits, no_checksum, PZ_FILE_CHECKSUM_DIGITS);
  if (!has_checksum && !unfinished) return pz_elf_damaged(&image->elf, "it has no checksum", err);
  begin(&s, &image->elf, has_checksum ? digits : NULL, digest ? &state : NULL);
  PZ_TRY(add_all(&s, image, err));
  if (has_checksum) PZ_TRY(compare(&s, image, digits, err));
  if (digest) pz_digest_end_text(&state, digest);
  return PZ_OK;
}
