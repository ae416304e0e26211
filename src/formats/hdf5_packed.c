#include "formats/hdf5_packed.h"

#include "formats/deflate_out.h"
#include "formats/hdf5_quiet.h"
#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEP = 16, WIDE = 128, MOST_VOXELS = DEEP * WIDE * WIDE };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The length of equal parts of at most `most`. */
static int64_t part_of(int64_t size, int64_t most) {
  const int64_t parts = (size + most - 1) / most;
  return (size + parts - 1) / parts;
}

/* z, y, x. Where there are few planes, of more rows. */
static void chunk_shape(const pz_volume_info *info, int64_t chunk[3]) {
  int64_t wide = WIDE;
  chunk[0] = part_of(info->shape[0], DEEP);
  while (4 * wide * wide * chunk[0] <= MOST_VOXELS) wide *= 2;
  for (int i = 1; i < 3; i++) chunk[i] = part_of(info->shape[i], wide);
}

static int64_t chunk_bytes(const int64_t chunk[3], const pz_volume_info *info) {
  return chunk[0] * chunk[1] * chunk[2] * pz_dtype_bytes(info->dtype);
}

static bool shuffles(const pz_volume_info *info) { return pz_dtype_bytes(info->dtype) > 1; }

bool pz_hdf5_pack(hid_t create, const pz_volume_info *info, int level) {
  int64_t shape[3];
  chunk_shape(info, shape);
  const hsize_t chunk[4] = {1, (hsize_t)shape[0], (hsize_t)shape[1], (hsize_t)shape[2]};
  const int skip = !info->has_channels;
  return H5Pset_chunk(create, 4 - skip, chunk + skip) >= 0 &&
         (!shuffles(info) || H5Pset_shuffle(create) >= 0) && H5Pset_deflate(create, (unsigned)level) >= 0;
}

/* ------------------------------------------------------------------ chunks */

typedef struct packed {
  pz_volume_source *source;
  const char *path, *dataset;
  hid_t data;
  int64_t chunk[3], count[3]; /* voxels of one; how many along z, y, x */
  int64_t blocks;
} packed;

static packed pack(pz_volume_source *source) {
  packed p = {.source = source, .data = -1, .blocks = source->info->channels};
  chunk_shape(source->info, p.chunk);
  for (int i = 0; i < 3; i++) {
    p.count[i] = (source->info->shape[i] + p.chunk[i] - 1) / p.chunk[i];
    p.blocks *= p.count[i];
  }
  return p;
}

int64_t pz_hdf5_packed_most(const pz_volume_info *info) {
  enum { INDEX = 256, REST = 1 << 16 }; /* of a chunk in the tree that finds it; of the file */
  pz_volume_source source = {.info = info};
  const packed p = pack(&source);
  return p.blocks * (chunk_bytes(p.chunk, info) + INDEX) + REST;
}

/* The channel of a chunk, and the part of the result in it. */
static int64_t box_of(const packed *p, int64_t index, pz_box *box) {
  int64_t left = index;
  for (int i = 2; i >= 0; i--) {
    box->start[i] = left % p->count[i] * p->chunk[i];
    box->size[i] = least(p->chunk[i], p->source->info->shape[i] - box->start[i]);
    left /= p->count[i];
  }
  return left;
}

/* From a box that lies densely at the beginning of a chunk to the chunk, whose rest becomes zero: from the last row to the first, since all move towards
 * the end. */
static void spread(const int64_t chunk[3], const pz_box *box, int64_t element, char *at) {
  const int64_t row = box->size[2] * element, wide = chunk[2] * element;
  for (int64_t z = chunk[0] - 1; z >= 0; z--)
    for (int64_t y = chunk[1] - 1; y >= 0; y--) {
      char *to = at + (z * chunk[1] + y) * wide;
      const bool there = z < box->size[0] && y < box->size[1];
      if (there) memmove(to, at + (z * box->size[1] + y) * row, (size_t)row);
      memset(to + (there ? row : 0), 0, (size_t)(wide - (there ? row : 0)));
    }
}

/* HDF5's filter: all first bytes of the elements, all second ones, and so on. */
static void shuffle(const char *from, int64_t n, int64_t element, char *to) {
  for (int64_t b = 0; b < element; b++)
    for (int64_t i = 0; i < n; i++) to[b * n + i] = from[i * element + b];
}

static pz_status fill(const void *host, int64_t index, char *work, char *to, int64_t *bytes, pz_error *err) {
  const packed *p = host;
  const int64_t element = pz_dtype_bytes(p->source->info->dtype);
  char *at = element > 1 ? work : to;
  pz_box box;
  const int64_t channel = box_of(p, index, &box);
  *bytes = chunk_bytes(p->chunk, p->source->info);
  PZ_TRY(pz_volume_source_box(p->source, channel, &box, at, err));
  spread(p->chunk, &box, element, at);
  if (element > 1) shuffle(work, *bytes / element, element, to);
  return PZ_OK;
}

/* A chunk that deflate does not make smaller is written without it, which its filter mask says. */
static pz_status put(void *host, const pz_deflated *b, pz_error *err) {
  const packed *p = host;
  const bool smaller = b->packed_bytes < b->plain_bytes;
  const uint32_t mask = smaller ? 0 : 1u << shuffles(p->source->info);
  pz_box box;
  const hsize_t channel = (hsize_t)box_of(p, b->index, &box);
  const hsize_t at[4] = {channel, (hsize_t)box.start[0], (hsize_t)box.start[1], (hsize_t)box.start[2]};
  const pz_hdf5_quiet q = pz_hdf5_hush();
  const herr_t done =
      H5Dwrite_chunk(p->data, H5P_DEFAULT, mask, at + !p->source->info->has_channels,
                     (size_t)(smaller ? b->packed_bytes : b->plain_bytes), smaller ? b->packed : b->plain);
  const pz_status status =
      done >= 0 ? PZ_OK : pz_hdf5_fail(err, PZ_ERROR_OUTPUT, p->path, p->dataset, "cannot write a chunk");
  pz_hdf5_unhush(q);
  return status;
}

/* Chunks as planes, which the user is told of. */
static bool go_on(void *host, int64_t done) {
  const packed *p = host;
  const pz_volume_source *s = p->source;
  const double planes = (double)s->info->channels * (double)s->info->shape[0];
  return !s->go_on || s->go_on(s->host, (int64_t)(planes * (double)done / (double)p->blocks));
}

static pz_status fill_open(packed *p, pz_error *err) {
  const pz_deflate d = {.pool = p->source->pool,
                        .level = p->source->level,
                        .blocks = p->blocks,
                        .bytes = chunk_bytes(p->chunk, p->source->info),
                        .fill = fill,
                        .put = put,
                        .go_on = go_on,
                        .host = p};
  return pz_deflate_blocks(&d, err);
}

/* The library cut the file behind its last byte and so gave back the room that was set aside: it is taken again. */
static pz_status take_room(const char *path, int64_t bytes, pz_error *err) {
  struct stat info;
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return pz_io_fail(err, path, "creating", errno);
  const bool failed =
      fstat(fd, &info) != 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, info.st_size + bytes) != 0;
  const int code = failed ? errno : 0;
  close(fd);
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return full ? pz_io_fail(err, path, "growing", code) : PZ_OK;
}

static hid_t open_dataset(const char *path, uint64_t address, hid_t *data) {
  const pz_hdf5_quiet q = pz_hdf5_hush();
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  *data = file >= 0 ? H5Oopen_by_addr(file, (haddr_t)address) : -1;
  pz_hdf5_unhush(q);
  return file;
}

static bool close_dataset(hid_t file, hid_t data) {
  const pz_hdf5_quiet q = pz_hdf5_hush();
  bool good = data < 0 || H5Oclose(data) >= 0;
  if (file >= 0 && H5Fclose(file) < 0) good = false;
  pz_hdf5_unhush(q);
  return good;
}

pz_status pz_hdf5_fill_packed(const char *path, const char *dataset, uint64_t address,
                              pz_volume_source *source, pz_error *err) {
  packed p = pack(source);
  p.path = path, p.dataset = dataset;
  PZ_TRY(take_room(path, pz_hdf5_packed_most(source->info), err));
  const hid_t file = open_dataset(path, address, &p.data);
  pz_status status = p.data >= 0
                         ? fill_open(&p, err)
                         : pz_fail(err, PZ_ERROR_OUTPUT, "%s:%s: cannot be opened again", path, dataset);
  if (!close_dataset(file, p.data) && status == PZ_OK)
    status = pz_fail(err, PZ_ERROR_OUTPUT, "%s:%s: cannot finish the file", path, dataset);
  return status;
}
