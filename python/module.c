/* module.c: pznet._pznet, the rest of the C extension over the public C API: networks are compiled, and applied to volumes
 * (infer.c, preview.c). Imported when it is first needed (net.c). */
#include "module.h"

typedef struct module_state {
  PyObject *error; /* pznet.Error */
} module_state;

PyObject *pznet_error_of(PyObject *module) { return ((module_state *)PyModule_GetState(module))->error; }

void pznet_on_progress(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  progress_host *h = host;
  PyGILState_STATE gil = PyGILState_Ensure();
  if (!PyErr_Occurred() && h->callable) {
    PyObject *r =
        PyObject_CallFunction(h->callable, "sLLd", what, (long long)done, (long long)total, seconds);
    Py_XDECREF(r);
  }
  if (PyErr_Occurred() || PyErr_CheckSignals()) h->interrupt = 1;
  PyGILState_Release(gil);
}

typedef struct compile_args {
  PyObject *model, *output, *shapes, *input_types, *output_types, *progress;
  pz_compile_options options;
} compile_args;

static bool strings(PyObject *from, const char ***list, int32_t *n) {
  if (!from) return true;
  *n = (int32_t)PySequence_Size(from);
  *list = *n < 0 ? NULL : PyMem_Calloc((size_t)*n + 1, sizeof **list);
  for (int32_t i = 0; *list && i < *n; i++) {
    PyObject *item = PySequence_GetItem(from, i);
    (*list)[i] = item ? PyUnicode_AsUTF8(item) : NULL;
    Py_XDECREF(item); /* the sequence keeps it */
    if (!(*list)[i]) return false;
  }
  return *list != NULL;
}

static PyObject *run_compile(PyObject *module, compile_args *a) {
  progress_host host = {.callable = a->progress == Py_None ? NULL : a->progress};
  char *summary = NULL;
  pz_status status;
  a->options.progress = pznet_on_progress;
  a->options.progress_host = &host;
  a->options.interrupt = &host.interrupt;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_compile(PyBytes_AS_STRING(a->model), PyBytes_AS_STRING(a->output), &a->options, &summary);
  Py_END_ALLOW_THREADS;
  if (status != PZ_OK) {
    /* Ctrl-C may come with a failure, before the signal is looked at. */
    if (!PyErr_Occurred() && PyErr_CheckSignals()) return NULL;
    return pznet_raise(pznet_error_of(module), status);
  }
  PyObject *text = PyUnicode_FromString(summary);
  pz_free(summary);
  return text;
}

/* None: the default. False: an exception is set. */
static bool budget_of(PyObject *seconds, pz_compile_options *o) {
  o->bounded = seconds != Py_None;
  if (o->bounded) o->budget = PyFloat_AsDouble(seconds);
  return !PyErr_Occurred();
}

static PyObject *compile_network(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"model",     "output",    "weights",  "isa",         "cc",           "emit_c",
                          "disable",   "inputs",    "progress", "effort",      "tuning",       "threads",
                          "precision", "max_error", "target",   "input_types", "output_types", "cache",
                          "budget",    "tiling",    "patch",    "volume",      "memory",       NULL};
  compile_args a = {.options = PZ_COMPILE_OPTIONS, .progress = Py_None};
  pz_compile_options *o = &a.options;
  PyObject *budget = Py_None;
  long long memory = 0;
  const char **shapes = NULL, **input_types = NULL, **output_types = NULL;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O&O&zzzzzOOzzizd|zOOzOzzzL", names, PyUnicode_FSConverter, &a.model,
          PyUnicode_FSConverter, &a.output, &o->weights, &o->isa, &o->cc, &o->emit_c, &o->disable, &a.shapes,
          &a.progress, &o->effort, &o->tuning, &o->threads, &o->precision, &o->max_error, &o->target,
          &a.input_types, &a.output_types, &o->cache, &budget, &o->tiling, &o->patch, &o->volume, &memory))
    return NULL;
  PyObject *result = NULL;
  o->memory = memory;
  if (budget_of(budget, o) && strings(a.shapes, &shapes, &o->n_input_shapes) &&
      strings(a.input_types, &input_types, &o->n_input_types) &&
      strings(a.output_types, &output_types, &o->n_output_types)) {
    o->input_shapes = shapes, o->input_types = input_types, o->output_types = output_types;
    result = run_compile(module, &a);
  }
  PyMem_Free(shapes), PyMem_Free(input_types), PyMem_Free(output_types);
  Py_DECREF(a.model);
  Py_DECREF(a.output);
  return result;
}

static PyObject *run_tune(PyObject *module, const char *network, PyObject *progress, pz_tune_options *o) {
  progress_host host = {.callable = progress == Py_None ? NULL : progress};
  char *report = NULL;
  pz_status status;
  o->progress = pznet_on_progress;
  o->progress_host = &host;
  o->interrupt = &host.interrupt;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_tune_network(network, o, &report);
  Py_END_ALLOW_THREADS;
  PyObject *text = status == PZ_OK ? PyUnicode_FromString(report) : NULL;
  pz_free(report);
  if (status == PZ_OK) return text;
  if (!PyErr_Occurred() && PyErr_CheckSignals()) return NULL;
  return pznet_raise(pznet_error_of(module), status);
}

static PyObject *tune_network(PyObject *module, PyObject *args) {
  PyObject *network, *progress;
  pz_tune_options o = PZ_TUNE_OPTIONS;
  if (!PyArg_ParseTuple(args, "O&dzzzziO|z", PyUnicode_FSConverter, &network, &o.budget, &o.effort,
                        &o.database, &o.cc, &o.cache, &o.threads, &progress, &o.target))
    return NULL;
  PyObject *result = run_tune(module, PyBytes_AS_STRING(network), progress, &o);
  Py_DECREF(network);
  return result;
}

/* NULL: an exception is set. */
static PyObject *tune_fit(PyObject *module, PyObject *args) {
  const char *database;
  pz_tune_fit_options o = PZ_TUNE_FIT_OPTIONS;
  int stale;
  if (!PyArg_ParseTuple(args, "zp", &database, &stale)) return NULL;
  char *report = NULL;
  pz_status status;
  o.stale = stale;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_tune_fit(database, &o, &report);
  Py_END_ALLOW_THREADS;
  PyObject *text = status == PZ_OK ? PyUnicode_FromString(report) : NULL;
  pz_free(report);
  return status == PZ_OK ? text : pznet_raise(pznet_error_of(module), status);
}

static PyObject *progress_left(PyObject *module, PyObject *unused) {
  const double left = pz_progress_left();
  (void)module, (void)unused;
  return left < 0 ? Py_NewRef(Py_None) : PyFloat_FromDouble(left);
}

static PyMethodDef functions[] = {{"compile", (PyCFunction)(void (*)(void))compile_network,
                                   METH_VARARGS | METH_KEYWORDS, "see pznet.compile"},
                                  {"infer", pznet_infer, METH_VARARGS, "see pznet.infer"},
                                  {"preview", pznet_preview, METH_VARARGS, "a picture: pz_preview_write"},
                                  {"progress_left", progress_left, METH_NOARGS, "see pznet.progress_left"},
                                  {"tune", tune_network, METH_VARARGS, "see pznet.tune"},
                                  {"tune_fit", tune_fit, METH_VARARGS, "see pznet.tune_fit"},
                                  {NULL, NULL, 0, NULL}};

static int module_exec(PyObject *module) {
  module_state *state = PyModule_GetState(module);
  PyObject *net = PyImport_ImportModule("pznet._net");
  state->error = net ? PyObject_GetAttrString(net, "Error") : NULL;
  Py_XDECREF(net);
  return state->error ? 0 : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
  Py_VISIT(pznet_error_of(module));
  return 0;
}
static int module_clear(PyObject *module) {
  Py_CLEAR(((module_state *)PyModule_GetState(module))->error);
  return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module_def = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "pznet._pznet",
                                        .m_size = sizeof(module_state),
                                        .m_methods = functions,
                                        .m_slots = module_slots,
                                        .m_traverse = module_traverse,
                                        .m_clear = module_clear};

PyMODINIT_FUNC PyInit__pznet(void);
PyMODINIT_FUNC PyInit__pznet(void) { return PyModuleDef_Init(&module_def); }
