#include "formats/tiff_geometry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a rational of two numbers of 32 bits holds as well as a float does: libtiff keeps resolutions as floats. */
#define LEAST_RESOLUTION 1e-9
#define MOST_RESOLUTION  4e9

/* ------------------------------------------------------------------ reading */

typedef struct resolution {
  bool known;
  double size[3]; /* 1 / resolution: 0, y, x */
  float per[2];   /* y, x, as stored */
  int unit;       /* RESUNIT_... */
} resolution;

static resolution resolution_of(TIFF *file) {
  resolution r = {.unit = RESUNIT_INCH};
  uint16_t unit = RESUNIT_INCH;
  r.known = TIFFGetField(file, TIFFTAG_YRESOLUTION, &r.per[0]) == 1 &&
            TIFFGetField(file, TIFFTAG_XRESOLUTION, &r.per[1]) == 1;
  if (TIFFGetField(file, TIFFTAG_RESOLUTIONUNIT, &unit) == 1) r.unit = unit;
  for (int i = 0; i < 2; i++) {
    r.known = r.known && isfinite(r.per[i]) && r.per[i] > 0;
    if (r.known) r.size[1 + i] = pz_number_of_reciprocal(r.per[i]);
  }
  return r;
}

/* The value of a line "key=value", and its length; NULL where there is none. */
static const char *value_of(const char *text, const char *key, size_t *length) {
  const size_t n = strlen(key);
  for (const char *at = text; at; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, key, n) != 0 || at[n] != '=') continue;
    *length = strcspn(at + n + 1, "\r\n");
    return at + n + 1;
  }
  return NULL;
}

static bool number_of(const char *text, const char *key, double *value) {
  size_t length;
  const char *at = value_of(text, key, &length);
  return at && length > 0 && pz_number_parse(at, value);
}

/* The unit of a line; `instead` where there is no such line. False: it is no text that could be a unit. */
static bool unit_of(const char *text, const char *key, const char *instead, char unit[PZ_UNIT_SIZE]) {
  size_t length;
  const char *at = value_of(text, key, &length);
  if (at) return pz_unit_find(at, length, unit);
  snprintf(unit, PZ_UNIT_SIZE, "%s", instead);
  return true;
}

/* A page's resolution in a file that says nothing else. What programs write that know none is not taken. */
static void take_page(const resolution *r, pz_geometry *g) {
  static const float screens_and_printers[] = {72, 96, 100, 150, 200, 300, 600, 1200};
  const char *unit = r->unit == RESUNIT_CENTIMETER ? "cm" : r->unit == RESUNIT_INCH ? "inch" : "";
  if (!r->known || (r->unit == RESUNIT_NONE && r->per[0] == 1 && r->per[1] == 1)) return;
  for (size_t i = 0; i < sizeof screens_and_printers / sizeof(float); i++)
    if (r->unit == RESUNIT_INCH && r->per[0] == r->per[1] && r->per[0] == screens_and_printers[i]) return;
  pz_geometry_set_voxel(g, PZ_KNOWN_PLANE, r->size, unit);
}

/* The distance of planes, in the unit of x; false where the file does not say it. What tifffile writes, as version 1.11a, has
 * no line where its user gave no distance; ImageJ's own files have none where it is 1. */
static bool spacing_of(const char *text, int64_t pages, const char *unit, double *spacing, pz_notes *notes) {
  char own[PZ_UNIT_SIZE];
  double images; /* of ImageJ's own kind of file above 4 GB, which has one page */
  if (number_of(text, "images", &images) && images > 1) pages = 2;
  if (!number_of(text, "spacing", spacing)) *spacing = 0;
  if (isnan(*spacing) || isinf(*spacing)) {
    pz_notes_add(notes, "ImageJ's spacing is %g; the voxel size along z is taken as unknown", *spacing);
    return false;
  }
  *spacing = fabs(*spacing);
  if (*spacing == 0 && (pages < 2 || strncmp(text, "ImageJ=1.11a\n", 13) == 0)) return false;
  if (*spacing == 0) *spacing = 1;
  if (!unit_of(text, "zunit", unit, own)) return false;
  if (strcmp(own, unit) == 0) return true;
  if (pz_unit_is_length(own) && pz_unit_is_length(unit)) {
    *spacing = pz_unit_convert(*spacing, own, unit);
    return true;
  }
  pz_notes_add(notes, "ImageJ's zunit is another one than unit; the voxel size along z is taken as unknown");
  return false;
}

static bool same_unit_along_y(const char *text, const char *unit, double *y) {
  char own[PZ_UNIT_SIZE];
  if (!unit_of(text, "yunit", unit, own)) return false;
  if (strcmp(own, unit) != 0 && !(pz_unit_is_length(own) && pz_unit_is_length(unit))) return false;
  *y = pz_unit_convert(*y, own, unit);
  return true;
}

static void take_origin(const char *text, pz_geometry *g, pz_notes *notes) {
  static const char *const keys[] = {"zorigin", "yorigin", "xorigin"};
  double origin[3] = {0, 0, 0};
  bool any = false;
  for (int i = 0; i < 3; i++) {
    double pixels;
    if (!number_of(text, keys[i], &pixels)) continue;
    origin[i] = 0 - pixels * g->voxel[i];
    any = true;
  }
  if (any && g->known == PZ_KNOWN_ALL && !pz_geometry_set_origin(g, origin))
    pz_notes_add(notes, "ImageJ's xorigin, yorigin or zorigin is no number of use; the origin is left out");
}

/* Without a unit's line, ImageJ counts in pixels, but a page's own unit says that sizes are in that: then nothing says what
 * the distance of planes is in. */
static void take_imagej(const char *text, int64_t pages, const resolution *r, pz_geometry *g,
                        pz_notes *notes) {
  char unit[PZ_UNIT_SIZE] = "";
  size_t length;
  double size[3], spacing;
  const bool has_spacing = number_of(text, "spacing", &spacing);
  const char *word = value_of(text, "unit", &length);
  if (!r->known) {
    if (has_spacing || word)
      pz_notes_add(notes, "the TIFF says no size along x and y; the one along z is left out");
    return;
  }
  if (!word && (r->unit != RESUNIT_NONE || !has_spacing)) {
    if (has_spacing && r->unit != RESUNIT_NONE)
      pz_notes_add(notes, "ImageJ's spacing has no unit while the pages' resolution has one; it is left out");
    take_page(r, g);
    return;
  }
  if (!unit_of(text, "unit", "", unit))
    pz_notes_add(notes, "ImageJ's unit is no text of use; the voxel size is taken without one");
  memcpy(size, r->size, sizeof size);
  /* The one pair that ImageJ knows: pixels in a centimetre, of which it speaks in micrometres. */
  const bool convert = word && length == 2 && strncmp(word, "um", 2) == 0 && r->unit == RESUNIT_CENTIMETER;
  for (int i = 1; i < 3 && convert; i++) size[i] = pz_unit_convert(size[i], "cm", "um");
  if (!same_unit_along_y(text, unit, &size[1])) {
    pz_notes_add(notes, "ImageJ's yunit is another one than unit; the voxel size is taken as unknown");
    return;
  }
  const bool all = spacing_of(text, pages, unit, &size[0], notes);
  if (!pz_geometry_set_voxel(g, all ? PZ_KNOWN_ALL : PZ_KNOWN_PLANE, size, unit)) {
    pz_notes_add(notes, "the TIFF's voxel size of %g x %g x %g is taken as unknown", size[0], size[1],
                 size[2]);
    return;
  }
  take_origin(text, g, notes);
}

/* The size along an axis in the unit of x; false where it is not said, or in a unit that is no length. */
static bool ome_size(const pz_ome *ome, int axis, const char *x_unit, double *size) {
  char own[PZ_UNIT_SIZE];
  if (!(ome->physical[axis] > 0) || !pz_unit_find(ome->unit[axis], strlen(ome->unit[axis]), own))
    return false;
  *size = pz_unit_convert(ome->physical[axis], own, x_unit);
  return strcmp(own, x_unit) == 0 || (pz_unit_is_length(own) && pz_unit_is_length(x_unit));
}

/* False where it says nothing. "reference frame" is what OME calls a unit that is not known. */
static bool take_ome(const pz_ome *ome, pz_geometry *g, pz_notes *notes) {
  const double *physical = ome->physical;
  char unit[PZ_UNIT_SIZE];
  double size[3] = {0, 0, 0};
  if (!(physical[0] > 0) && !(physical[1] > 0) && !(physical[2] > 0)) return false;
  pz_unit_find(ome->unit[2], strlen(ome->unit[2]), unit);
  bool good = ome_size(ome, 2, unit, &size[2]) && ome_size(ome, 1, unit, &size[1]);
  const bool all = good && ome_size(ome, 0, unit, &size[0]);
  if (strcmp(unit, "reference frame") == 0) unit[0] = 0;
  good = good && pz_geometry_set_voxel(g, all ? PZ_KNOWN_ALL : PZ_KNOWN_PLANE, size, unit);
  if (!good || (!all && physical[0] > 0))
    pz_notes_add(
        notes,
        "OME's PhysicalSizeX, Y and Z of %g, %g and %g are not taken all: expected numbers above zero, "
        "in units of length",
        physical[2], physical[1], physical[0]);
  return true;
}

void pz_tiff_read_geometry(TIFF *file, int64_t pages, const pz_ome *ome, pz_volume *v) {
  const resolution r = resolution_of(file);
  const char *text = NULL;
  const bool imagej =
      TIFFGetField(file, TIFFTAG_IMAGEDESCRIPTION, &text) == 1 && text && strncmp(text, "ImageJ=", 7) == 0;
  if (ome && take_ome(ome, &v->info.geometry, &v->notes)) return;
  if (imagej) take_imagej(text, pages, &r, &v->info.geometry, &v->notes);
  else take_page(&r, &v->info.geometry);
}

/* ------------------------------------------------------------------ writing */

static bool holdable(const pz_geometry *g) {
  for (int i = 1; i < 3; i++)
    if (!(1 / g->voxel[i] >= LEAST_RESOLUTION && 1 / g->voxel[i] <= MOST_RESOLUTION)) return false;
  return true;
}

/* To a unit in which the resolution fits. */
static bool fit_resolution(pz_geometry *g) {
  static const char *const others[] = {"um", "nm", "mm", "m", "pm", "km"};
  if (holdable(g)) return true;
  if (!pz_unit_is_length(g->unit)) return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    pz_geometry_convert(g, others[i]);
    if (holdable(g)) return true;
  }
  return false;
}

/* Of a stack, ImageJ would take planes without a distance for 1 unit apart: the page alone says it, which has two units. One
 * page has no such distance. */
static void hold_plane(pz_geometry *g, const pz_volume_info *info, pz_notes *notes) {
  if (info->shape[0] == 1 || strcmp(g->unit, "inch") == 0 || !g->unit[0]) return;
  if (pz_unit_is_length(g->unit)) pz_geometry_convert(g, "cm");
  else {
    pz_notes_add(notes, "a page's resolution has no unit \"%s\": it is written without one", g->unit);
    g->unit[0] = 0;
  }
}

void pz_tiff_hold(pz_geometry *g, const pz_volume_info *info, pz_notes *notes) {
  char words[PZ_GEOMETRY_WORDS];
  g->nifti = (pz_orientation){.known = false};
  if (g->has_affine) {
    if (!pz_geometry_is_plain(g))
      pz_notes_add(notes, "TIFF holds no directions of axes: the affine, with the origin, is left out");
    g->has_affine = false;
  }
  if (!g->known) return;
  if (g->known == PZ_KNOWN_PLANE) hold_plane(g, info, notes);
  if (fit_resolution(g)) return;
  pz_notes_add(notes, "a TIFF's resolution cannot hold a voxel size of %s: it is left out",
               pz_geometry_words(g, words));
  pz_geometry_forget(g);
}

/* Whether the description names the unit. */
static bool named(const pz_geometry *g, const pz_volume_info *info) {
  return g->known == PZ_KNOWN_ALL || (g->known == PZ_KNOWN_PLANE && info->shape[0] == 1);
}

void pz_tiff_set_resolution(TIFF *file, const pz_geometry *g, const pz_volume_info *info) {
  if (!g->known) return;
  const int unit = named(g, info)                 ? RESUNIT_NONE
                   : strcmp(g->unit, "cm") == 0   ? RESUNIT_CENTIMETER
                   : strcmp(g->unit, "inch") == 0 ? RESUNIT_INCH
                                                  : RESUNIT_NONE;
  TIFFSetField(file, TIFFTAG_RESOLUTIONUNIT, unit);
  TIFFSetField(file, TIFFTAG_YRESOLUTION, 1 / g->voxel[1]);
  TIFFSetField(file, TIFFTAG_XRESOLUTION, 1 / g->voxel[2]);
}

void pz_tiff_print_geometry(const pz_geometry *g, const pz_volume_info *info, char *text, size_t size) {
  static const char *const keys[] = {"zorigin", "yorigin", "xorigin"};
  char number[PZ_NUMBER_SIZE];
  int n = 0;
  *text = 0;
  if (!named(g, info)) return;
  n += snprintf(text, size, "unit=%s\n", g->unit[0] ? g->unit : "pixel");
  if (g->known != PZ_KNOWN_ALL) return;
  pz_number_print(g->voxel[0], number);
  n += snprintf(text + n, size - (size_t)n, "spacing=%s\n", number);
  for (int i = 2; i >= 0 && g->has_origin; i--) {
    pz_number_print(0 - g->origin[i] / g->voxel[i], number);
    n += snprintf(text + n, size - (size_t)n, "%s=%s\n", keys[i], number);
  }
}
