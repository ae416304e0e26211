/* synthetic.h: a tissue of cells whose sections look like electron microscopy; used by synthetic_em.c. */
#ifndef PZ_EXAMPLE_SYNTHETIC_H
#define PZ_EXAMPLE_SYNTHETIC_H

#include <stdint.h>

/* ------------------------------------------------------------------ noise */

/* All randomness is a hash of what it is for: the stack of a seed is the same in any order of drawing. */
uint32_t em_hash(uint32_t seed, int32_t x, int32_t y, int32_t z);
float em_uniform(uint32_t hash);                                   /* 0..1 */
float em_noise(uint32_t seed, float x, float y, float z);          /* smooth, -1..1, one bump a unit */
float em_gaussian(uint32_t seed, int32_t x, int32_t y, int32_t z); /* white, variance 1 */

/* ------------------------------------------------------------------ cells */

/* One disc of a cell at z = 0. A cell is a chain of one to four discs with the same number. */
typedef struct em_disc {
  float x, y, radius;
  float drift_x, drift_y; /* pixels a slice */
  int32_t cell;
} em_disc;

/* A mitochondrion: an ellipsoid that follows its disc. */
typedef struct em_mitochondrion {
  int32_t disc;
  float x, y, z;      /* centre, from the disc's centre; z in slices */
  float a, b, depth;  /* half axes, pixels, pixels, slices */
  float cosine, sine; /* of its orientation */
} em_mitochondrion;

typedef struct em_tissue {
  uint32_t seed;
  int32_t width, height;
  em_disc *discs;
  int32_t n_discs;
  em_mitochondrion *mitochondria;
  int32_t n_mitochondria;
} em_tissue;

/* One infinitely thin section, width x height each. */
typedef struct em_section {
  float *warp_x, *warp_y; /* where a pixel lies in the undistorted tissue */
  float *nearest, *next;  /* distances to the nearest cell and to the next other one */
  int32_t *cell;          /* the nearest cell */
  float *memory;          /* all of the above */
} em_section;

int em_tissue_grow(em_tissue *tissue, uint32_t seed, int32_t width, int32_t height,
                   int32_t depth); /* 0, or -1 */
void em_tissue_free(em_tissue *tissue);
int em_section_new(em_section *section, const em_tissue *tissue); /* 0, or -1 */
void em_section_free(em_section *section);
/* Cuts the tissue at z (in slices). */
void em_section_cut(em_section *section, const em_tissue *tissue, float z);
void em_disc_position(const em_tissue *tissue, int32_t disc, float z, float *x, float *y);
/* Half the gap between the two cells next to a pixel: the distance to the membrane. */
static inline float em_membrane_distance(const em_section *s, int64_t i) {
  return 0.5f * (s->next[i] - s->nearest[i]);
}

#endif
