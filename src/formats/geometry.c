#include "formats/geometry.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Beyond these no instrument measures. In micrometres, so that a size stays between LEAST and MOST in every unit of length, and
 * what is computed with it finite. */
#define LEAST        1e-24
#define MOST         1e24
#define LEAST_LENGTH 1e-15
#define MOST_LENGTH  1e15
#define MOST_PLACE   1e18

/* ------------------------------------------------------------------ numbers */

static locale_t plain_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

bool pz_number_parse(const char *text, double *value) {
  char *end = NULL;
  locale_t plain = plain_locale();
  if (!plain) return false;
  *value = strtod_l(text, &end, plain);
  freelocale(plain);
  return end != text;
}

/* What the fewest digits must keep: the number, the float that it is stored as, or the float that its reciprocal is. */
typedef enum keep { KEEP_DOUBLE, KEEP_FLOAT, KEEP_RECIPROCAL } keep;

static bool kept(double value, double decimal, keep what) {
  if (what == KEEP_DOUBLE) return decimal == value;
  if (what == KEEP_FLOAT) return (float)decimal == (float)value;
  return (float)(1 / decimal) == (float)(1 / value);
}

static void shortest(double value, keep what, char text[PZ_NUMBER_SIZE]) {
  locale_t plain = plain_locale(), old = plain ? uselocale(plain) : (locale_t)0;
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, PZ_NUMBER_SIZE, "%.*g", digits, value);
    if (kept(value, strtod(text, NULL), what)) break;
  }
  if (!plain) return;
  uselocale(old);
  freelocale(plain);
}

void pz_number_print(double value, char text[PZ_NUMBER_SIZE]) { shortest(value, KEEP_DOUBLE, text); }

static double shortest_number(double value, keep what) {
  char text[PZ_NUMBER_SIZE];
  double decimal = value;
  if (!isfinite(value)) return value;
  shortest(value, what, text);
  pz_number_parse(text, &decimal);
  return decimal;
}

double pz_number_of_float(float value) { return shortest_number(value, KEEP_FLOAT); }
double pz_number_of_reciprocal(float value) { return shortest_number(1 / (double)value, KEEP_RECIPROCAL); }

/* value * 10^shift, of the decimal number that `value` is the double of. */
static double shifted(double value, int shift) {
  char text[PZ_NUMBER_SIZE], moved[2 * PZ_NUMBER_SIZE];
  double result = value * pow(10, shift);
  shortest(value, KEEP_DOUBLE, text);
  char *exponent = strchr(text, 'e');
  const int own = exponent ? atoi(exponent + 1) : 0;
  snprintf(moved, sizeof moved, "%.*se%d", (int)(exponent ? exponent - text : (ptrdiff_t)strlen(text)), text,
           own + shift);
  pz_number_parse(moved, &result);
  return result;
}

/* ------------------------------------------------------------------ units */

/* In picometres, so that all are whole numbers. Further names stand between blanks. */
static const struct {
  const char *name;
  double picometres;
  int power; /* of ten, of the metre; 0 where it is none */
  const char *other;
} units[] = {
    {"pm", 1, -12, " picometer picometre "},
    {"angstrom", 100, -10, " \xc3\x85 "},
    {"nm", 1e3, -9, " nanometer nanometre "},
    {"um", 1e6, -6, " micron micrometer micrometre \xc2\xb5m \xc2\xb5 "},
    {"mm", 1e9, -3, " millimeter millimetre "},
    {"cm", 1e10, -2, " centimeter centimetre "},
    {"dm", 1e11, -1, " decimeter decimetre "},
    {"m", 1e12, 0, " meter metre "},
    {"km", 1e15, 3, " kilometer kilometre "},
    {"thou", 25.4e6, 99, " mil "},
    {"inch", 25.4e9, 99, " in inche "}, /* "inches", without its s */
    {"foot", 304.8e9, 99, " ft feet "},
};
enum { UNITS = sizeof units / sizeof *units, NO_POWER = 99 };
static const char pixels[] = " pixel px voxel vx ";

static int unit_index(const char *name) {
  for (int i = 0; i < UNITS; i++)
    if (strcmp(units[i].name, name) == 0) return i;
  return -1;
}

bool pz_unit_is_length(const char *unit) { return unit_index(unit) >= 0; }

double pz_unit_convert(double value, const char *from, const char *to) {
  const int a = unit_index(from), b = unit_index(to);
  if (a < 0 || b < 0 || a == b) return value;
  if (units[a].power != NO_POWER && units[b].power != NO_POWER)
    return shifted(value, units[a].power - units[b].power);
  return units[a].picometres >= units[b].picometres ? value * (units[a].picometres / units[b].picometres)
                                                    : value / (units[b].picometres / units[a].picometres);
}

/* One character of a text that is UTF-8, Latin-1, or escaped as Java does it (\u00B5): its code; *at moves on. */
static unsigned character(const char *text, size_t n, size_t *at) {
  const unsigned char *c = (const unsigned char *)text + *at;
  const size_t left = n - *at;
  unsigned code;
  char digits[5] = "";
  if (left >= 6 && c[0] == '\\' && c[1] == 'u') {
    memcpy(digits, c + 2, 4);
    if (strspn(digits, "0123456789abcdefABCDEF") == 4) {
      *at += 6;
      return (unsigned)strtoul(digits, NULL, 16);
    }
  }
  if (left >= 2 && c[0] >= 0xc2 && c[0] < 0xe0 && (c[1] & 0xc0) == 0x80)
    code = (c[0] & 31u) << 6 | (c[1] & 63u), *at += 2;
  else if (left >= 3 && (c[0] & 0xf0) == 0xe0 && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80)
    code = (c[0] & 15u) << 12 | (c[1] & 63u) << 6 | (c[2] & 63u), *at += 3;
  else code = c[0], *at += 1;
  return code;
}

/* The text in lower case, the signs of micro and Angstrom in one form; false where there is another character that is none of
 * ASCII's, or the text is too long. */
static bool simplified(const char *text, size_t n, char out[PZ_UNIT_SIZE + 4]) {
  size_t used = 0;
  for (size_t at = 0; at < n;) {
    const unsigned code = character(text, n, &at);
    const char *sign = code == 0xb5 || code == 0x3bc    ? "\xc2\xb5"
                       : code == 0xc5 || code == 0x212b ? "\xc3\x85"
                                                        : NULL;
    if (!sign && (code < 32 || code > 126)) return false;
    if (used + 2 >= PZ_UNIT_SIZE) return false;
    if (sign) out[used++] = sign[0], out[used++] = sign[1];
    else out[used++] = (char)tolower((int)code);
  }
  out[used] = 0;
  return true;
}

static bool among(const char *names, const char *word) {
  char blanked[PZ_UNIT_SIZE + 8];
  snprintf(blanked, sizeof blanked, " %s ", word);
  return strstr(names, blanked) != NULL;
}

static bool known_word(const char *word, char unit[PZ_UNIT_SIZE]) {
  for (int i = 0; i < UNITS; i++)
    if (strcmp(units[i].name, word) == 0 || among(units[i].other, word))
      return snprintf(unit, PZ_UNIT_SIZE, "%s", units[i].name), true;
  return among(pixels, word);
}

/* What may stand in a line of ImageJ's description and be printed. */
static bool harmless(const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (!(c < 128 && (isalnum(c) || strchr(" ._-/^*()%", c)))) return false;
  }
  return n < PZ_UNIT_SIZE;
}

bool pz_unit_find(const char *text, size_t n, char unit[PZ_UNIT_SIZE]) {
  char word[PZ_UNIT_SIZE + 4];
  unit[0] = 0;
  while (n > 0 && isspace((unsigned char)*text)) text++, n--;
  while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
  if (n == 0) return true;
  if (memchr(text, 0, n)) return false;
  if (simplified(text, n, word)) {
    if (known_word(word, unit)) return true;
    const size_t length = strlen(word);
    if (length > 2 && word[length - 1] == 's') {
      word[length - 1] = 0;
      if (known_word(word, unit)) return true;
    }
  }
  if (!harmless(text, n)) return false;
  snprintf(unit, PZ_UNIT_SIZE, "%.*s", (int)n, text);
  return true;
}

/* ------------------------------------------------------------------ geometry */

static bool sound_size(double v, const char *unit) {
  if (!(isfinite(v) && v >= LEAST && v <= MOST)) return false;
  const double um = pz_unit_convert(v, unit, "um");
  return !pz_unit_is_length(unit) || (um >= LEAST_LENGTH && um <= MOST_LENGTH);
}

static bool sound_place(double v, const char *unit) {
  if (!(isfinite(v) && fabs(v) <= MOST)) return false;
  return !pz_unit_is_length(unit) || fabs(pz_unit_convert(v, unit, "um")) <= MOST_PLACE;
}

void pz_geometry_forget(pz_geometry *g) {
  const pz_orientation nifti = g->nifti;
  *g = (pz_geometry){.nifti = nifti};
}

bool pz_geometry_set_voxel(pz_geometry *g, pz_known known, const double size[3], const char *unit) {
  bool sound = known != PZ_KNOWN_NOTHING;
  pz_geometry_forget(g);
  for (int i = known == PZ_KNOWN_PLANE; i < 3; i++) sound = sound && sound_size(size[i], unit);
  if (!sound) return false;
  for (int i = known == PZ_KNOWN_PLANE; i < 3; i++) g->voxel[i] = size[i];
  snprintf(g->unit, sizeof g->unit, "%s", unit);
  g->known = known;
  return true;
}

bool pz_geometry_set_origin(pz_geometry *g, const double origin[3]) {
  g->has_origin = g->known == PZ_KNOWN_ALL;
  for (int i = 0; i < 3; i++) g->has_origin = g->has_origin && sound_place(origin[i], g->unit);
  for (int i = 0; i < 3; i++) g->origin[i] = g->has_origin ? origin[i] + 0.0 : 0;
  return g->has_origin;
}

/* Columns of length 1, so that the determinant says how flat the axes lie and not how large voxels are. */
static bool invertible(const double m[3][4], const char *unit) {
  double c[3][3];
  for (int j = 0; j < 3; j++) {
    const double length = sqrt(m[0][j] * m[0][j] + m[1][j] * m[1][j] + m[2][j] * m[2][j]);
    if (!sound_size(length, unit)) return false;
    for (int i = 0; i < 3; i++) c[i][j] = m[i][j] / length;
  }
  const double det = c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) -
                     c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0]) +
                     c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
  return fabs(det) > 1e-6;
}

bool pz_geometry_set_affine(pz_geometry *g, const double affine[3][4], int code) {
  bool sound = g->known == PZ_KNOWN_ALL;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++) sound = sound && sound_place(affine[i][j], g->unit);
  g->has_affine = sound && invertible(affine, g->unit);
  if (!g->has_affine) return false;
  memcpy(g->affine, affine, sizeof g->affine);
  g->affine_code = code >= 1 && code <= 5 ? code : 1;
  return true;
}

void pz_geometry_convert(pz_geometry *g, const char *unit) {
  if (!pz_unit_is_length(g->unit) || !pz_unit_is_length(unit) || strcmp(unit, g->unit) == 0) return;
  for (int i = 0; i < 3; i++) {
    g->voxel[i] = pz_unit_convert(g->voxel[i], g->unit, unit);
    g->origin[i] = pz_unit_convert(g->origin[i], g->unit, unit);
    for (int j = 0; j < 4; j++) g->affine[i][j] = pz_unit_convert(g->affine[i][j], g->unit, unit);
  }
  snprintf(g->unit, sizeof g->unit, "%s", unit);
}

/* NIfTI's floats are good to 6e-8 of the number, and its quaternions to some more. */
bool pz_geometry_is_plain(const pz_geometry *g) {
  bool same = true;
  for (int i = 0; i < 3 && g->has_affine; i++)
    for (int j = 0; j < 3; j++) {
      const double want = i == j ? g->voxel[2 - j] : 0;
      same = same && fabs(g->affine[i][j] - want) <= 1e-5 * g->voxel[2 - j];
    }
  return same;
}

/* NIfTI's own words. Its axes are x, y, z; qfac is the sign of its third (NIfTI-1, method 2). */
static void crop_nifti(pz_orientation *o, const int64_t by[3]) {
  const double b = o->quaternion[0], c = o->quaternion[1], d = o->quaternion[2];
  const double a = sqrt(fmax(0, 1 - b * b - c * c - d * d));
  const double rotation[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                                 {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                                 {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const double voxels = (double)by[2 - j], sign = j == 2 && o->qfac < 0 ? -1 : 1;
      o->affine[i][3] += o->affine[i][j] * voxels;
      o->offset[i] += rotation[i][j] * o->pixdim[j] * sign * voxels;
    }
}

void pz_geometry_crop(pz_geometry *g, const int64_t by[3]) {
  double origin[3], affine[3][4];
  if (!by[0] && !by[1] && !by[2]) return;
  if (g->nifti.known) crop_nifti(&g->nifti, by);
  if (g->known != PZ_KNOWN_ALL) return;
  memcpy(affine, g->affine, sizeof affine);
  for (int i = 0; i < 3; i++) {
    origin[i] = g->origin[i] + (double)by[i] * g->voxel[i];
    for (int j = 0; j < 3; j++) affine[i][3] += affine[i][j] * (double)by[2 - j];
  }
  /* An affine whose axes are others has no origin along the file's. */
  if (g->has_origin || !g->has_affine) pz_geometry_set_origin(g, origin);
  if (g->has_affine) pz_geometry_set_affine(g, affine, g->affine_code);
}

const char *pz_geometry_words(const pz_geometry *g, char text[PZ_GEOMETRY_WORDS]) {
  char size[3][PZ_NUMBER_SIZE];
  for (int i = 0; i < 3; i++) pz_number_print(g->voxel[i], size[i]);
  const char *unit = g->unit[0] ? g->unit : "pixels";
  if (g->known == PZ_KNOWN_PLANE) snprintf(text, PZ_GEOMETRY_WORDS, "%s x %s %s", size[1], size[2], unit);
  else snprintf(text, PZ_GEOMETRY_WORDS, "%s x %s x %s %s", size[0], size[1], size[2], unit);
  return text;
}
