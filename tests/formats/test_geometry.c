/* Voxel size, unit, origin and affine, from every format to every format. */
#include "files.h"

#include <hdf5.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

/* ------------------------------------------------------------------ numbers and units */

static void numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0.1, "0.1"}, {1.0 / 3, "0.3333333333333333"}, {40, "4e+01"}, {1520, "1.52e+03"}, {0, "0"}};
  char text[PZ_NUMBER_SIZE];
  double value;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_number_print(cases[i].value, text);
    assert_true(pz_number_parse(text, &value) && value == cases[i].value);
    if (i < 2) assert_string_equal(text, cases[i].text);
  }
  assert_true(pz_number_of_float(0.1f) == 0.1 && pz_number_of_float(-0.23f) == -0.23);
  assert_true(isnan(pz_number_of_float(NAN)));
  assert_true(pz_number_of_reciprocal((float)(1 / 0.23)) == 0.23);
  assert_false(pz_number_parse("micron", &value));
}

/* A host may have set a locale whose numbers have a comma. */
static void other_locale(void **state) {
  (void)state;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) skip();
  char text[PZ_NUMBER_SIZE];
  double value;
  pz_number_print(0.25, text);
  assert_string_equal(text, "0.25");
  assert_true(pz_number_parse("0.25", &value) && value == 0.25);
  assert_true(pz_unit_convert(0.25, "um", "nm") == 250);
  setlocale(LC_NUMERIC, "C");
}

/* Decimals keep their decimals, whatever the units' powers of ten. */
static void conversions(void **state) {
  (void)state;
  static const char *const units[] = {"pm", "angstrom", "nm", "um", "mm", "cm", "dm", "m", "km"};
  static const int power[] = {-12, -10, -9, -6, -3, -2, -1, 0, 3};
  uint64_t seed = 5;
  for (int i = 0; i < 2000; i++) {
    const long digits = (long)fx_between(&seed, 1, 999999999);
    const int a = (int)fx_between(&seed, 0, 8), b = (int)fx_between(&seed, 0, 8);
    const int e = (int)fx_between(&seed, -9, 3);
    char text[2][64];
    snprintf(text[0], 64, "%lde%d", digits, e);
    snprintf(text[1], 64, "%lde%d", digits, e + power[a] - power[b]);
    const double from = strtod(text[0], NULL), to = strtod(text[1], NULL);
    assert_true(pz_unit_convert(from, units[a], units[b]) == to);
    assert_true(pz_unit_convert(to, units[b], units[a]) == from);
  }
  assert_true(pz_unit_convert(2, "inch", "um") == 50800 && pz_unit_convert(50800, "um", "inch") == 2);
  assert_true(pz_unit_convert(1, "thou", "um") == 25.4 && pz_unit_convert(1, "foot", "inch") == 12);
}

static void unit_names(void **state) {
  (void)state;
  static const struct {
    const char *text, *unit;
    bool good;
  } cases[] = {
      {"um", "um", true},
      {"Micron", "um", true},
      {"microns", "um", true},
      {"MICROMETER", "um", true},
      {"micrometres", "um", true},
      {"\xc2\xb5m", "um", true}, /* UTF-8, the sign of micro */
      {"\xce\xbcm", "um", true}, /* UTF-8, the Greek letter */
      {"\xb5m", "um", true},     /* Latin-1 */
      {"\\u00B5m", "um", true},  /* Java, as ImageJ writes it */
      {"\\u03bcm", "um", true},  /* the same in lower case */
      {" nm ", "nm", true},
      {"nanometers", "nm", true},
      {"mm", "mm", true},
      {"cm", "cm", true},
      {"m", "m", true},
      {"meter", "m", true},
      {"pm", "pm", true},
      {"inch", "inch", true},
      {"inches", "inch", true},
      {"in", "inch", true},
      {"feet", "foot", true},
      {"Angstrom", "angstrom", true},
      {"\\u00C5", "angstrom", true},
      {"\xe2\x84\xab", "angstrom", true},
      {"pixel", "", true},
      {"Pixels", "", true},
      {"px", "", true},
      {"voxels", "", true},
      {"", "", true},
      {"  ", "", true},
      {"furlong", "furlong", true}, /* another word is kept as it is */
      {"Light years", "Light years", true},
      {"a\x1b[31m", "", false},
      {"a\nspacing=3", "", false},
      {"\"quoted\"", "", false},
      {"a=b", "", false},
      {"\xff\xfe", "", false},
      {"a word that is longer than any unit has", "", false},
  };
  char unit[PZ_UNIT_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const bool good = pz_unit_find(cases[i].text, strlen(cases[i].text), unit);
    if (good != cases[i].good || strcmp(unit, cases[i].unit) != 0)
      fail_msg("\"%s\" is \"%s\"", cases[i].text, unit);
  }
  assert_false(pz_unit_find("a\0b", 3, unit));
}

/* ------------------------------------------------------------------ files */

static pz_geometry geometry(pz_known known, const double size[3], const char *unit, const double origin[3]) {
  pz_geometry g = {.known = PZ_KNOWN_NOTHING};
  assert_true(pz_geometry_set_voxel(&g, known, size, unit));
  if (origin) assert_true(pz_geometry_set_origin(&g, origin));
  return g;
}

/* What a file says, and the notes of the one who reads it. */
static pz_geometry look(const char *path, char notes[2000]) {
  pz_error err = {0};
  pz_volume *v;
  if (pz_volume_open(path, &v, &err) != PZ_OK) fail_msg("%s", err.message);
  const pz_geometry g = v->info.geometry;
  if (notes) notes[0] = 0;
  for (int i = 0; notes && i < v->notes.n; i++)
    snprintf(notes + strlen(notes), 2000 - strlen(notes), "%s\n", v->notes.text[i]);
  pz_volume_close(v);
  return g;
}

/* Writes the volume, less `crop` voxels at both ends of each axis, with what the other format can say of it. Returns all that was told,
 * for the caller to free. */
static char *hand_on(const char *input, const char *output, const int64_t crop[3]) {
  pz_error err = {0};
  pz_volume *v;
  pz_volume_path to;
  if (pz_volume_open(input, &v, &err) != PZ_OK) fail_msg("%s", err.message);
  pz_volume_info info = v->info;
  pz_box box;
  for (int i = 0; i < 3; i++)
    box.start[i] = crop[i], info.shape[i] = box.size[i] = info.shape[i] - 2 * crop[i];
  pz_geometry_crop(&info.geometry, crop);
  pz_arena *arena = pz_arena_new();
  assert_int_equal(pz_volume_parse_output(arena, output, &to, &err), PZ_OK);
  pz_volume_hold(to.format, &info, &v->notes);
  const int64_t row = info.shape[2] * pz_dtype_bytes(info.dtype), plane = info.shape[1] * row;
  void *data = malloc((size_t)pz_volume_bytes(&info));
  char *told = calloc(PZ_MAX_NOTES, 402);
  assert_true(data && told);
  if (pz_volume_read(v, &box, data, (const int64_t[]){info.shape[0] * plane, plane, row}, &err) != PZ_OK)
    fail_msg("%s", err.message);
  fx_save(output, &info, data);
  for (int i = 0; i < v->notes.n; i++) strcat(strcat(told, v->notes.text[i]), "\n");
  free(data);
  pz_arena_free(arena);
  pz_volume_close(v);
  return told;
}

static void same(double a, double b, double tolerance, const char *what) {
  if (!(fabs(a - b) <= tolerance * (fabs(a) + fabs(b)))) fail_msg("%s: %.17g in place of %.17g", what, a, b);
}

/* In micrometres where there is such a thing. */
static double common(double v, const char *unit) {
  return pz_unit_is_length(unit) ? pz_unit_convert(v, unit, "um") : v;
}

static void expect(const pz_geometry *got, const pz_geometry *want, double tolerance, const char *what) {
  assert_int_equal(got->known, want->known);
  assert_int_equal(got->has_origin, want->has_origin);
  assert_int_equal(pz_unit_is_length(got->unit), pz_unit_is_length(want->unit));
  for (int i = 0; i < 3; i++) {
    same(common(got->voxel[i], got->unit), common(want->voxel[i], want->unit), tolerance, what);
    same(common(got->origin[i], got->unit), common(want->origin[i], want->unit), tolerance, what);
  }
}

static const char *const names[] = {"h5", "tif", "nii", "nii.gz"};
enum { H5, TIF, NII, GZ, NAMES };

/* Every format to every format, in several units, whole and cropped. Exact where no float lies between. */
static void matrix(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    double size[3], origin[3];
  } cases[] = {
      {"um", {2, 0.5, 0.25}, {10, -20.5, 0.1}},    {"nm", {40, 4, 4}, {1520, 0, -4}},
      {"mm", {1.5, 0.9375, 0.9375}, {-12, 3, 7}},  {"cm", {0.1, 0.01, 0.01}, {1, 2, 3}},
      {"inch", {0.2, 0.1, 0.1}, {1, 2, 3}},        {"angstrom", {13.5, 4.5, 4.5}, {0, 90, 45}},
      {"m", {1e-6, 2.5e-7, 2.5e-7}, {0, 0, 1e-6}}, {"", {4, 1, 1}, {0, 2, -3}},
      {"furlong", {3, 1, 1}, {1, 1, 1}},
  };
  static const int64_t crops[2][3] = {{0, 0, 0}, {1, 2, 3}};
  const fx_folder f = fx_enter();
  pz_volume_info info = fx_info(PZ_U8, 1, 5, 9, 11);
  void *data = fx_content(&info, 1);
  char input[64], output[64], notes[2000];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int with_origin = 0; with_origin < 2; with_origin++)
      for (int from = 0; from < NAMES; from++) {
        snprintf(input, sizeof input, "in.%s", names[from]);
        info.geometry =
            geometry(PZ_KNOWN_ALL, cases[c].size, cases[c].unit, with_origin ? cases[c].origin : NULL);
        fx_save(fx_path(&f, input), &info, data);
        pz_geometry g = look(fx_path(&f, input), notes);
        assert_string_equal(notes, "");
        expect(&g, &info.geometry, from >= NII ? 1e-6 : 1e-15, input);
        for (int to = 0; to < NAMES; to++)
          for (int crop = 0; crop < 2; crop++) {
            pz_geometry want = info.geometry;
            pz_geometry_crop(&want, crops[crop]);
            /* A NIfTI file without a transform has no place for an origin and stays as it is. */
            if (from >= NII && to >= NII && !with_origin) want.has_origin = false, memset(want.origin, 0, 24);
            snprintf(output, sizeof output, "out.%s", names[to]);
            free(hand_on(fx_path(&f, input), fx_path(&f, output), crops[crop]));
            g = look(fx_path(&f, output), notes);
            assert_string_equal(notes, "");
            if (g.has_origin && crop && !with_origin) assert_true(want.has_origin);
            expect(&g, &want, from >= NII || to >= NII ? 1e-6 : 1e-15, output);
            if (from < NII && to < NII) assert_string_equal(g.unit, want.unit);
          }
      }
  free(data);
  fx_leave(&f);
}

/* The numbers that came go out, to the bit, after any number of HDF5 and TIFF files. */
static void exact_numbers(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0};
  pz_volume_info info = fx_info(PZ_U8, 1, 3, 4, 5);
  void *data = fx_content(&info, 1);
  uint64_t seed = 3;
  for (int i = 0; i < 20; i++) {
    const double size[3] = {(double)fx_between(&seed, 1, 99999) / 1000,
                            (double)fx_between(&seed, 1, 99999) / 10000,
                            (double)fx_between(&seed, 1, 999999) / 100000};
    const double origin[3] = {(double)fx_between(&seed, -999999, 999999) / 1000, 1520, -0.1};
    info.geometry = geometry(PZ_KNOWN_ALL, size, i % 2 ? "um" : "nm", origin);
    fx_save(fx_path(&f, "0.h5"), &info, data);
    free(hand_on(fx_path(&f, "0.h5"), fx_path(&f, "1.h5"), none));
    pz_geometry g = look(fx_path(&f, "1.h5"), NULL);
    assert_memory_equal(g.voxel, size, sizeof size);
    assert_memory_equal(g.origin, origin, sizeof origin);
    free(hand_on(fx_path(&f, "1.h5"), fx_path(&f, "2.tif"), none));
    free(hand_on(fx_path(&f, "2.tif"), fx_path(&f, "3.h5"), none));
    g = look(fx_path(&f, "3.h5"), NULL);
    assert_memory_equal(g.voxel, size, sizeof size);
  }
  free(data);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ TIFF of other programs */

typedef struct tiff_case {
  const char *text;
  float per[2]; /* y, x; 0: no such field */
  int unit;     /* RESUNIT_...; 0: no such field */
  pz_known known;
  double size[3];
  const char *name, *note;
} tiff_case;

static void write_tiff(const char *path, const tiff_case *c, int pages) {
  TIFF *t = TIFFOpen(path, "w");
  uint8_t row[8] = {0};
  for (int i = 0; i < pages; i++) {
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, 8);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 2);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 2);
    if (c->per[0] > 0) TIFFSetField(t, TIFFTAG_YRESOLUTION, c->per[0]);
    if (c->per[1] > 0) TIFFSetField(t, TIFFTAG_XRESOLUTION, c->per[1]);
    if (c->unit) TIFFSetField(t, TIFFTAG_RESOLUTIONUNIT, c->unit);
    if (c->text && i == 0) TIFFSetField(t, TIFFTAG_IMAGEDESCRIPTION, c->text);
    for (uint32_t y = 0; y < 2; y++) TIFFWriteScanline(t, row, y, 0);
    TIFFWriteDirectory(t);
  }
  TIFFClose(t);
}

#define IJ    "ImageJ=1.53t\nimages=3\nslices=3\n"
#define ALL   PZ_KNOWN_ALL
#define PLANE PZ_KNOWN_PLANE
#define NONE  PZ_KNOWN_NOTHING
static void tiff_says(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const tiff_case cases[] = {
      {IJ "unit=micron\nspacing=2.0\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "um", NULL},
      {IJ "unit=\\u00B5m\nspacing=2\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "um", NULL},
      {IJ "spacing=2\nunit=cm\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "cm", NULL},
      {IJ "spacing=2\nunit=pixel\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "", NULL},
      {IJ "spacing=2\nunit=parsec\r\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "parsec", NULL},
      {IJ "spacing=2\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "", NULL},
      {IJ "spacing=-2\nunit=nm\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "nm", NULL}, /* as ImageJ takes it */
      {IJ "unit=nm\n", {2, 4}, 1, ALL, {1, 0.5, 0.25}, "nm", NULL}, /* ImageJ leaves a spacing of 1 out */
      {IJ "unit=nm\nspacing=0\n", {2, 4}, 1, ALL, {1, 0.5, 0.25}, "nm", NULL},
      {"ImageJ=1.11a\nimages=3\nslices=3\nunit=nm\n", {2, 4}, 1, PLANE, {0, 0.5, 0.25}, "nm", NULL},
      {IJ "unit=nm\nspacing=2\nzunit=micron\n", {2, 4}, 1, ALL, {2000, 0.5, 0.25}, "nm", NULL},
      {IJ "unit=nm\nspacing=2\nyunit=micron\n", {2, 4}, 1, ALL, {2, 500, 0.25}, "nm", NULL},
      {IJ "unit=nm\nspacing=2\nzunit=parsec\n", {2, 4}, 1, PLANE, {0, 0.5, 0.25}, "nm", "zunit"},
      {IJ "unit=nm\nspacing=2\nyunit=parsec\n", {2, 4}, 1, NONE, {0}, "", "yunit"},
      {IJ "unit=um\nspacing=2\n",
       {20000, 10000},
       3,
       ALL,
       {2, 0.5, 1},
       "um",
       NULL}, /* per cm: ImageJ's own rule */
      {IJ "unit=\x1b[2J\nspacing=2\n", {2, 4}, 1, ALL, {2, 0.5, 0.25}, "", "no text of use"},
      {IJ "unit=nm\nspacing=nan\n", {2, 4}, 1, PLANE, {0, 0.5, 0.25}, "nm", "spacing is nan"},
      {IJ "unit=nm\nspacing=inf\n", {2, 4}, 1, PLANE, {0, 0.5, 0.25}, "nm", "spacing is inf"},
      {IJ "unit=nm\nspacing=1e308\n", {2, 4}, 1, NONE, {0}, "", "unknown"},
      {IJ "unit=nm\nspacing=1e-320\n", {2, 4}, 1, NONE, {0}, "", "unknown"},
      {IJ "unit=nm\nspacing=2\n", {0, 0}, 1, NONE, {0}, "", "no size along x and y"},
      {IJ "unit=nm\nspacing=2\n", {0, 4}, 1, NONE, {0}, "", "no size along x and y"},
      {IJ "spacing=2\n", {20000, 20000}, 3, PLANE, {0, 5e-5, 5e-5}, "cm", "has no unit"},
      {IJ, {1, 1}, 1, NONE, {0}, "", NULL},
      {NULL, {20000, 10000}, 3, PLANE, {0, 5e-5, 1e-4}, "cm", NULL},
      {NULL, {254, 500}, 2, PLANE, {0, 1 / 254.0, 0.002}, "inch", NULL},
      {NULL, {254, 500}, 0, PLANE, {0, 1 / 254.0, 0.002}, "inch", NULL}, /* TIFF's default */
      {NULL, {2, 4}, 1, PLANE, {0, 0.5, 0.25}, "", NULL},
      {NULL, {72, 72}, 2, NONE, {0}, "", NULL}, /* screens and printers */
      {NULL, {300, 300}, 0, NONE, {0}, "", NULL},
      {NULL, {1, 1}, 1, NONE, {0}, "", NULL},
      {"spacing=3\nunit=um\n", {1, 1}, 1, NONE, {0}, "", NULL}, /* not ImageJ's */
  };
  char notes[2000];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tiff_case *c = &cases[i];
    write_tiff(fx_path(&f, "a.tif"), c, 3);
    const pz_geometry g = look(fx_path(&f, "a.tif"), notes);
    bool good = g.known == c->known && strcmp(g.unit, c->name) == 0;
    for (int k = 0; k < 3; k++) good = good && fabs(g.voxel[k] - c->size[k]) <= 1e-7 * c->size[k];
    good = good && (c->note ? strstr(notes, c->note) != NULL : !notes[0]);
    if (!good)
      fail_msg("%s: known %d, %g x %g x %g %s; %s", c->text ? c->text : "plain", g.known, g.voxel[0],
               g.voxel[1], g.voxel[2], g.unit, notes);
  }
  fx_leave(&f);
}

/* OME-XML; `ome` stands among the attributes of Pixels. */
static void ome_says(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
#define SIZES(x, y, z) "PhysicalSizeX=\"" x "\" PhysicalSizeY=\"" y "\" PhysicalSizeZ=\"" z "\" "
#define UNITS(x, y, z) "PhysicalSizeXUnit=\"" x "\" PhysicalSizeYUnit=\"" y "\" PhysicalSizeZUnit=\"" z "\" "
#define MICRO          "\xc2\xb5m"
  static const tiff_case cases[] = {
      {SIZES("0.25", "0.5", "2"),
       {0, 0},
       0,
       ALL,
       {2, 0.5, 0.25},
       "um",
       NULL}, /* micrometres, where not said */
      {SIZES("0.25", "0.5", "2") UNITS(MICRO, MICRO, MICRO), {20, 20}, 3, ALL, {2, 0.5, 0.25}, "um", NULL},
      {SIZES("4", "4", "40") UNITS("nm", "nm", "nm"), {0, 0}, 0, ALL, {40, 4, 4}, "nm", NULL},
      {SIZES("4", "4", "0.04") UNITS("nm", "nm", MICRO), {0, 0}, 0, ALL, {40, 4, 4}, "nm", NULL},
      {SIZES("1", "1", "4") UNITS("pixel", "pixel", "pixel"), {0, 0}, 0, ALL, {4, 1, 1}, "", NULL},
      {SIZES("1", "1", "4") UNITS("reference frame", "reference frame", "reference frame"),
       {0, 0},
       0,
       ALL,
       {4, 1, 1},
       "",
       NULL},
      {SIZES("1", "1", "4") UNITS("pixel", "pixel", MICRO), {0, 0}, 0, PLANE, {0, 1, 1}, "", "PhysicalSize"},
      {SIZES("1", "2", "4") UNITS("pixel", MICRO, MICRO), {0, 0}, 0, NONE, {0}, "", "PhysicalSize"},
      {"PhysicalSizeX=\"0.25\" PhysicalSizeY=\"0.5\" ", {0, 0}, 0, PLANE, {0, 0.5, 0.25}, "um", NULL},
      {"PhysicalSizeX=\"0.25\" PhysicalSizeZ=\"0.5\" ", {0, 0}, 0, NONE, {0}, "", "PhysicalSize"},
      {SIZES("1e308", "1", "1"), {0, 0}, 0, NONE, {0}, "", "PhysicalSize"},
      {"", {20000, 20000}, 3, PLANE, {0, 5e-5, 5e-5}, "cm", NULL}, /* what the pages say */
  };
  char notes[2000], text[1200];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tiff_case c = cases[i];
    snprintf(
        text, sizeof text,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME "
        "xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\">"
        "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\" DimensionOrder=\"XYZCT\" Type=\"uint8\" SizeX=\"8\" "
        "SizeY=\"2\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" %s><Channel ID=\"Channel:0:0\" "
        "SamplesPerPixel=\"1\"/>"
        "<TiffData/></Pixels></Image></OME>",
        cases[i].text);
    c.text = text;
    write_tiff(fx_path(&f, "a.tif"), &c, 3);
    const pz_geometry g = look(fx_path(&f, "a.tif"), notes);
    bool good = g.known == c.known && strcmp(g.unit, c.name) == 0;
    for (int k = 0; k < 3; k++) good = good && fabs(g.voxel[k] - c.size[k]) <= 1e-7 * c.size[k];
    good = good && (c.note ? strstr(notes, c.note) != NULL : !notes[0]);
    if (!good)
      fail_msg("%s: known %d, %g x %g x %g \"%s\"; %s", cases[i].text, g.known, g.voxel[0], g.voxel[1],
               g.voxel[2], g.unit, notes);
  }
  fx_leave(&f);
}

static void tiff_origin(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const tiff_case c = {.text = IJ "unit=um\nspacing=2\nxorigin=-10\nyorigin=4.5\n", .per = {2, 4}, .unit = 1};
  write_tiff(fx_path(&f, "a.tif"), &c, 3);
  pz_geometry g = look(fx_path(&f, "a.tif"), NULL);
  assert_true(g.has_origin && g.origin[0] == 0 && g.origin[1] == -2.25 && g.origin[2] == 2.5);
  char notes[2000];
  const tiff_case bad = {.text = IJ "unit=um\nspacing=2\nxorigin=nan\n", .per = {2, 4}, .unit = 1};
  write_tiff(fx_path(&f, "a.tif"), &bad, 3);
  g = look(fx_path(&f, "a.tif"), notes);
  assert_true(g.known == PZ_KNOWN_ALL && !g.has_origin && strstr(notes, "origin"));
  fx_leave(&f);
}

/* A page's own resolution comes out again, with its unit and without a distance of planes; other formats say that they leave it
 * out. One page of ImageJ keeps its unit's name. */
static void planes(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0};
  const tiff_case c = {.per = {20000, 12345.678f}, .unit = RESUNIT_CENTIMETER};
  char *text = NULL;
  float x = 0, y = 0;
  uint16_t unit = 0;
  write_tiff(fx_path(&f, "a.tif"), &c, 3);
  free(hand_on(fx_path(&f, "a.tif"), fx_path(&f, "b.tif"), none));
  TIFF *t = TIFFOpen(fx_path(&f, "b.tif"), "r");
  TIFFGetField(t, TIFFTAG_YRESOLUTION, &y), TIFFGetField(t, TIFFTAG_XRESOLUTION, &x);
  TIFFGetField(t, TIFFTAG_RESOLUTIONUNIT, &unit), TIFFGetField(t, TIFFTAG_IMAGEDESCRIPTION, &text);
  assert_true(y == 20000 && x == 12345.678f && unit == RESUNIT_CENTIMETER);
  assert_true(!strstr(text, "spacing") && !strstr(text, "unit"));
  TIFFClose(t);
  const pz_geometry g = look(fx_path(&f, "b.tif"), NULL);
  assert_true(g.known == PZ_KNOWN_PLANE && strcmp(g.unit, "cm") == 0);
  for (int i = 0; i < NAMES; i++) {
    char output[16];
    if (i == TIF) continue;
    snprintf(output, sizeof output, "c.%s", names[i]);
    char *told = hand_on(fx_path(&f, "a.tif"), fx_path(&f, output), none);
    assert_non_null(strstr(told, "no voxel size along z"));
    assert_int_equal(look(fx_path(&f, output), NULL).known, PZ_KNOWN_NOTHING);
    free(told);
  }
  const tiff_case one = {.text = "ImageJ=1.53t\nunit=micron\n", .per = {2, 4}, .unit = RESUNIT_NONE};
  for (int pages = 1; pages < 4; pages += 2) { /* of a stack of tifffile's, the pages say it */
    const tiff_case more = {
        .text = "ImageJ=1.11a\nimages=3\nslices=3\nunit=micron\n", .per = {2, 4}, .unit = RESUNIT_NONE};
    write_tiff(fx_path(&f, "a.tif"), pages == 1 ? &one : &more, pages);
    free(hand_on(fx_path(&f, "a.tif"), fx_path(&f, "b.tif"), none));
    const pz_geometry p = look(fx_path(&f, "b.tif"), NULL);
    assert_true(p.known == PZ_KNOWN_PLANE && common(p.voxel[1], p.unit) == 0.5 &&
                common(p.voxel[2], p.unit) == 0.25);
    assert_string_equal(p.unit, pages == 1 ? "um" : "cm");
  }
  fx_leave(&f);
}

/* ------------------------------------------------------------------ HDF5 of other programs */

static void put_numbers(hid_t object, const char *name, hid_t type, int n, const double *value) {
  const hsize_t size = (hsize_t)n;
  const hid_t space = n ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
  const hid_t a = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(a >= 0 && H5Awrite(a, H5T_NATIVE_DOUBLE, value) >= 0);
  H5Aclose(a), H5Sclose(space);
}

static void put_text(hid_t object, const char *name, const char *text, bool variable) {
  const hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
  const hid_t a = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(a >= 0 && H5Awrite(a, type, variable ? (const void *)&text : text) >= 0);
  H5Aclose(a), H5Tclose(type), H5Sclose(space);
}

typedef struct h5_file {
  hid_t file, group, data;
} h5_file;

/* g/x, beside nothing. */
static h5_file begin_h5(const char *path) {
  const hsize_t dim[3] = {2, 3, 4};
  h5_file h = {.file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)};
  h.group = H5Gcreate2(h.file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(3, dim, NULL);
  h.data = H5Dcreate2(h.group, "x", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sclose(space);
  return h;
}
static void end_h5(const h5_file *h) { H5Dclose(h->data), H5Gclose(h->group), H5Fclose(h->file); }

static void hdf5_types(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const double size[3] = {40, 4, 4}, offset[3] = {1520, 0, 8}, parts[3] = {0.04, 0.004, 0.004};
  const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U8LE,   H5T_STD_I16BE,  H5T_STD_U32LE,  H5T_STD_I64BE,
                         H5T_STD_U64LE, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    for (int where = 0; where < 3; where++) {
      char notes[2000];
      h5_file h = begin_h5(fx_path(&f, "a.h5"));
      const hid_t object = where == 0 ? h.data : where == 1 ? h.group : h.file;
      put_numbers(object, "resolution", types[i], 3, size);
      if (i > 1) put_numbers(i % 2 ? object : h.data, "offset", types[i], 3, offset);
      if (i > 5) put_numbers(object, "element_size_um", types[i], 3, parts);
      end_h5(&h);
      const pz_geometry g = look(fx_path(&f, "a.h5"), notes);
      assert_string_equal(notes, "");
      assert_string_equal(g.unit, "nm");
      assert_memory_equal(g.voxel, size, sizeof size);
      assert_int_equal(g.has_origin, i > 1);
      if (i > 1) assert_memory_equal(g.origin, offset, sizeof offset);
    }
  h5_file h = begin_h5(fx_path(&f, "a.h5")); /* one number for all axes */
  put_numbers(h.data, "element_size_um", H5T_STD_I32LE, 0, (const double[]){2});
  end_h5(&h);
  const pz_geometry g = look(fx_path(&f, "a.h5"), NULL);
  assert_true(g.known == PZ_KNOWN_ALL && g.voxel[0] == 2 && g.voxel[1] == 2 && g.voxel[2] == 2);
  assert_string_equal(g.unit, "um");
  fx_leave(&f);
}

/* From CREMI to CREMI: the numbers that came, in attributes of both kinds. */
static void cremi(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0};
  static const double size[3] = {40, 4.1234567, 1.0 / 3}, offset[3] = {1520, -7.7, 3232 + 1.0 / 3};
  h5_file h = begin_h5(fx_path(&f, "a.h5"));
  put_numbers(h.data, "resolution", H5T_IEEE_F64LE, 3, size);
  put_numbers(h.data, "offset", H5T_IEEE_F64LE, 3, offset);
  end_h5(&h);
  free(hand_on(fx_path(&f, "a.h5"), fx_path(&f, "b.h5"), none));
  free(hand_on(fx_path(&f, "b.h5"), fx_path(&f, "c.h5:/d/e"), none));
  const hid_t file = H5Fopen(fx_path(&f, "c.h5"), H5F_ACC_RDONLY, H5P_DEFAULT),
              d = H5Dopen2(file, "d/e", H5P_DEFAULT);
  static const char *const name[] = {"resolution", "offset", "element_size_um"};
  for (int i = 0; i < 3; i++) {
    double got[3];
    const hid_t a = H5Aopen(d, name[i], H5P_DEFAULT);
    assert_true(H5Aread(a, H5T_NATIVE_DOUBLE, got) >= 0);
    H5Aclose(a);
    if (i < 2) assert_memory_equal(got, i ? offset : size, sizeof got);
    else assert_true(got[0] == 0.04 && got[1] == 0.0041234567);
  }
  H5Dclose(d), H5Fclose(file);
  fx_leave(&f);
}

static void funlib(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const double size[3] = {40, 4, 4}, offset[3] = {80, 0, 8};
  static const struct {
    const char *units;
    bool variable;
    const char *name, *note;
  } cases[] = {{"nm", false, "nm", NULL},
               {NULL, false, "", NULL},
               {"voxels", false, "", NULL},
               {"nm", true, "", "units is not read"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char notes[2000];
    h5_file h = begin_h5(fx_path(&f, "a.h5"));
    put_numbers(h.data, "voxel_size", H5T_STD_I64LE, 3, size);
    put_numbers(h.data, "offset", H5T_STD_I64LE, 3, offset);
    if (cases[i].units) put_text(h.data, "units", cases[i].units, cases[i].variable);
    end_h5(&h);
    const pz_geometry g = look(fx_path(&f, "a.h5"), notes);
    assert_true(g.known == PZ_KNOWN_ALL && g.has_origin && g.origin[0] == 80);
    assert_string_equal(g.unit, cases[i].name);
    assert_true(cases[i].note ? strstr(notes, cases[i].note) != NULL : !notes[0]);
  }
  fx_leave(&f);
}

static void hdf5_hostile(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const double bad[][3] = {{1, -1, 1},       {0, 1, 1},     {1, 1, NAN},
                                  {INFINITY, 1, 1}, {1, 1e308, 1}, {1, 1, 1e-320}};
  static const char *const attribute[] = {"resolution", "element_size_um", "voxel_size"};
  static const double good[3] = {2, 1, 1}, nan[3] = {NAN, 0, 0};
  char notes[2000];
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    for (int k = 0; k < 3; k++) {
      h5_file h = begin_h5(fx_path(&f, "a.h5"));
      put_numbers(h.data, attribute[k], H5T_IEEE_F64LE, 3, bad[i]);
      put_numbers(h.data, "offset", H5T_IEEE_F64LE, 3, good);
      end_h5(&h);
      const pz_geometry g = look(fx_path(&f, "a.h5"), notes);
      assert_true(g.known == PZ_KNOWN_NOTHING && !g.has_origin && strstr(notes, attribute[k]) &&
                  strstr(notes, "offset"));
    }
  h5_file h = begin_h5(fx_path(&f, "a.h5"));
  put_numbers(h.data, "resolution", H5T_IEEE_F64LE, 3, good);
  put_numbers(h.data, "offset", H5T_IEEE_F64LE, 3, nan);
  end_h5(&h);
  pz_geometry g = look(fx_path(&f, "a.h5"), notes);
  assert_true(g.known == PZ_KNOWN_ALL && !g.has_origin && strstr(notes, "offset is not read"));
  h = begin_h5(fx_path(&f, "a.h5"));
  put_numbers(h.data, "resolution", H5T_IEEE_F64LE, 3, good);
  put_numbers(h.data, "element_size_um", H5T_IEEE_F64LE, 3, good); /* a thousand times as large */
  end_h5(&h);
  g = look(fx_path(&f, "a.h5"), notes);
  assert_true(g.known == PZ_KNOWN_NOTHING && strstr(notes, "contradict"));
  h = begin_h5(fx_path(&f, "a.h5"));
  put_text(h.data, "resolution", "40 4 4", true);
  put_numbers(h.data, "element_size_um", H5T_STD_I32LE, 2, good);
  end_h5(&h);
  g = look(fx_path(&f, "a.h5"), notes);
  assert_true(g.known == PZ_KNOWN_NOTHING && strstr(notes, "resolution") && strstr(notes, "element_size_um"));
  fx_leave(&f);
}

/* ------------------------------------------------------------------ affines */

/* A rotation by 30 degrees about z, the x axis against the world's. */
static void rotated(double m[3][4]) {
  const double c = sqrt(0.75), s = 0.5, size[3] = {0.5, 0.75, 2};
  const double r[3][3] = {{-c, s, 0}, {s, c, 0}, {0, 0, 1}};
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) m[i][j] = r[i][j] * size[j];
    m[i][3] = 10.0 * i - 7;
  }
}

static void affines(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0}, crop[3] = {1, 2, 3};
  static const double size[3] = {2, 0.75, 0.5};
  double m[3][4];
  char notes[2000];
  pz_volume_info info = fx_info(PZ_U8, 1, 5, 9, 11);
  void *data = fx_content(&info, 1);
  rotated(m);
  info.geometry = geometry(PZ_KNOWN_ALL, size, "mm", NULL);
  assert_true(pz_geometry_set_affine(&info.geometry, m, 4));
  fx_save(fx_path(&f, "a.nii"), &info, data);
  for (int cropped = 0; cropped < 2; cropped++) {
    pz_geometry want = info.geometry;
    pz_geometry_crop(&want, cropped ? crop : none);
    /* through HDF5 and back */
    free(hand_on(fx_path(&f, "a.nii"), fx_path(&f, "b.h5"), cropped ? crop : none));
    free(hand_on(fx_path(&f, "b.h5"), fx_path(&f, "c.h5"), none));
    free(hand_on(fx_path(&f, "c.h5"), fx_path(&f, "d.nii.gz"), none));
    static const char *const files[] = {"b.h5", "c.h5", "d.nii.gz"};
    for (int i = 0; i < 3; i++) {
      const pz_geometry g = look(fx_path(&f, files[i]), notes);
      assert_string_equal(notes, "");
      assert_true(g.has_affine && !g.has_origin && g.affine_code == 4);
      assert_string_equal(g.unit, "mm");
      for (int k = 0; k < 12; k++)
        assert_true(fabs(g.affine[k / 4][k % 4] - want.affine[k / 4][k % 4]) < 1e-5);
    }
  }
  /* A TIFF has no place for it: the size goes on, the rest is left out and said. */
  char *told = hand_on(fx_path(&f, "a.nii"), fx_path(&f, "e.tif"), none);
  assert_non_null(strstr(told, "TIFF holds no directions of axes"));
  free(told);
  const pz_geometry g = look(fx_path(&f, "e.tif"), NULL);
  assert_true(g.known == PZ_KNOWN_ALL && !g.has_origin && !g.has_affine && g.voxel[0] == 2 &&
              g.voxel[2] == 0.5);
  free(data);
  fx_leave(&f);
}

/* A tool that knows `offset` alone has moved it. */
static void contradictory_origin(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const double size[3] = {2, 0.5, 0.5}, origin[3] = {1, 2, 3}, moved[3] = {1, 2, 4000};
  const double m[3][4] = {{0.5, 0, 0, 3}, {0, 0.5, 0, 2}, {0, 0, 2, 1}};
  char notes[2000];
  pz_volume_info info = fx_info(PZ_U8, 1, 5, 9, 11);
  void *data = fx_content(&info, 1);
  info.geometry = geometry(PZ_KNOWN_ALL, size, "um", origin);
  assert_true(pz_geometry_set_affine(&info.geometry, m, 2));
  fx_save(fx_path(&f, "a.h5"), &info, data);
  pz_geometry g = look(fx_path(&f, "a.h5"), notes);
  assert_true(g.has_origin && g.has_affine && g.affine_code == 2 && !notes[0]);
  const hid_t file = H5Fopen(fx_path(&f, "a.h5"), H5F_ACC_RDWR, H5P_DEFAULT),
              d = H5Dopen2(file, "main", H5P_DEFAULT);
  H5Adelete(d, "offset");
  put_numbers(d, "offset", H5T_IEEE_F64LE, 3, moved);
  H5Dclose(d), H5Fclose(file);
  g = look(fx_path(&f, "a.h5"), notes);
  assert_true(g.known == PZ_KNOWN_ALL && !g.has_origin && !g.has_affine && strstr(notes, "contradict"));
  free(data);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ NIfTI of other programs */

static void put_f32(uint8_t *at, double v) {
  const float f = (float)v;
  memcpy(at, &f, 4);
}
static void put_i16(uint8_t *at, int v) {
  const int16_t i = (int16_t)v;
  memcpy(at, &i, 2);
}

enum {
  PIXDIM = 76,
  UNITS = 123,
  QFORM = 252,
  SFORM = 254,
  QUATERN = 256,
  QOFFSET = 268,
  SROW = 280,
  FILE_BYTES = 352 + 24
};

/* 2 x 3 x 4 u8, voxels of 1, 2, 3 mm, qform and sform with the same meaning. */
static void make_nifti(uint8_t file[FILE_BYTES]) {
  static const int dim[8] = {3, 4, 3, 2, 1, 1, 1, 1};
  const int32_t header = 348;
  memset(file, 0, FILE_BYTES);
  memcpy(file, &header, 4);
  memcpy(file + 344, "n+1", 4);
  for (int i = 0; i < 8; i++)
    put_i16(file + 40 + 2 * i, dim[i]), put_f32(file + PIXDIM + 4 * i, i > 1 && i < 4 ? i : 1);
  put_i16(file + 70, 2), put_i16(file + 72, 8), put_f32(file + 108, 352);
  file[UNITS] = 2;
  put_i16(file + QFORM, 1), put_i16(file + SFORM, 1);
  for (int i = 0; i < 3; i++) {
    put_f32(file + QOFFSET + 4 * i, 10 * i);
    put_f32(file + SROW + 16 * i + 4 * i, i + 1), put_f32(file + SROW + 16 * i + 12, 10 * i);
  }
}

static bool any_not_finite(const char *path) {
  size_t size;
  uint8_t *bytes = fx_file(path, &size);
  bool bad = false;
  for (int i = PIXDIM; i < PIXDIM + 32; i += 4) {
    float v;
    memcpy(&v, bytes + i, 4), bad = bad || !isfinite(v);
  }
  for (int i = QUATERN; i < SROW + 48; i += 4) {
    float v;
    memcpy(&v, bytes + i, 4), bad = bad || !isfinite(v);
  }
  free(bytes);
  return bad;
}

static void nifti_hostile(void **state) {
  (void)state;
  static const struct {
    int at;
    double value;
    pz_known known;
    bool affine;
    const char *note; /* NULL: none */
  } cases[] = {
      {PIXDIM, 1, PZ_KNOWN_ALL, true, NULL},
      {PIXDIM, NAN, PZ_KNOWN_ALL, true, NULL},
      {PIXDIM + 4, NAN, PZ_KNOWN_NOTHING, false, "pixdim[1] is nan"},
      {PIXDIM + 8, 0, PZ_KNOWN_NOTHING, false, "pixdim[2] is 0"},
      {PIXDIM + 12, INFINITY, PZ_KNOWN_NOTHING, false, "pixdim[3] is inf"},
      {PIXDIM + 12, 1e38, PZ_KNOWN_NOTHING, false, "pixdim[3] is"},
      {PIXDIM + 12, -3, PZ_KNOWN_ALL, true, "qform"}, /* the amount; a qform wants sizes above zero */
      {PIXDIM + 12, 30, PZ_KNOWN_ALL, true, "sform has voxels of 3 along z"},
      {QUATERN, NAN, PZ_KNOWN_ALL, true, "qform"},
      {QUATERN, 2, PZ_KNOWN_ALL, true, "qform"},
      {QOFFSET, INFINITY, PZ_KNOWN_ALL, true, "qform"},
      {SROW, NAN, PZ_KNOWN_ALL, true, "sform"},
      {SROW, 0, PZ_KNOWN_ALL, true, "sform"}, /* singular */
      {SROW + 12, 1e38, PZ_KNOWN_ALL, true, "sform"},
  };
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0};
  uint8_t file[FILE_BYTES];
  char notes[2000];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int used = 1; used >= 0; used--) {
      make_nifti(file);
      put_f32(file + cases[i].at, cases[i].value);
      if (!used) put_i16(file + QFORM, 0), put_i16(file + SFORM, 0);
      fx_write_file(fx_path(&f, "a.nii"), file, sizeof file);
      const pz_geometry g = look(fx_path(&f, "a.nii"), notes);
      assert_int_equal(g.known, cases[i].known);
      assert_int_equal(g.has_affine, cases[i].affine && used);
      const bool told = cases[i].note && (used || cases[i].at < QFORM) && strcmp(cases[i].note, "qform") &&
                        !strstr(cases[i].note, "sform");
      if (used && cases[i].note && !strstr(notes, cases[i].note)) fail_msg("%zu: %s", i, notes);
      if (!used) assert_int_equal(notes[0] != 0, told);
      free(hand_on(fx_path(&f, "a.nii"), fx_path(&f, "b.nii"), none));
      assert_false(any_not_finite(fx_path(&f, "b.nii")));
      free(hand_on(fx_path(&f, "a.nii"), fx_path(&f, "b.h5"), none));
      const pz_geometry h = look(fx_path(&f, "b.h5"), NULL);
      assert_int_equal(h.known, cases[i].known);
    }
  /* Units and sizes that say nothing: tools that know none write ones. */
  make_nifti(file);
  for (int i = 1; i < 4; i++) put_f32(file + PIXDIM + 4 * i, 1);
  file[UNITS] = 0, put_i16(file + QFORM, 0), put_i16(file + SFORM, 0);
  fx_write_file(fx_path(&f, "a.nii"), file, sizeof file);
  assert_int_equal(look(fx_path(&f, "a.nii"), NULL).known, PZ_KNOWN_NOTHING);
  file[UNITS] = 3;
  fx_write_file(fx_path(&f, "a.nii"), file, sizeof file);
  const pz_geometry g = look(fx_path(&f, "a.nii"), NULL);
  assert_true(g.known == PZ_KNOWN_ALL && strcmp(g.unit, "um") == 0 && !g.has_origin);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ the rest */

static void no_place_for_it(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0};
  static const double size[3] = {2, 0.5, 0.1}, origin[3] = {1, -2, 3};
  pz_volume_info info = fx_info(PZ_U8, 1, 3, 4, 5);
  void *data = fx_content(&info, 1);
  info.geometry = geometry(PZ_KNOWN_ALL, size, "um", origin);
  fx_save(fx_path(&f, "a.h5"), &info, data);
  char *told = hand_on(fx_path(&f, "a.h5"), fx_path(&f, "b.npy"), none);
  assert_non_null(strstr(told, ".npy holds no voxel size: 2 x 0.5 x 0.1 um is left out"));
  free(told);
  told = hand_on(fx_path(&f, "b.npy"), fx_path(&f, "c.npy"), none);
  assert_string_equal(told, "");
  free(told);
  free(data);
  fx_leave(&f);
}

/* What a TIFF's resolution cannot hold in its unit is written in another; what it cannot hold at all is left out. */
static void extreme_sizes(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  static const int64_t none[3] = {0, 0, 0};
  static const struct {
    double size;
    const char *unit;
    bool held;
  } cases[] = {{1e-10, "m", true}, {1e-20, "km", true}, {1e15, "pm", true},
               {1e14, "um", true}, {1e-12, "", false},  {1e12, "", false}};
  pz_volume_info info = fx_info(PZ_U8, 1, 3, 4, 5);
  void *data = fx_content(&info, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double size[3] = {4 * cases[i].size, cases[i].size, cases[i].size};
    info.geometry = geometry(PZ_KNOWN_ALL, size, cases[i].unit, NULL);
    fx_save(fx_path(&f, "a.h5"), &info, data);
    char *told = hand_on(fx_path(&f, "a.h5"), fx_path(&f, "b.tif"), none);
    const pz_geometry g = look(fx_path(&f, "b.tif"), NULL);
    if (g.known != (cases[i].held ? PZ_KNOWN_ALL : PZ_KNOWN_NOTHING))
      fail_msg("%g %s: %d", cases[i].size, cases[i].unit, g.known);
    assert_int_equal(strstr(told, "cannot hold a voxel size") != NULL, !cases[i].held);
    if (cases[i].held) expect(&g, &info.geometry, 1e-7, cases[i].unit);
    free(told);
  }
  free(data);
  fx_leave(&f);
}

int main(void) {
  TIFFSetWarningHandler(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),       cmocka_unit_test(other_locale),
      cmocka_unit_test(conversions),   cmocka_unit_test(unit_names),
      cmocka_unit_test(matrix),        cmocka_unit_test(exact_numbers),
      cmocka_unit_test(tiff_says),     cmocka_unit_test(ome_says),
      cmocka_unit_test(tiff_origin),   cmocka_unit_test(planes),
      cmocka_unit_test(hdf5_types),    cmocka_unit_test(cremi),
      cmocka_unit_test(funlib),        cmocka_unit_test(hdf5_hostile),
      cmocka_unit_test(affines),       cmocka_unit_test(contradictory_origin),
      cmocka_unit_test(nifti_hostile), cmocka_unit_test(no_place_for_it),
      cmocka_unit_test(extreme_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
