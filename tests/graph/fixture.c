#include "fixture.h"

void assert_error(const pz_error *err, const char *message) {
  assert_int_equal(err->status, PZ_ERROR_INPUT);
  if (!strstr(err->message, message))
    fail_msg("the message is \"%s\", expected \"%s\"", err->message, message);
}

pz_graph *parsed(const char *text) {
  pz_graph *g;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "t", &g, &err) != PZ_OK) fail_msg("%s\n%s", err.message, text);
  return g;
}

void parse_fails(const char *text, const char *message) {
  pz_graph *g = (pz_graph *)&g;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "t", &g, &err) == PZ_OK)
    fail_msg("parsed, expected \"%s\"\n%s", message, text);
  assert_null(g);
  assert_error(&err, message);
}

char *printed(const pz_graph *g) {
  pz_text out = {0};
  assert_int_equal(pz_graph_print(g, true, &out), PZ_OK);
  return out.data;
}
