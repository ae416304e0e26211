/* infer.c: a network applied to a volume that is read and written by Python callables, or to files. The
 * interpreter lock is released while it works; the engine's reading and writing threads take it for a callable. */
#include "module.h"

/* An exception that a callable raised in another thread, kept until the work has ended. */
typedef struct failure {
  PyObject *type, *value, *trace;
} failure;

typedef struct stream {
  PyObject *callable;
  int64_t channels, plane_bytes; /* of a reader; 0: see planned */
  failure *failed;
} stream;

static void keep(failure *f) {
  if (!f->type) PyErr_Fetch(&f->type, &f->value, &f->trace);
  else PyErr_Clear();
}

/* callable(z, n, memory, bytes from one channel to the next). What holds on to the memory afterwards has lost it. */
static bool call(const stream *s, int64_t z, int64_t n, char *planes, int64_t channel_bytes, int flags) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int64_t bytes = (s->channels - 1) * channel_bytes + n * s->plane_bytes;
  PyObject *memory = PyMemoryView_FromMemory(planes, (Py_ssize_t)bytes, flags), *result = NULL;
  if (memory)
    result = PyObject_CallFunction(s->callable, "LLOL", (long long)z, (long long)n, memory,
                                   (long long)channel_bytes);
  const bool good = result;
  if (!good) keep(s->failed);
  Py_XDECREF(result);
  if (memory) {
    Py_XDECREF(PyObject_CallMethod(memory, "release", NULL));
    PyErr_Clear();
    Py_DECREF(memory);
  }
  PyGILState_Release(gil);
  return good;
}

static bool read_planes(void *host, int64_t z, int64_t n, void *planes, int64_t channel_bytes) {
  return call(host, z, n, planes, channel_bytes, PyBUF_WRITE);
}

/* The planes of a portion lie together, so that channel_bytes says how large one is. */
static bool write_planes(void *host, int64_t z, int64_t n, const void *planes, int64_t channel_bytes) {
  stream s = *(const stream *)host;
  s.plane_bytes = channel_bytes / n;
  return call(&s, z, n, (char *)planes, channel_bytes, PyBUF_READ);
}

typedef struct work {
  pz_infer_options options;
  pz_volume_reader input;
  pz_volume_writer output;
  stream reader, writer;
  progress_host progress;
  PyObject *planned;
  failure failed;
} work;

/* planned(json) gives the number of the result's channels; an exception ends the work before the first patch. */
static void on_planned(void *host, const char *json) {
  work *w = host;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *channels = PyObject_CallFunction(w->planned, "s", json);
  w->writer.channels = channels ? PyLong_AsLongLong(channels) : 1;
  if (PyErr_Occurred()) {
    keep(&w->failed);
    w->progress.interrupt = 1;
  }
  Py_XDECREF(channels);
  PyGILState_Release(gil);
}

/* A path, or (callable, dtype, channels, z, y, x). */
static bool take_input(PyObject *given, work *w) {
  static const int bytes[] = {
      [PZ_F32] = 4, [PZ_U8] = 1,  [PZ_U16] = 2, [PZ_I16] = 2, [PZ_I8] = 1,  [PZ_U32] = 4,
      [PZ_I32] = 4, [PZ_U64] = 8, [PZ_I64] = 8, [PZ_F16] = 2, [PZ_F64] = 8, [PZ_BOOL] = 1};
  pz_volume_reader *r = &w->input;
  int dtype;
  long long size[3];
  if (!PyTuple_Check(given)) return (r->path = PyUnicode_AsUTF8(given)) != NULL;
  if (!PyArg_ParseTuple(given, "OiiLLL", &w->reader.callable, &dtype, &r->channels, &size[0], &size[1],
                        &size[2]))
    return false;
  if (dtype < 0 || dtype > PZ_BOOL) return PyErr_SetString(PyExc_ValueError, "an unknown dtype"), false;
  r->dtype = (pz_dtype)dtype;
  for (int i = 0; i < 3; i++) r->shape[i] = size[i];
  r->read = read_planes, r->host = &w->reader;
  w->reader.channels = r->channels;
  w->reader.plane_bytes = size[1] * size[2] * bytes[dtype];
  return true;
}

static bool take_output(PyObject *given, work *w) {
  if (PyUnicode_Check(given)) return (w->output.path = PyUnicode_AsUTF8(given)) != NULL;
  w->writer.callable = given;
  w->output.write = write_planes, w->output.host = &w->writer;
  return true;
}

static bool take_options(PyObject *args, PyObject **input, PyObject **output, work *w) {
  pz_infer_options *o = &w->options;
  int tiling, blend, normalize, border, nan, store, sums, apply, skip_zero, resume, no_overwrite, update;
  long long memory;
  PyObject *progress;
  if (!PyArg_ParseTuple(args, "OO(iii)(ddd)(iii)IIiiiiiiiifppppLOOzz", input, output, &o->overlap[0],
                        &o->overlap[1], &o->overlap[2], &o->overlap_part[0], &o->overlap_part[1],
                        &o->overlap_part[2], &o->crop[0], &o->crop[1], &o->crop[2], &o->given,
                        &o->mirror_axes, &tiling, &blend, &normalize, &border, &nan, &store, &sums, &apply,
                        &o->threshold, &skip_zero, &resume, &no_overwrite, &update, &memory, &progress,
                        &w->planned, &o->axes, &o->at))
    return false;
  o->tiling = (pz_tiling)tiling, o->blend = (pz_blend)blend, o->normalize = (pz_normalize)normalize;
  o->border = (pz_border)border, o->nan = (pz_nan)nan, o->store = (pz_store)store, o->sums = (pz_sums)sums;
  o->apply = (pz_apply)apply;
  o->skip_zero = skip_zero, o->resume = resume, o->no_overwrite = no_overwrite, o->update = update,
  o->memory = memory;
  w->progress.callable = progress == Py_None ? NULL : progress;
  o->progress = pznet_on_progress, o->progress_host = &w->progress, o->interrupt = &w->progress.interrupt;
  o->planned = on_planned, o->planned_host = w;
  w->reader.failed = w->writer.failed = &w->failed;
  return true;
}

static PyObject *run(PyObject *module, pz_net *net, work *w) {
  char *report = NULL;
  pz_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_net_infer(net, &w->input, &w->output, &w->options, &report);
  Py_END_ALLOW_THREADS;
  PyObject *text = status == PZ_OK ? PyUnicode_FromString(report) : NULL;
  pz_free(report);
  if (w->failed.type) {
    Py_CLEAR(text);
    PyErr_Restore(w->failed.type, w->failed.value, w->failed.trace);
  } else if (PyErr_Occurred() || (status != PZ_OK && PyErr_CheckSignals())) Py_CLEAR(text);
  else if (status != PZ_OK) pznet_raise(pznet_error_of(module), status);
  return text;
}

/* infer(net, options): net is a pznet._net.Net, options are those that pznet/inferring.py gives; the report comes back. */
PyObject *pznet_infer(PyObject *module, PyObject *args) {
  PyObject *opened, *options, *input, *output;
  work w = {.planned = NULL};
  if (!PyArg_ParseTuple(args, "OO!", &opened, &PyTuple_Type, &options) ||
      !take_options(options, &input, &output, &w) || !take_input(input, &w) || !take_output(output, &w))
    return NULL;
  PyObject *handle = PyObject_CallMethod(opened, "handle", NULL);
  pz_net *net = handle ? PyCapsule_GetPointer(handle, PZNET_HANDLE) : NULL;
  PyObject *report = net ? run(module, net, &w) : NULL;
  Py_XDECREF(handle);
  return report;
}
