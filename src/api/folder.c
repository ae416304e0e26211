/* folder.c: folders that networks are compiled in, and what leaves them. */
#include "api/api.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pz_status pz_temporary_folder(pz_arena *arena, const char **folder, pz_error *err) {
  const char *parent = getenv("TMPDIR");
  char *path = pz_arena_printf(arena, "%s/pznet-XXXXXX", parent && *parent ? parent : "/tmp");
  if (!path) return pz_fail_memory(err, "a path", 64);
  if (!mkdtemp(path))
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot make a temporary folder: %s", path, strerror(errno));
  char *whole = realpath(path, NULL); /* compilers run in other folders */
  *folder = whole ? pz_arena_strdup(arena, whole) : path;
  free(whole);
  return *folder ? PZ_OK : pz_fail_memory(err, "a path", 64);
}

static void remove_entries(const char *path) {
  DIR *dir = opendir(path);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    char child[4096];
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    if (snprintf(child, sizeof child, "%s/%s", path, e->d_name) >= (int)sizeof child) continue;
    if (unlink(child)) pz_remove_tree(child);
  }
  if (dir) closedir(dir);
}

void pz_remove_tree(const char *path) {
  /* A compiler that was killed may have made one more file: look again. */
  for (int attempt = 0; attempt < 8; attempt++) {
    remove_entries(path);
    if (!rmdir(path) || (errno != ENOTEMPTY && errno != EEXIST)) return;
  }
}

pz_status pz_copy_file(const char *from, const char *to, pz_error *err) {
  pz_mapping whole;
  PZ_TRY(pz_file_map(from, &whole, err));
  const pz_status status = pz_file_write(to, whole.data, whole.size, err);
  pz_file_unmap(&whole);
  return status;
}
