#include "base/affinity.h"
#include "base/cpu.h"
#include "base/quota.h"
#include <stdio.h>

static int quota(void) {
  char membership[8192];
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file) return 0;
  size_t n = fread(membership, 1, sizeof membership - 1, file);
  fclose(file);
  membership[n] = 0;
  return pz_quota_cores(membership, "/sys/fs/cgroup");
}

int pz_cpu_usable(void) {
  int cores = pz_affinity_cores(NULL, 0), limit = quota();
  if (cores < 1) cores = 1;
  return limit > 0 && limit < cores ? limit : cores;
}
