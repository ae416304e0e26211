/* raise.c: failures of the C API as exceptions. */
#include "module.h"

/* pznet.Error with the last message; .status says which of pz_status. */
static void set_error(PyObject *type, pz_status status) {
  PyObject *error = PyObject_CallFunction(type, "s", pz_last_message());
  PyObject *number = error ? PyLong_FromLong(status) : NULL;
  if (number && PyObject_SetAttrString(error, "status", number) == 0) PyErr_SetObject(type, error);
  Py_XDECREF(number);
  Py_XDECREF(error);
}

PyObject *pznet_raise(PyObject *error, pz_status status) {
  if (PyErr_Occurred()) return NULL;
  if (status == PZ_ERROR_MEMORY) PyErr_SetString(PyExc_MemoryError, pz_last_message());
  else if (status == PZ_INTERRUPTED) PyErr_SetString(PyExc_KeyboardInterrupt, pz_last_message());
  else if (status == PZ_ERROR_USAGE) PyErr_SetString(PyExc_ValueError, pz_last_message());
  else set_error(error, status);
  return NULL;
}
