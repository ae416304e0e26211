#include "formats/hdf5_find.h"

#include "formats/hdf5_check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SYMBOLIC = 16, PATH = PZ_HDF5_PATH };

static pz_status closed(const pz_hdf5_search *s, const char *name, const char *why) {
  return pz_fail(s->err, PZ_ERROR_INPUT, "%s:%s: cannot open the dataset: %s", s->path, name, why);
}

/* The library's own descriptor, which its driver for plain files has. */
pz_status pz_hdf5_same_file(const pz_hdf5_search *s) {
  struct stat ours, theirs;
  void *handle = NULL;
  const hid_t access = H5Fget_access_plist(s->file);
  const bool plain = access >= 0 && H5Pget_driver(access) == H5FD_SEC2 &&
                     H5Fget_vfd_handle(s->file, H5P_DEFAULT, &handle) >= 0 && handle;
  if (access >= 0) H5Pclose(access);
  if (!plain || fstat(s->view->fd, &ours) != 0 || fstat(*(const int *)handle, &theirs) != 0) return PZ_OK;
  if (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) return PZ_OK;
  return pz_fail(s->err, PZ_ERROR_INPUT, "%s: was replaced while it was opened; run again", s->path);
}

/* ------------------------------------------------------------------ by name */

/* Where a path has led to so far, and what is left of it. */
typedef struct walk {
  const pz_hdf5_search *search;
  const char *name; /* the whole of it, for messages */
  char label[512], rest[PATH];
  hid_t at;
  uint64_t address;    /* of `at` */
  pz_hdf5_about about; /* likewise */
  int symbolic;        /* links that were followed */
} walk;

static pz_status missing(const walk *w, const char *why) {
  if (w->search->missing) *w->search->missing = true;
  return closed(w->search, w->name, why);
}

static pz_status go(walk *w, uint64_t address) {
  if (w->at >= 0) H5Oclose(w->at);
  w->at = -1, w->address = address;
  PZ_TRY(pz_hdf5_check_object(w->search->view, w->label, address, &w->about, w->search->err));
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
    return missing(w, "there is none of this name");
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
  return w->about.kind == PZ_HDF5_DATASET ? PZ_OK : missing(w, "it is a group");
}

static pz_status walk_to_dataset(const pz_hdf5_search *s, const char *name, walk *w) {
  *w = (walk){.search = s, .name = name, .at = -1};
  snprintf(w->label, sizeof w->label, "%.255s:%.250s", s->path, name);
  if (snprintf(w->rest, sizeof w->rest, "%s", name) >= PATH) return closed(s, name, "the name is too long");
  const pz_status status = walk_all(w);
  if (status != PZ_OK && w->at >= 0) H5Oclose(w->at);
  return status;
}

pz_status pz_hdf5_open_dataset(const pz_hdf5_search *s, const char *name, hid_t *data,
                               bool *plain_attributes) {
  walk w;
  const pz_status status = walk_to_dataset(s, name, &w);
  *data = status == PZ_OK ? w.at : -1;
  *plain_attributes = w.about.plain_attributes;
  return status;
}

pz_status pz_hdf5_locate_dataset(const pz_hdf5_search *s, const char *name, uint64_t *address) {
  walk w;
  PZ_TRY(walk_to_dataset(s, name, &w));
  H5Oclose(w.at);
  *address = w.address;
  return PZ_OK;
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

/* ------------------------------------------------------------------ for a dataset that is to be made */

static pz_status blocked(const walk *w, const char *link, const char *what) {
  return pz_fail(w->search->err, PZ_ERROR_OUTPUT, "%s:%s: \"%s\" is %s; give the result another name",
                 w->search->path, w->name, link, what);
}

/* One link on. *end: there is no such link, or it is the last one and leads to a dataset. */
static pz_status step_to_place(walk *w, const char *link, pz_hdf5_place *place, bool *end) {
  const bool last = !w->rest[strspn(w->rest, "/")];
  const htri_t there = H5Lexists(w->at, link, H5P_DEFAULT);
  H5L_info_t info;
  pz_hdf5_about about;
  *end = there == 0;
  if (*end) return PZ_OK;
  if (there < 0 || H5Lget_info(w->at, link, &info, H5P_DEFAULT) < 0) return blocked(w, link, "damaged");
  if (info.type == H5L_TYPE_SOFT && !last) return go_symbolic(w, link, info.u.val_size);
  if (info.type != H5L_TYPE_HARD) return blocked(w, link, last ? "a link" : "a link to another file");
  PZ_TRY(pz_hdf5_check_object(w->search->view, w->label, info.u.address, &about, w->search->err));
  if (about.kind == PZ_HDF5_OTHER) return blocked(w, link, "no group");
  if (last && about.kind == PZ_HDF5_GROUP) return blocked(w, link, "a group");
  if (!last && about.kind == PZ_HDF5_DATASET) return blocked(w, link, "a dataset, and not a group");
  *end = place->exists = last;
  return last ? PZ_OK : go(w, info.u.address);
}

static pz_status walk_to_place(walk *w, pz_hdf5_place *place) {
  char link[PATH];
  bool end = false;
  PZ_TRY(go(w, w->search->root));
  while (!end && next(w, link))
    if (strcmp(link, ".") != 0) PZ_TRY(step_to_place(w, link, place, &end));
  if (!end) return blocked(w, "/", "a group");
  if (snprintf(place->name, sizeof place->name, "%s%s", link, w->rest) >= (int)sizeof place->name)
    return closed(w->search, w->name, "the name is too long");
  return PZ_OK;
}

pz_status pz_hdf5_find_place(const pz_hdf5_search *s, const char *name, pz_hdf5_place *place) {
  walk w = {.search = s, .name = name, .at = -1};
  *place = (pz_hdf5_place){.group = -1};
  snprintf(w.label, sizeof w.label, "%.255s:%.250s", s->path, name);
  if (snprintf(w.rest, sizeof w.rest, "%s", name) >= PATH) return closed(s, name, "the name is too long");
  const pz_status status = walk_to_place(&w, place);
  if (status != PZ_OK && w.at >= 0) H5Oclose(w.at);
  else place->group = w.at;
  return status;
}
