/* dtype.h: the types of elements, of volumes and of tensors, a row each in dtypes.inc. */
#ifndef PZ_BASE_DTYPE_H
#define PZ_BASE_DTYPE_H

#include "base/status.h"

/* Files of volumes have those in front of bf16. */
enum { PZ_FILE_DTYPES = PZ_BOOL + 1, PZ_DTYPES = PZ_BF16 + 1, PZ_DTYPE_MAX_BYTES = 8 };

/* What messages say is expected of files. */
#define PZ_DTYPES_IN_WORDS "bool, integers of 8, 16, 32 or 64 bits, or floats of 16, 32 or 64 bits"

/* Those that tensors may have, as pz_type_of_tensors. */
#define PZ_TENSOR_TYPES_IN_WORDS "f32, f16, bf16, u8, i8, u16, i16 or i32"

const char *pz_dtype_name(pz_dtype dtype);
const char *pz_dtype_c_type(pz_dtype dtype); /* of an element in memory: "uint8_t" */
int64_t pz_dtype_bytes(pz_dtype dtype);
const char *pz_dtype_numpy(pz_dtype dtype); /* NumPy's name: "uint8"; "bfloat16", which it lacks */
char pz_dtype_kind(pz_dtype dtype);         /* 'f', 'u', 'i', 'b' (bool), 'h' (bf16) */
bool pz_dtype_is_integer(pz_dtype dtype);
/* Whether elements of tensors may be of it; false for what is no pz_dtype. */
bool pz_type_of_tensors(pz_dtype type);
/* The type of this kind and size; false: there is none. */
bool pz_dtype_find(char kind, int64_t bytes, pz_dtype *dtype);
/* The greatest and the least of an integer; 1 and 0 for floats and bool. */
double pz_dtype_greatest(pz_dtype dtype);
double pz_dtype_least(pz_dtype dtype);

#endif
