/* ome.h: what the OME-XML of a TIFF file's first page says: sizes, the order of planes, where they lie, voxel sizes.
 *
 * The text is hostile: declarations of entities and documents types are refused, depth and size are limited. */
#ifndef PZ_FORMATS_OME_H
#define PZ_FORMATS_OME_H

#include "base/arena.h"
#include "base/status.h"

enum { PZ_OME_UNIT = 32, PZ_OME_NAME = 256, PZ_OME_MAX_PLANES = 1 << 20 };

/* Of the first image (series). Planes are counted along t, c and z; a plane has all samples of a pixel. */
typedef struct pz_ome {
  int64_t t, c, z, y, x; /* SizeT and so on, each at least 1; c counts samples, as OME does */
  int64_t samples;       /* of a pixel of a plane; divides c */
  int64_t planes_c;      /* c / samples */
  char order[6];         /* "XYZCT": the fastest first */
  char type[16];         /* "uint16" */
  /* z, y, x: PhysicalSize; 0 where it is not said, as where it is no number above 0. unit: as written (UTF-8), "µm" where it
   * is not said. */
  double physical[3];
  char unit[3][PZ_OME_UNIT];
  int64_t images;          /* in the file; what is above is of the first */
  bool binary_only;        /* the description lies in another file, `other` */
  bool elsewhere;          /* planes lie in another file, `other` */
  char other[PZ_OME_NAME]; /* its name, as written */
  /* The page of plane [t][c][z]; -1 where no TiffData names one. NULL: planes are the file's pages in the order of `order`, from page
   * 0 on. */
  int32_t *page;
} pz_ome;

bool pz_ome_is(const char *text); /* whether an image description is OME-XML */

/* path: of the file, for messages, and to tell its own name from others. Strings and `page` live in the arena. */
pz_status pz_ome_parse(pz_arena *arena, const char *path, const char *text, pz_ome *ome, pz_error *err);

/* The index of a plane in the order that the file counts them in: `order` without X and Y. */
int64_t pz_ome_plane(const pz_ome *ome, int64_t t, int64_t c, int64_t z);

#endif
