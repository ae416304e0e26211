/* Shape inference: tables of texts with the shapes they give or the messages they get, and definitions by enumeration. */
#include "fixture.h"

/* "graph", an input %x, these lines, and the output %y. */
typedef struct row {
  const char *x, *lines, *expected;
} row;

static void text_of(const row *r, char *out, size_t size) {
  snprintf(out, size, "graph \"g\"\ninput %%x %s\n%s\noutput %%y\n", r->x, r->lines);
}

static const row shapes[] = {
    {"1x3x9x8x7", "const %w 5x3x3x2x1 = seed 1\n%y = conv \"y\" %x, %w kernel 3,2,1", "1x5x7x7x7"},
    {"2x4x9x8",
     "const %w 6x2x3x3 = seed 1\n%y = conv \"y\" %x, %w kernel 1,3,3 stride 1,2,3 pad 0,1,2:0,0,1 group 2",
     "2x6x4x3"},
    {"1x2x20", "const %w 3x2x4 = seed 1\n%y = conv \"y\" %x, %w kernel 1,1,4 dilation 1,1,3", "1x3x11"},
    {"1x4x5x5",
     "const %w 4x1x1x1 = seed 1\nconst %b 4 = seed 2\nconst %s 4 = seed 3\n"
     "%y = conv \"y\" %x, %w, %b, %x, %s, %s group 4 act prelu",
     "1x4x5x5"},
    {"1x3x5x6x7", "const %w 3x2x1x2x2 = seed 1\n%y = deconv \"y\" %x, %w kernel 1,2,2 stride 1,2,2",
     "1x2x5x12x14"},
    {"1x6x5x6",
     "const %w 6x1x4x4 = seed 1\n%y = deconv \"y\" %x, %w kernel 1,4,4 stride 1,2,2 pad 0,1,1:0,1,1 group 6",
     "1x6x10x12"},
    {"1x2x5x6",
     "const %w 2x3x3x3 = seed 1\n%y = deconv \"y\" %x, %w kernel 1,3,3 stride 1,2,2 output_pad 0,1,0",
     "1x3x12x13"},
    {"1x64x112x112", "%y = pool \"y\" %x kernel 1,3,3 stride 1,2,2 ceil", "1x64x56x56"},
    {"1x64x112x112", "%y = pool \"y\" %x kernel 1,3,3 stride 1,2,2", "1x64x55x55"},
    {"1x2x9x80", "%y = pool \"y\" %x kernel 1,2,2 stride 1,2,2 ceil kind ave", "1x2x5x40"},
    {"1x2x4x4", "%y = pool \"y\" %x kernel 1,2,2 stride 1,2,2 pad 0,1,1:0,1,1 ceil", "1x2x3x3"},
    {"1x2x3x3", "%y = pool \"y\" %x kernel 1,1,1 stride 1,3,3 ceil", "1x2x1x1"},
    {"2x3x4", "const %m 3 = [0 0 0]\nconst %v 3 = [1 1 1]\n%y = batch_norm \"y\" %x, %m, %v eps 0.001",
     "2x3x4"},
    {"2x3x4", "const %f 3x4 = seed 1\n%y = scale \"y\" %x, %f", "2x3x4"},
    {"2x3x4", "const %f scalar = [2]\n%y = scale \"y\" %x, _, %f axis 3", "2x3x4"},
    {"2x3x4", "const %f 2x3 = seed 1\n%y = scale \"y\" %x, %f, %f axis 0", "2x3x4"},
    {"2x3x4", "%y = activation \"y\" %x act elu 0.5", "2x3x4"},
    {"2x3x4", "const %s 1 = [0.1]\n%y = activation \"y\" %x, %s act prelu", "2x3x4"},
    {"2x3x4", "%y = power \"y\" %x power 2 scale 0.5 shift 1", "2x3x4"},
    {"2x3x4", "%y = eltwise \"y\" %x, %x, %x coeff 1,-1,0.5", "2x3x4"},
    {"2x3x4", "%y = eltwise \"y\" %x, %x kind div", "2x3x4"},
    {"2x3x1", "const %c 1x1x4 = seed 1\n%y = eltwise \"y\" %x, %c, %c kind select", "2x3x4"},
    {"2x3x1", "const %c 1x1x4 = seed 1\n%y = eltwise \"y\" %c, %x kind less_equal", "2x3x4"},
    {"2x3x4", "%y = concat \"y\" %x, %x, %x", "2x9x4"},
    {"2x3x4", "%y = concat \"y\" %x, %x axis 2", "2x3x8"},
    {"2x7x4", "%a, %y, %b = slice \"y\" %x begin 0,1,5,7", "2x4x4"},
    {"2x7x4", "%y = crop \"y\" %x offset 0,2,1 size 2,5,1", "2x5x1"},
    {"2x7x4", "%y = softmax \"y\" %x axis 2", "2x7x4"},
    {"2x7x4", "%y = lrn \"y\" %x size 3 within_channel", "2x7x4"},
    {"2x3x4x5", "const %w 6x60 = seed 1\n%y = inner_product \"y\" %x, %w", "2x6"},
    {"2x3x4x5",
     "const %w 20x6 = seed 1\nconst %b 6 = seed 1\n%y = inner_product \"y\" %x, %w, %b axis 2 transpose",
     "2x3x6"},
    {"2x3x4x5", "%y = reshape \"y\" %x shape 6x20", "6x20"},
    {"1x1", "%y = reshape \"y\" %x shape scalar", "scalar"},
    {"2x3x4x5", "%y = permute \"y\" %x order 0,2,3,1", "2x4x5x3"},
    {"2x3x4x5", "%y = identity \"y\" %x", "2x3x4x5"},
    {"2x3x4x5", "%y border 0,1,1:0,2,2 = border_copy \"y\" %x", "2x3x4x5"},
    {"2x3x4", "%a = reshape \"a\" %x shape 1x2x1x3x1x4x1x1\n%y = permute \"y\" %a order 7,6,5,4,3,2,1,0",
     "1x1x4x1x3x1x2x1"},
    {"2x1x4", "const %c 1x3x4 = seed 1\n%y = eltwise \"y\" %x, %c, %x kind min", "2x3x4"},
    {"2x3x4", "const %c 1x1x1 = [2]\n%y = eltwise \"y\" %c, %x kind pow", "2x3x4"},
    {"1x2x9", "%y = pool \"y\" %x kernel 1,1,3 dilation 1,1,4", "1x2x1"},
    {"1x2x9", "%y = pool \"y\" %x kernel 1,1,3 dilation 1,1,4 stride 1,1,3 pad 0,0,8:0,0,8 ceil", "1x2x6"},
    {"2x7x5", "%y = crop \"y\" %x offset 0,6,0 size 2,4,2 step 1,-2,4", "2x4x2"},
    {"2x7", "%y = softmax \"y\" %x log", "2x7"},
    {"2x6x3x5", "const %g 6 = seed 1\n%y = group_norm \"y\" %x, %g, %g, %g groups 3 act prelu", "2x6x3x5"},
    {"2x6", "const %g 6 = seed 1\n%y = group_norm \"y\" %x, _, %g eps 0 act clip -inf 6", "2x6"},
    {"1x2x3x4", "%y = resize \"y\" %x size 1,7,2 kind linear scale 0,2.5,0.5", "1x2x7x2"},
    {"1x2x3x4x5", "%y = resize \"y\" %x size 1,1,9 rounding ceil coordinate asymmetric", "1x2x1x1x9"},
    {"2x3x4", "%y = reduce \"y\" %x axis 0,2 kind max", "1x3x1"},
    {"2x3x4", "%y = pad \"y\" %x lo 1,0,3 hi 0,0,3 kind reflect", "3x3x10"},
    {"2x3", "%y = pad \"y\" %x lo 0,4 hi 2,9 kind wrap", "4x16"},
    {"2x3", "%y = pad \"y\" %x hi 0,1 value -inf", "2x4"},
    {"1x24x2x3", "%y = depth_to_space \"y\" %x block 1,2,4 columns_first", "1x3x4x12"},
    {"1x3x4x12", "%y = depth_to_space \"y\" %x block 1,2,4 inverse", "1x24x2x3"},
    {"2x3x4", "%y = argmax \"y\" %x axis 2 last", "2x3x1"},
    {"2x3x4", "%y = gather \"y\" %x index 2,0,0,1", "2x4x4"},
    {"2x3x4", "%y = cumsum \"y\" %x axis 0 reverse", "2x3x4"},
    {"7", "%y = cumsum \"y\" %x axis 0 exclusive", "7"},
    {"2x12",
     "const %l 2x16 = seed 1\nconst %p 1x2x16 = seed 2\n%y = detection_output \"y\" %l, %x, %p classes 3 "
     "keep 5",
     "1x1x10x7"},
    {"2x4x3",
     "const %l 2x4x3x4 = seed 1\nconst %p 1x16 = seed 2\n%y = detection_output \"y\" %l, %x, %p classes 3 "
     "coded per_class",
     "1x1x2x7"},
    {"2x3x5",
     "const %b 2x5x4 = seed 1\n%y = non_max_suppression \"y\" %b, %x most 2147483647 overlap 1 score -inf",
     "30x3"},
    {"2x3x5", "const %b 2x5x4 = seed 1\n%y = non_max_suppression \"y\" %b, %x most 4", "24x3"},
    {"7x2x3", "const %i 4x5 = seed 1\n%y = gather_rows \"y\" %x, %i fill -1", "4x5x2x3"},
    {"7", "const %i 1 = seed 1\n%y = gather_rows \"y\" %x, %i", "1"},
    {"2x6x3", "const %g 6 = seed 1\n%y = channel_norm \"y\" %x, %g, _, %g eps 0 act prelu", "2x6x3"},
};

static void gives_shapes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    char text[512], shape[PZ_SHAPE_TEXT];
    text_of(&shapes[i], text, sizeof text);
    pz_graph *g = parsed(text);
    pz_shape_text(&g->tensors[g->outputs[0]].shape, shape);
    if (strcmp(shape, shapes[i].expected)) fail_msg("%s, expected %s\n%s", shape, shapes[i].expected, text);
    pz_graph_free(g);
  }
}

#define CONV(weights, attributes)   "const %w " weights " = seed 1\n%y = conv \"y\" %x, %w " attributes
#define DECONV(weights, attributes) "const %w " weights " = seed 1\n%y = deconv \"y\" %x, %w " attributes

static const row errors[] = {
    {"1x3x9x8x7", CONV("5x3x3x3x3", "kernel 3,3,9"), "its weights are 5x3x3x3x3, but its kernel is 3,3,9"},
    {"1x4x9", CONV("5x3x1", ""),
     "t:4: layer 'y' (conv): its weights 5x3x1 with group 1 take 3 channels, but its input is 1x4x9"},
    {"1x4x9", CONV("5x2x1", "group 2"), "group 2 does not divide its 4 input channels and 5 output channels"},
    {"1x4x9x9", CONV("5x4x1", ""),
     "its weights are 5x4x1, its input 1x4x9x9: they must have the same number of dim"},
    {"1x4x5x4", CONV("5x4x1x7", "kernel 1,1,7 pad 0,0,1:0,0,1"),
     "its kernel spans 7 along x, larger than its input 1x4x5x4 with padding: 6"},
    {"1x4x5x4", CONV("5x4x3x1", "kernel 1,3,1 dilation 1,3,1"),
     "its kernel spans 7 along y, larger than its input"},
    {"1x4x5x4", CONV("5x4x1x1", "stride 1,0,1"), "stride 1,0,1: must be at least 1"},
    {"1x4x5x4", CONV("5x4x1x1", "stride 2,1,1"), "has 2 spatial dimensions, the others must be 1"},
    {"1x4x5x4", CONV("5x4x1x1", "pad 0,-1,0:0,0,0"), "padding 0,-1,0: must be at least 0"},
    {"1x4x5x4", CONV("5x4x1x1", "pad 1,0,0:0,0,0"), "the others must be 0"},
    {"1x4x5x4", CONV("5x4x1x1", "group 0"), "group 0: must be at least 1"},
    {"1x4x5x4", CONV("5x4x1x1", "output_pad 0,1,0"), "output padding is for deconv only"},
    {"1x4x5x4", CONV("5x4x1x1", "act relu 1e999"), "alpha is not a finite number"},
    {"1x4x5x4", CONV("5x4x1x1", "act tanh 1"), "activation tanh has no alpha"},
    {"1x4x5x4", CONV("5x4x1x1", "act prelu"), "activation prelu needs a slope"},
    {"1x4", CONV("5x4", ""), "its input is 1x4, expected N x C and one to three spatial dimensions"},
    {"1x4x2x2x2x2", CONV("5x4x1x1x1x1", ""),
     "its input is 1x4x2x2x2x2, expected N x C and one to three spatial dimensions"},
    {"1x4x5", "const %w 5x4x1 = seed 1\n%y = conv \"y\" %x, %w, %w", "its bias 'w' is 5x4x1, expected 5"},
    {"1x4x5", "const %w 5x4x1 = seed 1\n%y = conv \"y\" %x, %w, _, %x",
     "its residual 'x' is 1x4x5, but its result is 1x5x5"},
    {"1x4x5", "const %w 4x4x1 = seed 1\nconst %b 4 = seed 1\n%y = conv \"y\" %x, %w, _, _, %b",
     "scales a residual"},
    {"1x4x5", "const %w 4x4x1 = seed 1\nconst %b 4 = seed 1\n%y = conv \"y\" %x, %w, _, _, _, %b",
     "takes no slope"},
    {"1x4x5", "%y = conv \"y\" %x", "has 1 inputs, needs at least 2"},
    {"1x4x5", "%y = conv \"y\" %x, _", "its input 1 is missing"},
    {"1x4x5", "%y = identity \"y\" %x, %x", "has 2 inputs, takes at most 1"},
    {"1x4x5", "%y, %z = identity \"y\" %x", "has 2 outputs, makes one"},
    {"1x4x5", DECONV("4x2x2", "kernel 1,1,2 stride 1,1,2 pad 0,0,5:0,0,5"),
     "its padding takes 10 of 10 points along x"},
    {"1x4x5", DECONV("4x2x2", "kernel 1,1,2 stride 1,1,2 output_pad 0,0,2"),
     "output padding 2 must be less than"},
    {"1x3x5", DECONV("4x2x2", "kernel 1,1,2"), "take 4 channels, but its input is 1x3x5"},
    {"1x4x2147483647", DECONV("4x2x2", "kernel 1,1,2 stride 1,1,2147483647"), "its result would be"},
    {"1x4x1", DECONV("4x2x2", "kernel 1,1,2 stride 1,1,2147483647"),
     "its stride 1,1,2147483647 makes 2147483647 phases, at most 16384 are supported"},
    {"1x4x1x1x1", DECONV("4x2x2x2x2", "kernel 2,2,2 stride 100000,100000,100000"),
     "makes 1000000000000000 phases"},
    {"1x4x1x1x1", DECONV("4x2x2x2x2", "kernel 2,2,2 stride 2147483647,2147483647,2147483647"),
     "makes 9223372036854775807 phases"},
    {"1x4x2147483647", DECONV("4x2x2", "kernel 1,1,2 stride 1,1,2"), "its result would be 1x2x4294967294"},
    {"1048576x1x1048576", "%y = concat \"y\" %x, %x", "at most 2^40 elements"},
    {"1x1x2147483647", "%y = concat \"y\" %x, %x axis 2", "its result would be 1x1x4294967294"},
    {"1x2x4x4", "%y = pool \"y\" %x kernel 1,2,2 pad 0,2,0:0,0,0",
     "its padding 2:0 along y must be less than its kernel spans, 2"},
    {"1x2x4x4", "%y = pool \"y\" %x kernel 1,5,2",
     "its kernel spans 5 along y, larger than its input 1x2x4x4"},
    {"1x2x4x4", "%y = pool \"y\" %x kernel 2,2,2", "the others must be 1"},
    {"1x2x4", "const %m 3 = seed 1\n%y = batch_norm \"y\" %x, %m, %m", "its mean 'm' is 3, expected 2"},
    {"1x2x4", "const %m 2 = seed 1\n%y = batch_norm \"y\" %x, %m, %m eps -1", "eps -1 is negative"},
    {"1x2x4", "const %m 3 = seed 1\n%y = scale \"y\" %x, %m",
     "'m' is 3, which does not fit its input 'x' 1x2x4 from axis 1"},
    {"1x2x4", "const %m 2 = seed 1\nconst %n 4 = seed 1\n%y = scale \"y\" %x, %m, %n", "its bias 'n' is 4"},
    {"1x2x4", "const %m 2 = seed 1\nconst %n 2x4 = seed 1\n%y = scale \"y\" %x, %m, %n",
     "its factor 'm' is 2, but its bias 'n' is 2x4"},
    {"1x2x4", "%y = scale \"y\" %x axis 4", "axis 4 is not one of its input's 3 dimensions"},
    {"1x2x4", "const %m 3 = seed 1\n%y = activation \"y\" %x, %m act prelu",
     "its slope 'm' is 3, expected 2"},
    {"1x2x4", "%y = power \"y\" %x shift nan", "shift is not a finite number"},
    {"1x2x5", "%a = crop \"a\" %x size 1,2,4\n%y = eltwise \"y\" %x, %a",
     "inputs 'x' 1x2x5 and 'a' 1x2x4 differ; sizes under pooling must divide"},
    {"1x2x5", "%y = eltwise \"y\" %x, %x kind max coeff 1,1", "coefficients are for sums only"},
    {"1x2x5", "%y = eltwise \"y\" %x, %x coeff 1,inf", "a coefficient is not a finite number"},
    {"1x2x5", "%y = eltwise \"y\" %x, %x, %x kind div", "kind div has two inputs, not 3"},
    {"1x2x5", "%y = eltwise \"y\" %x, %x kind select", "kind select has three inputs, not 2"},
    {"1x2x5", "%y = eltwise \"y\" %x", "needs at least 2"},
    {"1x2x5", "%a = crop \"a\" %x size 1,2,4\n%y = concat \"y\" %x, %a",
     "inputs 'x' 1x2x5 and 'a' 1x2x4 differ outside of axis 1"},
    {"1x2x5", "%y = concat \"y\" %x, %x axis 3", "axis 3 is not one of its input's 3 dimensions"},
    {"1x2x5", "%y = concat \"y\" %x axis -1", "axis -1 is not one of"},
    {"1x4x5", "%y, %z = slice \"y\" %x begin 0,2,3", "its slices must cover axis 1 of its input 1x4x5"},
    {"1x4x5", "%y, %z = slice \"y\" %x begin 0,4,4", "its slice points must rise from 0 to 4"},
    {"1x4x5", "%y, %z = slice \"y\" %x begin 0,9,4", "its slice points must rise from 0 to 4"},
    {"1x4x5", "%y = slice \"y\" %x", "its slices must cover axis 1"},
    {"1x4x5", "%y = crop \"y\" %x offset 0,0,2 size 1,4,4",
     "its window of 4 from 2 along dimension 2, step 1, is not inside"},
    {"1x4x5", "%y = crop \"y\" %x offset 0,0,9223372036854775807 size 1,4,4",
     "is not inside its input 1x4x5"},
    {"1x4x5", "%y = crop \"y\" %x offset 0,0,-1 size 1,4,4", "its window of 4 from -1"},
    {"1x4x5", "%y = crop \"y\" %x", "its window of 0 from 0 along dimension 0"},
    {"1x4x5", "%y = softmax \"y\" %x axis 3", "axis 3 is not"},
    {"1x4x5", "%y = lrn \"y\" %x size 4", "its window is 4 wide, it must be odd"},
    {"1x4", "%y = lrn \"y\" %x within_channel", "expected N x C and one to three spatial"},
    {"1x4x2x2x2x2", "%y = lrn \"y\" %x within_channel", "expected N x C and one to three spatial"},
    {"2x3x4", "const %w 6x11 = seed 1\n%y = inner_product \"y\" %x, %w",
     "its weights are 6x11, expected K x X for its input 2x3x4 (12 values from axis 1 on)"},
    {"2x3x4", "const %w 6x12 = seed 1\n%y = inner_product \"y\" %x, %w transpose", "expected X x K"},
    {"2x3x4", "const %w 6x12 = seed 1\n%y = inner_product \"y\" %x, %w, %w",
     "its bias 'w' is 6x12, expected 6"},
    {"2x3x4", "%y = reshape \"y\" %x shape 5x5", "its input 2x3x4 cannot be reshaped to 5x5"},
    {"2x3x4", "%y = reshape \"y\" %x shape 4294967296x4294967296x24", "cannot be reshaped"},
    {"2x3x4", "%y = permute \"y\" %x order 0,2,2", "its order must name each of the 3 dimensions"},
    {"2x3x4", "%y = permute \"y\" %x order 0,1,3", "its order must name each of the 3 dimensions"},
    {"2x3", "%y = border_copy \"y\" %x", "expected N x C and one to three spatial dimensions"},
    {"1x2x3x4x5x6", "%y = border_copy \"y\" %x", "expected N x C and one to three spatial dimensions"},
    {"2x3", "%y = activation \"y\" %x act clip 2 1", "clip from 2 to 1: the first must not be greater"},
    {"2x3", "%y = activation \"y\" %x act clip nan 1", "clip from nan to 1"},
    {"2x3", "%y = activation \"y\" %x act clip inf inf", "clip from inf to inf"},
    {"2x3", "%y = activation \"y\" %x act hard_sigmoid 1 inf", "beta is not a finite number"},
    {"2x3", "%y = activation \"y\" %x act elu 1 2", "activation elu has no beta, but it is 2"},
    {"2x3x4", "const %c 3x4 = seed 1\n%y = eltwise \"y\" %x, %c", "'x' 2x3x4 and 'c' 3x4 differ"},
    {"2x3", "const %c 1x2 = seed 1\n%y = eltwise \"y\" %x, %c", "'x' 2x3 and 'c' 1x2 differ"},
    {"2x3", "%y = eltwise \"y\" %x, %x, %x kind pow", "kind pow has two inputs, not 3"},
    {"2x3", "%y = eltwise \"y\" %x, %x kind min coeff 1,1", "coefficients are for sums only"},
    {"1x1x1048576x1048576", "const %c 2x1x1x1 = seed 1\n%y = eltwise \"y\" %x, %c", "at most 2^40 elements"},
    {"1x2x4", "%y = pool \"y\" %x kernel 1,1,2 dilation 1,1,5 pad 0,0,2:0,0,2",
     "its dilation 5 along x is larger than its input 1x2x4"},
    {"1x2x4", "%y = pool \"y\" %x kernel 1,1,2147483647 dilation 1,1,2147483647",
     "its kernel spans 4611686011984936963 along x"},
    {"1x2x4", "%y = pool \"y\" %x dilation 1,1,0", "dilation 1,1,0: must be at least 1"},
    {"1x4x5", "%y = crop \"y\" %x offset 0,0,4 size 1,4,3 step 1,1,-3",
     "dimension 2, step -3, is not inside"},
    {"1x4x5", "%y = crop \"y\" %x size 1,4,3 step 1,1,0", "step 0, is not inside"},
    {"1x4x5", "%y = crop \"y\" %x size 1,4,2 step 1,1,-9223372036854775808", "is not inside"},
    {"2x6x4", "%y = group_norm \"y\" %x groups 4", "4 groups: they must divide its input's 6 channels"},
    {"2x6x4", "%y = group_norm \"y\" %x groups 0", "0 groups: they must divide"},
    {"2x6x4", "%y = group_norm \"y\" %x eps -1", "eps -1 is negative"},
    {"2x6x4", "const %g 3 = seed 1\n%y = group_norm \"y\" %x, %g", "its factor 'g' is 3, expected 6"},
    {"2x6x4", "const %g 3 = seed 1\n%y = group_norm \"y\" %x, _, %g", "its bias 'g' is 3, expected 6"},
    {"2x6x4", "%y = group_norm \"y\" %x act prelu", "activation prelu needs a slope"},
    {"6", "%y = group_norm \"y\" %x", "its input is 6, expected N x C x ..."},
    {"1x2x4", "%y = resize \"y\" %x size 1,2,8", "has 1 spatial dimensions, the others must be 1"},
    {"1x2x4", "%y = resize \"y\" %x size 1,1,0", "size 1,1,0: must be at least 1"},
    {"1x2x4", "%y = resize \"y\" %x size 1,1,8 scale 0,0,nan", "scale nan along x: a positive number"},
    {"1x2x4", "%y = resize \"y\" %x size 1,1,8 scale 0,2,2", "scale 2 along y"},
    {"1x2x4", "%y = resize \"y\" %x size 1,1,8 scale 0,0,-2", "scale -2 along x"},
    {"1x2x4", "%y = resize \"y\" %x size 1,1,8 kind linear rounding floor",
     "a rounding is for the kind nearest"},
    {"2x4", "%y = resize \"y\" %x", "expected N x C and one to three spatial dimensions"},
    {"1x2x3x4x5x6", "%y = resize \"y\" %x", "expected N x C and one to three spatial dimensions"},
    {"2x4", "%y = reduce \"y\" %x", "it names no dimension to reduce"},
    {"2x4", "%y = reduce \"y\" %x axis 2", "axis 2 is not one of its input's 2 dimensions"},
    {"6", "%y = channel_norm \"y\" %x", "its input is 6, expected N x C x ..."},
    {"2x4", "%y = channel_norm \"y\" %x eps -1", "eps -1 is negative"},
    {"2x4", "const %g 3 = seed 1\n%y = channel_norm \"y\" %x, %g", "its factor 'g' is 3, expected 4"},
    {"2x4", "%y = gather \"y\" %x", "its list of entries is empty"},
    {"2x4", "%y = gather \"y\" %x axis 2 index 0", "axis 2 is not one of its input's 2 dimensions"},
    {"2x4", "%y = gather \"y\" %x axis 0 index 0,2",
     "its entry 2 is not one of the 2 along axis 0 of its input 2x4"},
    {"2x4", "%y = gather \"y\" %x index -1,0", "its entry -1 is not one of the 4"},
    {"2x4", "%y = pad \"y\" %x lo 0,-1", "it adds -1:0 to dimension 1 of its input 2x4: from 0"},
    {"2x4", "%y = pad \"y\" %x hi 0,4 kind reflect",
     "it adds 0:4 to dimension 1 of its input 2x4: from 0 to 3"},
    {"2x4", "%y = pad \"y\" %x hi 0,9223372036854775807", "from 0 to 2147483647"},
    {"2x4", "%y = pad \"y\" %x hi 0,2147483647", "its result would be 2x2147483651"},
    {"2x4", "%y = pad \"y\" %x value nan", "its value is not a number"},
    {"2x4", "%y = pad \"y\" %x value 1 kind edge", "a value is for the kind constant only"},
    {"1x6x4", "%y = depth_to_space \"y\" %x block 1,1,4",
     "block 1,1,4 does not divide the channels of its input 1x6x4"},
    {"1x6x4", "%y = depth_to_space \"y\" %x block 1,1,3 inverse",
     "does not divide the sizes of its input 1x6x4"},
    {"1x6x4", "%y = depth_to_space \"y\" %x block 1,2,2", "has 1 spatial dimensions, the others must be 1"},
    {"1x6x1x1x1", "%y = depth_to_space \"y\" %x block 2147483647,2147483647,2147483647",
     "block 2147483647,2147483647,2147483647 is too large"},
    {"1x6", "%y = depth_to_space \"y\" %x", "expected N x C and one to three spatial dimensions"},
    {"3x2x3x2x2x3", "%y = depth_to_space \"y\" %x", "expected N x C and one to three spatial dimensions"},
    {"3x2x3x2x2x3", "%y = depth_to_space \"y\" %x inverse",
     "expected N x C and one to three spatial dimensions"},
    {"2x4", "%y = argmax \"y\" %x axis 2", "axis 2 is not one of"},
    {"2x4", "%y = cumsum \"y\" %x axis -1", "axis -1 is not one of its input's 2 dimensions"},
    {"7", "%y = cumsum \"y\" %x", "axis 1 is not one of its input's 1 dimensions"},
#define DETECTION(l, p, attributes)                                                                          \
  "const %l " l " = seed 1\nconst %p " p " = seed 2\n%y = detection_output \"y\" %l, %x, %p " attributes
    {"2x12", DETECTION("1x16", "1x2x16", "classes 3"), "expected as many images"},
    {"12", DETECTION("1x16", "1x2x16", "classes 3"), "expected as many images"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 5"), "its confidences 2x12 are not of 5 classes"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 3 per_class"), "are not 4 for each of 12 boxes"},
    {"2x12", DETECTION("2x12", "1x2x16", "classes 3"), "are not 4 for each of 4 boxes"},
    {"2x12", DETECTION("2x16", "1x16", "classes 3"), "are not 4 numbers and 4 variances for each of 4 boxes"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 0"), "classes 0: must be at least 1"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 3 background 3"),
     "background 3: expected one of its 3 classes"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 3 overlap 2"), "overlap 2: expected 0 to 1"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 3 top_k 0"), "top_k 0: expected at least 1"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 3 keep 0"), "keep 0: must be at least 1"},
    {"2x12", DETECTION("2x16", "1x2x16", "classes 3 keep 2147483647"),
     "its result would be 1x1x4294967294x7"},
#define SUPPRESSION(b, attributes)                                                                           \
  "const %b " b " = seed 1\n%y = non_max_suppression \"y\" %b, %x " attributes
    {"2x3x5", SUPPRESSION("2x5x4", "most 0"), "most 0: must be at least 1"},
    {"2x3x5", SUPPRESSION("2x5x4", "overlap 1.5"), "overlap 1.5: expected 0 to 1"},
    {"2x3x5", SUPPRESSION("2x5x4", "overlap -0.5"), "overlap -0.5: expected 0 to 1"},
    {"2x3x5", SUPPRESSION("2x5x4", "overlap nan"), "overlap nan: expected 0 to 1"},
    {"2x3x5", SUPPRESSION("2x5x4", "score nan"), "score is not a number"},
    {"2x3x5", SUPPRESSION("2x4x5", ""), "its boxes are 2x4x5, expected images x boxes x 4"},
    {"2x3x5", SUPPRESSION("2x4x4", ""),
     "its scores are 2x3x5, expected 2 x classes x 4 for its boxes, which are 2x4x4"},
    {"1x3x5", SUPPRESSION("2x5x4", ""), "its scores are 1x3x5, expected 2 x classes x 5"},
    {"15", SUPPRESSION("1x5x4", ""), "its scores are 15, expected 1 x classes x 5"},
    {"1x16777217x1", SUPPRESSION("1x1x4", ""), "have more than 2^24 entries in a dimension"},
    {"200x16000000x1", SUPPRESSION("200x1x4", ""), "its result would be 3200000000x3"},
    {"16777217x2", "const %i 4 = seed 1\n%y = gather_rows \"y\" %x, %i", "has more than 2^24 rows"},
    {"7x2x1x1x1x1", "const %i 4x5x1x1 = seed 1\n%y = gather_rows \"y\" %x, %i",
     "its result would have 9 dimensions"},
    {"1x16777217", "%y = argmax \"y\" %x", "axis 1 of its input 1x16777217 has more than 2^24 entries"},
};

static void names_what_is_wrong(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    char text[512];
    text_of(&errors[i], text, sizeof text);
    parse_fails(text, errors[i].expected);
  }
}

/* ---- one spatial axis, against definitions by enumeration ---- */

typedef struct window {
  int32_t in, kernel, stride, dilation, lo, hi, output_pad;
  bool ceil;
} window;

/* A graph of one node over N x C x in; the size of its result, or 0 where it is refused. */
static int64_t result_size(pz_op op, const window *w, int32_t border_lo[PZ_SPATIAL],
                           int32_t border_hi[PZ_SPATIAL]) {
  pz_graph *g;
  pz_tensor_id in[2], out;
  pz_node node = pz_node_new(op);
  const char *name = "y";
  assert_int_equal(pz_graph_new("g", &g, NULL), PZ_OK);
  assert_int_equal(pz_graph_add_input(g, "x", &(pz_shape){3, {1, 1, w->in}}, &in[0], NULL), PZ_OK);
  assert_int_equal(pz_graph_add_constant(g, "w", &(pz_shape){3, {1, 1, w->kernel}}, NULL, &in[1], NULL),
                   PZ_OK);
  node.name = name;
  node.in = in;
  node.n_in = op == PZ_OP_POOL ? 1 : 2;
  if (op == PZ_OP_POOL) {
    pz_attr_pool *a = &node.attr.pool;
    a->kernel[2] = w->kernel, a->stride[2] = w->stride, a->pad_lo[2] = w->lo, a->pad_hi[2] = w->hi,
    a->ceil = w->ceil;
  } else {
    pz_attr_conv *a = &node.attr.conv;
    a->kernel[2] = w->kernel, a->stride[2] = w->stride, a->dilation[2] = w->dilation;
    a->pad_lo[2] = w->lo, a->pad_hi[2] = w->hi, a->output_pad[2] = w->output_pad;
  }
  int64_t size = 0;
  if (pz_graph_add_node(g, &node, 1, &name, &out, NULL) == PZ_OK) {
    size = g->tensors[out].shape.dim[2];
    pz_node_input_border(g, &g->nodes[0], border_lo, border_hi);
  }
  pz_graph_free(g);
  return size;
}

/* A window follows as long as the one before does not reach the end (ceil) or as it fits itself; none begins in the high
 * padding. */
static int64_t pool_by_counting(const window *w) {
  int32_t padded = w->in + w->lo + w->hi, n = 1;
  if (w->kernel > padded || w->lo >= w->kernel || w->hi >= w->kernel) return 0;
  for (;; n++) {
    bool follows = w->ceil ? (n - 1) * w->stride + w->kernel < padded : n * w->stride + w->kernel <= padded;
    if (!follows || (w->ceil && n * w->stride >= w->in + w->lo)) return n;
  }
}

static void pool_rounds_as_caffe(void **state) {
  (void)state;
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL], compared = 0;
  for (int32_t code = 0; code < 12 * 4 * 4 * 3 * 3 * 2; code++) {
    window w = {.in = 1 + code % 12, .kernel = 1 + code / 12 % 4, .stride = 1 + code / 48 % 4, .dilation = 1};
    w.lo = code / 192 % 3, w.hi = code / 576 % 3, w.ceil = code / 1728;
    int64_t size = result_size(PZ_OP_POOL, &w, lo, hi);
    assert_int_equal(size, pool_by_counting(&w));
    compared += size > 0;
  }
  assert_true(compared > 1000);
}

/* Sizes by counting, and the border by looking at every position that is read. */
static void check_conv(const window *w) {
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL], least = 0, greatest = w->in - 1, n = 0;
  for (; n * w->stride + w->dilation * (w->kernel - 1) < w->in + w->lo + w->hi; n++)
    for (int32_t k = 0; k < w->kernel; k++) {
      int32_t at = n * w->stride + w->dilation * k - w->lo;
      least = at < least ? at : least;
      greatest = at > greatest ? at : greatest;
    }
  assert_int_equal(result_size(PZ_OP_CONV, w, lo, hi), n);
  if (n == 0) return;
  assert_int_equal(lo[2], w->lo); /* its padding, also where the first window starts with it */
  assert_true(-least <= lo[2]);
  assert_int_equal(hi[2], greatest - (w->in - 1));
}

static void check_deconv(const window *w) {
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL], least = 0, greatest = w->in - 1;
  int64_t n = (w->in - 1) * w->stride + w->dilation * (w->kernel - 1) + 1 - w->lo - w->hi + w->output_pad;
  int64_t size = result_size(PZ_OP_DECONV, w, lo, hi);
  bool refused = w->output_pad >= w->stride && w->output_pad >= w->dilation;
  assert_int_equal(size, refused || n < 1 ? 0 : n);
  if (size == 0) return;
  for (int32_t o = 0; o < n; o++)
    for (int32_t k = 0; k < w->kernel; k++) {
      int32_t scaled = o + w->lo - w->dilation * k;
      if (scaled % w->stride) continue;
      least = scaled / w->stride < least ? scaled / w->stride : least;
      greatest = scaled / w->stride > greatest ? scaled / w->stride : greatest;
    }
  assert_int_equal(lo[2], -least);
  assert_int_equal(hi[2], greatest - (w->in - 1));
}

static void sizes_and_borders(void **state) {
  (void)state;
  for (int32_t code = 0; code < 7 * 5 * 3 * 2 * 3 * 4; code++) {
    window w = {.in = 1 + code % 7, .kernel = 1 + code / 7 % 5, .stride = 1 + code / 35 % 3};
    w.dilation = 1 + code / 105 % 2, w.lo = code / 210 % 3, w.hi = code / 630 % 4;
    check_conv(&w);
    for (w.output_pad = 0; w.output_pad < 3; w.output_pad++) check_deconv(&w);
  }
}

/* ---- costs ---- */

static void counts_multiply_adds_and_bytes(void **state) {
  (void)state;
  pz_graph *g = parsed("graph \"g\"\ninput %x 2x4x5x6\nconst %w 6x2x3x3 = seed 1\nconst %v 6x2x2x2 = seed 1\n"
                       "const %f 7x10 = seed 1\nconst %b 7 = seed 1\n"
                       "%c = conv \"c\" %x, %w kernel 1,3,3 pad 0,1,1:0,1,1 group 2\n"
                       "%d = deconv \"d\" %c, %v kernel 1,2,2 stride 1,2,2 group 2\n"
                       "%p = pool \"p\" %d kernel 1,10,12\n"
                       "%q = concat \"q\" %p, %p, %p axis 2\n"
                       "%s = crop \"s\" %c offset 0,0,0,0 size 2,6,5,2\n"
                       "%i = inner_product \"i\" %s, %f, %b axis 2\noutput %i\n");
  assert_true(pz_node_multiply_adds(g, &g->nodes[0]) == 2 * 6 * 5 * 6 * 2 * 9);
  assert_true(pz_node_multiply_adds(g, &g->nodes[1]) == 2 * 6 * 5 * 6 * 2 * 4);
  assert_true(pz_node_multiply_adds(g, &g->nodes[2]) == 0);
  assert_true(pz_node_multiply_adds(g, &g->nodes[5]) == 2 * 6 * 7 * 10);
  assert_true(pz_node_bytes(g, &g->nodes[0]) == 4 * (2 * 4 * 5 * 6 + 6 * 2 * 9 + 2 * 6 * 5 * 6));
  assert_true(pz_node_bytes(g, &g->nodes[3]) == 4 * (2 * 4 + 3 * 2 * 4)); /* p once */
  pz_graph_free(g);
}

static void shapes_have_limits(void **state) {
  (void)state;
  char text[PZ_SHAPE_TEXT];
  int64_t n = -1;
  pz_shape huge = {.rank = PZ_MAX_RANK};
  for (int32_t i = 0; i < PZ_MAX_RANK; i++) huge.dim[i] = INT64_MIN;
  assert_int_equal(strlen(pz_shape_text(&huge, text)), PZ_MAX_RANK * 20 + PZ_MAX_RANK - 1);
  for (int32_t i = 0; i < PZ_MAX_RANK; i++) huge.dim[i] = INT64_MAX;
  assert_int_equal(pz_shape_elements(&huge), INT64_MAX);
  assert_false(pz_shape_valid(&huge, &n));
  assert_true(pz_shape_valid(&(pz_shape){2, {1 << 20, 1 << 20}}, &n));
  assert_int_equal(n, INT64_C(1) << 40);
  assert_false(pz_shape_valid(&(pz_shape){3, {1 << 20, 1 << 20, 2}}, NULL));
  assert_false(pz_shape_valid(&(pz_shape){1, {0}}, NULL));
  assert_false(pz_shape_valid(&(pz_shape){1, {-1}}, NULL));
  assert_false(pz_shape_valid(&(pz_shape){PZ_MAX_RANK + 1, {1}}, NULL));
  assert_true(pz_shape_valid(&(pz_shape){0, {0}}, &n));
  assert_int_equal(n, 1);
  pz_shape5 five = pz_shape_as5(&(pz_shape){4, {2, 3, 4, 5}});
  assert_true(five.n == 2 && five.c == 3 && five.s[0] == 1 && five.s[1] == 4 && five.s[2] == 5);
  five = pz_shape_as5(&(pz_shape){1, {2}});
  assert_true(five.n == 2 && five.c == 1 && five.s[0] == 1 && five.s[1] == 1 && five.s[2] == 1);
  five = pz_shape_as5(&(pz_shape){6, {2, 3, 4, 5, 1, 2}});
  assert_true(five.n == 1 && five.c == 1 && five.s[0] == 1 && five.s[1] == 1 && five.s[2] == 240);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_shapes),         cmocka_unit_test(names_what_is_wrong),
      cmocka_unit_test(pool_rounds_as_caffe), cmocka_unit_test(sizes_and_borders),
      cmocka_unit_test(shapes_have_limits),   cmocka_unit_test(counts_multiply_adds_and_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
