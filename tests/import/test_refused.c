/* What is refused, and how the message says so: place, name, what was expected. */
#include "fixture.h"

#define X                 "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 4 dim: 8 dim: 8 } } }\n"
#define LAYER(type, rest) X "layer { name: 'l' type: '" type "' bottom: 'x' top: 'y' " rest " }"
#define CONV(fields)      LAYER("Convolution", "convolution_param { " fields " }")
#define POOL(fields)      LAYER("Pooling", "pooling_param { " fields " }")
#define TWO                                                                                                  \
  "layer { name: 'z' type: 'Input' top: 'z' input_param { shape { dim: 1 dim: 4 dim: 7 dim: 8 } } }\n" X
#define DETECTION(nms, rest)                                                                                 \
  X "layer { name: 'l' type: 'DetectionOutput' bottom: 'x' bottom: 'x' bottom: 'x' top: 'y' "                \
    "detection_output_param { nms_param { " nms " } " rest " } }"
#define JOIN(type, rest) TWO "layer { name: 'l' type: '" type "' bottom: 'x' bottom: 'z' top: 'y' " rest " }"

static const struct refused {
  const char *text, *message;
} refused[] = {
    /* syntax */
    {"", "describes no layers"},
    {"name: 'a' name: 'b'", ":1:11: name is given twice"},
    {"name 'a'", ":1:6: expected ':', found ''a''"},
    {"name: a", ":1:7: expected a string in quotes, found 'a'"},
    {"name: 'a\n'", ":1:7: the string that begins here does not end on its line"},
    {"name: \"a", ":1:7: the string that begins here does not end on its line"},
    {"name: 'a\\q'", ":1:7: name: bad escape"},
    {"name: 'a\\777'", ":1:7: name: bad escape"},
    {"name: 'a\\ud800'", ":1:7: name: bad escape"},
    {"name: 'a\\xg'", ":1:7: name: bad escape"},
    {"name: 'a\\0b'", ":1:7: name: a NUL character"},
    {"\n layer }", ":2:8: expected '{', found '}'"},
    {"layer {", ":1:8: expected a field's name, but the file ends here"},
    {"layer { >", ":1:9: expected a field's name, found '>'"},
    {"layer < }", ":1:9: expected a field's name, found '}'"},
    {"layer: [ { } { } ]", ":1:14: expected ',' or ']', found '{'"},
    {"input_dim: 3.5", ":1:12: expected an integer, found '3.5'"},
    {"input_dim: 08", "input_dim: 08 is out of range"},
    {"input_dim: 2147483648", "input_dim: 2147483648 is out of range, -2147483648 to 2147483647"},
    {"input_dim: -2147483649", "input_dim: -2147483649 is out of range"},
    {"input_dim: 99999999999999999999999", "is out of range"},
    {"input_dim: 1a", ":1:12: bad number '1a...'"},
    {"input_dim: 1.2.3", ":1:12: bad number '1.2....'"},
    {"input_dim: [1, 2", "expected ',' or ']'"},
    {"input_dim: [1 2]", "expected ',' or ']'"},
    {"debug_info: maybe", ":1:13: expected true or false, found 'maybe'"},
    {"debug_info: 'true'", "expected true or false"},
    {"state { phase: VALIDATE }", "phase: unknown value 'VALIDATE', known are TRAIN, TEST"},
    {"state { phase: 7 }", "phase: unknown value '7', known are TRAIN, TEST"},
    {"name: 'x' $", ":1:11: unexpected character '$'"},
    {"\x01", ":1:1: unexpected byte 0x01: is this a prototxt?"},
    {"PK\x03\x04", "unexpected byte 0x03"},
    {CONV("num_output: -1"), "num_output: -1 is out of range, 0 to 4294967295"},
    {LAYER("ReLU", "relu_param { negative_slope: 1e99 }"), "negative_slope: '1e99' does not fit"},
    {LAYER("ReLU", "relu_param { negative_slope: x }"), "expected a number, found 'x'"},
    {LAYER("ReLU", "relu_param { negative_slope: nan }"),
     "layer 'l' (activation): alpha is not a finite number"},
    {"a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a "
     "{ a { a { "
     "a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a { a "
     "{ a { a { a "
     "{ a { a { a { a { a { a { a { a { a { a { a {",
     "nested deeper than 64"},
    {"a: [1, {b: <c: 'x' 'y'>}] a: -inf a }", ":1:37: expected ':' or '{'"},
    {"a: }", ":1:4: expected a value"},
    /* unknown */
    {X "\nfoo: 1", ":3:1: unknown field 'foo' in NetParameter"},
    {LAYER("ReLU", "relu_param {\n slope: 1 }"),
     ":3:2: unknown field 'slope' in ReLUParameter of layer 'l' (ReLU)"},
    {LAYER("ReLU", "blobs { data: 1 }"), "unknown field 'blobs' in LayerParameter of layer 'l'"},
    {LAYER("Data", "include { phse: TRAIN }"), "unknown field 'phse' in NetStateRule of layer 'l'"},
    {LAYER("ReLU", "exclude { } include { }"), "layer 'l' (ReLU): has include and exclude rules"},
    {LAYER("ReLU", "phase: TRAIN"), "layer 'l' (ReLU): phase: TRAIN"},
    {LAYER("Frobnicate", "frob_param { x: 1 }"),
     ":2: 1 layer of types that are not supported: Frobnicate ('l' line 2)"},
    {LAYER("", ""), "no type ('l' line 2)"},
    {"layer { name: 'd' type: 'Data' top: 'x' data_param { source: 'x' } }", "replaced by an Input layer"},
    {X "layer { name: 's' type: 'SoftmaxWithLoss' bottom: 'x' bottom: 'x' top: 's' }\n"
       "layer { name: 'e' type: 'Exp' } layer { name: 'f' type: 'SoftmaxWithLoss' }",
     ":2: 3 layers of types that are not supported: SoftmaxWithLoss: 2 layers ('s' line 2, 'f' line 3); Exp "
     "('e' "
     "line 3). Note: losses"},
    {LAYER("ReLU", "relu_param { a: 1 }") "layer { name: 'o' type: 'Odd' odd_param { b: 1 } }\nlayer { name: "
                                          "'p' type: 'ReLU' "
                                          "relu_param {\nc: 1 } }",
     ":2: 1 layer of types that are not supported: Odd ('o' line 2). Unknown besides: field 'a' in "
     "ReLUParameter of "
     "layer 'l' (ReLU); line 4: 'c' in ReLUParameter of layer 'p' (ReLU)"},
    {X "\nfoo: 1 bar: 2", ":3:1: 2 unknown fields: 'foo' in NetParameter; line 3: 'bar' in NetParameter"},
    {"layers { name: 'a' type: ABSVAL }", "AbsVal ('a' line 1)"},
    {"layers { name: 'a' type: NOSUCH }", "type: unknown value 'NOSUCH', known are NONE, ACCURACY"},
    {"layers { name: 'a' layer { name: 'v0' } }", "not supported: NONE"},
    {X "layers { name: 'a' type: RELU }", "'layers' (V1) in a file that also has 'layer'"},
    /* the net */
    {X "layer { name: 'l' type: 'ReLU' bottom: 'nope' top: 'y' }",
     "layer 'l' (ReLU): bottom 'nope' is made by no layer"},
    {"layer { name: 'd' type: 'Data' top: 'x' include { phase: TRAIN } }\n"
     "layer { name: 'l' type: 'ReLU' bottom: 'x' top: 'y' }",
     "bottom 'x' is made only by layer 'd' in line 1, which is not in phase TEST"},
    {X "layer { name: 'l' type: 'ReLU' bottom: 'm' top: 'l' }\nlayer { name: 'm' type: 'ReLU' bottom: 'l' "
       "top: 'm' }",
     "bottom 'm' is made only later, by layer 'm' in line 3: there is a cycle"},
    {X "layer { name: 'l' type: 'ReLU' bottom: 'y' top: 'y' }",
     "bottom 'y' is made by the layer itself: a cycle"},
    {X "layer { name: 'l' type: 'ReLU' bottom: 'x' top: 'y' }\nlayer { name: 'm' type: 'ReLU' bottom: 'x' "
       "top: 'y' }",
     "layer 'm' (ReLU): top 'y' is already made by layer 'l' in line 2"},
    {X "layer { name: 'l' type: 'Split' bottom: 'x' top: 'y' top: 'y' }",
     "top 'y' is already made by layer 'l'"},
    {X "layer { name: 'l' type: 'Slice' bottom: 'x' top: 'y' top: 'y' }", "two outputs are named"},
    {X, "the network has no output"},
    {X "layer { name: 'l' type: 'Silence' bottom: 'x' }", "the network has no output"},
    {X "layer { name: 'l' type: 'ReLU' bottom: 'x' }", "layer 'l' (ReLU): has 0 tops, expected 1"},
    {X "layer { name: 'l' type: 'ReLU' top: 'y' }", "layer 'l' (ReLU): has 0 bottoms, expected 1"},
    {X "layer { name: 'l' type: 'Scale' bottom: 'x' bottom: 'x' bottom: 'x' top: 'y' }",
     "has 3 bottoms, expected 1 to 2"},
    {X "layer { name: 'l' type: 'Eltwise' bottom: 'x' top: 'y' }", "has 1 bottoms, expected at least 2"},
    {X
     "layer { name: 'l' type: 'Convolution' bottom: 'x' top: 'y' top: 'z' convolution_param { num_output: 1 "
     "kernel_size: 1 } }",
     "has 2 tops, expected 1"},
    {X "layer { name: 'l' type: 'Convolution' bottom: 'x' bottom: 'x' top: 'y' convolution_param { "
       "num_output: 1 "
       "kernel_size: 1 } }",
     "has 1 tops, makes more"},
    /* inputs */
    {"layer { name: 'l' type: 'Input' top: 'x' }",
     "top 'x' has no shape: write it into the layer, or give --input x="},
    {"layer { name: 'l' type: 'Input' top: 'x' input_param { shape { dim: 0 } } }",
     "the shape 0 of 'x' is not possible"},
    {"layer { name: 'l' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: -3 } } }",
     "the shape 1x-3 of 'x'"},
    {"layer { name: 'l' type: 'Input' top: 'x' input_param { shape { dim: [2000000000, 2000000000] } } }",
     "the shape 2000000000x2000000000 of 'x' is not possible"},
    {"layer { name: 'l' type: 'Input' top: 'x' input_param { shape { dim: [1,1,1,1,1,1,1,1,1] } } }",
     "a shape of 9 dimensions"},
    {"layer { name: 'l' type: 'Input' top: 'x' input_param { shape { dim: 1 } shape { dim: 2 } } }",
     "has 2 shape for 1 tops"},
    {"layer { name: 'l' type: 'DummyData' top: 'x' dummy_data_param { num: 1 channels: 2 height: 3 } }",
     "has no shape"},
    {"input: 'x' input_dim: 1 input_dim: 2", "2 input_dim for 1 input, expected four for each"},
    {"input: 'x' input_dim: [1,2,3,4] input_shape { dim: 1 }", "both input_shape and input_dim"},
    {"input: 'x' input: 'y' input: 'z' input_shape { dim: 1 } input_shape { dim: 1 }",
     "2 input_shape for 3 input"},
    {"input: 'x' input: 'x' input_shape { dim: 1 }", "top 'x' is already made by layer 'x'"},
    /* windows */
    {CONV("num_output: 2"), "kernel_size is missing"},
    {CONV("kernel_size: 3"), "num_output: 0, expected 1 to 2147483647"},
    {CONV("num_output: 4294967295 kernel_size: 1"), "num_output: 4294967295, expected 1 to 2147483647"},
    {CONV("num_output: 2147483647 kernel_size: 77"),
     "its weights would be 2147483647x4x77x77, which is not possible"},
    {CONV("num_output: 2 kernel_size: 0"), "kernel_size: 0, expected 1"},
    {CONV("num_output: 2 kernel_size: [3,3,3]"), "kernel_size has 3 values, expected one for all or 2"},
    {CONV("num_output: 2 kernel_size: 3 kernel_h: 3"), "kernel_size and kernel_size_h"},
    {CONV("num_output: 2 kernel_h: 3"), "must both be given"},
    {CONV("num_output: 2 kernel_size: 9"), "larger than its input"},
    {CONV("num_output: 2 kernel_size: 3 stride: 0"), "stride: 0, expected 1"},
    {CONV("num_output: 2 kernel_size: 3 stride_h: 2"), "stride_h and stride_w must both be given"},
    {CONV("num_output: 2 kernel_size: 3 dilation: 0"), "dilation: 0, expected 1"},
    {CONV("num_output: 2 kernel_size: 3 pad: 3000000000"), "pad: 3000000000, expected 0"},
    {CONV("num_output: 2 kernel_size: 3 group: 0"), "group: 0, expected 1"},
    {CONV("num_output: 2 kernel_size: 3 group: 3"),
     "group 3 does not divide its 4 input channels and 2 output channels"},
    {CONV("num_output: 2 kernel_size: 3 axis: 2"), "axis 2: the channels must be dimension 1"},
    {CONV("num_output: 2 kernel_size: 3 axis: 9"), "axis: 9 is not one of the 4 dimensions"},
    {CONV("num_output: 2 kernel_size: 3 weight_filler { type: 'magic' }"),
     "filler 'magic' of weight 0: unknown type"},
    {CONV("num_output: 2 kernel_size: 3 bias_filler { type: 'bilinear' }"),
     "filler 'bilinear' of weight 1: bilinear is"},
    {CONV("num_output: 2 kernel_size: 3 bias_filler { type: 'uniform' min: 2 }"),
     "its min is greater than its max"},
    {CONV("num_output: 2 kernel_size: 3 bias_filler { type: 'gaussian' std: -1 }"), "its std is negative"},
    {"input: 'x' input_shape { dim: [1, 4, 4, 4, 4] } layer { name: 'l' type: 'Convolution' bottom: 'x' top: "
     "'y' "
     "convolution_param { num_output: 1 kernel_h: 1 kernel_w: 1 } }",
     "kernel_size_h and kernel_size_w are for two spatial dimensions, here are 3"},
    {"input: 'x' input_shape { dim: [1, 4] } layer { name: 'l' type: 'Convolution' bottom: 'x' top: 'y' }",
     "its bottom 'x' is 1x4, expected N x C and one to three spatial dimensions"},
    {POOL("kernel_size: 2 pool: STOCHASTIC"), "STOCHASTIC is not supported"},
    {POOL("kernel_size: 2 pad: 2"), "its padding 2:2 along y must be less than its kernel spans, 2"},
    {POOL("kernel_size: 9"), "larger than its input"},
    {POOL("global_pooling: true kernel_size: 2"), "global_pooling takes the whole input"},
    {POOL("global_pooling: true stride: 2"), "global_pooling goes with pad 0 and stride 1 only"},
    {POOL("kernel_size: 1 stride: 9"), "its last window along y lies outside of the input"},
    {POOL(""), "kernel_size is missing"},
    /* the others */
    {LAYER("BatchNorm", "batch_norm_param { use_global_stats: false }"),
     "use_global_stats: false computes the statistics"},
    {LAYER("BatchNorm", "batch_norm_param { eps: -1 }"), "eps -1 is negative"},
    {LAYER("Scale", "scale_param { axis: 4 }"), "axis: 4 is not one of the 4 dimensions"},
    {LAYER("Scale", "scale_param { num_axes: 4 }"), "num_axes: 4 from axis 1 on"},
    {LAYER("Scale", "scale_param { num_axes: -2 }"), "num_axes: -2 from axis 1 on"},
    {JOIN("Scale", ""), "does not fit its input"},
    {JOIN("Eltwise", ""), "inputs 'x' 1x4x8x8 and 'z' 1x4x7x8 differ"},
    {JOIN("Eltwise", "eltwise_param { coeff: 1 }"), "has 1 coeff, expected one for each of its 2 bottoms"},
    {JOIN("Eltwise", "eltwise_param { operation: MAX coeff: [1, 1] }"), "coeff is for operation: SUM only"},
    {X "layer { name: 'l' type: 'Eltwise' bottom: 'x' bottom: 'x' bottom: 'x' top: 'y' eltwise_param { "
       "operation: DIV } }",
     "DIV divides two bottoms, here are 3"},
    {JOIN("Concat", ""), "differ outside of axis 1"},
    {JOIN("Concat", "concat_param { axis: 2 concat_dim: 2 }"), "axis and concat_dim: give one of them"},
    {JOIN("MergeCrop", ""),
     "its second bottom 'z' is 1x4x7x8 and is cropped to the first, 'x' 1x4x8x8, but is not as large"},
    {JOIN("Merge", "merge_param { operation: ADD }"), "inputs 'x' 1x4x8x8 and 'z' 1x4x7x8 differ"},
    {JOIN("Crop", "crop_param { offset: 2 }"), "is not inside its input"},
    {JOIN("Crop", "crop_param { offset: [1,1,1] }"), "has 3 offset, expected one for all or 2"},
    {LAYER("Slice", "top: 'w' slice_param { slice_point: [1, 2] }"),
     "has 2 slice_point, expected one less than its 2 tops"},
    {LAYER("Slice", "top: 'w' top: 'v'"), "its 3 tops cannot be equal parts of 4"},
    {LAYER("Slice", "top: 'w' slice_param { slice_point: 4 }"), "its slice points must rise from 0 to 4"},
    {LAYER("Flatten", "flatten_param { axis: 3 end_axis: 1 }"), "end_axis 1 is before axis 3"},
    {LAYER("Reshape", "reshape_param { shape { dim: [-1, -1] } }"), "only one dim may be -1"},
    {LAYER("Reshape", "reshape_param { shape { dim: [3, -1] } }"),
     "dim: -1 cannot be found: its bottom has 256 elements"},
    {LAYER("Reshape", "reshape_param { shape { dim: [3, 5] } }"), "cannot be reshaped to 3x5"},
    {LAYER("Reshape", "reshape_param { shape { dim: -2 } }"), "dim: -2 is not possible"},
    {LAYER("Reshape", "reshape_param { shape { dim: [1,4,8,8,0] } }"), "dim: 0 copies a dimension"},
    {LAYER("Reshape", "reshape_param { axis: 6 }"), "axis: 6 is not one of the 4 dimensions"},
    {LAYER("Reshape", "reshape_param { axis: 1 num_axes: 4 }"), "num_axes: 4 from axis 1 on"},
    {LAYER("Reshape", "reshape_param { shape { dim: [1,1,1,1,1] } axis: 1 num_axes: 0 }"),
     "more than 8 dimensions"},
    {LAYER("Permute", "permute_param { order: [1, 1] }"),
     "order: 1, expected each of the 4 dimensions at most once"},
    {LAYER("Permute", "permute_param { order: 4 }"), "order: 4, expected"},
    {LAYER("Normalize", "norm_param { eps: -1 }"), "eps: -1, expected 0 or more"},
    {JOIN("PriorBox", ""), "has 0 min_size, expected 1 to 64"},
    {JOIN("PriorBox", "prior_box_param { min_size: 0 }"), "min_size: 0, expected a positive size"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 max_size: 5 }"),
     "max_size: 5, expected more than its min_size, 5"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 max_size: 6 max_size: 7 }"),
     "has 2 max_size, expected as many"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 aspect_ratio: -1 }"),
     "aspect_ratio: -1, expected a positive"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 variance: 1 variance: 2 }"),
     "has 2 variance, expected 1 or 4"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 variance: 0 }"), "variance: 0, expected a positive"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 img_h: 3 }"), "give img_size, or img_h and img_w"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 step: 1 step_h: 1 step_w: 1 }"),
     "give step, or step_h and step_w"},
    {JOIN("PriorBox", "prior_box_param { min_size: 5 step: -1 }"), "step: expected a positive number"},
    {DETECTION("eta: 0.5", "num_classes: 4"), "eta: 0.5 is not supported"},
    {DETECTION("", "num_classes: 4 code_type: CORNER_SIZE"), "code_type: CORNER_SIZE is not supported"},
    {DETECTION("", "num_classes: 4 keep_top_k: 0"), "keep_top_k: 0, expected at least 1"},
    {DETECTION("nms_threshold: 2", "num_classes: 4"), "nms_threshold: 2, expected 0 to 1"},
    {DETECTION("nms_threshold: -0.5", "num_classes: 4"), "nms_threshold: -0.5, expected 0 to 1"},
    {DETECTION("nms_threshold: nan", "num_classes: 4"), "nms_threshold: nan, expected 0 to 1"},
    {DETECTION("", "num_classes: 4 confidence_threshold: nan"),
     "confidence_threshold: nan, expected a number"},
    {DETECTION("", "num_classes: 3"), "its confidences 1x4x8x8 are not of 3 classes"},
    {DETECTION("", "num_classes: 4"), "are not 4 numbers and 4 variances for each of 64 boxes"},
    {LAYER("LRN", "lrn_param { local_size: 4 }"), "it must be odd"},
    {LAYER("InnerProduct", "inner_product_param { num_output: 1 axis: -5 }"),
     "axis: -5 is not one of the 4 dimensions"},
    {LAYER("Softmax", "softmax_param { axis: 4 }"), "axis: 4 is not one of the 4 dimensions"},
    {X "layer { name: 'l' type: 'BatchNorm' bottom: 'x' top: 'y' } layer { name: 'l' type: 'PReLU' bottom: "
       "'y' top: 'z' }",
     "the layer in line 2 has weights and the same name"},
};

static void each_is_refused(void **state) {
  (void)state;
  bool all = true;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    all &= is_refused(refused[i].text, "init:1", PZ_ERROR_INPUT, refused[i].message);
  assert_true(all);
}

static void messages_begin_with_the_file(void **state) {
  (void)state;
  char expected[512];
  snprintf(expected, sizeof expected, "%s:2:1: layer 'l' (Pooling): kernel_size is missing",
           path_of("net.prototxt"));
  import_fails(POOL(""), NULL, PZ_ERROR_INPUT, expected);
}

static void weights_are_asked_for(void **state) {
  (void)state;
  import_fails(LAYER("PReLU", ""), NULL, PZ_ERROR_INPUT,
               "layer 'l' (PReLU): has weights, but none are given");
  static const char *const seeds[] = {"init:", "init:x", "init:-1", "init:1 ", "init:18446744073709551616"};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
    import_fails(LAYER("ReLU", ""), seeds[i], PZ_ERROR_USAGE, "expected init:SEED");
  pz_graph_free(import_text(LAYER("ReLU", ""), "init:18446744073709551615"));
}

static void files_are_named(void **state) {
  (void)state;
  pz_graph *g;
  pz_error err = {0};
  assert_int_equal(pz_import_caffe("/no/such.prototxt", NULL, &g, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "/no/such.prototxt: cannot be opened"));
  import_fails(LAYER("ReLU", ""), "/no/such.caffemodel", PZ_ERROR_INPUT,
               "/no/such.caffemodel: cannot be opened");
  import_fails(LAYER("ReLU", ""), "/tmp", PZ_ERROR_INPUT, "/tmp: is a folder");
}

/* Before the memory is taken. */
static void weights_are_limited(void **state) {
  (void)state;
  const char *text = CONV("num_output: 5 kernel_size: 3");
  pz_import_options options = {.weights = "init:1"};
  pz_graph *g;
  pz_error err = {0};
  write_file("net.prototxt", text, strlen(text));
  assert_int_equal(pz_caffe_import_within(path_of("net.prototxt"), &options, 5 * 4 * 9 + 4, &g, &err),
                   PZ_ERROR_INPUT);
  assert_non_null(strstr(
      err.message, "layer 'l' (Convolution): with its weights of 5 the network has 185, more than 184"));
  err = (pz_error){0};
  assert_int_equal(pz_caffe_import_within(path_of("net.prototxt"), &options, 5 * 4 * 9 + 5, &g, &err), PZ_OK);
  pz_graph_free(g);
}

/* Thousands of unknown layers: the list is cut, the message still one line. */
static void long_lists_are_cut(void **state) {
  (void)state;
  pz_text text = {0};
  for (int i = 0; i < 3000; i++) pz_text_printf(&text, "layer { name: 'layer%d' type: 'T%d' }\n", i, i % 3);
  import_fails(
      text.data, NULL, PZ_ERROR_INPUT,
      ":1: 3000 layers of types that are not supported: T0: 1000 layers ('layer0' line 1, 'layer3' line 4, "
      "'layer6' line 7, 'layer9' line 10 and 996 more); T1: 1000 layers (");
  pz_text_free(&text);
  for (int i = 0; i < 3000; i++) pz_text_printf(&text, "layer { name: 'layer%d' type: 'AType%d' }\n", i, i);
  import_fails(text.data, NULL, PZ_ERROR_INPUT, " more types");
  pz_text_free(&text);
}

/* Names are any bytes but NUL, and not without end. */
static void long_names(void **state) {
  (void)state;
  for (size_t length = 65536; length <= 65537; length++) {
    pz_text text = {0};
    pz_error err = {0};
    pz_graph *g = NULL;
    pz_text_append(&text, "name: '");
    for (size_t i = 0; i < length; i++) pz_text_append(&text, "\\033");
    pz_text_append(&text, "' input: 'x' input_shape { dim: 1 dim: 2 }\n"
                          "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }");
    assert_false(text.failed);
    const pz_status status = try_import(text.data, NULL, &g, &err);
    assert_int_equal(status, length > 65536 ? PZ_ERROR_INPUT : PZ_OK);
    if (status == PZ_OK) assert_int_equal(strlen(g->name), length);
    else assert_non_null(strstr(err.message, ":1:7: name: a string of more than 65536 bytes"));
    pz_graph_free(g);
    pz_text_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_refused),
      cmocka_unit_test(messages_begin_with_the_file),
      cmocka_unit_test(weights_are_asked_for),
      cmocka_unit_test(files_are_named),
      cmocka_unit_test(weights_are_limited),
      cmocka_unit_test(long_lists_are_cut),
      cmocka_unit_test(long_names),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
