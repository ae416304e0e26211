#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NO_LIMIT (INT64_C(1) << 60) /* groups of version 1 without a limit have one near 2^63 */
enum { PATH_TEXT = 4096, LINE_TEXT = 8192 };

/* ---- numbers ---- */

const char *pz_memory_text(int64_t bytes, char out[PZ_MEMORY_TEXT]) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = 0;
  for (; value >= 1023.95 && unit < 4; unit++) value /= 1024;
  const bool whole = unit == 0 || value >= 99.95 || value - (double)(int64_t)value < 0.05;
  snprintf(out, PZ_MEMORY_TEXT, whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return out;
}

/* Keeps the smaller one. `name` is printed with the whole limit. */
static void lower(pz_memory *least, int64_t bytes, const char *name, int64_t whole) {
  char text[PZ_MEMORY_TEXT];
  if (bytes < 0) bytes = 0;
  if (bytes >= least->bytes) return;
  least->bytes = bytes, least->whole = whole;
  snprintf(least->limit, sizeof least->limit, "%s %s", name, pz_memory_text(whole, text));
}

/* ---- files ---- */

static FILE *open_below(const char *root, const char *path) {
  char whole[PATH_TEXT];
  if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole) return NULL;
  return fopen(whole, "re");
}

/* The number of the first line; false for "max" and where there is no such file. */
static bool read_number(const char *folder, const char *name, int64_t *number) {
  char line[64], *end;
  FILE *file = open_below(folder, name);
  const bool there = file && fgets(line, sizeof line, file);
  if (file) fclose(file);
  if (!there) return false;
  *number = strtoll(line, &end, 10);
  return end != line && *number >= 0;
}

/* Adds to *sum the number behind each of the names that a line begins with. How many there were. */
static int add_fields(FILE *file, const char *const *names, int n, int64_t *sum) {
  char line[256];
  int found = 0;
  while (file && fgets(line, sizeof line, file))
    for (int i = 0; i < n; i++) {
      const size_t size = strlen(names[i]);
      if (strncmp(line, names[i], size) || (line[size] != ' ' && line[size] != ':')) continue;
      *sum = pz_plus(*sum, strtoll(line + size + 1, NULL, 10));
      found++;
    }
  if (file) fclose(file);
  return found;
}

/* ---- the machine ---- */

static int64_t kibibytes(const char *root, const char *path, const char *const *names, int n) {
  int64_t sum = 0;
  return add_fields(open_below(root, path), names, n, &sum) ? pz_times(sum, 1024) : -1;
}

static void of_machine(const char *root, pz_memory *least) {
  static const char meminfo[] = "/proc/meminfo";
  static const char *const available[] = {"MemAvailable", "SwapFree"},
                           *const before_3_14[] = {"MemFree", "Buffers", "Cached", "SwapFree"},
                           *const total[] = {"MemTotal"};
  int64_t whole = kibibytes(root, meminfo, total, 1);
  if (whole < 0) whole = pz_times(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE));
  int64_t there = kibibytes(root, meminfo, available, 1) < 0 ? kibibytes(root, meminfo, before_3_14, 4)
                                                             : kibibytes(root, meminfo, available, 2);
  if (whole <= 0) return;
  if (there < 0 || there > whole) there = whole;
  lower(least, there, "this machine's memory of", whole);
}

/* ---- limits of the process ---- */

static void of_process(const char *root, int64_t mapped, pz_memory *least) {
  static const char status[] = "/proc/self/status";
  static const char *const space[] = {"VmSize"}, *const data[] = {"VmData"};
  const struct {
    int resource;
    const char *const *field, *name;
  } limits[] = {{RLIMIT_AS, space, "the limit on address space (ulimit -v) of"},
                {RLIMIT_DATA, data, "the limit on data (ulimit -d) of"}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit given;
    if (getrlimit(limits[i].resource, &given) || given.rlim_cur >= (rlim_t)NO_LIMIT) continue;
    int64_t used = kibibytes(root, status, limits[i].field, 1) - mapped;
    if (used < 0) used = 0;
    lower(least, (int64_t)given.rlim_cur - used, limits[i].name, (int64_t)given.rlim_cur);
  }
}

int64_t pz_memory_resident(void) {
  static const char *const resident[] = {"VmRSS"};
  const int64_t bytes = kibibytes("", "/proc/self/status", resident, 1);
  return bytes > 0 ? bytes : 0;
}

/* ---- control groups ---- */

typedef struct version {
  const char *type; /* of the file system */
  const char *used, *cache[2];
  struct {
    const char *file, *name;
  } limit[2];
} version;

static const version versions[] = {
    {"cgroup",
     "/memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"},
     {{"/memory.limit_in_bytes", "the cgroup's limit of"}}},
    {"cgroup2",
     "/memory.current",
     {"inactive_file", "active_file"},
     {{"/memory.max", "the cgroup's limit of"}, {"/memory.high", "the cgroup's memory.high of"}}}};

static void of_group(const version *v, const char *folder, pz_memory *least) {
  int64_t used, cache = 0, limit;
  if (!read_number(folder, v->used, &used)) return;
  add_fields(open_below(folder, "/memory.stat"), v->cache, 2, &cache);
  if (cache > used) cache = used;
  for (int i = 0; i < 2; i++)
    if (v->limit[i].file && read_number(folder, v->limit[i].file, &limit) && limit < NO_LIMIT)
      lower(least, limit - (used - cache), v->limit[i].name, limit);
}

/* From the group up to the mount itself. What cannot be seen from inside a container is passed over. */
static void of_groups(const version *v, const char *root, const char *mount, const char *group,
                      pz_memory *least) {
  char path[PATH_TEXT];
  const int top = snprintf(path, sizeof path, "%s%s", root, mount);
  if (top >= (int)sizeof path ||
      snprintf(path + top, sizeof path - (size_t)top, "%s", group) >= (int)sizeof path - top)
    return;
  for (;;) {
    of_group(v, path, least);
    char *slash = strrchr(path + top, '/');
    if (!slash) return;
    *slash = 0;
  }
}

/* A name of the list, which has commas. */
static bool lists(const char *list, const char *name) {
  const size_t size = strlen(name);
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",\n") == size && !memcmp(at, name, size)) return true;
  return false;
}

/* The kernel writes blanks and the like in paths as \040. */
static void unescape(char *path) {
  char *to = path;
  for (const char *at = path; *at; to++) {
    const bool octal = at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
                       at[3] >= '0' && at[3] <= '7';
    *to = octal ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')) : *at;
    at += octal ? 4 : 1;
  }
  *to = 0;
}

typedef struct mount {
  char root[PATH_TEXT], point[PATH_TEXT];
} mount;

/* A line of mountinfo: id parent device root point options [optional ...] - type source superoptions. */
static bool is_mount_of(const version *v, const char *line, mount *m) {
  char type[64], options[1024];
  const char *end = strstr(line, " - ");
  if (!end || sscanf(end, " - %63s %*s %1023s", type, options) != 2 || strcmp(type, v->type)) return false;
  if (v == &versions[0] && !lists(options, "memory")) return false;
  if (sscanf(line, "%*s %*s %*s %4095s %4095s", m->root, m->point) != 2) return false;
  unescape(m->root), unescape(m->point);
  return true;
}

/* What of the group's path lies below the mount's root; "" where the mount does not have it: a container's view is of its own group. */
static const char *below_root(const mount *m, const char *group) {
  size_t size = strlen(m->root);
  if (size && m->root[size - 1] == '/') size--;
  if (strncmp(group, m->root, size) || (group[size] && group[size] != '/') || strstr(group, "/..")) return "";
  return group[size] == '/' && !group[size + 1] ? "" : group + size;
}

static void of_version(const version *v, const char *root, const char *group, pz_memory *least) {
  char line[LINE_TEXT];
  mount m;
  FILE *file = open_below(root, "/proc/self/mountinfo");
  while (file && fgets(line, sizeof line, file))
    if (is_mount_of(v, line, &m)) of_groups(v, root, m.point, below_root(&m, group), least);
  if (file) fclose(file);
}

/* A line of the process's groups is "id:controllers:/group"; version 2 has no controllers. */
static void of_all_groups(const char *root, pz_memory *least) {
  char line[LINE_TEXT];
  FILE *file = open_below(root, "/proc/self/cgroup");
  while (file && fgets(line, sizeof line, file)) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (!*++controllers) of_version(&versions[1], root, group, least);
    else if (lists(controllers, "memory")) of_version(&versions[0], root, group, least);
  }
  if (file) fclose(file);
}

/* ---- all of them ---- */

pz_memory pz_memory_there_in(const char *root, int64_t mapped) {
  pz_memory least = {.bytes = INT64_MAX, .whole = INT64_MAX, .limit = "no limit"};
  of_machine(root, &least);
  of_process(root, mapped, &least);
  of_all_groups(root, &least);
  return least;
}

pz_memory pz_memory_there(int64_t mapped) { return pz_memory_there_in("", mapped); }

bool pz_memory_allows(uint64_t bytes) {
  return bytes < PZ_MEMORY_LARGE || bytes <= (uint64_t)pz_memory_there(0).bytes;
}

pz_status pz_memory_ask(int64_t bytes, int64_t mapped, const char *what, pz_error *err) {
  const pz_memory there = pz_memory_there(mapped);
  if (bytes <= there.bytes) return PZ_OK;
  return pz_fail(err, PZ_ERROR_MEMORY, "%s needs %lld bytes of memory, %lld are there (%s)", what,
                 (long long)bytes, (long long)there.bytes, there.limit);
}

/* A file that is open takes about 2 MB of HDF5, less of others: the cache of metadata, buffers, lists of properties. */
enum { ROOM = 4 << 20 };

pz_status pz_memory_room(const char *library, pz_error *err) {
  void *room = malloc(ROOM);
  if (!room) return pz_fail_memory(err, library, ROOM);
  free(room);
  return PZ_OK;
}
