/* preview.c: a picture of a plane and of a result's beside it. */
#include "module.h"

#include <string.h>

/* "B", also with a sign of the byte order: the formats of buffers that are elements of results. */
static bool dtype_of(const Py_buffer *b, pz_dtype *dtype) {
  static const struct {
    char format;
    pz_dtype dtype;
  } rows[] = {{'f', PZ_F32}, {'B', PZ_U8},  {'H', PZ_U16}, {'e', PZ_F16},
              {'b', PZ_I8},  {'h', PZ_I16}, {'i', PZ_I32}};
  const char *format = b->format ? b->format : "B";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (format[0] == rows[i].format && !format[1]) return *dtype = rows[i].dtype, true;
  return false;
}

/* The result is [y, x] or [channels, y, x], of the plane's size. */
static bool describe(const Py_buffer *plane, const Py_buffer *result, pz_preview *v) {
  pz_dtype floats;
  const Py_ssize_t *size = result->shape + result->ndim - 2;
  if (plane->ndim != 2 || !dtype_of(plane, &floats) || floats != PZ_F32)
    return PyErr_SetString(PyExc_ValueError, "the plane: expected float32 of [y, x]"), false;
  if ((result->ndim != 2 && result->ndim != 3) || !dtype_of(result, &v->dtype))
    return PyErr_SetString(PyExc_ValueError,
                           "the result: expected [y, x] or [channels, y, x] of float32, float16, "
                           "uint8, uint16, int8, int16 or int32"),
           false;
  if (size[0] != plane->shape[0] || size[1] != plane->shape[1])
    return PyErr_SetString(PyExc_ValueError, "the result: expected a plane of the same size"), false;
  const Py_ssize_t channels = result->ndim == 3 ? result->shape[0] : 1;
  if (channels < 1 || channels > 4096)
    return PyErr_SetString(PyExc_ValueError, "the result: expected 1 to 4096 channels"), false;
  v->height = size[0], v->width = size[1], v->channels = (int32_t)channels;
  v->plane = plane->buf, v->result = result->buf;
  return true;
}

static PyObject *write_preview(PyObject *module, const char *path, const pz_preview *v) {
  pz_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = pz_preview_write(path, v);
  Py_END_ALLOW_THREADS;
  return status == PZ_OK ? Py_NewRef(Py_None) : pznet_raise(pznet_error_of(module), status);
}

static PyObject *with_plane(PyObject *module, PyObject *path, const Py_buffer *plane, PyObject *array,
                            bool labels) {
  Py_buffer result;
  pz_preview v = {.labels = labels};
  PyObject *done = NULL;
  if (PyObject_GetBuffer(array, &result, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) return NULL;
  if (describe(plane, &result, &v)) done = write_preview(module, PyBytes_AS_STRING(path), &v);
  PyBuffer_Release(&result);
  return done;
}

/* preview(path, plane, result, labels): arrays in C order. */
PyObject *pznet_preview(PyObject *module, PyObject *args) {
  PyObject *path, *array, *values, *done = NULL;
  int labels;
  Py_buffer plane;
  if (!PyArg_ParseTuple(args, "O&OOp", PyUnicode_FSConverter, &path, &array, &values, &labels)) return NULL;
  if (PyObject_GetBuffer(array, &plane, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
    done = with_plane(module, path, &plane, values, labels);
    PyBuffer_Release(&plane);
  }
  Py_DECREF(path);
  return done;
}
