/* png.h: a picture as a PNG file. */
#ifndef PZ_VOLUME_PNG_H
#define PZ_VOLUME_PNG_H

#include "base/status.h"

/* Rows of red, green and blue, 8 bits each, from the top. The file appears whole or not at all. PZ_ERROR_OUTPUT: it cannot be written. */
pz_status pz_png_write(const char *path, int64_t width, int64_t height, const uint8_t *rgb, pz_error *err);

#endif
