/* hdf5_plugin.h: filters that are plug-ins of the HDF5 library (blosc, zstd, bitshuffle, ...).
 *
 * A plug-in is a shared library; to look for a filter is to load it and run its code. It is looked for where the HDF5 library
 * looks, in the folders of HDF5_PLUGIN_PATH or its own default one, and only for a filter that a dataset asks for. A file
 * names filters by number and never by path. The filter is called here and not by the HDF5 library, so that what it gives is
 * held to the size of a chunk. What it takes while it works is its own affair. */
#ifndef PZ_FORMATS_HDF5_PLUGIN_H
#define PZ_FORMATS_HDF5_PLUGIN_H

#include "formats/hdf5_filters.h"

/* Sets filter->foreign where there is a plug-in for filter->id. It stays loaded. */
bool pz_hdf5_plugin_take(pz_hdf5_filter *filter);

#endif
