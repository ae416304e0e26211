/* tiff_io.h: a file for libtiff, read and written here. libtiff's own calls take an interrupted or a short one for a failure, may map
 * the file, so that one that shrinks ends the process by a signal, and close without looking at what comes back. */
#ifndef PZ_FORMATS_TIFF_IO_H
#define PZ_FORMATS_TIFF_IO_H

#include <stdint.h>
#include <tiffio.h>

/* Lives as long as the TIFF. */
typedef struct pz_tiff_io {
  int fd;
  int64_t at; /* the next byte */
  int reason; /* errno of the first call that failed; 0: none */
} pz_tiff_io;

/* As TIFFOpenExt; reads, or creates and replaces, as the mode says. NULL on failure; TIFFClose closes the file in any other case. */
TIFF *pz_tiff_open(pz_tiff_io *io, const char *path, const char *mode, TIFFOpenOptions *options);

#endif
