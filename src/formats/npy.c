/* npy.c: volumes in NumPy's .npy. */
#include "formats/io.h"
#include "formats/npy_array.h"
#include "formats/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

typedef struct npy {
  pz_raw_file file;
  pz_npy header;
  pz_raw raw;
} npy;

static pz_status npy_open(pz_volume *v, pz_error *err) {
  int64_t size;
  npy *n = PZ_NEW(v->arena, npy, 1);
  if (!n) return pz_fail_memory(err, "a .npy file", sizeof *n);
  n->file = (pz_raw_file){-1, v->path};
  v->state = n;
  PZ_TRY(pz_io_open(v->path, &n->file.fd, &size, err));
  PZ_TRY(pz_npy_read_header(v->arena, v->path, n->file.fd, size, &n->header, err));
  return pz_npy_take_array(v, &n->header, err);
}

static pz_status npy_ready(pz_volume *v, pz_error *err) {
  npy *n = v->state;
  PZ_TRY(pz_npy_check_size(v->path, &n->header, err));
  n->raw = pz_npy_raw(v, &n->header);
  n->raw.fetch = pz_raw_fetch_file, n->raw.host = &n->file;
  v->memory = pz_raw_memory(&n->raw, &v->axes);
  pz_raw_step(&n->raw, &v->axes, PZ_VOLUME_STEP_BYTES, v->step);
  return PZ_OK;
}

static pz_status npy_read(pz_volume *v, const pz_array_box *box, void *to, pz_error *err) {
  npy *n = v->state;
  return pz_raw_read(&n->raw, box, to, err);
}

static void npy_close(pz_volume *v) {
  npy *n = v->state;
  if (!n) return;
  pz_raw_free(&n->raw);
  if (n->file.fd >= 0) close(n->file.fd);
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
    .ready = npy_ready,
    .read = npy_read,
    .close = npy_close,
    .lay_out = npy_lay_out,
};
