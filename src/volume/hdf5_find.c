#include "volume/hdf5_find.h"

#include "base/hdf5_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OBJECTS = 1024, DEPTH = 32, SYMBOLIC = 16, PATH = 4096 };

static pz_status closed(const pz_hdf5_search *s, const char *name, const char *why) {
  return pz_fail(s->err, PZ_ERROR_INPUT, "%s:%s: cannot open the dataset: %s", s->path, name, why);
}

/* ------------------------------------------------------------------ by name */

/* Where a path has led to so far, and what is left of it. */
typedef struct walk {
  const pz_hdf5_search *search;
  const char *name; /* the whole of it, for messages */
  char label[512], rest[PATH];
  hid_t at;
  pz_hdf5_about about; /* of `at` */
  int symbolic;        /* links that were followed */
} walk;

static pz_status go(walk *w, uint64_t address) {
  if (w->at >= 0) H5Oclose(w->at);
  w->at = -1;
  PZ_TRY(pz_hdf5_check_object(w->search->map, w->label, address, &w->about, w->search->err));
  if (w->about.kind != PZ_HDF5_OTHER) w->at = H5Oopen_by_addr(w->search->file, address);
  return w->at >= 0 ? PZ_OK : closed(w->search, w->name, "it leads to no dataset");
}

/* The link's path goes in front of the rest; it begins at the root or in the group that the link is in. */
static pz_status go_symbolic(walk *w, const char *link, size_t size) {
  char target[PATH], joined[2 * PATH + 2];
  if (++w->symbolic > SYMBOLIC) return closed(w->search, w->name, "too many symbolic links");
  if (size == 0 || size >= sizeof target || H5Lget_val(w->at, link, target, size, H5P_DEFAULT) < 0)
    return closed(w->search, w->name, "a damaged symbolic link");
  target[size] = 0;
  if (snprintf(joined, sizeof joined, "%s/%s", target, w->rest) >= PATH)
    return closed(w->search, w->name, "a symbolic link that is too long");
  strcpy(w->rest, joined);
  return target[0] == '/' ? go(w, w->search->root) : PZ_OK;
}

static pz_status step(walk *w, const char *link) {
  H5L_info_t info;
  if (w->about.kind != PZ_HDF5_GROUP || H5Lexists(w->at, link, H5P_DEFAULT) <= 0 ||
      H5Lget_info(w->at, link, &info, H5P_DEFAULT) < 0)
    return closed(w->search, w->name, "there is none of this name");
  if (info.type == H5L_TYPE_SOFT) return go_symbolic(w, link, info.u.val_size);
  if (info.type != H5L_TYPE_HARD) return closed(w->search, w->name, "the link leads to another file");
  return go(w, info.u.address);
}

/* The first name of the rest, which becomes shorter; false at its end. */
static bool next(walk *w, char *link) {
  const char *from = w->rest + strspn(w->rest, "/");
  const size_t n = strcspn(from, "/");
  memcpy(link, from, n);
  link[n] = 0;
  memmove(w->rest, from + n, strlen(from + n) + 1);
  return n > 0;
}

static pz_status walk_links(walk *w) {
  char link[PATH];
  PZ_TRY(go(w, w->search->root));
  while (next(w, link))
    if (strcmp(link, ".") != 0) PZ_TRY(step(w, link));
  return PZ_OK;
}

static pz_status walk_all(walk *w) {
  PZ_TRY(walk_links(w));
  return w->about.kind == PZ_HDF5_DATASET ? PZ_OK : closed(w->search, w->name, "it is a group");
}

pz_status pz_hdf5_open_dataset(const pz_hdf5_search *s, const char *name, hid_t *data,
                               bool *plain_attributes) {
  walk w = {.search = s, .name = name, .at = -1};
  snprintf(w.label, sizeof w.label, "%.255s:%.250s", s->path, name);
  if (snprintf(w.rest, sizeof w.rest, "%s", name) >= PATH) return closed(s, name, "the name is too long");
  const pz_status status = walk_all(&w);
  if (status != PZ_OK && w.at >= 0) H5Oclose(w.at);
  *data = status == PZ_OK ? w.at : -1;
  *plain_attributes = w.about.plain_attributes;
  return status;
}

hid_t pz_hdf5_open_group(const pz_hdf5_search *s, const char *name, size_t length) {
  pz_hdf5_search quiet = *s;
  quiet.err = NULL;
  walk w = {.search = &quiet, .name = name, .at = -1};
  snprintf(w.label, sizeof w.label, "%.255s", s->path);
  if (length >= PATH) return -1;
  snprintf(w.rest, sizeof w.rest, "%.*s", (int)length, name);
  const bool good = walk_links(&w) == PZ_OK && w.about.kind == PZ_HDF5_GROUP && w.about.plain_attributes;
  if (!good && w.at >= 0) H5Oclose(w.at);
  return good ? w.at : -1;
}

/* ------------------------------------------------------------------ all of them */

typedef struct list {
  const pz_hdf5_search *search;
  uint64_t seen[MOST_OBJECTS];
  int objects, datasets, depth;
  char *name;       /* of the first dataset */
  char prefix[256]; /* of the group that is listed */
  pz_status status;
} list;

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *host);

static pz_status enter(list *l, uint64_t address, const char *name) {
  const size_t length = strlen(l->prefix);
  const hid_t group = H5Oopen_by_addr(l->search->file, address);
  if (l->depth == DEPTH || group < 0) {
    if (group >= 0) H5Oclose(group);
    return pz_fail(l->search->err, PZ_ERROR_INPUT, "%s: cannot list the datasets: %s", l->search->path,
                   group < 0 ? "damaged" : "groups in groups in groups");
  }
  snprintf(l->prefix + length, sizeof l->prefix - length, "%s%s", *name ? "/" : "", name);
  l->depth++;
  const bool read = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, l) >= 0;
  l->depth--;
  l->prefix[length] = 0;
  H5Oclose(group);
  return read || l->status != PZ_OK ? l->status
                                    : pz_fail(l->search->err, PZ_ERROR_INPUT,
                                              "%s: cannot list the datasets: damaged", l->search->path);
}

static pz_status look_at(list *l, uint64_t address, const char *name) {
  pz_hdf5_about about;
  for (int i = 0; i < l->objects; i++)
    if (l->seen[i] == address) return PZ_OK;
  if (l->objects == MOST_OBJECTS) l->datasets = 2; /* as good as */
  if (l->datasets > 1) return PZ_OK;
  l->seen[l->objects++] = address;
  PZ_TRY(pz_hdf5_check_object(l->search->map, l->search->path, address, &about, l->search->err));
  if (about.kind == PZ_HDF5_GROUP) return enter(l, address, name);
  if (about.kind != PZ_HDF5_DATASET || l->datasets++ > 0) return PZ_OK;
  if (snprintf(l->name, 256, "%s/%s", l->prefix, name) >= 256) l->datasets = 2; /* it cannot be used */
  return PZ_OK;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *host) {
  (void)group;
  list *l = host;
  if (info->type == H5L_TYPE_HARD) l->status = look_at(l, info->u.address, name);
  return l->status != PZ_OK ? -1 : l->datasets > 1;
}

pz_status pz_hdf5_count_datasets(const pz_hdf5_search *s, int *count, char name[256]) {
  list *l = calloc(1, sizeof *l);
  if (!l) return pz_fail_memory(s->err, "a list of objects", sizeof *l);
  *name = 0;
  l->search = s, l->name = name, l->seen[l->objects++] = s->root;
  const pz_status status = enter(l, s->root, "");
  *count = l->datasets;
  free(l);
  return status;
}
