/* The cache of objects: what is kept is found, what is damaged, cut or another's is not, and it stays within its limit. */
#include "unit.h"

#include "emit/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[] = "/tmp/pznet-test-objects-XXXXXX", folder[64];

static int enter(void **state) {
  (void)state;
  strcpy(top + sizeof top - 7, "XXXXXX");
  if (!mkdtemp(top) || chdir(top)) return 1;
  unsetenv("PZNET_CACHE_SIZE");
  return mkdir("new", 0700) || mkdir("to", 0700);
}

static int leave(void **state) {
  (void)state;
  char command[96];
  snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", top, top);
  return chdir("/") || system(command);
}

static const char *key_of(int number) {
  static char keys[8][PZ_DIGEST_TEXT];
  char *key = keys[number % 8];
  snprintf(key, PZ_DIGEST_TEXT, "%064x", number);
  return key;
}

static void write_file(const char *path, const char *text, size_t size) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static pz_object_cache *open_cache(pz_arena *arena) {
  pz_object_cache *cache;
  pz_error err = {0};
  snprintf(folder, sizeof folder, "%s/a/cache", top);
  if (pz_object_cache_open(arena, folder, &cache, &err) != PZ_OK) fail_msg("%s", err.message);
  return cache;
}

/* An object of `size` equal bytes, with these kernels. */
static void keep(pz_object_cache *cache, char letter, size_t size, int first, int n) {
  const char *keys[8];
  char *text = malloc(size + 1);
  assert_non_null(text);
  memset(text, letter, size);
  write_file("new/g.o", text, size);
  free(text);
  for (int i = 0; i < n; i++) keys[i] = key_of(first + i);
  pz_object_cache_keep(cache, "new/g.o", keys, n);
}

static bool taken(pz_object_cache *cache, int number, char letter) {
  char object[PZ_OBJECT_NAME], path[96], byte = 0;
  if (!pz_object_cache_take(cache, key_of(number), "to", object)) return false;
  snprintf(path, sizeof path, "to/%s", object);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_int_equal(fread(&byte, 1, 1, f), 1);
  fclose(f);
  assert_int_equal(byte, letter);
  return true;
}

static pz_object_cache_contents contents(pz_arena *arena) {
  pz_object_cache_contents c;
  assert_int_equal(pz_object_cache_look(arena, folder, &c, NULL), PZ_OK);
  return c;
}

static void kept_is_found(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  pz_object_cache *cache = open_cache(arena);
  struct stat info;
  assert_int_equal(stat(folder, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0700);
  assert_false(taken(cache, 1, 'x'));
  keep(cache, 'x', 100, 1, 2);
  keep(cache, 'y', 50, 3, 1);
  assert_true(taken(cache, 1, 'x'));
  assert_true(taken(cache, 2, 'x'));
  assert_true(taken(cache, 3, 'y'));
  assert_false(taken(cache, 4, 'y'));
  pz_object_cache_close(cache);
  cache = open_cache(arena);
  assert_true(taken(cache, 3, 'y'));
  const pz_object_cache_contents c = contents(arena);
  assert_int_equal(c.kernels, 3);
  assert_int_equal(c.objects, 2);
  assert_int_equal(c.limit, 1 << 30);
  char object[PZ_OBJECT_NAME];
  assert_false(pz_object_cache_take(cache, "../../etc/passwd", "to", object));
  assert_false(pz_object_cache_take(NULL, key_of(1), "to", object));
  pz_object_cache_keep(NULL, "new/g.o", NULL, 0);
  pz_object_cache_close(cache);
  pz_object_cache_close(NULL);
  pz_arena_free(arena);
}

/* The nth file of the folder whose name ends so is spoilt in one byte, cut, or replaced. */
typedef enum harm { FLIP, CUT, GROW, LINK, FOLDER, PIPE, HARMS } harm;
static int do_harm(harm how, bool object) {
  DIR *dir = opendir(folder);
  int done = 0;
  assert_non_null(dir);
  for (const struct dirent *e; (e = readdir(dir));) {
    char path[512];
    struct stat info;
    if (e->d_name[0] == '.' || (strstr(e->d_name, ".o") != NULL) != object) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    assert_int_equal(stat(path, &info), 0);
    const int fd = open(path, O_RDWR);
    char byte = '#';
    if (how == FLIP) assert_int_equal(pwrite(fd, &byte, 1, info.st_size / 2), 1);
    else if (how == CUT) assert_int_equal(ftruncate(fd, info.st_size - 1), 0);
    else if (how == GROW) assert_int_equal(ftruncate(fd, info.st_size + 1), 0);
    else assert_int_equal(unlink(path), 0);
    close(fd);
    if (how == LINK) assert_int_equal(symlink("/etc/passwd", path), 0);
    if (how == FOLDER) assert_int_equal(mkdir(path, 0700), 0);
    if (how == PIPE) assert_int_equal(mkfifo(path, 0600), 0);
    done++;
  }
  closedir(dir);
  return done;
}

/* And what is damaged can be kept anew, but where a folder has taken its name. */
static void damaged_is_not_there(void **state) {
  (void)state;
  for (int object = 0; object < 2; object++)
    for (harm how = FLIP; how < HARMS; how++) {
      pz_arena *arena = pz_arena_new();
      pz_object_cache *cache = open_cache(arena);
      assert_int_equal(system("rm -rf a/cache/* to/*"), 0);
      keep(cache, 'x', 100, 1, 1);
      assert_int_equal(do_harm(how, object), 1);
      assert_false(taken(cache, 1, 'x'));
      assert_false(taken(cache, 1, 'x'));
      keep(cache, 'x', 100, 1, 1);
      assert_int_equal(taken(cache, 1, 'x'), how != FOLDER);
      pz_object_cache_close(cache);
      pz_arena_free(arena);
    }
}

/* An entry under another key is not taken for its own. */
static void names_are_held(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  pz_object_cache *cache = open_cache(arena);
  char command[1024];
  keep(cache, 'x', 100, 1, 1);
  snprintf(command, sizeof command, "cp a/cache/%s a/cache/%s", key_of(1), key_of(2));
  assert_int_equal(system(command), 0);
  assert_false(taken(cache, 2, 'x'));
  assert_true(taken(cache, 1, 'x'));
  pz_object_cache_close(cache);
  pz_arena_free(arena);
}

static void oldest_go(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  setenv("PZNET_CACHE_SIZE", "10K", 1);
  pz_object_cache *cache = open_cache(arena);
  for (int i = 0; i < 7; i++) {
    keep(cache, (char)('a' + i), 1500, 10 * i, 1);
    assert_int_equal(usleep(20000), 0); /* file systems' clocks have a grain */
  }
  assert_true(taken(cache, 0, 'a')); /* the oldest is used */
  write_file("a/cache/mine", "x", 1);
  pz_object_cache_close(cache);
  assert_true(contents(arena).bytes <= 8192);
  cache = open_cache(arena);
  assert_int_equal(system("rm -f to/*"), 0);
  assert_true(taken(cache, 0, 'a'));
  assert_false(taken(cache, 10, 'b'));
  assert_false(taken(cache, 20, 'c'));
  assert_true(taken(cache, 60, 'g'));
  assert_int_equal(access("a/cache/mine", F_OK), 0);
  keep(cache, 'z', 20000, 70, 1); /* more than there may be at all */
  assert_false(taken(cache, 70, 'z'));
  pz_object_cache_close(cache);
  pz_arena_free(arena);
}

static void cleared(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  pz_object_cache_contents c;
  snprintf(folder, sizeof folder, "%s/none/there", top);
  assert_int_equal(pz_object_cache_clear(arena, folder, &c, NULL), PZ_OK);
  assert_int_equal(c.kernels, 0);
  assert_int_not_equal(access("none", F_OK), 0);
  pz_object_cache *cache = open_cache(arena);
  keep(cache, 'x', 100, 1, 2);
  write_file("a/cache/mine", "x", 1);
  pz_object_cache_close(cache);
  assert_int_equal(pz_object_cache_clear(arena, folder, &c, NULL), PZ_OK);
  assert_int_equal(c.kernels, 2);
  assert_int_equal(c.objects, 1);
  assert_int_equal(contents(arena).bytes, 0);
  assert_int_equal(access("a/cache/mine", F_OK), 0);
  pz_arena_free(arena);
}

static void refused(const char *path, const char *words) {
  pz_arena *arena = pz_arena_new();
  pz_object_cache *cache;
  pz_error err = {0};
  assert_int_not_equal(pz_object_cache_open(arena, path, &cache, &err), PZ_OK);
  assert_null(cache);
  if (!strstr(err.message, words)) fail_msg("%s, expected %s", err.message, words);
  pz_arena_free(arena);
}

static void bad_folders(void **state) {
  (void)state;
  write_file("file", "x", 1);
  assert_int_equal(symlink("new", "link"), 0);
  refused("file", "is a file");
  refused("file/below", "cannot be looked at: Not a directory");
  refused("link", "is a link");
  static const char *const sizes[] = {"x", "-1", "1X", "1GB", "99999999999999999999", "9999999T", " "};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    setenv("PZNET_CACHE_SIZE", sizes[i], 1);
    refused("new", "PZNET_CACHE_SIZE=");
  }
  unsetenv("PZNET_CACHE_SIZE");
  assert_int_equal(mkdir("open", 0777) || chmod("open", 0777), 0);
  pz_arena *arena = pz_arena_new();
  pz_object_cache *cache;
  struct stat info;
  assert_int_equal(pz_object_cache_open(arena, "open", &cache, NULL), PZ_OK);
  assert_int_equal(stat("open", &info), 0);
  assert_int_equal(info.st_mode & 022, 0); /* others cannot write there any more */
  pz_object_cache_close(cache);
  pz_arena_free(arena);
  if (geteuid() == 0) {
    assert_int_equal(mkdir("theirs", 0700) || chown("theirs", 65534, 65534), 0);
    refused("theirs", "another user's folder");
  }
}

/* What may only be read is read; what cannot be kept is no failure. */
static void read_only(void **state) {
  (void)state;
  if (geteuid() == 0) skip(); /* root may write anywhere */
  pz_arena *arena = pz_arena_new();
  pz_object_cache *cache = open_cache(arena);
  keep(cache, 'x', 100, 1, 1);
  pz_object_cache_close(cache);
  assert_int_equal(chmod(folder, 0500), 0);
  cache = open_cache(arena);
  keep(cache, 'y', 100, 2, 1);
  assert_true(taken(cache, 1, 'x'));
  assert_false(taken(cache, 2, 'y'));
  pz_object_cache_close(cache);
  pz_arena_free(arena);
}

/* Processes that keep, take and remove at the same time: what is taken is whole. */
static void shared(void **state) {
  (void)state;
  enum { PROCESSES = 4, ROUNDS = 150 };
  setenv("PZNET_CACHE_SIZE", "20K", 1);
  pid_t children[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    children[p] = fork();
    if (children[p]) continue;
    char own[16], object[PZ_OBJECT_NAME];
    snprintf(own, sizeof own, "p%d", p);
    if (mkdir(own, 0700) || chdir(own) || mkdir("new", 0700) || mkdir("to", 0700)) _exit(2);
    for (int i = 0; i < ROUNDS; i++) {
      pz_arena *arena = pz_arena_new();
      pz_object_cache *cache = open_cache(arena);
      const int number = (i + p) % 7;
      if (pz_object_cache_take(cache, key_of(number), "to", object)) {
        char path[96], byte = 0;
        struct stat info;
        snprintf(path, sizeof path, "to/%s", object);
        FILE *f = fopen(path, "r");
        if (!f || fread(&byte, 1, 1, f) != 1 || byte != 'a' + number) _exit(3);
        fclose(f);
        if (stat(path, &info) || info.st_size != 1000 * (number + 1)) _exit(4);
        unlink(path);
      } else keep(cache, (char)('a' + number), 1000 * ((size_t)number + 1), number, 1);
      pz_object_cache_close(cache);
      pz_arena_free(arena);
    }
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int code;
    assert_int_equal(waitpid(children[p], &code, 0), children[p]);
    assert_int_equal(code, 0);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
  const struct CMUnitTest tests[] = {
      TEST(kept_is_found), TEST(damaged_is_not_there), TEST(names_are_held), TEST(oldest_go),
      TEST(cleared),       TEST(bad_folders),          TEST(read_only),      TEST(shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
