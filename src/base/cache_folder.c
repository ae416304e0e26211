#include "base/cache_folder.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* XDG: a path that is not absolute is to be ignored. */
static const char *absolute(const char *path) { return path && path[0] == '/' ? path : NULL; }

/* Of services and containers $HOME is often not set. getpwuid_r fills the caller's buffer. */
static const char *home(char *buffer, size_t size) {
  struct passwd record, *user = NULL;
  const char *named = absolute(variable("HOME"));
  if (named) return named;
  if (getpwuid_r(getuid(), &record, buffer, size, &user) || !user) return NULL;
  return absolute(user->pw_dir);
}

pz_status pz_cache_path(pz_arena *arena, const char *name, const char **path, pz_error *err) {
  char buffer[4096];
  const char *folder = variable("PZNET_CACHE_DIR"), *below = "";
  if (!folder && (folder = absolute(variable("XDG_CACHE_HOME")))) below = "/pznet";
  if (!folder && (folder = home(buffer, sizeof buffer))) below = "/.cache/pznet";
  if (!folder)
    return pz_fail(err, PZ_ERROR_RUN, "no place for %s: $HOME is not set; name a folder in $PZNET_CACHE_DIR",
                   name);
  *path = pz_arena_printf(arena, "%s%s/%s", folder, below, name);
  return *path ? PZ_OK : pz_fail_memory(err, "a path", PATH_MAX);
}

pz_status pz_cache_make_folder(const char *file, pz_error *err) {
  char folder[PATH_MAX];
  const char *last = strrchr(file, '/');
  if (!last || last == file) return PZ_OK;
  if ((size_t)snprintf(folder, sizeof folder, "%.*s", (int)(last - file), file) >= sizeof folder)
    return pz_fail(err, PZ_ERROR_RUN, "%s: the path is too long", file);
  /* Those above may be there and not ours to look into, so only the last one must succeed. */
  for (char *at = folder + 1; (at = strchr(at, '/')); *at++ = '/') {
    *at = 0;
    (void)!mkdir(folder, 0700);
  }
  struct stat info;
  if (mkdir(folder, 0700) == 0) return PZ_OK;
  const int reason = errno;
  if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s: this cache folder cannot be made: %s", folder, strerror(reason));
}
