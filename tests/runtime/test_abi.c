/* A network's description with one thing wrong at a time. */
#include "unit.h"
#include "runtime/abi_check.h"
#include <math.h>
#include <string.h>

typedef struct fixture {
  pz_abi_network net;
  pz_abi_port in, out;
  pz_abi_tensor tensor[2];
  int32_t needs[3];
  pz_abi_step step[4];
} fixture;

static int32_t run(const pz_abi_call *call) { return (void)call, 0; }

/* Tensor 0: 1x20x2x3x4 in blocks of 8 in an arena that just holds it; tensor 1: the output itself. */
static void sound(fixture *f) {
  memset(f, 0, sizeof *f);
  f->in = (pz_abi_port){"in", PZ_ABI_U8, 5, {1, 1, 2, 3, 4}, 0.5f, 128};
  f->out = (pz_abi_port){"out", PZ_ABI_F32, 5, {1, 2, 2, 3, 4}, 1, 0};
  f->tensor[0] = (pz_abi_tensor){
      "t", PZ_ABI_F32, 5, {1, 20, 2, 3, 4}, 1, 0, PZ_ABI_ARENA, 0, 8, 64, 2304, 768, 384, 128, 32};
  f->tensor[1] = (pz_abi_tensor){"out", PZ_ABI_F32, 5, {1, 2, 2, 3, 4}, 1, 0, PZ_ABI_OUTPUT, 0, 1, 0, 192, 96,
                                 48,    16,         4};
  f->needs[1] = 1, f->needs[2] = 2;
  for (int i = 0; i < 4; i++) f->step[i] = (pz_abi_step){"s", "conv", "direct", 10, 20, 1, i, f->needs};
  f->net = (pz_abi_network){.abi_version = PZ_ABI_VERSION,
                            .struct_bytes = sizeof f->net,
                            .port_bytes = sizeof(pz_abi_port),
                            .tensor_bytes = sizeof(pz_abi_tensor),
                            .step_bytes = sizeof(pz_abi_step),
                            .call_bytes = sizeof(pz_abi_call),
                            .arena_bytes = (16 + 576) * 4,
                            .worker_bytes = 64,
                            .arena_align = 64,
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .n_tensors = 2,
                            .n_steps = 4,
                            .inputs = &f->in,
                            .outputs = &f->out,
                            .tensors = f->tensor,
                            .steps = f->step,
                            .run = run};
}

/* CASE(what the message says, the damage) */
#define CASES                                                                                                \
  CASE("has network ABI 1", f->net.abi_version = 1)                                                          \
  CASE("has network ABI 3", f->net.abi_version = 3)                                                          \
  CASE("its structs are not", f->net.struct_bytes--)                                                         \
  CASE("its structs are not", f->net.port_bytes++)                                                           \
  CASE("its structs are not", f->net.tensor_bytes = 0)                                                       \
  CASE("its structs are not", f->net.step_bytes++)                                                           \
  CASE("its structs are not", f->net.call_bytes--)                                                           \
  CASE("sizes or counts", f->net.run = NULL)                                                                 \
  CASE("sizes or counts", f->net.arena_bytes = UINT64_MAX)                                                   \
  CASE("sizes or counts", f->net.worker_bytes = UINT64_C(1) << 50)                                           \
  CASE("sizes or counts", f->net.arena_align = 0)                                                            \
  CASE("sizes or counts", f->net.arena_align = 48)                                                           \
  CASE("sizes or counts", f->net.arena_align = UINT64_C(1) << 40)                                            \
  CASE("sizes or counts", f->net.state_bytes = UINT64_MAX)                                                   \
  CASE("sizes or counts", f->net.state_bytes = 64)                                                           \
  CASE("sizes or counts", (f->net.state_bytes = 64, f->net.state_align = 96))                                \
  CASE("sizes or counts", f->net.n_inputs = 0)                                                               \
  CASE("sizes or counts", f->net.n_inputs = -1)                                                              \
  CASE("sizes or counts", f->net.n_outputs = INT32_MAX)                                                      \
  CASE("sizes or counts", f->net.inputs = NULL)                                                              \
  CASE("sizes or counts", f->net.outputs = NULL)                                                             \
  CASE("sizes or counts", f->net.n_tensors = INT32_MIN)                                                      \
  CASE("sizes or counts", f->net.n_steps = INT32_MAX)                                                        \
  CASE("sizes or counts", f->net.steps = NULL)                                                               \
  CASE("input 0", f->in.name = NULL)                                                                         \
  CASE("input 0", f->in.rank = -1)                                                                           \
  CASE("input 0", f->in.rank = 6)                                                                            \
  CASE("input 0", f->in.dim[0] = 0)                                                                          \
  CASE("input 0", f->in.dim[4] = -4)                                                                         \
  CASE("input 0", f->in.dim[4] = INT64_MAX)                                                                  \
  CASE("input 0", f->in.type = PZ_ABI_TYPES)                                                                 \
  CASE("input 0", f->in.type = -1)                                                                           \
  CASE("input 0", f->in.scale = 0)                                                                           \
  CASE("input 0", f->in.scale = -1)                                                                          \
  CASE("input 0", f->in.scale = INFINITY)                                                                    \
  CASE("input 0", f->in.scale = NAN)                                                                         \
  CASE("input 0", f->in.zero_point = 256)    /* no element of u8 */                                          \
  CASE("input 0", (f->in.type = PZ_ABI_I32)) /* has no zero point */                                         \
  CASE("output 0", f->out.scale = 2)         /* of floats */                                                 \
  CASE("output 0", f->out.zero_point = 1)                                                                    \
  CASE("output 0", f->out.scale = INFINITY)                                                                  \
  CASE("output 0", f->out.scale = NAN)                                                                       \
  CASE("output 0", f->out.rank = -1)                                                                         \
  CASE("output 0", f->out.dim[1] = f->out.dim[2] = f->out.dim[3] = INT64_C(0x7fffffff))                      \
  CASE("tensor 0", f->tensor[0].name = NULL)                                                                 \
  CASE("tensor 0", f->tensor[0].type = 77)                                                                   \
  CASE("tensor 1", f->tensor[1].type = PZ_ABI_F64) /* the last of eight bytes */                             \
  CASE("tensor 0", f->tensor[0].scale = 0)                                                                   \
  CASE("tensor 0", f->tensor[0].scale = NAN)                                                                 \
  CASE("tensor 0", f->tensor[0].scale = 0.5f) /* of floats */                                                \
  CASE("tensor 1", f->tensor[1].zero_point = 1)                                                              \
  CASE("tensor 1", (f->tensor[1].type = PZ_ABI_U8, f->tensor[1].zero_point = -1))                            \
  CASE("tensor 0", f->tensor[0].space = 3)                                                                   \
  CASE("tensor 0", f->tensor[0].space = PZ_ABI_STATE) /* there is none */                                    \
  CASE("tensor 0", f->tensor[0].block = 0)                                                                   \
  CASE("tensor 0", f->tensor[0].block = 65)                                                                  \
  CASE("tensor 0", f->tensor[0].offset = -1)                                                                 \
  CASE("tensor 0", f->tensor[0].offset = INT64_MAX)                                                          \
  CASE("tensor 0", f->tensor[0].offset += 17) /* the last block is used up to its fourth channel */          \
  CASE("tensor 0", f->tensor[0].stride_w = INT64_MAX)                                                        \
  CASE("tensor 0", f->tensor[0].stride_w = -4)                                                               \
  CASE("tensor 0", f->tensor[0].stride_h = -128)                                                             \
  CASE("tensor 0", f->tensor[0].stride_d = INT64_MAX)                                                        \
  CASE("tensor 0", f->tensor[0].stride_c += 9)                                                               \
  CASE("tensor 1", f->tensor[1].index = 1)                                                                   \
  CASE("tensor 1", f->tensor[1].index = -1)                                                                  \
  CASE("tensor 1", f->tensor[1].offset = 1)                                                                  \
  CASE("step 0", f->step[0].name = NULL)                                                                     \
  CASE("step 0", f->step[0].op = NULL)                                                                       \
  CASE("step 0", f->step[0].algorithm = NULL)                                                                \
  CASE("step 0", f->step[0].multiply_adds = -1)                                                              \
  CASE("step 0", f->step[0].bytes = NAN)                                                                     \
  CASE("step 0", f->step[0].n_needs = 1)                                                                     \
  CASE("step 0", f->step[0].n_needs = -1)                                                                    \
  CASE("step 3", f->step[3].n_needs = 4)                                                                     \
  CASE("step 3", f->step[3].needs = NULL)                                                                    \
  CASE("step 3", f->needs[2] = 3)                                                                            \
  CASE("step 2", f->needs[1] = 0)                                                                            \
  CASE("step 1", f->needs[0] = -1)                                                                           \
  CASE("step 0", f->step[0].tensor = 2)                                                                      \
  CASE("step 0", f->step[0].tensor = -2)

static void damage(fixture *f, int number) {
  int i = 0;
#define CASE(words, change)                                                                                  \
  if (i++ == number) change;
  CASES
#undef CASE
}

static const char *const expected[] = {
#define CASE(words, change) words,
    CASES
#undef CASE
};

static void every_defect_is_named(void **state) {
  (void)state;
  for (int i = 0; i < (int)(sizeof expected / sizeof *expected); i++) {
    fixture f;
    pz_error err = {0};
    sound(&f);
    damage(&f, i);
    pz_status status = pz_abi_check(&f.net, "net.so", &err);
    if (status != PZ_ERROR_INPUT || !strstr(err.message, expected[i]))
      fail_msg("case %d: status %d, '%s', expected '%s'", i, status, err.message, expected[i]);
  }
}

static void sound_networks_pass(void **state) {
  (void)state;
  fixture f;
  pz_error err = {0};
  sound(&f);
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  assert_int_equal(pz_abi_port_elements(&f.out), 48);
  assert_int_equal(pz_abi_port_bytes(&f.out), 192);
  assert_int_equal(pz_abi_port_bytes(&f.in), 24);
  f.tensor[1].type = PZ_ABI_I32, f.tensor[1].scale = 0.25f; /* as a sum of 8-bit products has it */
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  f.tensor[1].type = PZ_ABI_I8, f.tensor[1].zero_point = -128;
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  f.tensor[0].offset += 16; /* the last byte of the arena is the tensor's last one */
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  f.tensor[0].space = PZ_ABI_STATE; /* of exactly its size */
  f.net.state_bytes = f.net.arena_bytes, f.net.state_align = 64;
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  f.net.state_bytes--;
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_ERROR_INPUT);
  f.net.n_tensors = f.net.n_steps = 0;
  f.net.tensors = NULL, f.net.steps = NULL;
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  assert_int_equal(pz_abi_check(NULL, "net.so", &err), PZ_ERROR_INPUT);
}

/* Ranks below five: the spatial dimensions are the last ones. */
static void flat_tensors(void **state) {
  (void)state;
  fixture f;
  pz_error err = {0};
  sound(&f);
  f.tensor[0] =
      (pz_abi_tensor){"flat", PZ_ABI_F32, 4, {1, 3, 5, 7}, 1, 0, PZ_ABI_ARENA, 0, 1, 0, 420, 140, 140, 28, 4};
  f.net.arena_bytes = 105 * 4;
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_OK);
  f.net.arena_bytes = 105 * 4 - 1;
  assert_int_equal(pz_abi_check(&f.net, "net.so", &err), PZ_ERROR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_defect_is_named),
      cmocka_unit_test(sound_networks_pass),
      cmocka_unit_test(flat_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
