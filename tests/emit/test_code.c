/* Generated C holds nothing of a model but as the inside of comments and strings, and what breaks that is not written. */
#include "emit/code.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "test_code.out";

/* Ends the code; what was written, or the message. */
static const char *end(pz_code *code, char *out, size_t size) {
  pz_error err = {0};
  unlink(path);
  if (pz_code_write(code, path, &err) != PZ_OK) {
    assert_int_equal(access(path, F_OK), -1);
    snprintf(out, size, "%.300s", err.message);
    return out;
  }
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  out[fread(out, 1, size - 1, f)] = 0;
  fclose(f);
  unlink(path);
  return out;
}

static void values_stand_in_holes(void **state) {
  (void)state;
  char text[400];
  pz_code *c = pz_code_new();
  pz_code_put(c, "/* $ */ int $ = $ $ $; $x\n", pz_code_name("a*/"), pz_code_word("f_1"), 7, (int64_t)1 << 40,
              2.0, pz_code_choice(1, "yes", "no"));
  pz_code_put(c, "char *s = \"$\"; struct s t = {$};\n", pz_code_name("\"\\"),
              pz_code_constants(".a = {1, -2}, .b = __builtin_nanf(\"\")"));
  assert_string_equal(end(c, text, sizeof text), "/* a%2a/ */ int f_1 = 7 1099511627776 2; yesx\n"
                                                 "char *s = \"\\042\\134\"; struct s t = {.a = {1, -2}, .b = "
                                                 "__builtin_nanf(\"\")};\n");
}

static void refused(pz_code *c, const char *why) {
  char text[400];
  assert_non_null(strstr(end(c, text, sizeof text), why));
}

/* A name where C would read it; and words and constants that are more than that. */
static void values_have_their_place(void **state) {
  (void)state;
  static const char *const words[] = {"",   "a b", "a*",   "a/*",      "/a", "a/",
                                      "a;", "a\"", "a//b", "\xc3\xa9", "a\n"};
  static const char *const constants[] = {"1; }", "/* */", "a\n", "#", "'a'", "\\", "\"", "a * 1", "\xff"};
  pz_code *c = pz_code_new();
  pz_code_put(c, "int $;\n", pz_code_name("x"));
  refused(c, "a name outside of comments and strings");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    pz_code_put(c = pz_code_new(), "int $;\n", pz_code_word(words[i]));
    refused(c, "a word that is none");
  }
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    pz_code_put(c = pz_code_new(), "int a = {$};\n", pz_code_constants(constants[i]));
    refused(c, "test_code.out: the generated C would have ");
  }
  pz_code_put(c = pz_code_new(), "double a = $;\n", (double)__builtin_inff());
  refused(c, "a number that is not finite");
  pz_code_put(c = pz_code_new(), "/* $ */\n", pz_code_name(NULL));
  refused(c, "a text that is not there");
}

static void holes_and_values_agree(void **state) {
  (void)state;
  pz_code *c = pz_code_new();
  pz_code_put(c, "int a = $, $;\n", 1);
  refused(c, "a hole without a value");
  pz_code_put(c = pz_code_new(), "int a;\n", 1);
  refused(c, "a value without a hole");
}

static void literals_are_read_too(void **state) {
  (void)state;
  pz_code *c = pz_code_new();
  pz_code_add(c, "/* a /* b */\n");
  refused(c, "a comment in a comment");
  pz_code_add(c = pz_code_new(), "/* a\n");
  refused(c, "does not end");
  pz_code_add(c = pz_code_new(), "int a; // b\n");
  refused(c, "a comment to the end of a line");
  pz_code_add(c = pz_code_new(), "\"a\n\"");
  refused(c, "a string that does not end in its line");
  pz_code_add(c = pz_code_new(), "\"?\?/\"\n");
  refused(c, "a trigraph");
  pz_code_add(c = pz_code_new(), "/* a \\\n */\n");
  refused(c, "a line that ends with a backslash");
  pz_code_add(c = pz_code_new(), "int a;\t\n");
  refused(c, "no printable ASCII");
  pz_code_add(c = pz_code_new(), "int a = 'a';\n");
  refused(c, "outside of strings");
}

/* The digest is of what would be written, and refused with it. */
static void digest_is_checked(void **state) {
  (void)state;
  char digits[65] = "";
  pz_error err = {0};
  pz_code *c = pz_code_new();
  pz_code_add(c, "abc");
  assert_int_equal(pz_code_digest(c, digits, &err), PZ_OK);
  assert_memory_equal(digits, "ba7816bf8f01cfea", 16); /* FIPS 180-4 */
  pz_code_put(c, "$", pz_code_word("*"));
  assert_int_equal(pz_code_digest(c, digits, &err), PZ_ERROR_RUN);
  pz_code_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_stand_in_holes),  cmocka_unit_test(values_have_their_place),
      cmocka_unit_test(holes_and_values_agree), cmocka_unit_test(literals_are_read_too),
      cmocka_unit_test(digest_is_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
