/* fuzz.h: one input of a fuzzer, as a file with the format's suffix, described and read to its end. */
#ifndef PZ_TESTS_FORMATS_FUZZ_H
#define PZ_TESTS_FORMATS_FUZZ_H

#include "formats/nifti_header.h"
#include "volume/report.h"
#include "formats/volume.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_MOST = 1 << 22 }; /* bytes of a plane, and planes, that are worth the fuzzer's time */

static inline void fuzz_planes(pz_volume *v) {
  const int64_t bytes = pz_volume_plane_bytes(&v->info) * v->info.channels;
  char *plane = bytes <= FUZZ_MOST ? malloc((size_t)bytes) : NULL;
  pz_error err = {0};
  for (int64_t z = 0; plane && z < v->info.shape[0] && z < 64; z++)
    if (pz_volume_read_planes(v, z, 1, plane, bytes / v->info.channels, &err) != PZ_OK) break;
  const int64_t *s = v->info.shape, row = (s[2] + 1) / 2 * pz_dtype_bytes(v->info.dtype),
                part = (s[1] + 1) / 2 * row;
  const pz_box box = {{s[0] / 2, s[1] / 2, s[2] / 2}, {1, (s[1] + 1) / 2, (s[2] + 1) / 2}};
  if (plane) pz_volume_read(v, &box, plane, (const int64_t[3]){part, part, row}, &err);
  free(plane);
}

/* Whatever a file says, what is known of its geometry is sound, for every format that may be written. */
static inline void fuzz_geometry(const pz_volume_info *info) {
  static const pz_volume_format *const formats[] = {&pz_volume_npy, &pz_volume_hdf5, &pz_volume_tiff,
                                                    &pz_volume_nifti};
  for (int f = 0; f < 8; f++) {
    pz_volume_info held = *info;
    uint8_t header[PZ_NIFTI_MAX_HEADER];
    if (f / 4) pz_geometry_crop(&held.geometry, (const int64_t[]){1, 100, 10000});
    pz_volume_hold(formats[f % 4], &held, NULL);
    const pz_geometry *g = &held.geometry;
    bool sound = g->known || !(g->has_origin || g->has_affine);
    for (int i = 0; i < 3; i++) {
      sound = sound && isfinite(g->origin[i]) && isfinite((float)g->voxel[i]);
      if (g->known == PZ_KNOWN_ALL || (g->known && i)) sound = sound && g->voxel[i] > 0;
      for (int j = 0; j < 4; j++) sound = sound && isfinite(g->affine[i][j]);
    }
    if (!sound) abort();
    if (f % 4 == 3) pz_nifti_print(&held, header);
  }
}

static inline int fuzz_volume(const char *suffix, const uint8_t *data, size_t size) {
  char path[64];
  pz_volume *v;
  pz_error err = {0};
  snprintf(path, sizeof path, "/dev/shm/pznet-fuzz-%ld%s", (long)getpid(), suffix);
  FILE *file = fopen(path, "wb");
  if (!file) return 0;
  const bool written = fwrite(data, 1, size, file) == size;
  if (fclose(file) != 0 || !written) return 0;
  if (pz_volume_open(path, &v, &err) == PZ_OK) {
    free(pz_report_volume(v));
    fuzz_geometry(&v->info);
    fuzz_planes(v);
    pz_volume_close(v);
  } else if (!err.message[0]) abort(); /* a failure without a message is a finding */
  unlink(path);
  return 0;
}

#endif
