/* json.h: names in JSON, and JSON as text. A JSON string is UTF-8, a name is any bytes; and a report is printed on terminals too. */
#ifndef PZ_BASE_JSON_H
#define PZ_BASE_JSON_H

#include "base/inert.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The name; bytes of it that are not UTF-8 as \xff. NULL: out of memory. */
static inline json_t *pz_json_name(const char *name) {
  json_t *exact = json_string(name);
  char *copy = exact ? NULL : pz_utf8_copy(name);
  json_t *json = exact ? exact : copy ? json_string(copy) : NULL;
  free(copy);
  return json;
}

/* ASCII without controls but for line ends: other letters are \uXXXX, so that no terminal obeys them. The caller frees it; NULL: out of
 * memory. */
static inline char *pz_json_print(const json_t *json, size_t flags) {
  char *text = json_dumps(json, flags | JSON_ENSURE_ASCII), *wide = NULL;
  size_t deletes = 0; /* of all letters below 0x80 that jansson does not escape, the one that no text has */
  for (const char *s = text; s && (s = strchr(s, 0x7F)); s++) deletes++;
  if (!deletes) return text;
  if ((wide = malloc(strlen(text) + 5 * deletes + 1))) {
    char *to = wide;
    for (const char *s = text; *s; s++)
      if (*s != 0x7F) *to++ = *s;
      else memcpy(to, "\\u007f", 6), to += 6;
    *to = 0;
  }
  free(text);
  return wide;
}

#endif
