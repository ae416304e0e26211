#include "formats/hdf5_list.h"

#include "formats/hdf5_check.h"
#include "formats/hdf5_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OBJECTS = 1024, DEPTH = 32, PREFIX = 1024 };

typedef struct walk {
  pz_hdf5_search search;
  pz_hdf5_list *out;
  uint64_t seen[MOST_OBJECTS];
  int objects, depth;
  char prefix[PREFIX]; /* of the group that is listed */
  int links;           /* of that group, so far */
} walk;

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *host);

static void miss(walk *w) {
  pz_fail(&w->out->problem, PZ_ERROR_INPUT, "%s: cannot list all that it holds", w->search.path);
  w->out->others++, w->out->complete = false;
}

/* ------------------------------------------------------------------ a dataset */

static int print_shape(hid_t data, char *out, int size) {
  hsize_t dim[H5S_MAX_RANK];
  const hid_t space = H5Dget_space(data);
  const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dim, NULL);
  int n = snprintf(out, (size_t)size, rank > 0 ? "" : "no array");
  for (int i = 0; i < rank && n < size; i++)
    n += snprintf(out + n, (size_t)(size - n), i ? " x %llu" : "%llu", (unsigned long long)dim[i]);
  if (space >= 0) H5Sclose(space);
  return rank;
}

/* Whether it can be a volume. */
static bool describe(hid_t data, char *out, int size) {
  char type_text[48], shape[80];
  pz_dtype dtype;
  bool swap;
  const hid_t type = H5Dget_type(data);
  const bool known = type >= 0 && pz_hdf5_known_type(type, &dtype, &swap);
  if (known) snprintf(type_text, sizeof type_text, "%s", pz_dtype_name(dtype));
  else if (type >= 0) pz_hdf5_describe_type(type, type_text, sizeof type_text);
  else snprintf(type_text, sizeof type_text, "unknown");
  if (type >= 0) H5Tclose(type);
  const int rank = print_shape(data, shape, sizeof shape);
  snprintf(out, (size_t)size, "%s, %s", type_text, shape);
  return known && rank >= 2 && rank <= 5;
}

static void take_dataset(walk *w, uint64_t address, const char *name) {
  pz_hdf5_list *out = w->out;
  pz_hdf5_listed entry;
  const bool fits =
      snprintf(entry.name, sizeof entry.name, "%s/%s", w->prefix, name) < (int)sizeof entry.name;
  const hid_t data = H5Oopen_by_addr(w->search.file, address);
  if (data < 0) {
    miss(w);
    return;
  }
  out->datasets++;
  if (describe(data, entry.about, sizeof entry.about) && out->volumes++ == 0 && fits)
    strcpy(out->volume, entry.name);
  H5Oclose(data);
  if (out->listed < PZ_HDF5_LISTED) out->list[out->listed++] = entry;
}

/* ------------------------------------------------------------------ a group */

static void enter(walk *w, uint64_t address, const char *name, bool plain_attributes) {
  const size_t length = strlen(w->prefix);
  const int links = w->links;
  H5O_info_t info;
  const hid_t group = w->depth < DEPTH ? H5Oopen_by_addr(w->search.file, address) : -1;
  const int n = snprintf(w->prefix + length, PREFIX - length, "%s%s", *name ? "/" : "", name);
  w->links = 0;
  w->depth++;
  if (group < 0 || n >= (int)(PREFIX - length) ||
      H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, w) < 0)
    miss(w);
  else if (!plain_attributes || H5Oget_info2(group, &info, H5O_INFO_NUM_ATTRS) < 0 || info.num_attrs ||
           (!w->links && *name))
    w->out->others++;
  w->depth--;
  w->links = links;
  w->prefix[length] = 0;
  if (group >= 0) H5Oclose(group);
}

static void look_at(walk *w, uint64_t address, const char *name) {
  pz_hdf5_about about;
  for (int i = 0; i < w->objects; i++)
    if (w->seen[i] == address) {
      w->out->others++; /* a second name */
      return;
    }
  if (w->objects == MOST_OBJECTS ||
      pz_hdf5_check_object(w->search.view, w->search.path, address, &about, &w->out->problem) != PZ_OK) {
    miss(w);
    return;
  }
  w->seen[w->objects++] = address;
  if (about.kind == PZ_HDF5_GROUP) enter(w, address, name, about.plain_attributes);
  else if (about.kind == PZ_HDF5_DATASET) take_dataset(w, address, name);
  else w->out->others++;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *host) {
  (void)group;
  walk *w = host;
  w->links++;
  if (info->type == H5L_TYPE_HARD) look_at(w, info->u.address, name);
  else w->out->others++;
  return 0;
}

pz_status pz_hdf5_list_datasets(const pz_hdf5_search *s, pz_hdf5_list **list) {
  walk *w = calloc(1, sizeof *w);
  *list = calloc(1, sizeof **list);
  if (!w || !*list) {
    free(w), free(*list);
    *list = NULL;
    return pz_fail_memory(s->err, "a list of datasets", sizeof *w + sizeof **list);
  }
  pz_hdf5_about root = {.plain_attributes = false};
  w->search = *s;
  w->search.err = NULL;
  w->out = *list;
  w->out->complete = true;
  w->seen[w->objects++] = s->root;
  if (pz_hdf5_check_object(s->view, s->path, s->root, &root, &w->out->problem) != PZ_OK) miss(w);
  else enter(w, s->root, "", root.plain_attributes);
  free(w);
  return PZ_OK;
}

/* ------------------------------------------------------------------ in words */

/* A name of any bytes: what is no printable character of ASCII is escaped. */
static int print_name(const char *name, char *out, int size) {
  int n = 0;
  for (; *name && n < size - 5; name++) {
    const unsigned char c = (unsigned char)*name;
    n += snprintf(out + n, (size_t)(size - n), c < 32 || c > 126 ? "\\x%02x" : "%c", c);
  }
  return n;
}

void pz_hdf5_print_list(const pz_hdf5_list *l, char *out, int size) {
  enum { TAIL = 24 }; /* " and 4294967295 more" */
  int n = 0, done = 0;
  *out = 0;
  for (; done < l->listed; done++) {
    char entry[PZ_HDF5_NAME * 4 + 128];
    int length = print_name(l->list[done].name, entry, PZ_HDF5_NAME * 4);
    length += snprintf(entry + length, sizeof entry - (size_t)length, " (%s)", l->list[done].about);
    if (n + length + 2 > size - TAIL) break;
    n += snprintf(out + n, (size_t)(size - n), "%s%s", done ? ", " : "", entry);
  }
  if (done < l->datasets)
    snprintf(out + n, (size_t)(size - n), done ? " and %d more" : "%d of long names", l->datasets - done);
}
