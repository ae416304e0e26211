#include "runtime/identity.h"
#include "runtime/image.h"
#include "runtime/private.h"
#include <ctype.h>
#include <errno.h>
#include <link.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pz_status pz_identity_parse(const char *given, char out[PZ_DIGEST_TEXT], pz_error *err) {
  size_t n = 0;
  for (; n < PZ_DIGEST_TEXT - 1 && isxdigit((unsigned char)given[n]); n++)
    out[n] = (char)tolower((unsigned char)given[n]);
  out[n] = 0;
  if (n == PZ_DIGEST_TEXT - 1 && !given[n]) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "the digest has %zu characters or others than hexadecimal digits; expected the %d "
                 "digits of a SHA-256, as pznet inspect and sha256sum print it",
                 strlen(given), PZ_DIGEST_TEXT - 1);
}

pz_status pz_identity_compare(const char *has, const char *wanted, const char *path, pz_error *err) {
  if (!strcmp(has, wanted)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: has the SHA-256 %s, not %s: it is another file than the one asked for", path, has,
                 wanted);
}

/* ---- of an open network ---- */

enum { PIECE = 256 << 10 };

static pz_status add_range(const struct pz_net_private *more, int file, uint64_t at, uint64_t end,
                           char *buffer, pz_digest *digest, pz_error *err) {
  while (at < end) {
    const ssize_t n = pread(file, buffer, end - at < PIECE ? end - at : PIECE, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be read: %m", more->path);
    if (n == 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: became shorter while it was open", more->path);
    pz_digest_add(digest, buffer, (size_t)n);
    at += (uint64_t)n;
  }
  return PZ_OK;
}

/* Those that are kept are in the library. */
static pz_status add_weights(const struct pz_net_private *more, const char *weights, char *buffer,
                             pz_digest *digest, pz_error *err) {
  const uint64_t begin = more->weights.offset, behind = begin + more->weights.bytes;
  for (uint64_t at = begin, end; at < behind; at = end) {
    end = behind;
    if (pz_weights_kept(&more->kept, at, &end)) pz_digest_add(digest, weights + (at - begin), end - at);
    else PZ_TRY(add_range(more, more->source, at, end, buffer, digest, err));
  }
  return PZ_OK;
}

/* The file's bytes from where they are now. */
static pz_status add_all(const struct pz_net *net, char *buffer, pz_digest *digest, pz_error *err) {
  const struct pz_net_private *more = net->more;
  const uint64_t size = (uint64_t)more->info.st_size, begin = more->weights.offset,
                 bytes = more->weights.bytes;
  struct link_map *map;
  if (more->shared || !bytes) return add_range(more, more->file, 0, size, buffer, digest, err);
  if (dlinfo(net->library, RTLD_DI_LINKMAP, &map))
    return pz_fail(err, PZ_ERROR_RUN, "%s: %s", more->path, dlerror());
  PZ_TRY(add_range(more, more->file, 0, begin, buffer, digest, err));
  PZ_TRY(add_weights(more, (const char *)map->l_addr + more->weights.address, buffer, digest, err));
  return add_range(more, more->file, begin + bytes, size, buffer, digest, err);
}

/* What is not in memory must still be as it was when it was summed. */
static pz_status check_source(const struct pz_net_private *more, pz_error *err) {
  struct stat now;
  if (more->source < 0 || (!fstat(more->source, &now) && pz_image_same_file(&more->info, &now))) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: was written to while it was open, and what this machine's variant does not read of it is "
      "not kept: its SHA-256 cannot be told any more; open it again",
      more->path);
}

static pz_status compute(struct pz_net *net, pz_error *err) {
  char *buffer = malloc(PIECE), text[PZ_DIGEST_TEXT];
  if (!buffer) return pz_fail_memory(err, "a digest", PIECE);
  pz_digest digest;
  pz_digest_begin(&digest);
  pz_status status = add_all(net, buffer, &digest, err);
  free(buffer);
  if (status == PZ_OK) status = pz_runtime_check_file(net, err);
  if (status == PZ_OK) status = check_source(net->more, err);
  pz_digest_end_text(&digest, text);
  if (status == PZ_OK) memcpy(net->more->digest, text, sizeof text);
  return status;
}

pz_status pz_runtime_digest(struct pz_net *net, const char **digest, pz_error *err) {
  pthread_mutex_lock(&net->more->one_run);
  const pz_status status = net->more->digest[0] ? PZ_OK : compute(net, err);
  pthread_mutex_unlock(&net->more->one_run);
  *digest = net->more->digest;
  return status;
}

pz_status pz_runtime_check_digest(struct pz_net *net, const char *wanted, pz_error *err) {
  char lower[PZ_DIGEST_TEXT];
  const char *has;
  PZ_TRY(pz_identity_parse(wanted, lower, err));
  PZ_TRY(pz_runtime_digest(net, &has, err));
  return pz_identity_compare(has, lower, net->more->path, err);
}
