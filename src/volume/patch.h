/* patch.h: a patch out of the ring of input planes, and its result into the sums. Work is split over the pool by rows of
 * voxels; each voxel is written by one worker. */
#ifndef PZ_VOLUME_PATCH_H
#define PZ_VOLUME_PATCH_H

#include "volume/engine.h"

/* The memory of a run, as the layout of the run says. All blocks belong to `arena`. */
typedef struct pz_window {
  pz_arena *arena;
  const pz_patch_function *function;
  const pz_run_layout *layout;
  const pz_infer_options *options;
  pz_block
      block; /* that is at work: y and x of the ring are those of its input, y and x of the sums those of its result */
  pz_dtype dtype; /* of the ring */
  char *ring;     /* [channels_in][ring][y][x]; where a plane is: pz_window_plane */
  void *sums; /* [channels_out][depth][y][x], float or double; plane z is at z % depth; zero when unused */
  char *in, *raw; /* what `run` takes and gives; raw NULL: floats, in `out` at once */
  float *out[2];
  float *weights;        /* of an output patch */
  double *shift, *scale; /* for each input channel */
  char *store[2];   /* a part of the result, [channels][planes][rows][x]; as large as store_planes planes */
  double *inverse;  /* for each worker, a row */
  float *best;      /* for each worker, a row */
  int64_t *source;  /* where the voxels of a patch come from: in[0] + in[1] + in[2] indices, -1 for zero */
  char *flipped_in; /* for test-time augmentation */
  float *more_out;  /* what is averaged with `out`: results for mirror images, and of further networks */
  float *row;       /* for each worker, rows of a result that is not stored as floats are; else NULL */
  uint8_t *inside;  /* for each worker, a row: where the mask is not 0; NULL: there is no mask */
  struct {
    pz_volume *volume; /* NULL: there is none */
    char
        *ring; /* [layout->mask.planes][y][x] of the block's result; plane z of the volume is at z % planes */
    int64_t block,
        have; /* planes of the volume before `have` have been read for this block; block -1: none */
  } mask;
} pz_window;

/* Planes z..z+planes-1 of the block's result, of each the rows y..y+rows-1; and where they go in a buffer that has so many planes, of as
 * many rows: behind `at` of them. */
typedef struct pz_part {
  int64_t z, planes, y, rows;
  int64_t at, buffer;
} pz_part;

/* mask: or NULL; it must outlive the window. */
pz_status pz_window_make(const pz_patch_function *function, const pz_run_layout *layout,
                         const pz_infer_options *options, const pz_volume_info *input, pz_volume *mask,
                         pz_window *window, pz_error *err);
void pz_window_free(pz_window *window);
pz_block pz_window_block(const pz_window *window, int64_t index);
/* Planes of all blocks, one after the other, are counted from 0 on; the n-th is at n % ring of the ring, and has room for the largest block's. */
int64_t pz_window_count(const pz_window *window, int64_t block, int64_t z); /* z: of the view */
char *pz_window_plane(const pz_window *window, int64_t n);                  /* of channel 0 */
int64_t pz_window_plane_bytes(const pz_window *window);
int64_t pz_window_channel_bytes(const pz_window *window);

/* Patch (k[0], k[1], k[2]) into window->in. */
void pz_patch_read(pz_window *window, const int64_t k[3]);
/* Whether its voxels inside the volume are all zero. */
bool pz_patch_is_zero(pz_window *window, const int64_t k[3]);
/* Runs of networks for a patch: for each of its flips, those of all. */
int pz_patch_runs(const pz_patch_function *function, const pz_tiling_rules *tiling);
/* The result for window->in: the mean over the flips of the tiling and the networks. */
pz_status pz_patch_apply(pz_window *window, float *out, pz_error *err);
/* Adds weight * out for the planes from `from` on. False: some value that was added is not finite. */
bool pz_patch_scatter(pz_window *window, const int64_t k[3], const float *out, int64_t from);

/* A value and where it lies. */
typedef struct pz_lost_voxel {
  int64_t channel, z, y, x;
  float value;
} pz_lost_voxel;
/* The first that is not finite of those that pz_patch_scatter adds, by its place in the result; false: there is none. */
bool pz_patch_find_not_finite(pz_window *window, const int64_t k[3], const float *out, int64_t from,
                              pz_lost_voxel *voxel);
/* The value of the greatest magnitude in window->in, and the voxel of the view that it comes from. */
pz_lost_voxel pz_patch_greatest_input(const pz_window *window);

/* Of the values of a part, those that are not finite and where the first of them is (without its value), and those that were
 * clipped. */
typedef struct pz_part_tally {
  int64_t not_finite, clipped;
  pz_lost_voxel first;
} pz_part_tally;
/* To window->store[which]; leaves the part's sums zero. */
pz_part_tally pz_part_store(pz_window *window, const pz_part *part, int which);

#endif
