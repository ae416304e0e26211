/* dtype.h: the types of elements, of volumes and of tensors, a row each in dtypes.inc. */
#ifndef PZ_BASE_DTYPE_H
#define PZ_BASE_DTYPE_H

#include "base/status.h"

/* Files of volumes have those in front of bf16. */
enum { PZ_FILE_DTYPES = PZ_BOOL + 1, PZ_DTYPES = PZ_BF16 + 1, PZ_DTYPE_MAX_BYTES = 8 };

/* What messages say is expected of files. */
#define PZ_DTYPES_IN_WORDS "bool, integers of 8, 16, 32 or 64 bits, or floats of 16, 32 or 64 bits"

const char *pz_dtype_name(pz_dtype dtype);
const char *pz_dtype_c_type(pz_dtype dtype); /* of an element in memory: "uint8_t" */
int64_t pz_dtype_bytes(pz_dtype dtype);
char pz_dtype_kind(pz_dtype dtype); /* 'f', 'u', 'i', 'b' (bool), 'h' (bf16) */
/* The type of this kind and size; false: there is none. */
bool pz_dtype_find(char kind, int64_t bytes, pz_dtype *dtype);
/* Of an integer; 1 for floats and bool. */
double pz_dtype_greatest(pz_dtype dtype);

#endif
