#include "runtime/image.h"
#include "base/memory.h"
#include "pznet/network_abi.h"
#include "runtime/library.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of code, tables and the manifest: all that nobody knows the size of beforehand. */
#define MOST_REST ((size_t)1 << 30)

static pz_status changed(const pz_image *image, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: changed while it was opened: open it again", image->path);
}

bool pz_image_same_file(const struct stat *before, const struct stat *now) {
  const bool touched =
      now->st_ctim.tv_sec != before->st_ctim.tv_sec || now->st_ctim.tv_nsec != before->st_ctim.tv_nsec;
  return now->st_dev == before->st_dev && now->st_ino == before->st_ino && now->st_size == before->st_size &&
         now->st_mtim.tv_sec == before->st_mtim.tv_sec && now->st_mtim.tv_nsec == before->st_mtim.tv_nsec &&
         (!touched || now->st_nlink != before->st_nlink);
}

pz_status pz_image_check_unchanged(const pz_image *image, pz_error *err) {
  struct stat now;
  if (fstat(image->file, &now))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be examined: %m", image->path);
  return pz_image_same_file(&image->info, &now) ? PZ_OK : changed(image, err);
}

static pz_status fetch(const pz_image *image, size_t offset, size_t n, uint8_t *to, pz_error *err) {
  while (n > 0) {
    const ssize_t got = pread(image->file, to, n, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be read: %m", image->path);
    if (got == 0)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: became shorter while it was opened: open it again",
                     image->path);
    offset += (size_t)got, to += got, n -= (size_t)got;
  }
  return PZ_OK;
}

static pz_status fetch_in_place(pz_image *image, uint64_t offset, uint64_t n, pz_error *err) {
  if (offset > image->size || n > image->size - offset) return PZ_OK; /* pz_elf_open will refuse it */
  return fetch(image, offset, n, image->data + offset, err);
}

/* ---- where things lie ---- */

/* What pz_elf_open looks at: header, tables, the sections' names. */
static pz_status fetch_tables(pz_image *image, pz_error *err) {
  Elf64_Ehdr h;
  Elf64_Shdr names;
  PZ_TRY(fetch_in_place(image, 0, image->size < sizeof h ? image->size : sizeof h, err));
  if (image->size < sizeof h) return PZ_OK;
  memcpy(&h, image->data, sizeof h);
  const uint64_t sections = (uint64_t)h.e_shnum * sizeof names;
  PZ_TRY(fetch_in_place(image, h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr), err));
  PZ_TRY(fetch_in_place(image, h.e_shoff, sections, err));
  if (h.e_shoff > image->size || sections > image->size - h.e_shoff || h.e_shstrndx >= h.e_shnum)
    return PZ_OK;
  memcpy(&names, image->data + h.e_shoff + h.e_shstrndx * sizeof names, sizeof names);
  return fetch_in_place(image, names.sh_offset, names.sh_size, err);
}

static pz_status open_elf(pz_image *image, pz_weights_place *weights, pz_error *err) {
  const pz_mapping mapping = {image->data, image->size};
  PZ_TRY(pz_elf_open(&mapping, image->path, &image->elf, err));
  return pz_weights_find(&image->elf, weights, err);
}

/* ---- memory ---- */

static pz_status take_memory(pz_image *image, size_t slack, pz_error *err) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (image->shared ? MAP_NORESERVE : 0);
  const size_t bytes = image->size + slack + 1; /* not 0 */
  char *memory = bytes > image->size && pz_memory_allows(bytes)
                     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0)
                     : MAP_FAILED;
  if (memory == MAP_FAILED) return pz_fail_memory(err, image->path, image->size);
  image->memory = memory, image->memory_bytes = bytes, image->data = (uint8_t *)memory;
  return PZ_OK;
}

static void give_back(char **memory, size_t bytes) {
  if (*memory) (void)munmap(*memory, bytes);
  *memory = NULL;
}

/* The loader asks the system for room of the library's size, and gets the same room that we get here: the highest that is
 * large enough. This one is held until then. Where the weights will be if nobody else takes it; a guess that fails costs a copy
 * (weights.c). */
static uintptr_t reserve(pz_image *image, uint64_t begin, uint64_t bytes) {
  if (image->copy < 0 || bytes == 0) return 0;
  char *room = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, image->copy, 0);
  if (room == MAP_FAILED) return 0;
  image->reserved = room, image->reserved_bytes = bytes;
  return (uintptr_t)room + (image->weights.address - begin);
}

/* Memory in which the weights lie as in the library, counted in huge pages: then they are moved there whole. */
static pz_status take_aligned_memory(pz_image *image, pz_error *err) {
  uint64_t begin, bytes;
  pz_elf_span(&image->elf, &begin, &bytes);
  give_back(&image->memory, image->memory_bytes); /* it would be room for the library, too */
  image->copy = pz_library_memory_file(image->size);
  const uintptr_t address = reserve(image, begin, bytes);
  PZ_TRY(take_memory(image, PZ_HUGE_PAGE, err));
  image->data += (address - ((uintptr_t)image->data + image->weights.offset)) % PZ_HUGE_PAGE;
  pz_huge_advise(image->data + image->weights.offset, image->weights.bytes);
  return PZ_OK;
}

void pz_image_free_room(pz_image *image) { give_back(&image->reserved, image->reserved_bytes); }

char *pz_image_take_weights(pz_image *image) {
  char *weights = (char *)image->data + image->weights.offset, *behind = weights + image->weights.bytes;
  char *end = image->memory + image->memory_bytes;
  if (weights > image->memory) (void)munmap(image->memory, (size_t)(weights - image->memory));
  if (behind < end) (void)munmap(behind, (size_t)(end - behind));
  image->memory = NULL;
  return weights;
}

/* ---- reading ---- */

static pz_status read_rest(pz_image *image, pz_error *err) {
  const size_t behind = image->weights.offset + image->weights.bytes,
               rest = image->size - image->weights.bytes;
  if (rest > MOST_REST)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has %zu bytes beside its weights, at most %zu are accepted",
                   image->path, rest, MOST_REST);
  PZ_TRY(fetch_in_place(image, 0, image->weights.offset, err));
  return fetch_in_place(image, behind, image->size - behind, err);
}

/* The tables are looked at twice: to know where the weights are before much is read, and as they are among all that
 * was read, which is what counts. In a damaged file they may lie among the weights; the checksum tells, before anything
 * is loaded. */
static pz_status read_image(pz_image *image, pz_error *err) {
  pz_weights_place again;
  PZ_TRY(take_memory(image, 0, err));
  PZ_TRY(fetch_tables(image, err));
  PZ_TRY(open_elf(image, &image->weights, err));
  if (pz_weights_are_huge(&image->weights) && !image->shared) PZ_TRY(take_aligned_memory(image, err));
  PZ_TRY(read_rest(image, err));
  PZ_TRY(open_elf(image, &again, err));
  return memcmp(&again, &image->weights, sizeof again) ? changed(image, err) : PZ_OK;
}

pz_status pz_image_open(const char *path, bool shared, pz_image *image, pz_error *err) {
  *image = (pz_image){.path = path, .shared = shared, .file = -1, .copy = -1};
  PZ_TRY(pz_file_open(path, &image->file, &image->info, err));
  image->size = (size_t)image->info.st_size;
  const pz_status status = read_image(image, err);
  if (status != PZ_OK) pz_image_close(image);
  return status;
}

void pz_image_close(pz_image *image) {
  give_back(&image->reserved, image->reserved_bytes);
  give_back(&image->memory, image->memory_bytes);
  if (image->file >= 0) close(image->file);
  if (image->copy >= 0) close(image->copy);
  image->file = image->copy = -1;
}

pz_status pz_image_keep(pz_image *image, const pz_stretch *stretches, int32_t n, pz_error *err) {
  Elf64_Shdr s;
  if (image->shared || !image->weights.bytes) return PZ_OK;
  PZ_TRY(pz_elf_find_section(&image->elf, PZ_ABI_WEIGHTS_SECTION, &s, err));
  image->kept = (pz_kept_weights){stretches, n, s.sh_offset};
  return PZ_OK;
}

pz_status pz_image_read(pz_image *image, size_t offset, uint8_t *buffer, const uint8_t **bytes, size_t *n,
                        pz_error *err) {
  const pz_weights_place *w = &image->weights;
  uint64_t end = offset < w->offset              ? w->offset
                 : offset < w->offset + w->bytes ? w->offset + w->bytes
                                                 : image->size;
  const bool among_weights = offset >= w->offset && offset < w->offset + w->bytes;
  const bool passes = among_weights && (image->shared || !pz_weights_kept(&image->kept, offset, &end));
  uint8_t *to = passes ? buffer : image->data + offset;
  *n = end - offset < PZ_IMAGE_PIECE ? end - offset : PZ_IMAGE_PIECE;
  *bytes = to;
  return among_weights ? fetch(image, offset, *n, to, err) : PZ_OK;
}
