/* Texts of files, as they are shown in each place. */
#include "base/inert.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

typedef void (*show)(pz_text *out, const char *text);

static void expect(show how, const char *text, const char *wanted) {
  pz_text out = {0};
  how(&out, text);
  assert_string_equal(out.data ? out.data : "", wanted);
  pz_text_free(&out);
}

static void what_is_inert_stays(void **state) {
  (void)state;
  static const char *const plain[] = {"",
                                      "conv1",
                                      "a/b.c:0",
                                      "a b",
                                      "it's \"50%\" {x} <y> \\n",
                                      "gr\xc3\xb6\xc3\x9f"
                                      "e",
                                      "\xe5\xb1\x82 1",
                                      "\xf0\x9f\x90\x9f"};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) expect(pz_inert_append, plain[i], plain[i]);
}

static void terminals_obey_nothing(void **state) {
  (void)state;
  expect(pz_inert_append, "\x1b[2J\x1b]0;t\x07", "\\x1b[2J\\x1b]0;t\\x07");
  expect(pz_inert_append, "a\nb\rc\td\be\x7f", "a\\x0ab\\x0dc\\x09d\\x08e\\x7f");
  expect(pz_inert_append,
         "\xc2\x9b"
         "31m",
         "\\u009b31m"); /* C1: the control sequence introducer */
  expect(pz_inert_append,
         "\x9b"
         "31m",
         "\\x9b31m");
  expect(pz_inert_append,
         "\xe2\x80\xae"
         "evil\xe2\x81\xa6",
         "\\u202eevil\\u2066"); /* turned direction */
  expect(pz_inert_append, "\xe2\x80\xa8\xef\xbb\xbf\xc2\xad", "\\u2028\\ufeff\\u00ad");
  expect(pz_inert_append, "\xf3\xa0\x81\x81", "\\U000e0041"); /* a tag, which is not seen */
  expect(pz_inert_append, "\xc0\xaf\xed\xa0\x80\xff\xe2\x82",
         "\\xc0\\xaf\\xed\\xa0\\x80\\xff\\xe2\\x82"); /* no UTF-8 */
}

/* The beginning and the end of a long text; letters are whole, and so are escapes. */
static void long_texts_are_short(void **state) {
  (void)state;
  char *text = malloc(300001), out[64];
  assert_non_null(text);
  for (int i = 0; i < 100000; i++) memcpy(text + 3 * i, "\xe2\x82\xac", 4);
  for (size_t room = 1; room <= sizeof out; room += room < 16 ? 1 : 7) {
    memset(out, 'x', sizeof out);
    const size_t n = pz_inert(text, out, room);
    assert_int_equal(strlen(out), n);
    assert_true(n < room && n + 6 > room - 1);
    for (int bytes, i = 0; out[i]; i += bytes) assert_true(pz_utf8_letter(out + i, &bytes) >= 0);
  }
  pz_inert(text, out, sizeof out);
  assert_non_null(strstr(out, "..."));
  memset(text, 1, 1000);
  text[1000] = 0;
  assert_int_equal(pz_inert(text, out, 32), 27); /* 4 and 2 escapes and the gap */
  assert_string_equal(out, "\\x01\\x01\\x01\\x01...\\x01\\x01" + 0);
  free(text);
}

static void c_reads_a_comment(void **state) {
  (void)state;
  expect(pz_inert_c_comment, "a*/ int x; /*", "a%2a/ int x; /%2a");
  expect(pz_inert_c_comment, "a\\", "a%5c");
  expect(pz_inert_c_comment, "a\\\n*\\\n/", "a%5c%5cx0a%2a%5c%5cx0a/");
  expect(pz_inert_c_comment, "*?\?/\n/", "%2a%3f%3f/%5cx0a/");
  expect(pz_inert_c_comment, "\xc3\xa9\xe2\x80\xae", "%c3%a9%5cu202e");
}

static void c_reads_a_string(void **state) {
  (void)state;
  expect(pz_inert_c_string, "a\"; int x; //", "a\\042; int x; //");
  expect(pz_inert_c_string, "\\\"\n", "\\134\\042\\012");
  expect(pz_inert_c_string, "?\?/1", "\\077\\077/1");
  expect(pz_inert_c_string,
         "\x01"
         "7\xc3\xa9\xff",
         "\\0017\\303\\251\\377"); /* a digit behind an escape stays one */
}

static void graphviz_and_shells(void **state) {
  (void)state;
  expect(pz_inert_dot, "a\"b\\n\x1b", "a\\\"b\\\\n\\\\x1b");
  expect(pz_inert_shell, "data", "data");
  expect(pz_inert_shell, "", "''");
  expect(pz_inert_shell, "x; rm -rf ~", "'x; rm -rf ~'");
  expect(pz_inert_shell, "$(id)'`id`", "'$(id)'\\''`id`'");
}

static void html(pz_text *out, const char *text) { pz_inert_html(out, text, 8); }
static void pages(void **state) {
  (void)state;
  expect(html, "<a b='c'", "&lt;a b=&#39;c&#39;");
  expect(html, "\x1b\xff&\"\xe2\x80\xae", "??&amp;&quot;?");
  expect(html, "123456789", "1234567\xe2\x80\xa6");
}

static void json(void **state) {
  (void)state;
  char *copy = pz_utf8_copy("\xc3\xa9\xff\x1b");
  assert_string_equal(copy, "\xc3\xa9\\xff\x1b");
  free(copy);
  copy = pz_utf8_copy("");
  assert_string_equal(copy, "");
  free(copy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_inert_stays),
      cmocka_unit_test(terminals_obey_nothing),
      cmocka_unit_test(long_texts_are_short),
      cmocka_unit_test(c_reads_a_comment),
      cmocka_unit_test(c_reads_a_string),
      cmocka_unit_test(graphviz_and_shells),
      cmocka_unit_test(pages),
      cmocka_unit_test(json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
