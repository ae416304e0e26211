#include "base/memory.h"
#include "base/clock.h"
#include "pznet/pznet.h"
#include "runtime/abi_check.h"
#include "runtime/identity.h"
#include "runtime/library.h"
#include "runtime/manifest.h"
#include "runtime/private.h"
#include "runtime/file_checksum.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a network file is opened. */
typedef struct pz_opening {
  bool shared;        /* its pages are mapped */
  bool unfinished;    /* it needs no checksum */
  const char *digest; /* that it must have, in lower case, or NULL */
  pz_mask mask;       /* of its variants */
} pz_opening;

static pz_status check_bytes(struct pz_net *net, pz_image *image, const pz_opening *how, pz_error *err) {
  char digest[PZ_DIGEST_TEXT];
  PZ_TRY(pz_file_checksum_check(image, how->unfinished, how->digest ? digest : NULL, err));
  if (!how->digest) return PZ_OK;
  memcpy(net->more->digest, digest, sizeof digest);
  return pz_identity_compare(digest, how->digest, image->path, err);
}

/* Everything that can be known before code of the file runs. */
static pz_status check_image(struct pz_net *net, pz_image *image, const pz_opening *how, pz_variant *variant,
                             pz_error *err) {
  char *text;
  PZ_TRY(pz_manifest_extract(net->arena, &image->elf, &text, err));
  PZ_TRY(pz_elf_check_loadable(&image->elf, err));
  PZ_TRY(pz_manifest_check(net->arena, text, image->path, &how->mask, variant, &net->manifest, err));
  net->more->exact = variant->exact;
  if (!variant->reads_all) PZ_TRY(pz_image_keep(image, variant->weights, variant->n_weights, err));
  return check_bytes(net, image, how, err);
}

static pz_status load(struct pz_net *net, const pz_opening *how, pz_error *err) {
  struct pz_net_private *more = net->more;
  pz_library library = {.file = -1};
  pz_variant variant;
  pz_image image;
  PZ_TRY(pz_image_open(more->path, how->shared, &image, err));
  more->info = image.info, more->shared = how->shared, more->weights = image.weights;
  pz_status status = check_image(net, &image, how, &variant, err);
  if (status == PZ_OK)
    status = (how->shared ? pz_library_load_shared : pz_library_load_copy)(net->arena, &image, variant.symbol,
                                                                           &library, err);
  more->kept = image.kept;
  if (image.kept.stretches)
    more->source = image.file, image.file = -1; /* for a digest that is asked for later */
  pz_image_close(&image);
  net->library = library.handle, net->abi = library.abi, more->file = library.file;
  return status == PZ_OK ? pz_abi_check(net->abi, more->path, err) : status;
}

static pz_status take_state(struct pz_net *net, pz_error *err) {
  const size_t bytes = (size_t)net->abi->state_bytes,
               align = net->abi->state_align < 64 ? 64 : net->abi->state_align;
  if (!bytes) return PZ_OK;
  const size_t whole = (bytes + align - 1) / align * align;
  net->state = pz_memory_allows(whole) ? aligned_alloc(align, whole) : NULL;
  if (!net->state) return pz_fail_memory(err, "the network's state", bytes);
  memset(net->state, 0, whole);
  net->memory_bytes += (int64_t)bytes;
  return PZ_OK;
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
  return take_state(net, err);
}

static pz_status take_digest(pz_arena *arena, const char *given, const char **digest, pz_error *err) {
  char lower[PZ_DIGEST_TEXT];
  *digest = NULL;
  if (!given) return PZ_OK;
  PZ_TRY(pz_identity_parse(given, lower, err));
  *digest = pz_arena_strdup(arena, lower);
  return *digest ? PZ_OK : pz_fail_memory(err, "a digest", sizeof lower);
}

static pz_status prepare(struct pz_net *net, const char *path, const pz_net_options *options, bool unfinished,
                         pz_error *err) {
  pz_opening how = {.shared = options->share_weights, .unfinished = unfinished};
  if (options->target) how.mask = (pz_mask){options->target, "target"};
  else if (!unfinished) how.mask = pz_mask_of_environment();
  net->more = PZ_NEW(net->arena, struct pz_net_private, 1);
  if (!net->more || !(net->more->path = pz_arena_strdup(net->arena, path)))
    return pz_fail_memory(err, path, sizeof *net->more);
  net->more->file = net->more->source = -1;
  pthread_mutex_init(&net->more->one_run, NULL);
  PZ_TRY(take_digest(net->arena, options->digest, &how.digest, err));
  PZ_TRY(load(net, &how, err));
  PZ_TRY(pz_pool_new(options->threads, !options->no_pin, &net->pool, err));
  pz_runtime_executor(net->pool, &net->more->executor);
  return take_memory(net, err);
}

const char *pz_runtime_path(const struct pz_net *net) { return net->more->path; }
int64_t pz_runtime_file_bytes(const struct pz_net *net) { return (int64_t)net->more->info.st_size; }

static pz_status open_net(const char *path, const pz_net_options *options, bool unfinished,
                          struct pz_net **out, pz_error *err) {
  static const pz_net_options defaults = PZ_NET_OPTIONS;
  *out = NULL;
  pz_arena *arena = pz_arena_new();
  struct pz_net *net = arena ? PZ_NEW(arena, struct pz_net, 1) : NULL;
  if (!net) {
    pz_arena_free(arena);
    return pz_fail_memory(err, path, sizeof *net);
  }
  const double start = pz_now();
  net->arena = arena;
  pz_status status = prepare(net, path, options ? options : &defaults, unfinished, err);
  if (status != PZ_OK) return pz_runtime_close(net), status;
  net->open_seconds = pz_now() - start;
  *out = net;
  return PZ_OK;
}

pz_status pz_runtime_open(const char *path, const pz_net_options *options, struct pz_net **net,
                          pz_error *err) {
  return open_net(path, options, false, net, err);
}

pz_status pz_runtime_open_unfinished(const char *path, const pz_net_options *options, struct pz_net **net,
                                     pz_error *err) {
  return open_net(path, options, true, net, err);
}

void pz_runtime_close(struct pz_net *net) {
  if (!net) return;
  pz_pool_free(net->pool);
  free(net->memory);
  free(net->state);
  if (net->library) dlclose(net->library);
  if (net->more && net->more->file >= 0) close(net->more->file);
  if (net->more && net->more->source >= 0) close(net->more->source);
  if (net->more) pthread_mutex_destroy(&net->more->one_run);
  pz_arena_free(net->arena);
}
