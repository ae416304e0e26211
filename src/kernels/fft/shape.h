/* shape.h: a convolution by Fourier transforms of tiles that overlap (overlap-save; ZNN, MALIS: "FFT convolution"). Plain C: the
 * compiler half includes it too.
 *
 * A tile is size[0] x size[1] x size[2] inputs; of the cyclic convolution of that size, size - kernel + 1 outputs an axis
 * are those of the convolution, and the tiles overlap by the rest. For each frequency the sum over channels is a product of complex
 * matrices. Values are real, so size[2]/2 + 1 frequencies along w stand for all of them (Hermitian symmetry).
 *
 * Scratch of a worker: work, one tile of one block of channels in between transforms along two axes, [d][h][frequency along
 * w][re, im][lane]; and slots. Slot f+1 holds the transformed inputs of frequency f, [re, im][block][tile of the batch][lane];
 * its products go to slot f, whose inputs nothing reads any more. Frequencies are numbered [h][w][d]. */
#ifndef PZ_KERNELS_FFT_SHAPE_H
#define PZ_KERNELS_FFT_SHAPE_H

#include "kernels/conv/shape.h"

#define PZ_FFT_MOST 64 /* inputs of a tile along an axis */

/* conv: kernel[1], kernel[2] > 1; stride, dilation, groups, phases 1; in and out NCHWc. The schedule of
 *   the products: kb out blocks by rw tiles are summed in registers.
 * size: of a tile: pz_fft_factor knows it, larger than the kernel; 1 where the kernel is 1. */
#define PZ_FFT_FIELDS(ONE, MANY)                                                                             \
  ONE(conv, conv)                                                                                            \
  MANY(int, size, 3)                                                                                         \
  ONE(int, batch) /* tiles; a multiple of rw */
typedef struct pz_fft_shape {
  PZ_FFT_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_fft_shape;

/* A transform of size n is n / factor transforms of size `factor`, then `factor` transforms of size n / factor. */
PZ_INLINE int32_t pz_fft_factor(int32_t n) {
  switch (n) {
  case 12:
  case 24: return 3;
  case 16:
  case 32: return 4;
  case 64: return 8;
  default: return 1; /* 8; 1 */
  }
}

PZ_INLINE int32_t pz_fft_outputs(const pz_fft_shape *s, int32_t axis) {
  return s->size[axis] - s->conv.kernel[axis] + 1;
}
PZ_INLINE int32_t pz_fft_tiles(const pz_fft_shape *s, int32_t axis) {
  const int32_t length = axis == 0 ? s->conv.out.d : axis == 1 ? s->conv.out.h : s->conv.out.w;
  return (length + pz_fft_outputs(s, axis) - 1) / pz_fft_outputs(s, axis);
}
PZ_INLINE int64_t pz_fft_all_tiles(const pz_fft_shape *s) {
  return (int64_t)s->conv.out.n * pz_fft_tiles(s, 0) * pz_fft_tiles(s, 1) * pz_fft_tiles(s, 2);
}
/* Tiles that follow each other in batches: of one sample where moments are collected; their batches, units of moments then. */
PZ_INLINE int64_t pz_fft_run(const pz_fft_shape *s) {
  return s->conv.stats_units ? pz_fft_all_tiles(s) / s->conv.out.n : pz_fft_all_tiles(s);
}
PZ_INLINE int64_t pz_fft_batches(const pz_fft_shape *s) { return (pz_fft_run(s) + s->batch - 1) / s->batch; }
PZ_INLINE int32_t pz_fft_half(const pz_fft_shape *s) { return s->size[2] / 2 + 1; }
PZ_INLINE int32_t pz_fft_frequencies(const pz_fft_shape *s) {
  return s->size[0] * s->size[1] * pz_fft_half(s);
}
PZ_INLINE int32_t pz_fft_blocks(int32_t channels, int32_t block) { return (channels + block - 1) / block; }

/* From a block to the next one, from the real to the imaginary parts, from a slot to the next one; in floats. Slots lie an odd
 * number of vectors apart, so that the lines of one tile do not fall on a few sets of the cache; planes of `work` too. */
PZ_INLINE int64_t pz_fft_block_step(const pz_fft_shape *s) { return (int64_t)s->batch * s->conv.out.block; }
PZ_INLINE int64_t pz_fft_imaginary(const pz_fft_shape *s) {
  const int32_t channels = s->conv.in.c > s->conv.out.c ? s->conv.in.c : s->conv.out.c;
  return pz_fft_blocks(channels, s->conv.out.block) * pz_fft_block_step(s);
}
PZ_INLINE int64_t pz_fft_slot(const pz_fft_shape *s) { return 2 * pz_fft_imaginary(s) + s->conv.out.block; }
PZ_INLINE int64_t pz_fft_row(const pz_fft_shape *s) { return 2 * pz_fft_half(s) * s->conv.out.block; }
PZ_INLINE int64_t pz_fft_plane(const pz_fft_shape *s) {
  return s->size[1] * pz_fft_row(s) + 2 * s->conv.out.block;
}

/* Floats of scratch that a worker needs, and those of them in front of the slots. */
PZ_INLINE int64_t pz_fft_work(const pz_fft_shape *s) { return s->size[0] * pz_fft_plane(s); }
PZ_INLINE int64_t pz_fft_scratch(const pz_fft_shape *s) {
  return pz_fft_work(s) + (pz_fft_frequencies(s) + 1) * pz_fft_slot(s);
}

/* Packed weights begin with the factors between the two halves of a transform ("twiddles"), for d, h, w: exp(-2 pi i j k / size),
 * (re, im) at [j < size / factor][k < factor]. Floats of all, filled up to 64 bytes. */
PZ_INLINE int64_t pz_fft_twiddle_floats(const pz_fft_shape *s) {
  return (2 * (s->size[0] + s->size[1] + s->size[2]) + 15) / 16 * 16;
}

#endif
