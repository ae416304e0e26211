/* A network with a state, in two steps that no solver makes: its result is the input of the run before. From the plan to a file that the
 * runtime opens. */
#include "unit.h"
#include "emit/emit.h"
#include "place/place.h"
#include "planner/planner.h"
#include "pznet/pznet.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 24 };
static const char text[] = "graph \"delay\"\n"
                           "input %x 1x1x2x3x4\n"
                           "%y = activation \"y\" %x act relu 0\n"
                           "output %y\n";

static void add_copy(pz_plan *plan, const char *name, const pz_storage *from, const pz_storage *to) {
  pz_error err = {0};
  pz_step *step;
  assert_int_equal(pz_new_step(plan, name, "copy", PZ_NONE, &step, &err), PZ_OK);
  pz_builder b = {.plan = plan, .step = step};
  assert_int_equal(pz_add_copy_call(&b, from, to, &err), PZ_OK);
}

/* Behind the plan's own steps: the state becomes the result, the input becomes the state. The second state is behind the first. */
static void add_delay(pz_plan *plan) {
  const pz_graph *g = plan->graph;
  pz_error err = {0};
  pz_builder b = {.plan = plan};
  pz_add_state(&b, PZ_U8, 20);
  const pz_storage in = pz_port_storage(plan, g->inputs[0], PZ_SPACE_INPUT, 0),
                   out = pz_port_storage(plan, g->outputs[0], PZ_SPACE_OUTPUT, 0);
  pz_storage state = in;
  state.at = pz_add_state(&b, PZ_F32, N);
  add_copy(plan, "give", &state, &out);
  add_copy(plan, "keep", &in, &state);
  assert_int_equal(pz_keep_storage(plan, PZ_NCHW, &state, &err), PZ_OK);
  plan->steps[plan->n_steps - 1].storage = plan->n_storages - 1;
}

static void emit(const pz_plan *plan, const char *folder) {
  const pz_emit_options options = {.model = "delay", .model_digest = "0", .objects = folder};
  pz_error err = {0};
  pz_status status = pz_emit_source(plan, &options, folder, &err);
  if (status == PZ_OK) status = pz_emit_manifest(plan, &options, NULL, folder, NULL, &err);
  if (status == PZ_OK) status = pz_emit_compile(plan, &options, folder, &err);
  if (status == PZ_OK) status = pz_emit_link(plan, &options, folder, "network.so", &err);
  if (status != PZ_OK) fail_msg("%s", err.message);
}

static void check_description(const pz_net *net) {
  const pz_abi_network *abi = net->abi;
  const int32_t last = abi->n_steps - 1;
  assert_int_equal(abi->state_bytes, 64 + 128);
  assert_int_equal(abi->state_align, 64);
  assert_string_equal(abi->steps[last].name, "keep");
  assert_int_equal(abi->steps[last].n_needs, 1); /* it overwrites what "give" reads */
  assert_int_equal(abi->steps[last].needs[0], last - 1);
  assert_int_equal(abi->steps[last - 1].n_needs, 1); /* it overwrites the result of "y" */
  assert_int_equal(abi->steps[last - 1].needs[0], last - 2);
  assert_non_null(strstr(pz_net_manifest(net), "\"state_bytes\": 192"));
}

typedef struct seen {
  const pz_net *net;
  float values[N];
} seen;

static void look(void *host, int32_t step) {
  seen *s = host;
  const pz_abi_network *abi = s->net->abi;
  if (step + 1 < abi->n_steps) return;
  const pz_abi_tensor *t = &abi->tensors[abi->steps[step].tensor];
  assert_int_equal(t->space, PZ_ABI_STATE);
  memcpy(s->values, (const char *)s->net->state + t->offset, sizeof s->values);
}

static void run(pz_net *net) {
  float in[N], out[N];
  seen s = {.net = net};
  for (int k = 1; k <= 5; k++) {
    if (k == 4) pz_net_reset(net);
    for (int i = 0; i < N; i++) in[i] = (float)(100 * k + i);
    pz_abi_call call = {.inputs = (const void *const[]){in},
                        .outputs = (void *const[]){out},
                        .observe = look,
                        .observe_host = &s};
    assert_int_equal(pz_runtime_run(net, &call, NULL), PZ_OK);
    assert_memory_equal(s.values, in, sizeof in);
    for (int i = 0; i < N; i++) assert_true(out[i] == (k == 1 || k == 4 ? 0 : in[i] - 100));
  }
}

static void result_is_the_input_of_the_run_before(void **unused) {
  (void)unused;
  char folder[64] = "/tmp/pznet-test-XXXXXX", file[96], command[96];
  pz_graph *g;
  pz_plan *plan;
  pz_net *net;
  pz_error err = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/network.so", folder);
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  if (pz_plan_new(g, &(pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &plan, &err) != PZ_OK)
    fail_msg("%s", err.message);
  add_delay(plan);
  emit(plan, folder);
  for (int threads = 1; threads <= 3; threads++) {
    const pz_net_options options = {.threads = threads};
    if (pz_runtime_open_unfinished(file, &options, &net, &err) != PZ_OK) fail_msg("%s", err.message);
    check_description(net);
    run(net);
    pz_net_close(net);
  }
  pz_plan_free(plan);
  pz_graph_free(g);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(result_is_the_input_of_the_run_before)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
