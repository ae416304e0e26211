#include "formats/identity.h"

#include "base/digest.h"
#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ times */

enum { MILLISECOND = 1000000 };

/* Milliseconds from a to b, at most a minute either way. */
static int64_t between(struct timespec a, struct timespec b) {
  const int64_t seconds = (int64_t)b.tv_sec - (int64_t)a.tv_sec;
  if (seconds > 60 || seconds < -60) return seconds > 0 ? 60000 : -60000;
  return seconds * 1000 + (b.tv_nsec - a.tv_nsec) / MILLISECOND;
}

static bool later(struct timespec a, struct timespec b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Where times come from this machine's kernel; elsewhere from another clock, which is some seconds off at most. */
static bool is_local(int fd) {
  static const uint32_t kinds[] = {0xef53 /* ext */,
                                   0x58465342 /* xfs */,
                                   0x9123683e /* btrfs */,
                                   0x01021994 /* tmpfs */,
                                   0x794c7630 /* overlay */,
                                   0x2fc12fc1 /* zfs */,
                                   0xf2f52010 /* f2fs */};
  struct statfs about;
  if (fstatfs(fd, &about) != 0) return false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if ((uint32_t)about.f_type == kinds[i]) return true;
  return false;
}

/* How many milliseconds to wait before looking again; 0: the grain of the last change is over. The kernel takes times from its
 * coarse clock: once that has moved on, a change has a later time. File systems that count whole seconds, or pairs of them, are
 * known by their times. */
static int64_t left(const struct stat *info, bool local) {
  enum { SKEW = 5000, PAIR = 2000 };
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return 0;
  const int64_t age = between(info->st_ctim, now);
  if (age > SKEW || age < -SKEW) return 0;
  if (info->st_ctim.tv_nsec == 0 && info->st_mtim.tv_nsec == 0) return age < PAIR ? PAIR - age : 0;
  return local && !later(now, info->st_ctim) ? 1 : 0;
}

static bool is_new(const struct stat *info) {
  struct timespec now;
  return clock_gettime(CLOCK_REALTIME, &now) == 0 && between(info->st_ctim, now) < 5000;
}

static void rest(int64_t milliseconds) {
  const struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * MILLISECOND};
  nanosleep(&pause, NULL);
}

bool pz_identity_settle(int fd, struct stat *info) {
  enum { LONGEST = 2000, TICK = 20 };
  if (fstat(fd, info) != 0) return false;
  if (!is_new(info)) return true;
  const bool local = is_local(fd);
  if (!local) rest(TICK); /* whatever its clock says */
  int64_t waited = 0;
  for (int64_t wait; waited < LONGEST && (wait = left(info, local)) > 0; waited += wait) {
    rest(wait < LONGEST ? wait : LONGEST);
    if (fstat(fd, info) != 0) return false;
  }
  return fstat(fd, info) == 0;
}

/* ------------------------------------------------------------------ identity */

pz_status pz_identity_begin(const char *path, bool settled, pz_identity *id, pz_error *err) {
  int64_t size;
  id->known = false;
  PZ_TRY(pz_io_open(path, &id->fd, &size, err));
  if (!(settled ? pz_identity_settle(id->fd, &id->noted) : fstat(id->fd, &id->noted) == 0)) {
    const int code = errno;
    close(id->fd);
    return pz_io_fail(err, path, "looking at", code);
  }
  id->known = true;
  return PZ_OK;
}

void pz_identity_end(pz_identity *id) {
  if (id->known) close(id->fd);
  id->known = false;
}

static bool same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
static bool same_time(struct timespec a, struct timespec b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static pz_status replaced(const char *path, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: was replaced while it was read; run again", path);
}

pz_status pz_identity_leads_here(const pz_identity *id, const char *path, pz_error *err) {
  struct stat now;
  if (!id->known) return PZ_OK;
  return stat(path, &now) == 0 && same_file(&now, &id->noted) ? PZ_OK : replaced(path, err);
}

static pz_status compare(const pz_identity *id, const struct stat *now, const char *path, pz_error *err) {
  if (now->st_size < id->noted.st_size)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: was cut from %lld to %lld bytes while it was read; run again when it is whole", path,
                   (long long)id->noted.st_size, (long long)now->st_size);
  if (now->st_size != id->noted.st_size || !same_time(now->st_mtim, id->noted.st_mtim))
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: was changed while it was read; run again when nobody writes to it", path);
  return PZ_OK;
}

pz_status pz_identity_check(const pz_identity *id, const char *path, pz_error *err) {
  struct stat now;
  if (!id->known) return PZ_OK;
  if (fstat(id->fd, &now) != 0) return pz_io_fail(err, path, "looking at", errno);
  return compare(id, &now, path, err);
}

static pz_status same_bytes(const pz_identity *id, const char *path, const char *digest, pz_error *err) {
  char text[PZ_DIGEST_TEXT], *block = malloc(PZ_IDENTITY_BLOCK);
  if (!block) return pz_fail_memory(err, "a digest", PZ_IDENTITY_BLOCK);
  const pz_status status = pz_identity_digest(id, path, block, text, err);
  free(block);
  if (status != PZ_OK) return status;
  if (digest && strcmp(text, digest) == 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: was changed while it was read, and removed; run again", path);
}

/* A file that is opened anew has its times from the server, and not from what a network disk's client remembers. */
pz_status pz_identity_confirm(const pz_identity *id, const char *path, const char *digest, pz_error *err) {
  struct stat here = {0}, there = {0};
  if (!id->known) return PZ_OK;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool gone = fd < 0 && errno == ENOENT, seen = fd >= 0 && fstat(fd, &there) == 0;
  if (fd >= 0) close(fd);
  if (fstat(id->fd, &here) != 0) return pz_io_fail(err, path, "looking at", errno);
  PZ_TRY(compare(id, &here, path, err));
  if (same_time(here.st_ctim, id->noted.st_ctim) && (gone || (seen && same_file(&here, &there))))
    return PZ_OK;
  if (gone) return same_bytes(id, path, digest, err);
  if (seen && !same_file(&here, &there)) return replaced(path, err);
  return pz_fail(err, PZ_ERROR_RUN,
                 "%s: was moved, linked, given other rights or an older time while it was read; if its "
                 "content is the same, run "
                 "again with --resume",
                 path);
}

/* ------------------------------------------------------------------ digest */

pz_status pz_identity_digest(const pz_identity *id, const char *path, char *block, char *text,
                             pz_error *err) {
  enum { BLOCKS = 64, BLOCK = PZ_IDENTITY_BLOCK };
  const int64_t size = id->noted.st_size;
  const bool whole = size <= (int64_t)BLOCKS * BLOCK;
  const int64_t blocks = whole ? (size + BLOCK - 1) / BLOCK : BLOCKS;
  pz_digest digest;
  pz_digest_begin(&digest);
  for (int64_t i = 0; i < blocks; i++) {
    const int64_t at = whole ? i * BLOCK : (size - BLOCK) / (BLOCKS - 1) * i;
    const int64_t n = size - at < BLOCK ? size - at : BLOCK;
    PZ_TRY(pz_io_read(id->fd, path, block, n, at, err));
    pz_digest_add(&digest, block, (size_t)n);
  }
  pz_digest_end_text(&digest, text);
  return PZ_OK;
}
