/* folder.c: slices of a volume, each a TIFF file of one page, in a folder: slice_0001.tif, slice_0002.tif, ...
 *
 * The files' names are the same but for one number, which goes from the first slice to the last without a gap: names that differ in more,
 * or a number that is missing, are refused, since a slice in a wrong place is seen by nobody. One file is open at a time. */
#include "formats/io.h"
#include "formats/kin.h"
#include "formats/volume.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_SLICES = 1 << 20, MAX_NUMBERS = 16 };

typedef struct slice {
  const char *name;
  int64_t number;
} slice;

typedef struct folder {
  slice *slices;
  int64_t n, room;
  pz_volume_info first; /* of the first slice */
  int64_t step[2];      /* along y and x, of the first slice */
  int64_t samples;
} folder;

/* ------------------------------------------------------------------ names */

static bool is_slice(const char *name) {
  const char *point = strrchr(name, '.');
  return name[0] != '.' && point && (strcasecmp(point, ".tif") == 0 || strcasecmp(point, ".tiff") == 0);
}

static pz_status add(pz_volume *v, const char *name, pz_error *err) {
  folder *f = v->state;
  if (f->n == f->room) {
    const int64_t room = f->room ? 2 * f->room : 256;
    slice *more = realloc(f->slices, (size_t)room * sizeof *more);
    if (!more) return pz_fail_memory(err, "the names of slices", (unsigned long long)room * sizeof *more);
    f->slices = more, f->room = room;
  }
  if (f->n == MAX_SLICES) return pz_fail(err, PZ_ERROR_INPUT, "%s: more than %d slices", v->path, MAX_SLICES);
  slice *s = &f->slices[f->n++];
  *s = (slice){.name = pz_arena_strdup(v->arena, name)};
  return s->name ? PZ_OK : pz_fail_memory(err, "the names of slices", strlen(name));
}

/* Other pictures might be slices too; texts and the like are not. */
static pz_status list(pz_volume *v, DIR *dir, pz_error *err) {
  folder *f = v->state;
  char other[256] = "";
  for (struct dirent *entry; errno = 0, (entry = readdir(dir));) {
    if (is_slice(entry->d_name)) PZ_TRY(add(v, entry->d_name, err));
    else if (entry->d_name[0] != '.' && pz_kin_is_picture(entry->d_name))
      snprintf(other, sizeof other, "%s", entry->d_name);
  }
  if (errno) return pz_io_fail(err, v->path, "reading", errno);
  if (f->n && *other)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: holds %lld .tif files, and %s; expected the slices of one volume, all .tif", v->path,
                   (long long)f->n, other);
  if (f->n) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: a folder without .tif files%s%s%s; expected the slices of a volume, one page each",
                 v->path, *other ? ", but with " : "", other,
                 *other ? " (give that alone, or convert it)" : "");
}

/* The numbers in a name, and where they are; what lies between is the text. */
typedef struct parts {
  int n, begin[MAX_NUMBERS], end[MAX_NUMBERS];
  int64_t value[MAX_NUMBERS];
} parts;

static bool take_apart(const char *name, parts *p) {
  p->n = 0;
  const int length = (int)(strrchr(name, '.') - name);
  for (int i = 0; i < length;) {
    if (!isdigit((unsigned char)name[i])) {
      i++;
      continue;
    }
    if (p->n == MAX_NUMBERS) return false;
    const int k = p->n++;
    p->begin[k] = i, p->value[k] = 0;
    for (; i < length && isdigit((unsigned char)name[i]); i++)
      if (!pz_mul_i64(p->value[k], 10, &p->value[k]) || !pz_add_i64(p->value[k], name[i] - '0', &p->value[k]))
        return false;
    p->end[k] = i;
  }
  return true;
}

/* Whether two names have the same text around as many numbers. */
static bool same_text(const char *a, const parts *p, const char *b, const parts *q) {
  int at = 0, to = 0;
  if (p->n != q->n) return false;
  for (int i = 0; i <= p->n; i++) {
    const int end = i < p->n ? p->begin[i] : (int)strlen(a), stop = i < p->n ? q->begin[i] : (int)strlen(b);
    if (end - at != stop - to || strncasecmp(a + at, b + to, (size_t)(end - at)) != 0) return false;
    if (i < p->n) at = p->end[i], to = q->end[i];
  }
  return true;
}

static int by_number(const void *a, const void *b) {
  const slice *x = a, *y = b;
  return x->number < y->number ? -1 : x->number > y->number ? 1 : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const slice *)a)->name, ((const slice *)b)->name);
}

static pz_status differ(const pz_volume *v, const char *a, const char *b, pz_error *err) {
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: %s and %s differ in more than one number; expected the slices of one volume: channels and time "
      "points go into folders of their own, or all into one OME-TIFF",
      v->path, a, b);
}

/* The one number that is not the same in all names. */
static pz_status find_number(pz_volume *v, pz_error *err) {
  folder *f = v->state;
  parts first, p;
  int varies = -1;
  qsort(f->slices, (size_t)f->n, sizeof *f->slices, by_name); /* so that messages are the same everywhere */
  const char *a = f->slices[0].name;
  bool good = take_apart(a, &first);
  for (int64_t i = 1; i < f->n; i++) {
    const char *b = f->slices[i].name;
    good = good && take_apart(b, &p) && same_text(a, &first, b, &p);
    for (int k = 0; good && k < p.n; k++) {
      if (p.value[k] == first.value[k]) continue;
      if (varies >= 0 && varies != k) good = false;
      varies = k;
    }
    if (!good) return differ(v, a, b, err);
  }
  for (int64_t i = 0; i < f->n && varies >= 0; i++) {
    take_apart(f->slices[i].name, &p);
    f->slices[i].number = p.value[varies];
  }
  return f->n == 1 || varies >= 0 ? PZ_OK : differ(v, a, f->slices[1].name, err);
}

static pz_status check_numbers(const pz_volume *v, pz_error *err) {
  const folder *f = v->state;
  for (int64_t i = 1; i < f->n; i++) {
    const slice *a = &f->slices[i - 1], *b = &f->slices[i];
    if (b->number == a->number)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: %s and %s have the same number", v->path, a->name, b->name);
    if (b->number != a->number + 1)
      return pz_fail(
          err, PZ_ERROR_INPUT,
          "%s: slice %lld is missing, between %s and %s; if none is, give the files numbers without gaps",
          v->path, (long long)a->number + 1, a->name, b->name);
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ slices */

static bool slice_path(const pz_volume *v, int64_t i, char path[PATH_MAX]) {
  const folder *f = v->state;
  const size_t n = strlen(v->path);
  const char *slash = n && v->path[n - 1] == '/' ? "" : "/";
  return snprintf(path, PATH_MAX, "%s%s%s", v->path, slash, f->slices[i].name) < PATH_MAX;
}

static pz_status open_slice(const pz_volume *v, int64_t i, pz_volume **s, pz_error *err) {
  char path[PATH_MAX];
  if (!slice_path(v, i, path)) return pz_fail(err, PZ_ERROR_INPUT, "%s: the path is too long", v->path);
  pz_axes_choice choice = {.any_time = false};
  /* With the user's word on the folder, what a slice says of a whole set of files does not count. */
  if (v->choice.axes[0]) strcpy(choice.axes, strchr(v->choice.axes, 'c') ? "yxc" : "yx");
  return pz_volume_open_as(path, &choice, s, err);
}

static bool alike(const pz_volume_info *a, const pz_volume_info *b) {
  return a->dtype == b->dtype && a->channels == b->channels &&
         memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

static pz_status check_slice(const pz_volume *v, int64_t i, const pz_volume *s, pz_error *err) {
  const folder *f = v->state;
  const pz_volume_info *a = &s->info, *b = &f->first;
  if (a->shape[0] != 1)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: has %lld planes; in a folder each file is one slice: give this file alone, or save it as slices",
        s->path, (long long)a->shape[0]);
  if (i == 0 || alike(a, b)) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: %lld x %lld, %d channels of %s, %s is %lld x %lld, %d channels of %s; all slices must be alike",
      s->path, (long long)a->shape[2], (long long)a->shape[1], (int)a->channels, pz_dtype_name(a->dtype),
      f->slices[0].name, (long long)b->shape[2], (long long)b->shape[1], (int)b->channels,
      pz_dtype_name(b->dtype));
}

/* Channels of a slice are the samples of its pixels: what lies one after the other in pages is refused with them. */
static pz_status look_at_slices(pz_volume *v, pz_error *err) {
  folder *f = v->state;
  for (int64_t i = 0; i < f->n; i++) {
    pz_volume *s;
    PZ_TRY(open_slice(v, i, &s, err));
    if (i == 0) f->first = s->info, memcpy(f->step, s->step + 1, sizeof f->step);
    const pz_status status = check_slice(v, i, s, err);
    if (s->memory > v->memory) v->memory = s->memory;
    pz_volume_close(s);
    if (status != PZ_OK) return status;
  }
  return PZ_OK;
}

static pz_status folder_open(pz_volume *v, pz_error *err) {
  folder *f = PZ_NEW(v->arena, folder, 1);
  if (!f) return pz_fail_memory(err, "a folder of slices", sizeof *f);
  v->state = f;
  DIR *dir = opendir(v->path);
  if (!dir) return pz_io_fail(err, v->path, "opening", errno);
  const pz_status status = list(v, dir, err);
  closedir(dir);
  if (status != PZ_OK) return status;
  PZ_TRY(find_number(v, err));
  qsort(f->slices, (size_t)f->n, sizeof *f->slices, by_number);
  PZ_TRY(check_numbers(v, err));
  PZ_TRY(look_at_slices(v, err));
  const int64_t size[4] = {f->n, f->first.channels, f->first.shape[1], f->first.shape[2]};
  const bool several = f->first.channels > 1;
  const int64_t plain[3] = {size[0], size[2], size[3]};
  pz_array_make(&v->array, several ? 4 : 3, several ? size : plain);
  memcpy(v->array.axis, several ? "zcyx" : "zyx", several ? 4 : 3);
  v->array.said_by = "the folder of slices";
  v->info.dtype = f->first.dtype;
  return PZ_OK;
}

/* A slice's planes as they are when it is opened: [channels, y, x]. */
static pz_status folder_ready(pz_volume *v, pz_error *err) {
  const folder *f = v->state;
  (void)err;
  v->info.geometry = f->first.geometry;
  const int64_t slice_bytes = f->first.channels * pz_volume_plane_bytes(&f->first);
  for (int i = 0; i < 3; i++) {
    const int at = v->axes.of[1 + i] - (v->array.rank - 2); /* 0: the slices' y, 1: their x */
    v->step[i] = at == 0 || at == 1 ? f->step[at] : 1;
  }
  v->memory += (1 << 18) + slice_bytes + f->n * ((int64_t)sizeof(slice) + 64);
  if (f->slices && f->n > 1)
    pz_notes_add(&v->notes, "%lld slices, %s to %s", (long long)f->n, f->slices[0].name,
                 f->slices[f->n - 1].name);
  return PZ_OK;
}

/* stride: of channels, planes and rows at the destination. */
static pz_status read_slice(const pz_volume *v, int64_t i, const pz_box *box, char *to,
                            const int64_t stride[3], pz_error *err) {
  pz_volume *s;
  PZ_TRY(open_slice(v, i, &s, err));
  pz_status status = check_slice(v, 1, s, err);
  if (status == PZ_OK) status = pz_volume_read(s, box, to, stride, err);
  pz_volume_close(s);
  return status;
}

/* The array's axes are z, (c,) y and x. Of each slice all channels are read of the rows and columns of the box, and put where they belong. */
static pz_status folder_read(pz_volume *v, const pz_array_box *box, void *to, pz_error *err) {
  const folder *f = v->state;
  const int y = box->rank - 2, x = box->rank - 1;
  const int64_t element = pz_dtype_bytes(f->first.dtype), row = box->count[x] * element,
                part = box->count[y] * row;
  const pz_box slice = {.start = {0, box->start[y], box->start[x]},
                        .size = {1, box->count[y], box->count[x]}};
  const int64_t dense[3] = {part, part, row}, stride[3] = {part, row, element};
  char *const channels = malloc((size_t)(part * f->first.channels));
  if (!channels) return pz_fail_memory(err, "a slice", (unsigned long long)(part * f->first.channels));
  const bool several = box->rank == 4;
  const char *from = channels + (several ? box->start[1] * part : 0);
  pz_status status = PZ_OK;
  for (int64_t i = 0; i < box->count[0] && status == PZ_OK; i++) {
    status = read_slice(v, box->start[0] + i, &slice, channels, dense, err);
    if (status == PZ_OK)
      pz_copy_strided(from, stride + !several, (char *)to + i * box->to[0], box->to + 1, box->count + 1,
                      box->rank - 1, element);
  }
  free(channels);
  return status;
}

static void folder_close(pz_volume *v) {
  folder *f = v->state;
  if (f) free(f->slices);
}

static pz_status folder_identify(pz_volume *v, pz_digest *digest, pz_error *err) {
  const folder *f = v->state;
  char path[PATH_MAX];
  for (int64_t i = 0; i < f->n; i++) {
    if (!slice_path(v, i, path)) return pz_fail(err, PZ_ERROR_INPUT, "%s: the path is too long", v->path);
    PZ_TRY(pz_volume_identify_file(path, digest, err));
  }
  return PZ_OK;
}

/* Whatever is put into the folder may be a slice to the next run. */
static bool folder_owns(const pz_volume *v, const char *path) {
  char parent[PATH_MAX];
  const char *slash = strrchr(path, '/');
  const int n = slash ? (int)(slash - path) : 0;
  if (snprintf(parent, sizeof parent, "%.*s", n, path) >= (int)sizeof parent) return false;
  return pz_io_same_file(v->path, !slash ? "." : n ? parent : "/");
}

const pz_volume_format pz_volume_folder = {
    .name = "folder",
    .suffixes = {"/"},
    .open = folder_open,
    .ready = folder_ready,
    .read = folder_read,
    .close = folder_close,
    .identify = folder_identify,
    .owns = folder_owns,
};
