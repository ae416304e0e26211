#include "formats/hdf5_sum.h"

static uint32_t word(const uint8_t *at) { return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24; }

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

/* Turn by turn x, y, z stand for a, b, c, which is what the rounds' order of names comes to. */
static void mix(uint32_t v[3]) {
  static const int turns[6] = {4, 6, 8, 16, 19, 4};
  for (int i = 0; i < 6; i++) {
    uint32_t *x = &v[i % 3], *y = &v[(i + 1) % 3], *z = &v[(i + 2) % 3];
    *x -= *z;
    *x ^= rotate(*z, turns[i]);
    *z += *y;
  }
}

static void finish(uint32_t v[3]) {
  static const int turns[7] = {14, 11, 25, 16, 4, 14, 24};
  for (int i = 0; i < 7; i++) {
    uint32_t *x = &v[(i + 2) % 3], *y = &v[(i + 1) % 3];
    *x ^= *y;
    *x -= rotate(*y, turns[i]);
  }
}

uint32_t pz_hdf5_lookup3(const uint8_t *data, uint64_t size) {
  uint32_t v[3] = {0xdeadbeef + (uint32_t)size, 0xdeadbeef + (uint32_t)size, 0xdeadbeef + (uint32_t)size};
  for (; size > 12; size -= 12, data += 12) {
    for (int i = 0; i < 3; i++) v[i] += word(data + 4 * i);
    mix(v);
  }
  for (uint64_t i = 0; i < size; i++) v[i / 4] += (uint32_t)data[i] << 8 * (i % 4);
  if (size) finish(v);
  return v[2];
}

uint32_t pz_hdf5_fletcher32(const uint8_t *data, uint64_t size) {
  uint32_t a = 0, b = 0;
  for (uint64_t i = 0; i < size; i += 2) {
    a += (uint32_t)data[i] << 8 | (i + 1 < size ? data[i + 1] : 0);
    a = (a & 0xffff) + (a >> 16);
    b += a;
    b = (b & 0xffff) + (b >> 16);
  }
  a = (a & 0xffff) + (a >> 16);
  b = (b & 0xffff) + (b >> 16);
  return b << 16 | a;
}
