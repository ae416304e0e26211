/* hdf5_check_parts.h: what the parts of hdf5_check.h's check share. Each function gives PZ_OK, or PZ_ERROR_INPUT with a line that
 * says what is wrong at which byte. */
#ifndef PZ_FORMATS_HDF5_CHECK_PARTS_H
#define PZ_FORMATS_HDF5_CHECK_PARTS_H

#include "formats/hdf5_check.h"

#include <endian.h>
#include <string.h>

#define PZ_HDF5_NONE      UINT64_MAX /* an address of nothing */
#define PZ_HDF5_UNLIMITED UINT64_MAX

enum { PZ_HDF5_DEPTH = 32, PZ_HDF5_RANK = 32, PZ_HDF5_NODES = 1 << 22 };

typedef struct pz_hdf5_file {
  const uint8_t
      *data;     /* of the view: read where pz_hdf5_there was asked, and only until the next pz_hdf5_rest */
  uint64_t size; /* as the superblock says, no more than the real one */
  pz_view *view;
  const char *path;
  uint64_t leaf_k, group_k, chunk_k; /* half the entries of symbol nodes, group trees, chunk trees */
  int64_t nodes;                     /* of trees, seen so far */
  pz_error *err;
} pz_hdf5_file;

/* Bytes of the file: a message's content, an element of a heap. */
typedef struct pz_hdf5_bytes {
  const uint8_t *data;
  uint64_t size;
} pz_hdf5_bytes;

/* What the messages of one object say of each other. */
typedef struct pz_hdf5_object {
  uint32_t seen; /* types of messages, as bits */
  bool filtered, group, extension, plain_attributes;
  uint64_t points, element; /* of its array; 0 points in a null space */
  int rank;
  uint64_t dim[PZ_HDF5_RANK], most[PZ_HDF5_RANK];
  pz_hdf5_bytes layout, fill, old_fill; /* the values of the last two */
  uint64_t tree, heap;                  /* of a group in the default format */
  uint64_t links, link_names;           /* of one in the later format that has too many for its header */
  uint64_t attributes, attribute_names; /* likewise */
  const char *wanted;                   /* an attribute's name, or NULL; */
  pz_hdf5_bytes found;                  /* its message in the header, if it is there and sound */
} pz_hdf5_object;

static inline uint64_t pz_hdf5_get(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  if (bytes == 8) return memcpy(&v, at, 8), le64toh(v);
  for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
  return v;
}

static inline bool pz_hdf5_inside(const pz_hdf5_file *f, uint64_t at, uint64_t size) {
  return size <= f->size && at <= f->size - size;
}

/* The same, and the bytes can be looked at. */
static inline bool pz_hdf5_there(const pz_hdf5_file *f, uint64_t at, uint64_t size) {
  return pz_hdf5_inside(f, at, size) && pz_view_fetch(f->view, at, size);
}

/* What was looked at may be forgotten: whoever goes on with it asks pz_hdf5_there again. Called where a walk may be long. */
static inline void pz_hdf5_rest(const pz_hdf5_file *f) { pz_view_forget(f->view); }

static inline uint64_t pz_hdf5_where(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  return (uint64_t)(m.data - f->data);
}

pz_status pz_hdf5_broken(const pz_hdf5_file *f, uint64_t at, const char *what);
/* For what may be sound, and is not known here. */
pz_status pz_hdf5_unknown(const pz_hdf5_file *f, uint64_t at, const char *what);

#define PZ_HDF5_CHECK(condition, at, what)                                                                   \
  do {                                                                                                       \
    if (!(condition)) return pz_hdf5_broken(f, at, what);                                                    \
  } while (0)

/* A type, all of whose parts are inside of `m`, and its bytes. */
pz_status pz_hdf5_check_type(const pz_hdf5_file *f, pz_hdf5_bytes m, uint64_t *element);
/* The content of a message of an object header, into what is known of its object. */
pz_status pz_hdf5_check_message(pz_hdf5_file *f, int type, pz_hdf5_bytes m, pz_hdf5_object *o);
/* As they stand in a header or in a heap. */
pz_status pz_hdf5_check_link(const pz_hdf5_file *f, pz_hdf5_bytes m);
pz_status pz_hdf5_check_attribute(const pz_hdf5_file *f, pz_hdf5_bytes m);

/* The texts of an attribute that passed the check, of fixed or any length, one in a line. False: it holds others than texts, or more
 * than `size` - 1 bytes of them. */
bool pz_hdf5_attribute_text(const pz_hdf5_file *f, pz_hdf5_bytes m, char *out, size_t size);

/* How the array of an object is stored. */
pz_status pz_hdf5_check_layout(pz_hdf5_file *f, const pz_hdf5_object *o);

/* A tree of version 2 whose records are of this kind and size; `visit`, unless NULL, is given each, from byte `at`. */
typedef struct pz_hdf5_records {
  int kind;
  uint64_t size;
  pz_status (*visit)(pz_hdf5_file *f, uint64_t at, const uint8_t *record, void *host);
  void *host;
} pz_hdf5_records;
pz_status pz_hdf5_check_records(pz_hdf5_file *f, uint64_t at, const pz_hdf5_records *records);

/* Links, attributes that lie in a heap of their own. */
pz_status pz_hdf5_check_many_links(pz_hdf5_file *f, uint64_t heap, uint64_t names);
pz_status pz_hdf5_check_many_attributes(pz_hdf5_file *f, uint64_t heap, uint64_t names);

#endif
