/* raw.h: arrays whose elements lie in a file one after the other, in any order of axes.
 *
 * What lies together in the file and at the destination is read at once. Of other orders stretches of the file are read and
 * their elements put where they belong; a stretch is bounded, and so is the memory. */
#ifndef PZ_FORMATS_RAW_H
#define PZ_FORMATS_RAW_H

#include "formats/axes.h"

enum { PZ_RAW_STRETCH = 1 << 20 };

typedef struct pz_raw {
  const pz_array *array;
  int64_t offset;    /* of the first element, in bytes */
  int64_t element;   /* bytes, as stored */
  int64_t delivered; /* bytes, as delivered; differs only with `convert` */
  bool swap;         /* the other byte order */
  int channel;       /* the array's axis whose indices have a stream each; -1: one stream */
  /* Reads `bytes` at `offset` by a stream (0 .. its number - 1). */
  pz_status (*fetch)(void *host, int stream, void *to, int64_t bytes, int64_t offset, pz_error *err);
  void (*convert)(const void *host, const void *in, int64_t n, void *out); /* or NULL: delivered as stored */
  void *host;
  char *stretch; /* taken when it is needed first; pz_raw_free */
} pz_raw;

/* Bytes that reading takes beside the destination. */
int64_t pz_raw_memory(const pz_raw *raw, const pz_axes *axes);
/* The box that is best read at once: a row as it lies in the file. Of a volume whose planes do not lie one after the other as many planes
 * as `room` bytes hold: each stretch of the file has something of all of them. */
void pz_raw_step(const pz_raw *raw, const pz_axes *axes, int64_t room, int64_t step[3]);
pz_status pz_raw_read(pz_raw *raw, const pz_array_box *box, void *to, pz_error *err);
void pz_raw_free(pz_raw *raw);

/* A `fetch` by pread. */
typedef struct pz_raw_file {
  int fd;
  const char *path;
} pz_raw_file;
pz_status pz_raw_fetch_file(void *host, int stream, void *to, int64_t bytes, int64_t offset, pz_error *err);

#endif
