/* parse.c: options of a verb, from its rows. */
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tool_print_help(const tool_verb *verb) {
  tool_print("usage: pznet %s %s\n\n%s\n", verb->name, verb->arguments, verb->details);
  for (const tool_option *o = verb->options; o->name; o++) {
    char left[64], letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
    tool_print("  %-28s %s\n", left, o->help);
  }
  tool_print("  %-28s %s\n", "-h, --help", "this text");
}

int tool_usage(const tool_verb *verb, const char *format, ...) {
  char *text = NULL;
  va_list list;
  va_start(list, format);
  if (vasprintf(&text, format, list) < 0) text = NULL;
  va_end(list);
  tool_warn("pznet %s: %s; see pznet %s --help\n", verb->name, text ? text : "wrong usage", verb->name);
  free(text);
  return PZ_ERROR_USAGE;
}

/* Older names of options, which stay. */
static const char *const renamed[][2] = {{"slabs", "fuse-rows"}};

static bool is_called(const tool_option *o, const char *word, size_t length) {
  if (strlen(o->name) == length && !strncmp(o->name, word, length)) return true;
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (!strcmp(o->name, renamed[i][1]) && strlen(renamed[i][0]) == length &&
        !strncmp(renamed[i][0], word, length))
      return true;
  return false;
}

static const tool_option *find_option(const tool_verb *verb, const char *word, size_t *length) {
  const bool is_long = word[1] == '-';
  *length = is_long ? 2 + strcspn(word + 2, "=") : 2;
  for (const tool_option *o = verb->options; o->name; o++)
    if (is_long ? is_called(o, word + 2, *length - 2) : o->letter == word[1]) return o;
  return NULL;
}

typedef struct cursor {
  int argc, at;
  char **argv;
} cursor;

static bool one_option(const tool_verb *verb, cursor *c, tool_set set, void *host) {
  const char *word = c->argv[c->at], *value = NULL;
  size_t length;
  const tool_option *o = find_option(verb, word, &length);
  if (!o) return tool_usage(verb, "no option %s", word), false;
  const char *attached = word[length] == '=' ? word + length + 1 : word[length] ? word + length : NULL;
  if (!o->value && attached) return tool_usage(verb, "--%s takes no value", o->name), false;
  if (o->value) {
    value = attached ? attached : c->at + 1 < c->argc ? c->argv[++c->at] : NULL;
    if (!value) return tool_usage(verb, "--%s wants a value: %s", o->name, o->value), false;
  }
  return set(host, o->name, value);
}

bool tool_parse(const tool_verb *verb, int argc, char **argv, tool_set set, void *host, const char **args,
                int max_args, int *n_args) {
  cursor c = {argc, 1, argv};
  *n_args = 0;
  for (bool options = true; c.at < argc; c.at++) {
    const char *word = argv[c.at];
    if (options && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
      tool_print_help(verb);
      exit(0);
    }
    if (options && !strcmp(word, "--")) options = false;
    else if (options && word[0] == '-' && word[1]) {
      if (!one_option(verb, &c, set, host)) return false;
    } else if (*n_args == max_args) return tool_usage(verb, "one argument too many: %s", word), false;
    else args[(*n_args)++] = word;
  }
  return true;
}

bool tool_int(const char *name, const char *value, long least, long most, int32_t *out) {
  char *end;
  errno = 0;
  const long v = strtol(value, &end, 10);
  if (errno || end == value || *end || v < least || v > most) {
    tool_warn("pznet: --%s %s: expected a whole number from %ld to %ld\n", name, value, least, most);
    return false;
  }
  *out = (int32_t)v;
  return true;
}

bool tool_seconds(const char *name, const char *value, double *out) {
  char *end;
  *out = strtod(value, &end);
  if (end != value && !*end && *out > 0 && *out <= 1e9) return true;
  tool_warn("pznet: --%s %s: expected a number of seconds above 0, such as 60\n", name, value);
  return false;
}

/* A number that begins with a digit; *end is what follows. */
static bool voxels(const char *at, const char **end, int32_t *out) {
  char *rest;
  if (!isdigit((unsigned char)*at)) return false;
  errno = 0;
  const long v = strtol(at, &rest, 10);
  *end = rest;
  *out = (int32_t)v;
  return !errno && v <= INT32_MAX;
}

bool tool_triple(const char *name, const char *value, int32_t out[3]) {
  const char *at = value;
  int n = 0;
  while (voxels(at, &at, &out[n]) && ++n < 3 && *at == ',' && at[1]) at++;
  if (n == 1) out[1] = out[2] = out[0];
  if ((n == 1 || n == 3) && !*at) return true;
  tool_warn("pznet: --%s %s: expected three numbers z,y,x such as 4,32,32, or one for all\n", name, value);
  return false;
}

bool tool_bytes(const char *name, const char *value, int64_t *out) {
  static const char units[] = "KMGT";
  char *end;
  const double v = strtod(value, &end);
  double scale = 1;
  const char *unit = isalpha((unsigned char)*end) ? strchr(units, toupper((unsigned char)*end)) : NULL;
  for (const char *u = units; unit && u <= unit; u++) scale *= 1024;
  if (end == value || !(v > 0) || v * scale > 9e18 ||
      (*end && (!unit || (end[1] && strcmp(end + 1, "iB") && strcmp(end + 1, "B"))))) {
    tool_warn("pznet: --%s %s: expected a size such as 4G, 512M or 1000000\n", name, value);
    return false;
  }
  *out = (int64_t)(v * scale);
  return true;
}

bool tool_choice(const char *name, const char *value, const char *const *names, int *out) {
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], value)) return *out = i, true;
  tool_warn("pznet: --%s %s: expected ", name, value);
  for (int i = 0; names[i]; i++) tool_warn("%s%s", i ? names[i + 1] ? ", " : " or " : "", names[i]);
  tool_warn("\n");
  return false;
}
