/* picture.h: a plane of a volume and the same plane of its result beside each other, put together from parts as they come. What the picture shows
 * is said at pz_preview and pz_preview_write of the public header. It depends neither on the parts nor on their order: grey pixels are sums
 * in double, row after row, and each pixel of the result is one voxel. */
#ifndef PZ_VOLUME_PICTURE_H
#define PZ_VOLUME_PICTURE_H

#include "base/status.h"

enum {
  PZ_PICTURE_SIDE = 1024,
  PZ_PICTURE_GAP = 8
}; /* pixels: of a panel at most; white ones between the two */

typedef struct pz_picture {
  int64_t size[2], small[2], factor; /* y, x: voxels of the plane, pixels; voxels of a pixel along each */
  pz_dtype dtype;
  int32_t channels, shown; /* of the result; of these, what the picture is of */
  bool labels;
  double *grey;   /* [small]: sums of voxels */
  float *count;   /* [small]: how many they are of */
  float *result;  /* [shown][small], of labels [small] */
  int64_t pixels; /* that were put, of all channels that are shown */
} pz_picture;

/* Bytes that a picture of a plane of `size` takes until it is written. */
int64_t pz_picture_memory(const int64_t size[2]);
/* On success the caller frees it with pz_picture_free, which may be called after a failure too. */
pz_status pz_picture_begin(const int64_t size[2], pz_dtype dtype, int32_t channels, bool labels,
                           pz_picture *picture, pz_error *err);
void pz_picture_free(pz_picture *picture);

/* Rows from y on, each once, and in their order. */
void pz_picture_put_plane(pz_picture *picture, int64_t y, int64_t rows, const float *voxels);
/* A part of a channel of the result; channels of a voxel in their order. */
void pz_picture_put_result(pz_picture *picture, int64_t channel, const int64_t start[2],
                           const int64_t size[2], const void *voxels, int64_t row_bytes);
bool pz_picture_is_whole(const pz_picture *picture); /* of the result */

/* PZ_ERROR_USAGE: the name is not that of a PNG file; PZ_ERROR_OUTPUT: no file can be made there. Before the work. */
pz_status pz_picture_check_path(const char *path, pz_error *err);
pz_status pz_picture_write(const pz_picture *picture, const char *path, pz_error *err);

#endif
