/* module.h: what the files of the two extensions share. */
#ifndef PZNET_PYTHON_MODULE_H
#define PZNET_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pznet/pznet.h"

/* The name of the capsule in which an open network goes from pznet._net to pznet._pznet: both are built from one source. */
#define PZNET_HANDLE "pznet.net"

/* Sets the exception for the last failure of a call, unless one is set: `error` (pznet.Error, with .status) or the one of
 * Python's that says it; returns NULL. raise.c */
PyObject *pznet_raise(PyObject *error, pz_status status);

/* ---- pznet._pznet ---- */

PyObject *pznet_error_of(PyObject *module);

/* The progress callback, with the interpreter lock; Ctrl-C is seen there and ends the work. */
typedef struct progress_host {
  PyObject *callable; /* or NULL */
  volatile int interrupt;
} progress_host;
void pznet_on_progress(void *host, const char *what, int64_t done, int64_t total, double seconds);

PyObject *pznet_infer(PyObject *module, PyObject *args);
PyObject *pznet_preview(PyObject *module, PyObject *args);

#endif
