/* verb_run.c: pznet run. */
#include "tool.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OUTPUTS = 64, MOST_ARGUMENTS = 65 };
typedef struct state {
  const char *outputs[MOST_OUTPUTS];
  int32_t n_outputs;
  pz_net_options net;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  if (!strcmp(name, "threads")) return tool_int(name, value, 0, 4096, &s->net.threads);
  if (!strcmp(name, "digest")) return s->net.digest = value, true;
  if (!strcmp(name, "target")) return s->net.target = value, true;
  if (s->n_outputs == MOST_OUTPUTS) {
    tool_warn("pznet: more than %d --output\n", MOST_OUTPUTS);
    return false;
  }
  s->outputs[s->n_outputs++] = value;
  return true;
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.n_outputs = 0};
  const char *args[MOST_ARGUMENTS];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, MOST_ARGUMENTS, &n)) return PZ_ERROR_USAGE;
  if (n < 2) return tool_usage(verb, "name the network file and an .npy file for each of its inputs");
  if (!s.n_outputs) return tool_usage(verb, "name an .npy file for each output with -o");
  pz_net *net;
  pz_status status = pz_net_open(args[0], &s.net, &net);
  if (status == PZ_OK) status = pz_net_run_files(net, args + 1, n - 1, s.outputs, s.n_outputs);
  pz_net_close(net);
  return status == PZ_OK ? 0 : tool_fail(status);
}

static const tool_option options[] = {
    {"output", 'o', "FILE.npy", "where an output goes; once for each output, in the network's order"},
    TOOL_DIGEST_OPTION,
    TOOL_VARIANT_OPTION,
    {"threads", 't', "N", "threads; default: the cores that this process may use"},
    {0},
};
const tool_verb verb_run = {"run",
                            "NET.so INPUT.npy ... -o OUTPUT.npy ... [options]",
                            "run a network file once on arrays in .npy files",
                            "Runs a network file once. Inputs and outputs are .npy arrays of the network's "
                            "shapes (see pznet inspect).\n" TOOL_PROGRAM,
                            options,
                            run};
