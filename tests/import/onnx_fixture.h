/* onnx_fixture.h: ONNX models by hand, message by message. */
#ifndef PZ_TESTS_IMPORT_ONNX_FIXTURE_H
#define PZ_TESTS_IMPORT_ONNX_FIXTURE_H

#include "fixture.h"
#include "import/onnx/onnx.h"

static inline void put_string(pz_text *out, uint32_t field, const char *s) {
  put_bytes(out, field, s, strlen(s));
}

/* A value's type: floats of a shape such as "1x3xHxW"; sizes that are no number are symbols, "?" none. NULL: no shape. */
static inline void put_info(pz_text *graph, uint32_t field, const char *name, int type, const char *shape) {
  pz_text info = {0}, outer = {0}, tensor = {0}, dims = {0};
  put_string(&info, 1, name);
  put_number(&tensor, 1, (uint64_t)type);
  for (const char *at = shape; at && *at;) {
    pz_text dim = {0};
    const size_t n = strcspn(at, "x");
    if (*at >= '0' && *at <= '9') put_number(&dim, 1, strtoull(at, NULL, 10));
    else if (*at == '-') put_number(&dim, 1, (uint64_t)strtoll(at, NULL, 10));
    else if (*at != '?') put_bytes(&dim, 2, at, n);
    put_message(&dims, 1, &dim);
    at += n + (at[n] == 'x');
  }
  if (shape) put_message(&tensor, 2, &dims);
  put_message(&outer, 1, &tensor);
  put_message(&info, 2, &outer);
  put_message(graph, field, &info);
}
static inline void put_input(pz_text *graph, const char *name, const char *shape) {
  put_info(graph, 11, name, 1, shape);
}
static inline void put_output(pz_text *graph, const char *name) { put_info(graph, 12, name, 1, NULL); }

/* Attributes are collected in a text of their own, which put_node takes. */
static inline void put_attr_int(pz_text *attributes, const char *name, int64_t value) {
  pz_text a = {0};
  put_string(&a, 1, name);
  put_number(&a, 20, 2);
  put_number(&a, 3, (uint64_t)value);
  put_message(attributes, 5, &a);
}
static inline void put_attr_ints(pz_text *attributes, const char *name, int n, const int64_t *values) {
  pz_text a = {0};
  put_string(&a, 1, name);
  put_number(&a, 20, 7);
  for (int i = 0; i < n; i++) put_number(&a, 8, (uint64_t)values[i]);
  put_message(attributes, 5, &a);
}
static inline void put_attr_text(pz_text *attributes, const char *name, const char *value) {
  pz_text a = {0};
  put_string(&a, 1, name);
  put_number(&a, 20, 3);
  put_string(&a, 4, value);
  put_message(attributes, 5, &a);
}

/* in and out: names joined by blanks, "_" for an absent one; op may be "domain::op". attributes (may be NULL) is freed. */
static inline void put_node(pz_text *graph, const char *name, const char *op, const char *in, const char *out,
                            pz_text *attributes) {
  pz_text node = {0};
  const char *lists[2] = {in, out}, *colons = strstr(op, "::");
  for (uint32_t k = 0; k < 2; k++)
    for (const char *at = lists[k]; *at;) {
      const size_t n = strcspn(at, " ");
      put_bytes(&node, k + 1, at, n == 1 && *at == '_' ? 0 : n);
      at += n + (at[n] == ' ');
    }
  put_string(&node, 3, name);
  put_string(&node, 4, colons ? colons + 2 : op);
  if (colons) put_bytes(&node, 7, op, (size_t)(colons - op));
  if (attributes) pz_text_append_bytes(&node, attributes->data, attributes->size);
  if (attributes) pz_text_free(attributes);
  put_message(graph, 1, &node);
}

/* TensorProto, without its data. */
static inline void put_tensor_head(pz_text *t, const char *name, int type, int rank, const int64_t *dims) {
  for (int i = 0; i < rank; i++) put_number(t, 1, (uint64_t)dims[i]);
  put_number(t, 2, (uint64_t)type);
  put_string(t, 8, name);
}
static inline void put_floats(pz_text *graph, const char *name, int rank, const int64_t *dims,
                              const float *values, size_t n) {
  pz_text t = {0};
  put_tensor_head(&t, name, 1, rank, dims);
  put_bytes(&t, 9, values, n * sizeof *values);
  put_message(graph, 5, &t);
}
static inline void put_ints(pz_text *graph, const char *name, int64_t n, const int64_t *values) {
  pz_text t = {0};
  put_tensor_head(&t, name, 7, 1, &n);
  put_bytes(&t, 9, values, (size_t)n * sizeof *values);
  put_message(graph, 5, &t);
}

/* The model of a graph, which is freed. */
static inline void put_model(pz_text *model, int64_t opset, pz_text *graph) {
  pz_text set = {0};
  put_number(model, 1, 8);
  put_number(&set, 2, (uint64_t)opset);
  put_message(model, 8, &set);
  put_message(model, 7, graph);
}
static inline const char *write_model(const char *name, int64_t opset, pz_text *graph) {
  pz_text model = {0};
  put_model(&model, opset, graph);
  return write_text(name, &model);
}

#endif
