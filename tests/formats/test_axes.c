#include "files.h"
#include "formats/axes.h"
#include "formats/raw.h"

#include <hdf5.h>
#include <nifti/nifti1.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

static pz_error error;

/* ------------------------------------------------------------------ letters */

/* Sizes and letters ('.': not said) of an array; what the user says; what comes of it. */
typedef struct letters {
  int rank;
  int64_t size[6];
  const char *axes, *said, *choice, *at;
  int64_t channels, shape[3];
  const char *resolved;
  const char *refused; /* a part of the message */
} letters;

static const letters cases[] = {
    {2, {7, 9}, "..", NULL, NULL, NULL, 1, {1, 7, 9}, "yx", NULL},
    {3, {5, 7, 9}, "...", NULL, NULL, NULL, 1, {5, 7, 9}, "zyx", NULL},
    {4, {2, 5, 7, 9}, "....", NULL, NULL, NULL, 2, {5, 7, 9}, "czyx", NULL},
    {3, {5, 1, 9}, "...", NULL, NULL, NULL, 1, {5, 1, 9}, "zyx", NULL}, /* by place, whatever the length */
    {6, {1, 1, 2, 5, 7, 9}, "......", NULL, NULL, NULL, 2, {5, 7, 9}, "..czyx", NULL},
    {5, {3, 2, 5, 7, 9}, ".....", NULL, NULL, NULL, 0, {0}, NULL, "--axes tczyx"},
    {1, {9}, ".", NULL, NULL, NULL, 0, {0}, NULL, "1 dimension;"},
    {4, {5, 7, 9, 2}, "....", NULL, "zyxc", NULL, 2, {5, 7, 9}, "zyxc", NULL},
    {4, {5, 7, 9, 1}, "....", NULL, "zyx", NULL, 1, {5, 7, 9}, "zyx.", NULL},
    {4,
     {3, 5, 7, 9},
     "tzyx",
     "X",
     NULL,
     NULL,
     0,
     {0},
     NULL,
     "3 time points in an array of 3 x 5 x 7 x 9 (t, z, y, x by X)"},
    {4, {3, 5, 7, 9}, "tzyx", "X", NULL, "t=2", 1, {5, 7, 9}, "tzyx", NULL},
    {4, {3, 5, 7, 9}, "tzyx", "X", NULL, "t=3", 0, {0}, NULL, "there are 3 time points, counted from 0"},
    {4, {1, 5, 7, 9}, "tzyx", "X", NULL, NULL, 1, {5, 7, 9}, "tzyx", NULL},
    {3, {5, 7, 9}, "zyx", "X", NULL, "t=0", 1, {5, 7, 9}, "zyx", NULL},
    {3, {5, 7, 9}, "zyx", "X", NULL, "t=1", 0, {0}, NULL, "there is 1 time point, counted from 0"},
    {4, {3, 5, 7, 9}, "tzyx", "X", "czyx", NULL, 3, {5, 7, 9}, "czyx", NULL},
    {4, {3, 5, 7, 9}, "czyx", "X", NULL, "c=1", 1, {5, 7, 9}, "czyx", NULL},
    {5, {3, 2, 5, 7, 9}, "tczyx", "X", NULL, "c=1,t=2", 1, {5, 7, 9}, "tczyx", NULL},
    {3, {5, 7, 9}, "...", NULL, "xyz", NULL, 1, {9, 7, 5}, "xyz", NULL},
    {3, {5, 7, 9}, "...", NULL, "czyx", NULL, 0, {0}, NULL, "names 4 axes, the array is 5 x 7 x 9"},
    {4, {3, 5, 7, 9}, "pzyx", "X", NULL, NULL, 0, {0}, NULL, "3 along an axis 'p'"},
    {4, {1, 5, 7, 9}, "pzyx", "X", NULL, NULL, 1, {5, 7, 9}, "pzyx", NULL},
    {4, {3, 5, 7, 9}, "zzyx", "X", NULL, NULL, 0, {0}, NULL, "two axes 'z'"},
    {3, {5, 7, 9}, "tzc", "X", NULL, NULL, 0, {0}, NULL, "no axes y and x"},
    {4, {2, 7, 9, 3}, "..yx", "X", NULL, NULL, 2, {7, 9, 3}, "czyx", NULL},
    {4, {4, 7, 9, 3}, "...c", "X", NULL, NULL, 3, {4, 7, 9}, "zyxc", NULL},
};

static pz_array array_of(const letters *l) {
  pz_array a;
  assert_true(pz_array_make(&a, l->rank, l->size));
  for (int i = 0; i < a.rank; i++) a.axis[i] = l->axes[i] == '.' ? 0 : l->axes[i];
  a.said_by = l->said;
  return a;
}

static void resolves(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const letters *l = &cases[i];
    const pz_array a = array_of(l);
    pz_axes_choice choice;
    pz_axes axes;
    error = (pz_error){0};
    assert_int_equal(pz_axes_choose(l->choice, l->at, &choice, &error), PZ_OK);
    const pz_status status = pz_axes_resolve("f", &a, &choice, &axes, &error);
    if (l->refused) {
      if (status == PZ_OK || !strstr(error.message, l->refused)) fail_msg("%zu: %s", i, error.message);
      continue;
    }
    if (status != PZ_OK) fail_msg("%zu: %s", i, error.message);
    assert_int_equal(axes.channels, l->channels);
    assert_memory_equal(axes.shape, l->shape, sizeof l->shape);
    for (int k = 0; k < a.rank; k++) assert_int_equal(axes.letter[k] ? axes.letter[k] : '.', l->resolved[k]);
  }
}

static void refuses_choices(void **state) {
  (void)state;
  static const char *const axes[] = {"z", "zz", "zyxq", "zc", "zyxcty", "tczy", " zyx", "yxx"};
  static const char *const at[] = {
      "t", "t=", "t=-1", "t=1,", "t=1,t=2", "z=3", "t=1x", "T=1", "t=99999999999999999999x"};
  pz_axes_choice choice;
  for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
    if (pz_axes_choose(axes[i], NULL, &choice, NULL) != PZ_ERROR_USAGE) fail_msg("--axes %s", axes[i]);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++)
    if (pz_axes_choose(NULL, at[i], &choice, NULL) != PZ_ERROR_USAGE) fail_msg("--at %s", at[i]);
  assert_int_equal(pz_axes_choose("ZYXC", "c=1,t=2", &choice, NULL), PZ_OK);
  assert_string_equal(choice.axes, "zyxc");
  assert_true(choice.at_t && choice.t == 2 && choice.at_c && choice.c == 1);
}

/* Voxel sizes hold for the axes that the file says them of. */
static void keeps_geometry(void **state) {
  (void)state;
  static const struct {
    const char *axes, *choice;
    bool kept;
  } list[] = {{"zyx", NULL, true},  {"zyx", "xyz", false}, {"zyx", "yzx", false}, {"tyx", "zyx", true},
              {"...", "zyx", true}, {"...", "xyz", false}, {"zyx", "cyx", true},  {"zyxc", "czyx", false}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const letters l = {
        (int)strlen(list[i].axes), {5, 7, 9, 3}, list[i].axes, "X", list[i].choice, NULL, 0, {0}, NULL, NULL};
    const pz_array a = array_of(&l);
    pz_axes_choice choice;
    pz_axes axes;
    assert_int_equal(pz_axes_choose(l.choice, NULL, &choice, NULL), PZ_OK);
    assert_int_equal(pz_axes_resolve("f", &a, &choice, &axes, NULL), PZ_OK);
    if (pz_axes_keep_geometry(&a, &axes) != list[i].kept) fail_msg("%s as %s", list[i].axes, list[i].choice);
  }
}

static void suggests(void **state) {
  (void)state;
  static const struct {
    letters l;
    int64_t want;
    const char *says; /* NULL: no letters */
  } list[] = {
      {{4, {5, 7, 9, 2}, "....", NULL, NULL, NULL, 0, {0}, NULL, NULL}, 2, "--axes zyxc"},
      {{3, {7, 9, 3}, "...", NULL, NULL, NULL, 0, {0}, NULL, NULL}, 3, "--axes yxc"},
      {{3, {22, 7, 9}, "cyx", "X", NULL, NULL, 0, {0}, NULL, NULL}, 1, "--axes zyx"},
      {{4, {2, 5, 7, 9}, "czyx", "X", NULL, NULL, 0, {0}, NULL, NULL}, 1, "--at c=0"},
      {{3, {5, 7, 9}, "...", NULL, NULL, NULL, 0, {0}, NULL, NULL}, 4, NULL},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    char words[2 * PZ_AXES_WORDS];
    const pz_array a = array_of(&list[i].l);
    pz_axes axes;
    assert_int_equal(pz_axes_resolve("f", &a, NULL, &axes, NULL), PZ_OK);
    pz_axes_suggest(&a, &axes, list[i].want, words);
    if (list[i].says ? !strstr(words, list[i].says) : strstr(words, "--axes") != NULL)
      fail_msg("%zu: %s", i, words);
  }
}

/* ------------------------------------------------------------------ elements */

/* Bytes of a file in memory. */
typedef struct memory {
  const char *data;
  int64_t size, reads;
} memory;

static pz_status fetch(void *host, int stream, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  memory *m = host;
  (void)stream, (void)err;
  assert_true(offset >= 0 && bytes > 0 && offset + bytes <= m->size);
  memcpy(to, m->data + offset, (size_t)bytes);
  m->reads++;
  return PZ_OK;
}

/* The element [c][z][y][x] of an array with these axes and strides holds its own number. */
static int64_t number(const int64_t size[4], int64_t c, int64_t z, int64_t y, int64_t x) {
  return ((c * size[1] + z) * size[2] + y) * size[3] + x + 1;
}

static void check_order(const char *order, const int64_t size[4], int64_t element, int64_t portion) {
  int64_t dim[4], total = 1;
  for (int i = 0; i < 4; i++) dim[i] = size[strchr("czyx", order[i]) - "czyx"], total *= dim[i];
  pz_array a;
  pz_axes axes;
  assert_true(pz_array_make(&a, 4, dim));
  memcpy(a.axis, order, 4);
  assert_int_equal(pz_axes_resolve("f", &a, NULL, &axes, NULL), PZ_OK);
  char *file = calloc((size_t)total, (size_t)element), *out = malloc((size_t)(total * element));
  assert_true(file && out);
  for (int64_t c = 0; c < size[0]; c++)
    for (int64_t z = 0; z < size[1]; z++)
      for (int64_t y = 0; y < size[2]; y++)
        for (int64_t x = 0; x < size[3]; x++) {
          const int64_t at[4] = {c, z, y, x}, value = number(size, c, z, y, x);
          int64_t place = 0;
          for (int i = 0; i < 4; i++) place += at[strchr("czyx", order[i]) - "czyx"] * a.stride[i];
          memcpy(file + place * element, &value, (size_t)element);
        }
  memory m = {file, total * element, 0};
  pz_raw raw = {
      .array = &a, .element = element, .delivered = element, .channel = -1, .fetch = fetch, .host = &m};
  const int64_t row = size[3] * element, plane = size[2] * row, channel = portion * plane;
  for (int64_t z = 0; z < size[1]; z += portion) {
    const int64_t n = portion < size[1] - z ? portion : size[1] - z;
    const pz_box planes = {.start = {z, 0, 0}, .size = {n, size[2], size[3]}};
    const pz_array_box box =
        pz_axes_box(&a, &axes, &planes, element, (const int64_t[3]){channel, plane, row});
    char *to = malloc((size_t)(size[0] * channel));
    assert_non_null(to);
    assert_int_equal(pz_raw_read(&raw, &box, to, NULL), PZ_OK);
    for (int64_t c = 0; c < size[0]; c++)
      memcpy(out + (c * size[1] + z) * plane, to + c * channel, (size_t)(n * plane));
    free(to);
  }
  for (int64_t i = 0; i < total; i++) {
    int64_t want = i + 1, got = 0;
    memcpy(&got, out + i * element, (size_t)element);
    if (element < 8) want &= (INT64_C(1) << 8 * element) - 1;
    if (got != want)
      fail_msg("%s, portions of %lld: %lld instead of %lld", order, (long long)portion, (long long)got,
               (long long)want);
  }
  /* Never an element at a time where rows or stretches can be had. */
  assert_true(m.reads <= 4 + size[0] * size[1] * size[2]);
  pz_raw_free(&raw);
  free(file), free(out);
}

static void reads_any_order(void **state) {
  (void)state;
  static const char *const orders[] = {"czyx", "zyxc", "zcyx", "xyzc", "cxyz", "yxzc", "yzcx", "xzyc"};
  static const int64_t small[4] = {3, 5, 6, 7}, plain[4] = {1, 4, 3, 9}, wide[4] = {2, 3, 70, 1200};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    for (int64_t element = 1; element <= 8; element *= 2) {
      check_order(orders[i], small, element, 1);
      check_order(orders[i], small, element, 2);
      check_order(orders[i], plain, element, 4);
      if (element >= 4) check_order(orders[i], wide, element, 2); /* beyond a stretch */
    }
}

/* ------------------------------------------------------------------ files */

static const fx_folder *folder;
static const char *at(const char *name) { return fx_path(folder, name); }

static pz_status open_as(const char *path, const char *axes, const char *place, pz_volume **v) {
  pz_axes_choice choice;
  error = (pz_error){0};
  PZ_TRY(pz_axes_choose(axes, place, &choice, &error));
  return pz_volume_open_as(path, &choice, v, &error);
}

/* The volume [c, z, y, x] is the numbers first, first + 1, ... of u16, read in portions of two planes. */
static void expect(const char *path, const char *axes, const char *place, int64_t channels, int64_t z,
                   const uint16_t *want) {
  pz_volume *v;
  if (open_as(path, axes, place, &v) != PZ_OK)
    fail_msg("%s as %s at %s: %s", path, axes, place, error.message);
  if (v->info.channels != channels || v->info.shape[0] != z)
    fail_msg("%s as %s: %d channels, %lld planes", path, axes, (int)v->info.channels,
             (long long)v->info.shape[0]);
  const int64_t plane = v->info.shape[1] * v->info.shape[2];
  uint16_t *got = malloc((size_t)(2 * channels * plane) * 2);
  for (int64_t i = 0; i < z; i += 2) {
    const int64_t n = i + 2 <= z ? 2 : 1;
    if (pz_volume_read_planes(v, i, n, got, 2 * plane * 2, &error) != PZ_OK) fail_msg("%s", error.message);
    for (int64_t c = 0; c < channels; c++)
      if (memcmp(got + c * 2 * plane, want + (c * z + i) * plane, (size_t)(n * plane) * 2) != 0)
        fail_msg("%s as %s at %s: wrong values in channel %lld, plane %lld", path, axes, place, (long long)c,
                 (long long)i);
  }
  free(got);
  fx_check_boxes(v, 8, (uint64_t)(channels * z));
  pz_volume_close(v);
}

static void refused(const char *path, const char *axes, const char *place, const char *says) {
  pz_volume *v;
  const pz_status status = open_as(path, axes, place, &v);
  if (status == PZ_OK) {
    const int64_t planes = v->info.shape[0];
    pz_volume_close(v);
    fail_msg("%s: read as %lld planes; expected: %s", path, (long long)planes, says);
  }
  if (!strstr(error.message, says)) fail_msg("expected \"%s\": %s", says, error.message);
}

enum { T = 2, C = 3, Z = 4, Y = 5, X = 6, PLANE = Y * X };
static uint16_t five[T][C][Z][PLANE]; /* each its own number */

static void fill(void) {
  uint16_t *v = &five[0][0][0][0];
  for (int i = 0; i < T * C * Z * PLANE; i++) v[i] = (uint16_t)(i * 7 + 1);
}

/* [c][z] of one time point. */
static const uint16_t *time_point(int t) { return &five[t][0][0][0]; }

typedef struct tiff {
  const char *name, *description;
  const char *order; /* of the pages, the fastest first: "cz" */
  int reduced;       /* a smaller copy after each page */
} tiff_file;

static void write_plane(TIFF *file, const uint16_t *plane, int wide, const char *description, int kind) {
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, wide);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, Y);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 2);
  if (kind) TIFFSetField(file, TIFFTAG_SUBFILETYPE, kind);
  if (description) TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, description);
  for (int y = 0; y < Y; y += 2)
    assert_true(TIFFWriteEncodedStrip(file, (uint32_t)(y / 2), (void *)(uintptr_t)(plane + y * wide),
                                      (y + 2 <= Y ? 2 : 1) * wide * 2) > 0);
  assert_true(TIFFWriteDirectory(file));
}

static const char *write_tiff(const char *name, const char *order, const char *description, bool reduced) {
  static const int size_of[] = {['t'] = T, ['c'] = C, ['z'] = Z};
  const char *path = at(name);
  TIFF *file = TIFFOpen(path, "w");
  int pages = 1;
  assert_non_null(file);
  for (const char *o = order; *o; o++) pages *= size_of[(int)*o];
  for (int i = 0; i < pages; i++) {
    int index[128] = {0}, rest = i;
    for (const char *o = order; *o; o++) index[(int)*o] = rest % size_of[(int)*o], rest /= size_of[(int)*o];
    write_plane(file, five[index['t']][index['c']][index['z']], X, i ? NULL : description, 0);
    if (reduced) write_plane(file, five[0][0][0], 3, NULL, FILETYPE_REDUCEDIMAGE);
  }
  TIFFClose(file);
  return path;
}

#define OME(order, t, c, z, more)                                                                            \
  "<?xml version=\"1.0\"?><OME xmlns=\"o\"><Image><Pixels DimensionOrder=\"" order                           \
  "\" SizeX=\"6\" SizeY=\"5\" SizeZ=\"" #z "\" SizeC=\"" #c "\" SizeT=\"" #t "\" Type=\"uint16\">" more      \
  "</Pixels></Image></OME>"

static void tiff_descriptions(void **state) {
  (void)state;
  const uint16_t *one = time_point(0), *two = time_point(1);
  expect(write_tiff("o.tif", "cz", OME("XYCZT", 1, 3, 4, "<TiffData/>"), false), NULL, NULL, C, Z, one);
  expect(write_tiff("o.tif", "zc", OME("XYZCT", 1, 3, 4, ""), false), NULL, NULL, C, Z, one);
  expect(write_tiff("o.tif", "zct", OME("XYZCT", 2, 3, 4, "<TiffData IFD=\"0\" PlaneCount=\"24\"/>"), false),
         NULL, "t=1", C, Z, two);
  expect(at("o.tif"), NULL, "t=1,c=2", 1, Z, five[1][2][0]);
  refused(at("o.tif"), NULL, NULL,
          "2 time points in an array of 2 x 3 x 4 x 5 x 6 (t, c, z, y, x by OME-XML)");
  expect(at("o.tif"), "zyx", NULL, 1, T * C * Z, one); /* the user knows better */
  /* a page for each plane, in an order of its own */
  expect(
      write_tiff(
          "o.tif", "zc",
          OME("XYCZT", 1, 3, 4,
              "<TiffData IFD=\"0\" FirstC=\"0\" FirstZ=\"0\"/><TiffData IFD=\"1\" FirstZ=\"1\"/>"
              "<TiffData IFD=\"2\" FirstZ=\"2\"/><TiffData IFD=\"3\" FirstZ=\"3\"/>"
              "<TiffData IFD=\"4\" FirstC=\"1\"/><TiffData IFD=\"5\" FirstC=\"1\" FirstZ=\"1\"/>"
              "<TiffData IFD=\"6\" FirstC=\"1\" FirstZ=\"2\"/><TiffData IFD=\"7\" FirstC=\"1\" FirstZ=\"3\"/>"
              "<TiffData IFD=\"8\" FirstC=\"2\"/><TiffData IFD=\"9\" FirstC=\"2\" FirstZ=\"1\"/>"
              "<TiffData IFD=\"10\" FirstC=\"2\" FirstZ=\"2\"/><TiffData IFD=\"11\" FirstC=\"2\" "
              "FirstZ=\"3\"/>"),
          false),
      NULL, NULL, C, Z, one);
  expect(write_tiff("i.tif", "cz", "ImageJ=1.54f\nimages=12\nchannels=3\nslices=4\nhyperstack=true\n", false),
         NULL, NULL, C, Z, one);
  expect(write_tiff("i.tif", "czt", "ImageJ=1.54f\nimages=24\nchannels=3\nslices=4\nframes=2\n", false), NULL,
         "t=1", C, Z, two);
  refused(at("i.tif"), NULL, NULL, "2 time points");
  refused(at("i.tif"), NULL, "t=2", "there are 2 time points");
  /* a stack that was saved as channels, or as frames, without a word on slices */
  expect(write_tiff("i.tif", "z", "ImageJ=1.11a\nimages=4\nchannels=4\nhyperstack=true\n", false), NULL, NULL,
         4, 1, one);
  expect(at("i.tif"), "zyx", NULL, 1, Z, one);
  refused(write_tiff("i.tif", "z", "ImageJ=1.54f\nimages=4\nframes=4\n", false), NULL, NULL, "4 time points");
  expect(at("i.tif"), "zyx", NULL, 1, Z, one);
  expect(write_tiff("i.tif", "z", "ImageJ=1.54f\nimages=4\n", false), NULL, NULL, 1, Z, one);
  expect(write_tiff("s.tif", "zc", "{\"shape\": [3, 4, 5, 6], \"axes\": \"CZYX\"}", false), NULL, NULL, C, Z,
         one);
  expect(write_tiff("s.tif", "cz", "{\"shape\": [4, 3, 5, 6], \"axes\": \"ZCYX\"}", false), NULL, NULL, C, Z,
         one);
  expect(write_tiff("s.tif", "zct", "{\"shape\": [2, 3, 4, 5, 6], \"axes\": \"TCZYX\"}", false), NULL, "t=1",
         C, Z, two);
  expect(write_tiff("s.tif", "zc", "{\"shape\": [3, 4, 5, 6]}", false), NULL, NULL, C, Z,
         one); /* as an array of .npy */
  expect(write_tiff("s.tif", "zc", "shape=(3, 4, 5, 6)", false), NULL, NULL, C, Z, one);
  expect(write_tiff("s.tif", "z", "{\"shape\": [4, 5, 6], \"axes\": \"QYX\"}", false), NULL, NULL, 1, Z, one);
  refused(write_tiff("s.tif", "z", "{\"shape\": [4, 5, 6], \"axes\": \"PYX\"}", false), NULL, NULL,
          "4 along an axis 'P'");
  expect(write_tiff("p.tif", "z", NULL, false), NULL, NULL, 1, Z, one);
  expect(write_tiff("p.tif", "z", "some words", false), NULL, NULL, 1, Z, one);
  expect(write_tiff("p.tif", "z", NULL, true), NULL, NULL, 1, Z, one); /* smaller copies between */
}

static void tiff_refusals(void **state) {
  (void)state;
  static const struct {
    const char *order, *text, *says;
    bool anyway; /* --axes zyx reads the pages as planes */
  } list[] = {
      {"cz", OME("XYCZT", 1, 3, 5, ""), "15 planes, the file has 12 pages", true},
      {"cz", OME("XYCZT", 1, 3, 3, ""), "9 planes, the file has 12 pages", true},
      {"cz", OME("XYCZT", 1, 3, 4, "<TiffData IFD=\"1\" PlaneCount=\"12\"/>"),
       "plane 11 is page 12, the file has 12", true},
      {"cz", OME("XYCZT", 1, 3, 4, "<TiffData IFD=\"0\"/>"), "nothing of where plane 1 of 12 is", true},
      {"z", OME("XYCZT", 1, 1, 4, "<TiffData><UUID FileName=\"b.tif\">urn:uuid:b</UUID></TiffData>"),
       "speaks of \"b.tif\"", true},
      {"z", "<OME xmlns=\"o\"><BinaryOnly MetadataFile=\"m.ome\" UUID=\"u\"/></OME>", "lies in \"m.ome\"",
       true},
      {"z", "<OME xmlns=\"o\"><Image><Pixels", "OME-XML is not understood", true},
      {"z",
       "<OME><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"7\" SizeY=\"5\" SizeZ=\"4\" SizeC=\"1\" "
       "SizeT=\"1\"/></Image></OME>",
       "planes of 7 x 5, the pages are 6 x 5", true},
      {"z",
       "<OME><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"6\" SizeY=\"5\" SizeZ=\"4\" SizeC=\"1\" "
       "SizeT=\"1\"/></Image><Image/></OME>",
       "holds 2 images", true},
      {"z",
       "<OME><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"6\" SizeY=\"5\" SizeZ=\"4\" SizeC=\"3\" "
       "SizeT=\"1\">"
       "<Channel SamplesPerPixel=\"3\"/></Pixels></Image></OME>",
       "3 samples in a pixel, the pages have 1", true},
      {"cz", "ImageJ=1.54f\nimages=12\nchannels=5\nslices=2\n",
       "5 channels, 2 slices and 1 frames, the file has 12 planes", true},
      {"z", "ImageJ=1.54f\nimages=4\nchannels=x\n", "0 channels", true},
      {"z", "{\"shape\": [9, 5, 6]}", "an array of 9 planes, the file has 4 pages", true},
      {"z", "{\"shape\": [4, 6, 5]}", "another shape", true},
      {"z", "Aperio Image Library", "a slide of Aperio (SVS)", true},
      {"z", "state.configPath='x'", "ScanImage", true},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const char *path = write_tiff("r.tif", list[i].order, list[i].text, false);
    refused(path, NULL, NULL, list[i].says);
    if (list[i].anyway && list[i].order[1] == 0) expect(path, "zyx", NULL, 1, Z, time_point(0));
  }
}

/* Samples of a pixel are channels, one after the other or in planes of their own; rows and columns may be any axes. */
static void tiff_samples(void **state) {
  (void)state;
  uint16_t pixels[Z][Y][X][C], planes[Z][C][Y][X];
  for (int z = 0; z < Z; z++)
    for (int c = 0; c < C; c++)
      for (int i = 0; i < PLANE; i++)
        pixels[z][i / X][i % X][c] = planes[z][c][i / X][i % X] = five[0][c][z][i];
  for (int planar = 0; planar < 2; planar++) {
    TIFF *file = TIFFOpen(at("rgb.tif"), "w");
    for (int z = 0; z < Z; z++) {
      TIFFSetField(file, TIFFTAG_IMAGEWIDTH, X);
      TIFFSetField(file, TIFFTAG_IMAGELENGTH, Y);
      TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
      TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, C);
      TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
      TIFFSetField(file, TIFFTAG_PLANARCONFIG, planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
      TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, Y);
      if (z == 0)
        TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION,
                     planar ? "{\"shape\": [4, 3, 5, 6], \"axes\": \"ZSYX\"}" : "{\"shape\": [4, 5, 6, 3]}");
      for (uint32_t c = 0; c < (planar ? C : 1); c++)
        assert_true(TIFFWriteEncodedStrip(file, c, planar ? (void *)planes[z][c] : (void *)pixels[z],
                                          PLANE * 2 * (planar ? 1 : C)) > 0);
      TIFFWriteDirectory(file);
    }
    TIFFClose(file);
    expect(at("rgb.tif"), NULL, NULL, C, Z, time_point(0));
    expect(at("rgb.tif"), NULL, "c=1", 1, Z, five[0][1][0]);
  }
  /* pages along y, rows along z */
  uint16_t turned[Y][Z][X];
  for (int z = 0; z < Z; z++)
    for (int y = 0; y < Y; y++)
      for (int x = 0; x < X; x++) turned[z < Z ? y : 0][z][x] = five[0][0][z][y * X + x];
  TIFF *file = TIFFOpen(at("y.tif"), "w");
  for (int y = 0; y < Y; y++) {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, X);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, Z);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 3);
    for (int r = 0; r < Z; r += 3)
      assert_true(
          TIFFWriteEncodedStrip(file, (uint32_t)(r / 3), turned[y][r], (r + 3 <= Z ? 3 : Z - r) * X * 2) > 0);
    TIFFWriteDirectory(file);
  }
  TIFFClose(file);
  expect(at("y.tif"), "yzx", NULL, 1, Z, time_point(0));
}

/* ImageJ's files above 4 GB: one page, and the other planes behind it. */
static void planes_without_pages(void **state) {
  (void)state;
  static const char text[] = "ImageJ=1.54f\nimages=12\nchannels=3\nslices=4\nhyperstack=true\n";
  for (int big = 0; big < 2; big++) {
    TIFF *file = TIFFOpen(at("4g.tif"), big ? "wb" : "wl");
    write_plane(file, five[0][0][0], X, text, 0);
    TIFFClose(file);
    /* The page's data moves to the end, so that planes follow on it. */
    size_t size;
    uint8_t *bytes = fx_file(at("4g.tif"), &size);
    file = TIFFOpen(at("4g.tif"), "r");
    uint64_t *offset;
    TIFFGetField(file, TIFFTAG_STRIPOFFSETS, &offset);
    const uint64_t first = offset[0];
    TIFFClose(file);
    uint8_t *whole = malloc(size + C * Z * PLANE * 2);
    assert_true(first + PLANE * 2 <= size);
    /* libtiff writes the data first: a directory behind it is overwritten by planes, so that it is copied to the end. */
    const uint64_t table = first + PLANE * 2;
    const uint64_t moved = C * Z * PLANE * 2 - PLANE * 2;
    memcpy(whole, bytes, table);
    memset(whole + table, 0, moved);
    memcpy(whole + table + moved, bytes + table, size - table);
    uint8_t *p = whole + first;
    for (int z = 0; z < Z; z++)
      for (int c = 0; c < C; c++)
        for (int i = 0; i < PLANE; i++, p += 2) {
          const uint16_t v = five[0][c][z][i];
          p[0] = (uint8_t)(big ? v >> 8 : v), p[1] = (uint8_t)(big ? v : v >> 8);
        }
    /* the places in header and directory that lie behind the data move too */
    const size_t ifd_place = 4;
#define GET4(at_)                                                                                            \
  (big ? (uint32_t)(at_)[0] << 24 | (uint32_t)(at_)[1] << 16 | (uint32_t)(at_)[2] << 8 | (at_)[3]            \
       : (uint32_t)(at_)[3] << 24 | (uint32_t)(at_)[2] << 16 | (uint32_t)(at_)[1] << 8 | (at_)[0])
#define PUT4(at_, v_)                                                                                        \
  for (int k_ = 0; k_ < 4; k_++) (at_)[k_] = (uint8_t)((v_) >> 8 * (big ? 3 - k_ : k_))
    const uint32_t ifd = GET4(whole + ifd_place) + (uint32_t)moved;
    PUT4(whole + ifd_place, ifd);
    const int entries = big ? whole[ifd] << 8 | whole[ifd + 1] : whole[ifd + 1] << 8 | whole[ifd];
    for (int e = 0; e < entries; e++) {
      uint8_t *entry = whole + ifd + 2 + 12 * e;
      const int type = big ? entry[3] : entry[2];
      const uint32_t count = GET4(entry + 4), bytes_of = count * (type == 3   ? 2
                                                                  : type == 4 ? 4
                                                                  : type == 5 ? 8
                                                                              : 1);
      if (bytes_of <= 4) continue;
      const uint32_t place = GET4(entry + 8);
      if (place >= table) PUT4(entry + 8, place + (uint32_t)moved);
    }
    fx_write_file(at("4g.tif"), whole, size + moved);
    expect(at("4g.tif"), NULL, NULL, C, Z, time_point(0));
    expect(at("4g.tif"), NULL, "c=2", 1, Z, five[0][2][0]);
    pz_volume *v;
    assert_int_equal(open_as(at("4g.tif"), "zyx", NULL, &v), PZ_OK); /* all images */
    assert_int_equal(v->info.shape[0], C * Z);
    pz_volume_close(v);
    /* cut: the directory at the end is put in front of what is missing */
    for (uint8_t *n = whole; n < whole + size + moved; n++)
      if (!memcmp(n, "images=12", 9)) memcpy(n, "images=99", 9);
    for (uint8_t *n = whole; n < whole + size + moved; n++)
      if (!memcmp(n, "slices=4", 8)) memcpy(n, "slices=33", 9), n[9] = '\n';
    fx_write_file(at("4g.tif"), whole, size + moved);
    refused(at("4g.tif"), NULL, NULL, "ImageJ's description promises 99 images");
    free(bytes), free(whole);
  }
}

static void npy(const char *name, int rank, const int64_t *dim, bool fortran, const void *data,
                size_t bytes) {
  char text[256], shape[128] = "";
  for (int i = 0, n = 0; i < rank; i++)
    n += snprintf(shape + n, sizeof shape - (size_t)n, "%lld, ", (long long)dim[i]);
  const int n =
      snprintf(text + 10, sizeof text - 10, "{'descr': '<u2', 'fortran_order': %s, 'shape': (%s), }\n",
               fortran ? "True" : "False", shape);
  memcpy(text, "\x93NUMPY\x01\0", 8);
  text[8] = (char)n, text[9] = 0;
  FILE *f = fopen(at(name), "wb");
  fwrite(text, 1, (size_t)n + 10, f), fwrite(data, 1, bytes, f);
  assert_int_equal(fclose(f), 0);
}

static void npy_orders(void **state) {
  (void)state;
  const int64_t tczyx[] = {T, C, Z, Y, X}, zyxc[] = {Z, Y, X, C}, czyx[] = {C, Z, Y, X};
  uint16_t last[Z][PLANE][C], fortran[X][Y][Z][C];
  for (int c = 0; c < C; c++)
    for (int z = 0; z < Z; z++)
      for (int i = 0; i < PLANE; i++) last[z][i][c] = fortran[i % X][i / X][z][c] = five[0][c][z][i];
  npy("a.npy", 5, tczyx, false, five, sizeof five);
  refused(at("a.npy"), NULL, NULL, "--axes tczyx");
  refused(at("a.npy"), "tczyx", NULL, "2 time points");
  expect(at("a.npy"), "tczyx", "t=1", C, Z, time_point(1));
  npy("a.npy", 4, zyxc, false, last, sizeof last);
  expect(at("a.npy"), "zyxc", NULL, C, Z, time_point(0));
  expect(at("a.npy"), "zyxc", "c=2", 1, Z, five[0][2][0]);
  npy("a.npy", 4, czyx, true, fortran, sizeof fortran);
  expect(at("a.npy"), NULL, NULL, C, Z, time_point(0));
}

static void put_dataset(hid_t file, const char *name, int rank, const hsize_t *dim, const hsize_t *chunk,
                        const void *data) {
  const hid_t space = H5Screate_simple(rank, dim, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
  if (chunk) H5Pset_chunk(create, rank, chunk), H5Pset_deflate(create, 1);
  const hid_t d = H5Dcreate2(file, name, H5T_STD_U16LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  assert_true(d >= 0);
  if (data) H5Dwrite(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(d), H5Pclose(create), H5Sclose(space);
}

static void hdf5_orders(void **state) {
  (void)state;
  const hsize_t tczyx[] = {T, C, Z, Y, X}, tzyxc[] = {T, Z, Y, X, C}, chunk[] = {2, 2, 3, 2, 4},
                small[] = {1, 3, 2, 5, 2};
  static uint16_t last[T][Z][PLANE][C], x_first[X][Y][Z];
  for (int t = 0; t < T; t++)
    for (int c = 0; c < C; c++)
      for (int z = 0; z < Z; z++)
        for (int i = 0; i < PLANE; i++) {
          last[t][z][i][c] = five[t][c][z][i];
          if (t + c == 0) x_first[i % X][i / X][z] = five[0][0][z][i];
        }
  const hsize_t xyz[] = {X, Y, Z}, xyz_chunk[] = {4, 3, 3};
  const hid_t file = H5Fcreate(at("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put_dataset(file, "plain", 5, tczyx, NULL, five);
  put_dataset(file, "chunks", 5, tczyx, chunk, five);
  put_dataset(file, "last", 5, tzyxc, NULL, last);
  put_dataset(file, "last_chunks", 5, tzyxc, small, last);
  put_dataset(file, "xyz", 3, xyz, NULL, x_first);
  put_dataset(file, "xyz_chunks", 3, xyz, xyz_chunk, x_first);
  H5Fclose(file);
  refused(at("a.h5:/plain"), NULL, NULL, "--axes tczyx");
  for (int t = 0; t < T; t++) {
    const char *place = t ? "t=1" : "t=0";
    expect(at("a.h5:/plain"), "tczyx", place, C, Z, time_point(t));
    expect(at("a.h5:/chunks"), "tczyx", place, C, Z, time_point(t));
    expect(at("a.h5:/last"), "tzyxc", place, C, Z, time_point(t));
    expect(at("a.h5:/last_chunks"), "tzyxc", place, C, Z, time_point(t));
  }
  expect(at("a.h5:/last_chunks"), "tzyxc", "c=1,t=1", 1, Z, five[1][1][0]);
  expect(at("a.h5:/xyz"), "xyz", NULL, 1, Z, time_point(0));
  expect(at("a.h5:/xyz_chunks"), "xyz", NULL, 1, Z, time_point(0));
}

/* A text of fixed or of any length, or one for each axis. */
static void put_text(const char *dataset, const char *name, const char *const *text, int n, bool any_length) {
  const hid_t file = H5Fopen(at("t.h5"), H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(file, dataset, H5P_DEFAULT);
  const hid_t type = H5Tcopy(H5T_C_S1);
  const hsize_t count = (hsize_t)(n ? n : 1);
  const hid_t space = n ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
  char fixed[512] = "";
  for (int i = 0; i < (int)count; i++) snprintf(fixed + 64 * i, 64, "%s", text[i]);
  H5Tset_size(type, any_length ? H5T_VARIABLE : n ? 64 : 512);
  if (!n && !any_length) snprintf(fixed, sizeof fixed, "%s", text[0]);
  if (H5Aexists(d, name) > 0) H5Adelete(d, name);
  const hid_t a = H5Acreate2(d, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(a, type, any_length ? (const void *)text : fixed) >= 0);
  H5Aclose(a), H5Sclose(space), H5Tclose(type), H5Dclose(d), H5Fclose(file);
}

static void hdf5_attributes(void **state) {
  (void)state;
  const hsize_t tzyxc[] = {T, Z, Y, X, C};
  static uint16_t last[T][Z][PLANE][C];
  for (int t = 0; t < T; t++)
    for (int c = 0; c < C; c++)
      for (int z = 0; z < Z; z++)
        for (int i = 0; i < PLANE; i++) last[t][z][i][c] = five[t][c][z][i];
  static const char *const tags[] = {"{\"axes\": [{\"key\": \"t\", \"typeFlags\": 8, \"resolution\": 0, "
                                     "\"description\": \"\"}, {\"key\": \"z\"}, "
                                     "{\"key\": \"y\"}, {\"key\": \"x\"}, {\"key\": \"c\"}]}"};
  static const char *const labels[] = {"time", "z", "y", "x", "channel"};
  static const char *const word[] = {"TZYXC"};
  static const char *const other[] = {"{\"axes\": [{\"key\": \"t\"}, {\"key\": \"z\"}]}"};
  static const char *const unknown[] = {"{\"axes\": [{\"key\": \"n\"}, {\"key\": \"z\"}, {\"key\": \"y\"}, "
                                        "{\"key\": \"x\"}, {\"key\": \"c\"}]}"};
  for (int later = 0; later < 2; later++)
    for (int any = 0; any < 2; any++) {
      const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
      if (later) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
      const hid_t file = H5Fcreate(at("t.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
      const char *const names[] = {"tags", "labels", "word", "other", "unknown"};
      for (int i = 0; i < 5; i++) put_dataset(file, names[i], 5, tzyxc, NULL, last);
      H5Fclose(file), H5Pclose(access);
      put_text("tags", "axistags", tags, 0, any);
      put_text("labels", "DIMENSION_LABELS", labels, 5, any);
      put_text("word", "axes", word, 0, any);
      put_text("other", "axistags", other, 0, any);
      put_text("unknown", "axistags", unknown, 0, any);
      for (int i = 0; i < 3; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s:/%s", at("t.h5"), names[i]);
        expect(path, NULL, "t=1", C, Z, time_point(1));
        refused(path, NULL, NULL, "2 time points in an array of 2 x 4 x 5 x 6 x 3 (t, z, y, x, c by ");
        expect(path, "tzyxc", "t=0", C, Z, time_point(0));
      }
      refused(at("t.h5:/other"), NULL, NULL, "nothing says which axis is which");
      refused(at("t.h5:/unknown"), NULL, NULL, "2 along an axis 'n'");
    }
  /* every byte of the file may be wrong */
  size_t size;
  uint8_t *bytes = fx_file(at("t.h5"), &size);
  for (size_t i = 0; i < size; i++) {
    pz_volume *v;
    if (bytes[i] == 0 && i % 16) continue;
    bytes[i] ^= 0x55;
    fx_write_file(at("d.h5"), bytes, size);
    if (open_as(at("d.h5:/labels"), NULL, "t=0", &v) == PZ_OK) pz_volume_close(v);
    bytes[i] ^= 0x55;
  }
  free(bytes);
}

static void nifti(const char *name, int t, int c, int units, float step, const void *data, size_t bytes) {
  nifti_1_header h = {
      .sizeof_hdr = 348, .datatype = 512, .bitpix = 16, .vox_offset = 352, .xyzt_units = (char)units};
  const short dim[8] = {5, X, Y, Z, (short)t, (short)c, 1, 1};
  memcpy(h.dim, dim, sizeof dim);
  for (int i = 0; i < 8; i++) h.pixdim[i] = 1;
  h.pixdim[4] = step;
  memcpy(h.magic, "n+1", 4);
  FILE *f = fopen(at(name), "wb");
  fwrite(&h, 1, 348, f), fwrite("\0\0\0", 1, 4, f), fwrite(data, 1, bytes, f);
  assert_int_equal(fclose(f), 0);
}

/* The fourth dimension is time where the header says so, else the channels; the fifth is the channels. */
static void nifti_dimensions(void **state) {
  (void)state;
  enum { MM = 2, SEC = 8, HZ = 32 };
  static uint16_t c_t[C][T][Z][PLANE];
  for (int t = 0; t < T; t++)
    for (int c = 0; c < C; c++) memcpy(c_t[c][t], five[t][c], sizeof c_t[c][t]);
  nifti("a.nii", C, 1, MM, 1, five, sizeof five / T);
  expect(at("a.nii"), NULL, NULL, C, Z, time_point(0));
  nifti("a.nii", 1, C, MM | SEC, 1, five, sizeof five / T);
  expect(at("a.nii"), NULL, NULL, C, Z, time_point(0));
  for (int i = 0; i < 2; i++) { /* a unit of time; a step of it */
    nifti("a.nii", C, 1, i ? MM : MM | SEC, i ? 2.5f : 1, five, sizeof five / T);
    refused(at("a.nii"), NULL, NULL,
            "3 time points in an array of 3 x 4 x 5 x 6 (t, z, y, x by the NIfTI header)");
    expect(at("a.nii"), "czyx", NULL, C, Z, time_point(0));
    expect(at("a.nii"), NULL, "t=2", 1, Z, five[0][2][0]);
  }
  nifti("a.nii", C, 1, MM | HZ, 1, five, sizeof five / T);
  refused(at("a.nii"), NULL, NULL, "3 along an axis 'f'");
  nifti("a.nii", T, C, MM, 1, c_t, sizeof c_t);
  refused(at("a.nii"), NULL, NULL, "2 time points");
  expect(at("a.nii"), NULL, "t=1", C, Z, time_point(1));
}

/* What is written with channels is read with channels, whatever unit of time the input had. */
static void nifti_channels_stay_channels(void **state) {
  (void)state;
  pz_volume_info got, info = fx_info(PZ_U16, C, Z, Y, X);
  info.geometry.nifti = (pz_orientation){.known = true, .units = 2 | 8, .pixdim = {1, 1, 1}, .qfac = 1};
  fx_save(at("c.nii"), &info, five);
  free(fx_load(at("c.nii"), &got));
  assert_int_equal(got.channels, C);
}

static int enter(void **state) {
  static fx_folder f;
  (void)state;
  f = fx_enter(), folder = &f;
  fill();
  TIFFSetWarningHandler(NULL);
  return 0;
}
static int leave(void **state) { return (void)state, fx_leave(folder), 0; }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resolves),
      cmocka_unit_test(refuses_choices),
      cmocka_unit_test(keeps_geometry),
      cmocka_unit_test(suggests),
      cmocka_unit_test(reads_any_order),
      cmocka_unit_test(tiff_descriptions),
      cmocka_unit_test(tiff_refusals),
      cmocka_unit_test(tiff_samples),
      cmocka_unit_test(planes_without_pages),
      cmocka_unit_test(npy_orders),
      cmocka_unit_test(hdf5_orders),
      cmocka_unit_test(hdf5_attributes),
      cmocka_unit_test(nifti_dimensions),
      cmocka_unit_test(nifti_channels_stay_channels),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
