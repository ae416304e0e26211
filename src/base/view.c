#include "base/view.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST ((uint64_t)16 << 20)

static uint64_t pages_of(const pz_view *v, uint64_t bytes) { return (bytes + v->page - 1) / v->page; }
static uint64_t whole(const pz_view *v) { return pages_of(v, v->size) * v->page; }

/* ------------------------------------------------------------------ opening */

static void *reserve(uint64_t bytes, int access) {
  void *at = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

static bool take_memory(pz_view *v) {
  if (!v->size) return true;
  const uint64_t bytes = whole(v);
  v->there = calloc(pages_of(v, v->size) / 8 + 1, 1);
  v->data = v->there ? reserve(bytes, PROT_READ | PROT_WRITE) : NULL;
  if (v->there && !v->data) v->data = reserve(bytes, PROT_NONE), v->guarded = true;
  return v->data != NULL;
}

pz_status pz_view_open(const char *path, pz_view *v, pz_error *err) {
  struct stat info;
  int fd;
  *v = (pz_view){0};
  PZ_TRY(pz_file_open(path, &fd, &info, err));
  *v = (pz_view){.fd = fd, .size = (uint64_t)info.st_size, .most = MOST};
  v->page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (take_memory(v)) return PZ_OK;
  pz_fail_memory(err, path, v->size);
  free(v->there);
  close(fd);
  *v = (pz_view){0};
  return PZ_ERROR_MEMORY;
}

void pz_view_close(pz_view *v) {
  if (v->data) munmap((void *)(uintptr_t)v->data, whole(v));
  if (v->most) close(v->fd);
  free(v->there);
  free(v->runs);
  *v = (pz_view){0};
}

/* ------------------------------------------------------------------ pages */

static bool is_there(const pz_view *v, uint64_t page) { return v->there[page / 8] >> (page % 8) & 1; }

static void mark(pz_view *v, pz_view_run run, bool there) {
  for (uint64_t p = run.first; p < run.first + run.count; p++) {
    const uint8_t bit = (uint8_t)(1u << (p % 8));
    v->there[p / 8] = there ? v->there[p / 8] | bit : (uint8_t)(v->there[p / 8] & ~bit);
  }
}

static bool give_up(pz_view *v, int fault) {
  v->fault = fault;
  return false;
}

static bool read_bytes(pz_view *v, uint64_t at, uint64_t size, uint8_t *to) {
  while (size > 0) {
    const ssize_t n = pread(v->fd, to, size, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return give_up(v, n ? errno : PZ_VIEW_CUT);
    at += (uint64_t)n, to += n, size -= (uint64_t)n;
  }
  return true;
}

static bool note_run(pz_view *v, pz_view_run run) {
  if (v->n_runs == v->room) {
    const size_t room = v->room ? 2 * v->room : 64;
    pz_view_run *moved = realloc(v->runs, room * sizeof *moved);
    if (!moved) return give_up(v, ENOMEM);
    v->runs = moved, v->room = room;
  }
  v->runs[v->n_runs++] = run;
  v->pages += run.count;
  return true;
}

static bool fetch_run(pz_view *v, pz_view_run run) {
  const uint64_t at = run.first * v->page, size = run.count * v->page;
  uint8_t *to = (uint8_t *)(uintptr_t)v->data + at;
  if (v->guarded && mprotect(to, size, PROT_READ | PROT_WRITE) != 0) return give_up(v, errno);
  if (!note_run(v, run) || !read_bytes(v, at, size < v->size - at ? size : v->size - at, to)) return false;
  mark(v, run, true);
  return true;
}

static bool may_read(const pz_view *v, uint64_t at, uint64_t size) {
  return !v->fault && size <= PZ_VIEW_REQUEST && size <= v->size && at <= v->size - size;
}

bool pz_view_read(pz_view *v, uint64_t at, uint64_t size, void *to) {
  return may_read(v, at, size) && read_bytes(v, at, size, to);
}

bool pz_view_fetch(pz_view *v, uint64_t at, uint64_t size) {
  if (!may_read(v, at, size)) return false;
  for (uint64_t p = at / v->page, end = pages_of(v, at + size); p < end; p++) {
    if (is_there(v, p)) continue;
    pz_view_run run = {.first = p, .count = 1};
    while (p + run.count < end && !is_there(v, p + run.count)) run.count++;
    if (!fetch_run(v, run)) return false;
    p += run.count - 1;
  }
  return true;
}

/* One call for all: the system walks over what has memory only. */
void pz_view_forget(pz_view *v) {
  if (v->pages * v->page <= v->most) return;
  void *data = (void *)(uintptr_t)v->data;
  const uint64_t bytes = whole(v);
  for (size_t i = 0; i < v->n_runs; i++) mark(v, v->runs[i], false);
  v->n_runs = 0, v->pages = 0;
  if (!v->guarded) madvise(data, bytes, MADV_DONTNEED);
  else if (mmap(data, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
           MAP_FAILED)
    give_up(v, errno);
}

pz_status pz_view_fail(const pz_view *v, const char *path, pz_error *err) {
  if (v->fault == PZ_VIEW_CUT)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: was cut while it was read; run again when it is whole", path);
  if (v->fault == ENOMEM) return pz_fail_memory(err, path, v->most);
  return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(v->fault));
}
