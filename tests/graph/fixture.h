/* fixture.h: what the tests of src/graph share. */
#ifndef PZ_TESTS_GRAPH_FIXTURE_H
#define PZ_TESTS_GRAPH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses a text named "t" that must be good. */
pz_graph *parsed(const char *text);
/* Parses a text named "t" that must be bad, and checks that the message contains `message`. */
void parse_fails(const char *text, const char *message);
/* The printed graph, with data; the caller frees it. */
char *printed(const pz_graph *g);
/* Checks that `err` holds an input error whose message contains `message`. */
void assert_error(const pz_error *err, const char *message);

#endif
