#include "base/quota.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct quota_files { /* where a version of the control groups keeps quota and period */
  const char *folder;        /* under the mount */
  bool (*read)(const char *group, double *cores);
} quota_files;

static bool read_line(const char *group, const char *name, char *line, int size) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path) return false;
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool ok = fgets(line, size, file) != NULL;
  fclose(file);
  return ok;
}

/* cpu.max: "200000 100000", or "max 100000" where there is no quota. */
static bool read_v2(const char *group, double *cores) {
  char line[128];
  double quota, period;
  if (!read_line(group, "cpu.max", line, sizeof line)) return false;
  if (sscanf(line, "%lf %lf", &quota, &period) != 2 || !(quota > 0) || !(period > 0)) return false;
  *cores = quota / period;
  return true;
}

static bool read_v1(const char *group, double *cores) {
  char quota[64], period[64];
  if (!read_line(group, "cpu.cfs_quota_us", quota, sizeof quota)) return false;
  if (!read_line(group, "cpu.cfs_period_us", period, sizeof period)) return false;
  double q = strtod(quota, NULL), p = strtod(period, NULL);
  *cores = q / p;
  return q > 0 && p > 0;
}

static const quota_files version_1 = {"/cpu", read_v1}, version_2 = {"", read_v2};

/* From the group up to the mount itself. A group that cannot be seen from inside a container is passed over. */
static double tightest(const quota_files *files, const char *mount, const char *group) {
  char path[4096];
  double least = 0, cores;
  int root = snprintf(path, sizeof path, "%s%s", mount, files->folder);
  if (root >= (int)sizeof path ||
      snprintf(path + root, sizeof path - root, "%s", group) >= (int)sizeof path - root)
    return 0;
  for (;;) {
    if (files->read(path, &cores) && (least == 0 || cores < least)) least = cores;
    char *slash = strrchr(path + root, '/');
    if (!slash) return least;
    *slash = 0;
  }
}

static bool lists_cpu(const char *controllers, size_t n) {
  for (const char *p = controllers, *end = p + n; p < end;) {
    const char *comma = memchr(p, ',', (size_t)(end - p));
    size_t size = (size_t)((comma ? comma : end) - p);
    if (size == 3 && !memcmp(p, "cpu", 3)) return true;
    p += size + 1;
  }
  return false;
}

/* A line is "id:controllers:/group"; version 2 has id 0 and no controllers. */
static double line_quota(const char *line, size_t n, const char *mount) {
  char group[2048];
  const char *first = memchr(line, ':', n);
  const char *second = first ? memchr(first + 1, ':', (size_t)(line + n - first - 1)) : NULL;
  if (!second) return 0;
  int size = (int)(line + n - second - 1);
  if (snprintf(group, sizeof group, "%.*s", size, second + 1) >= (int)sizeof group) return 0;
  size_t controllers = (size_t)(second - first - 1);
  if (controllers == 0) return tightest(&version_2, mount, group);
  return lists_cpu(first + 1, controllers) ? tightest(&version_1, mount, group) : 0;
}

int pz_quota_cores(const char *membership, const char *mount) {
  double least = 0;
  for (const char *line = membership; *line;) {
    size_t n = strcspn(line, "\n");
    double cores = line_quota(line, n, mount);
    if (cores > 0 && (least == 0 || cores < least)) least = cores;
    line += n + (line[n] == '\n');
  }
  int whole = least > 1e6 ? 1000000 : (int)least;
  return whole + (least > whole && whole < 1000000);
}
