#include "formats/hdf5_join.h"

#include "formats/hdf5_check.h"
#include "formats/hdf5_lock.h"
#include "base/memory.h"
#include "formats/hdf5_list.h"
#include "formats/hdf5_packed.h"
#include "formats/hdf5_quiet.h"
#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

static pz_status fail(pz_error *err, const char *path, const char *dataset, const char *what) {
  return pz_hdf5_fail(err, PZ_ERROR_OUTPUT, path, dataset, what);
}

/* What is done with a file that is open and was checked. */
typedef struct work {
  const char *dataset;
  bool update, *joins;
  const pz_volume_info *info;
  int level;
  int64_t place; /* of its data, or of a compressed dataset */
  uint64_t address;
} work;
typedef pz_status (*step)(const pz_hdf5_search *search, work *w);

static pz_status with_checked(const char *path, unsigned flags, pz_view *view, step step, work *w,
                              pz_error *err) {
  uint64_t root;
  PZ_TRY(pz_hdf5_check(view, path, &root, err));
  const hid_t file = H5Fopen(path, flags, H5P_DEFAULT);
  if (file < 0) return fail(err, path, NULL, "exists, and cannot be opened as HDF5");
  const pz_hdf5_search search = {.file = file, .view = view, .root = root, .path = path, .err = err};
  pz_status status = pz_hdf5_same_file(&search);
  if (status == PZ_OK) status = step(&search, w);
  if (H5Fclose(file) < 0 && status == PZ_OK) return fail(err, path, w->dataset, "cannot finish the file");
  return status;
}

static pz_status with_file(const char *path, unsigned flags, step step, work *w, pz_error *err) {
  pz_view view = {0};
  PZ_TRY(pz_memory_room("HDF5", err));
  PZ_TRY(pz_view_open(path, &view, err));
  const pz_hdf5_quiet q = pz_hdf5_hush();
  const pz_status status = with_checked(path, flags, &view, step, w, err);
  pz_hdf5_unhush(q);
  pz_view_close(&view);
  return status;
}

/* ------------------------------------------------------------------ before the work */

/* A file without anything else is replaced whole, and its only dataset needs no leave. */
static pz_status decide(const pz_hdf5_search *s, const pz_hdf5_list *l, bool exists, work *w) {
  const bool only = l->complete && l->datasets == exists;
  *w->joins = !only || l->others > 0;
  if (!exists || only || w->update) return PZ_OK;
  return pz_fail(
      s->err, PZ_ERROR_USAGE,
      "%s:%s: there is a dataset of this name beside others; replace it with --update, or give the "
      "result another name",
      s->path, w->dataset);
}

static pz_status look(const pz_hdf5_search *s, work *w) {
  pz_hdf5_place place;
  pz_hdf5_list *list;
  PZ_TRY(pz_hdf5_find_place(s, w->dataset, &place));
  H5Oclose(place.group);
  PZ_TRY(pz_hdf5_list_datasets(s, &list));
  const pz_status status = decide(s, list, place.exists, w);
  free(list);
  return status;
}

pz_status pz_hdf5_check_join(const char *path, const char *dataset, bool update, bool *joins, pz_error *err) {
  work w = {.dataset = dataset ? dataset : PZ_HDF5_DEFAULT, .update = update, .joins = joins};
  *joins = false;
  return access(path, F_OK) == 0 ? with_file(path, H5F_ACC_RDONLY, look, &w, err) : PZ_OK;
}

static pz_status locate(const pz_hdf5_search *s, work *w) {
  return pz_hdf5_locate_dataset(s, w->dataset, &w->address);
}

uint64_t pz_hdf5_locate(const char *path, const char *dataset) {
  work w = {.dataset = dataset ? dataset : PZ_HDF5_DEFAULT};
  return with_file(path, H5F_ACC_RDONLY, locate, &w, NULL) == PZ_OK ? w.address : 0;
}

/* ------------------------------------------------------------------ the copy */

static bool locks_are_off(void) {
  const char *wanted = getenv("HDF5_USE_FILE_LOCKING");
  return wanted && (strcmp(wanted, "FALSE") == 0 || strcmp(wanted, "0") == 0);
}

static pz_status lock_old(pz_volume_join *j, pz_error *err) {
  j->lock = open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (j->lock < 0 || fstat(j->lock, &j->seen) != 0) return pz_io_fail(err, j->path, "locking", errno);
  if (locks_are_off() || flock(j->lock, LOCK_SH | LOCK_NB) == 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_OUTPUT,
                 "%s: is locked: " PZ_HDF5_LOCKED "; then run the same command with --resume", j->path);
}

static pz_status stopped(pz_error *err) { return pz_fail(err, PZ_INTERRUPTED, "interrupted while writing"); }

/* By the kernel where it can, in pieces, so that an interruption is noticed. */
static pz_status copy_bytes(const pz_volume_join *j, int to, const pz_volume_source *s, pz_error *err) {
  enum { PIECE = 16 << 20, BUFFER = 1 << 20 };
  bool kernel = true;
  char *buffer = malloc(BUFFER);
  pz_status status = buffer ? PZ_OK : pz_fail_memory(err, "a copy", BUFFER);
  for (int64_t at = 0; at < j->seen.st_size && status == PZ_OK;) {
    const int64_t left = j->seen.st_size - at, most = kernel ? PIECE : BUFFER, n = left < most ? left : most;
    off_t from = at, into = at;
    const ssize_t moved = kernel ? copy_file_range(j->lock, &from, to, &into, (size_t)n, 0) : -1;
    if (!kernel) status = pz_io_read(j->lock, j->path, buffer, n, at, err);
    if (!kernel && status == PZ_OK) status = pz_io_write(to, j->to, buffer, n, at, err);
    at += !kernel ? n : moved > 0 ? moved : 0;
    kernel = moved > 0;
    if (s->go_on && !s->go_on(s->host, 0)) status = stopped(err);
  }
  free(buffer);
  return status;
}

/* Where the file system shares blocks, nothing is copied. The rights are those of the old file. */
static pz_status copy_old(const pz_volume_join *j, int to, const pz_volume_source *s, pz_error *err) {
  if (fchmod(to, j->seen.st_mode & 07777) != 0) return pz_io_fail(err, j->to, "setting the rights of", errno);
  return ioctl(to, FICLONE, j->lock) == 0 ? PZ_OK : copy_bytes(j, to, s, err);
}

/* ------------------------------------------------------------------ the dataset */

static pz_status replace(const pz_hdf5_search *s, const pz_hdf5_place *place, work *w) {
  if (place->exists && H5Ldelete(place->group, place->name, H5P_DEFAULT) < 0)
    return fail(s->err, s->path, w->dataset, "cannot remove the old dataset");
  if (pz_hdf5_make_dataset(place->group, place->name, w->info, w->level, &w->place)) return PZ_OK;
  return fail(s->err, s->path, w->dataset, "cannot create the dataset");
}

/* Whether it may be replaced is asked again: others may have written to the file since the work began. */
static pz_status put_dataset(const pz_hdf5_search *s, work *w) {
  pz_hdf5_place place;
  pz_hdf5_list *list;
  PZ_TRY(pz_hdf5_find_place(s, w->dataset, &place));
  pz_status status = pz_hdf5_list_datasets(s, &list);
  if (status == PZ_OK) status = decide(s, list, place.exists, w);
  if (status == PZ_OK) status = replace(s, &place, w);
  free(list);
  H5Oclose(place.group);
  return status;
}

/* The new file, and where the data begins in it. */
typedef struct target {
  const char *path;
  int fd;
  int64_t offset;
} target;

static pz_status put_strip(void *host, const void *strip, int64_t bytes, int64_t at, pz_error *err) {
  const target *p = host;
  return pz_io_write(p->fd, p->path, strip, bytes, p->offset + at, err);
}

static pz_status fill_copy(const pz_volume_join *j, int to, pz_volume_source *source, pz_error *err) {
  bool joins;
  work w = {.dataset = j->dataset,
            .update = j->update,
            .joins = &joins,
            .info = source->info,
            .level = source->level};
  PZ_TRY(copy_old(j, to, source, err));
  PZ_TRY(with_file(j->to, H5F_ACC_RDWR, put_dataset, &w, err));
  if (source->level > 0) return pz_hdf5_fill_packed(j->to, j->dataset, (uint64_t)w.place, source, err);
  return pz_volume_source_strips(source, put_strip, &(target){j->to, to, w.place}, err);
}

static pz_status make_copy(pz_volume_join *j, pz_volume_source *source, pz_error *err) {
  PZ_TRY(lock_old(j, err));
  const int to = open(j->to, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (to < 0) return pz_io_fail(err, j->to, "creating", errno);
  const pz_status status = fill_copy(j, to, source, err);
  close(to);
  return status;
}

/* What others did to the file since the work began is no reason to throw the work away. */
pz_status pz_hdf5_join(pz_volume_join *j, pz_volume_source *source, pz_error *err) {
  pz_error e = {0};
  const pz_status status = make_copy(j, source, &e);
  if (status == PZ_OK) return PZ_OK;
  if (status != PZ_ERROR_INPUT && status != PZ_ERROR_USAGE) return pz_fail(err, status, "%s", e.message);
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s; the work is finished and kept: --resume goes on", e.message);
}
