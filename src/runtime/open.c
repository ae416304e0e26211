#include "base/memory.h"
#include "pznet/pznet.h"
#include "runtime/abi_check.h"
#include "runtime/library.h"
#include "runtime/manifest.h"
#include "runtime/private.h"
#include "runtime/seal.h"
#include "runtime/weights.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Everything that can be known before code of the file runs. */
static pz_status check_file(struct pz_net *net, const char *path, pz_weights_place *weights, pz_error *err) {
  pz_mapping file;
  pz_elf elf;
  char *manifest = NULL;
  PZ_TRY(pz_file_map(path, &file, err));
  pz_status status = pz_elf_open(&file, path, &elf, err);
  if (status == PZ_OK) status = pz_manifest_extract(net->arena, &elf, &manifest, err);
  if (status == PZ_OK) status = pz_elf_check_loadable(&elf, err);
  if (status == PZ_OK) status = pz_manifest_check(manifest, path, err);
  if (status == PZ_OK) status = pz_seal_check(&elf, err);
  if (status == PZ_OK) status = pz_weights_find(&elf, weights, err);
  pz_file_unmap(&file);
  net->manifest = manifest;
  return status;
}

static pz_status load(struct pz_net *net, const char *path, bool share_weights, pz_error *err) {
  struct stat st;
  pz_weights_place weights;
  bool first;
  if (stat(path, &st)) return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be opened: %m", path);
  PZ_TRY(check_file(net, path, &weights, err));
  PZ_TRY(pz_library_load(net->arena, path, &st, &net->library, &first, &net->abi, err));
  if (first && !share_weights) PZ_TRY(pz_weights_to_huge_pages(net->library, &weights, path, err));
  return pz_abi_check(net->abi, path, err);
}

/* Not touched here: the workers' first writes place the pages near them. */
static pz_status take_memory(struct pz_net *net, pz_error *err) {
  uint64_t workers = (uint64_t)pz_pool_threads(net->pool);
  uint64_t bytes = net->abi->arena_bytes + workers * net->abi->worker_bytes; /* at most 2^46 + 2^10 * 2^46 */
  size_t align = net->abi->arena_align < 64 ? 64 : net->abi->arena_align;
  if (bytes >= 2 * PZ_HUGE_PAGE && align < PZ_HUGE_PAGE) align = PZ_HUGE_PAGE;
  size_t whole = (bytes + align) / align * align;
  net->memory = pz_memory_allows(whole) ? aligned_alloc(align, whole) : NULL;
  if (!net->memory) return pz_fail_memory(err, "running the network", bytes);
  net->memory_bytes = (int64_t)bytes;
  if (align >= PZ_HUGE_PAGE) pz_huge_advise(net->memory, whole);
  return PZ_OK;
}

static pz_status prepare(struct pz_net *net, const char *path, const pz_net_options *options, pz_error *err) {
  net->more = PZ_NEW(net->arena, struct pz_net_private, 1);
  if (!net->more || !(net->more->path = pz_arena_strdup(net->arena, path)))
    return pz_fail_memory(err, path, sizeof *net->more);
  pthread_mutex_init(&net->more->one_run, NULL);
  PZ_TRY(load(net, net->more->path, options->share_weights, err));
  PZ_TRY(pz_pool_new(options->threads, !options->no_pin, &net->pool, err));
  pz_runtime_executor(net->pool, &net->more->executor);
  return take_memory(net, err);
}

const char *pz_runtime_path(const struct pz_net *net) { return net->more->path; }

pz_status pz_runtime_open(const char *path, const pz_net_options *options, struct pz_net **out,
                          pz_error *err) {
  static const pz_net_options defaults = PZ_NET_OPTIONS;
  *out = NULL;
  pz_arena *arena = pz_arena_new();
  struct pz_net *net = arena ? PZ_NEW(arena, struct pz_net, 1) : NULL;
  if (!net) {
    pz_arena_free(arena);
    return pz_fail_memory(err, path, sizeof *net);
  }
  net->arena = arena;
  pz_status status = prepare(net, path, options ? options : &defaults, err);
  if (status != PZ_OK) return pz_runtime_close(net), status;
  *out = net;
  return PZ_OK;
}

void pz_runtime_close(struct pz_net *net) {
  if (!net) return;
  pz_pool_free(net->pool);
  free(net->memory);
  if (net->library) dlclose(net->library);
  if (net->more) pthread_mutex_destroy(&net->more->one_run);
  pz_arena_free(net->arena);
}
