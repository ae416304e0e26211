/* owned.h: files and folders that others may have prepared.
 *
 * On a disk that several users share, somebody may have put something under a name that this process is about to open and write to: a
 * link to another file, one more name of it, a pipe, a device, a folder of theirs. What is opened by such a name must be ours.
 */
#ifndef PZ_BASE_OWNED_H
#define PZ_BASE_OWNED_H

#include "base/status.h"

/* Passes where there is nothing at `path`, or a regular file that has no other name, whoever's. PZ_ERROR_OUTPUT, naming what it is. */
pz_status pz_single_file(const char *path, pz_error *err);

/* Passes where there is nothing at `path`, or a regular file of this user that has no other name. PZ_ERROR_OUTPUT, naming what it is. */
pz_status pz_owned_file(const char *path, pz_error *err);

/* Passes where `path` is a folder of this user, no link to one, and takes the right to write to it from everybody else, so that what is
 * found in it afterwards stays so. PZ_ERROR_OUTPUT. */
pz_status pz_owned_folder(const char *path, pz_error *err);

/* Passes where `path` is no symbolic link, or one that this user or root has made. PZ_ERROR_OUTPUT. */
pz_status pz_owned_link(const char *path, pz_error *err);

#endif
