/* fixture.h: what the tests of src/import share: files in a temporary folder, imports that must succeed or fail, and
 * writers of weights. */
#ifndef PZ_TESTS_IMPORT_FIXTURE_H
#define PZ_TESTS_IMPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "import/caffe/import.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group's set-up and tear-down: a folder of its own for files, removed with all that is in it. */
int make_folder(void **state);
int remove_folder(void **state);
/* The path of a file in that folder; valid until the fourth call from now. */
const char *path_of(const char *name);
const char *write_file(const char *name, const void *data, size_t size);

/* Imports a text as "net.prototxt" of the folder; weights may be NULL. The caller frees the graph. */
pz_graph *import_text(const char *text, const char *weights);
/* The same for a text that must be refused; checks status and that the message is one line with `message` in it. */
void import_fails(const char *text, const char *weights, pz_status status, const char *message);
/* The same without ending the test: prints what differs. */
bool is_refused(const char *text, const char *weights, pz_status status, const char *message);
pz_status try_import(const char *text, const char *weights, pz_graph **graph, pz_error *err);

/* The values of a constant. */
const float *constant(const pz_graph *g, const char *name);
const char *shape_of(const pz_graph *g, const char *tensor, char *out);

/* ---- protobuf's wire format, by hand ---- */

void put_varint(pz_text *out, uint64_t value);
void put_number(pz_text *out, uint32_t field, uint64_t value);
void put_bytes(pz_text *out, uint32_t field, const void *bytes, size_t size);
/* Puts `inner` as a field of `out` and frees it. */
void put_message(pz_text *out, uint32_t field, pz_text *inner);

typedef enum blob_style {
  PACKED,
  UNPACKED,
  DOUBLES,
  UNPACKED_DOUBLES,
  LEGACY,
  UNPACKED_SHAPE,
  BLOB_STYLES
} blob_style;
/* BlobProto: shape (at most 4 sizes where LEGACY) and values. */
void put_blob(pz_text *out, uint32_t field, blob_style style, int rank, const int64_t *dims,
              const float *values, size_t count);
/* Writes the folder's `name` and frees the text. */
const char *write_text(const char *name, pz_text *text);

/* ---- .caffemodel.h5 ---- */

typedef struct h5_blob {
  const char *path; /* "conv1/0" below /data */
  int rank;
  int64_t dim[5];
  const float *values;
} h5_blob;
const char *write_h5(const char *name, const h5_blob *blobs, int count);

#endif
