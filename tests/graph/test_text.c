/* The text form: printed, parsed, and parsed when it is broken. */
#include "fixture.h"
#include "support/graph_equal.h"
#include "support/random_graph.h"
#include <locale.h>
#include <math.h>

/* Every kind of line and of attribute; canonical, so that printing gives it back. */
static const char canonical[] =
    "graph \"a \\\"net\\\"\"\n"
    "input %data 1x2x4x6x6\n"
    "input %\"odd name\\\\\\x01\" 1x3x4x3x3\n"
    "input %rows 1x2x10\n"
    "input %bytes 1x2x4x6x6 u8 wanted f16\n"
    "input %levels 1x2x10 i16 scale 0.25 zero_point -7 border 0,0,1:0,0,2\n"
    "input %pl 6\n"
    "const %w 3x2x1x1x1 = [1 -2.5 3e-07 nan inf -inf]\n"
    "const %b 3 = [0 -0 0.1]\n"
    "%conv1 1x3x4x6x6 border 1,1,1:1,2,2 = conv \"conv1\" %data, %w, %b, _, _, %b act prelu\n"
    "%p 1x3x4x3x3 = pool \"p\" %conv1 kind ave kernel 1,2,2 stride 1,2,2 pad 0,1,1:0,0,0 divisor kernel\n"
    "%q 1x3x4x3x3 = pool \"q\" %conv1 kernel 1,2,2 stride 1,2,2 ceil\n"
    "%sum 1x3x4x3x3 = eltwise \"sum\" %p, %q, %\"odd name\\\\\\x01\" coeff 1,-1,0.5\n"
    "%s1 1x1x4x3x3, %s2 1x2x4x3x3 = slice \"s\" %sum begin 0,1,3\n"
    "%c 1x2x2x3x1 = crop \"c\" %s2 offset 0,0,1,0,2 size 1,2,2,3,1\n"
    "%e 1x2x2x3x1 = activation \"e\" %c act elu 1\n"
    "%pow 1x2x2x3x1 = power \"pow\" %e power 2 scale 0.33333334\n"
    "%l 1x2x2x3x1 = lrn \"l\" %pow size 3 k 2 within_channel\n"
    "%perm 1x2x3x1x2 = permute \"perm\" %l order 0,1,3,4,2\n"
    "%r 1x12 = reshape \"r\" %perm shape 1x12\n"
    "%st 1x1x6 = crop \"st\" %rows offset 0,1,9 size 1,1,6 step 1,1,-1\n"
    "%d 1x2x5 = pool \"d\" %rows kernel 1,1,3 dilation 1,1,3 pad 0,0,0:0,0,1\n"
    "%gn 1x2x10 = group_norm \"gn\" %rows groups 2 eps 0.5 act clip -inf 6\n"
    "%rs 1x2x5 = resize \"rs\" %gn size 1,1,5 coordinate asymmetric rounding ceil scale 0,0,0.3\n"
    "%rl 1x2x7 = resize \"rl\" %gn kind linear size 1,1,7 coordinate align_corners\n"
    "%rd 1x2x1 = reduce \"rd\" %rl kind min axis 0,2\n"
    "%ex 1x2x3 = pad \"ex\" %rd lo 0,0,2 value -inf\n"
    "%er 1x3x3 = pad \"er\" %ex kind reflect hi 0,1,0\n"
    "%ds 1x1x9 = depth_to_space \"ds\" %er block 1,1,3 columns_first\n"
    "%sd 1x3x3 = depth_to_space \"sd\" %ds block 1,1,3 inverse\n"
    "%ls 1x3x3 = softmax \"ls\" %sd axis 2 log\n"
    "%am 1x3x1 = argmax \"am\" %ls axis 2 last\n"
    "%ma 1x3x3 = eltwise \"ma\" %am, %ls kind pow\n"
    "%ac 1x3x3 = activation \"ac\" %ma act hard_sigmoid 0.2 0\n"
    "%ga 1x3x5 = gather \"ga\" %ac axis 2 index 2,0,0,1,2\n"
    "%cn 1x3x5 = channel_norm \"cn\" %ga eps 0.5 act relu 0.1\n"
    "%cs 1x3x5 = cumsum \"cs\" %cn axis 2 exclusive reverse\n"
    "%ct 1x3x5 = cumsum \"ct\" %cs reverse\n"
    "%gb 1x1x5 = gather \"gb\" %ct index 2\n"
    "%cu 1x2x4x6x6 = cast \"cu\" %bytes\n"
    "%cb 1x2x10 bf16 = cast \"cb\" %levels to bf16\n"
    "%cq 1x2x10 i8 scale 0.5 zero_point 3 = cast \"cq\" %cb to i8 scale 0.5 zero_point 3\n"
    "%au 1x1x4x6x6 u8 = argmax \"au\" %cu to u8\n"
    "const %dl 1x8 = [1 2 3 4 5 6 7 8]\n"
    "const %dc 1x10 = [1 2 3 4 5 6 7 8 9 10]\n"
    "const %dp 1x1x8 = [1 2 3 4 5 6 7 8]\n"
    "%do 1x1x2x7 = detection_output \"do\" %dl, %dc, %dp classes 5 background -1 top_k 3 keep 2 coded "
    "corners "
    "overlap 0.5 confidence 0.25\n"
    "%ns 1x5x2 = reshape \"ns\" %dc shape 1x5x2\n"
    "const %nb 1x2x4 = [1 2 3 4 5 6 7 8]\n"
    "%nm 10x3 = non_max_suppression \"nm\" %nb, %ns most 2 centre overlap 0.5 score 0.25\n"
    "%nn 10x3 = non_max_suppression \"nn\" %nb, %ns most 9\n"
    "%gr 10x3x1x8 = gather_rows \"gr\" %dp, %nn fill -1\n"
    "%vb 1x2x4x6x6 = volume_border \"vb\" %data, %pl axes 0,1,2,1,-3,0,1,1,1,0,2,1,-1,2,2,0,1 value -inf\n"
    "%ve 1x2x4x6x6 = volume_border \"ve\" %data, %pl axes 0,0,1,1,1,0,0 edge\n"
    "%hi 1x2x7x6x6 = history \"hi\" %data planes 3\n"
    "const %unused 17 = [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17]\n"
    "output %r\n"
    "output %s1\n"
    "output %gb wanted bf16\n"
    "output %cq\n"
    "output %au\n"
    "output %do\n";

static void prints_what_it_parsed(void **state) {
  (void)state;
  pz_graph *g = parsed(canonical);
  char *text = printed(g);
  assert_string_equal(text, canonical);
  free(text);
  assert_true(isnan(g->tensors[pz_graph_find_tensor(g, "w")].data[3]));
  assert_int_equal(g->nodes[0].place.line, 10);
  assert_string_equal(g->nodes[0].place.file, "t");
  assert_int_equal(g->tensors[pz_graph_find_tensor(g, "conv1")].border_hi[1], 2);
  pz_text out = {0};
  assert_int_equal(pz_graph_print(g, false, &out), PZ_OK);
  assert_non_null(strstr(out.data, "const %unused 17 = digest "));
  pz_text_free(&out);
  pz_graph_free(g);
}

static void parses_loosely(void **state) {
  (void)state;
  pz_graph *g =
      parsed("\n# a comment\n  graph\t\"g\" # another\r\n\ninput %x 1x2x3\nconst %c 2 = seed 7 scale 0.5\n"
             "%y=scale\"y\"%x,%c,_#close\noutput %y");
  assert_int_equal(g->n_nodes, 1);
  float expected[2];
  pz_random_values(7, 2, expected);
  const float *c = g->tensors[pz_graph_find_tensor(g, "c")].data;
  assert_true(c[0] == 0.5f * expected[0] && c[1] == 0.5f * expected[1]);
  pz_graph_free(g);
}

/* splitmix64's first output for seed 0 is 0xe220a8397b1dcdaf (its author's reference). */
static void seeds_are_documented(void **state) {
  (void)state;
  float value, many[4096];
  pz_graph_random(0, 1, 1, &value);
  assert_true(value == (float)0xe220a8 / (float)(1 << 23) - 1);
  double sum = 0;
  pz_graph_random(5, 2, 4096, many);
  for (int i = 0; i < 4096; i++) {
    assert_true(many[i] >= -2 && many[i] < 2);
    sum += many[i];
  }
  assert_true(fabs(sum / 4096) < 4 * 2 / sqrt(3 * 4096.0)); /* four standard deviations of the mean */
}

static void says_where(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"", "t:1:1: expected 'graph', found the end of the text"},
      {"graph g", "t:1:7: expected the graph's name in quotes, found 'g'"},
      {"graph \"g", "t:1:7: a string does not end in its line"},
      {"graph \"g\\q\"", "t:1:7: bad byte or escape in a string"},
      {"graph \"g\\x00\"", "t:1:7: bad byte or escape in a string"},
      {"graph \"g\"\n", "t: graph 'g' has no output"},
      {"graph \"g\" 1\n", "t:1:11: expected the end of the line, found '1'"},
      {"graph \"g\"\nfoo\n", "t:2:1: expected 'input', 'const', 'output' or a tensor, found 'foo'"},
      {"graph \"g\"\n$", "t:2:1: unexpected byte 0x24"},
      {"graph \"g\"\ninput %x\n",
       "t:2:9: expected a shape of at most eight sizes, such as 1x3x24x24, found the end of the line"},
      {"graph \"g\"\ninput %x 1x2x3x4x5x6x7x8x9\n", "t:2:10: expected a shape"},
      {"graph \"g\"\ninput %x 1xx2\n", "t:2:10: expected a shape"},
      {"graph \"g\"\ninput %x 1x99999999999999999999\n", "t:2:10: expected a shape"},
      {"graph \"g\"\ninput %x 1x0\n", "t:2:7: tensor 'x': bad shape 1x0"},
      {"graph \"g\"\ninput % 1x0\n", "t:2:7: expected a name after %"},
      {"graph \"g\"\ninput %\"\" 1x1\n", "t:2:7: graph 'g': a tensor has no name"},
      {"graph \"g\"\ninput %x 1\ninput %x 1\n", "t:3:7: graph 'g': there are two tensors named 'x'"},
      {"graph \"g\"\ninput %x 1x1x2 border 0,0,1\n", "t:2:28: expected ':', found the end of the line"},
      {"graph \"g\"\nconst %x 2 = [1]\n", "t:2:16: expected a number, found ']'"},
      {"graph \"g\"\nconst %x 2 = [1 2 3]\n", "t:2:19: expected ']', found '3'"},
      {"graph \"g\"\nconst %x 1048576x1048576 = [1]\n",
       "t:2:7: the list has fewer than the 1099511627776 elements"},
      {"graph \"g\"\nconst %x 1048576x1048576 = seed 1\n",
       "t:2:7: the constants of a text have at most 2^28"},
      {"graph \"g\"\nconst %x 2 = seed -1\n", "t:2:19: '-1' is no seed"},
      {"graph \"g\"\nconst %x 2 = seed 1 scale inf\n", "t:2:27: a scale is a finite number"},
      {"graph \"g\"\nconst %x 2 = digest 00\n", "t:2:14: a digest cannot be turned back into values"},
      {"graph \"g\"\nconst %x 2 = 7\n", "t:2:14: expected '[', 'seed' or 'digest', found '7'"},
      {"graph \"g\"\noutput %x\n", "t:2:8: there is no tensor 'x' above this line"},
      {"graph \"g\"\ninput %x 1\n%y = foo \"y\" %x\n", "t:3:6: expected an operator, found 'foo'"},
      {"graph \"g\"\ninput %x 1\n%y = none \"y\" %x\n", "t:3:6: expected an operator, found 'none'"},
      {"graph \"g\"\ninput %x 1\n%y = identity %x\n",
       "t:3:15: expected the layer's name in quotes, found 'x'"},
      {"graph \"g\"\ninput %x 1\n%y = identity \"y\" %z\n", "t:3:19: there is no tensor 'z' above this line"},
      {"graph \"g\"\ninput %x 1\n%y = identity \"y\" %y\n", "t:3:19: there is no tensor 'y' above this line"},
      {"graph \"g\"\ninput %x 1\n%y = identity \"y\" %x foo\n",
       "t:3:22: identity has no attribute 'foo'; it has none"},
      {"graph \"g\"\ninput %x 1\n%y = power \"y\" %x axis 1\n",
       "t:3:19: power has no attribute 'axis'; it has 'power' 'scale' 'shift'"},
      {"graph \"g\"\ninput %x 1\n%y = power \"y\" %x shift 1 shift 2\n", "t:3:27: 'shift' is given twice"},
      {"graph \"g\"\ninput %x 1\n%y = power \"y\" %x shift 1,2\n",
       "t:3:26: expected the end of the line, found ','"},
      {"graph \"g\"\ninput %x 1\n%y = softmax \"y\" %x axis 9999999999\n", "t:3:26: 9999999999 is too large"},
      {"graph \"g\"\ninput %x 1\n%y = softmax \"y\" %x axis 1.5\n",
       "t:3:26: expected a whole number, found '1.5'"},
      {"graph \"g\"\ninput %x 1\n%y = activation \"y\" %x act foo\n",
       "t:3:28: expected an activation, found 'foo'"},
      {"graph \"g\"\ninput %x 1x1x4\n%y = pool \"y\" %x kind sum\n",
       "t:3:23: expected a value of 'kind', such as 'max'"},
      {"graph \"g\"\ninput %x 1x2\n%y 1x3 = identity \"y\" %x\noutput %y\n",
       "t:3:4: tensor 'y' is 1x3 here, but its inputs make it 1x2"},
      {"graph \"g\"\ninput %x 1x2\n%y border 0,0,1:0,0,0 = identity \"y\" %x\noutput %y\n",
       "t: tensor 'y' 1x2: bad border"},
      {"graph \"g\"\ninput %x 1\n%x = identity \"y\" %x\n",
       "t:3: layer 'y' (identity): there already is a tensor named 'x'"},
      {"graph \"g\"\ninput %x 1\n%y = eltwise \"y\" %x, %x coeff 1\n",
       "t:3:32: expected ',', found the end of the line"},
      {"graph \"g\"\ninput %x 1x2\n%y = reduce \"y\" %x axis 1,1\n",
       "t:3:27: '1' is no dimension, or is named twice"},
      {"graph \"g\"\ninput %x 1x2\n%y = reduce \"y\" %x axis 8\n", "t:3:25: '8' is no dimension"},
      {"graph \"g\"\ninput %x 1x2\n%y = activation \"y\" %x act clip 1\n",
       "t:3:34: expected a number, found the end of the line"},
      {"graph \"g\"\ninput %x 1x2x3\n%y = resize \"y\" %x scale 1,2\n",
       "t:3:29: expected ',', found the end of the line"},
      {"graph \"g\"\ninput %x 1x2 u9\n", "t:2:14: expected the end of the line, found 'u9'"},
      {"graph \"g\"\ninput %x 1x2 i64\n",
       "t:2:7: input 'x': elements are not i64: a tensor is of f32, f16, bf16, u8, i8, u16, i16 or i32"},
      {"graph \"g\"\ninput %x 1x2 u8 scale 0 zero_point 0\n",
       "t:2:7: input 'x': elements are not u8 scale 0"},
      {"graph \"g\"\ninput %x 1x2 u8 scale nan zero_point 0\n",
       "t:2:7: input 'x': elements are not u8 scale nan"},
      {"graph \"g\"\ninput %x 1x2 u8 scale 1 zero_point 256\n",
       "t:2:7: input 'x': elements are not u8 scale 1 zero_point 256"},
      {"graph \"g\"\ninput %x 1x2 i32 scale 2 zero_point 1\n",
       "t:2:7: input 'x': elements are not i32 scale 2 zero_point 1: a tensor is of"},
      {"graph \"g\"\ninput %x 1x2 bf16 scale 2 zero_point 0\n",
       "t:2:7: input 'x': elements are not bf16 scale 2"},
      {"graph \"g\"\ninput %x 1x2 u8 scale 2\n", "t:2:24: expected 'zero_point', found the end of the line"},
      {"graph \"g\"\ninput %x 1x2 wanted float\n", "t:2:21: expected a type of elements, found 'float'"},
      {"graph \"g\"\ninput %x 1x2 wanted i64\noutput %x\n",
       "t: tensor 'x' is wanted as i64: a tensor is of f32"},
      {"graph \"g\"\nconst %x 2 u8 = [1 2]\n", "t:2:7: 'x': a constant is f32, not u8"},
      {"graph \"g\"\ninput %x 1x2 u8\n%y = identity \"y\" %x\noutput %y\n",
       "t:3: layer 'y' (identity): its input 'x' is of u8; it takes f32: a cast must lie between"},
      {"graph \"g\"\ninput %x 1x2 u8\n%y 1x2 u8 = cast \"y\" %x\noutput %y\n",
       "t:3:4: tensor 'y' is u8 here, but its layer makes it f32"},
      {"graph \"g\"\ninput %x 1x2\n%y 1x2 = cast \"y\" %x to u8\noutput %y\n",
       "t:3:4: tensor 'y' is f32 here, but its layer makes it u8"},
      {"graph \"g\"\ninput %x 1x2\n%y = cast \"y\" %x to f64\noutput %y\n",
       "t:3: layer 'y' (cast): elements cannot be f64: a tensor is of f32"},
      {"graph \"g\"\ninput %x 1x2\n%y = cast \"y\" %x to f16 scale 2\noutput %y\n",
       "t:3: layer 'y' (cast): elements cannot be f16 scale 2 zero_point 0"},
      {"graph \"g\"\ninput %x 1x257\n%y = argmax \"y\" %x to u8\noutput %y\n",
       "t:3: layer 'y' (argmax): an index among 257 is no u8"},
      {"graph \"g\"\ninput %x 1x2\n%y = argmax \"y\" %x to i8\noutput %y\n",
       "t:3: layer 'y' (argmax): an index is of f32 or u8, not i8"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) parse_fails(rows[i].text, rows[i].message);
}

/* Borders and flags that only passes set. */
static void decorate(pz_graph *g, uint64_t seed) {
  for (pz_tensor_id id = 0; id < g->n_tensors; id++) {
    pz_tensor *t = &g->tensors[id];
    for (int32_t i = 5 - t->shape.rank; i < PZ_SPATIAL && !t->data && t->shape.rank > 2 && t->shape.rank < 6;
         i++)
      t->border_lo[i] = (int32_t)((seed + (uint64_t)id) % 3), t->border_hi[i] = (int32_t)(seed % 4);
  }
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].op == PZ_OP_CONCAT) g->nodes[n].attr.concat.in_place = (seed + (uint64_t)n) % 2;
}

static void round_trip(const pz_graph *g) {
  char why[256];
  char *text = printed(g);
  pz_graph *back = parsed(text);
  if (!pz_graphs_equal(g, back, why)) fail_msg("%s\n%s", why, text);
  pz_graph_free(back);
  free(text);
}

static pz_graph *random_graph(uint64_t seed) {
  pz_graph *g;
  pz_error err = {0};
  if ((seed % 2 ? pz_random_exported_graph : pz_random_graph)(seed / 2, &g, &err) != PZ_OK)
    fail_msg("seed %d: %s", (int)seed, err.message);
  return g;
}

static void random_graphs_come_back(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    pz_graph *g = random_graph(seed);
    double multiply_adds = 0;
    for (pz_node_id n = 0; n < g->n_nodes; n++) multiply_adds += pz_node_multiply_adds(g, &g->nodes[n]);
    assert_true(multiply_adds < PZ_RANDOM_GRAPH_MULTIPLY_ADDS);
    decorate(g, seed);
    round_trip(g);
    pz_graph_free(g);
  }
}

/* Random graphs are worth nothing if they leave an operator out, or if a seed does not say which one. */
static void random_graphs_have_everything(void **state) {
  (void)state;
  int32_t count[PZ_OP_COUNT] = {0}, spatial[4] = {0}, batches = 0, outputs = 0;
  for (uint64_t seed = 0; seed < 600; seed++) {
    pz_graph *g = random_graph(seed), *again = random_graph(seed);
    char why[256];
    assert_true(pz_graphs_equal(g, again, why));
    for (pz_node_id n = 0; n < g->n_nodes; n++) count[g->nodes[n].op]++;
    spatial[g->tensors[g->inputs[0]].shape.rank - 2]++;
    batches += g->tensors[g->inputs[0]].shape.dim[0] == 2;
    outputs += g->n_outputs > 1;
    pz_graph_free(g);
    pz_graph_free(again);
  }
  for (int32_t op = PZ_OP_NONE + 1; op < PZ_OP_COUNT; op++)
    if (op != PZ_OP_BORDER_COPY && op != PZ_OP_ARGMAX && op != PZ_OP_CAST && op != PZ_OP_DETECTION_OUTPUT &&
        op != PZ_OP_NON_MAX_SUPPRESSION && op != PZ_OP_GATHER_ROWS && op != PZ_OP_VOLUME_BORDER &&
        op != PZ_OP_HISTORY && count[op] < 5) /* what decides by values has tests of its own */
      fail_msg("only %d of %s", (int)count[op], pz_op_name((pz_op)op));
  assert_true(spatial[1] > 10 && spatial[2] > 200 && spatial[3] > 200 && batches > 100 && outputs > 40);
}

/* ---- broken texts ---- */

/* Whatever the bytes are: an error with a message and no graph, or a graph that comes back. */
static void survives(const char *bytes, size_t size) {
  pz_graph *g;
  pz_error err = {0};
  char *exact = malloc(size ? size : 1); /* so that the sanitizer sees a read behind the end */
  memcpy(exact, bytes, size);
  pz_status status = pz_graph_parse(exact, size, NULL, &g, &err);
  free(exact);
  if (status == PZ_OK) {
    char *first = printed(g); /* by text: a NaN's bits are not kept */
    pz_graph *back = parsed(first);
    char *second = printed(back);
    assert_string_equal(first, second);
    free(first);
    free(second);
    pz_graph_free(back);
    pz_graph_free(g);
    return;
  }
  assert_int_equal(status, PZ_ERROR_INPUT);
  assert_null(g);
  assert_int_equal(strncmp(err.message, "graph text:", 11), 0);
  assert_null(strchr(err.message, '\n'));
}

static void survives_every_prefix(void **state) {
  (void)state;
  for (size_t size = 0; size <= sizeof canonical - 1; size++) survives(canonical, size);
}

static void survives_every_flip(void **state) {
  (void)state;
  static const char others[] = {0, '\n', '"', '%', '9', ',', ' ', 'x', '-', '\\', '_'};
  char text[sizeof canonical];
  memcpy(text, canonical, sizeof text);
  for (size_t i = 0; i < sizeof canonical - 1; i++) {
    for (int bit = 0; bit < 8; bit++) {
      text[i] = (char)(canonical[i] ^ (1 << bit));
      survives(text, sizeof text - 1);
    }
    for (size_t k = 0; k < sizeof others; k++) {
      text[i] = others[k];
      survives(text, sizeof text - 1);
    }
    text[i] = canonical[i];
  }
}

static void survives_missing_lines(void **state) {
  (void)state;
  char text[sizeof canonical];
  for (const char *line = canonical; *line;) {
    const char *end = strchr(line, '\n') + 1;
    size_t before = (size_t)(line - canonical);
    memcpy(text, canonical, before);
    strcpy(text + before, end);
    survives(text, strlen(text));
    line = end;
  }
}

/* A host with a decimal comma. Where the locale is not installed there is nothing to see. */
static void ignores_the_locale(void **state) {
  (void)state;
  static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
  const char *set = NULL;
  for (size_t i = 0; i < sizeof commas / sizeof *commas && !set; i++) set = setlocale(LC_ALL, commas[i]);
  if (!set) skip();
  prints_what_it_parsed(state);
  setlocale(LC_ALL, "C");
}

static void prints_dot(void **state) {
  (void)state;
  pz_graph *g =
      parsed("graph \"g\\\"\"\ninput %x 1x2x10\nconst %w 4x2x3 = seed 1\n"
             "%y = conv \"a\\\\b\" %x, %w kernel 1,1,3 act elu 1\n%z = identity \"z\" %y\noutput %z\n");
  pz_text out = {0};
  assert_int_equal(pz_graph_print_dot(g, &out), PZ_OK);
  assert_string_equal(out.data, "digraph \"g\\\"\" {\n"
                                "  in0 [shape=ellipse, label=\"x\\n1x2x10\"];\n"
                                "  out0 [shape=ellipse, label=\"z\\n1x4x8\"];\n"
                                "  n0 [shape=box, label=\"a\\\\b\\nconv + elu\\n1x4x8\\n192 MAC\\n304 B\"];\n"
                                "  in0 -> n0;\n"
                                "  n1 [shape=box, label=\"z\\nidentity\\n1x4x8\\n256 B\"];\n"
                                "  n0 -> n1;\n"
                                "  n1 -> out0;\n"
                                "}\n");
  pz_text_free(&out);
  pz_graph_free(g);
}

static char *bare(const pz_graph *g) {
  pz_text out = {0};
  assert_int_equal(pz_graph_print_bare(g, &out), PZ_OK);
  return out.data;
}

static void prints_nothing_that_an_author_wrote(void **state) {
  (void)state;
  pz_graph *g =
      parsed("graph \"secret\"\ninput %secret 1x2x10\nconst %w 4x2x3 = seed 9\nconst %unused 2 = [1 2]\n"
             "const %b 4 = [1 2 3 4]\n%y = conv \"secret\" %secret, %w, %b kernel 1,1,3 act elu 1\n"
             "%z = identity \"z\" %y\noutput %z\n");
  char *text = bare(g);
  assert_string_equal(text, "graph \"network\"\n"
                            "input %0 1x2x10\n"
                            "const %1 4x2x3 = seed 1 scale 0.694\n"
                            "const %3 4 = seed 3 scale 0.1\n"
                            "%4 1x4x8 = conv \"0\" %0, %1, %3 kernel 1,1,3 act elu 1\n"
                            "%5 1x4x8 = identity \"1\" %4\n"
                            "output %5\n");
  free(text);
  pz_graph_free(g);
}

/* Numbered anew by reading it, a graph prints as it was read. */
static void bare_graphs_come_back(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    pz_graph *g = random_graph(seed);
    char *first = bare(g);
    pz_graph *again = parsed(first);
    assert_int_equal(again->n_nodes, g->n_nodes);
    for (pz_node_id n = 0; n < g->n_nodes; n++) {
      assert_int_equal(again->nodes[n].op, g->nodes[n].op);
      assert_true(pz_shape_equal(&again->tensors[again->nodes[n].out[0]].shape,
                                 &g->tensors[g->nodes[n].out[0]].shape));
    }
    char *second = bare(again);
    pz_graph *third = parsed(second);
    char *last = bare(third);
    assert_string_equal(second, last);
    free(first), free(second), free(last);
    pz_graph_free(g), pz_graph_free(again), pz_graph_free(third);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_what_it_parsed),
      cmocka_unit_test(parses_loosely),
      cmocka_unit_test(seeds_are_documented),
      cmocka_unit_test(says_where),
      cmocka_unit_test(random_graphs_come_back),
      cmocka_unit_test(random_graphs_have_everything),
      cmocka_unit_test(survives_every_prefix),
      cmocka_unit_test(survives_every_flip),
      cmocka_unit_test(survives_missing_lines),
      cmocka_unit_test(ignores_the_locale),
      cmocka_unit_test(prints_dot),
      cmocka_unit_test(prints_nothing_that_an_author_wrote),
      cmocka_unit_test(bare_graphs_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
