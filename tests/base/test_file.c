#include "unit.h"
#include "base/file.h"
#include "fail_alloc.h"
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each write, sync, close and rename fails in turn; a write that does not fail writes half of what it could. */
static int calls, failing; /* failing: 0 none */
static bool fails(void) {
  if (failing == 0 || ++calls != failing) return false;
  errno = ENOSPC;
  return true;
}
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_write(int fd, const void *data, size_t n) {
  return fails() ? -1 : __real_write(fd, data, failing && n > 1 ? n / 2 : n);
}
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) { return fails() ? -1 : __real_fsync(fd); }
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) { return fails() ? -1 : __real_rename(from, to); }
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
  int result = __real_close(fd);
  return fails() ? -1 : result;
}

static char folder[] = "/tmp/pznet-test-XXXXXX";
static char before[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)st, (void)type, (void)ftw;
  return remove(path);
}
static int set_up(void **state) {
  (void)state;
  return getcwd(before, sizeof before) && mkdtemp(folder) ? chdir(folder) : -1;
}
static int tear_down(void **state) {
  (void)state;
  return chdir(before) || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int entries(void) {
  int n = 0;
  DIR *dir = opendir(".");
  while (readdir(dir)) n++;
  closedir(dir);
  return n - 2;
}

static void assert_holds(const char *path, const char *text) {
  pz_arena *arena = pz_arena_new();
  char *data;
  size_t size;
  assert_int_equal(pz_file_read(arena, path, 1 << 20, &data, &size, NULL), PZ_OK);
  assert_int_equal(size, strlen(text));
  assert_string_equal(data, text);
  pz_arena_free(arena);
}

static void assert_refused(pz_status status, const pz_error *err, pz_status expected, const char *words) {
  if (status != expected || err->status != expected || !strstr(err->message, words))
    fail_msg("status %d, '%s', expected %d, '%s'", status, err->message, expected, words);
}

static void written_is_read(void **state) {
  (void)state;
  pz_mapping m;
  assert_int_equal(pz_file_write("a", "hello", 5, NULL), PZ_OK);
  assert_holds("a", "hello");
  assert_int_equal(pz_file_map("a", &m, NULL), PZ_OK);
  assert_int_equal(m.size, 5);
  assert_memory_equal(m.data, "hello", 5);
  pz_file_unmap(&m);
  assert_int_equal(pz_file_write("a", "", 0, NULL), PZ_OK);
  assert_holds("a", "");
  assert_int_equal(pz_file_map("a", &m, NULL), PZ_OK);
  assert_int_equal(m.size, 0);
  assert_non_null(m.data);
  pz_file_unmap(&m);
  assert_int_equal(unlink("a"), 0);
  assert_int_equal(entries(), 0);
}

static void rights_follow_the_mask(void **state) {
  (void)state;
  struct stat st;
  mode_t mask = umask(027);
  assert_int_equal(pz_file_write("rights", "x", 1, NULL), PZ_OK);
  umask(mask);
  assert_int_equal(stat("rights", &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
  unlink("rights");
}

static void link_stays_a_link(void **state) {
  (void)state;
  struct stat st;
  assert_int_equal(mkdir("deep", 0777), 0);
  assert_int_equal(pz_file_write("deep/real", "old", 3, NULL), PZ_OK);
  assert_int_equal(symlink("deep/real", "link"), 0);
  assert_int_equal(pz_file_write("link", "new", 3, NULL), PZ_OK);
  assert_int_equal(lstat("link", &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_holds("deep/real", "new");
  unlink("link"), unlink("deep/real"), rmdir("deep");
}

static void unreadable(void **state) {
  (void)state;
  static const struct {
    const char *path, *words;
  } rows[] = {{"missing", "missing: cannot be opened: No such file"},
              {".", ".: is a folder"},
              {"fifo", "fifo: is not a regular file"},
              {"/dev/null", "/dev/null: is not a regular file"}};
  assert_int_equal(mkfifo("fifo", 0666), 0);
  for (int i = 0; i < 4; i++) {
    pz_mapping m;
    pz_error err = {0};
    assert_refused(pz_file_map(rows[i].path, &m, &err), &err, PZ_ERROR_INPUT, rows[i].words);
    assert_int_equal(m.size, 0);
    char *data;
    size_t size;
    err = (pz_error){0};
    assert_refused(pz_file_read(NULL, rows[i].path, 10, &data, &size, &err), &err, PZ_ERROR_INPUT,
                   rows[i].words);
  }
  unlink("fifo");
}

static void limit_of_reading(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  pz_error err = {0};
  char *data;
  size_t size;
  assert_int_equal(pz_file_write("b", "12345", 5, NULL), PZ_OK);
  assert_int_equal(pz_file_read(arena, "b", 5, &data, &size, &err), PZ_OK);
  assert_refused(pz_file_read(arena, "b", 4, &data, &size, &err), &err, PZ_ERROR_INPUT,
                 "b: has 5 bytes, at most 4");
  pz_arena_free(arena);
  unlink("b");
}

static void unwritable(void **state) {
  (void)state;
  static const struct {
    const char *path, *words;
  } rows[] = {{"missing/x", "missing/x: cannot be created: No such file"},
              {".", ".: is a folder"},
              {"", "expected the name of a file"},
              {"new/", "expected the name of a file"},
              {"fifo", "fifo: is not a regular file"},
              {"plain/x", "plain/x: cannot be written: Not a directory"}};
  assert_int_equal(mkfifo("fifo", 0666), 0);
  assert_int_equal(pz_file_write("plain", "", 0, NULL), PZ_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pz_error err = {0};
    assert_refused(pz_file_write(rows[i].path, "x", 1, &err), &err, PZ_ERROR_OUTPUT, rows[i].words);
    err = (pz_error){0};
    assert_refused(pz_file_check_writable(rows[i].path, &err), &err, PZ_ERROR_OUTPUT, rows[i].words);
  }
  char longer[2 * PATH_MAX];
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = 0;
  pz_error err = {0};
  assert_refused(pz_file_write(longer, "x", 1, &err), &err, PZ_ERROR_OUTPUT,
                 "xxx"); /* the path fills the message */
  err = (pz_error){0};
  longer[NAME_MAX + 1] = 0;
  assert_refused(pz_file_write(longer, "x", 1, &err), &err, PZ_ERROR_OUTPUT,
                 "xx: cannot be written: File name too long");
  unlink("fifo"), unlink("plain");
  assert_int_equal(entries(), 0);
}

static void check_leaves_nothing(void **state) {
  (void)state;
  assert_int_equal(pz_file_check_writable("c", NULL), PZ_OK);
  assert_int_equal(entries(), 0);
  assert_int_equal(pz_file_write("c", "kept", 4, NULL), PZ_OK);
  assert_int_equal(pz_file_check_writable("c", NULL), PZ_OK);
  assert_holds("c", "kept");
  assert_int_equal(entries(), 1);
  unlink("c");
}

/* Whatever fails, the old file is there whole or the new one is, and nothing else. */
static void every_step_of_writing_fails(void **state) {
  (void)state;
  int failures = 0;
  for (int n = 1; n < 100; n++) {
    assert_int_equal(pz_file_write("d", "old", 3, NULL), PZ_OK);
    pz_error err = {0};
    calls = 0, failing = n;
    pz_status status = pz_file_write("d", "new text", 8, &err);
    bool done = calls < n;
    failing = 0;
    assert_holds("d", status == PZ_OK ? "new text" : "old");
    assert_int_equal(entries(), 1);
    if (status != PZ_OK)
      assert_refused(status, &err, PZ_ERROR_OUTPUT, "d: cannot be written: No space left on device");
    failures += status != PZ_OK;
    if (done) break;
  }
  assert_int_equal(failures, 4 + 3); /* writes of 4, 2, 1, 1 bytes; sync, close, rename */
  unlink("d");
}

static void reading_without_memory(void **state) {
  (void)state;
  assert_int_equal(pz_file_write("e", "text", 4, NULL), PZ_OK);
  PZ_FAIL_EACH_ALLOC() {
    char *data;
    size_t size;
    pz_error err = {0};
    pz_arena *arena = pz_arena_new();
    pz_status status = arena ? pz_file_read(arena, "e", 10, &data, &size, &err) : PZ_ERROR_MEMORY;
    bool failed = pz_fail_alloc_end();
    assert_int_equal(status, failed ? PZ_ERROR_MEMORY : PZ_OK);
    pz_arena_free(arena);
  }
  unlink("e");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_is_read),        cmocka_unit_test(rights_follow_the_mask),
      cmocka_unit_test(link_stays_a_link),      cmocka_unit_test(unreadable),
      cmocka_unit_test(limit_of_reading),       cmocka_unit_test(unwritable),
      cmocka_unit_test(check_leaves_nothing),   cmocka_unit_test(every_step_of_writing_fails),
      cmocka_unit_test(reading_without_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
