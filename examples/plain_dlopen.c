/* plain_dlopen.c: runs a network file without any library of pznet: dlopen and network_abi.h, on one thread.
 *
 *     cc plain_dlopen.c $(pkg-config --cflags pznet-runtime) -o plain_dlopen && ./plain_dlopen ./net.so */
#include <dlfcn.h>
#include <pznet/network_abi.h>
#include <stdio.h>
#include <stdlib.h>

static void *new_buffer(const pz_abi_port *port) {
  size_t n = 1;
  for (int32_t i = 0; i < port->rank; i++) n *= (size_t)port->dim[i];
  return calloc(n, sizeof(float));
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const pz_abi_entry entry = library ? (pz_abi_entry)dlsym(library, PZ_ABI_SYMBOL) : NULL;
  if (!entry) return fprintf(stderr, "usage: plain_dlopen ./NET.so\n"), 2;
  const pz_abi_network *net = entry();
  if (net->abi_version != PZ_ABI_VERSION || net->n_inputs != 1 || net->n_outputs != 1) return 3;
  if (net->inputs->type != PZ_ABI_F32 || net->outputs->type != PZ_ABI_F32 || net->state_bytes) return 3;

  float *in = new_buffer(net->inputs), *out = new_buffer(net->outputs);
  const size_t align = net->arena_align, bytes = net->arena_bytes + net->worker_bytes;
  void *arena = aligned_alloc(align, (bytes + align - 1) / align * align);
  const pz_abi_call call = {
      .arena = arena, .inputs = (const void *const[]){in}, .outputs = (void *const[]){out}};
  const int failed = !in || !out || !arena || net->run(&call);
  if (!failed) printf("%s: first number: %g\n", net->outputs->name, out[0]);
  free(arena), free(out), free(in), dlclose(library);
  return failed;
}
