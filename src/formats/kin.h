/* kin.h: kinds of volumes that are not read here, known by their names or by how their files begin, and what to do about each. */
#ifndef PZ_FORMATS_KIN_H
#define PZ_FORMATS_KIN_H

#include "base/status.h"

/* The message for a path that no format has; PZ_ERROR_USAGE. */
pz_status pz_kin_refuse(const char *path, pz_error *err);
/* Where the content of a file that could not be opened as `format` is of another kind than its name says, a message that says
 * so, in place of the one in `err`. */
void pz_kin_explain(const char *path, const char *format, pz_error *err);
/* Whether a name is that of a picture or a volume. */
bool pz_kin_is_picture(const char *name);

#endif
