/* How much memory this process may take: control groups, from trees made here; limits, as they are set. */
#include "base/memory.h"
#include "base/arena.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

static char root[] = "/tmp/pz-memory-XXXXXX";

static void write_file(const char *path, const char *text) {
  char whole[4096];
  snprintf(whole, sizeof whole, "%s%s", root, path);
  for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    assert_true(!mkdir(whole, 0700) || errno == EEXIST);
    *slash = '/';
  }
  FILE *file = fopen(whole, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static int begin(void **state) {
  (void)state;
  strcpy(root, "/tmp/pz-memory-XXXXXX");
  assert_non_null(mkdtemp(root));
  write_file("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1024 kB\nMemAvailable:    8388608 kB\n"
                              "SwapTotal: 0 kB\nSwapFree:              0 kB\n");
  return 0;
}
static int end(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -r %s", root);
  return system(command);
}

static void check(int64_t bytes, const char *limit) {
  const pz_memory m = pz_memory_there_in(root, 0);
  assert_int_equal(m.bytes, bytes);
  assert_string_equal(m.limit, limit);
}

static void of_the_machine(void **state) {
  (void)state;
  check(8192 * MIB, "this machine's memory of 16 GiB");
  write_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapFree: 1048576 kB\n");
  check(9216 * MIB, "this machine's memory of 16 GiB");
  write_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapFree: 99999999 kB\n");
  check(16384 * MIB, "this machine's memory of 16 GiB");
  write_file("/proc/meminfo",
             "MemTotal: 16777216 kB\nMemFree: 2097152 kB\nBuffers: 1024 kB\nCached: 1024 kB\n");
  check(2050 * MIB, "this machine's memory of 16 GiB");
}

#define V2_MOUNT "38 31 0:41 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
static void of_groups_of_version_2(void **state) {
  (void)state;
  write_file("/proc/self/cgroup", "0::/a/b\n");
  write_file("/proc/self/mountinfo", "22 27 0:21 / /proc rw shared:5 - proc proc rw\n" V2_MOUNT);
  check(8192 * MIB, "this machine's memory of 16 GiB");
  write_file("/sys/fs/cgroup/a/b/memory.max", "314572800\n"); /* without its use it says nothing */
  check(8192 * MIB, "this machine's memory of 16 GiB");
  write_file("/sys/fs/cgroup/a/b/memory.current", "104857600\n");
  check(200 * MIB, "the cgroup's limit of 300 MiB");
  write_file("/sys/fs/cgroup/a/b/memory.stat",
             "anon 1\ninactive_file 31457280\nactive_file 20971520\nfile_dirty 7\n");
  check(250 * MIB, "the cgroup's limit of 300 MiB");
  write_file("/sys/fs/cgroup/a/b/memory.high", "157286400\n");
  check(100 * MIB, "the cgroup's memory.high of 150 MiB");
  write_file("/sys/fs/cgroup/a/memory.max", "max\n");
  write_file("/sys/fs/cgroup/a/memory.current", "209715200\n");
  check(100 * MIB, "the cgroup's memory.high of 150 MiB");
  write_file("/sys/fs/cgroup/a/memory.max",
             "220200960\n"); /* of the group above, all of whose members count */
  check(10 * MIB, "the cgroup's limit of 210 MiB");
  write_file("/sys/fs/cgroup/a/memory.max", "104857600\n"); /* lowered below what is used */
  check(0, "the cgroup's limit of 100 MiB");
}

static void of_groups_of_version_1(void **state) {
  (void)state;
  write_file("/proc/self/cgroup", "5:devices:/d\n4:cpu,memory:/x y/z\n0::/\n");
  write_file("/proc/self/mountinfo",
             "33 31 0:30 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
             "35 31 0:32 / /sys/fs/my\\040groups rw - cgroup cgroup rw,cpu,memory\n" V2_MOUNT);
  write_file("/sys/fs/my groups/x y/z/memory.limit_in_bytes", "314572800\n");
  write_file("/sys/fs/my groups/x y/z/memory.usage_in_bytes", "104857600\n");
  write_file("/sys/fs/my groups/x y/z/memory.stat",
             "inactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 0\n");
  write_file("/sys/fs/my groups/memory.limit_in_bytes", "9223372036854771712\n");
  write_file("/sys/fs/my groups/memory.usage_in_bytes", "904857600\n");
  check(210 * MIB, "the cgroup's limit of 300 MiB");
}

/* The mount shows the container's own group alone, whose path the process sees whole, or not at all. */
static void of_a_container(void **state) {
  (void)state;
  write_file("/proc/self/cgroup", "0::/docker/abc/in\n");
  write_file("/proc/self/mountinfo", "38 31 0:41 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  write_file("/sys/fs/cgroup/memory.max", "314572800\n");
  write_file("/sys/fs/cgroup/memory.current", "104857600\n");
  write_file("/sys/fs/cgroup/in/memory.max", "209715200\n");
  write_file("/sys/fs/cgroup/in/memory.current", "104857600\n");
  check(100 * MIB, "the cgroup's limit of 200 MiB");
  write_file("/proc/self/cgroup", "0::/docker/abcd/in\n"); /* not below abc */
  check(200 * MIB, "the cgroup's limit of 300 MiB");
  write_file("/proc/self/cgroup", "0::/../other\n");
  check(200 * MIB, "the cgroup's limit of 300 MiB");
}

static void of_damaged_files(void **state) {
  (void)state;
  write_file("/proc/self/cgroup", "\n:\n0\n0:\n0::\nmemory\n4:memory:\n4:memory:/a\n0::/a");
  write_file(
      "/proc/self/mountinfo",
      "\n - \n1 - cgroup2 cgroup2 rw\n38 31 0:41 / - cgroup2 x y\n35 31 0:32 /\\ /sys\\9 rw - cgroup c "
      "memory\n" V2_MOUNT);
  write_file("/sys/fs/cgroup/a/memory.max", "-5\n");
  write_file("/sys/fs/cgroup/a/memory.current", "\n");
  check(8192 * MIB, "this machine's memory of 16 GiB");
}

/* In a process of its own. */
static void with_limit(int resource, int64_t bytes, int64_t mapped, int64_t least, int64_t most,
                       const char *limit) {
  write_file("/proc/self/status", "Name:\tx\nVmSize:\t  204800 kB\nVmData:\t  102400 kB\n");
  const pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    const struct rlimit given = {(rlim_t)bytes, (rlim_t)bytes};
    if (setrlimit(resource, &given)) _exit(2);
    const pz_memory m = pz_memory_there_in(root, mapped);
    _exit(m.bytes >= least && m.bytes <= most && !strcmp(m.limit, limit) ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}
static void of_limits(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  skip(); /* the sanitizer takes more than that */
#endif
  with_limit(RLIMIT_AS, 1024 * MIB, 0, 824 * MIB, 824 * MIB,
             "the limit on address space (ulimit -v) of 1 GiB");
  with_limit(RLIMIT_AS, 1024 * MIB, 50 * MIB, 874 * MIB, 874 * MIB,
             "the limit on address space (ulimit -v) of 1 GiB");
  with_limit(RLIMIT_DATA, 512 * MIB, 0, 412 * MIB, 412 * MIB, "the limit on data (ulimit -d) of 512 MiB");
}

/* Of this machine, whatever it has: something, and not what nobody has. */
static void of_this_machine(void **state) {
  (void)state;
  const pz_memory m = pz_memory_there(0);
  assert_true(m.bytes > MIB && m.bytes < INT64_MAX / 2);
  assert_true(pz_memory_resident() > MIB / 2);
  assert_true(pz_memory_allows(1) && pz_memory_allows(PZ_MEMORY_LARGE - 1));
  assert_false(pz_memory_allows((uint64_t)1 << 52));
  assert_false(pz_memory_allows(UINT64_MAX));
}

/* Pages that nobody writes to could be had: the system promises more than it has. */
static void arenas_take_what_is_there(void **state) {
  (void)state;
  const struct rlimit given = {.rlim_cur = 1 << 30, .rlim_max = 1 << 30};
#ifdef __SANITIZE_ADDRESS__
  skip(); /* its shadow is beyond any limit */
#endif
  const pid_t child = fork();
  if (!child) {
    if (setrlimit(RLIMIT_DATA, &given)) _exit(2);
    pz_arena *arena = pz_arena_new();
    pz_error err = {0};
    if (!arena || pz_arena_alloc(arena, 1, (size_t)2 << 30) || !pz_arena_alloc(arena, 1, 32 << 20)) _exit(3);
    pz_fail_memory(&err, "weights", (unsigned long long)2 << 30);
    _exit(strstr(err.message, "2147483648 bytes for weights, ") && strstr(err.message, "(ulimit -d) of 1 GiB")
              ? 0
              : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void says_sizes(void **state) {
  char text[PZ_MEMORY_TEXT];
  (void)state;
  assert_string_equal(pz_memory_text(17, text), "17 bytes");
  assert_string_equal(pz_memory_text(1536, text), "1.5 KiB");
  assert_string_equal(pz_memory_text(300 * MIB, text), "300 MiB");
  assert_string_equal(pz_memory_text(INT64_MAX, text), "8388608 TiB");
}

int main(void) {
#define IN_TREE(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {
      IN_TREE(of_the_machine),           IN_TREE(of_groups_of_version_2),
      IN_TREE(of_groups_of_version_1),   IN_TREE(of_a_container),
      IN_TREE(of_damaged_files),         IN_TREE(of_limits),
      cmocka_unit_test(of_this_machine), cmocka_unit_test(arenas_take_what_is_there),
      cmocka_unit_test(says_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
