/* memory.h: how much memory this process may still take, and what bounds it. */
#ifndef PZ_BASE_MEMORY_H
#define PZ_BASE_MEMORY_H

#include "base/status.h"
#include <stdint.h>

/* `bytes` may still be taken, of `whole`; `limit` is what bounds them, in words: "the cgroup's limit of 300 MiB". */
typedef struct pz_memory {
  int64_t bytes, whole;
  char limit[96];
} pz_memory;

/* The least of
 *   - what the machine has available (MemAvailable of /proc/meminfo, and free swap), no more than its memory;
 *   - the limits on address space and data (ulimit -v, -d), less what the process has of them;
 *   - the limits of the process's control groups and of all groups above them, versions 1 and 2 (memory.limit_in_bytes;
 *     memory.max and memory.high), less what is used there, page cache not counted: the system takes that back.
 * `mapped`: bytes that the process has allocated and not yet written to. They are of its address space already, but not of the
 * machine's used memory. */
pz_memory pz_memory_there(int64_t mapped);

/* The same of another tree than the machine's: `root` stands before /proc and all mounts. For tests. */
pz_memory pz_memory_there_in(const char *root, int64_t mapped);

/* False where so many bytes more are not there. What is not large is not looked at. */
#define PZ_MEMORY_LARGE ((uint64_t)16 << 20)
bool pz_memory_allows(uint64_t bytes);

/* PZ_ERROR_MEMORY, with both numbers and what bounds them, where `bytes` are not there for `what`: "running the network on its arrays". */
pz_status pz_memory_ask(int64_t bytes, int64_t mapped, const char *what, pz_error *err);

/* "1.5 GiB", "300 MiB", "12 KiB" */
#define PZ_MEMORY_TEXT 32
const char *pz_memory_text(int64_t bytes, char out[PZ_MEMORY_TEXT]);

/* Bytes of this process's memory that are resident now; 0: not known. */
int64_t pz_memory_resident(void);

/* Sums and products of sizes that stay at INT64_MAX instead of wrapping. */
static inline int64_t pz_plus(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}
static inline int64_t pz_times(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

/* Some libraries crash, whoever calls them, where an allocation of their own fails: HDF5 1.10 does, and libtiff 4.5 when it closes. So
 * there must be room for all that opening or creating a file takes before they are called: PZ_ERROR_MEMORY where there is not. */
pz_status pz_memory_room(const char *library, pz_error *err);

#endif
