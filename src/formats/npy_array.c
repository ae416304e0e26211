#include "formats/npy_array.h"

/* In Fortran order the first axis is the fastest one. */
static void turn_strides(pz_array *a) {
  int64_t stride = 1;
  for (int i = 0; i < a->rank; i++) {
    a->stride[i] = stride;
    if (!pz_mul_i64(stride, a->size[i], &stride)) stride = 0;
  }
}

pz_status pz_npy_take_array(pz_volume *v, const pz_npy *header, pz_error *err) {
  v->info.dtype = header->dtype;
  if (!pz_array_make(&v->array, header->rank, header->dim))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %d dimensions; expected [z, y, x] or [channels, z, y, x]",
                   v->path, header->rank);
  if (header->fortran) turn_strides(&v->array);
  return PZ_OK;
}

pz_raw pz_npy_raw(const pz_volume *v, const pz_npy *header) {
  const int64_t element = pz_dtype_bytes(header->dtype);
  return (pz_raw){.array = &v->array,
                  .offset = header->offset,
                  .element = element,
                  .delivered = element,
                  .swap = header->swap,
                  .channel = -1};
}
