#include "unit.h"
#include "base/affinity.h"
#include "base/arena.h"
#include "base/caches.h"
#include "base/cpu.h"
#include "base/quota.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[] = "/tmp/pznet-test-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)st, (void)type, (void)ftw;
  return remove(path);
}
static int set_up(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    mkdir(path, 0777);
    *slash = '/';
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void names_are_parsed(void **state) {
  (void)state;
  pz_isa isa;
  for (int i = 0; i < PZ_ISA_COUNT; i++) {
    assert_true(pz_isa_parse(pz_isa_get((pz_isa)i)->name, &isa));
    assert_int_equal(isa, i);
  }
  assert_true(pz_isa_parse("native", &isa));
  assert_int_equal(isa, pz_isa_native());
  assert_false(pz_isa_parse("avx1024", &isa));
  assert_false(pz_isa_parse("", &isa));
}

static void widths(void **state) {
  (void)state;
  assert_int_equal(pz_isa_get(PZ_ISA_SSE4)->vector_width, 4);
  assert_int_equal(pz_isa_get(PZ_ISA_NEON)->vector_width, 4);
  assert_int_equal(pz_isa_get(PZ_ISA_NEON)->registers, 32);
  assert_int_equal(pz_isa_get(PZ_ISA_AVX2)->vector_width, 8);
  assert_int_equal(pz_isa_get(PZ_ISA_AVX512)->vector_width, 16);
  assert_int_equal(pz_isa_get(PZ_ISA_AMX)->vector_width, 16);
}

/* An independent witness: the flags that the kernel lists, as x86's or ARM's. */
static bool kernel_lists(const char *flag) {
  static char text[1 << 16];
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return false;
  size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = 0;
  char word[64];
  snprintf(word, sizeof word, " %s ", flag);
#ifdef __aarch64__
  char *flags = strstr(text, "\nFeatures");
#else
  char *flags = strstr(text, "\nflags");
#endif
  char *end = flags ? strchr(flags + 1, '\n') : NULL;
  if (!end) return false;
  *end = ' ';
  end[1] = 0;
  return strstr(flags, word) != NULL;
}

/* Whether Linux lets this process use tiles. Where it does not, seccomp for instance, AMX is listed and yet not supported. */
static bool tiles_are_allowed(void) {
  uint64_t allowed = 0;
#ifdef SYS_arch_prctl
  if (syscall(SYS_arch_prctl, 0x1022 /* ARCH_GET_XCOMP_PERM */, &allowed)) return false;
#endif
  return allowed >> 18 & 1;
}

static void support_agrees_with_the_kernel(void **state) {
  (void)state;
#if defined(__aarch64__)
  const bool neon = kernel_lists("asimd") && kernel_lists("atomics") && kernel_lists("asimdrdm");
  if (!kernel_lists("fp")) skip(); /* qemu's user mode shows the flags of the machine that it runs on */
  assert_int_equal(pz_isa_supported(PZ_ISA_NEON), neon);
  assert_int_equal(pz_isa_native(), PZ_ISA_NEON);
  return;
#elif !defined(__x86_64__)
  skip();
#endif
  assert_false(pz_isa_supported(PZ_ISA_NEON));
  bool avx2 = kernel_lists("avx2") && kernel_lists("fma") && kernel_lists("f16c");
  bool avx512 = avx2 && kernel_lists("avx512f") && kernel_lists("avx512vl") && kernel_lists("avx512bw") &&
                kernel_lists("avx512dq");
  assert_int_equal(pz_isa_supported(PZ_ISA_SSE4), kernel_lists("sse4_2"));
  assert_int_equal(pz_isa_supported(PZ_ISA_AVX2), avx2);
  assert_int_equal(pz_isa_supported(PZ_ISA_AVX512), avx512);
  const bool amx = pz_isa_supported(PZ_ISA_AMX); /* asks */
  assert_int_equal(amx, avx512 && kernel_lists("amx_tile") && kernel_lists("amx_bf16") &&
                            kernel_lists("avx512_bf16") && tiles_are_allowed());
  assert_int_equal(pz_isa_supported(PZ_ISA_AMX), amx);
  assert_int_equal(pz_isa_native(), amx      ? PZ_ISA_AMX
                                    : avx512 ? PZ_ISA_AVX512
                                    : avx2   ? PZ_ISA_AVX2
                                             : PZ_ISA_SSE4);
}

static void model_is_trimmed(void **state) {
  (void)state;
  char model[128], small[4];
  pz_cpu_model(model, sizeof model);
  assert_true(strlen(model) > 0);
  assert_int_not_equal(model[0], ' ');
  assert_int_not_equal(model[strlen(model) - 1], ' ');
  pz_cpu_model(small, sizeof small);
  assert_memory_equal(small, model, 3);
  assert_true(strlen(small) <= 3);
}

static void caches_from_the_folder(void **state) {
  (void)state;
  static const char *const rows[][3] = {
      {"1", "Data", "48K"}, {"1", "Instruction", "64K"}, {"2", "Unified", "2M"}, {"3", "Unified", "junk"}};
  for (int i = 0; i < 4; i++) {
    static const char *const names[] = {"level", "type", "size"};
    for (int k = 0; k < 3; k++) {
      char name[64];
      snprintf(name, sizeof name, "cache/index%d/%s", i, names[k]);
      put(name, rows[i][k]);
    }
  }
  char path[256];
  snprintf(path, sizeof path, "%s/cache", folder);
  pz_cache_sizes sizes = {1, 2, 3};
  pz_caches_read(path, &sizes);
  assert_int_equal(sizes.l1d, 48 << 10);
  assert_int_equal(sizes.l2, 2 << 20);
  assert_int_equal(sizes.l3, 3); /* not given: kept */
  sizes = pz_cpu_caches();
  assert_true(sizes.l1d >= 4096 && sizes.l2 >= sizes.l1d && sizes.l3 > 0);
  assert_true(sizes.l3 <= pz_cpu_usable() * ((int64_t)80 << 20));
}

static void quota_version_2(void **state) {
  (void)state;
  put("two/a/b/cpu.max", "150000 100000\n");
  put("two/a/cpu.max", "max 100000\n");
  char mount[256];
  snprintf(mount, sizeof mount, "%s/two", folder);
  assert_int_equal(pz_quota_cores("0::/a/b\n", mount), 2);    /* 1.5 cores, rounded up */
  assert_int_equal(pz_quota_cores("0::/a\n", mount), 0);      /* no quota */
  assert_int_equal(pz_quota_cores("0::/a/b/c\n", mount), 2);  /* from above */
  assert_int_equal(pz_quota_cores("0::/gone/x\n", mount), 0); /* not seen from here */
  put("two/cpu.max", "100000 100000\n");
  assert_int_equal(pz_quota_cores("0::/a/b\n", mount), 1); /* the tightest of all */
  assert_int_equal(pz_quota_cores("0::/\n", mount), 1);
  put("two/cpu.max", "garbage");
  assert_int_equal(pz_quota_cores("0::/\n", mount), 0);
  put("two/cpu.max", "1000 100000\n");
  assert_int_equal(pz_quota_cores("0::/\n", mount), 1); /* at least one */
}

static void quota_version_1(void **state) {
  (void)state;
  put("one/cpu/jobs/cpu.cfs_quota_us", "400000\n");
  put("one/cpu/jobs/cpu.cfs_period_us", "100000\n");
  put("one/cpu/cpu.cfs_quota_us", "-1\n");
  put("one/cpu/cpu.cfs_period_us", "100000\n");
  char mount[256];
  snprintf(mount, sizeof mount, "%s/one", folder);
  assert_int_equal(pz_quota_cores("3:memory:/jobs\n4:cpu,cpuacct:/jobs\n0::/\n", mount), 4);
  assert_int_equal(pz_quota_cores("4:cpuacct,cpu:/jobs", mount), 4);
  assert_int_equal(pz_quota_cores("4:cpuset:/jobs\n", mount), 0);
  assert_int_equal(pz_quota_cores("4:cpu:/\n", mount), 0);
}

static void quota_of_odd_texts(void **state) {
  (void)state;
  static const char *const texts[] = {"", "\n\n", ":", "::", "0:", "0::", "garbage", ":::/x\n:", "4:cpu"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_int_equal(pz_quota_cores(texts[i], "/nonexistent"), 0);
  char longer[9000];
  memset(longer, 'x', sizeof longer);
  memcpy(longer, "0::/", 4);
  longer[sizeof longer - 1] = 0;
  assert_int_equal(pz_quota_cores(longer, "/nonexistent"), 0);
}

static void usable_follows_the_affinity_mask(void **state) {
  (void)state;
  int cores[4096], n = pz_affinity_cores(cores, 4096);
  assert_true(n >= 1);
  assert_true(pz_cpu_usable() >= 1 && pz_cpu_usable() <= n);
  for (int i = 1; i < n; i++) assert_true(cores[i] > cores[i - 1]);
  cpu_set_t before;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  assert_true(pz_affinity_bind(pthread_self(), cores[n - 1]));
  int only = -1;
  int now = pz_affinity_cores(&only, 1), usable = pz_cpu_usable();
  sched_setaffinity(0, sizeof before, &before);
  assert_int_equal(now, 1);
  assert_int_equal(only, cores[n - 1]);
  assert_int_equal(usable, 1);
  assert_false(pz_affinity_bind(pthread_self(), -1));
  assert_false(pz_affinity_bind(pthread_self(), 1 << 30));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_parsed),
      cmocka_unit_test(widths),
      cmocka_unit_test(support_agrees_with_the_kernel),
      cmocka_unit_test(model_is_trimmed),
      cmocka_unit_test(caches_from_the_folder),
      cmocka_unit_test(quota_version_2),
      cmocka_unit_test(quota_version_1),
      cmocka_unit_test(quota_of_odd_texts),
      cmocka_unit_test(usable_follows_the_affinity_mask),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
