/* advice.c: models that another program has changed, or written for itself alone: which it was, and how to export again. The
 * operators and domains are those that these programs document. */
#include "import/onnx/onnx.h"
#include <string.h>

#define RUNTIME                                                                                              \
  "ONNX Runtime has optimised this model: give the one that it was made from, or let ONNX Runtime save it "  \
  "with "                                                                                                    \
  "graph_optimization_level = ORT_ENABLE_BASIC"
#define QUANTISED                                                                                            \
  "the model is quantised by operators of integers: give the one of floats, or quantise it with "            \
  "quant_format = QuantFormat.QDQ"
#define OPENVINO "OpenVINO has written this model for itself: give the one that it was made from"
#define TENSORRT "the model has plugins of TensorRT: export it for ONNX Runtime, without them"
#define ATEN                                                                                                 \
  "PyTorch has left operators of its own in the model: export it with operator_export_type = ONNX, or with " \
  "dynamo = True"
#define CUSTOM "these operators belong to the program that exported the model: export it without them"

/* A refusal fits where its domain does and its operator begins as the row's; "": any. */
static const struct {
  const char *domain, *op, *text;
} rows[] = {
    {"com.microsoft", "QLinear", QUANTISED},
    {"com.microsoft", "QAttention", QUANTISED},
    {"com.microsoft", "QGemm", QUANTISED},
    {"com.microsoft", "DynamicQuantize", QUANTISED},
    {"com.microsoft", "MatMulInteger", QUANTISED},
    {"com.microsoft.extensions", "",
     "the model has steps of onnxruntime-extensions before or behind the network: export the network alone"},
    {"com.microsoft", "", RUNTIME},
    {"com.microsoft.nchwc", "", RUNTIME},
    {"com.microsoft.dml", "", RUNTIME},
    {"com.ms.internal.nhwc", "", RUNTIME},
    {"ai.onnx.contrib", "",
     "the model has steps of onnxruntime-extensions before or behind the network: export the network alone"},
    {"ai.onnx.ml", "", "this is classical machine learning, not a network of convolutions"},
    {"ai.onnx.training", "", "the model is one for training: export it after model.eval()"},
    {"ai.onnx.preview.training", "", "the model is one for training: export it after model.eval()"},
    {"org.openvinotoolkit", "", OPENVINO},
    {"openvino", "", OPENVINO},
    {"trt", "", TENSORRT},
    {"trt.plugins", "", TENSORRT},
    {"", "TRT_", TENSORRT},
    {"", "EfficientNMS", TENSORRT},
    {"", "BatchedNMS", TENSORRT},
    {"org.pytorch.aten", "", ATEN},
    {"aten", "", ATEN},
    {"prim", "", ATEN},
    {"", "ATen", ATEN},
    {"mmdeploy", "", CUSTOM},
    {"mmcv", "", CUSTOM},
    {"custom_domain", "", CUSTOM},
    {"", "QLinear", QUANTISED},
    {"", "ConvInteger", QUANTISED},
    {"", "MatMulInteger", QUANTISED},
    {"", "DynamicQuantizeLinear", QUANTISED},
};
#define N_ROWS (sizeof rows / sizeof *rows)

static const char *advice_for(const pz_onnx_refusal *r) {
  if (*r->reason && !*r->domain) return NULL; /* an operator that is known */
  for (size_t i = 0; i < N_ROWS; i++)
    if (!strcmp(rows[i].domain, r->domain) && !strncmp(rows[i].op, r->op, strlen(rows[i].op)))
      return rows[i].text;
  return NULL;
}

/* Each advice once. The last one, which concerns a model's own functions, is for domains that no program is known by. */
void pz_onnx_advise(const pz_onnx *c, pz_text *out) {
  const char *given[N_ROWS];
  size_t n = 0;
  bool other = false;
  for (int32_t i = 0; i < c->n_refusals; i++) {
    const char *text = advice_for(&c->refusals[i]);
    bool known = false;
    other |= !text && *c->refusals[i].domain;
    for (size_t k = 0; k < n && text; k++) known |= given[k] == text;
    if (!text || known || n == N_ROWS) continue;
    given[n++] = text;
    pz_text_printf(out, ". Note: %s", text);
  }
  if (other && c->model.n_functions)
    pz_text_append(out, ". Note: the model has functions of its own: inline them "
                        "(onnx.inliner.inline_local_functions)");
  else if (!n && c->model.producer && !strncmp(c->model.producer, "onnxruntime", 11))
    pz_text_append(out, ". Note: " RUNTIME);
}
