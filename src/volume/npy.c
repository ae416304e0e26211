/* npy.c: volumes in NumPy's .npy. */
#include "volume/io.h"
#include "volume/npy_header.h"
#include "volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

typedef struct npy {
  int fd;
  pz_npy header;
} npy;

static pz_status npy_open(pz_volume *v, pz_error *err) {
  int64_t size;
  npy *n = PZ_NEW(v->arena, npy, 1);
  if (!n) return pz_fail_memory(err, "a .npy file", sizeof *n);
  n->fd = -1;
  v->state = n;
  PZ_TRY(pz_io_open(v->path, &n->fd, &size, err));
  PZ_TRY(pz_npy_read_header(v->arena, v->path, n->fd, size, &n->header, err));
  v->info.dtype = n->header.dtype;
  PZ_TRY(pz_volume_shape(v->path, n->header.rank, n->header.dim, &v->info, err));
  return pz_npy_check_size(v->path, &n->header, err);
}

static pz_status npy_read(pz_volume *v, int64_t z, int64_t count, void *planes, int64_t channel_bytes,
                          pz_error *err) {
  const npy *n = v->state;
  const int64_t plane = pz_volume_plane_bytes(&v->info), element = pz_dtype_bytes(v->info.dtype);
  for (int64_t c = 0; c < v->info.channels; c++) {
    char *to = (char *)planes + c * channel_bytes;
    PZ_TRY(pz_io_read(n->fd, v->path, to, count * plane,
                      n->header.offset + (c * v->info.shape[0] + z) * plane, err));
    if (n->header.swap) pz_io_swap(to, count * plane / element, element);
  }
  return PZ_OK;
}

static void npy_close(pz_volume *v) {
  npy *n = v->state;
  if (n && n->fd >= 0) close(n->fd);
}

static pz_status npy_lay_out(const char *path, const char *dataset, const pz_volume_info *info,
                             int64_t *offset, pz_error *err) {
  (void)dataset;
  const int64_t dim[4] = {info->channels, info->shape[0], info->shape[1], info->shape[2]};
  char header[PZ_NPY_HEADER];
  const int skip = !info->has_channels;
  *offset = pz_npy_print_header(info->dtype, 4 - skip, dim + skip, header);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return pz_io_fail(err, path, "creating", errno);
  const pz_status status = pz_io_write(fd, path, header, *offset, 0, err);
  close(fd);
  return status;
}

const pz_volume_format pz_volume_npy = {
    .name = "npy",
    .suffixes = {".npy"},
    .open = npy_open,
    .read = npy_read,
    .close = npy_close,
    .lay_out = npy_lay_out,
};
