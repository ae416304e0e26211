/* tool.h: what the verbs of the command share. The command uses the public header only, and so tests it. */
#ifndef PZNET_TOOL_H
#define PZNET_TOOL_H

#include <jansson.h>
#include "pznet/pznet.h"

#include <stdio.h>

/* One option of a verb. `value` NULL: a flag. The help text is printed from these rows. */
typedef struct tool_option {
  const char *name;  /* long name, without dashes */
  char letter;       /* 0: none */
  const char *value; /* what stands for its value in the help, or NULL */
  const char *help;
} tool_option;

typedef struct tool_verb {
  const char *name, *arguments, *summary, *details;
  const tool_option *options; /* ends with a row without a name */
  int (*run)(const struct tool_verb *verb, int argc, char **argv);
} tool_verb;

extern const tool_verb verb_compile, verb_inspect, verb_run, verb_infer, verb_verify, verb_bench, verb_tune,
    verb_cache;

/* Reads options and arguments of a verb in any order. Calls set(host, name, value) for each option; gives the
 * arguments in args[0..*n_args-1]. Prints a line and returns false on wrong usage; prints the help and exits with
 * 0 on --help. */
typedef bool (*tool_set)(void *host, const char *name, const char *value);
bool tool_parse(const tool_verb *verb, int argc, char **argv, tool_set set, void *host, const char **args,
                int max_args, int *n_args);
int tool_usage(const tool_verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tool_print_help(const tool_verb *verb);

/* Values: print a line on stderr and return false when they are not what is expected. */
bool tool_int(const char *name, const char *value, long least, long most, int32_t *out);
bool tool_seconds(const char *name, const char *value, double *out);
bool tool_triple(const char *name, const char *value, int32_t out[3]); /* "4,32,32" or "16" for all */
bool tool_bytes(const char *name, const char *value, int64_t *out);    /* "4G", "512M", "1000000" */
bool tool_choice(const char *name, const char *value, const char *const *names,
                 int *out); /* names end with NULL */

/* All that the command prints goes through these: names of layers and files do nothing to the terminal (pz_printable; line ends stay). */
void tool_print(const char *format, ...) __attribute__((format(printf, 1, 2))); /* on standard output */
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* on stderr */
/* A name in a line of a table, where a line end may not stay either; at most TOOL_NAME - 1 bytes. Returns out. */
#define TOOL_NAME 128
const char *tool_name(const char *name, char out[TOOL_NAME]);
/* Verbs that run a network file. */
#define TOOL_VARIANT_OPTION                                                                                  \
  {                                                                                                          \
    "target", 0, "NAME",                                                                                     \
        "of a file with several variants a target's, or those of an instruction set and "                    \
        "less\n" TOOL_HELP_COLUMN                                                                            \
        "(avx2); default: as PZNET_TARGET says, else the best that this machine has"                         \
  }
#define TOOL_DIGEST_OPTION                                                                                   \
  {                                                                                                          \
    "digest", 0, "SHA256",                                                                                   \
        "refuse any other network file: what pznet inspect or sha256sum says of the right one"               \
  }
#define TOOL_PROGRAM "A network file is a program: run only one that you trust.\n"

/* A report of the library, parsed, which json_decref frees; NULL: memory is short, and that was printed. */
json_t *tool_report(const char *text);

/* Whether all that was printed has arrived; a signal that came in between is no failure. */
bool tool_flush(FILE *file);

/* Prints pz_last_message() and gives the exit status. */
int tool_fail(pz_status status);

/* Ctrl-C, SIGTERM and SIGHUP set this flag, and the process ends within a second, with 128 and the signal's number: by itself, or where
 * its work does not look at the flag so soon, at once. `says` (may be NULL) is printed behind "pznet: interrupted" then. */
const volatile int *tool_interrupt(const char *says);

/* A progress bar on a terminal, a line every few seconds elsewhere, nothing when quiet. */
typedef struct tool_progress {
  bool quiet, json;    /* json: an object a line, also where quiet */
  const char *unit;    /* "patches"; NULL: units are not shown */
  double voxels;       /* a unit, for voxels/s; 0: not shown */
  double shown, since; /* when the last line was printed, and the first unit done */
  bool open;           /* a bar is on the screen without its newline */
  bool counts;         /* units, from `before` on */
  int64_t before;
} tool_progress;
#define TOOL_PROGRESS_OPTION                                                                                 \
  { "progress", 0, "HOW", "bar (default), or json: what is done and what is left as lines of JSON on stderr" }
/* The value of that option; prints a line and returns false where it is none. */
bool tool_progress_set(tool_progress *progress, const char *value);
void tool_progress_show(void *host, const char *what, int64_t done, int64_t total, double seconds);
void tool_progress_end(tool_progress *progress);

/* Whether a volume of that name is one of a store of chunks, as Zarr, which the Python package reads and writes. */
bool tool_is_store(const char *path);
/* Whether a volume is one of ITK's, .mha, .mhd or .nrrd, which the Python package reads and writes through SimpleITK. */
bool tool_is_image(const char *path);
/* Whether it is a folder of cases, whose channels are files called CASE_0000 and so on, which the Python package runs one by one. */
bool tool_is_case_folder(const char *path);
/* Goes on as the Python package's pznet.stores_command with `asked`. Returns where that cannot be. */
int tool_become_python(const json_t *asked);

/* "12.3 MB" into out (at least 16 bytes). */
const char *tool_size(double bytes, char *out);

/* Options that `compile`, `inspect` and `verify` share. */
#define TOOL_MAX_INPUTS 32
typedef struct tool_model {
  pz_compile_options options;
  const char *algorithms[TOOL_MAX_INPUTS], *inputs[TOOL_MAX_INPUTS], *input_types[TOOL_MAX_INPUTS],
      *output_types[TOOL_MAX_INPUTS];
} tool_model;
/* The text of an option's second line begins below that of its first. */
#define TOOL_HELP_COLUMN "                               "
#define TOOL_MODEL_OPTIONS                                                                                   \
  {"weights", 'w', "FILE",                                                                                   \
   "Caffe's weights: a .caffemodel, a .caffemodel.h5, or init:SEED to fill them as the model says"},         \
      {"target", 0, "CORE",                                                                                  \
       "the core to plan and compile for: native (default), x86-64-v2, x86-64-v3, x86-64-v4, "               \
       "haswell,\n" TOOL_HELP_COLUMN                                                                         \
       "skylake-x, cascade-lake, ice-lake-server, sapphire-rapids, emerald-rapids,\n" TOOL_HELP_COLUMN       \
       "granite-rapids, zen2, zen3, zen4, zen5, of ARM armv8.2-a, cortex-a76,\n" TOOL_HELP_COLUMN            \
       "neoverse-n1, neoverse-v1, neoverse-v2, with --cc aarch64-linux-gnu-gcc.\n" TOOL_HELP_COLUMN          \
       "compile: several with commas between make one file with a variant for each;\n" TOOL_HELP_COLUMN      \
       "of such a file: which is meant"},                                                                    \
      {"isa", 0, "SET",                                                                                      \
       "coarser: this machine, taken to have amx, avx512, avx2, sse4 or neon and no more; "                  \
       "compile:\n" TOOL_HELP_COLUMN                                                                         \
       "all: x86-64-v2, x86-64-v3, x86-64-v4 and sapphire-rapids in one file"},                              \
      {"disable", 0, "PASSES",                                                                               \
       "comma-separated passes to leave out, e.g. fuse-add,fold-linear,fuse-activation,pad-outputs"},        \
      {"input", 0, "NAME=SHAPE",                                                                             \
       "replace an input's shape, e.g. data=1x1x18x160x160; of ONNX also #2=..., the second"},               \
      {"input-type", 0, "NAME=TYPE",                                                                         \
       "take an input of another type: u8, i8, u16, i16, i32, f16, bf16 or f32; TYPE alone: all"},           \
      {"output-type", 0, "NAME=TYPE", "give an output of another type, rounded to the nearest"},             \
      {"precision", 0, "HOW", "default, or exact: only algorithms with the rounding error of a direct sum"}, \
      {"max-error", 0, "E",                                                                                  \
       "relative error that fast convolutions may add to the result (default 1e-5); smaller is slower"},     \
      {"memory", 0, "SIZE",                                                                                  \
       "a limit such as 500M for weights and a run together: obeyed, or refused with the size needed"},      \
      {"fuse-rows", 0, "HOW",                                                                                \
       "chains of layers run band by band: auto (default): where that saves memory; never; always"},         \
      {"algorithm", 0, "LAYER=NAME",                                                                         \
       "the algorithm that a layer has to have, as pznet inspect --plan names both"},                        \
      {"tiling", 0, "exact",                                                                                 \
       "for exact tiles: pznet infer makes each voxel as the evaluation of the whole volume does"},          \
      {"patch", 0, "Z,Y,X",                                                                                  \
       "of exact tiles: voxels that a run makes, multiples of the stride; auto: by --memory, --volume"},     \
      {"volume", 0, "Z,Y,X",                                                                                 \
       "of exact tiles: the size of the volumes; runs make all of y and x where --patch is no smaller"},     \
      {"search", 0, "HOW",                                                                                   \
       "what is chosen from: global (default): all algorithms and layouts; transforms, layout or "           \
       "nchw:\n" TOOL_HELP_COLUMN "less, as pznet inspect --plan compares"},                                 \
  {                                                                                                          \
    "vector-block", 0, "S", "channels in a block of the layout; default: the width of a vector"              \
  }
/* Options that `compile` and `inspect` share. */
#define TOOL_TUNING_OPTIONS                                                                                  \
  {"effort", 0, "HOW",                                                                                       \
   "how algorithms are chosen: estimate, measure or exhaustive; default: measure, within --budget"},         \
      {"tuning", 0, "FILE", "the database of measured times, or none; default: see pznet tune"},             \
      {"cache", 0, "FOLDER",                                                                                 \
       "where compiled kernels are kept for later, or none; default: see pznet cache"},                      \
      {"threads", 't', "N",                                                                                  \
       "threads that layers are cut for and timed with; default: the cores that this process may use"},      \
  {                                                                                                          \
    "cc", 0, "COMMAND", "C compiler; default: $CC, else gcc, else clang"                                     \
  }
bool tool_tuning_set(tool_model *model, const char *name, const char *value, bool *good);
/* True when the option was one of these; *good says whether its value was right. */
bool tool_model_set(tool_model *model, const char *name, const char *value, bool *good);

#endif
