/* nifti_header.h: the header of NIfTI-1 and NIfTI-2 files, between bytes and pz_volume_info.
 *
 * The structs are the ones of libnifti's nifti1.h and nifti2.h. Its readers are not used: they hold the whole image,
 * print to stderr and keep their settings in globals; this needs planes, silence and a file that is not trusted. */
#ifndef PZ_FORMATS_NIFTI_HEADER_H
#define PZ_FORMATS_NIFTI_HEADER_H

#include "formats/volume.h"

enum { PZ_NIFTI1_BYTES = 348, PZ_NIFTI2_BYTES = 540, PZ_NIFTI_MAX_HEADER = 544 };

/* What the reader needs to know beside the info. */
typedef struct pz_nifti_data {
  int64_t offset; /* of the first voxel */
  bool pair;      /* a header alone; the voxels are in another file */
  pz_dtype stored;
  bool swap, scaled; /* scaled: value = slope * stored + inter, delivered as f32 */
  double slope, inter;
  bool floats; /* the header's numbers are floats of 32 bits */
  pz_orientation orientation;
} pz_nifti_data;

/* How many bytes of header follow from the first four: 348, 540, or 0 when it is no NIfTI header. */
int pz_nifti_header_bytes(const uint8_t first[4]);
/* Fills the array and the dtype. */
pz_status pz_nifti_parse(pz_volume *volume, const uint8_t *bytes, int count, pz_nifti_data *data,
                         pz_error *err);
/* The header with its four bytes of "no extensions": 352 bytes, or 544 (NIfTI-2) where a size does not fit. */
int pz_nifti_print(const pz_volume_info *info, uint8_t out[PZ_NIFTI_MAX_HEADER]);

#endif
