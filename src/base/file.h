/* file.h: whole files in, whole files out. */
#ifndef PZ_BASE_FILE_H
#define PZ_BASE_FILE_H

#include "base/arena.h"
#include "base/status.h"
#include <stdio.h>
#include <sys/stat.h>

/* A read-only mapping of a regular file, for files that nobody else writes to: where one is cut, looking at it is a signal. Release with
 * pz_file_unmap. */
typedef struct pz_mapping {
  const uint8_t *data;
  size_t size;
} pz_mapping;
pz_status pz_file_map(const char *path, pz_mapping *mapping, pz_error *err);
void pz_file_unmap(pz_mapping *mapping);

/* Opens a regular file for reading; *info is what the system says of it. The caller closes *fd. */
pz_status pz_file_open(const char *path, int *fd, struct stat *info, pz_error *err);

/* Reads a file of at most `limit` bytes into the arena, with a NUL behind it. */
pz_status pz_file_read(pz_arena *arena, const char *path, size_t limit, char **data, size_t *size,
                       pz_error *err);

/* `size` bytes from `offset` on. PZ_ERROR_INPUT where the file has fewer of them by now. */
pz_status pz_file_fetch(int fd, const char *path, int64_t offset, void *to, size_t size, pz_error *err);

/* A whole file in the arena's memory: one that is cut or written to meanwhile is no signal, as it would be in a mapping. In pieces,
 * so that an arena that is watched ends it; of at most PZ_FILE_LOAD bytes, as protobuf has it. */
#define PZ_FILE_LOAD ((size_t)INT32_MAX)
pz_status pz_file_load(pz_arena *arena, const char *path, pz_mapping *content, pz_error *err);

/* Writes a file so that it appears under its name whole or not at all: a temporary in the same folder, fsync,
 * rename. */
pz_status pz_file_write(const char *path, const void *data, size_t size, pz_error *err);
/* The same of a file that is made again when it is missed: not brought to the disk before it has its name. */
pz_status pz_file_write_quick(const char *path, const void *data, size_t size, pz_error *err);

/* Writes all bytes at the file's place, however many calls that takes. 0, or -1 with errno. */
int pz_file_write_all(int fd, const char *data, size_t size);

/* Fails, naming the path and the reason, when a file could not be created or replaced at `path`. Leaves
 * nothing behind. Called before long work. */
pz_status pz_file_check_writable(const char *path, pz_error *err);

#endif
