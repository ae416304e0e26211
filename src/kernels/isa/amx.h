/* amx.h: AMX's tile registers, which multiply matrices of bfloat16 numbers (Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 1, chapter 18).
 *
 * Contract. A tile has up to 16 rows of 64 bytes. There are eight, 0 to 7; instructions name them by number, so primitives that
 * take one are macros, and numbers are literals. All kernels use them alike: 0 to 3 hold sums, 4 and 5 inputs, 6 and 7 weights.
 * pz_tiles_begin sets their sizes, and pz_tiles_end gives them up; the operating system has been asked for them before
 * (emit/run_loop.h). The compiler does not know what a tile's instructions read and write: between other loads and stores of
 * the same memory stands PZ_MEMORY_PIN. */
#ifndef PZ_KERNELS_ISA_AMX_H
#define PZ_KERNELS_ISA_AMX_H

#include "kernels/vec.h"

#ifdef PZ_EMULATED
#include "kernels/isa/emulated.h"
#endif

enum { PZ_TILE_ROWS = 16, PZ_TILE_BYTES = 64 /* of a row */, PZ_TILE_FLOATS = 256, PZ_TILE_SUMS = 4 };

#define PZ_TILE_ZERO(tile) _tile_zero(tile)
/* Rows one behind the other, or `bytes` apart. */
#define PZ_TILE_LOAD(tile, from)             _tile_loadd(tile, from, PZ_TILE_BYTES)
#define PZ_TILE_LOAD_ROWS(tile, from, bytes) _tile_loadd(tile, from, bytes)
#define PZ_TILE_STORE(tile, to)              _tile_stored(tile, to, PZ_TILE_BYTES)
/* sums[i][j] += inputs[i][2k] * weights[k][2j] + inputs[i][2k+1] * weights[k][2j+1], for each k: floats and bfloat16 numbers. Sums are
 * rounded to the nearest; what is denormal counts as zero. */
#define PZ_TILE_MULTIPLY(sums, inputs, weights) _tile_dpbf16ps(sums, inputs, weights)

/* All of the sums, one behind the other in memory. */
PZ_INLINE void pz_tiles_zero_sums(void) {
  PZ_TILE_ZERO(0);
  PZ_TILE_ZERO(1);
  PZ_TILE_ZERO(2);
  PZ_TILE_ZERO(3);
}
PZ_INLINE void pz_tiles_store_sums(float *to) {
  PZ_TILE_STORE(0, to);
  PZ_TILE_STORE(1, to + PZ_TILE_FLOATS);
  PZ_TILE_STORE(2, to + 2 * PZ_TILE_FLOATS);
  PZ_TILE_STORE(3, to + 3 * PZ_TILE_FLOATS);
}

/* Sums and inputs have 16 rows, weights `rows` of them; where these are fewer than 16, inputs are as many pairs of numbers wide, so
 * that less is read (doc/notes/2026-11-28-convolutions.md). (The barrier: gcc 12 says that the first eight bytes are all that is read.) */
PZ_INLINE void pz_tiles_begin(int32_t rows) {
  struct {
    uint8_t palette, start, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } __attribute__((aligned(64))) config = {.palette = 1};
  PZ_ROLL for (int32_t i = 0; i < 8; ++i) {
    config.bytes[i] = (uint16_t)(i == 4 || i == 5 ? 4 * rows : PZ_TILE_BYTES);
    config.rows[i] = (uint8_t)(i >= 6 ? rows : PZ_TILE_ROWS);
  }
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}
PZ_INLINE void pz_tiles_end(void) { _tile_release(); }

#endif
