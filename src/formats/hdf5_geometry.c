#include "formats/hdf5_geometry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OBJECTS = 3, MOST_NUMBERS = 16, TEXT = 64 };

/* ------------------------------------------------------------------ attributes */

static bool has(hid_t object, const char *name) { return object >= 0 && H5Aexists(object, name) > 0; }

/* All numbers of an attribute of any type of numbers; 0: it holds none, or too many. Floats of 32 bits mean the shortest decimals. */
static int read_numbers(hid_t object, const char *name, double value[MOST_NUMBERS]) {
  const hid_t a = H5Aopen(object, name, H5P_DEFAULT);
  if (a < 0) return 0;
  const hid_t space = H5Aget_space(a), type = H5Aget_type(a);
  const hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  const H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  int n = 0;
  if (points >= 1 && points <= MOST_NUMBERS && (kind == H5T_INTEGER || kind == H5T_FLOAT) &&
      H5Aread(a, H5T_NATIVE_DOUBLE, value) >= 0)
    n = (int)points;
  for (int i = 0; i < n && kind == H5T_FLOAT && H5Tget_size(type) <= 4; i++)
    value[i] = pz_number_of_float((float)value[i]);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Aclose(a);
  return n;
}

/* A text of fixed length, or several that are equal. Those of variable length lie in a heap that is not known to be sound. */
static bool read_text(hid_t object, const char *name, char text[TEXT]) {
  char all[4 * TEXT] = "";
  const hid_t a = has(object, name) ? H5Aopen(object, name, H5P_DEFAULT) : -1;
  if (a < 0) return false;
  const hid_t space = H5Aget_space(a), type = H5Aget_type(a);
  const hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  const size_t size =
      type < 0 || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ? 0 : H5Tget_size(type);
  bool good = size > 0 && size < TEXT && points >= 1 && points <= 3 && H5Aread(a, type, all) >= 0;
  for (hssize_t i = 1; i < points && good; i++) good = memcmp(all, all + (size_t)i * size, size) == 0;
  if (good) snprintf(text, TEXT, "%.*s", (int)size, all);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Aclose(a);
  return good;
}

/* ------------------------------------------------------------------ reading */

/* A voxel size, one number for all axes or three. */
static bool read_size(hid_t object, const char *name, const char *unit, double size[3], pz_notes *notes) {
  double value[MOST_NUMBERS];
  pz_geometry g = {.known = PZ_KNOWN_NOTHING};
  if (!has(object, name)) return false;
  const int n = read_numbers(object, name, value);
  for (int i = 0; i < 3 && (n == 1 || n == 3); i++) size[i] = value[n == 1 ? 0 : i];
  if ((n == 1 || n == 3) && pz_geometry_set_voxel(&g, PZ_KNOWN_ALL, size, unit)) return true;
  pz_notes_add(notes, "the attribute %s is not read: expected three finite numbers above zero (z, y, x)",
               name);
  return false;
}

static bool alike(const double a[3], const char *a_unit, const double b[3], const char *b_unit) {
  for (int i = 0; i < 3; i++) {
    const double other = pz_unit_convert(b[i], b_unit, a_unit);
    if (fabs(a[i] - other) > 1e-5 * other) return false;
  }
  return true;
}

/* The unit of voxel_size and its offset. */
static void unit_of(hid_t object, char unit[PZ_UNIT_SIZE], pz_notes *notes) {
  static const char *const names[] = {"pznet_unit", "units", "unit"};
  char text[TEXT];
  unit[0] = 0;
  for (int i = 0; i < 3; i++) {
    if (!has(object, names[i])) continue;
    if (read_text(object, names[i], text) && pz_unit_find(text, strlen(text), unit)) return;
    pz_notes_add(
        notes,
        "the attribute %s is not read: expected one short text of fixed length; the voxel size has no unit",
        names[i]);
  }
}

/* The size that one object's attributes say, in the unit in which it is best kept; *offset_unit: what `offset` is in. */
static bool take_size(hid_t object, pz_geometry *g, const char **offset_unit, pz_notes *notes) {
  double nm[3], um[3], any[3];
  char unit[PZ_UNIT_SIZE];
  const bool has_nm = read_size(object, "resolution", "nm", nm, notes),
             has_um = read_size(object, "element_size_um", "um", um, notes);
  if (has_nm && has_um && !alike(nm, "nm", um, "um")) {
    pz_notes_add(
        notes,
        "the attributes resolution (in nm) and element_size_um contradict each other; the voxel size is "
        "taken as unknown");
    return false;
  }
  *offset_unit = has_nm ? "nm" : NULL;
  if (has_nm) return pz_geometry_set_voxel(g, PZ_KNOWN_ALL, nm, "nm");
  if (has_um) return pz_geometry_set_voxel(g, PZ_KNOWN_ALL, um, "um");
  if (has(object, "voxel_size")) unit_of(object, unit, notes);
  if (!read_size(object, "voxel_size", unit, any, notes)) return false;
  *offset_unit = g->unit;
  return pz_geometry_set_voxel(g, PZ_KNOWN_ALL, any, unit);
}

static void take_offset(hid_t object, const char *unit, pz_geometry *g, pz_notes *notes) {
  double value[MOST_NUMBERS];
  if (!has(object, "offset")) return;
  if (!unit)
    pz_notes_add(notes, "the attribute offset is left out: without resolution its unit is not known");
  else if (read_numbers(object, "offset", value) != 3 || !pz_geometry_set_origin(g, value))
    pz_notes_add(notes, "the attribute offset is not read: expected three finite numbers (z, y, x)");
}

static void take_affine(hid_t object, pz_geometry *g, pz_notes *notes) {
  double value[MOST_NUMBERS], code[MOST_NUMBERS], affine[3][4];
  if (!has(object, "affine") || !has(object, "affine_code")) return; /* somebody else's, in who knows what */
  const int n = read_numbers(object, "affine", value), codes = read_numbers(object, "affine_code", code);
  memcpy(affine, value, sizeof affine);
  const bool last = n == 16 && value[12] == 0 && value[13] == 0 && value[14] == 0 && value[15] == 1;
  if (last && codes == 1 &&
      pz_geometry_set_affine(g, affine, code[0] >= 1 && code[0] <= 5 ? (int)code[0] : 1))
    return;
  pz_notes_add(notes, "the attribute affine is not read: expected an invertible 4 x 4 matrix");
}

/* What a tool that cropped and knows one of the two left behind. */
static void hold_together(pz_geometry *g, pz_notes *notes) {
  if (!g->has_affine || !g->has_origin) return;
  bool same = pz_geometry_is_plain(g);
  for (int i = 0; i < 3; i++)
    same = same && fabs(g->affine[2 - i][3] - g->origin[i]) <= 1e-5 * (g->voxel[i] + fabs(g->origin[i]));
  if (same) return;
  pz_notes_add(notes, "the attributes offset and affine contradict each other; both are left out");
  g->has_affine = g->has_origin = false;
}

/* An affine is in the unit that pznet_unit names. */
static void take_all(const hid_t object[OBJECTS], int at, const char *offset_unit, pz_geometry *g,
                     pz_notes *notes) {
  char text[TEXT], unit[PZ_UNIT_SIZE];
  for (int i = 0; i <= at; i++)
    if (has(object[i], "offset")) {
      take_offset(object[i], offset_unit, g, notes);
      break;
    }
  if (read_text(object[at], "pznet_unit", text) && pz_unit_find(text, strlen(text), unit))
    pz_geometry_convert(g, unit);
  take_affine(object[at], g, notes);
  hold_together(g, notes);
}

static bool says_size(hid_t object) {
  return has(object, "resolution") || has(object, "element_size_um") || has(object, "voxel_size");
}

void pz_hdf5_read_geometry(const pz_hdf5_search *search, hid_t data, pz_volume *v) {
  const char *offset_unit = NULL, *last = strrchr(v->dataset, '/');
  const size_t parent = last ? (size_t)(last - v->dataset) : 0;
  const hid_t object[OBJECTS] = {data, pz_hdf5_open_group(search, v->dataset, parent),
                                 parent ? pz_hdf5_open_group(search, "", 0) : -1};
  int at = 0;
  while (at < OBJECTS && !says_size(object[at])) at++;
  if (at < OBJECTS && take_size(object[at], &v->info.geometry, &offset_unit, &v->notes))
    take_all(object, at, offset_unit, &v->info.geometry, &v->notes);
  else if (has(data, "offset"))
    pz_notes_add(&v->notes, "the attribute offset is left out: the voxel size is not known");
  for (int i = 1; i < OBJECTS; i++)
    if (object[i] >= 0) H5Oclose(object[i]);
}

/* ------------------------------------------------------------------ writing */

void pz_hdf5_hold(pz_geometry *g, const pz_volume_info *info, pz_notes *notes) {
  char words[PZ_GEOMETRY_WORDS];
  (void)info;
  g->nifti = (pz_orientation){.known = false};
  if (g->known != PZ_KNOWN_PLANE) return;
  pz_notes_add(notes, "the input says no voxel size along z: its %s are left out of the HDF5 file",
               pz_geometry_words(g, words));
  pz_geometry_forget(g);
}

static bool write_attribute(hid_t data, const char *name, int rank, const hsize_t *size, hid_t type,
                            hid_t memory, const void *value) {
  const hid_t space = rank ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
  const hid_t a = space < 0 ? -1 : H5Acreate2(data, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = a >= 0 && H5Awrite(a, memory, value) >= 0;
  if (a >= 0) H5Aclose(a);
  if (space >= 0) H5Sclose(space);
  return good;
}

static bool write_three(hid_t data, const char *name, const double value[3], const char *from,
                        const char *to) {
  const hsize_t three = 3;
  double converted[3];
  for (int i = 0; i < 3; i++) converted[i] = pz_unit_convert(value[i], from, to);
  return write_attribute(data, name, 1, &three, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, converted);
}

static bool write_text(hid_t data, const char *name, const char *text) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  const bool good = type >= 0 && H5Tset_size(type, strlen(text)) >= 0 &&
                    H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
                    write_attribute(data, name, 0, NULL, type, type, text);
  if (type >= 0) H5Tclose(type);
  return good;
}

static bool write_affine(hid_t data, const pz_geometry *g) {
  const hsize_t four[2] = {4, 4};
  double m[4][4] = {{0}};
  memcpy(m, g->affine, sizeof g->affine);
  m[3][3] = 1;
  return write_attribute(data, "affine", 2, four, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, m) &&
         write_attribute(data, "affine_code", 0, NULL, H5T_STD_I32LE, H5T_NATIVE_INT, &g->affine_code);
}

bool pz_hdf5_write_geometry(hid_t data, const pz_volume_info *info) {
  pz_geometry g = info->geometry;
  pz_hdf5_hold(&g, info, NULL);
  if (!g.known) return true;
  const bool length = pz_unit_is_length(g.unit);
  bool good = length ? write_three(data, "element_size_um", g.voxel, g.unit, "um") &&
                           write_three(data, "resolution", g.voxel, g.unit, "nm")
                     : write_three(data, "voxel_size", g.voxel, "", "");
  if (good && g.has_origin)
    good = write_three(data, "offset", g.origin, length ? g.unit : "", length ? "nm" : "");
  if (good && g.unit[0]) good = write_text(data, "pznet_unit", g.unit);
  return good && (!g.has_affine || write_affine(data, &g));
}
