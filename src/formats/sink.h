/* sink.h: where a result goes, box by box: raw planes in a file, or the caller's callback.
 *
 * The raw planes are the output itself in formats that are laid out in advance; other formats are written from them when they
 * are whole (pz_volume_source). Boxes may come in any order; those that overlap are for nobody. */
#ifndef PZ_FORMATS_SINK_H
#define PZ_FORMATS_SINK_H

#include "formats/volume.h"

typedef struct pz_sink pz_sink;
struct pz_sink {
  const pz_volume_info *info;
  int64_t step[3]; /* the box that is best written at once, from a multiple of it on */
  /* Voxels lie as pz_volume_read has them. A disk that fails is PZ_ERROR_OUTPUT, a callback PZ_ERROR_RUN. */
  pz_status (*write)(const pz_sink *sink, const pz_box *box, const void *voxels, const int64_t stride[3],
                     pz_error *err);
  const pz_volume_writer *calls;
  const char *path; /* of the file with the raw planes [channels, z, y, x], which begin at `offset` */
  int fd;
  int64_t offset;
};

/* What is given must outlive the sink; the descriptor stays the caller's. */
pz_sink pz_sink_to_file(const pz_volume_info *info, int fd, const char *path, int64_t offset);
pz_sink pz_sink_to_calls(const pz_volume_info *info, const pz_volume_writer *calls);

/* The step of a caller's reader or writer for a volume of `shape`: 0 is one plane along z, all along y and x; what goes beyond the volume
 * ends with it. PZ_ERROR_USAGE: a negative one. */
pz_status pz_step_of(const int64_t wanted[3], const int64_t shape[3], int64_t step[3], pz_error *err);

#endif
