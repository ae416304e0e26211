#include "files.h"
#include "formats/ome.h"

#include <string.h>

#define HEAD                                                                                                 \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OME "                                                        \
  "xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "                                             \
  "UUID=\"urn:uuid:own\">"
#define PIXELS(order, c, z, t, more)                                                                         \
  "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\" DimensionOrder=\"" order                                    \
  "\" Type=\"uint16\" SizeX=\"45\" SizeY=\"37\" SizeC=\"" #c "\" SizeZ=\"" #z "\" SizeT=\"" #t "\" " more    \
  ">"
#define TAIL "</Pixels></Image></OME>"

static pz_error error;
static pz_ome ome;
static pz_arena *arena;

static pz_status parse(const char *text) {
  error = (pz_error){0};
  return pz_ome_parse(arena, "/some/where/own.ome.tif", text, &ome, &error);
}

static void reads_sizes_and_units(void **state) {
  (void)state;
  assert_int_equal(parse(HEAD PIXELS("XYCZT", 2, 11, 3,
                                     "PhysicalSizeX=\"0.25\" PhysicalSizeY=\"250\" PhysicalSizeYUnit=\"nm\" "
                                     "PhysicalSizeZ=\"-1\"") "<TiffData/>" TAIL),
                   PZ_OK);
  assert_true(ome.t == 3 && ome.c == 2 && ome.z == 11 && ome.y == 37 && ome.x == 45);
  assert_true(ome.samples == 1 && ome.planes_c == 2 && ome.images == 1);
  assert_string_equal(ome.order, "XYCZT");
  assert_string_equal(ome.type, "uint16");
  assert_true(ome.physical[0] == 0 && ome.physical[1] == 250 && ome.physical[2] == 0.25);
  assert_string_equal(ome.unit[1], "nm");
  assert_string_equal(ome.unit[2], "\xc2\xb5m");
  assert_false(ome.elsewhere || ome.binary_only);
  assert_null(ome.page);
  assert_int_equal(pz_ome_plane(&ome, 2, 1, 5), 1 + 2 * (5 + 11 * 2)); /* C fastest, then Z, then T */
}

static void planes_lie_where_tiffdata_says(void **state) {
  (void)state;
  assert_int_equal(
      parse(HEAD PIXELS("XYZCT", 2, 3, 1, "") "<TiffData IFD=\"5\" FirstC=\"1\" PlaneCount=\"3\"/>"
                                              "<TiffData IFD=\"0\" FirstZ=\"2\"/>"
                                              "<TiffData IFD=\"9\" PlaneCount=\"2\"/>" TAIL),
      PZ_OK);
  static const int32_t expected[] = {9, 10, 0, 5, 6, 7};
  assert_non_null(ome.page);
  assert_memory_equal(ome.page, expected, sizeof expected);
  assert_int_equal(parse(HEAD PIXELS("XYZCT", 1, 2, 1, "") "<TiffData IFD=\"1\"/>" TAIL), PZ_OK);
  assert_true(ome.page[0] == 1 && ome.page[1] == -1);
}

static void samples_are_channels(void **state) {
  (void)state;
  assert_int_equal(parse(HEAD PIXELS("XYCZT", 3, 4, 1, "") "<Channel ID=\"a\" SamplesPerPixel=\"3\"/>" TAIL),
                   PZ_OK);
  assert_true(ome.samples == 3 && ome.planes_c == 1 && ome.c == 3);
}

static void knows_other_files(void **state) {
  (void)state;
#define IN(file, id)                                                                                         \
  "<TiffData IFD=\"0\" PlaneCount=\"1\"><UUID FileName=\"" file "\">" id "</UUID></TiffData>"
  assert_int_equal(parse(HEAD PIXELS("XYCZT", 1, 1, 1, "") IN("own.ome.tif", "urn:uuid:x") TAIL), PZ_OK);
  assert_false(ome.elsewhere);
  assert_int_equal(parse(HEAD PIXELS("XYCZT", 1, 1, 1, "") IN("old_name.ome.tif", " urn:uuid:own\n") TAIL),
                   PZ_OK);
  assert_false(ome.elsewhere); /* renamed since */
  assert_int_equal(parse(HEAD PIXELS("XYCZT", 1, 2, 1, "") IN("own.ome.tif", "urn:uuid:own")
                             IN("folder/b.ome.tif", "urn:uuid:b") TAIL),
                   PZ_OK);
  assert_true(ome.elsewhere);
  assert_string_equal(ome.other, "b.ome.tif");
  assert_int_equal(parse(HEAD "<BinaryOnly MetadataFile=\"a.companion.ome\" UUID=\"urn:uuid:a\"/></OME>"),
                   PZ_OK);
  assert_true(ome.binary_only);
  assert_string_equal(ome.other, "a.companion.ome");
}

static void takes_latin_1_and_prefixes(void **state) {
  (void)state;
  assert_int_equal(
      parse("<OME:OME xmlns:OME=\"o\">" PIXELS("XYZCT", 1, 2, 1,
                                               "PhysicalSizeX=\"1\" "
                                               "PhysicalSizeXUnit=\"\xb5m\"") "</Pixels></Image></OME:OME>"),
      PZ_OK);
  assert_string_equal(ome.unit[2], "\xc2\xb5m");
  assert_true(ome.z == 2);
}

static void refuses(void **state) {
  (void)state;
  static char deep[200000];
  static const struct {
    const char *text, *says;
  } cases[] = {
      {HEAD PIXELS("XYCZT", 2, 11, 1, "") "<TiffData/>", "no element found"},
      {"<OME/>", "no Pixels"},
      {HEAD PIXELS("XYCZT", 0, 11, 1, "") TAIL, "SizeC"},
      {HEAD PIXELS("XYCZT", 99999999999999999999, 11, 1, "") TAIL, "SizeC"},
      {HEAD PIXELS("XYCZT", 1x, 11, 1, "") TAIL, "SizeC"},
      {HEAD PIXELS("XYCZZ", 1, 11, 1, "") TAIL, "DimensionOrder"},
      {HEAD PIXELS("CZTXY", 1, 11, 1, "") TAIL, "DimensionOrder"},
      {HEAD PIXELS("XYCZT", 2147483647, 2147483647, 2147483647, "") TAIL, "more than 1048576 planes"},
      {HEAD PIXELS("XYCZT", 1, 2, 1, "") "<TiffData PlaneCount=\"3\"/>" TAIL, "more planes"},
      {HEAD PIXELS("XYCZT", 1, 2, 1, "") "<TiffData FirstZ=\"2\"/>" TAIL, "beyond"},
      {HEAD PIXELS("XYCZT", 1, 2, 1, "") "<TiffData IFD=\"0\"/><TiffData IFD=\"1\"/>" TAIL, "the same plane"},
      {HEAD PIXELS("XYCZT", 3, 2, 1, "") "<Channel SamplesPerPixel=\"2\"/><Channel/>" TAIL,
       "different numbers"},
      {"<!DOCTYPE OME [<!ENTITY a \"b\">]><OME/>", "document type"},
      {deep, "64 deep"},
  };
  for (int i = 0; i < 20000; i++) strcpy(deep + 5 * i, "<OME>");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(parse(cases[i].text), PZ_ERROR_INPUT);
    if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", cases[i].says, error.message);
    assert_non_null(strstr(error.message, "--axes"));
  }
}

static void is_told_from_other_descriptions(void **state) {
  (void)state;
  assert_true(pz_ome_is(" \xef\xbb\xbf<?xml version=\"1.0\"?><OME xmlns=\"x\"/>"));
  assert_true(pz_ome_is("<ome:OME x=\"\"/>"));
  assert_false(pz_ome_is("ImageJ=1.54f\nimages=3\n"));
  assert_false(pz_ome_is("<MetaData>") || pz_ome_is("") || pz_ome_is(NULL));
}

static int enter(void **state) { return (void)state, (arena = pz_arena_new()) ? 0 : -1; }
static int leave(void **state) { return (void)state, pz_arena_free(arena), 0; }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_sizes_and_units),
      cmocka_unit_test(planes_lie_where_tiffdata_says),
      cmocka_unit_test(samples_are_channels),
      cmocka_unit_test(knows_other_files),
      cmocka_unit_test(takes_latin_1_and_prefixes),
      cmocka_unit_test(refuses),
      cmocka_unit_test(is_told_from_other_descriptions),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
