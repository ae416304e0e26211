#include "formats/nifti_header.h"

#include "formats/nifti_geometry.h"

#include <math.h>
#include <nifti/nifti1.h>
#include <nifti/nifti2.h>
#include <string.h>

_Static_assert(sizeof(nifti_1_header) == PZ_NIFTI1_BYTES, "the struct must be the file's bytes");
_Static_assert(sizeof(nifti_2_header) == PZ_NIFTI2_BYTES, "the struct must be the file's bytes");

/* Both versions in one form. The order of the fields that are swapped follows the files. */
typedef struct common {
  int64_t dim[8];
  double pixdim[8], offset, slope, inter, quaternion[3], shift[3], affine[3][4];
  double toffset;
  int datatype, bitpix, units, qform, sform, intent;
} common;

/* NIfTI has no halves and no bools of a byte. */
static const struct {
  int code;
  pz_dtype dtype;
} datatypes[] = {{NIFTI_TYPE_UINT8, PZ_U8},    {NIFTI_TYPE_INT16, PZ_I16},   {NIFTI_TYPE_INT32, PZ_I32},
                 {NIFTI_TYPE_FLOAT32, PZ_F32}, {NIFTI_TYPE_FLOAT64, PZ_F64}, {NIFTI_TYPE_INT8, PZ_I8},
                 {NIFTI_TYPE_UINT16, PZ_U16},  {NIFTI_TYPE_UINT32, PZ_U32},  {NIFTI_TYPE_INT64, PZ_I64},
                 {NIFTI_TYPE_UINT64, PZ_U64}};
enum { DATATYPES = sizeof datatypes / sizeof *datatypes };

/* Those that NIfTI has and a volume of numbers is not. */
static const char *refused_name(int code) {
  static const struct {
    int code;
    const char *name;
  } names[] = {{DT_BINARY, "single bits"},
               {NIFTI_TYPE_COMPLEX64, "complex numbers"},
               {NIFTI_TYPE_COMPLEX128, "complex numbers"},
               {NIFTI_TYPE_COMPLEX256, "complex numbers"},
               {NIFTI_TYPE_RGB24, "colours"},
               {NIFTI_TYPE_RGBA32, "colours"},
               {NIFTI_TYPE_FLOAT128, "floats of 128 bits"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return names[i].name;
  return "unknown";
}

static uint64_t load(const void *at, int bytes, bool swap) {
  uint64_t v = 0;
  const uint8_t *b = at;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)b[swap ? bytes - 1 - i : i] << (8 * i);
  return v;
}
static double load_f32(const void *at, bool swap) {
  const uint32_t bits = (uint32_t)load(at, 4, swap);
  float v;
  memcpy(&v, &bits, 4);
  return v;
}
static double load_f64(const void *at, bool swap) {
  const uint64_t bits = load(at, 8, swap);
  double v;
  memcpy(&v, &bits, 8);
  return v;
}
static int load_i16(const void *at, bool swap) { return (int16_t)load(at, 2, swap); }
static int load_i32(const void *at, bool swap) { return (int32_t)load(at, 4, swap); }

int pz_nifti_header_bytes(const uint8_t first[4]) {
  for (int swap = 0; swap < 2; swap++) {
    const int size = load_i32(first, swap);
    if (size == PZ_NIFTI1_BYTES || size == PZ_NIFTI2_BYTES) return size;
  }
  return 0;
}

static void from_1(const nifti_1_header *h, bool swap, common *c) {
  for (int i = 0; i < 8; i++)
    c->dim[i] = load_i16(&h->dim[i], swap), c->pixdim[i] = load_f32(&h->pixdim[i], swap);
  c->offset = load_f32(&h->vox_offset, swap);
  c->slope = load_f32(&h->scl_slope, swap), c->inter = load_f32(&h->scl_inter, swap);
  const float *q[] = {&h->quatern_b, &h->quatern_c, &h->quatern_d},
              *s[] = {&h->qoffset_x, &h->qoffset_y, &h->qoffset_z};
  const float *row[] = {h->srow_x, h->srow_y, h->srow_z};
  for (int i = 0; i < 3; i++) {
    c->quaternion[i] = load_f32(q[i], swap), c->shift[i] = load_f32(s[i], swap);
    for (int j = 0; j < 4; j++) c->affine[i][j] = load_f32(&row[i][j], swap);
  }
  c->datatype = load_i16(&h->datatype, swap), c->bitpix = load_i16(&h->bitpix, swap);
  c->toffset = load_f32(&h->toffset, swap), c->intent = load_i16(&h->intent_code, swap);
  c->units = (uint8_t)h->xyzt_units;
  c->qform = load_i16(&h->qform_code, swap), c->sform = load_i16(&h->sform_code, swap);
}

static void from_2(const nifti_2_header *h, bool swap, common *c) {
  for (int i = 0; i < 8; i++)
    c->dim[i] = (int64_t)load(&h->dim[i], 8, swap), c->pixdim[i] = load_f64(&h->pixdim[i], swap);
  c->offset = (double)(int64_t)load(&h->vox_offset, 8, swap);
  c->slope = load_f64(&h->scl_slope, swap), c->inter = load_f64(&h->scl_inter, swap);
  const double *q[] = {&h->quatern_b, &h->quatern_c, &h->quatern_d},
               *s[] = {&h->qoffset_x, &h->qoffset_y, &h->qoffset_z};
  const double *row[] = {h->srow_x, h->srow_y, h->srow_z};
  for (int i = 0; i < 3; i++) {
    c->quaternion[i] = load_f64(q[i], swap), c->shift[i] = load_f64(s[i], swap);
    for (int j = 0; j < 4; j++) c->affine[i][j] = load_f64(&row[i][j], swap);
  }
  c->datatype = load_i16(&h->datatype, swap), c->bitpix = load_i16(&h->bitpix, swap);
  c->toffset = load_f64(&h->toffset, swap), c->intent = load_i32(&h->intent_code, swap);
  c->units = load_i32(&h->xyzt_units, swap) & 255;
  c->qform = load_i32(&h->qform_code, swap), c->sform = load_i32(&h->sform_code, swap);
}

/* Whether the header says that its fourth dimension is time. The standard has it so always, but many store channels there, with
 * nothing that speaks of time. */
static bool says_time(const common *c) {
  const int unit = c->units & 0x38;
  return unit == NIFTI_UNITS_SEC || unit == NIFTI_UNITS_MSEC || unit == NIFTI_UNITS_USEC || c->toffset != 0 ||
         (c->pixdim[4] != 0 && fabs(c->pixdim[4]) != 1) || c->intent == NIFTI_INTENT_TIME_SERIES;
}

/* Hertz, ppm, radians per second. */
static bool says_spectrum(const common *c) { return (c->units & 0x38) >= NIFTI_UNITS_HZ; }

/* The fifth dimension, of vectors, is the channels where it is longer than 1; the fourth then is time. The sixth and the seventh
 * have no meaning of their own. */
static char letter(const common *c, int dim) {
  if (dim <= 3) return "xyz"[dim - 1];
  if (dim == 5) return 'c';
  if (dim > 5) return dim == 6 ? 'v' : 'w';
  if (says_spectrum(c)) return 'f';
  return says_time(c) || (c->dim[0] >= 5 && c->dim[5] > 1) ? 't' : 'c';
}

/* Dimensions above the third that are 1 long are left out. */
static pz_status shape(const char *path, const common *c, pz_array *array, pz_error *err) {
  int64_t size[7], n = 0;
  char letters[7];
  if (c->dim[0] < 1 || c->dim[0] > 7)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: dim[0] is %lld; expected 1 to 7", path, (long long)c->dim[0]);
  for (int i = 7; i >= 1; i--) {
    const int64_t dim = i <= c->dim[0] ? c->dim[i] : 1;
    if (dim < 1)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: dim[%d] is %lld; expected at least 1", path, i,
                     (long long)dim);
    if (i <= 3 || dim > 1) letters[n] = letter(c, i), size[n++] = dim;
  }
  pz_array_make(array, (int)n, size);
  memcpy(array->axis, letters, (size_t)n);
  array->said_by = "the NIfTI header";
  return PZ_OK;
}

static pz_status datatype(const char *path, const common *c, pz_nifti_data *data, pz_error *err) {
  for (int i = 0; i < DATATYPES; i++)
    if (datatypes[i].code == c->datatype) {
      data->stored = datatypes[i].dtype;
      const int bits = (int)(8 * pz_dtype_bytes(data->stored));
      if (c->bitpix == bits) return PZ_OK;
      return pz_fail(err, PZ_ERROR_INPUT, "%s: bitpix is %d; expected %d for %s", path, c->bitpix, bits,
                     pz_dtype_name(data->stored));
    }
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: datatype %d (%s); expected integers of 8, 16, 32 or 64 bits, or floats of 32 or 64 bits", path,
      c->datatype, refused_name(c->datatype));
}

static void orientation(const common *c, pz_orientation *o) {
  *o = (pz_orientation){.qform = c->qform, .sform = c->sform, .units = c->units, .qfac = c->pixdim[0]};
  memcpy(o->quaternion, c->quaternion, sizeof o->quaternion);
  memcpy(o->offset, c->shift, sizeof o->offset);
  memcpy(o->affine, c->affine, sizeof o->affine);
  memcpy(o->pixdim, c->pixdim + 1, sizeof o->pixdim);
}

static pz_status interpret(pz_volume *v, const common *c, int64_t header, pz_nifti_data *data,
                           pz_error *err) {
  const char *path = v->path;
  pz_volume_info *info = &v->info;
  PZ_TRY(datatype(path, c, data, err));
  info->dtype = data->stored;
  const int least = data->pair ? 0 : (int)header + 4;
  if (!(c->offset >= least && c->offset < 9e15) || c->offset != floor(c->offset))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: vox_offset is %g; expected a whole number, at least %d", path,
                   c->offset, least);
  data->offset = (int64_t)c->offset;
  /* A slope of 0 means "no scaling"; so do, to the readers of the field, slopes that are no numbers. */
  data->scaled = c->slope != 0 && isfinite(c->slope) && (c->slope != 1 || c->inter != 0);
  if (data->scaled && !isfinite(c->inter))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: scl_inter is %g; expected a finite number", path, c->inter);
  data->slope = c->slope, data->inter = c->inter;
  if (data->scaled) info->dtype = PZ_F32;
  data->floats = header == PZ_NIFTI1_BYTES;
  orientation(c, &data->orientation);
  PZ_TRY(shape(path, c, &v->array, err));
  return PZ_OK;
}

pz_status pz_nifti_parse(pz_volume *v, const uint8_t *bytes, int count, pz_nifti_data *data, pz_error *err) {
  common c = {0};
  union {
    nifti_1_header one;
    nifti_2_header two;
  } h;
  const bool two = count == PZ_NIFTI2_BYTES;
  memcpy(&h, bytes, (size_t)count);
  data->swap = load_i32(bytes, false) != count;
  const char *magic = two ? h.two.magic : h.one.magic;
  data->pair = memcmp(magic, two ? "ni2" : "ni1", 4) == 0;
  if (!data->pair && memcmp(magic, two ? "n+2" : "n+1", 4) != 0)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: not a NIfTI file: the magic is not \"%s\" (the older ANALYZE 7.5 has none; convert that, as "
        "by nibabel.save(nibabel.load(a), b))",
        v->path, two ? "n+2" : "n+1");
  if (two) from_2(&h.two, data->swap, &c);
  else from_1(&h.one, data->swap, &c);
  return interpret(v, &c, count, data, err);
}

/* ------------------------------------------------------------------ writing */

static void to_common(const pz_volume_info *info, common *c) {
  pz_orientation o;
  c->dim[0] = info->has_channels ? 4 : 3;
  for (int i = 1; i < 8; i++) c->dim[i] = i <= 3 ? info->shape[3 - i] : 1, c->pixdim[i] = 1;
  if (info->has_channels) c->dim[4] = info->channels;
  for (int i = 0; i < DATATYPES; i++)
    if (datatypes[i].dtype == info->dtype)
      c->datatype = datatypes[i].code, c->bitpix = (int)(8 * pz_dtype_bytes(info->dtype));
  pz_nifti_print_geometry(info, &o);
  /* Channels lie where a time unit would make them time points. */
  c->units = info->has_channels ? o.units & 7 : o.units, c->qform = o.qform, c->sform = o.sform,
  c->pixdim[0] = o.qfac;
  memcpy(c->quaternion, o.quaternion, sizeof o.quaternion);
  memcpy(c->shift, o.offset, sizeof o.offset);
  memcpy(c->affine, o.affine, sizeof o.affine);
  memcpy(c->pixdim + 1, o.pixdim, sizeof o.pixdim);
}

static void to_1(const common *c, nifti_1_header *h) {
  h->sizeof_hdr = PZ_NIFTI1_BYTES;
  for (int i = 0; i < 8; i++) h->dim[i] = (short)c->dim[i], h->pixdim[i] = (float)c->pixdim[i];
  h->vox_offset = PZ_NIFTI1_BYTES + 4;
  h->scl_slope = 1;
  h->datatype = (short)c->datatype, h->bitpix = (short)c->bitpix;
  h->xyzt_units = (char)c->units;
  h->qform_code = (short)c->qform, h->sform_code = (short)c->sform;
  float *q[] = {&h->quatern_b, &h->quatern_c, &h->quatern_d},
        *s[] = {&h->qoffset_x, &h->qoffset_y, &h->qoffset_z};
  float *row[] = {h->srow_x, h->srow_y, h->srow_z};
  for (int i = 0; i < 3; i++) {
    *q[i] = (float)c->quaternion[i], *s[i] = (float)c->shift[i];
    for (int j = 0; j < 4; j++) row[i][j] = (float)c->affine[i][j];
  }
  h->regular = 'r';
  strcpy(h->descrip, "pznet");
  memcpy(h->magic, "n+1", 4);
}

static void to_2(const common *c, nifti_2_header *h) {
  h->sizeof_hdr = PZ_NIFTI2_BYTES;
  memcpy(h->magic, "n+2\0\r\n\032\n", 8);
  for (int i = 0; i < 8; i++) h->dim[i] = c->dim[i], h->pixdim[i] = c->pixdim[i];
  h->vox_offset = PZ_NIFTI2_BYTES + 4;
  h->scl_slope = 1;
  h->datatype = (short)c->datatype, h->bitpix = (short)c->bitpix;
  h->xyzt_units = c->units;
  h->qform_code = c->qform, h->sform_code = c->sform;
  double *q[] = {&h->quatern_b, &h->quatern_c, &h->quatern_d},
         *s[] = {&h->qoffset_x, &h->qoffset_y, &h->qoffset_z};
  double *row[] = {h->srow_x, h->srow_y, h->srow_z};
  for (int i = 0; i < 3; i++) {
    *q[i] = c->quaternion[i], *s[i] = c->shift[i];
    memcpy(row[i], c->affine[i], sizeof c->affine[i]);
  }
  strcpy(h->descrip, "pznet");
}

int pz_nifti_print(const pz_volume_info *info, uint8_t out[PZ_NIFTI_MAX_HEADER]) {
  common c = {0};
  to_common(info, &c);
  bool one = true;
  for (int i = 1; i < 8; i++) one = one && c.dim[i] <= INT16_MAX;
  memset(out, 0, PZ_NIFTI_MAX_HEADER);
  if (one) {
    nifti_1_header h = {0};
    to_1(&c, &h);
    memcpy(out, &h, sizeof h);
    return PZ_NIFTI1_BYTES + 4;
  }
  nifti_2_header h = {0};
  to_2(&c, &h);
  memcpy(out, &h, sizeof h);
  return PZ_NIFTI2_BYTES + 4;
}
