/* synthetic_noise.c: hashes as random numbers, and value noise on them. */
#include "synthetic.h"

#include <math.h>

/* A multiply-xorshift mix of the coordinates (the finaliser of MurmurHash3 has the same form). */
uint32_t em_hash(uint32_t seed, int32_t x, int32_t y, int32_t z) {
  uint32_t h =
      seed * 0x9E3779B1u ^ (uint32_t)x * 0x85EBCA77u ^ (uint32_t)y * 0xC2B2AE3Du ^ (uint32_t)z * 0x27D4EB2Fu;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;
  h = (h ^ h >> 12) * 0x297A2D39u;
  return h ^ h >> 15;
}

float em_uniform(uint32_t hash) { return (float)(hash >> 8) * 0x1p-24f; }

static float corner(uint32_t seed, int32_t x, int32_t y, int32_t z) {
  return 2 * em_uniform(em_hash(seed, x, y, z)) - 1;
}

static float mix(float a, float b, float t) { return a + (b - a) * t; }

static float ease(float t) { return t * t * (3 - 2 * t); }

static float plane(uint32_t seed, int32_t x, int32_t y, int32_t z, float tx, float ty) {
  float near = mix(corner(seed, x, y, z), corner(seed, x + 1, y, z), tx);
  float far = mix(corner(seed, x, y + 1, z), corner(seed, x + 1, y + 1, z), tx);
  return mix(near, far, ty);
}

float em_noise(uint32_t seed, float x, float y, float z) {
  float fx = floorf(x), fy = floorf(y), fz = floorf(z);
  float tx = ease(x - fx), ty = ease(y - fy);
  float low = plane(seed, (int32_t)fx, (int32_t)fy, (int32_t)fz, tx, ty);
  float high = plane(seed, (int32_t)fx, (int32_t)fy, (int32_t)fz + 1, tx, ty);
  return mix(low, high, ease(z - fz));
}

/* The sum of four uniforms, scaled: its tails end at 3.5 sigma, which is right for 8-bit pixels. */
float em_gaussian(uint32_t seed, int32_t x, int32_t y, int32_t z) {
  uint32_t a = em_hash(seed, x, y, z), b = em_hash(seed + 1, x, y, z);
  float sum = (float)(a & 0xFFFF) + (float)(a >> 16) + (float)(b & 0xFFFF) + (float)(b >> 16);
  return (sum * 0x1p-16f - 2) * 1.7320508f;
}
