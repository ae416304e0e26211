#include "formats/codec.h"

#include <string.h>

pz_status pz_codec_parse(const char *codec, int *level, pz_error *err) {
  static const char name[] = "gzip";
  enum { NAME = sizeof name - 1 };
  *level = 0;
  if (!codec || strcmp(codec, "none") == 0) return PZ_OK;
  const char *rest = strncmp(codec, name, NAME) == 0 ? codec + NAME : "?";
  if (!*rest) return *level = 1, PZ_OK;
  if (rest[0] == ':' && rest[1] >= '1' && rest[1] <= '9' && !rest[2]) return *level = rest[1] - '0', PZ_OK;
  return pz_fail(
      err, PZ_ERROR_USAGE,
      "--codec %s: expected gzip, gzip:LEVEL from 1 to 9, or none; others are of outputs in stores, as "
      "out.zarr",
      codec);
}
