/* main.c: pznet, the command: a table of verbs. */
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const tool_verb *const verbs[] = {&verb_compile, &verb_inspect, &verb_run,  &verb_infer,
                                         &verb_verify,  &verb_bench,   &verb_tune, &verb_cache};
enum { VERBS = sizeof verbs / sizeof *verbs };

static void print_summary(FILE *out) {
  fprintf(out,
          "pznet %s: compiles trained 3D and 2D convolutional networks into small libraries for CPUs,\n"
          "and applies them to volumes of any size.\n\nusage: pznet VERB ...\n\n",
          pz_version());
  for (int i = 0; i < VERBS; i++) fprintf(out, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
  fprintf(out,
          "\nA network file is a program: run only one that you trust.\n`pznet VERB --help` tells more.\n"
          "exit status: 0 success, 1 a failure while running, 2 wrong usage, 3 a bad model, network "
          "file or volume,\n"
          "or an output that cannot be written (a full disk too), 130 after Ctrl-C, 143 after SIGTERM\n");
}

static int run(int argc, char **argv) {
  if (argc < 2) {
    print_summary(stderr);
    return PZ_ERROR_USAGE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_summary(stdout);
    return 0;
  }
  if (!strcmp(argv[1], "--version")) {
    tool_print("pznet %s\n", pz_version());
    return 0;
  }
  for (int i = 0; i < VERBS; i++)
    if (!strcmp(argv[1], verbs[i]->name)) return verbs[i]->run(verbs[i], argc - 1, argv + 1);
  tool_warn("pznet: no verb '%s'; expected compile, inspect, run, infer, verify, bench or tune\n", argv[1]);
  return PZ_ERROR_USAGE;
}

/* Everything is closed by now. Libraries' own handlers do not run: HDF5's ends in a crash where one of its calls has failed. */
static _Noreturn void leave(int status) {
#ifdef __SANITIZE_ADDRESS__
  exit(status); /* looks for leaks */
#else
  _exit(status);
#endif
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of writing, not the end of the process */
  tool_interrupt(NULL);
  int status = run(argc, argv);
  /* A full disk is a failure too. */
  if (!tool_flush(stdout) && !status) {
    tool_warn("pznet: standard output: cannot be written\n");
    status = PZ_ERROR_INPUT;
  }
  leave(status);
}
