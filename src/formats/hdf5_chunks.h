/* hdf5_chunks.h: chunked HDF5 datasets, decompressed here, or by a plug-in of the HDF5 library.
 *
 * The library hands out the stored bytes of a chunk, and formats/hdf5_filters.h undoes its filters. It is also what lets a
 * layer of chunks be decompressed once. */
#ifndef PZ_FORMATS_HDF5_CHUNKS_H
#define PZ_FORMATS_HDF5_CHUNKS_H

#include "formats/hdf5_filters.h"
#include "formats/volume.h"

#include <hdf5.h>

typedef struct pz_hdf5_chunks {
  hid_t data;
  const char *path, *dataset;
  const pz_axes *axes; /* of the volume */
  int rank;
  int64_t chunk[PZ_AXES_RANK]; /* sizes along the dataset's axes */
  int64_t depth;               /* planes of a layer */
  pz_hdf5_filters filters;
  bool swap;
  _Alignas(8) uint8_t fill[PZ_DTYPE_MAX_BYTES]; /* in this machine's byte order */
  char *work[2];                                /* each with room for a chunk, stored or not */
  char *layer;                                  /* [channels][chunk depth][y][x]; NULL: not kept */
  int64_t layer_z;                              /* its first plane; -1: nothing in it */
  char problem[320];
} pz_hdf5_chunks;

/* NULL where all of the dataset's filters are ones that are undone here; else what is wrong with its chunks, a text that lives
 * as long as `chunks`. Fills the fields but for swap, which is known by then, and the layer. type: of an element, one that
 * pz_hdf5_known_type knows. Nothing is left to the library, which reads behind what a filter gives when the file lies. */
const char *pz_hdf5_chunks_take(hid_t data, hid_t plist, hid_t type, pz_hdf5_chunks *chunks);
/* A box. Takes `work`. When `keep` is set, a box of whole planes that begins or ends inside of a layer of chunks takes the layer, and leaves
 * all of it there; any box is served from what is there. Of other boxes each chunk that they touch is decompressed. */
pz_status pz_hdf5_chunks_read(pz_hdf5_chunks *chunks, bool keep, const pz_array_box *box, void *to,
                              pz_error *err);
void pz_hdf5_chunks_free(pz_hdf5_chunks *chunks);

#endif
