#include "formats/nifti_geometry.h"

#include <math.h>
#include <nifti/nifti1.h>
#include <string.h>

static bool all_finite(const double *v, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(v[i])) return false;
  return true;
}

static bool finite_rows(const double m[3][4]) {
  return all_finite(m[0], 4) && all_finite(m[1], 4) && all_finite(m[2], 4);
}

/* ------------------------------------------------------------------ reading */

/* Method 2 of NIfTI-1. */
static void affine_of_quaternion(const pz_orientation *o, double m[3][4]) {
  const double b = o->quaternion[0], c = o->quaternion[1], d = o->quaternion[2];
  const double a = sqrt(fmax(0, 1 - b * b - c * c - d * d));
  const double rotation[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                                 {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                                 {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) m[i][j] = rotation[i][j] * o->pixdim[j] * (j == 2 && o->qfac < 0 ? -1 : 1);
    m[i][3] = o->offset[i];
  }
}

/* Whether this transform could be used, with voxels of any size. */
static bool sound(const double affine[3][4]) {
  static const double one[3] = {1, 1, 1};
  pz_geometry g = {.known = PZ_KNOWN_NOTHING};
  return pz_geometry_set_voxel(&g, PZ_KNOWN_ALL, one, "") && pz_geometry_set_affine(&g, affine, 1);
}

static bool sound_quaternion(const pz_orientation *o) {
  const double *q = o->quaternion;
  double m[3][4];
  if (!all_finite(q, 3) || !all_finite(o->pixdim, 3) || q[0] * q[0] + q[1] * q[1] + q[2] * q[2] > 1 + 1e-3)
    return false;
  for (int i = 0; i < 3; i++)
    if (!(o->pixdim[i] > 0)) return false;
  affine_of_quaternion(o, m);
  return sound(m);
}

static void check_qform(pz_orientation *o, pz_notes *notes) {
  const bool used = o->qform > 0, good = used && sound_quaternion(o);
  if (!isfinite(o->qfac)) o->qfac = 1;
  if (good || (!used && all_finite(o->quaternion, 3) && all_finite(o->offset, 3))) return;
  if (used) pz_notes_add(notes, "the NIfTI file's qform is no rotation of voxels; it is left out");
  o->qform = 0;
  memset(o->quaternion, 0, sizeof o->quaternion);
  memset(o->offset, 0, sizeof o->offset);
}

static void check_sform(pz_orientation *o, pz_notes *notes) {
  const bool used = o->sform > 0, good = used && sound(o->affine);
  if (good || (!used && finite_rows(o->affine))) return;
  if (used) pz_notes_add(notes, "the NIfTI file's sform is singular or not finite; it is left out");
  o->sform = 0;
  memset(o->affine, 0, sizeof o->affine);
}

/* Sizes below zero are read as their amounts, as nibabel does. One page needs none along z. */
static pz_known sizes(pz_orientation *o, bool floats, const char *unit, const pz_volume_info *info,
                      double voxel[3], pz_notes *notes) {
  pz_geometry g = {.known = PZ_KNOWN_NOTHING};
  pz_known known = PZ_KNOWN_ALL;
  for (int i = 0; i < 3; i++) {
    const double size = fabs(o->pixdim[i]);
    const double same[3] = {size, size, size};
    voxel[2 - i] = floats ? pz_number_of_float((float)size) : size;
    if (pz_geometry_set_voxel(&g, PZ_KNOWN_ALL, same, unit)) continue;
    if (i < 2 || info->shape[0] > 1)
      pz_notes_add(notes, "the NIfTI file's pixdim[%d] is %g; the voxel size is taken as unknown", i + 1,
                   o->pixdim[i]);
    known = i == 2 && info->shape[0] == 1 && known ? PZ_KNOWN_PLANE : PZ_KNOWN_NOTHING;
    o->pixdim[i] = 1;
  }
  return known;
}

/* Tools that know no size write ones. */
static bool says_nothing(const pz_orientation *o, const char *unit) {
  return !unit[0] && o->qform <= 0 && o->sform <= 0 && fabs(o->pixdim[0]) == 1 && fabs(o->pixdim[1]) == 1 &&
         fabs(o->pixdim[2]) == 1;
}

static void take_affine(const pz_orientation *o, bool floats, pz_geometry *g, pz_notes *notes) {
  double m[3][4];
  if (o->sform > 0) memcpy(m, o->affine, sizeof m);
  else affine_of_quaternion(o, m);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4 && floats; j++) m[i][j] = pz_number_of_float((float)m[i][j]);
  if (!pz_geometry_set_affine(g, m, o->sform > 0 ? o->sform : o->qform)) return;
  const double origin[3] = {m[2][3], m[1][3], m[0][3]};
  if (pz_geometry_is_plain(g)) pz_geometry_set_origin(g, origin);
  for (int j = 0; j < 3; j++) {
    const double length = sqrt(m[0][j] * m[0][j] + m[1][j] * m[1][j] + m[2][j] * m[2][j]);
    if (fabs(length - g->voxel[2 - j]) > 0.01 * g->voxel[2 - j])
      pz_notes_add(notes,
                   "the NIfTI file's sform has voxels of %g along %c, its pixdim of %g; pixdim is taken",
                   length, "xyz"[j], g -> voxel[2 - j]);
  }
}

void pz_nifti_read_geometry(const pz_orientation *words, bool floats, pz_volume_info *info, pz_notes *notes) {
  static const char *const names[8] = {"", "m", "mm", "um", "", "", "", ""};
  pz_geometry *g = &info->geometry;
  pz_orientation o = *words;
  double voxel[3];
  const char *unit = names[o.units & 7];
  check_qform(&o, notes);
  check_sform(&o, notes);
  const pz_known known = sizes(&o, floats, unit, info, voxel, notes);
  o.known = true;
  g->nifti = o;
  if (says_nothing(&o, unit)) return;
  pz_geometry_set_voxel(g, known, voxel, unit);
  if (g->known == PZ_KNOWN_ALL && (o.sform > 0 || o.qform > 0)) take_affine(&o, floats, g, notes);
}

/* ------------------------------------------------------------------ writing */

void pz_nifti_hold(pz_geometry *g, const pz_volume_info *info, pz_notes *notes) {
  char words[PZ_GEOMETRY_WORDS];
  (void)info;
  if (g->nifti.known) return;
  if (g->known == PZ_KNOWN_PLANE) {
    pz_notes_add(notes, "the input says no voxel size along z: its %s are left out of the NIfTI file",
                 pz_geometry_words(g, words));
    pz_geometry_forget(g);
  }
  if (strcmp(g->unit, "m") == 0 || strcmp(g->unit, "mm") == 0 || strcmp(g->unit, "um") == 0) return;
  const bool small =
      strcmp(g->unit, "nm") == 0 || strcmp(g->unit, "angstrom") == 0 || strcmp(g->unit, "pm") == 0;
  if (pz_unit_is_length(g->unit)) pz_geometry_convert(g, small ? "um" : "mm");
  else if (g->unit[0]) {
    pz_notes_add(notes, "NIfTI has no unit \"%s\": the voxel size is written without one", g->unit);
    g->unit[0] = 0;
  }
}

/* Axes of the file are said to be the world's x, y and z. */
static void print_plain(const pz_geometry *g, pz_orientation *o) {
  o->qform = o->sform = g->has_affine ? g->affine_code : NIFTI_XFORM_SCANNER_ANAT;
  for (int i = 0; i < 3; i++) {
    o->affine[i][i] = g->voxel[2 - i];
    o->affine[i][3] = o->offset[i] = g->origin[2 - i];
  }
}

void pz_nifti_print_geometry(const pz_volume_info *info, pz_orientation *o) {
  pz_geometry g = info->geometry;
  *o = g.nifti;
  if (o->known) return;
  pz_nifti_hold(&g, info, NULL);
  *o = (pz_orientation){.qfac = 1, .pixdim = {1, 1, 1}};
  if (g.known != PZ_KNOWN_ALL) return;
  o->units = strcmp(g.unit, "um") == 0   ? NIFTI_UNITS_MICRON
             : strcmp(g.unit, "mm") == 0 ? NIFTI_UNITS_MM
             : strcmp(g.unit, "m") == 0  ? NIFTI_UNITS_METER
                                         : NIFTI_UNITS_UNKNOWN;
  for (int i = 0; i < 3; i++) o->pixdim[i] = g.voxel[2 - i];
  if (g.has_origin) print_plain(&g, o);
  else if (g.has_affine) {
    o->sform = g.affine_code;
    memcpy(o->affine, g.affine, sizeof o->affine);
  }
}
