/* runtime.h: a network file, opened. The public pz_net_* functions are thin shells around this. */
#ifndef PZ_RUNTIME_RUNTIME_H
#define PZ_RUNTIME_RUNTIME_H

#include "base/arena.h"
#include "base/pool.h"
#include "base/status.h"
#include "pznet/network_abi.h"

/* Reads a network file without loading it: its manifest, and its SHA-256 in hexadecimal digits. Everything in the file is hostile:
 * bounds are checked, and its checksum. *json and *digest are NUL-terminated in the arena. The size of the section is at most
 * 64 MiB. */
pz_status pz_manifest_read(pz_arena *arena, const char *path, char **json, char **digest, pz_error *err);

struct pz_net { /* opaque to users of the public header */
  pz_arena *arena;
  void *library; /* dlopen handle */
  const pz_abi_network *abi;
  const char *manifest;
  pz_pool *pool;
  void *memory;         /* the run arena, as large as abi says */
  void *state;          /* NULL where the network has none */
  int64_t memory_bytes; /* of both */
  double open_seconds;  /* what opening took */
  struct pz_net_private *more;
};

pz_status pz_runtime_open(const char *path, const struct pz_net_options *options, struct pz_net **net,
                          pz_error *err);
/* Also a file without a checksum: one that this process has just made, and will give its checksum (file_checksum.h) when it is finished. */
pz_status pz_runtime_open_unfinished(const char *path, const struct pz_net_options *options,
                                     struct pz_net **net, pz_error *err);
void pz_runtime_close(struct pz_net *net);
/* Asks for the memory of all inputs and outputs, and of the arena where it was not written to yet. */
pz_status pz_runtime_ask(const struct pz_net *net, pz_error *err);
const char *pz_runtime_path(const struct pz_net *net);   /* as it was opened */
int64_t pz_runtime_file_bytes(const struct pz_net *net); /* the file's size then */

/* SHA-256 of the file that was opened, in hexadecimal digits, whatever lies at its path now. Computed once, when it is first asked
 * for; *digest lives as long as the net. */
pz_status pz_runtime_digest(struct pz_net *net, const char **digest, pz_error *err);
/* Fails where the net's digest is not `wanted` (as the user gave it), or `wanted` is none. */
pz_status pz_runtime_check_digest(struct pz_net *net, const char *wanted, pz_error *err);
/* call.arena, call.state and call.executor are filled in here; inputs, outputs and the hooks come from the caller. */
pz_status pz_runtime_run(struct pz_net *net, pz_abi_call *call, pz_error *err);

/* Zeroes the state, when no run is in progress. */
void pz_runtime_reset(struct pz_net *net);

/* The public functions' shared shell: keeps err's message for pz_last_message and gives its status. */
pz_status pz_public_status(const pz_error *err);

#endif
