/* volume.h: volumes on disk, as a table of formats.
 *
 * A volume is an array [channels, z, y, x]. A reader describes the array of its file as it lies (axes.h) and reads boxes of it, in
 * the volume's own dtype and this machine's byte order. Results are written as boxes too (sink.h). Everything in a file is hostile: sizes are
 * checked before they are used, and no reader holds more than a few planes (one layer of tiles, strips or chunks).
 */
#ifndef PZ_FORMATS_VOLUME_H
#define PZ_FORMATS_VOLUME_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/pool.h"
#include "base/status.h"
#include "formats/axes.h"
#include "base/dtype.h"
#include "formats/geometry.h"
#include "formats/identity.h"

#include <sys/stat.h>

#define PZ_VOLUME_MAX_CHANNELS 4096
/* What lies in another order than planes is best read in portions of about this size. */
#define PZ_VOLUME_STEP_BYTES (INT64_C(64) << 20)

typedef struct pz_volume_info {
  pz_dtype dtype;
  int32_t channels;
  bool has_channels; /* the file has an axis for the channels */
  int64_t shape[3];  /* z, y, x; each at least 1 */
  pz_geometry geometry;
} pz_volume_info;

typedef struct pz_volume_format pz_volume_format;

/* An open volume. One thread at a time. */
typedef struct pz_volume {
  const pz_volume_format *format;
  pz_arena *arena;
  const char *path;    /* of the file */
  const char *dataset; /* inside the file; NULL where the format has none */
  pz_volume_info info;
  pz_axes_choice choice; /* the user's */
  pz_array array;        /* of the file */
  pz_axes axes;
  int64_t memory; /* bytes that reading takes beside the caller's buffer */
  int64_t
      cache_memory; /* of these, what pz_volume_uncached gives back; 0 where there is nothing to give back */
  /* The box that is best read at once, from a multiple of it on: a chunk, a tile, a strip, a row. Other boxes are read too, and may cost
   * the decoding of all the steps that they touch. */
  int64_t step[3];
  /* The elements come out of one compressed stream. Boxes cost the least in the order of the file, which is that of z in most:
   * for what lies before the last box the stream is read from its beginning. */
  bool sequential;
  pz_notes notes;                /* for the user */
  void *state;                   /* the format's own */
  const pz_volume_reader *calls; /* what reads it; NULL: a file */
  pz_identity identity;          /* of the file; not known of one that is no file */
  char files[PZ_DIGEST_TEXT];    /* of a format with `identify`: what it said at first */
} pz_volume;

/* The finished result, for formats that are written at the end: raw planes [channels, z, y, x] in a file. */
typedef struct pz_volume_source {
  int fd;
  int64_t offset;
  const char *path;
  const pz_volume_info *info;
  /* Called before each box with the number of planes that were begun; false ends with PZ_INTERRUPTED; may be NULL. */
  bool (*go_on)(void *host, int64_t plane);
  void *host;
  int64_t done;
  pz_pool *pool; /* for what takes long; NULL: the calling thread alone */
  int level;     /* of deflate, for formats with `packs`; 0: uncompressed */
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
  /* Fills array, dtype and state. On failure what it acquired is released by close. */
  pz_status (*open)(pz_volume *volume, pz_error *err);
  /* Called when axes, channels and shape are known, and sound: fills geometry, memory and step, and holds the array to the file. */
  pz_status (*ready)(pz_volume *volume, pz_error *err);
  pz_status (*read)(pz_volume *volume, const pz_array_box *box, void *to, pz_error *err);
  void (*close)(pz_volume *volume);
  pz_status (*uncached)(pz_volume *volume, pz_error *err); /* or NULL */
  /* Takes out of *geometry what such a file cannot say, and tells; NULL: it can say nothing of all that. Writers do the
   * same once more, without a word. */
  void (*hold)(pz_geometry *geometry, const pz_volume_info *info, pz_notes *notes);
  /* Of a volume that is not the one file at `path`: adds to the digest what tells whether it is as it was, in a fixed order: names,
   * sizes, times of change, inodes. Called when the volume has been opened and before a result appears. NULL: one file. */
  pz_status (*identify)(pz_volume *volume, pz_digest *digest, pz_error *err);
  /* Whether a file at `path` is, or would be, a part of such a volume; NULL: the one file at volume->path. */
  bool (*owns)(const pz_volume *volume, const char *path);
  /* Whether `path` may be replaced by such a volume; NULL: always. */
  pz_status (*check_output)(const char *path, const char *dataset, const pz_volume_info *info, pz_error *err);
  /* Whether a result goes into the file `path` beside what it holds, and does not replace it whole; PZ_ERROR_USAGE where a
   * dataset would be lost without `update`, PZ_ERROR_OUTPUT where something stands in its way. All three or none of them. */
  pz_status (*check_join)(const char *path, const char *dataset, bool update, bool *joins, pz_error *err);
  /* What tells a dataset from the others of its file, whatever its name, as long as it is not replaced; 0: there is none. */
  uint64_t (*locate)(const char *path, const char *dataset);
  pz_status (*join)(pz_volume_join *join, pz_volume_source *source, pz_error *err);
  /* One of the two, or none of a format that is read only. lay_out creates a file that is whole but for its data, which is the raw array at
   * *offset. convert writes the whole file from the finished result, into the room of an empty file (pz_io_create). A format with both is converted where it is
   * compressed. */
  pz_status (*lay_out)(const char *path, const char *dataset, const pz_volume_info *info, int64_t *offset,
                       pz_error *err);
  int64_t (*most)(const pz_volume_info *info); /* bytes that it may write, and not many more */
  pz_status (*convert)(const char *path, const char *dataset, pz_volume_source *source, pz_error *err);
  double convert_rate; /* bytes of the result a second, about, for times that are told */
  bool packs;          /* convert and join compress by deflate where the source has a level */
};

/* Whether a result is collected as raw planes, from which the file is written in the end. */
bool pz_volume_converts(const pz_volume_format *format, int level);
/* PZ_ERROR_USAGE where the format is not compressed as `codec` says (codec.h); else *level is that of deflate. */
pz_status pz_volume_choose_codec(const pz_volume_format *format, const char *path, const char *codec,
                                 int *level, pz_error *err);

#define FORMAT(id, shown) extern const pz_volume_format pz_volume_##id;
#include "formats/formats.inc"
#undef FORMAT
extern const pz_volume_format pz_volume_folder;

/* A path as the user writes it, taken apart. Strings live in the arena. */
typedef struct pz_volume_path {
  const pz_volume_format *format;
  const char *file, *dataset;
} pz_volume_path;
pz_status pz_volume_parse_path(pz_arena *arena, const char *path, pz_volume_path *out, pz_error *err);

/* The format that a result can be written in. */
pz_status pz_volume_parse_output(pz_arena *arena, const char *path, pz_volume_path *out, pz_error *err);

/* On success the caller closes *volume with pz_volume_close (NULL is fine there). */
pz_status pz_volume_open(const char *path, pz_volume **volume, pz_error *err);
/* The same, so that no change from then on is missed: of a new file it waits for some milliseconds. */
pz_status pz_volume_open_settled(const char *path, pz_volume **volume, pz_error *err);
/* The same, with the user's words on its axes (NULL: none); as pz_volume_open and as pz_volume_open_settled. */
pz_status pz_volume_open_as(const char *path, const pz_axes_choice *choice, pz_volume **volume,
                            pz_error *err);
pz_status pz_volume_open_chosen(const char *path, const pz_axes_choice *choice, pz_volume **volume,
                                pz_error *err);
void pz_volume_close(pz_volume *volume);
/* Any box of the volume, in any order. Voxel (c, z, y, x) of it goes to voxels + c * stride[0] + z * stride[1] + y * stride[2] + x *
 * element; strides are bytes. PZ_ERROR_USAGE: the box is not inside the volume. */
pz_status pz_volume_read(pz_volume *volume, const pz_box *box, void *voxels, const int64_t stride[3],
                         pz_error *err);
/* Planes z..z+n-1, one after the other; channel c at c * channel_bytes. */
pz_status pz_volume_read_planes(pz_volume *volume, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                                pz_error *err);
/* Whether the input still is what it was when it was opened; before a result appears. `digest`: what pz_volume_digest gave. */
pz_status pz_volume_confirm(pz_volume *volume, const char *digest, pz_error *err);
/* What stands for its content, as text; `block`: room for PZ_IDENTITY_BLOCK bytes. */
pz_status pz_volume_digest(pz_volume *volume, char *block, char text[PZ_DIGEST_TEXT], pz_error *err);

/* Adds a file's name, size, times and inode to what `identify` tells. */
pz_status pz_volume_identify_file(const char *path, pz_digest *digest, pz_error *err);

/* Gives the reader's cache back: reading gets slower, volume->memory smaller. */
pz_status pz_volume_uncached(pz_volume *volume, pz_error *err);

int64_t pz_volume_plane_bytes(const pz_volume_info *info); /* one plane of one channel */
int64_t pz_volume_bytes(const pz_volume_info *info);       /* all of it */
/* Planes z..z+n-1 as a box. */
pz_box pz_volume_planes(const pz_volume_info *info, int64_t z, int64_t n);
/* Rows of a plane that are about 256 KiB together, a strip: what writers move at once; and its bytes. */
int64_t pz_volume_strip_rows(const pz_volume_info *info);
int64_t pz_volume_strip_bytes(const pz_volume_info *info);
/* Holds info to what the above rely on: sizes at least 1, the whole below 2^62 bytes, channels in range. */
pz_status pz_volume_check_info(const char *path, const pz_volume_info *info, pz_error *err);
/* What a volume of this format can say of the geometry. */
void pz_volume_hold(const pz_volume_format *format, pz_volume_info *info, pz_notes *notes);
/* A box of one channel of the finished result, densely, for `convert` and `join`. */
pz_status pz_volume_source_read(pz_volume_source *source, int64_t channel, const pz_box *box, void *voxels,
                                pz_error *err);
/* The same by any thread, without go_on. */
pz_status pz_volume_source_box(const pz_volume_source *source, int64_t channel, const pz_box *box,
                               void *voxels, pz_error *err);
/* All of it, channel by channel, in strips, each of which goes to `take` with its place among the result's bytes. */
typedef pz_status (*pz_volume_take)(void *host, const void *strip, int64_t bytes, int64_t at, pz_error *err);
pz_status pz_volume_source_strips(pz_volume_source *source, pz_volume_take take, void *host, pz_error *err);

#endif
