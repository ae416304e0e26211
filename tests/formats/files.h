/* files.h: folders, volumes and their files for tests. */
#ifndef PZ_TESTS_FORMATS_FILES_H
#define PZ_TESTS_FORMATS_FILES_H

#include "unit.h"
#include "formats/volume.h"

#include <stdio.h>

/* A folder of the test's own, removed with all it holds by fx_leave. */
typedef struct fx_folder {
  char path[256];
} fx_folder;
fx_folder fx_enter(void);
void fx_leave(const fx_folder *folder);
const char *fx_path(const fx_folder *folder, const char *name); /* one of 16 static buffers, used in turn */

/* splitmix64: the same numbers everywhere */
uint64_t fx_random(uint64_t *state);
int64_t fx_between(uint64_t *state, int64_t low, int64_t high);
float fx_unit(uint64_t *state); /* 0 <= v < 1 */

pz_volume_info fx_info(pz_dtype dtype, int32_t channels, int64_t z, int64_t y, int64_t x);
/* Random content: floats in 0..1, integers over their whole range. The caller frees it. */
void *fx_content(const pz_volume_info *info, uint64_t seed);

/* Through the formats' own writers and readers. */
void fx_save(const char *path, const pz_volume_info *info, const void *data);
pz_status fx_try_save(const char *path, const pz_volume_info *info, const void *data, pz_error *err);
/* The same, compressed. */
typedef struct fx_packing {
  int level;
  pz_pool *pool;
} fx_packing;
pz_status fx_try_pack(const char *path, const pz_volume_info *info, const void *data,
                      const fx_packing *packing, pz_error *err);
void *fx_load(const char *path, pz_volume_info *info); /* the caller frees it */
/* Holds an open volume to itself: all of it read at once, plane by plane, and as `boxes` random boxes with random strides, of which the
 * bytes between the rows must stay as they are. fx_load does it with what is small. */
void fx_check_boxes(pz_volume *volume, int boxes, uint64_t seed);
/* A box of a volume of `shape`, often all of an axis; and strides for it with gaps here and there: the bytes that it takes. */
pz_box fx_box(const int64_t shape[3], uint64_t *state);
int64_t fx_strides(const pz_volume_info *info, const pz_box *box, uint64_t *state, int64_t stride[3]);
/* Reads everything there is, in portions of `portion` planes; for damaged files. */
pz_status fx_read_all(const char *path, int64_t portion, pz_error *err);

void *fx_file(const char *path, size_t *size); /* bytes; the caller frees them */
void fx_write_file(const char *path, const void *data, size_t size);
bool fx_exists(const char *path);

#endif
