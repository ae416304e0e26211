/* model.h: one model of a stranger, all the way to C, within budgets. Each of these is a finding: a failure that is not one line about the input;
 * a graph that does not verify, or is another one when its text is read back; a byte of generated C that is not in its alphabet, or a name
 * outside of comments and strings; C that does not compile without a warning; a result that differs from the reference; more than 10 seconds
 * or 1 GB of memory. */
#ifndef PZ_TESTS_EMIT_MODEL_H
#define PZ_TESTS_EMIT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct model_options {
  const char *folder; /* for files; has to be there, and be this process's own */
  int64_t syntax_every,
      run_every; /* of how many models that reach C one is compiled, or compiled and run; 0: none */
  long most_mib; /* of the process; 0: somebody else looks after memory and hangs */
  bool told;     /* says what became of the model */
} model_options;

typedef struct model_counts {
  int64_t models, imported, planned, emitted, compiled,
      compared; /* compared with the reference, of those that run */
} model_counts;
extern model_counts model_count;

/* Takes the bytes as an ONNX model or as a prototxt, with weights as the model says. Prints a line on stderr and returns false where there is a
 * finding. */
bool model_reaches_c(bool onnx, const uint8_t *data, size_t size, const model_options *options);

#endif
