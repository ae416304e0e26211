/* Which of a network file's variants is run: by rows of manifests, on machines that are made up; and a file with two, of which one is loaded. */
#include "folder.h"
#include "base/cpu.h"
#include "base/digest.h"
#include "pznet/pznet.h"
#include "runtime/image.h"
#include "runtime/manifest.h"
#include "runtime/variant.h"

#include <string.h>

/* The machine: its strongest instruction set, -1: none; and its processor. */
static int strongest = PZ_ISA_AVX2;
static pz_cpu_id cpu;
bool __wrap_pz_isa_supported(pz_isa isa);
bool __wrap_pz_isa_supported(pz_isa isa) { return (int)isa <= strongest; }
pz_isa __wrap_pz_isa_native(void);
pz_isa __wrap_pz_isa_native(void) { return (pz_isa)(strongest > 0 ? strongest : 0); }
bool __wrap_pz_cpu_identity(pz_cpu_id *id);
bool __wrap_pz_cpu_identity(pz_cpu_id *id) { return *id = cpu, cpu.vendor[0] != 0; }

/* ---- rows ---- */

#define TOP(isa, target) "{'isa': '" isa "', 'target': '" target "', 'variants': ["
#define ROW(index, isa, target, more)                                                                        \
  "{'symbol': 'pz_network" index "', 'isa': '" isa "', 'target': '" target "', 'weights': [[0, 64]]" more "}"
#define OF_ALL ", 'manifest': {}"
#define CORE(family)                                                                                         \
  ", 'cpus': [{'vendor': 'AuthenticAMD', 'family': " family ", 'model': [0, 255], 'stepping': [0, 15]}]"

#define FOUR                                                                                                 \
  TOP("sse4", "v2")                                                                                          \
  ROW("", "sse4", "v2", "")                                                                                  \
  ", " ROW("_1", "avx2", "v3", OF_ALL) ", " ROW("_2", "avx512", "v4", OF_ALL) ", " ROW("_3", "amx", "spr",   \
                                                                                       OF_ALL) "]}"
/* Of one instruction set: for a core that this is not, for any, for this one, for any again. */
#define CORES                                                                                                \
  TOP("avx2", "other")                                                                                       \
  ROW("", "avx2", "other", CORE("23"))                                                                       \
  ", " ROW("_1", "avx2", "any", OF_ALL) ", " ROW("_2", "avx2", "own", OF_ALL CORE("25")) ", " ROW(           \
      "_3", "avx2", "more", OF_ALL) "]}"

/* Their quotes as JSON has them. */
static json_t *parse(const char *text) {
  char *copy = strdup(text);
  for (char *c = copy; *c; c++)
    if (*c == '\'') *c = '"';
  pz_json j = {0};
  json_t *json = pz_json_read(&j, copy, strlen(copy), 0, NULL);
  free(copy);
  if (!json) fail_msg("%s: no JSON", text);
  return json;
}

static pz_status find(const char *text, const char *name, bool any, pz_variant *v, pz_error *err) {
  const pz_mask mask = {name, "PZNET_TARGET"};
  pz_arena *arena = pz_arena_new();
  json_t *json = parse(text);
  *err = (pz_error){0};
  const pz_status status = pz_variant_find(arena, json, "net.so", &mask, any, v, err);
  json_decref(json);
  pz_arena_free(arena);
  return status;
}

static void assert_picks(const char *text, const char *name, int32_t index) {
  pz_variant v;
  pz_error err;
  if (find(text, name, false, &v, &err) != PZ_OK) fail_msg("%s", err.message);
  if (v.index != index) fail_msg("picked %d, expected %d, of %s", (int)v.index, (int)index, text);
  char symbol[32] = "pz_network";
  if (index) snprintf(symbol, sizeof symbol, "pz_network_%d", (int)index);
  assert_string_equal(v.symbol, symbol);
}

static void assert_fails(const char *text, const char *name, const char *words) {
  pz_variant v;
  pz_error err;
  if (find(text, name, false, &v, &err) != PZ_ERROR_INPUT) fail_msg("accepted: %s", text);
  if (!strstr(err.message, words)) fail_msg("'%s', expected '%s'", err.message, words);
  assert_ptr_equal(strstr(err.message, "net.so: "), err.message);
}

static void the_strongest_is_picked(void **state) {
  (void)state;
  for (strongest = PZ_ISA_SSE4; strongest <= PZ_ISA_AMX; strongest++) assert_picks(FOUR, NULL, strongest);
  strongest = PZ_ISA_AVX512;
  assert_picks(TOP("sse4", "v2") ROW("", "sse4", "v2", "") ", " ROW("_1", "amx", "spr", OF_ALL) "]}", NULL,
               0);
  /* What a later pznet knows is no reason to refuse what this one does. */
  assert_picks(TOP("sse4", "v2") ROW("", "sse4", "v2", "") ", " ROW("_1", "avx1024", "x", OF_ALL) "]}", NULL,
               0);
  assert_picks("{'isa': 'avx2'}", NULL, 0);
  strongest = PZ_ISA_AVX2;
}

static void of_equals_that_of_this_core_is_picked(void **state) {
  (void)state;
  cpu = (pz_cpu_id){"AuthenticAMD", 25, 33, 0};
  assert_picks(CORES, NULL, 2);
  cpu.family = 23;
  assert_picks(CORES, NULL, 0);
  cpu.family = 26;
  assert_picks(CORES, NULL, 1);
  cpu = (pz_cpu_id){"GenuineIntel", 25, 33, 0};
  assert_picks(CORES, NULL, 1);
  cpu = (pz_cpu_id){0};
  assert_picks(CORES, NULL, 1);
}

static void a_mask_leaves_those_of_a_name(void **state) {
  (void)state;
  strongest = PZ_ISA_AMX;
  static const char *const isas[] = {"sse4", "avx2", "avx512", "amx"};
  static const char *const targets[] = {"v2", "v3", "v4", "spr"};
  for (int32_t i = 0; i < 4; i++) assert_picks(FOUR, isas[i], i), assert_picks(FOUR, targets[i], i);
  strongest = PZ_ISA_AVX2; /* what is masked and what the machine has not */
  assert_picks(FOUR, "amx", 1);
  assert_picks(FOUR, "sse4", 0);
  assert_picks(CORES, "more", 3);
  assert_picks("{'isa': 'avx2', 'target': 'zen3'}", "avx2", 0);
  assert_picks("{'isa': 'avx2', 'target': 'zen3'}", "avx512", 0);
  assert_picks("{'isa': 'avx2', 'target': 'zen3'}", "zen3", 0);
}

static void what_leaves_nothing_is_refused(void **state) {
  (void)state;
  assert_fails(FOUR, "v9",
               "has no variant for 'v9', which PZNET_TARGET names: it has v2 (sse4), v3 (avx2), v4 (avx512), "
               "spr (amx); an instruction set may be named too");
  assert_fails(FOUR, "native", "has no variant for 'native'");
  assert_fails(CORES, "sse4",
               "has no variant that SSE4.2 alone suffices for, as PZNET_TARGET sse4 asks: it has other "
               "(avx2), any (avx2)");
  assert_fails(FOUR, "spr",
               "PZNET_TARGET spr leaves nothing that this machine, which has AVX2, can run, of v2 (sse4)");
  strongest = PZ_ISA_SSE4;
  assert_fails(CORES, NULL,
               "has variants for other (avx2), any (avx2), own (avx2), more (avx2), this machine has SSE4.2: "
               "compile it "
               "again with --isa sse4, or with --isa all");
  assert_fails("{'isa': 'avx2', 'target': 'zen3'}", NULL,
               "was compiled for AVX2, this machine has SSE4.2: compile it again with --isa sse4");
  strongest = -1;
  assert_fails(FOUR, NULL, "and this machine does not even have SSE4.2");
  strongest = PZ_ISA_AVX2;
  assert_fails("{'isa': 'avx2', 'target': 'zen3'}", "zen4", "has no variant for 'zen4'");
  assert_fails("{'isa': 'mmx'}", NULL,
               "manifest: isa: 'mmx' is not an instruction set that this pznet knows");
}

static void to_look_at_any_may_be_picked(void **state) {
  (void)state;
  pz_variant v;
  pz_error err;
  strongest = PZ_ISA_SSE4;
  assert_int_equal(find(CORES, NULL, true, &v, &err), PZ_OK);
  assert_int_equal(v.index, 0);
  assert_int_equal(find(FOUR, "v4", true, &v, &err), PZ_OK);
  assert_int_equal(v.index, 2);
  assert_int_equal(find(FOUR, "v9", true, &v, &err), PZ_ERROR_INPUT);
  strongest = PZ_ISA_AVX2;
}

static void damaged_rows_are_refused(void **state) {
  (void)state;
#define ONE(...) TOP("sse4", "v2") __VA_ARGS__ "]}"
#define FIRST    ROW("", "sse4", "v2", "")
#define SEVENTEEN                                                                                            \
  FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST   \
        ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST ", " FIRST
  static const char *const texts[][2] = {
      {ONE(""), "expected 1 to 16 rows"},
      {ONE(SEVENTEEN), "expected 1 to 16 rows"},
      {"{'isa': 'sse4', 'target': 'v2', 'variants': 3}", "expected 1 to 16 rows"},
      {ONE("7"), "a row without isa or target"},
      {ONE("{'isa': 'sse4', 'symbol': 'pz_network'}"), "a row without isa or target"},
      {ONE(ROW("_1", "sse4", "v2", "")), "a symbol that is not the row's"},
      {ONE(FIRST ", " ROW("_2", "avx2", "v3", OF_ALL)), "a symbol that is not the row's"},
      {ONE(FIRST ", " ROW("_1", "avx2", "v3", "")), "a row without its manifest"},
      {ONE(FIRST ", " ROW("_1", "avx2", "v2", OF_ALL)), "two of one target"},
      {ONE(ROW("", "avx2", "v2", "")), "the first is not what the manifest is of"},
      {ONE(ROW("", "sse4", "v3", "")), "the first is not what the manifest is of"},
      {ONE("{'symbol': 'pz_network', 'isa': 'sse4', 'target': 'v2'}"), "a row without its weights"},
#define WEIGHTS(text) ONE("{'symbol': 'pz_network', 'isa': 'sse4', 'target': 'v2', 'weights': " text "}")
      {WEIGHTS("[[0, 0]]"), "weights that are no stretches"},
      {WEIGHTS("[[-1, 5]]"), "weights that are no stretches"},
      {WEIGHTS("[[0, 64], [32, 128]]"), "weights that are no stretches"},
      {WEIGHTS("[[64, 0]]"), "weights that are no stretches"},
      {WEIGHTS("[[0, 9223372036854775807]]"), "weights that are no stretches"},
      {WEIGHTS("[[0.5, 64]]"), "weights that are no stretches"},
      {WEIGHTS("[3]"), "weights that are no stretches"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_fails(texts[i][0], NULL, texts[i][1]);
}

static void the_manifest_is_the_picked_one_s(void **state) {
  (void)state;
  pz_json j = {0};
  json_t *file = parse(
      "{'file_checksum': 'aa', 'isa': 'sse4', 'target': 'v2', 'plan': [1], 'name': 'n', 'variants': ["
      "{'symbol': 'pz_network', 'isa': 'sse4', 'target': 'v2', 'weights': []}, {'symbol': 'pz_network_1', "
      "'isa': 'avx2', 'target': 'v3', 'weights': [], 'manifest': {'isa': 'avx2', 'target': 'v3', 'plan': "
      "[2, 3], 'file_checksum': 'bb'}}]}");
  json_t *first = pz_variant_manifest(&j, file, 0), *second = pz_variant_manifest(&j, file, 1);
  assert_false(j.failed);
  json_t *expected =
      parse("{'file_checksum': 'aa', 'isa': 'avx2', 'target': 'v3', 'plan': [2, 3], 'name': 'n', "
            "'variants': [{'symbol': 'pz_network', 'isa': 'sse4', 'target': 'v2', 'weights': [], "
            "'runs_here': true}, {'symbol': 'pz_network_1', 'isa': 'avx2', 'target': 'v3', 'weights': [], "
            "'runs_here': true}], 'variant': 1}");
  assert_true(json_equal(second, expected));
  assert_string_equal(json_string_value(json_object_get(first, "isa")), "sse4");
  assert_int_equal(json_array_size(json_object_get(first, "plan")), 1);
  json_decref(expected);
  json_decref(first);
  json_decref(second);
  json_decref(file);
}

/* Seeded: letters of the text anywhere, and pieces of it elsewhere. What is accepted has a symbol and a manifest. */
static void random_damage_is_survived(void **state) {
  (void)state;
  static const char text[] =
      "{\"abi_version\": 2, \"file_checksum\": \"0\", \"isa\": \"sse4\", \"target\": \"v2\", "
      "\"variants\": [{\"symbol\": \"pz_network\", \"isa\": \"sse4\", \"target\": \"v2\", "
      "\"weights\": [[0, 64], [128, 256]], \"cpus\": [{\"vendor\": \"AuthenticAMD\", \"family\": 25, "
      "\"model\": [0, 255], \"stepping\": [0, 15]}]}, {\"symbol\": \"pz_network_1\", \"isa\": "
      "\"avx2\", \"target\": \"v3\", \"weights\": [[64, 128]], \"manifest\": {\"isa\": "
      "\"avx2\", \"plan\": [1]}}]}";
  static const char letters[] = "\"{}[],:0123456789-aeintv_ ";
  char damaged[sizeof text];
  size_t refused = 0, accepted = 0;
  const pz_mask any = {NULL, NULL};
  cpu = (pz_cpu_id){"AuthenticAMD", 25, 33, 0};
  srand(5);
  for (int round = 0; round < 20000; round++) {
    memcpy(damaged, text, sizeof text);
    const size_t at = (size_t)rand() % (sizeof text - 20), from = (size_t)rand() % (sizeof text - 20);
    if (round % 2) damaged[at] = letters[(size_t)rand() % (sizeof letters - 1)];
    else memmove(damaged + at, text + from, (size_t)rand() % 20);
    pz_error err = {0};
    pz_arena *arena = pz_arena_new();
    pz_variant v;
    const char *manifest = NULL;
    const pz_status status = pz_manifest_check(arena, damaged, "net.so", &any, &v, &manifest, &err);
    if (status != PZ_OK && status != PZ_ERROR_INPUT) fail_msg("%s: %s", damaged, err.message);
    if (status == PZ_OK) assert_true(manifest && strstr(v.symbol, "pz_network") == v.symbol);
    refused += status != PZ_OK, accepted += status == PZ_OK;
    pz_arena_free(arena);
  }
  cpu = (pz_cpu_id){0};
  assert_true(refused > 5000 && accepted > 1000);
}

/* ---- a file ---- */

static float first_result(const pz_net_options *options, bool *is_second) {
  float in[35] = {3}, out[35] = {0};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  pz_net *net;
  const char *digest;
  char expected[PZ_DIGEST_TEXT];
  size_t size;
  if (pz_net_open(NET("variants"), options, &net) != PZ_OK) fail_msg("%s", pz_last_message());
  assert_int_equal(pz_net_run(net, inputs, outputs), PZ_OK);
  *is_second = strstr(pz_net_manifest(net), "\"variant\": 1") != NULL;
  /* Of all of the file, of whose weights a half is not there. */
  uint8_t *data = bytes_of(NET("variants"), &size);
  pz_digest_text(data, size, expected);
  free(data);
  assert_int_equal(pz_net_digest(net, &digest), PZ_OK);
  assert_string_equal(digest, expected);
  pz_net_close(net);
  return out[0];
}

static void one_of_two_is_loaded(void **state) {
  (void)state;
  bool second;
  for (int share = 0; share < 2; share++) {
    pz_net_options options = {.threads = 1, .share_weights = share};
    strongest = PZ_ISA_AVX2;
    assert_true(first_result(&options, &second) == 5 * 9 + 1 && second);
    options.target = "weak";
    assert_true(first_result(&options, &second) == 3 * 9 + 1 && !second);
    options.target = NULL;
    setenv("PZNET_TARGET", "sse4", 1);
    assert_true(first_result(&options, &second) == 3 * 9 + 1 && !second);
    options.target = "strong"; /* it counts before the environment */
    assert_true(first_result(&options, &second) == 5 * 9 + 1 && second);
    options.target = NULL;
    setenv("PZNET_TARGET", "", 1);
    assert_true(first_result(&options, &second) == 5 * 9 + 1 && second);
    unsetenv("PZNET_TARGET");
    strongest = PZ_ISA_SSE4;
    assert_true(first_result(&options, &second) == 3 * 9 + 1 && !second);
  }
  strongest = PZ_ISA_AVX2;
}

/* What was not kept can be told of as long as nobody writes to the file. */
static void a_digest_of_what_was_not_kept(void **state) {
  (void)state;
  pz_net *net;
  const char *digest;
  size_t size;
  uint8_t *data = bytes_of(NET("variants"), &size);
  put_file(data, size);
  assert_int_equal(pz_net_open(file_path, NULL, &net), PZ_OK);
  unlink(file_path); /* its name alone */
  assert_int_equal(pz_net_digest(net, &digest), PZ_OK);
  pz_net_close(net);
  put_file(data, size);
  assert_int_equal(pz_net_open(file_path, NULL, &net), PZ_OK);
  assert_int_equal(truncate(file_path, 100), 0);
  assert_int_equal(pz_net_digest(net, &digest), PZ_ERROR_INPUT);
  assert_non_null(strstr(pz_last_message(), file_path));
  pz_net_close(net);
  put_file(data, size);
  assert_int_equal(pz_net_open(file_path, NULL, &net), PZ_OK);
  FILE *file = fopen(file_path, "r+b");
  assert_non_null(file);
  assert_true(fwrite("x", 1, 1, file) == 1 && !fclose(file));
  assert_int_equal(pz_net_digest(net, &digest), PZ_ERROR_INPUT);
  assert_non_null(strstr(pz_last_message(), "was written to while it was open"));
  pz_net_close(net);
  free(data);
}

/* What other variants read is summed, and takes no memory. */
static void weights_of_others_are_not_kept(void **state) {
  (void)state;
  static uint8_t buffer[PZ_IMAGE_PIECE];
  const pz_stretch kept[] = {{100, 5000}, {1 << 20, (1 << 20) + 1}, {3 << 20, 4 << 20}};
  pz_image image;
  pz_error err = {0};
  size_t size, n, passed = 0;
  uint8_t *data = bytes_of(NET("variants"), &size);
  assert_int_equal(pz_image_open(NET("variants"), false, &image, &err), PZ_OK);
  assert_int_equal(pz_image_keep(&image, kept, 3, &err), PZ_OK);
  assert_true(pz_image_needs_buffer(&image));
  for (size_t at = 0; at < size; at += n) {
    const uint8_t *bytes;
    assert_int_equal(pz_image_read(&image, at, buffer, &bytes, &n, &err), PZ_OK);
    assert_true(n > 0 && n <= PZ_IMAGE_PIECE);
    assert_memory_equal(bytes, data + at, n);
    passed += bytes == buffer ? n : 0;
  }
  assert_int_equal(passed, (7 << 20) - 2 * 4096 - 4096 - (1 << 20));
  const uint8_t *weights = image.data + image.weights.offset, *right = data + image.weights.offset;
  assert_memory_equal(weights, right, 8192);
  assert_memory_equal(weights + (3 << 20), right + (3 << 20), 1 << 20);
  assert_true(weights[8192] == 0 && right[8194] != 0 && weights[(2 << 20) + 2] == 0);
  pz_image_close(&image);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_strongest_is_picked),
      cmocka_unit_test(of_equals_that_of_this_core_is_picked),
      cmocka_unit_test(a_mask_leaves_those_of_a_name),
      cmocka_unit_test(what_leaves_nothing_is_refused),
      cmocka_unit_test(to_look_at_any_may_be_picked),
      cmocka_unit_test(damaged_rows_are_refused),
      cmocka_unit_test(the_manifest_is_the_picked_one_s),
      cmocka_unit_test(random_damage_is_survived),
      cmocka_unit_test(one_of_two_is_loaded),
      cmocka_unit_test(a_digest_of_what_was_not_kept),
      cmocka_unit_test(weights_of_others_are_not_kept),
  };
  return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
