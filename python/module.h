/* module.h: what the files of the extension share. */
#ifndef PZNET_PYTHON_MODULE_H
#define PZNET_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pznet/pznet.h"

/* Of a Net: the open network; NULL with an exception set where it is not open. */
pz_net *pznet_net_of(PyObject *self);
/* Sets the exception for the last failure of a call on a Net, unless one is set; returns NULL. */
PyObject *pznet_raise_last(PyObject *self, pz_status status);

/* The progress callback, with the interpreter lock; Ctrl-C is seen there and ends the work. */
typedef struct progress_host {
  PyObject *callable; /* or NULL */
  volatile int interrupt;
} progress_host;
void pznet_on_progress(void *host, const char *what, int64_t done, int64_t total, double seconds);

PyObject *pznet_net_infer(PyObject *self, PyObject *args);

#endif
