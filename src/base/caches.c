/* Not sysconf(_SC_LEVEL3_CACHE_SIZE): glibc multiplies the third level of some AMD processors by the number of threads
 * (335 MB for 32 MB were seen). */
#include "base/caches.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static bool read_word(const char *folder, int index, const char *name, char word[32]) {
  char path[512];
  snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool ok = fscanf(file, "%31s", word) == 1;
  fclose(file);
  return ok;
}

/* "32K", "1024K", "2M". */
static int64_t parse_size(const char *word) {
  long long n = 0;
  char unit = 0;
  if (sscanf(word, "%9lld%c", &n, &unit) < 1 || n <= 0) return 0;
  return unit == 'K' ? n << 10 : unit == 'M' ? n << 20 : unit == 'G' ? n << 30 : n;
}

static void keep(pz_cache_sizes *to, char level, const char *type, int64_t size) {
  if (size <= 0 || !strcmp(type, "Instruction")) return;
  if (level == '1') to->l1d = size;
  if (level == '2') to->l2 = size;
  if (level == '3') to->l3 = size;
}

void pz_caches_read(const char *folder, pz_cache_sizes *to) {
  char level[32], type[32], size[32];
  for (int i = 0; i < 8; i++)
    if (read_word(folder, i, "level", level) && read_word(folder, i, "type", type) &&
        read_word(folder, i, "size", size))
      keep(to, level[0], type, parse_size(size));
}

/* Bytes of level 3 that a core can count on, at most: a virtual machine with a few cores of a server reports all of it (480 MiB on
 * two cores were seen, of which 96 MiB answered quickly; on another day 8). */
#define LEVEL3_OF_CORE ((int64_t)80 << 20)

/* Read once: the planner asks thousands of times. */
static pz_cache_sizes sizes = {.l1d = 32 << 10, .l2 = 512 << 10, .l3 = 8 << 20};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void read_sizes(void) {
  pz_caches_read("/sys/devices/system/cpu/cpu0/cache", &sizes);
  const int64_t share = pz_cpu_usable() * LEVEL3_OF_CORE;
  if (sizes.l3 > share) sizes.l3 = share;
}

pz_cache_sizes pz_cpu_caches(void) {
  pthread_once(&once, read_sizes);
  return sizes;
}
