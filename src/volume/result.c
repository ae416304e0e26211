/* result.c: from the job's files to the output. */
#include "base/memory.h"
#include "base/clock.h"
#include "volume/finished.h"
#include "formats/io.h"
#include "volume/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Whether there is room beside what was taken; a file system that does not say so is believed to have it. */
static pz_status ask(const pz_run *r, int64_t bytes, const char *what, pz_error *err) {
  struct statvfs disk;
  const char *folder = pz_job_path(r->job, ".");
  if (!folder) return pz_fail_memory(err, "a path", 0);
  if (statvfs(folder, &disk) != 0) return PZ_OK;
  const int64_t block = (int64_t)disk.f_frsize, available = pz_times((int64_t)disk.f_bavail, block);
  if (disk.f_blocks == 0 || block < 1 || available >= bytes) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_OUTPUT,
      "%s: no room on the disk for %s: up to %lld bytes are needed, and %lld are free; the result has %lld",
      r->output.file, what, (long long)bytes, (long long)available,
      (long long)pz_volume_bytes(&r->layout.result));
}

/* Takes the room on the disk now, where the file system can: a disk that is too small is found before the work. */
static pz_status reserve(const pz_run *r, int fd, pz_error *err) {
  const int64_t bytes = r->result_offset + pz_volume_bytes(&r->layout.result);
  if (fallocate(fd, 0, 0, bytes) != 0) {
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: no room on the disk for the result of %lld bytes",
                     r->output.file, (long long)bytes);
    PZ_TRY(ask(r, bytes, "the result", err));
    if (ftruncate(fd, bytes) != 0) return pz_io_fail(err, r->result_path, "growing", errno);
  }
  return fsync(fd) == 0 ? PZ_OK : pz_io_fail(err, r->result_path, "syncing", errno);
}

/* The copy of the old file with the result in it: room for it, which it keeps. */
static pz_status reserve_joined(pz_run *r, pz_error *err) {
  enum { MORE = 1 << 20 }; /* names, and what HDF5 puts beside data */
  struct stat info;
  const char *path = pz_job_path(r->job, "result.out");
  if (!path) return pz_fail_memory(err, "a path", 0);
  if (stat(r->output.file, &info) != 0) return pz_io_fail(err, r->output.file, "looking at", errno);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return pz_io_fail(err, path, "creating", errno);
  const int64_t result = r->level > 0 ? r->output.format->most(&r->layout.result)
                                      : pz_volume_bytes(&r->layout.result),
                bytes = info.st_size + result + MORE;
  const int code = fallocate(fd, 0, 0, bytes) != 0 ? errno : 0;
  close(fd);
  if (code == ENOSPC || code == EFBIG || code == EDQUOT)
    return pz_fail(
        err, PZ_ERROR_OUTPUT,
        "%s: no room on the disk for a copy of it with the result, of %lld bytes beside the result's %lld",
        r->output.file, (long long)bytes, (long long)pz_volume_bytes(&r->layout.result));
  return PZ_OK;
}

/* The file that is written from the planes in the end gets its room now. It stays empty: writers that seek to its end begin there. */
static pz_status reserve_converted(pz_run *r, pz_error *err) {
  const int64_t bytes = r->output.format->most(&r->layout.result);
  const char *path = pz_job_path(r->job, "result.out");
  if (!path) return pz_fail_memory(err, "a path", 0);
  const int fd = pz_io_create(path);
  if (fd < 0) return pz_io_fail(err, path, "creating", errno);
  const int code = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0 ? errno : 0;
  close(fd);
  if (code != ENOSPC && code != EFBIG && code != EDQUOT)
    return code ? ask(r, bytes + pz_volume_bytes(&r->layout.result),
                      "its file and the planes that it is written from", err)
                : PZ_OK;
  return pz_fail(
      err, PZ_ERROR_OUTPUT,
      "%s: no room on the disk for up to %lld bytes beside the %lld bytes of the planes that it is "
      "written from",
      r->output.file, (long long)bytes, (long long)pz_volume_bytes(&r->layout.result));
}

/* Rows whose patches are kept at a time, so that they need not be computed again: as many as reach into the one that is at work. */
static pz_status ask_for_journals(const pz_run *r, pz_error *err) {
  enum { DATABASE = 1 << 16 };
  const pz_patch_function *f = r->function;
  const pz_axis *z = &r->layout.grid.axis[0];
  int64_t rows = 1;
  for (int64_t k = 0; k < r->layout.layers; k++)
    if (k - pz_layers_needed(z, k) + 1 > rows) rows = k - pz_layers_needed(z, k) + 1;
  int64_t patches = 1;
  for (int i = 0; i < 2; i++) patches *= pz_cuts_most(&r->layout.grid.axis[1 + i], &r->layout.cut[i]);
  return ask(r, rows * patches * f->out[0] * f->out[1] * f->out[2] * f->channels_out * 4 + DATABASE,
             "the patches that --resume goes on from", err);
}

static pz_status make_result(pz_run *r, pz_error *err) {
  const pz_volume_format *format = r->output.format;
  char text[32];
  if (r->joins) PZ_TRY(reserve_joined(r, err));
  else if (pz_volume_converts(format, r->level)) PZ_TRY(reserve_converted(r, err));
  else if (format->lay_out)
    PZ_TRY(format->lay_out(r->result_path, r->output.dataset, &r->layout.result, &r->result_offset, err));
  const int fd = open(r->result_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return pz_io_fail(err, r->result_path, "creating", errno);
  const pz_status status = reserve(r, fd, err);
  close(fd);
  if (status != PZ_OK) return status;
  PZ_TRY(ask_for_journals(r, err));
  PZ_TRY(pz_io_sync_folder(r->result_path, err));
  snprintf(text, sizeof text, "%lld", (long long)r->result_offset);
  return pz_job_set(r->job, "offset", text, err);
}

pz_status pz_run_damaged(const pz_run *r, pz_error *err) {
  return pz_fail(err, PZ_ERROR_RUN, "%s.pznet-job: damaged; run without --resume to begin anew",
                 r->output.file);
}

static pz_status find_result(pz_run *r, const char *offset, pz_error *err) {
  struct stat info;
  r->result_offset = strtoll(offset, NULL, 10);
  const int64_t layer = pz_job_layer(r->job); /* of all blocks */
  r->counts.tally = pz_job_tallied(r->job);
  r->first_block = layer / r->layout.layers, r->first_layer = layer % r->layout.layers;
  const bool sound = layer >= 0 && layer <= pz_times(r->layout.layers, r->layout.blocks) &&
                     r->result_offset >= 0 && r->result_offset < 1 << 20 &&
                     stat(r->result_path, &info) == 0 &&
                     info.st_size >= r->result_offset + pz_volume_bytes(&r->layout.result);
  return sound ? PZ_OK : pz_run_damaged(r, err);
}

pz_status pz_run_open_result(pz_run *r, pz_error *err) {
  char offset[32];
  r->result_path = pz_job_path(r->job, "result.raw");
  if (!r->result_path) return pz_fail_memory(err, "a path", 0);
  if (pz_job_resumed(r->job) && pz_job_get(r->job, "offset", offset, sizeof offset))
    PZ_TRY(find_result(r, offset, err));
  else PZ_TRY(make_result(r, err));
  return PZ_OK;
}

static bool finish_step(void *host, int64_t plane) {
  pz_run *r = host;
  pz_run_tell(r, PZ_RUN_WRITING, plane, r->layout.result.channels * r->layout.result.shape[0]);
  return !pz_run_interrupted(r);
}

static pz_status join(const pz_run *r, pz_volume_join *j, pz_volume_source *source, pz_error *err) {
  j->path = r->output.file, j->dataset = r->output.dataset, j->update = r->options->update;
  return r->output.format->join(j, source, err);
}

/* What was copied is what is replaced. */
static pz_status check_unchanged(const pz_volume_join *j, pz_error *err) {
  const struct stat *a = &j->seen;
  struct stat b;
  if (stat(j->path, &b) != 0) return pz_io_fail(err, j->path, "looking at", errno);
  if (a->st_dev == b.st_dev && a->st_ino == b.st_ino && a->st_size == b.st_size &&
      a->st_mtim.tv_sec == b.st_mtim.tv_sec && a->st_mtim.tv_nsec == b.st_mtim.tv_nsec)
    return PZ_OK;
  return pz_fail(err, PZ_ERROR_OUTPUT,
                 "%s: changed while the result was put into a copy of it; run the same command with --resume",
                 j->path);
}

static pz_status convert(pz_run *r, const char *path, pz_volume_join *joined, pz_error *err) {
  pz_volume_source source = {.path = r->result_path,
                             .info = &r->layout.result,
                             .go_on = finish_step,
                             .host = r,
                             .pool = r->function->pool,
                             .level = r->level};
  source.fd = open(r->result_path, O_RDONLY | O_CLOEXEC);
  if (source.fd < 0) return pz_io_fail(err, r->result_path, "opening", errno);
  joined->to = path;
  pz_forecast_enter(&r->forecast, PZ_RUN_WRITING, pz_now());
  const pz_status status = r->joins ? join(r, joined, &source, err)
                                    : r->output.format->convert(path, r->output.dataset, &source, err);
  close(source.fd);
  if (status == PZ_INTERRUPTED && err)
    snprintf(err->message, sizeof err->message,
             "interrupted while writing the finished result; run the same command with --resume to go on");
  return status;
}

/* Room behind the file's end, which it did not need. */
static void give_back(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0 && truncate(path, info.st_size) != 0) return; /* it is no loss to have more */
}

/* Where the file system cannot refuse by itself, somebody else's file is found a moment earlier. */
static bool take_free_name(const char *from, const char *to) {
  struct stat info;
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return false;
  if (lstat(to, &info) == 0) return errno = EEXIST, false;
  return rename(from, to) == 0;
}

static pz_status take_name(const pz_run *r, const char *whole, pz_error *err) {
  const char *to = r->output.file;
  if (r->options->no_overwrite && !r->joins ? take_free_name(whole, to) : rename(whole, to) == 0)
    return PZ_OK;
  if (errno != EEXIST || !r->options->no_overwrite)
    return pz_io_fail(err, to, "renaming the result to", errno);
  return pz_fail(err, PZ_ERROR_OUTPUT,
                 "%s: appeared while the work was done; move it away and run the same command with --resume",
                 to);
}

/* ------------------------------------------------------------------ what is remembered */

bool pz_run_locate(const pz_run *r, const char *path, pz_finished_places *places) {
  const pz_volume_format *format = r->output.format;
  const pz_volume *in = r->input;
  *places = (pz_finished_places){0};
  if (!format->locate) return true;
  places->output = format->locate(path, r->output.dataset);
  if (in->calls || in->format != format || !pz_io_same_file(in->path, r->output.file))
    return places->output != 0;
  places->input = format->locate(path, in->dataset);
  return places->output != 0 && places->input != 0;
}

static bool remember(const pz_run *r, const char *whole) {
  pz_finished_run run = {.facts = &r->facts, .tally = r->counts.tally, .joins = r->joins};
  run.unknown = !pz_run_locate(r, whole, &run.places);
  if (r->joins) run.replaced = r->output.format->locate(r->output.file, r->output.dataset);
  return pz_finished_remember(whole, r->output.file, &run, r->options->resume);
}

pz_status pz_run_confirm(const pz_run *r, pz_error *err) {
  PZ_TRY(pz_volume_confirm(r->input, r->facts.volume_digest, err));
  return r->mask ? pz_volume_confirm(r->mask, r->facts.mask_digest, err) : PZ_OK;
}

static pz_status let_appear(const pz_run *r, const char *whole, const pz_volume_join *joined, pz_error *err) {
  PZ_TRY(pz_run_confirm(r, err));
  if (r->joins) PZ_TRY(check_unchanged(joined, err));
  return take_name(r, whole, err);
}

static pz_status publish(pz_run *r, pz_volume_join *joined, pz_error *err) {
  const char *whole = r->result_path;
  if (r->joins || pz_volume_converts(r->output.format, r->level)) {
    whole = pz_job_path(r->job, "result.out");
    if (!whole) return pz_fail_memory(err, "a path", 0);
    PZ_TRY(convert(r, whole, joined, err));
    give_back(whole);
  }
  PZ_TRY(pz_io_sync_path(whole, err));
  const bool beside = remember(r, whole);
  const pz_status status = let_appear(r, whole, joined, err);
  if (beside) pz_finished_settle(r->output.file, status == PZ_OK);
  PZ_TRY(status);
  r->published = true;
  return pz_io_sync_folder(r->output.file, err);
}

pz_status pz_run_publish(pz_run *r, pz_error *err) {
  const double begin = pz_now();
  pz_volume_join joined = {.lock = -1};
  const pz_status status = publish(r, &joined, err);
  if (joined.lock >= 0) close(joined.lock);
  r->counts.finish = pz_now() - begin;
  return status;
}
