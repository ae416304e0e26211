/* main.c: pznet, the command: a table of verbs. */
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const tool_verb *const verbs[] = {&verb_compile, &verb_inspect, &verb_run, &verb_infer,
                                         &verb_verify,  &verb_bench,   &verb_tune};
enum { VERBS = sizeof verbs / sizeof *verbs };

static void print_summary(FILE *out) {
  fprintf(out,
          "pznet %s: compiles trained 3D and 2D convolutional networks into small libraries for CPUs,\n"
          "and applies them to volumes of any size.\n\nusage: pznet VERB ...\n\n",
          pz_version());
  for (int i = 0; i < VERBS; i++) fprintf(out, "  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
  fprintf(out,
          "\n`pznet VERB --help` tells more.\n"
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
    printf("pznet %s\n", pz_version());
    return 0;
  }
  for (int i = 0; i < VERBS; i++)
    if (!strcmp(argv[1], verbs[i]->name)) return verbs[i]->run(verbs[i], argc - 1, argv + 1);
  fprintf(stderr, "pznet: no verb '%s'; expected compile, inspect, run, infer, verify, bench or tune\n",
          argv[1]);
  return PZ_ERROR_USAGE;
}

/* What was printed must have arrived: a full disk is a failure too. */
int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of writing, not the end of the process */
  tool_interrupt(NULL);
  const int status = run(argc, argv);
  if (!fflush(stdout) && !ferror(stdout)) return status;
  fprintf(stderr, "pznet: standard output: cannot be written\n");
  return status ? status : PZ_ERROR_INPUT;
}
