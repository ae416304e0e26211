/* What was checked is what runs: damage in any byte is found, and what happens to a file later changes nothing. The system's
 * functions are wrapped, so that files change at any moment and ways to load them are missing. */
#include "folder.h"
#include "base/checksum.h"
#include "base/digest.h"
#include "pznet/network_abi.h"
#include "pznet/pznet.h"
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- the system, with faults ---- */

static struct faults {
  bool no_memory_files; /* memfd_create fails */
  bool no_memory_loads; /* what is named by a descriptor is not loaded */
  bool no_proc;         /* /proc/self/fd is not there */
  bool other_room;      /* the room that was reserved for a library is taken when it is loaded */
  int at_read;          /* before this read (1, 2, ...), `change` is called */
  void (*change)(void);
  int reads, moves;
} faults;

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags) {
  if (!faults.no_memory_files) return __real_memfd_create(name, flags);
  errno = EPERM;
  return -1;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  if (!faults.no_proc || strncmp(path, "/proc", 5)) return __real_access(path, mode);
  errno = ENOENT;
  return -1;
}

ssize_t __real_pread(int file, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int file, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int file, void *to, size_t n, off_t at) {
  if (++faults.reads == faults.at_read) faults.change();
  return __real_pread(file, to, n, at);
}

void *__real_mremap(void *from, size_t size, size_t new_size, int flags, void *to);
void *__wrap_mremap(void *from, size_t size, size_t new_size, int flags, void *to);
void *__wrap_mremap(void *from, size_t size, size_t new_size, int flags, void *to) {
  faults.moves++;
  return __real_mremap(from, size, new_size, flags, to);
}

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  const bool by_descriptor = !strncmp(name, "/proc/", 6);
  char to[64] = "";
  if (by_descriptor && readlink(name, to, sizeof to - 1) < 0) to[0] = 0;
  if (faults.no_memory_loads && !strncmp(to, "/memfd:", 7))
    return __real_dlopen("/proc/self/fd/nothing", flags);
  if (faults.other_room)
    assert_true(mmap(NULL, (4 << 20) + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  return __real_dlopen(name, flags);
}

static int begin(void **state) {
  (void)state;
  faults = (struct faults){0};
  return setenv("TMPDIR", folder, 1);
}

/* ---- networks: output = scale * input * input + 1 ---- */

static pz_status try_run(pz_net *net, float *result) {
  float in[35] = {3, 4}, out[35] = {0};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  const pz_status status = pz_net_run(net, inputs, outputs);
  *result = out[0];
  return status;
}

static void assert_scale(pz_net *net, float scale) {
  float result;
  if (try_run(net, &result) != PZ_OK) fail_msg("%s", pz_last_message());
  assert_true(result == scale * 9 + 1);
}

static pz_net *open_file(const pz_net_options *options) {
  pz_net *net;
  if (pz_net_open(file_path, options, &net) != PZ_OK) fail_msg("%s", pz_last_message());
  return net;
}

static void assert_refused(const pz_net_options *options, pz_status expected, const char *words) {
  pz_net *net;
  const pz_status status = pz_net_open(file_path, options, &net);
  if (status != expected || !strstr(pz_last_message(), words))
    fail_msg("status %d, '%s'; expected %d, '%s'", status, status == PZ_OK ? "" : pz_last_message(), expected,
             words);
  assert_null(net);
}

/* Into the file that is there. */
static void overwrite(const char *path) {
  size_t size;
  uint8_t *data = bytes_of(path, &size);
  const int file = open(file_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  assert_true(file >= 0);
  assert_int_equal(write(file, data, size), size);
  close(file);
  free(data);
}

static void put_copy(const char *path) {
  size_t size;
  uint8_t *data = bytes_of(path, &size);
  put_file(data, size);
  free(data);
}

static void assert_folder_has_only_the_file(void) {
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));)
    if (e->d_name[0] != '.' && strcmp(e->d_name, "net.so")) fail_msg("%s was left behind", e->d_name);
  closedir(dir);
}

/* ---- damage ---- */

static void flip(int file, size_t at, uint8_t bits) {
  uint8_t byte;
  assert_int_equal(__real_pread(file, &byte, 1, (off_t)at), 1);
  byte ^= bits;
  assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
}

static void assert_flip_is_found(int file, size_t at, uint8_t bits, bool share) {
  pz_net *net;
  flip(file, at, bits);
  if (pz_net_open(file_path, &(pz_net_options){.threads = 1, .share_weights = share}, &net) != PZ_ERROR_INPUT)
    fail_msg("byte %zu, bits %02x: not found", at, bits);
  if (strchr(pz_last_message(), '\n')) fail_msg("byte %zu: more than a line", at);
  flip(file, at, bits);
}

static void every_damaged_byte_is_found(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  put_file(data, size);
  const int file = open(file_path, O_RDWR | O_CLOEXEC);
  for (size_t at = 0; at < size; at++) assert_flip_is_found(file, at, (uint8_t)(1 << at % 8), at % 2);
  pz_net *net = open_file(NULL);
  assert_scale(net, 2);
  pz_net_close(net);
  close(file);
  free(data);
}

/* Weights are many more bytes than the rest, and are read last. */
static void damaged_weights_are_found(void **state) {
  (void)state;
  put_copy(NET("weights"));
  struct stat info;
  const int file = open(file_path, O_RDWR | O_CLOEXEC);
  assert_int_equal(fstat(file, &info), 0);
  srand(54);
  for (int i = 0; i < 60; i++)
    assert_flip_is_found(file, (size_t)(rand() % (int)info.st_size), (uint8_t)(1 << rand() % 8), i % 4 == 3);
  for (size_t at = 0x3000; at < 7 << 20; at += 1 << 20) { /* the ends of pages and of pieces */
    assert_flip_is_found(file, at, 0x80, false);
    assert_flip_is_found(file, at - 1, 0x01, true);
  }
  pz_net *net = open_file(NULL);
  assert_scale(net, 3);
  pz_net_close(net);
  close(file);
}

/* A section of weights behind all else in a sparse file, and the checksum by the rule that held before. */
static void old_checksum_is_refused_by_name(void **state) {
  (void)state;
  const uint64_t begin_weights = 8 << 20, of_weights = 33 << 20;
  size_t size, whole = begin_weights + of_weights + 100;
  uint8_t *good = bytes_of(NET("weights"), &size), *data = calloc(whole, 1);
  const pz_mapping mapping = {data, whole};
  const uint8_t *digits;
  pz_elf elf;
  memcpy(data, good, size);
  Elf64_Ehdr h;
  memcpy(&h, data, sizeof h);
  for (int i = 0; i < h.e_shnum; i++) {
    Elf64_Shdr s;
    memcpy(&s, data + h.e_shoff + (size_t)i * sizeof s, sizeof s);
    if (s.sh_size != 7 << 20) continue;
    s.sh_offset = begin_weights, s.sh_size = of_weights;
    memcpy(data + h.e_shoff + (size_t)i * sizeof s, &s, sizeof s);
  }
  assert_int_equal(pz_elf_open(&mapping, "net.so", &elf, NULL), PZ_OK);
  assert_int_equal(pz_file_checksum_find(&elf, &digits, NULL), PZ_OK);
  const size_t at = (size_t)(digits - data), behind = at + PZ_FILE_CHECKSUM_DIGITS;
  uint64_t sum = pz_checksum(data + behind, begin_weights - behind, pz_checksum(data, at, 0));
  char text[PZ_FILE_CHECKSUM_DIGITS + 1];
  snprintf(text, sizeof text, "%016llx",
           (unsigned long long)pz_checksum(data + begin_weights + of_weights, 100, sum));
  memcpy(data + at, text, PZ_FILE_CHECKSUM_DIGITS);
  for (int damage = 0; damage < 2; damage++) {
    pz_image image;
    pz_error err = {0};
    data[whole - 1] ^= (uint8_t)damage;
    put_file(data, whole);
    assert_int_equal(pz_image_open(file_path, damage, &image, &err), PZ_OK);
    assert_int_equal(pz_file_checksum_check(&image, false, NULL, &err), PZ_ERROR_INPUT);
    pz_image_close(&image);
    const char *words = damage ? "is damaged or truncated"
                               : "made by an older pznet, whose checksum leaves large weights out";
    if (!strstr(err.message, words)) fail_msg("%s", err.message);
  }
  free(data), free(good);
}

/* ---- files that change ---- */

static void what_was_opened_goes_on(void **state) {
  (void)state;
  static const char *const networks[] = {NET("good"), NET("weights")};
  for (int i = 0; i < 2; i++) {
    put_copy(networks[i]);
    char before[PZ_DIGEST_TEXT];
    size_t size;
    uint8_t *data = bytes_of(file_path, &size);
    pz_digest_text(data, size, before);
    free(data);
    faults.moves = 0;
    pz_net *net = open_file(&(pz_net_options){.threads = 2}), *new;
    assert_int_equal(faults.moves, i); /* where weights lie was guessed right */
    overwrite(NET("other"));
    assert_scale(net, (float)(2 + i));
    assert_int_equal(truncate(file_path, 0), 0);
    assert_scale(net, (float)(2 + i));
    overwrite(networks[1 - i]);
    new = open_file(NULL);
    unlink(file_path);
    assert_scale(new, (float)(3 - i));
    assert_scale(net, (float)(2 + i));
    const char *digest;
    assert_int_equal(pz_net_digest(net, &digest), PZ_OK);
    assert_string_equal(digest, before);
    pz_net_close(new);
    assert_scale(net, (float)(2 + i));
    pz_net_close(net);
  }
}

/* Bytes of the file are mapped there: what the system tells of a change ends a run, and another file under the name does not. */
static void shared_files_are_watched(void **state) {
  (void)state;
  const pz_net_options share = {.share_weights = true};
  const char *digest;
  float result;
  put_copy(NET("weights"));
  pz_net *net = open_file(&share), *again;
  put_copy(NET("other"));
  assert_scale(net, 3);
  pz_net_close(net);

  put_copy(NET("weights"));
  net = open_file(&share), again = open_file(&share);
  pz_net_close(again);
  assert_scale(net, 3);
  const int file = open(file_path, O_RDWR | O_CLOEXEC);
  flip(file, 0x3000, 1);
  flip(file, 0x3000, 1);
  assert_int_equal(try_run(net, &result), PZ_ERROR_INPUT);
  assert_non_null(strstr(pz_last_message(), "net.so: was written to while it was open and shared: close it"));
  assert_int_equal(pz_net_digest(net, &digest), PZ_ERROR_INPUT);
  assert_refused(&share, PZ_ERROR_INPUT, "is loaded already, as it was before it changed: close that first");
  again = open_file(NULL);
  assert_scale(again, 3);
  pz_net_close(again);
  pz_net_close(net);
  net = open_file(&share);
  assert_scale(net, 3);
  assert_int_equal(pz_net_digest(net, &digest), PZ_OK);
  pz_net_close(net);
  close(file);
}

static void cut(void) { assert_int_equal(truncate(file_path, 3000), 0); }
static void write_other(void) { overwrite(NET("other")); }
static void replace(void) { put_copy(NET("other")); }

/* At every read: one line, or the network that was there before or after. */
static void files_that_change_while_they_are_opened(void **state) {
  (void)state;
  static void (*const changes[])(void) = {cut, write_other, replace};
  for (int i = 0; i < 6; i++)
    for (int at = 1, done = 0; !done; at += at < 12 ? 1 : 9) {
      const pz_net_options options = {.threads = 1, .share_weights = i >= 3};
      pz_net *net;
      put_copy(NET("weights"));
      faults.reads = 0, faults.at_read = at, faults.change = changes[i % 3];
      const pz_status status = pz_net_open(file_path, &options, &net);
      done = faults.reads < at;
      faults.at_read = 0;
      if (status != PZ_OK && status != PZ_ERROR_INPUT) fail_msg("read %d: %s", at, pz_last_message());
      if (status == PZ_OK && i % 3 != 2 && !done && at > 1)
        fail_msg("change %d at read %d is not found", i, at);
      if (status == PZ_OK && !done && changes[i % 3] == replace && i >= 3)
        fail_msg("read %d: other file mapped", at);
      float result = 0;
      if (status == PZ_OK) {
        assert_int_equal(try_run(net, &result), PZ_OK);
        assert_true(result == 28);
      }
      if (status == PZ_ERROR_INPUT && changes[i % 3] == cut && at > 1)
        if (!strstr(pz_last_message(), "became shorter while it was opened"))
          fail_msg("%s", pz_last_message());
      pz_net_close(net);
    }
}

/* ---- ways to load ---- */

static void assert_both_networks_work(void) {
  put_copy(NET("good"));
  pz_net *good = open_file(NULL);
  put_copy(NET("weights"));
  pz_net *weights = open_file(NULL);
  overwrite(NET("other"));
  assert_folder_has_only_the_file();
  assert_scale(good, 2), assert_scale(weights, 3);
  pz_net_close(good), pz_net_close(weights);
}

static void without_files_in_memory(void **state) {
  (void)state;
  faults.no_memory_files = true;
  assert_both_networks_work();
}
static void without_loading_from_memory(void **state) {
  (void)state;
  faults.no_memory_loads = true;
  assert_both_networks_work();
}
static void without_proc(void **state) {
  (void)state;
  faults.no_proc = true;
  assert_both_networks_work();
}
static void where_the_room_was_taken(void **state) {
  (void)state;
  faults.other_room = true;
  assert_both_networks_work();
  assert_int_equal(faults.moves, 0); /* copied */
}
static void without_any_way(void **state) {
  (void)state;
  put_copy(NET("good"));
  faults.no_memory_files = true;
  setenv("TMPDIR", "/nowhere", 1);
  assert_refused(
      NULL, PZ_ERROR_INPUT,
      "cannot be loaded from memory: Operation not permitted; nor from a copy in /nowhere: No such file");
  pz_net *net = open_file(&(pz_net_options){.share_weights = true});
  assert_scale(net, 2);
  pz_net_close(net);
}

/* ---- digests ---- */

static void digests_are_compared(void **state) {
  (void)state;
  char right[PZ_DIGEST_TEXT], wrong[PZ_DIGEST_TEXT], upper[PZ_DIGEST_TEXT];
  static const char *const networks[] = {NET("good"), NET("weights")};
  for (int i = 0; i < 4; i++) {
    size_t size;
    uint8_t *data = bytes_of(networks[i % 2], &size);
    put_file(data, size);
    pz_digest_text(data, size, right);
    free(data);
    memcpy(wrong, right, sizeof wrong), memcpy(upper, right, sizeof upper);
    wrong[63] = right[63] == '0' ? '1' : '0';
    for (int k = 0; k < 64; k++)
      if (upper[k] >= 'a') upper[k] = (char)(upper[k] - 'a' + 'A');
    pz_net_options options = {.share_weights = i >= 2, .digest = right};
    pz_net *net = open_file(&options);
    assert_scale(net, (float)(2 + i % 2));
    pz_net_close(net);
    options.digest = upper;
    pz_net_close(open_file(&options));
    options.digest = wrong;
    assert_refused(&options, PZ_ERROR_INPUT, right);
    assert_non_null(strstr(pz_last_message(), wrong));
    static const char *const malformed[] = {"", "abc", "g"};
    for (int k = 0; k < 3; k++) {
      options.digest = malformed[k];
      assert_refused(&options, PZ_ERROR_USAGE, "expected the 64 digits of a SHA-256");
    }
    right[63] = 0;
    options.digest = right;
    assert_refused(&options, PZ_ERROR_USAGE, "the digest has 63 characters");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(every_damaged_byte_is_found, begin),
      cmocka_unit_test_setup(damaged_weights_are_found, begin),
      cmocka_unit_test_setup(old_checksum_is_refused_by_name, begin),
      cmocka_unit_test_setup(what_was_opened_goes_on, begin),
      cmocka_unit_test_setup(shared_files_are_watched, begin),
      cmocka_unit_test_setup(files_that_change_while_they_are_opened, begin),
      cmocka_unit_test_setup(without_files_in_memory, begin),
      cmocka_unit_test_setup(without_loading_from_memory, begin),
      cmocka_unit_test_setup(without_proc, begin),
      cmocka_unit_test_setup(where_the_room_was_taken, begin),
      cmocka_unit_test_setup(without_any_way, begin),
      cmocka_unit_test_setup(digests_are_compared, begin),
  };
  return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
