#include "folder.h"
#include "base/cpu.h"
#include "fail_alloc.h"
#include "pznet/pznet.h"
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The strongest instruction set that this machine is made to have. */
static int strongest = PZ_ISA_COUNT;
bool __real_pz_isa_supported(pz_isa isa);
bool __wrap_pz_isa_supported(pz_isa isa);
bool __wrap_pz_isa_supported(pz_isa isa) { return (int)isa <= strongest && __real_pz_isa_supported(isa); }

pz_isa __wrap_pz_isa_native(void);
pz_isa __wrap_pz_isa_native(void) {
  int isa = PZ_ISA_COUNT - 1;
  while (isa > 0 && !__wrap_pz_isa_supported((pz_isa)isa)) isa--;
  return (pz_isa)isa;
}

static void assert_refused(const char *path, pz_status expected, const char *words) {
  pz_net *net = (pz_net *)&net;
  pz_status status = pz_net_open(path, NULL, &net);
  assert_null(net);
  const char *message = pz_last_message();
  if (status != expected || !strstr(message, words))
    fail_msg("status %d, '%s', expected %d, '%s'", status, message, expected, words);
  if (strstr(message, path) != message) fail_msg("'%s' does not begin with the path", message);
}

static void unfit_files_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *path, *words;
  } rows[] = {
      {NET("abi1"), "has network ABI 1 (made by pznet 0.0.9), this pznet reads ABI 2: compile it again"},
      {NET("abi7"),
       "has network ABI 7 (made by pznet 0.0.9), this pznet reads ABI 2: open it with that pznet, "
       "or compile it again"},
      {NET("abi_text"), "manifest: abi_version: expected an integer"},
      {NET("sve"), "manifest: isa: 'sve' is not an instruction set"},
      {NET("native"), "manifest: isa: 'native' is not an instruction set"},
      {NET("not_json"), "manifest: line 1, column 2:"},
      {NET("no_json"), "manifest: line 1, column 0:"},
      {NET("no_manifest"), "is not a pznet network file: it has no section .pznet.manifest"},
      {NET("struct_abi"), "has network ABI 1, this pznet reads ABI 2"},
      {NET("struct_bytes"), "its structs are not those of network ABI 2"},
      {NET("unfinished"), "is damaged or truncated (it has no checksum)"},
      {NET("other_name"), "does not export pz_network"},
      {NET("missing_symbol"), "cannot be loaded: "},
      {NET("describes_nothing"), "describes no network"},
      {"missing.so", "cannot be opened: No such file"},
      {"/tmp", "is a folder, expected a file"},
      {"/dev/null", "is not a regular file"},
      {PZ_SOURCE_DIR "/LICENSE", "is not a pznet network file: expected an ELF shared object"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_refused(rows[i].path, PZ_ERROR_INPUT, rows[i].words);
}

static void instruction_sets_are_checked_first(void **state) {
  (void)state;
  assert_refused(NET("neon"), PZ_ERROR_INPUT, "was compiled for NEON, this machine has ");
  strongest = PZ_ISA_SSE4;
  assert_refused(NET("avx512"), PZ_ERROR_INPUT,
                 "was compiled for AVX-512, this machine has SSE4.2: compile it again with --isa sse4");
  assert_refused(NET("amx"), PZ_ERROR_INPUT,
                 "was compiled for AMX, this machine has SSE4.2: compile it again with --isa sse4");
  strongest = -1;
  assert_refused(NET("good"), PZ_ERROR_INPUT,
                 "was compiled for SSE4.2, and this machine does not even have SSE4.2");
  strongest = PZ_ISA_COUNT;
}

static void wrong_arguments(void **state) {
  (void)state;
  pz_net *net;
  assert_int_equal(pz_net_open(NULL, NULL, &net), PZ_ERROR_USAGE);
  assert_null(net);
  assert_int_equal(pz_net_open("x", NULL, NULL), PZ_ERROR_USAGE);
  assert_int_equal(pz_net_open(NET("good"), &(pz_net_options){.threads = -2}, &net), PZ_ERROR_USAGE);
  assert_null(net);
  pz_net_close(NULL);
  pz_free(NULL);
}

static void open_network_describes_itself(void **state) {
  (void)state;
  pz_net *net;
  pz_port port;
  assert_int_equal(pz_net_open(NET("good"), &(pz_net_options){.threads = 3}, &net), PZ_OK);
  assert_int_equal(pz_net_inputs(net), 1);
  assert_int_equal(pz_net_outputs(net), 1);
  assert_int_equal(pz_net_steps(net), 2);
  assert_int_equal(pz_net_threads(net), 3);
  assert_int_equal(pz_net_memory(net), 35 * 4 + 3 * 64);
  assert_non_null(strstr(pz_net_manifest(net), "\"isa\": \"sse4\""));
  assert_int_equal(pz_net_input(net, 0, &port), PZ_OK);
  assert_string_equal(port.name, "data");
  assert_int_equal(port.dtype, PZ_F32);
  assert_int_equal(port.rank, 4);
  assert_int_equal(port.dim[2], 5);
  assert_int_equal(port.dim[3], 7);
  assert_int_equal(port.elements, 35);
  assert_int_equal(pz_net_output(net, 0, &port), PZ_OK);
  assert_string_equal(port.name, "prob");
  assert_int_equal(pz_net_input(net, 1, &port), PZ_ERROR_USAGE);
  assert_string_equal(pz_last_message(), "input 1: the network has 1");
  assert_int_equal(pz_net_output(net, -1, &port), PZ_ERROR_USAGE);
  pz_net_close(net);
}

/* Of weights, those that are pages of the file. */
static size_t bytes_of_file(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[1024], rights[8];
  size_t bytes = 0;
  unsigned long begin, end;
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps))
    if (strstr(line, "net_weights.so") && sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 &&
        !strcmp(rights, "r--p"))
      bytes += end - begin;
  fclose(maps);
  return bytes;
}

static void assert_right(pz_net *net) {
  float in[35], out[35] = {0};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  for (int i = 0; i < 35; i++) in[i] = (float)i;
  assert_int_equal(pz_net_run(net, inputs, outputs), PZ_OK);
  for (int i = 0; i < 35; i++) assert_true(out[i] == (float)(3 * i * i + 1));
}

/* Of memory without a file. */
static size_t huge_bytes(void) {
  FILE *maps = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  size_t kib = 0;
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps) && sscanf(line, "AnonHugePages: %zu", &kib) != 1) {}
  fclose(maps);
  return kib << 10;
}

static bool has_huge_pages(void) {
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  char text[64] = "[never]";
  if (file) {
    (void)!fgets(text, sizeof text, file);
    fclose(file);
  }
  return !strstr(text, "[never]");
}

static void weights_are_copied_or_shared(void **state) {
  (void)state;
  static const size_t all = (size_t)7 << 20;
  const pz_net_options share = {.share_weights = true};
  pz_net *net, *again;
  assert_int_equal(pz_net_open(NET("weights"), &share, &net), PZ_OK);
  assert_true(bytes_of_file() >= all);
  assert_right(net);
  const size_t once = bytes_of_file();
  assert_int_equal(pz_net_open(NET("weights"), &share, &again), PZ_OK);
  assert_int_equal(bytes_of_file(), once);
  pz_net_close(net);
  assert_right(again);
  pz_net_close(again);
  assert_int_equal(bytes_of_file(), 0);

  assert_int_equal(pz_net_open(NET("weights"), NULL, &net), PZ_OK);
  assert_int_equal(pz_net_open(NET("weights"), NULL, &again), PZ_OK);
  assert_int_equal(bytes_of_file(), 0);
  assert_right(net), assert_right(again);
  assert_int_equal(huge_bytes() >= 2 * 4 << 20,
                   has_huge_pages()); /* two huge pages lie among them at least */
  pz_net_close(net), pz_net_close(again);
  assert_int_equal(bytes_of_file(), 0);
}

static void *look_at_message(void *arg) {
  (void)arg;
  return pz_last_message()[0] ? (void *)1 : NULL;
}

static void message_belongs_to_the_thread(void **state) {
  (void)state;
  pz_net *net;
  pthread_t thread;
  void *other;
  assert_int_equal(pz_net_open("missing", NULL, &net), PZ_ERROR_INPUT);
  assert_int_equal(pthread_create(&thread, NULL, look_at_message, NULL), 0);
  pthread_join(thread, &other);
  assert_null(other);
  assert_true(pz_last_message()[0] != 0);
  assert_string_equal(pz_version(), PZ_VERSION);
}

static float first_output(pz_net *net) {
  float in[35] = {3}, out[35] = {0};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  assert_int_equal(pz_net_run(net, inputs, outputs), PZ_OK);
  return out[0];
}

static void file_under_an_old_name_is_the_new_one(void **state) {
  (void)state;
  size_t good_size, other_size;
  uint8_t *good = bytes_of(NET("good"), &good_size), *other = bytes_of(NET("other"), &other_size);
  pz_net *old, *new, *again;
  put_file(good, good_size);
  assert_int_equal(pz_net_open(file_path, NULL, &old), PZ_OK);
  put_file(other, other_size);
  assert_int_equal(pz_net_open(file_path, NULL, &new), PZ_OK);
  assert_int_equal(pz_net_open(file_path, NULL, &again), PZ_OK);
  assert_true(first_output(old) == 2 * 9 + 1);
  assert_true(first_output(new) == 3 * 9 + 1);
  pz_net_close(new);
  assert_true(first_output(again) == 3 * 9 + 1);
  assert_true(first_output(old) == 2 * 9 + 1);
  pz_net_close(old);
  pz_net_close(again);
  free(good), free(other);
}

/* A name without a slash is a file of the working folder: the loader's search path plays no part. */
static void name_without_folder(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  char before[4096];
  pz_net *net = NULL;
  put_file(data, size);
  free(data);
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  pz_status status = pz_net_open("net.so", NULL, &net);
  assert_int_equal(symlink("net.so", "link.so"), 0);
  pz_net *through_link = NULL;
  pz_status link_status = pz_net_open("link.so", NULL, &through_link);
  unlink("link.so");
  assert_int_equal(chdir(before), 0);
  assert_int_equal(status, PZ_OK);
  assert_int_equal(link_status, PZ_OK);
  pz_net_close(net);
  pz_net_close(through_link);
}

static void opening_without_memory(void **state) {
  (void)state;
  long most = 0, coped = 0;
  json_set_alloc_funcs(malloc, free);
  PZ_FAIL_EACH_ALLOC() {
    pz_net *net;
    pz_status status = pz_net_open(NET("good"), &(pz_net_options){.threads = 2}, &net);
    most = pz_fail_alloc_count();
    bool failed = pz_fail_alloc_end();
    assert_int_equal(net == NULL, status != PZ_OK);
    if (failed && status == PZ_OK) coped++; /* jansson's table of keys is full and does not grow */
    if (status != PZ_OK && (status != PZ_ERROR_MEMORY || !failed))
      fail_msg("allocation %ld: status %d: %s", most, status, pz_last_message());
    pz_net_close(net);
  }
  assert_true(coped <= 1);
  assert_true(most > 10); /* jansson's are among them */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unfit_files_are_refused),
      cmocka_unit_test(instruction_sets_are_checked_first),
      cmocka_unit_test(wrong_arguments),
      cmocka_unit_test(open_network_describes_itself),
      cmocka_unit_test(weights_are_copied_or_shared),
      cmocka_unit_test(message_belongs_to_the_thread),
      cmocka_unit_test(file_under_an_old_name_is_the_new_one),
      cmocka_unit_test(name_without_folder),
      cmocka_unit_test(opening_without_memory),
  };
  return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
