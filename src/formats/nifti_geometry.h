/* nifti_geometry.h: between NIfTI's words for a volume's place in the world (pixdim, qform, sform, units) and pz_geometry. */
#ifndef PZ_FORMATS_NIFTI_GEOMETRY_H
#define PZ_FORMATS_NIFTI_GEOMETRY_H

#include "formats/volume.h"

/* Takes the words of a header into info->geometry (info has its shape), where they stay as `nifti`, without what is not sound.
 * `floats`: they are NIfTI-1's, and mean the shortest decimals that are stored as they are. */
void pz_nifti_read_geometry(const pz_orientation *words, bool floats, pz_volume_info *info, pz_notes *notes);
/* The words for a header: those that came, or new ones. */
void pz_nifti_print_geometry(const pz_volume_info *info, pz_orientation *words);
/* pz_volume_format.hold */
void pz_nifti_hold(pz_geometry *geometry, const pz_volume_info *info, pz_notes *notes);

#endif
