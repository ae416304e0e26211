/* geometry.h: where the voxels of a volume lie in the world: their size, its unit, the first one's place, directions of axes.
 *
 * All or none: a volume has the sizes along z, y and x, or none that could give a wrong ratio. Between the two is a plane's
 * (PZ_KNOWN_PLANE), for files that say how far pixels are apart and not how far pages are: it goes from TIFF to TIFF alone.
 * What is kept here is sound: sizes are finite and above zero, origins and affines finite, affines not singular. Readers
 * hand over what a file says; what is not sound is not taken, and the reader tells the user.
 *
 * Numbers keep their decimals: 100 nm are 0.1 um, and 0.1 um are 100 nm, to the last bit. */
#ifndef PZ_FORMATS_GEOMETRY_H
#define PZ_FORMATS_GEOMETRY_H

#include "formats/notes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PZ_UNIT_SIZE = 32, PZ_NUMBER_SIZE = 32, PZ_GEOMETRY_WORDS = 160 };

/* How a volume lies in the world, as NIfTI says it; carried from NIfTI to NIfTI unchanged. */
typedef struct pz_orientation {
  bool known;
  int qform, sform; /* codes */
  int units;        /* xyzt_units */
  double qfac, quaternion[3], offset[3];
  double affine[3][4]; /* srow_x, srow_y, srow_z */
  double pixdim[3];    /* x, y, z, as stored */
} pz_orientation;

typedef enum pz_known { PZ_KNOWN_NOTHING, PZ_KNOWN_PLANE, PZ_KNOWN_ALL } pz_known;

typedef struct pz_geometry {
  pz_known known;
  double voxel[3]; /* z, y, x in `unit`; of a plane z is 0 */
  char unit
      [PZ_UNIT_SIZE]; /* a unit of length as pz_unit_find names it, another word, or "": pixels, or not said */
  /* The rest needs PZ_KNOWN_ALL. */
  bool has_origin;
  double origin[3]; /* of the first voxel's centre: z, y, x in `unit` */
  bool has_affine;
  double affine[3][4]; /* from (x, y, z, 1) in voxels to the world's x, y, z in `unit`, as NIfTI has it */
  int affine_code; /* what world that is: NIfTI's 1 scanner, 2 aligned, 3 Talairach, 4 MNI, 5 another template */
  pz_orientation nifti;
} pz_geometry;

/* A decimal number at the beginning of `text`, with a point whatever the locale; false where there is none. It may be any double. */
bool pz_number_parse(const char *text, double *value);
/* The shortest decimal number that is read as `value` again. */
void pz_number_print(double value, char text[PZ_NUMBER_SIZE]);
/* The shortest decimal number that is stored as this float: 0.1 for 0.1f. */
double pz_number_of_float(float value);
/* The shortest decimal number whose reciprocal is stored as this float: 0.23 for 4.347826. */
double pz_number_of_reciprocal(float value);

/* The unit that the first n bytes of a text from a file mean: "um" for "micron", "\u00B5m" and the like, "" for pixels.
 * Another word is kept as it is when it is short and printable. False: it is not, and `unit` is "". */
bool pz_unit_find(const char *text, size_t n, char unit[PZ_UNIT_SIZE]);
bool pz_unit_is_length(const char *unit);
/* Between two units of length. */
double pz_unit_convert(double value, const char *from, const char *to);

void pz_geometry_forget(pz_geometry *g); /* all but the unchanged words of NIfTI */
/* All three sizes (of a plane size[0] is ignored), in a unit that pz_unit_find gave. False where one is not sound: then
 * nothing is known. */
bool pz_geometry_set_voxel(pz_geometry *g, pz_known known, const double size[3], const char *unit);
/* Need PZ_KNOWN_ALL. False where a number is not sound: then there is none. */
bool pz_geometry_set_origin(pz_geometry *g, const double origin[3]);
bool pz_geometry_set_affine(pz_geometry *g, const double affine[3][4], int code);
/* To another unit of length; nothing happens where the unit is none. */
void pz_geometry_convert(pz_geometry *g, const char *unit);
/* Whether size and origin say all that is known: there is no affine, or its axes are those of the file. */
bool pz_geometry_is_plain(const pz_geometry *g);
/* For a result whose first voxel is voxel `by` (z, y, x) of the volume. Where no origin was known, it is counted from the
 * volume's first voxel. */
void pz_geometry_crop(pz_geometry *g, const int64_t by[3]);
/* "1 x 0.5 x 0.5 um" for messages. */
const char *pz_geometry_words(const pz_geometry *g, char text[PZ_GEOMETRY_WORDS]);

#endif
