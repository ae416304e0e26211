/* infer.c: a network applied to a volume that is read and written by Python callables, or to files. The
 * interpreter lock is released while it works; the engine's reading and writing threads take it for a callable. */
#include "module.h"

/* An exception that a callable raised in another thread, kept until the work has ended. */
typedef struct failure {
  PyObject *type, *value, *trace;
} failure;

typedef struct stream {
  PyObject *callable;
  int64_t channels, element; /* bytes of one; of a writer: see planned */
  failure *failed;
} stream;

static void keep(failure *f) {
  if (!f->type) PyErr_Fetch(&f->type, &f->value, &f->trace);
  else PyErr_Clear();
}

/* callable((z, y, x), (sizes), memory, (bytes from one channel, plane and row to the next)). What holds on to the memory afterwards has
 * lost it. */
static bool call(const stream *s, const pz_box *b, char *voxels, const int64_t stride[3], int flags) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int64_t bytes = (s->channels - 1) * stride[0] + (b->size[0] - 1) * stride[1] +
                        (b->size[1] - 1) * stride[2] + b->size[2] * s->element;
  PyObject *memory = PyMemoryView_FromMemory(voxels, (Py_ssize_t)bytes, flags), *result = NULL;
  if (memory)
    result = PyObject_CallFunction(s->callable, "(LLL)(LLL)O(LLL)", (long long)b->start[0],
                                   (long long)b->start[1], (long long)b->start[2], (long long)b->size[0],
                                   (long long)b->size[1], (long long)b->size[2], memory, (long long)stride[0],
                                   (long long)stride[1], (long long)stride[2]);
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

static bool read_box(void *host, const pz_box *box, void *voxels, const int64_t stride[3]) {
  return call(host, box, voxels, stride, PyBUF_WRITE);
}

static bool write_box(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]) {
  return call(host, box, (char *)voxels, stride, PyBUF_READ);
}

typedef struct work {
  pz_infer_options options;
  pz_volume_reader input, mask;
  pz_volume_writer output;
  stream reader, masker, writer;
  PyObject *others; /* a tuple of pznet._net.Net */
  PyObject *handles[PZ_MOST_ENSEMBLE];
  pz_net *nets[PZ_MOST_ENSEMBLE];
  progress_host progress;
  PyObject *planned;
  failure failed;
} work;

/* planned(json) gives the number of the result's channels and the bytes of an element; an exception ends the work before the first patch. */
static void on_planned(void *host, const char *json) {
  work *w = host;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *result = PyObject_CallFunction(w->planned, "s", json);
  long long channels = 1, element = 1;
  if (!result || !PyArg_ParseTuple(result, "LL", &channels, &element)) {
    keep(&w->failed);
    w->progress.interrupt = 1;
  }
  w->writer.channels = channels, w->writer.element = element;
  Py_XDECREF(result);
  PyGILState_Release(gil);
}

/* A path, or (callable, dtype, channels, (z, y, x), step, voxel size or zeros, unit, origin or None, identity or None). */
static bool take_volume(PyObject *given, stream *from, pz_volume_reader *r) {
  static const int bytes[] = {
      [PZ_F32] = 4, [PZ_U8] = 1,  [PZ_U16] = 2, [PZ_I16] = 2, [PZ_I8] = 1,  [PZ_U32] = 4,
      [PZ_I32] = 4, [PZ_U64] = 8, [PZ_I64] = 8, [PZ_F16] = 2, [PZ_F64] = 8, [PZ_BOOL] = 1};
  int dtype;
  long long size[3], step[3];
  double *voxel = r->voxel_size, *first = r->origin;
  PyObject *origin;
  if (!PyTuple_Check(given)) return (r->path = PyUnicode_AsUTF8(given)) != NULL;
  if (!PyArg_ParseTuple(given, "Oii(LLL)(LLL)(ddd)zOz", &from->callable, &dtype, &r->channels, &size[0],
                        &size[1], &size[2], &step[0], &step[1], &step[2], &voxel[0], &voxel[1], &voxel[2],
                        &r->unit, &origin, &r->identity))
    return false;
  r->has_origin = origin != Py_None;
  if (r->has_origin && !PyArg_ParseTuple(origin, "ddd", &first[0], &first[1], &first[2])) return false;
  if (dtype < 0 || dtype > PZ_BOOL) return PyErr_SetString(PyExc_ValueError, "an unknown dtype"), false;
  r->dtype = (pz_dtype)dtype;
  for (int i = 0; i < 3; i++) r->shape[i] = size[i], r->step[i] = step[i];
  r->read = read_box, r->host = from;
  from->channels = r->channels;
  from->element = bytes[dtype];
  return true;
}

static bool take_input(PyObject *given, work *w) { return take_volume(given, &w->reader, &w->input); }

static bool take_mask(PyObject *given, work *w) {
  if (given == Py_None) return true;
  w->options.mask = &w->mask;
  return take_volume(given, &w->masker, &w->mask);
}

/* A path, or (callable, step, path of a job or None). */
static bool take_output(PyObject *given, work *w) {
  long long step[3];
  if (!PyTuple_Check(given)) return (w->output.path = PyUnicode_AsUTF8(given)) != NULL;
  if (!PyArg_ParseTuple(given, "O(LLL)z", &w->writer.callable, &step[0], &step[1], &step[2], &w->output.job))
    return false;
  for (int i = 0; i < 3; i++) w->output.step[i] = step[i];
  w->output.write = write_box, w->output.host = &w->writer;
  return true;
}

static bool take_options(PyObject *args, PyObject **input, PyObject **output, PyObject **mask, work *w) {
  pz_infer_options *o = &w->options;
  int tiling, blend, normalize, border, nan, store, sums, apply, skip_zero, resume, no_overwrite, update;
  long long memory, start[3], size[3];
  PyObject *progress;
  if (!PyArg_ParseTuple(args, "OO(iii)(ddd)(iii)IIiiiiiiiifppppLOOzz(LLL)(LLL)(iii)O!Ozz", input, output,
                        &o->overlap[0], &o->overlap[1], &o->overlap[2], &o->overlap_part[0],
                        &o->overlap_part[1], &o->overlap_part[2], &o->crop[0], &o->crop[1], &o->crop[2],
                        &o->given, &o->mirror_axes, &tiling, &blend, &normalize, &border, &nan, &store, &sums,
                        &apply, &o->threshold, &skip_zero, &resume, &no_overwrite, &update, &memory,
                        &progress, &w->planned, &o->axes, &o->at, &start[0], &start[1], &start[2], &size[0],
                        &size[1], &size[2], &o->context[0], &o->context[1], &o->context[2], &PyTuple_Type,
                        &w->others, mask, &o->codec, &o->preview))
    return false;
  for (int i = 0; i < 3; i++) o->box.start[i] = start[i], o->box.size[i] = size[i];
  o->tiling = (pz_tiling)tiling, o->blend = (pz_blend)blend, o->normalize = (pz_normalize)normalize;
  o->border = (pz_border)border, o->nan = (pz_nan)nan, o->store = (pz_store)store, o->sums = (pz_sums)sums;
  o->apply = (pz_apply)apply;
  o->skip_zero = skip_zero, o->resume = resume, o->no_overwrite = no_overwrite, o->update = update,
  o->memory = memory;
  w->progress.callable = progress == Py_None ? NULL : progress;
  o->progress = pznet_on_progress, o->progress_host = &w->progress, o->interrupt = &w->progress.interrupt;
  o->planned = on_planned, o->planned_host = w;
  w->reader.failed = w->masker.failed = w->writer.failed = &w->failed;
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

/* A capsule that the caller releases; NULL: an exception. */
static pz_net *open_handle(PyObject *opened, PyObject **handle) {
  *handle = PyObject_CallMethod(opened, "handle", NULL);
  return *handle ? PyCapsule_GetPointer(*handle, PZNET_HANDLE) : NULL;
}

static bool take_others(work *w) {
  const Py_ssize_t n = PyTuple_GET_SIZE(w->others);
  if (n > PZ_MOST_ENSEMBLE)
    return PyErr_Format(PyExc_ValueError, "an ensemble of %zd networks beside the first: expected at most %d",
                        n, PZ_MOST_ENSEMBLE),
           false;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!(w->nets[i] = open_handle(PyTuple_GET_ITEM(w->others, i), &w->handles[i]))) return false;
  w->options.ensemble_size = (int32_t)n;
  if (n) w->options.ensemble_nets = w->nets;
  return true;
}

/* infer(net, options): net is a pznet._net.Net, options are those that pznet/inferring.py gives; the report comes back. */
PyObject *pznet_infer(PyObject *module, PyObject *args) {
  PyObject *opened, *options, *input, *output, *mask, *handle = NULL, *report = NULL;
  work w = {.planned = NULL};
  if (!PyArg_ParseTuple(args, "OO!", &opened, &PyTuple_Type, &options) ||
      !take_options(options, &input, &output, &mask, &w) || !take_input(input, &w) ||
      !take_output(output, &w) || !take_mask(mask, &w))
    return NULL;
  pz_net *net = open_handle(opened, &handle);
  if (net && take_others(&w)) report = run(module, net, &w);
  for (int i = 0; i < PZ_MOST_ENSEMBLE; i++) Py_XDECREF(w.handles[i]);
  Py_XDECREF(handle);
  return report;
}
