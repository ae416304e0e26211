#include "formats/hdf5_plugin.h"

#include <H5PLextern.h>
#include <dirent.h>
#include <dlfcn.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The filter takes memory of malloc, may give it back and return other memory; what it returns is freed here. */
static int64_t run(const pz_hdf5_filter *filter, const char *in, int64_t size, char *out, int64_t room) {
  const H5Z_class2_t *class = filter->host;
  size_t held = (size_t)room;
  void *buffer = malloc(held);
  if (!buffer) return PZ_HDF5_NO_MEMORY;
  memcpy(buffer, in, (size_t)size);
  const size_t got =
      class->filter(H5Z_FLAG_REVERSE, (size_t)filter->values, filter->value, (size_t)size, &held, &buffer);
  const bool good = buffer && got > 0 && got <= held && got <= (size_t)room;
  if (good) memcpy(out, buffer, got);
  free(buffer);
  return good ? (int64_t)got : -1;
}

/* As the library does it: a library that says it is a filter, and which. */
static const H5Z_class2_t *filter_of(void *library, int id) {
  union {
    void *symbol;
    H5PL_type_t (*type)(void);
    const void *(*info)(void);
  } type = {dlsym(library, "H5PLget_plugin_type")}, info = {dlsym(library, "H5PLget_plugin_info")};
  if (!type.symbol || !info.symbol || type.type() != H5PL_TYPE_FILTER) return NULL;
  const H5Z_class2_t *class = info.info();
  const bool fits = class && class->version == H5Z_CLASS_T_VERS && class->id == id && class->filter;
  return fits ? class : NULL;
}

static const H5Z_class2_t *load(const char *folder, const char *name, int id) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  const H5Z_class2_t *class = library ? filter_of(library, id) : NULL;
  if (library && !class) dlclose(library);
  return class;
}

static const H5Z_class2_t *look_in(const char *folder, int id) {
  struct dirent **names;
  const H5Z_class2_t *class = NULL;
  const int n = scandir(folder, &names, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    const char *name = names[i]->d_name;
    if (!class && strncmp(name, "lib", 3) == 0 && strstr(name, ".so")) class = load(folder, name, id);
    free(names[i]);
  }
  if (n >= 0) free(names);
  return class;
}

static bool switched_on(void) {
  unsigned kinds = 0;
  return H5PLget_loading_state(&kinds) >= 0 && kinds & H5PL_FILTER_PLUGIN;
}

bool pz_hdf5_plugin_take(pz_hdf5_filter *filter) {
  unsigned folders = 0;
  const H5Z_class2_t *class = NULL;
  if (!switched_on() || H5PLsize(&folders) < 0) return false;
  for (unsigned i = 0; i < folders && !class; i++) {
    char folder[PATH_MAX];
    const ssize_t length = H5PLget(i, folder, sizeof folder);
    if (length > 0 && length < PATH_MAX) class = look_in(folder, filter->id);
  }
  filter->host = class;
  filter->foreign = class ? run : NULL;
  return class != NULL;
}
