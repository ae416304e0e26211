/* tiff_axes.h: what the pages of a TIFF file are: planes along z, channels, time points.
 *
 * A page says nothing of that itself; the description of the first page does, of those programs that write more than one plane:
 * OME-XML, ImageJ, tifffile. Pages that nothing describes are planes along z. Kinds of files whose pages are in an order
 * that is not read here are refused by name. The user's letters count before all of them. */
#ifndef PZ_FORMATS_TIFF_AXES_H
#define PZ_FORMATS_TIFF_AXES_H

#include "formats/ome.h"
#include "formats/volume.h"

#include <tiffio.h>

/* What is known of the pages, and what comes out. The first page is the current directory. */
typedef struct pz_tiff_pages {
  TIFF *file;
  int64_t directories, pages; /* pages: directories but for those of smaller copies and masks */
  int64_t height, width, samples;
  bool planar;
  pz_ome *ome; /* out: what the first page's description is; NULL where it is none */
  /* out: the volume's array has this many axes over pages, then y, x and, of several samples, the samples */
  int page_axes;
  const int32_t *directory; /* out: of plane i; NULL: the i-th page */
  int64_t
      raw_planes; /* out: so many planes lie behind the first page's, without pages of their own; 0: none */
} pz_tiff_pages;

/* Fills v->array. */
pz_status pz_tiff_find_axes(pz_volume *v, pz_tiff_pages *pages, pz_error *err);

#endif
