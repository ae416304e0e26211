#include "emit/object_cache.h"
#include "base/cache_folder.h"
#include "base/file.h"
#include "base/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIMIT       (INT64_C(1) << 30)
#define MOST_OBJECT ((size_t)256 << 20)
#define HEX         (PZ_DIGEST_TEXT - 1)

struct pz_object_cache {
  const char *path;
  int folder;
  int64_t limit;
  bool kept; /* something, by this process */
};

/* ---- the folder ---- */

/* "1G", "512M", "1000000". */
static pz_status find_limit(int64_t *limit, pz_error *err) {
  static const char units[] = "KMGT";
  const char *text = getenv("PZNET_CACHE_SIZE");
  *limit = LIMIT;
  if (!text || !*text) return PZ_OK;
  char *end;
  errno = 0;
  const long long number = strtoll(text, &end, 10);
  const char *unit = *end ? strchr(units, *end) : NULL;
  const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (errno || end == text || number < 0 || (*end && (!unit || end[1])) || number > INT64_MAX >> shift)
    return pz_fail(err, PZ_ERROR_USAGE, "PZNET_CACHE_SIZE=%s: expected a size such as 1G, 512M or 1000000",
                   text);
  *limit = (int64_t)number << shift;
  return PZ_OK;
}

/* `absent`: it may be missing, and *fd is -1 then; else it is made. */
static pz_status open_folder(const char *path, bool absent, int *fd, pz_error *err) {
  struct stat info;
  *fd = -1;
  if (absent && lstat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) return PZ_OK;
  if (!absent && mkdir(path, 0700) != 0 && errno == ENOENT) {
    PZ_TRY(pz_cache_make_folder(path, err));
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
      return pz_fail(err, PZ_ERROR_RUN, "%s: this cache folder cannot be made: %m", path);
  }
  PZ_TRY(pz_owned_folder(path, err));
  *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return *fd < 0 ? pz_fail(err, PZ_ERROR_RUN, "%s: cannot be looked into: %m", path) : PZ_OK;
}

static pz_status find_folder(pz_arena *arena, const char *named, const char **path, pz_error *err) {
  if (!named) return pz_cache_path(arena, "objects", path, err);
  *path = pz_arena_strdup(arena, named);
  return *path ? PZ_OK : pz_fail_memory(err, "a path", strlen(named));
}

pz_status pz_object_cache_open(pz_arena *arena, const char *folder, pz_object_cache **cache, pz_error *err) {
  pz_object_cache *c = PZ_NEW(arena, pz_object_cache, 1);
  *cache = NULL;
  if (!c) return pz_fail_memory(err, "the cache of objects", sizeof *c);
  PZ_TRY(find_limit(&c->limit, err));
  PZ_TRY(find_folder(arena, folder, &c->path, err));
  PZ_TRY(open_folder(c->path, false, &c->folder, err));
  *cache = c;
  return PZ_OK;
}

/* ---- reading and writing ---- */

typedef struct bytes {
  char *data;
  size_t size;
} bytes;

/* A regular file of at most so many bytes; the caller frees the data. */
static bool read_whole(int folder, const char *name, size_t most, bytes *b) {
  struct stat info;
  size_t done = 0;
  *b = (bytes){NULL, 0};
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 && (size_t)info.st_size <= most)
    b->data = malloc((size_t)info.st_size + 1);
  while (b->data && done < (size_t)info.st_size) {
    const ssize_t n = read(fd, b->data + done, (size_t)info.st_size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += (size_t)n;
  }
  close(fd);
  if (b->data) b->data[done] = 0;
  b->size = done;
  return b->data != NULL;
}

/* Under its name whole or not at all. Not made durable: what a power cut leaves is told from its digest. */
static bool write_whole(int folder, const char *name, const void *data, size_t size) {
  char temporary[64];
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return false;
  snprintf(temporary, sizeof temporary, ".new-%016llx", (unsigned long long)number);
  const int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool written = pz_file_write_all(fd, data, size) == 0;
  written = close(fd) == 0 && written;
  written = written && renameat(folder, temporary, folder, name) == 0;
  if (!written) unlinkat(folder, temporary, 0);
  return written;
}

/* So that what is used is not taken for what lies longest. */
static void touch(int folder, const char *name) {
  utimensat(folder, name, (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}},
            AT_SYMLINK_NOFOLLOW);
}

/* ---- entries ---- */

static bool is_digest(const char *text, size_t length) {
  return length == HEX && strspn(text, "0123456789abcdef") >= HEX;
}

/* What the file KEY says, that object, with its own digest behind it: a key that was cut or spoilt says nothing. */
enum { ENTRY = 2 * HEX + 2 };
static void entry_text(const char *key, const char *object, char text[ENTRY + 1]) {
  char both[2 * HEX + 1], digest[PZ_DIGEST_TEXT];
  snprintf(both, sizeof both, "%.64s%.64s", key, object);
  pz_digest_text(both, 2 * HEX, digest);
  snprintf(text, ENTRY + 1, "%.64s\n%s\n", object, digest);
}

static bool read_entry(pz_object_cache *c, const char *key, char object[PZ_OBJECT_NAME]) {
  char expected[ENTRY + 1];
  bytes b;
  if (!read_whole(c->folder, key, ENTRY, &b)) return false;
  bool good = b.size == ENTRY && b.data[HEX] == '\n';
  if (good) entry_text(key, b.data, expected);
  good = good && !memcmp(b.data, expected, ENTRY) && is_digest(b.data, HEX);
  if (good) snprintf(object, PZ_OBJECT_NAME, "%.64s.o", b.data);
  free(b.data);
  return good;
}

static bool has_digest(const bytes *b, const char *object) {
  char digest[PZ_DIGEST_TEXT];
  pz_digest_text(b->data, b->size, digest);
  return !memcmp(digest, object, HEX);
}

static bool copy_object(pz_object_cache *c, const char *object, const char *to) {
  bytes b;
  if (!read_whole(c->folder, object, MOST_OBJECT, &b)) return false;
  bool copied = has_digest(&b, object);
  if (!copied) unlinkat(c->folder, object, 0);
  const int folder = copied ? open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  copied = folder >= 0 && write_whole(folder, object, b.data, b.size);
  if (folder >= 0) close(folder);
  free(b.data);
  return copied;
}

bool pz_object_cache_has(pz_object_cache *c, const char *key) {
  return c && is_digest(key, strlen(key)) && faccessat(c->folder, key, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool pz_object_cache_take(pz_object_cache *c, const char *key, const char *to, char object[PZ_OBJECT_NAME]) {
  char path[4096];
  if (!c || !is_digest(key, strlen(key))) return false;
  if (read_entry(c, key, object)) {
    const bool named = snprintf(path, sizeof path, "%s/%s", to, object) < (int)sizeof path;
    if (named && (access(path, F_OK) == 0 || copy_object(c, object, to))) {
      touch(c->folder, key);
      touch(c->folder, object);
      return true;
    }
  }
  if (faccessat(c->folder, key, F_OK, AT_SYMLINK_NOFOLLOW) == 0) unlinkat(c->folder, key, 0);
  return false;
}

void pz_object_cache_keep(pz_object_cache *c, const char *path, const char *const *keys, int n) {
  char object[PZ_OBJECT_NAME], text[ENTRY + 1];
  bytes b;
  if (!c || !read_whole(AT_FDCWD, path, MOST_OBJECT, &b)) return;
  pz_digest_text(b.data, b.size, object);
  strcat(object, ".o");
  bool kept = (int64_t)b.size <= c->limit && write_whole(c->folder, object, b.data, b.size);
  c->kept |= kept;
  free(b.data);
  for (int i = 0; i < n && kept; i++) {
    entry_text(keys[i], object, text);
    kept = is_digest(keys[i], strlen(keys[i])) && write_whole(c->folder, keys[i], text, ENTRY);
  }
}

/* ---- all that there is ---- */

typedef struct file {
  char name[PZ_OBJECT_NAME];
  int64_t bytes;
  struct timespec used;
} file;

typedef struct files {
  file *all;
  size_t n, capacity;
  int64_t bytes;
} files;

enum { STALE = 3600 }; /* seconds, of what a process that was killed has left half written */

/* Of the cache: an object, a key, or a file half written. Nothing else in the folder is touched. */
static bool is_ours(const char *name, const struct stat *info) {
  const size_t length = strlen(name);
  if (!S_ISREG(info->st_mode)) return false;
  if (!strncmp(name, ".new-", 5)) return length == 21 && time(NULL) - info->st_mtime > STALE;
  return is_digest(name, length) || (length == HEX + 2 && is_digest(name, HEX) && !strcmp(name + HEX, ".o"));
}

static bool add_file(files *f, const char *name, const struct stat *info) {
  if (f->n == f->capacity) {
    const size_t more = f->capacity ? 2 * f->capacity : 256;
    file *all = realloc(f->all, more * sizeof *all);
    if (!all) return false;
    f->all = all, f->capacity = more;
  }
  file *one = &f->all[f->n++];
  snprintf(one->name, sizeof one->name, "%s", name);
  one->bytes = info->st_size;
  one->used = info->st_mtim;
  f->bytes += info->st_size;
  return true;
}

/* As far as there is memory for the list; the caller frees it. */
static files list_files(int folder) {
  files f = {NULL, 0, 0, 0};
  struct stat info;
  const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (fd >= 0 && !dir) close(fd);
  for (const struct dirent *e; dir && (e = readdir(dir));)
    if (fstatat(folder, e->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && is_ours(e->d_name, &info) &&
        !add_file(&f, e->d_name, &info))
      break;
  if (dir) closedir(dir);
  return f;
}

static int by_use(const void *a, const void *b) {
  const struct timespec *x = &((const file *)a)->used, *y = &((const file *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* To four fifths, so that it is not done each time. A key whose object is gone counts as not there. */
static void remove_oldest(int folder, int64_t limit) {
  files f = list_files(folder);
  if (f.bytes > limit) {
    qsort(f.all, f.n, sizeof *f.all, by_use);
    for (size_t i = 0; i < f.n && f.bytes > limit / 5 * 4; i++) {
      if (unlinkat(folder, f.all[i].name, 0) == 0 || errno == ENOENT) f.bytes -= f.all[i].bytes;
    }
  }
  free(f.all);
}

void pz_object_cache_close(pz_object_cache *c) {
  if (!c) return;
  if (c->kept) remove_oldest(c->folder, c->limit);
  close(c->folder);
}

static void count(const files *f, pz_object_cache_contents *contents) {
  for (size_t i = 0; i < f->n; i++) {
    const size_t length = strlen(f->all[i].name);
    contents->kernels += length == HEX;
    contents->objects += length == HEX + 2;
  }
  contents->bytes = f->bytes;
}

static pz_status with_files(pz_arena *arena, const char *folder, bool remove,
                            pz_object_cache_contents *contents, pz_error *err) {
  int fd;
  *contents = (pz_object_cache_contents){.folder = NULL};
  PZ_TRY(find_limit(&contents->limit, err));
  PZ_TRY(find_folder(arena, folder, &contents->folder, err));
  PZ_TRY(open_folder(contents->folder, true, &fd, err));
  if (fd < 0) return PZ_OK;
  files f = list_files(fd);
  int reason = 0;
  for (size_t i = 0; i < f.n && remove; i++)
    if (unlinkat(fd, f.all[i].name, 0) != 0 && errno != ENOENT) reason = errno;
  count(&f, contents);
  free(f.all);
  close(fd);
  errno = reason;
  return reason ? pz_fail(err, PZ_ERROR_RUN, "%s: not all of it can be removed: %m", contents->folder)
                : PZ_OK;
}

pz_status pz_object_cache_look(pz_arena *arena, const char *folder, pz_object_cache_contents *contents,
                               pz_error *err) {
  return with_files(arena, folder, false, contents, err);
}

pz_status pz_object_cache_clear(pz_arena *arena, const char *folder, pz_object_cache_contents *removed,
                                pz_error *err) {
  return with_files(arena, folder, true, removed, err);
}
