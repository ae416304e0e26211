/* A network file written by hand: output = SCALE * input * input + 1, of shape 1x1x5x7, by way of the arena and of a
 * barrier. Compiled several times, with the defects that the definitions ask for. */
#include "pznet/network_abi.h"
#include <stddef.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

#ifndef SCALE
#define SCALE 2
#endif
#ifndef MANIFEST_ABI
#define MANIFEST_ABI 2
#endif
#ifndef MANIFEST_ISA
#define MANIFEST_ISA sse4
#endif
#ifndef STRUCT_ABI
#define STRUCT_ABI PZ_ABI_VERSION
#endif
#ifndef STRUCT_BYTES
#define STRUCT_BYTES sizeof(pz_abi_network)
#endif
#ifndef RESULT
#define RESULT 0
#endif
#if defined(MANIFEST_IS_NOT_JSON)
#define MANIFEST "{,"
#elif defined(MANIFEST_IS_EMPTY)
#define MANIFEST ""
#else
#define MANIFEST                                                                                             \
  "{\\\"file_checksum\\\": \\\"0000000000000000\\\", \\\"pznet_version\\\": \\\"0.0.9\\\", "                 \
  "\\\"abi_version\\\": " TEXT(MANIFEST_ABI) ", \\\"isa\\\": \\\"" TEXT(MANIFEST_ISA) "\\\"" VARIANTS_TEXT   \
                                                                                      "}"
#endif

/* VARIANTS: two. The second needs VARIANTS' instruction set, has the factor 5, and reads the second half of the weights. */
#ifdef VARIANTS
#define Q "\\\""
#define VARIANTS_TEXT                                                                                        \
  ", " Q "target" Q ": " Q "weak" Q ", " Q "variants" Q ": [{" Q "symbol" Q ": " Q "pz_network" Q ", " Q     \
  "isa" Q ": " Q "sse4" Q ", " Q "target" Q ": " Q "weak" Q ", " Q "weights" Q ": [[0, 3670016]]}, {" Q      \
  "symbol" Q ": " Q "pz_network_1" Q ", " Q "isa" Q ": " Q                                                   \
  TEXT(VARIANTS) Q ", " Q "target" Q ": " Q "strong" Q ", " Q "weights" Q ": [[3670016, 7340032]], " Q       \
                   "manifest" Q ": {" Q "isa" Q ": " Q                                                       \
                   TEXT(VARIANTS) Q ", " Q "target" Q ": " Q "strong" Q "}}]"
#else
#define VARIANTS_TEXT ""
#endif

#ifndef NO_MANIFEST
__asm__(".section .pznet.manifest,\"\",@progbits\n.ascii \"" MANIFEST "\"\n.byte 0\n.previous\n");
#endif

/* WEIGHTS: 7 MiB of them, all SCALE. */
#ifdef WEIGHTS
extern const float weights[7 << 18] __attribute__((visibility("hidden")));
__asm__(".section .pznet.weights,\"a\",@progbits\n.balign 4096\n.global weights\n.hidden weights\nweights:\n"
        ".rept 7 << 18\n.float " TEXT(SCALE) "\n.endr\n.previous\n");
#ifdef VARIANTS /* of the first half; the other halves are SCALE as well, and nothing where they were left out */
#define FACTOR(i) weights[((7 << 17) - 1) / N * (i)]
#else
#define FACTOR(i) weights[((7 << 18) - 1) / N * (i)]
#endif
#else
#define FACTOR(i) SCALE
#endif

#define N 35
static const pz_abi_port input = {"data", PZ_ABI_F32, 4, {1, 1, 5, 7}, 1, 0},
                         output = {"prob", PZ_ABI_F32, 4, {1, 1, 5, 7}, 1, 0};
static const pz_abi_tensor tensors[] = {
    {"square", PZ_ABI_F32, 4, {1, 1, 5, 7}, 1, 0, PZ_ABI_ARENA, 0, 1, 0, 4 * N, 4 * N, 4 * N, 28, 4},
    {"prob", PZ_ABI_F32, 4, {1, 1, 5, 7}, 1, 0, PZ_ABI_OUTPUT, 0, 1, 0, 4 * N, 4 * N, 4 * N, 28, 4},
};
static const int32_t needs[] = {0};
static const pz_abi_step steps[] = {
    {"square", "power", "by hand", N, 2 * N * sizeof(float), 0, 0, needs},
    {"prob", "power", "by hand", 0, 2 * N * sizeof(float), 1, 1, needs},
};

/* STATE: what the run before had as its input is added. */
#ifdef STATE
#define STATE_BYTES (N * sizeof(float))
static float before(const pz_abi_call *call, int i) {
  float *state = call->state, value = state[i];
  state[i] = ((const float *)call->inputs[0])[i];
  return value;
}
#else
#define STATE_BYTES 0
static float before(const pz_abi_call *call, int i) { return (void)call, (void)i, 0.0f; }
#endif

/* Each worker takes a share, and reads what the others wrote. */
static void work(void *arg, int32_t worker) {
  const pz_abi_call *call = arg;
  const pz_abi_executor *ex = call->executor;
  int32_t workers = ex ? ex->workers : 1;
  float *square = call->arena;
  char *scratch = (char *)call->arena + N * sizeof(float) + 64 * (size_t)worker;
  for (int i = 0; i < 64; i++) scratch[i] = (char)worker;
  const float *in = call->inputs[0];
  float *out = call->outputs[0];
  for (int i = worker; i < N; i += workers) square[i] = in[i] * in[i];
  if (ex) ex->barrier(ex->host, worker);
  if (worker == 0 && call->step_ns) call->step_ns[0] += 3000;
  if (worker == 0 && call->observe) call->observe(call->observe_host, 0);
  for (int i = worker; i < N; i += workers)
    out[N - 1 - i] = FACTOR(N - 1 - i) * square[N - 1 - i] + 1 + before(call, N - 1 - i);
  for (int i = 0; i < 64; i++)
    if (scratch[i] != (char)worker) out[0] = -1;
  if (worker == 0 && call->step_ns) call->step_ns[1] += 5000 + (int64_t)in[0];
}

static int32_t run(const pz_abi_call *call) {
  if (call->executor) call->executor->run(call->executor->host, work, (void *)(uintptr_t)call);
  else work((void *)(uintptr_t)call, 0);
  return RESULT;
}

static const pz_abi_network network = {
    .abi_version = STRUCT_ABI,
    .struct_bytes = STRUCT_BYTES,
    .port_bytes = sizeof(pz_abi_port),
    .tensor_bytes = sizeof(pz_abi_tensor),
    .step_bytes = sizeof(pz_abi_step),
    .call_bytes = sizeof(pz_abi_call),
    .arena_bytes = N * sizeof(float),
    .worker_bytes = 64,
    .arena_align = 64,
    .state_bytes = STATE_BYTES,
    .state_align = STATE_BYTES ? 128 : 0,
    .n_inputs = 1,
    .n_outputs = 1,
    .n_tensors = 2,
    .n_steps = 2,
    .inputs = &input,
    .outputs = &output,
    .tensors = tensors,
    .steps = steps,
    .run = run,
};

#ifdef MISSING_SYMBOL
int a_function_that_is_nowhere(void);
#endif

const pz_abi_network *pz_network(void);
#ifdef OTHER_NAME
#define pz_network pz_other_name
const pz_abi_network *pz_network(void);
#endif
__attribute__((visibility("default"))) const pz_abi_network *pz_network(void) {
#ifdef MISSING_SYMBOL
  if (a_function_that_is_nowhere()) return NULL;
#endif
#ifdef DESCRIBES_NOTHING
  return NULL;
#endif
  return &network;
}

#ifdef VARIANTS
static void strong_work(void *arg, int32_t worker) {
  const pz_abi_call *call = arg;
  const float *in = call->inputs[0], *strong = weights + (7 << 17);
  for (int i = 0; worker == 0 && i < N; i++)
    ((float *)call->outputs[0])[i] = 5 * strong[((7 << 17) - 1) / N * i] / SCALE * in[i] * in[i] + 1;
}
static int32_t strong_run(const pz_abi_call *call) {
  if (call->executor) call->executor->run(call->executor->host, strong_work, (void *)(uintptr_t)call);
  else strong_work((void *)(uintptr_t)call, 0);
  return 0;
}
const pz_abi_network *pz_network_1(void);
__attribute__((visibility("default"))) const pz_abi_network *pz_network_1(void) {
  static pz_abi_network strong;
  strong = network;
  strong.run = strong_run;
  return &strong;
}
#endif
