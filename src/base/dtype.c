#include "base/dtype.h"

#include <math.h>

static const struct {
  const char *name, *c_type, *numpy;
  int bytes;
  char kind;
  bool of_tensors;
} rows[PZ_DTYPES] = {
#define PZ_DTYPE(dtype, name, T, kind, numpy, of_tensors)                                                    \
  [dtype] = {#name, #T, numpy, sizeof(T), kind, of_tensors},
#include "base/dtypes.inc"
#undef PZ_DTYPE
};

const char *pz_dtype_name(pz_dtype dtype) { return rows[dtype].name; }
const char *pz_dtype_c_type(pz_dtype dtype) { return rows[dtype].c_type; }
const char *pz_dtype_numpy(pz_dtype dtype) { return rows[dtype].numpy; }
int64_t pz_dtype_bytes(pz_dtype dtype) { return rows[dtype].bytes; }
char pz_dtype_kind(pz_dtype dtype) { return rows[dtype].kind; }
bool pz_dtype_is_integer(pz_dtype dtype) { return rows[dtype].kind == 'u' || rows[dtype].kind == 'i'; }
bool pz_type_of_tensors(pz_dtype type) { return (unsigned)type < PZ_DTYPES && rows[type].of_tensors; }

bool pz_dtype_find(char kind, int64_t bytes, pz_dtype *dtype) {
  for (int i = 0; i < PZ_DTYPES; i++)
    if (rows[i].kind == kind && rows[i].bytes == bytes) {
      *dtype = (pz_dtype)i;
      return true;
    }
  return false;
}

double pz_dtype_greatest(pz_dtype dtype) {
  const char kind = rows[dtype].kind;
  const int bits = 8 * rows[dtype].bytes;
  return kind == 'u' ? ldexp(1, bits) - 1 : kind == 'i' ? ldexp(1, bits - 1) - 1 : 1;
}

double pz_dtype_least(pz_dtype dtype) { return rows[dtype].kind == 'i' ? -pz_dtype_greatest(dtype) - 1 : 0; }
