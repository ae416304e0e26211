#include "base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? "a file" : "a device";
}

static pz_status refuse(const char *path, const char *what, const char *expected, pz_error *err) {
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: is %s, expected %s; remove it, or name another place", path, what,
                 expected);
}

static pz_status check_file(const char *path, bool ours, pz_error *err) {
  struct stat st;
  if (lstat(path, &st) != 0)
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES
               ? PZ_OK /* who opens it is told */
               : pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be looked at: %m", path);
  if (!S_ISREG(st.st_mode)) return refuse(path, kind_of(st.st_mode), "a file of pznet", err);
  if (ours && st.st_uid != geteuid()) return refuse(path, "another user's file", "one of yours", err);
  if (st.st_nlink > 1) return refuse(path, "a file that has other names too", "a file of pznet", err);
  return PZ_OK;
}

pz_status pz_single_file(const char *path, pz_error *err) { return check_file(path, false, err); }
pz_status pz_owned_file(const char *path, pz_error *err) { return check_file(path, true, err); }

pz_status pz_owned_folder(const char *path, pz_error *err) {
  struct stat st;
  if (lstat(path, &st) != 0) return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be looked at: %m", path);
  if (!S_ISDIR(st.st_mode)) return refuse(path, kind_of(st.st_mode), "a folder of pznet", err);
  if (st.st_uid != geteuid()) return refuse(path, "another user's folder", "one of yours", err);
  if (!(st.st_mode & (S_IWGRP | S_IWOTH))) return PZ_OK;
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const bool closed = fd >= 0 && fchmod(fd, st.st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH)) == 0;
  const int reason = errno;
  if (fd >= 0) close(fd);
  errno = reason;
  return closed
             ? PZ_OK
             : pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be kept from being written to by others: %m", path);
}

pz_status pz_owned_link(const char *path, pz_error *err) {
  struct stat st;
  if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode) || st.st_uid == geteuid() || st.st_uid == 0) return PZ_OK;
  return refuse(path, "another user's link", "a file, or a link of yours", err);
}
