/* run_files.c: pz_run_files: a network file, run once on arrays in .npy files. */
#include "base/element.h"
#include "base/file.h"
#include "runtime/runtime.h"
#include "formats/convert.h"
#include "formats/io.h"
#include "formats/npy_header.h"
#include "formats/volume.h"

#include <string.h>
#include <unistd.h>

/* All arrays of one run live in the arena. An output has its file's header in front. */
typedef struct job {
  pz_arena *arena;
  pz_net *net;
  const char *const *inputs, *const *outputs;
  const void **in;
  void **out;
  char **file; /* out[i] behind the header */
  int64_t *header;
} job;

/* "1x1x18x160x160"; "()" for a single number. */
static const char *shape_text(int rank, const int64_t *dim, char *out, size_t size) {
  size_t n = (size_t)snprintf(out, size, rank ? "" : "()");
  for (int i = 0; i < rank && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? "x" : "", (long long)dim[i]);
  return out;
}

/* Leading dimensions of 1 may be missing in the array. */
static bool shape_fits(const pz_npy *npy, const pz_port *port) {
  const int missing = port->rank - npy->rank;
  if (missing < 0) return false;
  for (int i = 0; i < port->rank; i++)
    if (port->dim[i] != (i < missing ? 1 : npy->dim[i - missing])) return false;
  return true;
}

static pz_status check_shape(const char *path, const pz_npy *npy, const pz_port *port, pz_error *err) {
  char found[256], expected[128];
  if (npy->fortran && npy->rank > 1)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: the array is in Fortran order; save numpy.ascontiguousarray(array) instead", path);
  if (shape_fits(npy, port)) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: an array of shape %s; the network's input \"%s\" is %s (leading dimensions of 1 may be missing)",
      path, shape_text(npy->rank, npy->dim, found, sizeof found), port->name,
      shape_text(port->rank, port->dim, expected, sizeof expected));
}

/* Networks of floats take numbers of any type. Others take their own, and bfloat16, which files have not, is rounded from float32. */
static pz_status check_type(const char *path, const pz_npy *npy, const pz_port *port, pz_error *err) {
  const pz_dtype wanted = port->dtype == PZ_BF16 ? PZ_F32 : port->dtype;
  if (!pz_type_of_tensors(port->dtype))
    return pz_fail(err, PZ_ERROR_INPUT, "the network's input \"%s\" is of %s, which no file here has",
                   port->name, pz_dtype_name(port->dtype));
  if (port->dtype == PZ_F32 || npy->dtype == wanted) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: an array of %s; the network's input \"%s\" wants %s", path,
                 pz_dtype_name(npy->dtype), port->name, pz_dtype_name(wanted));
}

/* From `raw` to what the port takes. */
static void put_elements(const pz_npy *npy, const void *raw, int64_t n, pz_dtype wanted, char *out) {
  if (wanted == PZ_F32) pz_convert(npy->dtype, raw, n, 0, 1, (float *)(void *)out);
  else if (wanted == npy->dtype) memcpy(out, raw, (size_t)(n * pz_dtype_bytes(wanted)));
  else pz_elements_from((pz_element){wanted, 1, 0}, raw, n, out);
}

static pz_status read_elements(const char *path, int fd, const pz_npy *npy, int64_t n, pz_dtype wanted,
                               char *out, pz_error *err) {
  enum { PART = 8192 };
  uint64_t raw[PART]; /* elements have at most 8 bytes */
  const int64_t element = pz_dtype_bytes(npy->dtype);
  for (int64_t done = 0, part; done < n; done += part) {
    part = n - done < PART ? n - done : PART;
    PZ_TRY(pz_io_read(fd, path, raw, part * element, npy->offset + done * element, err));
    if (npy->swap) pz_io_swap(raw, part, element);
    put_elements(npy, raw, part, wanted, out + done * pz_dtype_bytes(wanted));
  }
  return PZ_OK;
}

static pz_status read_open(job *j, const char *path, int fd, int64_t size, const pz_port *port, char *out,
                           pz_error *err) {
  pz_npy npy;
  PZ_TRY(pz_npy_read_header(j->arena, path, fd, size, &npy, err));
  PZ_TRY(check_shape(path, &npy, port, err));
  PZ_TRY(check_type(path, &npy, port, err));
  PZ_TRY(pz_npy_check_size(path, &npy, err));
  return read_elements(path, fd, &npy, port->elements, port->dtype, out, err);
}

static pz_status read_input(job *j, int32_t i, pz_error *err) {
  pz_port port;
  pz_identity id;
  pz_net_input(j->net, i, &port);
  char *data = PZ_NEW(j->arena, char, port.bytes);
  if (!data) return pz_fail_memory(err, port.name, (unsigned long long)port.bytes);
  j->in[i] = data;
  PZ_TRY(pz_identity_begin(j->inputs[i], true, &id, err));
  pz_status status = read_open(j, j->inputs[i], id.fd, id.noted.st_size, &port, data, err);
  if (status == PZ_OK) status = pz_identity_check(&id, j->inputs[i], err);
  pz_identity_end(&id);
  return status;
}

/* Of an element of an output's file. */
static pz_dtype type_in_file(const pz_port *port) { return port->dtype == PZ_BF16 ? PZ_F32 : port->dtype; }

static int64_t file_bytes(const job *j, int32_t i, const pz_port *port) {
  return j->header[i] + port->elements * pz_dtype_bytes(type_in_file(port));
}

static pz_status make_output(job *j, int32_t i, pz_error *err) {
  char header[PZ_NPY_HEADER];
  pz_port port;
  pz_net_output(j->net, i, &port);
  j->header[i] = pz_npy_print_header(type_in_file(&port), port.rank, port.dim, header);
  j->file[i] = PZ_NEW(j->arena, char, file_bytes(j, i, &port));
  if (!j->file[i]) return pz_fail_memory(err, port.name, (unsigned long long)file_bytes(j, i, &port));
  memcpy(j->file[i], header, (size_t)j->header[i]);
  j->out[i] = j->file[i] + j->header[i];
  if (port.dtype != PZ_BF16) return PZ_OK;
  j->out[i] = PZ_NEW(j->arena, char, port.bytes);
  return j->out[i] ? PZ_OK : pz_fail_memory(err, port.name, (unsigned long long)port.bytes);
}

static pz_status write_output(const job *j, int32_t i, pz_error *err) {
  pz_port port;
  pz_net_output(j->net, i, &port);
  if (port.dtype == PZ_BF16)
    pz_elements_to((pz_element){PZ_BF16, 1, 0}, j->out[i], port.elements,
                   (float *)(void *)(j->file[i] + j->header[i]));
  return pz_file_write(j->outputs[i], j->file[i], (size_t)file_bytes(j, i, &port), err);
}

/* Before anything is read or run: as many files as the network wants, and outputs that can be written. */
static pz_status check_files(const job *j, const char *network, int32_t n_inputs, int32_t n_outputs,
                             pz_error *err) {
  const int32_t in = pz_net_inputs(j->net), out = pz_net_outputs(j->net);
  if (n_inputs != in || n_outputs != out)
    return pz_fail(err, PZ_ERROR_USAGE, "%s: %d input and %d output files; expected %d and %d", network,
                   (int)n_inputs, (int)n_outputs, (int)in, (int)out);
  for (int32_t i = 0; i < out; i++) {
    for (int32_t k = 0; k < i; k++)
      if (strcmp(j->outputs[i], j->outputs[k]) == 0)
        return pz_fail(err, PZ_ERROR_USAGE, "%s: named for two outputs; expected a file for each",
                       j->outputs[i]);
    PZ_TRY(pz_file_check_writable(j->outputs[i], err));
  }
  return PZ_OK;
}

static pz_status run_job(job *j, int32_t n_inputs, int32_t n_outputs, pz_error *err) {
  PZ_TRY(check_files(j, pz_runtime_path(j->net), n_inputs, n_outputs, err));
  PZ_TRY(pz_runtime_ask(j->net, err));
  j->in = PZ_NEW(j->arena, const void *, n_inputs);
  j->out = PZ_NEW(j->arena, void *, n_outputs);
  j->file = PZ_NEW(j->arena, char *, n_outputs);
  j->header = PZ_NEW(j->arena, int64_t, n_outputs);
  if (!j->in || !j->out || !j->file || !j->header) return pz_fail_memory(err, "lists of arrays", 64);
  for (int32_t i = 0; i < n_inputs; i++) PZ_TRY(read_input(j, i, err));
  for (int32_t i = 0; i < n_outputs; i++) PZ_TRY(make_output(j, i, err));
  pz_abi_call call = {.inputs = j->in, .outputs = j->out};
  PZ_TRY(pz_runtime_run(j->net, &call, err));
  for (int32_t i = 0; i < n_outputs; i++) PZ_TRY(write_output(j, i, err));
  return PZ_OK;
}

static bool all_named(const char *const *paths, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    if (!paths || !paths[i]) return false;
  return true;
}

static pz_status run_net(pz_net *net, const char *const *inputs, int32_t n_inputs, const char *const *outputs,
                         int32_t n_outputs, pz_error *err) {
  job j = {.net = net, .inputs = inputs, .outputs = outputs, .arena = pz_arena_new()};
  if (!j.arena) return pz_fail_memory(err, "arrays", 64);
  const pz_status status = run_job(&j, n_inputs, n_outputs, err);
  pz_arena_free(j.arena);
  return status;
}

pz_status pz_net_run_files(pz_net *net, const char *const *inputs, int32_t n_inputs,
                           const char *const *outputs, int32_t n_outputs) {
  pz_error err = {0};
  if (!net || !all_named(inputs, n_inputs) || !all_named(outputs, n_outputs))
    pz_fail(&err, PZ_ERROR_USAGE, "pz_net_run_files: the network, the inputs and the outputs must be given");
  else run_net(net, inputs, n_inputs, outputs, n_outputs, &err);
  return pz_public_status(&err);
}

pz_status pz_run_files(const char *network, int32_t threads, const char *const *inputs, int32_t n_inputs,
                       const char *const *outputs, int32_t n_outputs) {
  const pz_net_options options = {.threads = threads};
  pz_error err = {0};
  pz_net *net = NULL;
  if (!network || !all_named(inputs, n_inputs) || !all_named(outputs, n_outputs))
    pz_fail(&err, PZ_ERROR_USAGE, "pz_run_files: the network, the inputs and the outputs must be named");
  else if (pz_runtime_open(network, &options, &net, &err) == PZ_OK)
    run_net(net, inputs, n_inputs, outputs, n_outputs, &err);
  pz_runtime_close(net);
  return pz_public_status(&err);
}
