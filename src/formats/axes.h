/* axes.h: which axis of a file's array is which, and where the planes of a volume lie in it.
 *
 * A reader describes the array of its file as it lies. What is known of the axes and what the user says is resolved here, for
 * all formats alike, into a volume [c, z, y, x], or refused in words that name what was seen:
 *
 * - The user's letters count before the file's, for axes in the array's order; axes of length 1 may be left out of them.
 * - Axes that nothing names are, from the last one on, x, y, z and c.
 * - Of several time points one is chosen; none is ever taken for a plane or a channel. */
#ifndef PZ_FORMATS_AXES_H
#define PZ_FORMATS_AXES_H

#include "base/status.h"

enum { PZ_AXES_RANK = 8, PZ_AXES_WORDS = 256 };

/* The slowest axis first, as programs show the array. */
typedef struct pz_array {
  int rank;
  int64_t size[PZ_AXES_RANK];
  int64_t stride
      [PZ_AXES_RANK]; /* elements from one index to the next in the file; formats without such places leave it 0 */
  /* t, c, z, y or x; 0 where the file does not say; another letter for one that the file names and a volume has none of */
  char axis[PZ_AXES_RANK];
  const char *said_by; /* "OME-XML"; NULL: nothing says which axis is which */
} pz_array;

/* What the user says. All zero: nothing. */
typedef struct pz_axes_choice {
  char axes[PZ_AXES_RANK + 1]; /* letters, the slowest axis first; "": as the file says */
  bool at_t, at_c;             /* one time point, one channel is chosen: */
  int64_t t, c;
  bool any_time; /* of several time points the first one, to describe the file */
} pz_axes_choice;

/* Where the axes of the volume are in the array. */
typedef struct pz_axes {
  int of[4];                   /* c, z, y, x: the array's axis; -1: the volume's size is 1 there */
  int64_t index[PZ_AXES_RANK]; /* on the array's other axes */
  char letter[PZ_AXES_RANK];   /* as they were resolved; 0 for axes of length 1 that are none */
  int64_t channels, shape[3];  /* each at least 1 where the array's sizes are */
  int64_t time_points;
} pz_axes;

/* axes: "zyxc" or NULL; at: "t=3", "t=3,c=0" or NULL. PZ_ERROR_USAGE. */
pz_status pz_axes_choose(const char *axes, const char *at, pz_axes_choice *choice, pz_error *err);

/* An array in C order, of axes that nothing names. False: more than PZ_AXES_RANK axes that are longer than 1; of fewer, some of
 * length 1 are left out, from the front, where there are more than that. */
bool pz_array_make(pz_array *array, int rank, const int64_t *size);

/* Whether the user's letters can be this array's. */
bool pz_axes_fit(const pz_array *array, const char *letters);

/* choice may be NULL. PZ_ERROR_INPUT; PZ_ERROR_USAGE where the user's choice cannot be had. */
pz_status pz_axes_resolve(const char *path, const pz_array *array, const pz_axes_choice *choice,
                          pz_axes *axes, pz_error *err);

/* "2 x 11 x 37 x 45 (t, z, y, x by ImageJ's description)" */
const char *pz_axes_words(const pz_array *array, char words[PZ_AXES_WORDS]);

/* Whether z, y and x are the axes that the file has for them, so that what it says of them holds. */
bool pz_axes_keep_geometry(const pz_array *array, const pz_axes *axes);

/* For a network that takes another number of channels: " (its array is ...); --axes zyxc would give 3", or as much of it as can
 * be said. */
const char *pz_axes_suggest(const pz_array *array, const pz_axes *axes, int64_t channels,
                            char words[2 * PZ_AXES_WORDS]);

/* A part of a file's array, and where it goes. */
typedef struct pz_array_box {
  int rank;
  int64_t start[PZ_AXES_RANK], count[PZ_AXES_RANK];
  int64_t to[PZ_AXES_RANK]; /* bytes from one index to the next at the destination */
} pz_array_box;

/* Where a box of the volume lies in the array. At the destination channels, planes and rows are stride[0], stride[1] and stride[2] bytes
 * apart, and the elements of a row, of `element` bytes, lie together. */
pz_array_box pz_axes_box(const pz_array *array, const pz_axes *axes, const pz_box *box, int64_t element,
                         const int64_t stride[3]);
/* Rows of the volume as they lie in the file: all of the axis whose elements are closest together, 1 of the others. */
void pz_axes_rows(const pz_array *array, const pz_axes *axes, int64_t step[3]);

/* Copies elements between two arrays of `rank` axes; strides in bytes, a stride of 0 repeats. */
void pz_copy_strided(const char *from, const int64_t *from_stride, char *to, const int64_t *to_stride,
                     const int64_t *count, int rank, int64_t element);

#endif
