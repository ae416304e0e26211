/* image.h: a network file, read once into memory of this process. Nothing of the file is mapped here: what was read is what is
 * checked and what runs, whoever writes to the file, cuts or replaces it meanwhile or later. */
#ifndef PZ_RUNTIME_IMAGE_H
#define PZ_RUNTIME_IMAGE_H

#include "base/file.h"
#include "runtime/elf_file.h"
#include "runtime/weights.h"

typedef struct pz_image {
  const char *path; /* for messages */
  int file;         /* open for reading */
  struct stat info; /* of `file`, before the first byte was read */
  bool shared;
  uint8_t *data; /* as long as the file; weights.bytes from weights.offset on are 0 until they are read */
  size_t size;
  pz_elf elf;
  pz_weights_place weights; /* pages that are read last; none where there are few */
  pz_kept_weights kept;     /* of the weights, what stays in memory */
  int copy;                 /* an empty file in memory for library.h, or -1 */
  char *memory, *reserved;  /* what was mapped */
  size_t memory_bytes, reserved_bytes;
} pz_image;

/* Opens and reads all of the file but its weights, where they are of some size. Of those, only pz_image_read gets bytes: into their place, which
 * lies as the loader will likely place the library, by huge pages; or, where the image is for sharing, into a buffer of the
 * caller's. `path` outlives the image. On success the caller closes it. */
pz_status pz_image_open(const char *path, bool shared, pz_image *image, pz_error *err);
void pz_image_close(pz_image *image);

/* Of the weights only the pages of these stretches, ascending, will be used: the others go through the reader's buffer, and their place stays
 * empty. They outlive the image's reading. Nothing changes where the image is for sharing, or has few weights. */
pz_status pz_image_keep(pz_image *image, const pz_stretch *stretches, int32_t n, pz_error *err);
/* Not all of the file will be in memory. */
static inline bool pz_image_needs_buffer(const pz_image *image) {
  return image->weights.bytes && (image->shared || image->kept.stretches);
}

/* Up to PZ_IMAGE_PIECE bytes from `offset` on; *bytes points to them, in the image or in `buffer`, which is as large where one is needed. Asked for in
 * the order of the file, once. */
#define PZ_IMAGE_PIECE ((size_t)256 << 10) /* stays in the cache of level 2 until it is summed */
pz_status pz_image_read(pz_image *image, size_t offset, uint8_t *buffer, const uint8_t **bytes, size_t *n,
                        pz_error *err);

/* What library.h does with an image. The room that is held for the library is given back; all memory but the weights'
 * is, and theirs becomes the caller's. */
void pz_image_free_room(pz_image *image);
char *pz_image_take_weights(pz_image *image);

/* Fails where the file is not as it was when it was opened. */
pz_status pz_image_check_unchanged(const pz_image *image, pz_error *err);

/* True where `now` is the file of `before`, its bytes as they were as far as the system tells. Another name or one less, as by
 * a rename over it, is no change. */
bool pz_image_same_file(const struct stat *before, const struct stat *now);

#endif
