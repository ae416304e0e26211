/* hdf5_geometry.h: between pz_geometry and the attributes of HDF5 files. Three numbers stand for z, y and x.
 *
 *   element_size_um        voxel size in micrometres: ilastik, the HDF5 plug-in of Fiji, PlantSeg
 *   resolution, offset     voxel size and place of the first voxel in nanometres: CREMI, gunpowder, daisy
 *   voxel_size, offset     the same in the unit that `units` or `unit` names: funlib.persistence
 *   affine, affine_code    4 x 4 from (x, y, z, 1) in voxels to the world's x, y, z as nibabel has it; which world: NIfTI's code
 *   pznet_unit             the unit in which the size came, so that it goes out in it; that of `affine` and `voxel_size` */
#ifndef PZ_FORMATS_HDF5_GEOMETRY_H
#define PZ_FORMATS_HDF5_GEOMETRY_H

#include "formats/hdf5_find.h"
#include "formats/volume.h"

/* From the attributes of the dataset v->dataset, which is open as `data` (-1: its attributes are not to be opened), or else of the group
 * that holds it, or else of the file's root. */
void pz_hdf5_read_geometry(const pz_hdf5_search *search, hid_t data, pz_volume *v);
/* False where the library fails. */
bool pz_hdf5_write_geometry(hid_t data, const pz_volume_info *info);
/* pz_volume_format.hold */
void pz_hdf5_hold(pz_geometry *geometry, const pz_volume_info *info, pz_notes *notes);

#endif
