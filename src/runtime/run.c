#include "base/memory.h"
#include "runtime/abi_check.h"
#include "runtime/float_state.h"
#include "runtime/image.h"
#include "runtime/private.h"
#include <string.h>

typedef struct task {
  void (*function)(void *arg, int32_t worker);
  void *arg;
} task;

static void run_task(void *arg, int32_t worker) {
  const task *t = arg;
  pz_float_state before = pz_float_enter();
  t->function(t->arg, worker);
  pz_float_leave(before);
}

static void executor_run(void *host, void (*function)(void *arg, int32_t worker), void *arg) {
  pz_pool_run(host, run_task, &(task){function, arg});
}

static void executor_barrier(void *host, int32_t worker) { pz_pool_barrier(host, worker); }

void pz_runtime_executor(pz_pool *pool, pz_abi_executor *executor) {
  *executor = (pz_abi_executor){
      .host = pool, .workers = pz_pool_threads(pool), .run = executor_run, .barrier = executor_barrier};
}

static int64_t bytes_of_ports(const pz_abi_port *ports, int32_t n) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t of_port = pz_abi_type_bytes(ports[i].type);
    for (int32_t k = 0; k < ports[i].rank; k++) of_port = pz_times(of_port, ports[i].dim[k]);
    bytes = pz_plus(bytes, of_port);
  }
  return bytes;
}

pz_status pz_runtime_ask(const struct pz_net *net, pz_error *err) {
  const int64_t resident = pz_memory_resident(),
                untouched = net->memory_bytes > resident ? net->memory_bytes - resident : 0,
                ports = pz_plus(bytes_of_ports(net->abi->inputs, net->abi->n_inputs),
                                bytes_of_ports(net->abi->outputs, net->abi->n_outputs));
  if (pz_plus(ports, untouched) < (int64_t)PZ_MEMORY_LARGE) return PZ_OK;
  return pz_memory_ask(pz_plus(ports, untouched), untouched, net->more->path, err);
}

pz_status pz_runtime_check_file(const struct pz_net *net, pz_error *err) {
  const struct pz_net_private *more = net->more;
  struct stat now;
  if (!more->shared || (fstat(more->file, &now) == 0 && pz_image_same_file(&more->info, &now))) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: was written to while it was open and shared: close it and open it again", more->path);
}

void pz_runtime_reset(struct pz_net *net) {
  pthread_mutex_lock(&net->more->one_run);
  if (net->state) memset(net->state, 0, (size_t)net->abi->state_bytes);
  pthread_mutex_unlock(&net->more->one_run);
}

static int32_t run_locked(struct pz_net *net, pz_abi_call *call) {
  call->arena = net->memory;
  call->state = net->state;
  call->executor = &net->more->executor;
  pthread_mutex_lock(&net->more->one_run);
  const int32_t result = net->abi->run(call);
  pthread_mutex_unlock(&net->more->one_run);
  return result;
}

pz_status pz_runtime_run(struct pz_net *net, pz_abi_call *call, pz_error *err) {
  if (!pz_pool_usable(net->pool))
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s: was opened by the process that this one was forked from: open it here",
                   net->more->path);
  PZ_TRY(pz_runtime_check_file(net, err));
  const int32_t result = run_locked(net, call);
  PZ_TRY(pz_runtime_check_file(net, err));
  if (result == 0) return PZ_OK;
  if (result == PZ_ABI_NO_TILES)
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s: the system does not let this process use AMX: compile it again with --isa avx512",
                   net->more->path);
  return pz_fail(err, PZ_ERROR_RUN, "%s: the network failed with %d: compile it again", net->more->path,
                 (int)result);
}
