/* codec.h: how a result's file is compressed, as the user says it. */
#ifndef PZ_FORMATS_CODEC_H
#define PZ_FORMATS_CODEC_H

#include "base/status.h"

/* NULL and "none": *level is 0. "gzip", "gzip:1" to "gzip:9": deflate's level, by default 1, which takes the least time. PZ_ERROR_USAGE for all
 * else. */
pz_status pz_codec_parse(const char *codec, int *level, pz_error *err);

#endif
