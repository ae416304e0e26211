#include "formats/hdf5_type.h"

#include <stdio.h>
#include <string.h>

/* HDF5 before 1.14 has no half of its own; h5py and later versions build it like this. */
static hid_t make_half(bool big) {
  const hid_t t = H5Tcopy(big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE);
  const bool good = t >= 0 && H5Tset_fields(t, 15, 10, 5, 0, 10) >= 0 && H5Tset_precision(t, 16) >= 0 &&
                    H5Tset_size(t, 2) >= 0 && H5Tset_ebias(t, 15) >= 0;
  if (good || t < 0) return t;
  H5Tclose(t);
  return -1;
}

static hid_t make_bool(void) {
  const hid_t t = H5Tenum_create(H5T_STD_I8LE);
  const int8_t values[2] = {0, 1};
  const bool good =
      t >= 0 && H5Tenum_insert(t, "FALSE", &values[0]) >= 0 && H5Tenum_insert(t, "TRUE", &values[1]) >= 0;
  if (good || t < 0) return t;
  H5Tclose(t);
  return -1;
}

static hid_t make_type(pz_dtype dtype, bool big) {
  const hid_t floats[2][2] = {{H5T_IEEE_F32LE, H5T_IEEE_F32BE}, {H5T_IEEE_F64LE, H5T_IEEE_F64BE}};
  const hid_t integers[2][4][2] = {{{H5T_STD_U8LE, H5T_STD_U8BE},
                                    {H5T_STD_U16LE, H5T_STD_U16BE},
                                    {H5T_STD_U32LE, H5T_STD_U32BE},
                                    {H5T_STD_U64LE, H5T_STD_U64BE}},
                                   {{H5T_STD_I8LE, H5T_STD_I8BE},
                                    {H5T_STD_I16LE, H5T_STD_I16BE},
                                    {H5T_STD_I32LE, H5T_STD_I32BE},
                                    {H5T_STD_I64LE, H5T_STD_I64BE}}};
  const char kind = pz_dtype_kind(dtype);
  const int64_t bytes = pz_dtype_bytes(dtype);
  if (kind == 'b') return make_bool();
  if (kind == 'f') return bytes == 2 ? make_half(big) : H5Tcopy(floats[bytes == 8][big]);
  return H5Tcopy(integers[kind == 'i'][__builtin_ctzll((uint64_t)bytes)][big]);
}

static bool equal(hid_t type, pz_dtype dtype, bool big) {
  const hid_t made = make_type(dtype, big);
  const bool same = made >= 0 && H5Tequal(type, made) > 0;
  if (made >= 0) H5Tclose(made);
  return same;
}

/* An enumeration is a bool by its names and values, whatever the sign of its bytes. */
static bool is_bool(hid_t type) {
  int8_t values[2] = {1, 0};
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  return H5Tenum_valueof(type, "FALSE", &values[0]) >= 0 && H5Tenum_valueof(type, "TRUE", &values[1]) >= 0 &&
         values[0] == 0 && values[1] == 1;
}

bool pz_hdf5_known_type(hid_t type, pz_dtype *dtype, bool *swap) {
  *swap = false;
  *dtype = PZ_BOOL;
  if (is_bool(type)) return true;
  for (int i = 0; i < PZ_FILE_DTYPES; i++) {
    *dtype = (pz_dtype)i;
    for (int big = 0; big < 2; big++) {
      *swap = big;
      if (pz_dtype_kind(*dtype) != 'b' && equal(type, *dtype, big)) {
        *swap = big && pz_dtype_bytes(*dtype) > 1;
        return true;
      }
    }
  }
  return false;
}

hid_t pz_hdf5_make_type(pz_dtype dtype) { return make_type(dtype, false); }

void pz_hdf5_describe_type(hid_t type, char *out, int size) {
  const H5T_class_t class = H5Tget_class(type);
  const unsigned bits = 8 * (unsigned)H5Tget_size(type);
  const bool atom = class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_BITFIELD;
  const unsigned used = atom ? (unsigned)H5Tget_precision(type) : bits;
  const char *name = class == H5T_INTEGER     ? "an integer"
                     : class == H5T_FLOAT     ? "a float"
                     : class == H5T_STRING    ? "a string"
                     : class == H5T_BITFIELD  ? "a bit field"
                     : class == H5T_COMPOUND  ? "a compound"
                     : class == H5T_ENUM      ? "an enumeration"
                     : class == H5T_ARRAY     ? "an array"
                     : class == H5T_REFERENCE ? "a reference"
                                              : "something else";
  if (used != bits) snprintf(out, (size_t)size, "%s of %u of %u bits", name, used, bits);
  else
    snprintf(out, (size_t)size, "%s of %u bits%s", name, bits,
             atom && bits <= 64 ? " in an unusual form" : "");
}
