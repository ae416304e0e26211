/* inert.h: a text that came from a file, shown so that it does nothing. Names of layers, tensors, models and files are any
 * bytes: what shows one passes it through the function of the place where it is shown.
 *
 *   a terminal, a message     pz_inert, pz_inert_append    \x1b, \u202e, \xff; short
 *   a comment of C            pz_inert_c_comment           printable ASCII without * ? and backslash; short
 *   a string literal of C     pz_inert_c_string            exact: octal escapes of three digits
 *   HTML and SVG              pz_inert_html                entities; '?' for what is not shown
 *   a label of DOT            pz_inert_dot                 as on a terminal, quoted for Graphviz
 *   a word of a shell         pz_inert_shell               quoted where it has to be
 *   JSON                      pz_json_name (json.h)        UTF-8; the rest is the JSON library's
 *   the text form of a graph  pz_text_print_string (src/graph/text.h), which can be read back
 *   SQL                       bound parameters only
 *
 * Nobody obeys what is inert: controls (C0, DEL, C1), marks that turn the direction of writing or are not seen, line and paragraph
 * separators, noncharacters, and bytes that are not UTF-8 are shown as their numbers. */
#ifndef PZ_BASE_INERT_H
#define PZ_BASE_INERT_H

#include "base/arena.h"

/* Bytes that a name takes at most in a message, a table or a comment: of longer ones the middle is left out. */
#define PZ_INERT_MOST 200

/* Into out, `room` bytes with the NUL: all of the text, or where that does not fit, its beginning and its end with "..." between. A text that
 * is inert stays as it is. Returns the length. */
size_t pz_inert(const char *text, char *out, size_t room);
void pz_inert_append(pz_text *out, const char *text); /* PZ_INERT_MOST bytes */
/* The text itself where it is inert and short, else a copy in the arena; "?" where that is out of memory. */
const char *pz_inert_in(pz_arena *arena, const char *text);

void pz_inert_c_comment(pz_text *out, const char *text);
void pz_inert_c_string(pz_text *out, const char *text); /* what stands between the quotes */
void pz_inert_dot(pz_text *out, const char *text);      /* what stands between the quotes */
void pz_inert_html(pz_text *out, const char *text,
                   size_t most); /* letters; with an ellipsis where there are more */
void pz_inert_shell(pz_text *out, const char *text);

/* One letter of UTF-8 (RFC 3629); *bytes are taken. -1: none begins here, one byte is taken. */
int32_t pz_utf8_letter(const char *s, int *bytes);
/* UTF-8 as it is; other bytes as \xff. The caller frees it; NULL: out of memory. */
char *pz_utf8_copy(const char *text);

#endif
