/* Damaged copies through the whole of opening, the system's loader included: a status, or a network that works. They have no
 * checksum, which would keep them from the loader (test_integrity.c). */
#include "folder.h"
#include "runtime/runtime.h"
#include <elf.h>
#include <string.h>

static bool works(pz_net *net) {
  float in[35] = {3, 4}, out[35] = {0};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  return pz_net_run(net, inputs, outputs) == PZ_OK && out[0] == 19 && out[1] == 33 && out[2] == 1;
}

/* True where the file was refused. */
static bool try_open(const uint8_t *data, size_t size, size_t at) {
  pz_net *net;
  put_file(data, size);
  pz_error err = {0};
  pz_status status = pz_runtime_open_unfinished(file_path, &(pz_net_options){.threads = 1}, &net, &err);
  if (status == PZ_OK && !works(net)) fail_msg("byte %zu: opened, but does not work", at);
  if (status != PZ_OK && status != PZ_ERROR_INPUT) fail_msg("byte %zu: %s", at, err.message);
  pz_net_close(net);
  return status != PZ_OK;
}

static void truncated_copies_are_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = bytes_of(NET("unfinished"), &size);
  for (size_t n = 0; n < size; n += 64)
    if (!try_open(data, n, n)) fail_msg("%zu of %zu bytes were accepted", n, size);
  assert_false(try_open(data, size, size));
  free(data);
}

static size_t flip_all(uint8_t *data, size_t size, size_t begin, size_t length, uint8_t bits) {
  size_t refused = 0;
  for (size_t i = begin; i < begin + length; i++) {
    data[i] ^= bits;
    refused += try_open(data, size, i);
    data[i] ^= bits;
  }
  return refused;
}

static void flipped_headers_do_not_crash(void **state) {
  (void)state;
  static const uint8_t flips[] = {0xff, 0x01, 0x10, 0x80};
  size_t size;
  uint8_t *data = bytes_of(NET("unfinished"), &size);
  Elf64_Ehdr h;
  memcpy(&h, data, sizeof h);
  for (size_t k = 0; k < sizeof flips; k++) {
    assert_true(flip_all(data, size, 0, sizeof h, flips[k]) >= 20);
    assert_true(flip_all(data, size, h.e_phoff, (size_t)h.e_phnum * sizeof(Elf64_Phdr), flips[k]) >= 100);
    if (k < 2) flip_all(data, size, h.e_shoff, (size_t)h.e_shnum * sizeof(Elf64_Shdr), flips[k]);
  }
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(truncated_copies_are_refused),
      cmocka_unit_test(flipped_headers_do_not_crash),
  };
  return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
