/* Programs that this process starts: what they print, how they end, and that they end with it, whatever ends it. */
#include "base/process.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/pz-process-XXXXXX";

static int begin(void **state) {
  (void)state;
  strcpy(folder, "/tmp/pz-process-XXXXXX");
  return mkdtemp(folder) ? 0 : 1;
}
static int end(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

static const char *read_file(const char *name) {
  static char text[4096];
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  text[n] = 0;
  return text;
}

static int run(const char *script, const char *log) {
  const char *const argv[] = {"sh", "-c", script, NULL};
  const pz_process_place place = {.folder = folder, .temporary = "/tmp/of its own", .log = log};
  pz_process p;
  int code = -1;
  assert_int_equal(pz_process_start(argv, &place, &p), 0);
  assert_true(p.pid > 0);
  while (!pz_process_ended(&p, &code)) nap();
  assert_int_equal(p.pid, 0);
  return code;
}

static void tells_how_it_ended(void **state) {
  (void)state;
  assert_int_equal(run("exit 0", "log"), 0);
  assert_int_equal(run("exit 37", "log"), 37);
  assert_int_equal(run("kill -SEGV $$", "log"), 128 + SIGSEGV);
  assert_int_equal(run("kill -KILL $$", "log"), 128 + SIGKILL);
}

static void has_its_place(void **state) {
  char expected[256];
  (void)state;
  assert_int_equal(run("pwd; echo $TMPDIR; echo error >&2; read -r x; echo \"$x\"; echo $LC_ALL", "log"), 0);
  snprintf(expected, sizeof expected, "%s\n/tmp/of its own\nerror\n\nC\n", folder);
  assert_string_equal(read_file("log"), expected);
}

/* The C library's tunables: huge pages, but where the user has set some. */
static void has_huge_pages_unless_told(void **state) {
  (void)state;
  char own[256];
  const char *set = getenv("GLIBC_TUNABLES");
  snprintf(own, sizeof own, "%s", set ? set : "");
  unsetenv("GLIBC_TUNABLES");
  assert_int_equal(run("echo $GLIBC_TUNABLES", "log"), 0);
  assert_string_equal(read_file("log"), "glibc.malloc.hugetlb=1\n");
  setenv("GLIBC_TUNABLES", "glibc.malloc.check=0", 1);
  assert_int_equal(run("echo $GLIBC_TUNABLES", "log"), 0);
  assert_string_equal(read_file("log"), "glibc.malloc.check=0\n");
  if (set) setenv("GLIBC_TUNABLES", own, 1);
  else unsetenv("GLIBC_TUNABLES");
}

/* Nothing that the watch holds keeps the reader waiting; errors go nowhere. */
static void prints_to_a_pipe(void **state) {
  const char *const argv[] = {"/bin/sh", "-c", "echo a; echo b >&2", NULL};
  char text[64];
  int ends[2], code = -1;
  pz_process p;
  ssize_t n, all = 0;
  (void)state;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  assert_int_equal(pz_process_start(argv, &(pz_process_place){.out = ends[1]}, &p), 0);
  close(ends[1]);
  while ((n = read(ends[0], text + all, sizeof text - (size_t)all)) > 0) all += n;
  close(ends[0]);
  while (!pz_process_ended(&p, &code)) nap();
  assert_int_equal(code, 0);
  assert_int_equal(all, 2);
  assert_memory_equal(text, "a\n", 2);
}

static void says_what_cannot_be_run(void **state) {
  pz_process p;
  const char *const missing[] = {"pz-there-is-no-such-program", NULL},
                    *const folders[] = {"/nowhere/gcc", NULL}, *const data[] = {"/etc/passwd", NULL};
  (void)state;
  assert_int_equal(pz_process_start(missing, &(pz_process_place){.log = "log"}, &p), ENOENT);
  assert_int_equal(pz_process_start(folders, &(pz_process_place){.log = "log"}, &p), ENOENT);
  assert_int_equal(pz_process_start(data, &(pz_process_place){.log = "log"}, &p), EACCES);
  assert_int_equal(p.pid, 0);
  assert_true(pz_process_known("sh") && pz_process_known("/bin/sh") && !pz_process_known("/bin/pz-sh"));
}

/* A program that starts another; neither takes notice of what asks them to end. */
static const char *const stubborn[] = {
    "sh", "-c", "trap '' TERM INT HUP; sh -c 'echo $$ > grandchild; exec sleep 100' & echo $$ > child; wait",
    NULL};

static bool lives(pid_t pid) {
  char path[64], text[512] = "", *state;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = 0;
  state = strrchr(text, ')');
  return state && state[2] != 'Z' && state[2] != 'X';
}

static pid_t number_in(const char *name) {
  int number = 0;
  for (int naps = 0; naps < 4000 && !(number = atoi(read_file(name))); naps++) nap();
  assert_true(number > 0);
  return number;
}

static void check_gone(pid_t child, pid_t grandchild) {
  for (int naps = 0; naps < 1000 && (lives(child) || lives(grandchild)); naps++) nap();
  assert_false(lives(child));
  assert_false(lives(grandchild));
}

static void ends_all_that_it_started(void **state) {
  pz_process p[2] = {{.life = -1}, {.life = -1}};
  (void)state;
  assert_int_equal(pz_process_start(stubborn, &(pz_process_place){.folder = folder, .log = "log"}, &p[1]), 0);
  const pid_t child = number_in("child"), grandchild = number_in("grandchild");
  assert_true(lives(child) && lives(grandchild));
  pz_process_end((pz_process *const[]){&p[0], &p[1]}, 2);
  assert_int_equal(p[1].pid, 0);
  check_gone(child, grandchild);
}

static void tells_what_they_take(void **state) {
  static const char *const busy[] = {"/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done",
                                     NULL};
  pz_process p;
  int code;
  double seen = 0;
  (void)state;
  assert_int_equal(pz_process_start(busy, &(pz_process_place){.folder = folder, .log = "log"}, &p), 0);
  while (!pz_process_ended(&p, &code)) seen = fmax(seen, pz_process_cpu(&p)), usleep(1000);
  assert_int_equal(code, 0);
  assert_true(p.cpu > 0.02 && p.cpu < 60);
  assert_true(seen > 0 && seen <= p.cpu + 0.05); /* a tick or two of the clock */
  assert_true(pz_process_cpu(&p) <= 0);
}

/* The host is a process of its own, which is killed: nobody is left to end what it started. */
static void ends_with_its_host(void **state) {
  (void)state;
  const pid_t host = fork();
  assert_true(host >= 0);
  if (!host) {
    pz_process p;
    if (pz_process_start(stubborn, &(pz_process_place){.folder = folder, .log = "log"}, &p)) _exit(1);
    for (;;) pause();
  }
  const pid_t child = number_in("child"), grandchild = number_in("grandchild");
  assert_true(lives(child) && lives(grandchild));
  kill(host, SIGKILL);
  assert_int_equal(waitpid(host, NULL, 0), host);
  check_gone(child, grandchild);
}

int main(void) {
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {IN_FOLDER(tells_how_it_ended),
                                     IN_FOLDER(has_its_place),
                                     IN_FOLDER(has_huge_pages_unless_told),
                                     cmocka_unit_test(prints_to_a_pipe),
                                     cmocka_unit_test(says_what_cannot_be_run),
                                     IN_FOLDER(tells_what_they_take),
                                     IN_FOLDER(ends_all_that_it_started),
                                     IN_FOLDER(ends_with_its_host)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
