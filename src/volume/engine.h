/* engine.h: a network applied to a volume, or a box of it, patch by patch, by a window of planes along z.
 *
 * Patches of equal z are a layer. Layers are computed from low to high z; within a layer y, then x. Kept in memory are
 * the input planes that a layer reads (a ring, in the volume's own dtype, with room to read ahead), and the
 * planes of sums that the layer writes. When a layer is done, the planes before the next layer are final: they are
 * normalised, stored and written, and their room is used again. So memory depends on y and x and not on z.
 * Of large planes, what is final is written behind each line of patches along x.
 *
 * Where memory does not suffice for planes, the result is made in blocks (blocks.h), one after the other, each from its first plane to its
 * last: then "planes" above are the block's.
 *
 * Three things go on at once: a thread reads, the caller's thread computes (with the network's pool, which also reads
 * patches and sums them), a thread writes.
 *
 * The sums of a voxel are added in the order of the patches, by one worker: the same bits for any number of threads, and
 * for a run that was interrupted and resumed.
 */
#ifndef PZ_VOLUME_ENGINE_H
#define PZ_VOLUME_ENGINE_H

#include "base/element.h"
#include "base/pool.h"
#include "volume/blocks.h"
#include "volume/job.h"
#include "volume/locality.h"
#include "volume/tiling.h"
#include "formats/volume.h"

#define PZ_MOST_PLACE (1 << 23) /* voxels: floats hold all whole numbers up to twice that */

/* One of several networks with the same ports, whose results for a patch are averaged. */
typedef struct pz_patch_other {
  pz_status (*run)(void *host, const void *in, void *out, pz_error *err); /* as that of a pz_patch_function */
  void *host;
  void (*reset)(void *host); /* likewise */
  const char *path, *digest;
} pz_patch_other;

/* What is applied to a patch. */
typedef struct pz_patch_function {
  int64_t in[3], out[3]; /* z, y, x */
  int32_t channels_in, channels_out;
  /* What `run` takes and gives. Where that is not of floats, a volume must have the type of `taken`, and its elements are handed on as they
   * are; integers that are given are written as they are, where nothing else is asked for. */
  pz_element taken, given;
  /* in: [channels_in][z][y][x], out: [channels_out][z][y][x]. Deterministic. */
  pz_status (*run)(void *host, const void *in, void *out, pz_error *err);
  void *host;
  pz_pool *pool;                /* for the work around `run`; NULL: the calling thread alone */
  int64_t memory;               /* bytes that it holds */
  const char *path;             /* for the report; NULL: not known */
  const char *digest;           /* its identity */
  const pz_patch_other *others; /* with which it is averaged, in this order */
  int32_t n_others;
  bool planar;                         /* a 2D network: its axes are y and x */
  const pz_network_locality *locality; /* what a result depends on; NULL: not known */
  /* Of a network for exact tiles; NULL: of another. `run` reads the place of its patch in `place`: z, y and x, and the volume's size. */
  const pz_network_tiles *tiles;
  float *place;
  void (*reset)(void *host); /* before the first run of a stream */
} pz_patch_function;

static inline int32_t pz_patch_networks(const pz_patch_function *f) { return 1 + f->n_others; }

#define PZ_PORTION (INT64_C(1) << 20) /* bytes */

/* What depends on taste or on a test. 0 is the default. */
typedef struct pz_engine_tuning {
  double record_seconds; /* finished patches are recorded at least this often; 5 */
  double journal_speed;  /* bytes per second that the disk is trusted to take in the background; 200e6 */
  int64_t store_bytes;   /* finished planes go to the writer in portions of about this size; PZ_PORTION */
  int64_t read_bytes;    /* and planes are read in such portions; PZ_PORTION */
} pz_engine_tuning;

/* How the memory is laid out; made before any of it is taken. */
typedef struct pz_run_layout {
  pz_tiling_rules tiling;
  pz_box view;  /* what is tiled: all of the volume, or a box of it with its context */
  pz_grid grid; /* of the view; its result is what is made */
  pz_volume_info result;
  pz_cuts cut[2];         /* blocks along y and x */
  int64_t asked[2];       /* of pz_cuts_make for them: what a job remembers */
  int64_t blocks, layers; /* layers: of each block */
  int64_t patches;        /* of all blocks: those that reach into two count twice */
  int64_t ring, depth;    /* planes of input; planes of sums */
  int64_t step;           /* planes of input are read up to multiples of it, in the volume */
  int64_t
      ring_base; /* the first plane of the view that is counted: z of a block is plane z - ring_base of ... */
  int64_t block_planes; /* ... so many, which are whole steps, as planes are counted through all blocks */
  int64_t
      buffers; /* of patches that the network has written; 2 where one is recorded while the next is made */
  int64_t stores, store_planes;
  /* Of a mask: planes of it that are kept, whole steps; they are read up to multiples of `step`, in the volume. */
  struct {
    int64_t planes, step, read_planes;
    bool cached; /* the reader keeps its cache */
  } mask;
  pz_sum sum;
  bool typed;  /* the result has the type of what the network gives, which is no float */
  bool cached; /* the reader keeps its cache */
  int workers;
  struct {
    int64_t input, sums, patches, weights, stores, scratch, reader, mask, network, process;
    int64_t packing; /* what compression takes more than the window, which is free by then */
    int64_t total;
  } bytes;
} pz_run_layout;

/* PZ_ERROR_MEMORY, with the number needed, when options->memory (or what there is: base/memory.h) does not suffice. May take the
 * reader's cache away. */
typedef struct pz_run_asked {
  const pz_patch_function *function;
  pz_volume *input, *mask; /* mask: or NULL */
  const pz_infer_options *options;
  const pz_engine_tuning *tuning; /* or NULL */
  const int64_t
      *sink; /* what a callback takes best at once (pz_volume_writer); NULL: the result goes to a file */
  const int64_t *blocks; /* pz_run_layout.asked of the job that is gone on with; NULL: as memory has it */
  bool packs;            /* the result is compressed when the window is gone */
} pz_run_asked;
pz_status pz_lay_out_run(pz_arena *arena, const pz_run_asked *asked, pz_run_layout *out, pz_error *err);

/* Values that float32 does not hold exactly, among the planes that a run has read. */
typedef struct pz_rounding {
  int64_t values, first[4]; /* how many; channel, z, y, x of the first that was met */
  char example[80];         /* "16777217 becomes 16777216" */
} pz_rounding;

/* What was done, for the report. Seconds: `wait` is what the computation waited for reading and writing. */
typedef struct pz_engine_counts {
  int64_t patches, run, skipped, replayed;
  double seconds, statistics, read, compute, write, wait, finish;
  pz_job_tally tally; /* of the whole result */
  pz_rounding rounding;
} pz_engine_counts;

/* output: a path as the user wrote it, or a callback, which leaves nothing to resume. *report (may be NULL) is a JSON text for pz_free. */
pz_status pz_engine_run(const pz_patch_function *function, pz_volume *input, const pz_volume_writer *output,
                        const pz_infer_options *options, const pz_engine_tuning *tuning, char **report,
                        pz_error *err);

#endif
