/* volume.h: volumes on disk, as a table of formats.
 *
 * A volume is an array [channels, z, y, x] in C order, x fastest. Readers hand out whole planes in the volume's own
 * dtype and this machine's byte order; writers are given planes. Everything in a file is hostile: sizes are checked
 * before they are used, and no reader holds more than a few planes (one layer of tiles, strips or chunks).
 */
#ifndef PZ_VOLUME_VOLUME_H
#define PZ_VOLUME_VOLUME_H

#include "base/arena.h"
#include "base/status.h"
#include "volume/dtype.h"

#include <sys/stat.h>

#define PZ_VOLUME_MAX_CHANNELS 4096

/* How a volume lies in the world, as NIfTI says it; carried from input to output unchanged. */
typedef struct pz_orientation {
  bool known;
  int qform, sform; /* codes */
  int units;        /* xyzt_units */
  double qfac, quaternion[3], offset[3];
  double affine[3][4]; /* srow_x, srow_y, srow_z */
  double pixdim[3];    /* x, y, z, as stored */
} pz_orientation;

typedef struct pz_volume_info {
  pz_dtype dtype;
  int32_t channels;
  bool has_channels; /* the file has an axis for the channels */
  int64_t shape[3];  /* z, y, x; each at least 1 */
  double voxel[3];   /* size of a voxel along z, y, x; 0 where the file does not say */
  char unit[16];     /* of the voxel size: "um", "nm", "mm"; "" where the file does not say */
  pz_orientation orientation;
} pz_volume_info;

typedef struct pz_volume_format pz_volume_format;

/* An open volume. One thread at a time. */
typedef struct pz_volume {
  const pz_volume_format *format;
  pz_arena *arena;
  const char *path;    /* of the file */
  const char *dataset; /* inside the file; NULL where the format has none */
  pz_volume_info info;
  int64_t memory; /* bytes that reading takes beside the caller's buffer */
  int64_t
      cache_memory; /* of these, what pz_volume_uncached gives back; 0 where there is nothing to give back */
  int64_t step;     /* planes that are best read at once */
  void *state;      /* the format's own */
  const pz_volume_reader *calls; /* what reads it; NULL: a file */
} pz_volume;

/* The finished result, for formats that are written at the end: raw planes [channels, z, y, x] in a file. */
typedef struct pz_volume_source {
  int fd;
  int64_t offset;
  const char *path;
  const pz_volume_info *info;
  bool (*go_on)(void *host,
                int64_t plane); /* called before each plane; false ends with PZ_INTERRUPTED; may be NULL */
  void *host;
  int64_t done;
} pz_volume_source;

/* A finished result that goes into a file beside what is in it. */
typedef struct pz_volume_join {
  const char *path, *to; /* the file, which stays as it is; the new one */
  const char *dataset;
  bool update; /* an old dataset of the name may be replaced */
  int lock; /* the file, open and locked; the caller closes it when `to` has its name, or after a failure; -1: none */
  struct stat seen; /* the file as it was copied */
} pz_volume_join;

struct pz_volume_format {
  const char *name;
  const char *suffixes[4];
  bool has_dataset; /* "file.h5:/dataset" */
  /* Fills info, memory, step and state. On failure what it acquired is released by close. */
  pz_status (*open)(pz_volume *volume, pz_error *err);
  /* Planes z..z+n-1 of every channel: channel c to `planes` + c * channel_bytes. */
  pz_status (*read)(pz_volume *volume, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                    pz_error *err);
  void (*close)(pz_volume *volume);
  pz_status (*uncached)(pz_volume *volume, pz_error *err); /* or NULL */
  /* Whether `path` may be replaced by such a volume; NULL: always. */
  pz_status (*check_output)(const char *path, const char *dataset, const pz_volume_info *info, pz_error *err);
  /* Whether a result goes into the file `path` beside what it holds, and does not replace it whole; PZ_ERROR_USAGE where a
   * dataset would be lost without `update`, PZ_ERROR_OUTPUT where something stands in its way. Both or none of them. */
  pz_status (*check_join)(const char *path, const char *dataset, bool update, bool *joins, pz_error *err);
  pz_status (*join)(pz_volume_join *join, pz_volume_source *source, pz_error *err);
  /* Exactly one of the two. lay_out creates a file that is whole but for its data, which is the raw array at
   * *offset. convert writes the whole file from the finished result. */
  pz_status (*lay_out)(const char *path, const char *dataset, const pz_volume_info *info, int64_t *offset,
                       pz_error *err);
  pz_status (*convert)(const char *path, const char *dataset, pz_volume_source *source, pz_error *err);
};

extern const pz_volume_format pz_volume_npy, pz_volume_hdf5, pz_volume_tiff, pz_volume_nifti,
    pz_volume_nifti_gz;

/* A path as the user writes it, taken apart. Strings live in the arena. */
typedef struct pz_volume_path {
  const pz_volume_format *format;
  const char *file, *dataset;
} pz_volume_path;
pz_status pz_volume_parse_path(pz_arena *arena, const char *path, pz_volume_path *out, pz_error *err);

/* On success the caller closes *volume with pz_volume_close (NULL is fine there). */
pz_status pz_volume_open(const char *path, pz_volume **volume, pz_error *err);
void pz_volume_close(pz_volume *volume);
pz_status pz_volume_read(pz_volume *volume, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                         pz_error *err);
/* Gives the reader's cache back: reading gets slower, volume->memory smaller. */
pz_status pz_volume_uncached(pz_volume *volume, pz_error *err);

int64_t pz_volume_plane_bytes(const pz_volume_info *info); /* one plane of one channel */
int64_t pz_volume_bytes(const pz_volume_info *info);       /* all of it */
/* Holds info to what the above rely on: sizes at least 1, the whole below 2^62 bytes, channels in range. */
pz_status pz_volume_check_info(const char *path, const pz_volume_info *info, pz_error *err);
/* From the dimensions of an array of rank 2, 3 or 4: [y, x], [z, y, x], [c, z, y, x]. */
pz_status pz_volume_shape(const char *path, int rank, const int64_t *dim, pz_volume_info *info,
                          pz_error *err);

/* Next plane (one channel, one z) of the finished result, for `convert`. */
pz_status pz_volume_source_plane(pz_volume_source *source, int64_t channel, int64_t z, void *plane,
                                 pz_error *err);

#endif
