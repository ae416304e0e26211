/* Elements with a scale and a zero point, from a graph to a file that is opened: ports, tensors and manifest tell them, and the runs are by them. */
#include "unit.h"
#include "api/api.h"
#include "emit/emit.h"
#include "planner/planner.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 24 };
static const char text[] = "graph \"scaled\"\n"
                           "input %x 1x1x2x3x4 u8 scale 0.5 zero_point 3\n"
                           "%f = cast \"f\" %x\n"
                           "%y = cast \"y\" %f to i8 scale 0.25 zero_point -5\n"
                           "%z = cast \"z\" %f to i16 scale 0.125\n"
                           "output %y\noutput %z\noutput %f\n";

static const struct {
  const char *name;
  pz_element element;
} outputs[] = {{"y", {PZ_I8, 0.25f, -5}}, {"z", {PZ_I16, 0.125f, 0}}, {"f", {PZ_F32, 1, 0}}};

static void make(const char *folder, const char *file) {
  pz_graph *g;
  pz_plan *plan;
  pz_error err = {0};
  char checksum[PZ_FILE_CHECKSUM_DIGITS + 1], digest[65];
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  if (pz_plan_new(g, &(pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &plan, &err) != PZ_OK)
    fail_msg("%s", err.message);
  const pz_emit_options options = {.model = "scaled", .model_digest = "0", .objects = folder};
  pz_status status = pz_emit_source(plan, &options, folder, &err);
  if (status == PZ_OK) status = pz_emit_manifest(plan, &options, NULL, folder, NULL, &err);
  if (status == PZ_OK) status = pz_emit_compile(plan, &options, folder, &err);
  if (status == PZ_OK) status = pz_emit_link(plan, &options, folder, "network.so", &err);
  if (status == PZ_OK) status = pz_add_file_checksum(file, checksum, digest, &err);
  if (status != PZ_OK) fail_msg("%s", err.message);
  pz_plan_free(plan);
  pz_graph_free(g);
}

static void assert_port(const pz_port *p, const char *name, pz_element e) {
  assert_string_equal(p->name, name);
  assert_int_equal(p->dtype, e.type);
  assert_true(p->scale == e.scale && p->zero_point == e.zero_point);
}

static void check_description(const pz_net *net) {
  pz_port port;
  assert_int_equal(pz_net_input(net, 0, &port), PZ_OK);
  assert_port(&port, "x", (pz_element){PZ_U8, 0.5f, 3});
  assert_int_equal(net->abi->n_tensors, 3);
  for (int32_t i = 0; i < 3; i++) {
    assert_int_equal(pz_net_output(net, i, &port), PZ_OK);
    assert_port(&port, outputs[i].name, outputs[i].element);
    for (int32_t k = 0; k < 3; k++) {
      const pz_abi_tensor *t = &net->abi->tensors[k];
      if (strcmp(t->name, outputs[i].name)) continue;
      assert_int_equal(t->type, outputs[i].element.type);
      assert_true(t->scale == outputs[i].element.scale && t->zero_point == outputs[i].element.zero_point);
    }
  }
}

/* f = (e - 3) / 2. */
static void run(pz_net *net) {
  uint8_t x[N];
  int8_t y[N];
  int16_t z[N];
  float f[N];
  for (int i = 0; i < N; i++) x[i] = (uint8_t)(3 * i);
  assert_int_equal(pz_net_run(net, (const void *const[]){x}, (void *const[]){y, z, f}), PZ_OK);
  for (int i = 0; i < N; i++) {
    assert_true(f[i] == (float)(x[i] - 3) / 2);
    assert_int_equal(y[i], 2 * (x[i] - 3) - 5 < 127 ? 2 * (x[i] - 3) - 5 : 127);
    assert_int_equal(z[i], 4 * (x[i] - 3));
  }
}

static void assert_shown(const char *file, const char *format, const char *const *lines) {
  char *shown;
  if (pz_inspect(file, NULL, format, &shown) != PZ_OK) fail_msg("%s", pz_last_message());
  for (; *lines; lines++)
    if (!strstr(shown, *lines)) fail_msg("'%s' is not in:\n%s", *lines, shown);
  pz_free(shown);
}

static void scales_are_told(void **unused) {
  (void)unused;
  char folder[64] = "/tmp/pznet-test-XXXXXX", file[96], command[96];
  pz_net *net;
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/network.so", folder);
  make(folder, file);
  if (pz_net_open(file, NULL, &net) != PZ_OK) fail_msg("%s", pz_last_message());
  check_description(net);
  run(net);
  pz_net_close(net);
  assert_shown(file, "table",
               (const char *const[]){" x 1x1x2x3x4 uint8 scale 0.5 zero_point 3\n",
                                     " y 1x1x2x3x4 int8 scale 0.25 zero_point -5\n",
                                     " z 1x1x2x3x4 int16 scale 0.125 zero_point 0\n",
                                     " f 1x1x2x3x4 float32\n", NULL});
  assert_shown(file, "json",
               (const char *const[]){"\"scale\": 0.5,\n", "\"zero_point\": 3\n", "\"scale\": 0.25,\n",
                                     "\"zero_point\": -5,\n", "\"scale\": 0.125,\n", "\"zero_point\": 0,\n",
                                     NULL});
  snprintf(command, sizeof command, "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scales_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
