/* hdf5_lzf.c: LZF. A control byte below 32 begins a run of as many bytes and one more. Any other one is a copy of bytes that
 * were written before: three bits of length (7: more in the next byte), five and eight bits of distance. */
#include "formats/hdf5_undo.h"

#include <string.h>

typedef struct stream {
  const uint8_t *in, *end;
  uint8_t *begin, *out, *limit;
} stream;

static bool literal(stream *s, int64_t n) {
  if (n > s->end - s->in || n > s->limit - s->out) return false;
  memcpy(s->out, s->in, (size_t)n);
  s->in += n, s->out += n;
  return true;
}

/* Byte by byte, since what is copied may begin in what is written. */
static bool copy(stream *s, unsigned control) {
  int64_t n = control >> 5;
  if (s->end - s->in < (n == 7 ? 2 : 1)) return false;
  if (n == 7) n += *s->in++;
  n += 2;
  const int64_t distance = ((int64_t)(control & 31) << 8 | *s->in++) + 1;
  if (distance > s->out - s->begin || n > s->limit - s->out) return false;
  for (const uint8_t *from = s->out - distance; n > 0; n--) *s->out++ = *from++;
  return true;
}

int64_t pz_hdf5_undo_lzf(const char *in, int64_t size, char *out, int64_t room) {
  stream s = {.in = (const uint8_t *)in, .begin = (uint8_t *)out};
  s.end = s.in + size, s.out = s.begin, s.limit = s.begin + room;
  while (s.in < s.end) {
    const unsigned control = *s.in++;
    if (!(control < 32 ? literal(&s, control + 1) : copy(&s, control))) return -1;
  }
  return s.out - s.begin;
}
