#include "api/need.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#define COMPILER                                                                                             \
  (INT64_C(64) << 20) /* what a C compiler takes at least of a file of kernels (doc/memory-limits.md) */
#define SOURCE (INT64_C(8) << 20) /* generated C, kernels' headers and objects of a small network */
#define TMPFS  0x01021994         /* of statfs: the files are memory */
enum {
  COPIES = 3
}; /* of the weights, on the disk: as the C names them, in the object, in the network file */

static int64_t bytes_of_ports(const pz_graph *g, const pz_tensor_id *ids, int32_t n) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < n; i++)
    bytes = pz_plus(bytes, pz_times(pz_dtype_bytes(g->tensors[ids[i]].type),
                                    pz_shape_elements(&g->tensors[ids[i]].shape)));
  return bytes;
}

int64_t pz_need_files(const pz_plan *p) { return pz_plus(SOURCE, pz_times(COPIES, p->weight_bytes)); }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

pz_need pz_need_of(const pz_plan *p) {
  const int64_t weights = most(p->weight_bytes, p->most_weight_bytes);
  struct statfs where;
  pz_need need = {.weights = weights, .compiler = pz_plus(COMPILER, weights)};
  if (!statfs(pz_temporary_parent(), &where) && where.f_type == TMPFS) need.files = pz_need_files(p);
  int64_t later = need.compiler;
  if (pz_target_runs_here(
          &p->target)) { /* it is run once: the self-test. Both hold the plan's weights beside their own */
    need.activations = pz_plus(p->arena_bytes, pz_times(p->worker_bytes, pz_cpu_usable()));
    need.ports = pz_plus(bytes_of_ports(p->graph, p->graph->inputs, p->graph->n_inputs),
                         bytes_of_ports(p->graph, p->graph->outputs, p->graph->n_outputs));
    const int64_t run = pz_plus(weights, pz_plus(need.activations, need.ports));
    need.runs = run > later;
    if (need.runs) need.weights = pz_plus(weights, weights), later = run;
  }
  need.total = pz_plus(pz_plus(weights, need.files), later);
  return need;
}

/* ---- disks ---- */

/* The nearest folder above that is there. */
static bool find_disk(const char *path, struct statvfs *disk) {
  char folder[4096];
  if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder) return false;
  while (statvfs(folder, disk)) {
    char *slash = strrchr(folder, '/');
    if (!slash) return statvfs(".", disk) == 0;
    slash[slash == folder] = 0;
    if (slash == folder && statvfs("/", disk)) return false;
  }
  return true;
}

pz_status pz_check_disk(const char *path, int64_t bytes, const char *what, pz_error *err) {
  struct statvfs disk;
  if (!find_disk(path, &disk) || !disk.f_blocks) return PZ_OK; /* nobody knows */
  const int64_t free_bytes = pz_times((int64_t)disk.f_bavail, (int64_t)disk.f_frsize);
  if (free_bytes >= bytes) return PZ_OK;
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s need %lld bytes on this disk, %lld are free", path, what,
                 (long long)bytes, (long long)free_bytes);
}

/* ---- what is refused ---- */

static pz_status too_large(const char *model, const pz_need *n, const pz_memory *there, pz_error *err) {
  char files[64] = "";
  if (n->files) snprintf(files, sizeof files, ", files in TMPDIR %lld", (long long)n->files);
  if (!n->runs)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: compiling the network needs %lld bytes of memory (weights %lld, the C compiler "
                   "%lld%s), %lld are there (%s)",
                   model, (long long)n->total, (long long)n->weights, (long long)n->compiler, files,
                   (long long)there->bytes, there->limit);
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: running the network needs %lld bytes of memory (activations %lld, weights %lld, inputs and "
      "outputs %lld%s), %lld are there (%s): make its input smaller with --input",
      model, (long long)n->total, (long long)n->activations, (long long)n->weights, (long long)n->ports,
      files, (long long)there->bytes, there->limit);
}

pz_status pz_admit_plan(void *host, const pz_plan *plan, pz_error *err) {
  const int64_t everywhere = INT64_C(1) << 46; /* what opening refuses everywhere */
  const pz_need need = pz_need_of(plan);
  pz_memory there = pz_memory_there(0);
  if (there.bytes > everywhere) there = (pz_memory){everywhere, everywhere, "what any network may take"};
  if (need.total > there.bytes) return too_large(host, &need, &there, err);
  return pz_check_disk(pz_temporary_parent(), pz_need_files(plan),
                       "the C compiler's files (TMPDIR names another folder)", err);
}

bool pz_need_is_there(int64_t bytes, const char *work, char *why, size_t size) {
  const pz_memory there = pz_memory_there(0);
  if (bytes <= there.bytes) return true;
  if (why)
    snprintf(why, size, "%s needs %lld bytes of memory, %lld are there (%s)", work, (long long)bytes,
             (long long)there.bytes, there.limit);
  return false;
}
