/* tiff_geometry.h: between pz_geometry and what TIFF files say: ImageJ's description and the resolution of pages.
 *
 * ImageJ (FileSaver and FileOpener): `unit` names the unit of all sizes, XResolution and YResolution are pixels in one of it,
 * `spacing` is the distance of planes; a stack that ImageJ wrote without `spacing` has planes 1 unit apart. `xorigin`,
 * `yorigin` and `zorigin` are the pixel that lies at 0. A page's resolution in a file of another program says nothing of
 * z: a plane's geometry.
 *
 * OME-XML: PhysicalSizeZ, Y and X, each with its unit. */
#ifndef PZ_FORMATS_TIFF_GEOMETRY_H
#define PZ_FORMATS_TIFF_GEOMETRY_H

#include "formats/ome.h"
#include "formats/volume.h"

#include <tiffio.h>

/* The first page is the current directory; v->info has its shape. ome: what its description is, or NULL. */
void pz_tiff_read_geometry(TIFF *file, int64_t pages, const pz_ome *ome, pz_volume *v);
/* The resolution of a page, and the lines of a description; `g` is what pz_tiff_hold left. */
void pz_tiff_set_resolution(TIFF *file, const pz_geometry *g, const pz_volume_info *info);
void pz_tiff_print_geometry(const pz_geometry *g, const pz_volume_info *info, char *text, size_t size);
/* pz_volume_format.hold */
void pz_tiff_hold(pz_geometry *geometry, const pz_volume_info *info, pz_notes *notes);

#endif
