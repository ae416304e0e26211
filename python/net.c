/* net.c: pznet._net, network files: open, run, profile. It needs none of the libraries that compiling and volumes do, so that
 * a process that only runs networks does not load them: those are in pznet._pznet (module.c).
 * Buffers come and go through the buffer protocol, so that arrays are neither copied nor is NumPy needed to build;
 * pznet/network.py gives them their shapes. The interpreter lock is released while networks are opened and run. */
#include "module.h"

typedef struct module_state {
  PyObject *error; /* pznet.Error(RuntimeError), with .status */
  PyTypeObject *net_type;
} module_state;

static module_state *state_of(PyObject *module) { return PyModule_GetState(module); }

static PyObject *raise_last(PyObject *self, pz_status status) {
  return pznet_raise(((module_state *)PyModule_GetState(PyType_GetModule(Py_TYPE(self))))->error, status);
}

/* ---- Net ---- */

typedef struct net_object {
  PyObject_HEAD pz_net *net;
} net_object;

static int net_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"path", "threads", "digest", "target", NULL};
  PyObject *path = NULL; /* released by the parser where it fails */
  pz_net_options options = PZ_NET_OPTIONS;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|izz", names, PyUnicode_FSConverter, &path,
                                   &options.threads, &options.digest, &options.target))
    return -1;
  if (((net_object *)self)->net) {
    PyErr_SetString(PyExc_ValueError, "this network is open already");
    Py_DECREF(path);
    return -1;
  }
  pz_net *net = NULL;
  pz_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_net_open(PyBytes_AS_STRING(path), &options, &net);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status != PZ_OK) {
    raise_last(self, status);
    return -1;
  }
  ((net_object *)self)->net = net;
  return 0;
}

static void net_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  pz_net_close(((net_object *)self)->net);
  type->tp_free(self);
  Py_DECREF(type);
}

static pz_net *net_of(PyObject *self) {
  pz_net *net = ((net_object *)self)->net;
  if (!net) PyErr_SetString(PyExc_ValueError, "this network is not open");
  return net;
}

/* Of an element type: its name, and how the buffer protocol spells it; bfloat16, which it does not know, is its 16 bits. */
static const struct {
  const char *name, *format;
} types[] = {
    [PZ_F32] = {"f32", "f"},  [PZ_U8] = {"u8", "B"},   [PZ_U16] = {"u16", "H"}, [PZ_I16] = {"i16", "h"},
    [PZ_I8] = {"i8", "b"},    [PZ_U32] = {"u32", "I"}, [PZ_I32] = {"i32", "i"}, [PZ_U64] = {"u64", "LQ"},
    [PZ_I64] = {"i64", "lq"}, [PZ_F16] = {"f16", "e"}, [PZ_F64] = {"f64", "d"}, [PZ_BOOL] = {"bool", "?"},
    [PZ_BF16] = {"bf16", "H"}};

static PyObject *port_tuple(const pz_port *p) {
  PyObject *shape = PyTuple_New(p->rank);
  for (int32_t i = 0; shape && i < p->rank; i++) PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(p->dim[i]));
  PyObject *name = PyUnicode_DecodeUTF8(p->name, (Py_ssize_t)strlen(p->name), "backslashreplace");
  if (name && shape) return Py_BuildValue("(NNs)", name, shape, types[p->dtype].name);
  Py_XDECREF(name);
  Py_XDECREF(shape);
  return NULL;
}

static PyObject *net_ports(PyObject *self, int32_t n, pz_status (*get)(const pz_net *, int32_t, pz_port *)) {
  PyObject *list = PyList_New(0);
  for (int32_t i = 0; list && i < n; i++) {
    pz_port port;
    const pz_status status = get(net_of(self), i, &port);
    PyObject *one = status == PZ_OK ? port_tuple(&port) : raise_last(self, status);
    if (!one || PyList_Append(list, one)) Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}
static PyObject *net_inputs(PyObject *self, PyObject *unused) {
  (void)unused;
  return net_of(self) ? net_ports(self, pz_net_inputs(net_of(self)), pz_net_input) : NULL;
}
static PyObject *net_outputs(PyObject *self, PyObject *unused) {
  (void)unused;
  return net_of(self) ? net_ports(self, pz_net_outputs(net_of(self)), pz_net_output) : NULL;
}
static PyObject *net_manifest(PyObject *self, PyObject *unused) {
  (void)unused;
  return net_of(self) ? PyUnicode_FromString(pz_net_manifest(net_of(self))) : NULL;
}
static PyObject *net_threads(PyObject *self, PyObject *unused) {
  (void)unused;
  return net_of(self) ? PyLong_FromLong(pz_net_threads(net_of(self))) : NULL;
}
static PyObject *net_memory(PyObject *self, PyObject *unused) {
  (void)unused;
  return net_of(self) ? PyLong_FromLongLong(pz_net_memory(net_of(self))) : NULL;
}

static PyObject *net_digest(PyObject *self, PyObject *unused) {
  (void)unused;
  pz_net *net = net_of(self);
  const char *digest;
  pz_status status;
  if (!net) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_net_digest(net, &digest);
  Py_END_ALLOW_THREADS;
  return status == PZ_OK ? PyUnicode_FromString(digest) : raise_last(self, status);
}

static PyObject *net_reset(PyObject *self, PyObject *unused) {
  (void)unused;
  pz_net *net = net_of(self);
  if (!net) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  pz_net_reset(net);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

/* For pznet._pznet: valid as long as this object is. */
static PyObject *net_handle(PyObject *self, PyObject *unused) {
  (void)unused;
  return net_of(self) ? PyCapsule_New(net_of(self), PZNET_HANDLE, NULL) : NULL;
}

/* The buffers of one run. */
typedef struct buffers {
  Py_buffer *views;
  void **data;
  int32_t count, held;
} buffers;

static void release(buffers *b) {
  for (int32_t i = 0; i < b->held; i++) PyBuffer_Release(&b->views[i]);
  PyMem_Free(b->views);
  PyMem_Free(b->data);
}

/* "f", "<f" or "=f". */
static bool has_type(const Py_buffer *view, const pz_port *port) {
  const char *format = view->format ? view->format : "B";
  if (*format == '<' || *format == '=') format++;
  return *format && !format[1] && strchr(types[port->dtype].format, *format) && view->len == port->bytes;
}

static bool hold(buffers *b, PyObject *sequence, int32_t wanted, int flags, const pz_net *net,
                 pz_status (*get)(const pz_net *, int32_t, pz_port *), const char *what) {
  *b = (buffers){.count = wanted};
  b->views = PyMem_Calloc((size_t)wanted + 1, sizeof *b->views);
  b->data = PyMem_Calloc((size_t)wanted + 1, sizeof *b->data);
  if (!b->views || !b->data) return PyErr_NoMemory(), false;
  if (PySequence_Size(sequence) != wanted)
    return PyErr_Format(PyExc_ValueError, "the network has %d %ss, %zd were given", wanted, what,
                        PySequence_Size(sequence)),
           false;
  for (; b->held < wanted; b->held++) {
    PyObject *item = PySequence_GetItem(sequence, b->held);
    const int failed =
        !item || PyObject_GetBuffer(item, &b->views[b->held], flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    Py_XDECREF(item);
    if (failed) return false;
    pz_port port;
    const Py_buffer *view = &b->views[b->held];
    b->data[b->held] = view->buf;
    if (get(net, b->held, &port) == PZ_OK && has_type(view, &port)) continue;
    char shown[256];
    PyErr_Format(PyExc_ValueError, "%s %d ('%s') wants %lld values of %s", what, b->held,
                 pz_printable(port.name, shown, sizeof shown), (long long)port.elements,
                 types[port.dtype].name);
    b->held++;
    return false;
  }
  return true;
}

typedef struct call {
  buffers in, out;
} call;

static bool begin_call(PyObject *self, PyObject *inputs, PyObject *outputs, call *c) {
  const pz_net *net = net_of(self);
  *c = (call){0};
  return net && hold(&c->in, inputs, pz_net_inputs(net), PyBUF_SIMPLE, net, pz_net_input, "input") &&
         hold(&c->out, outputs, pz_net_outputs(net), PyBUF_WRITABLE, net, pz_net_output, "output");
}

static PyObject *net_run(PyObject *self, PyObject *args) {
  PyObject *inputs, *outputs, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO", &inputs, &outputs)) return NULL;
  call c;
  if (begin_call(self, inputs, outputs, &c)) {
    pz_net *net = net_of(self);
    pz_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = pz_net_run(net, (const void *const *)c.in.data, c.out.data);
    Py_END_ALLOW_THREADS;
    result = status == PZ_OK ? Py_NewRef(Py_None) : raise_last(self, status);
  }
  release(&c.in);
  release(&c.out);
  return result;
}

static PyObject *profile_rows(const pz_step_profile *steps, int32_t n) {
  PyObject *list = PyList_New(0);
  for (int32_t i = 0; list && i < n; i++) {
    PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:d,s:d,s:d}", "layer", steps[i].name, "op", steps[i].op,
                                  "algorithm", steps[i].algorithm, "multiply_adds", steps[i].multiply_adds,
                                  "bytes", steps[i].bytes, "seconds", steps[i].seconds);
    if (!row || PyList_Append(list, row)) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

static PyObject *net_profile(PyObject *self, PyObject *args) {
  PyObject *inputs, *outputs, *result = NULL;
  int runs;
  if (!PyArg_ParseTuple(args, "OOi", &inputs, &outputs, &runs)) return NULL;
  call c;
  if (begin_call(self, inputs, outputs, &c)) {
    pz_net *net = net_of(self);
    pz_step_profile *steps = PyMem_Calloc((size_t)pz_net_steps(net) + 1, sizeof *steps);
    pz_status status = PZ_ERROR_MEMORY;
    if (steps) {
      Py_BEGIN_ALLOW_THREADS;
      status = pz_net_profile(net, (const void *const *)c.in.data, c.out.data, runs, steps);
      Py_END_ALLOW_THREADS;
      result = status == PZ_OK ? profile_rows(steps, pz_net_steps(net)) : raise_last(self, status);
    } else PyErr_NoMemory();
    PyMem_Free(steps);
  }
  release(&c.in);
  release(&c.out);
  return result;
}

static PyMethodDef net_methods[] = {
    {"inputs", net_inputs, METH_NOARGS, "[(name, shape, type)] of the inputs"},
    {"outputs", net_outputs, METH_NOARGS, "[(name, shape, type)] of the outputs"},
    {"manifest", net_manifest, METH_NOARGS, "the manifest, a JSON text"},
    {"digest", net_digest, METH_NOARGS, "SHA-256 of the file that was opened"},
    {"threads", net_threads, METH_NOARGS, "how many threads run it"},
    {"memory", net_memory, METH_NOARGS, "bytes held for running"},
    {"run", net_run, METH_VARARGS,
     "run(inputs, outputs): sequences of C-contiguous buffers of the ports' types"},
    {"reset", net_reset, METH_NOARGS, "the network's state is zero again"},
    {"profile", net_profile, METH_VARARGS, "profile(inputs, outputs, runs): a row for each step"},
    {"handle", net_handle, METH_NOARGS, "what pznet._pznet.infer takes"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot net_slots[] = {{Py_tp_doc, "An open network file."}, {Py_tp_init, net_init},
                                  {Py_tp_new, PyType_GenericNew},       {Py_tp_dealloc, net_dealloc},
                                  {Py_tp_methods, net_methods},         {0, NULL}};
static PyType_Spec net_spec = {"pznet._net.Net", sizeof(net_object), 0, Py_TPFLAGS_DEFAULT, net_slots};

/* ---- the module ---- */

static PyObject *version(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyUnicode_FromString(pz_version());
}

static PyMethodDef functions[] = {{"version", version, METH_NOARGS, "the library's version"},
                                  {NULL, NULL, 0, NULL}};

static int module_exec(PyObject *module) {
  module_state *state = state_of(module);
  PyObject *attributes = Py_BuildValue("{s:i}", "status", PZ_ERROR_RUN);
  state->error =
      PyErr_NewExceptionWithDoc("pznet.Error", "A model, network file or volume is bad, or a run failed.",
                                PyExc_RuntimeError, attributes);
  Py_XDECREF(attributes);
  state->net_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &net_spec, NULL);
  if (!state->error || !state->net_type) return -1;
  return PyModule_AddObjectRef(module, "Error", state->error) ||
                 PyModule_AddObjectRef(module, "Net", (PyObject *)state->net_type)
             ? -1
             : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
  module_state *state = state_of(module);
  Py_VISIT(state->error);
  Py_VISIT(state->net_type);
  return 0;
}
static int module_clear(PyObject *module) {
  module_state *state = state_of(module);
  Py_CLEAR(state->error);
  Py_CLEAR(state->net_type);
  return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module_def = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "pznet._net",
                                        .m_size = sizeof(module_state),
                                        .m_methods = functions,
                                        .m_slots = module_slots,
                                        .m_traverse = module_traverse,
                                        .m_clear = module_clear};

PyMODINIT_FUNC PyInit__net(void);
PyMODINIT_FUNC PyInit__net(void) { return PyModuleDef_Init(&module_def); }
