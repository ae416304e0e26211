/* abi_check.h: a network's description of itself, before anything relies on it. */
#ifndef PZ_RUNTIME_ABI_CHECK_H
#define PZ_RUNTIME_ABI_CHECK_H

#include "base/status.h"
#include "pznet/network_abi.h"

/* Counts, ranks, sizes and offsets are in their bounds, products do not overflow, every tensor lies inside its space.
 * Pointers can only be checked for NULL. */
pz_status pz_abi_check(const pz_abi_network *network, const char *path, pz_error *err);

/* Of an element; 0: there is no such type. */
int64_t pz_abi_type_bytes(int32_t type);

/* Of a port that was checked. */
int64_t pz_abi_port_elements(const pz_abi_port *port);
int64_t pz_abi_port_bytes(const pz_abi_port *port);

#endif
