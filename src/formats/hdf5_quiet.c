#include "formats/hdf5_quiet.h"

#include "formats/hdf5_lock.h"

#include <stdio.h>
#include <string.h>

pz_hdf5_quiet pz_hdf5_hush(void) {
  pz_hdf5_quiet q = {NULL, NULL};
  pz_hdf5_lock();
  H5Eget_auto2(H5E_DEFAULT, &q.print, &q.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  H5Eclear2(H5E_DEFAULT);
  return q;
}

void pz_hdf5_unhush(pz_hdf5_quiet q) {
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, q.print, q.data);
  pz_hdf5_unlock();
}

typedef struct reason {
  char text[200];
  bool lock;
} reason;

/* Keeps the innermost description, where the failure began. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *host) {
  reason *r = host;
  if (n == 0 && error->desc) snprintf(r->text, sizeof r->text, "%s", error->desc);
  if (error->desc && strstr(error->desc, "lock file")) r->lock = true;
  for (char *c = r->text; *c; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  return 0;
}

pz_status pz_hdf5_fail(pz_error *err, pz_status status, const char *path, const char *dataset,
                       const char *what) {
  reason r = {.text = "no reason given"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &r);
  if (r.lock) return pz_fail(err, status, "%s: is locked: " PZ_HDF5_LOCKED, path);
  return pz_fail(err, status, "%s%s%s: %s: %s", path, dataset ? ":" : "", dataset ? dataset : "", what,
                 r.text);
}
