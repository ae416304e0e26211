#include "formats/axes.h"

#include "base/arena.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char volume_axes[] = "czyx";

static bool is_letter(char c) { return c && strchr("tczyx", c); }

static int find(const char *letters, int rank, char letter) {
  for (int i = 0; i < rank; i++)
    if (letters[i] == letter) return i;
  return -1;
}

bool pz_array_make(pz_array *array, int rank, const int64_t *size) {
  int surplus = rank - PZ_AXES_RANK;
  *array = (pz_array){0};
  for (int i = 0; i < rank; i++) {
    if (surplus > 0 && size[i] == 1) {
      surplus--;
      continue;
    }
    if (array->rank == PZ_AXES_RANK) return false;
    array->size[array->rank++] = size[i];
  }
  int64_t stride = 1;
  for (int i = array->rank - 1; i >= 0; i--) {
    array->stride[i] = stride;
    if (!pz_mul_i64(stride, array->size[i], &stride)) stride = 0; /* too large for any file: checked later */
  }
  return true;
}

/* ------------------------------------------------------------------ the user's choice */

static pz_status take_axes(const char *axes, pz_axes_choice *choice, pz_error *err) {
  const size_t n = strlen(axes);
  bool good = n >= 2 && n <= 5;
  for (size_t i = 0; i < n && good; i++) {
    choice->axes[i] = (char)tolower((unsigned char)axes[i]);
    good = is_letter(choice->axes[i]) && find(choice->axes, (int)i, choice->axes[i]) < 0;
  }
  if (good && strchr(choice->axes, 'y') && strchr(choice->axes, 'x')) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_USAGE,
      "--axes %.40s: expected y, x and others of t, c, z once each, the slowest first, as in zyx or zyxc",
      axes);
}

static bool take_place(const char **at, pz_axes_choice *choice) {
  const char letter = (*at)[0];
  char *end;
  if ((letter != 't' && letter != 'c') || (*at)[1] != '=' || !isdigit((unsigned char)(*at)[2])) return false;
  const int64_t value = strtoll(*at + 2, &end, 10);
  bool *given = letter == 't' ? &choice->at_t : &choice->at_c;
  if (*given) return false;
  *given = true, *(letter == 't' ? &choice->t : &choice->c) = value;
  *at = end;
  return true;
}

pz_status pz_axes_choose(const char *axes, const char *at, pz_axes_choice *choice, pz_error *err) {
  *choice = (pz_axes_choice){0};
  if (axes && *axes) PZ_TRY(take_axes(axes, choice, err));
  if (!at || !*at) return PZ_OK;
  const char *rest = at;
  bool good = take_place(&rest, choice);
  while (good && *rest == ',') rest++, good = take_place(&rest, choice);
  if (good && !*rest) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "--at %.40s: expected a time point or a channel, counted from 0, as in t=3 or t=3,c=0", at);
}

static int longer_axes(const pz_array *a) {
  int n = 0;
  for (int i = 0; i < a->rank; i++) n += a->size[i] > 1;
  return n;
}

bool pz_axes_fit(const pz_array *array, const char *letters) {
  const int n = (int)strlen(letters);
  return n == array->rank || n == longer_axes(array);
}

/* ------------------------------------------------------------------ words */

static int print_sizes(const pz_array *a, char *out, int size) {
  int n = 0;
  for (int i = 0; i < a->rank && n < size; i++)
    n += snprintf(out + n, (size_t)(size - n), "%s%lld", i ? " x " : "", (long long)a->size[i]);
  return n < size ? n : size - 1;
}

const char *pz_axes_words(const pz_array *a, char words[PZ_AXES_WORDS]) {
  int n = print_sizes(a, words, PZ_AXES_WORDS);
  if (!a->said_by) return words;
  for (int i = 0; i < a->rank && n < PZ_AXES_WORDS; i++)
    n += snprintf(words + n, (size_t)(PZ_AXES_WORDS - n), "%s%c", i ? ", " : " (",
                  a->axis[i] ? a->axis[i] : '?');
  if (n < PZ_AXES_WORDS) snprintf(words + n, (size_t)(PZ_AXES_WORDS - n), " by %s)", a->said_by);
  return words;
}

/* ------------------------------------------------------------------ letters */

/* The user's letters, to all axes, or to those that are longer than 1. */
static pz_status use_choice(const char *path, const pz_array *a, const char *letters, char *to,
                            pz_error *err) {
  char words[PZ_AXES_WORDS];
  const bool all = (int)strlen(letters) == a->rank;
  if (!pz_axes_fit(a, letters))
    return pz_fail(err, PZ_ERROR_USAGE, "%s: --axes %s names %d axes, the array is %s", path, letters,
                   (int)strlen(letters), pz_axes_words(a, words));
  for (int i = 0; i < a->rank; i++) to[i] = all || a->size[i] > 1 ? *letters++ : 0;
  return PZ_OK;
}

/* What an example for --axes should look like, for an array of n axes. */
static const char *example(int n) {
  static const char *const letters[] = {"yx", "zyx", "czyx", "tczyx"};
  return letters[n <= 2 ? 0 : n >= 5 ? 3 : n - 2];
}

/* Axes without a name take the last of c, z, y, x that are free. Where those are too few, axes of length 1 are none. */
static pz_status name_rest(const char *path, const pz_array *a, char *to, pz_error *err) {
  char words[PZ_AXES_WORDS], open[sizeof volume_axes] = "";
  int free_letters = 0, unnamed = 0;
  for (const char *c = volume_axes; *c; c++)
    if (find(to, a->rank, *c) < 0) open[free_letters++] = *c;
  for (int i = 0; i < a->rank; i++) unnamed += !to[i];
  bool skip[PZ_AXES_RANK] = {false};
  for (int i = 0; i < a->rank && unnamed > free_letters; i++)
    if (!to[i] && a->size[i] == 1) skip[i] = true, unnamed--;
  if (unnamed > free_letters)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: nothing says which axis is which in an array of %s; say it, as by --axes %s", path,
                   pz_axes_words(a, words), example(longer_axes(a)));
  const char *letter = open + free_letters - unnamed;
  for (int i = 0; i < a->rank; i++)
    if (!to[i] && !skip[i]) to[i] = *letter++;
  return PZ_OK;
}

static pz_status check_letters(const char *path, const pz_array *a, const char *letters, pz_error *err) {
  char words[PZ_AXES_WORDS];
  for (int i = 0; i < a->rank; i++) {
    if (a->size[i] > 1 && !is_letter(letters[i]))
      return pz_fail(
          err, PZ_ERROR_INPUT,
          "%s: %lld along an axis '%c' in an array of %s; expected t, c, z, y and x: say what it is, as "
          "by --axes %s, or save one of them alone",
          path, (long long)a->size[i], letters[i], pz_axes_words(a, words), example(longer_axes(a)));
    if (is_letter(letters[i]) && find(letters, i, letters[i]) >= 0)
      return pz_fail(err, PZ_ERROR_INPUT,
                     "%s: two axes '%c' in an array of %s; say what they are, as by --axes %s", path,
                     letters[i], pz_axes_words(a, words), example(longer_axes(a)));
  }
  return PZ_OK;
}

/* y and x may be missing where they are 1 long, but not both: that is no picture. */
static pz_status check_plane(const char *path, const pz_array *a, const char *letters, pz_error *err) {
  char words[PZ_AXES_WORDS];
  if (find(letters, a->rank, 'y') >= 0 || find(letters, a->rank, 'x') >= 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: an array of %s has no axes y and x; expected [z, y, x]", path,
                 pz_axes_words(a, words));
}

/* ------------------------------------------------------------------ one of several */

static int64_t size_of(const pz_array *a, int axis) { return axis < 0 ? 1 : a->size[axis]; }

static pz_status check_place(const char *path, const char *what, int64_t at, int64_t size, pz_error *err) {
  if (at < size) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE, "%s: --at %c=%lld: there %s %lld %s%s, counted from 0", path, *what,
                 (long long)at, size == 1 ? "is" : "are", (long long)size, what + 2, size == 1 ? "" : "s");
}

static pz_status choose_time(const char *path, const pz_array *a, const pz_axes_choice *choice, pz_axes *axes,
                             pz_error *err) {
  char words[PZ_AXES_WORDS];
  const int t = find(axes->letter, a->rank, 't');
  axes->time_points = size_of(a, t);
  if (choice->at_t) {
    PZ_TRY(check_place(path, "t time point", choice->t, axes->time_points, err));
    if (t >= 0) axes->index[t] = choice->t;
    return PZ_OK;
  }
  if (axes->time_points <= 1 || choice->any_time) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: %lld time points in an array of %s; choose one, as by --at t=0, or say what they are, as by "
      "--axes %s",
      path, (long long)axes->time_points, pz_axes_words(a, words), example(longer_axes(a)));
}

static pz_status choose_channel(const char *path, const pz_array *a, const pz_axes_choice *choice,
                                pz_axes *axes, pz_error *err) {
  const int c = find(axes->letter, a->rank, 'c');
  axes->of[0] = c;
  axes->channels = size_of(a, c);
  if (!choice->at_c) return PZ_OK;
  PZ_TRY(check_place(path, "c channel", choice->c, axes->channels, err));
  if (c >= 0) axes->index[c] = choice->c;
  axes->of[0] = -1;
  axes->channels = 1;
  return PZ_OK;
}

pz_status pz_axes_resolve(const char *path, const pz_array *a, const pz_axes_choice *given, pz_axes *axes,
                          pz_error *err) {
  static const pz_axes_choice nothing = {.any_time = false};
  const pz_axes_choice *choice = given ? given : &nothing;
  *axes = (pz_axes){.channels = 1};
  memcpy(axes->letter, a->axis, sizeof axes->letter);
  if (a->rank < 2 && !choice->axes[0])
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %d dimension%s; expected [z, y, x] or [channels, z, y, x]", path,
                   a->rank, a->rank == 1 ? "" : "s");
  PZ_TRY(choice->axes[0] ? use_choice(path, a, choice->axes, axes->letter, err)
                         : name_rest(path, a, axes->letter, err));
  PZ_TRY(check_letters(path, a, axes->letter, err));
  PZ_TRY(check_plane(path, a, axes->letter, err));
  PZ_TRY(choose_time(path, a, choice, axes, err));
  PZ_TRY(choose_channel(path, a, choice, axes, err));
  for (int i = 1; i < 4; i++) {
    axes->of[i] = find(axes->letter, a->rank, volume_axes[i]);
    axes->shape[i - 1] = size_of(a, axes->of[i]);
  }
  return PZ_OK;
}

/* z may take the place of another axis: the planes of a stack are as far apart whatever they were called. */
bool pz_axes_keep_geometry(const pz_array *a, const pz_axes *axes) {
  int last = -1;
  for (int i = 1; i < 4; i++) {
    const int at = axes->of[i];
    const char letter = volume_axes[i];
    if (at < 0) continue;
    if (at < last) return false;
    last = at;
    if (!a->axis[at] || a->axis[at] == letter) continue;
    const int own = find(a->axis, a->rank, letter);
    if (letter != 'z' || strchr("yx", a->axis[at]) || (own >= 0 && a->size[own] > 1)) return false;
  }
  return true;
}

/* ------------------------------------------------------------------ another number of channels */

/* Letters that make `c` the channels; the others are z, y, x in their order. "" where that cannot be. */
static void letters_with(const pz_array *a, int c, char out[PZ_AXES_RANK + 1]) {
  const int n = longer_axes(a), spatial = n - (c >= 0);
  *out = 0;
  if (spatial < 2 || spatial > 3) return;
  const char *rest = spatial == 2 ? "yx" : "zyx";
  for (int i = 0; i < a->rank; i++)
    if (a->size[i] > 1) *out++ = i == c ? 'c' : *rest++;
  *out = 0;
}

const char *pz_axes_suggest(const pz_array *a, const pz_axes *axes, int64_t channels,
                            char words[2 * PZ_AXES_WORDS]) {
  char array[PZ_AXES_WORDS], letters[PZ_AXES_RANK + 1] = "";
  const int c = axes->of[0];
  for (int i = a->rank - 1; i >= 0 && channels > 1 && !*letters; i--)
    if (a->size[i] == channels && i != c) letters_with(a, i, letters);
  if (channels == 1 && c >= 0 && axes->time_points == 1) letters_with(a, -1, letters);
  int n = snprintf(words, 2 * PZ_AXES_WORDS, "; its array is %s", pz_axes_words(a, array));
  if (*letters)
    n += snprintf(words + n, (size_t)(2 * PZ_AXES_WORDS - n), "; --axes %s would take it as %s", letters,
                  channels == 1 ? "one channel" : "that many");
  if (channels == 1 && c >= 0)
    snprintf(words + n, (size_t)(2 * PZ_AXES_WORDS - n), "%s --at c=0 takes one of them",
             *letters ? "," : ";");
  return words;
}

/* ------------------------------------------------------------------ boxes */

pz_array_box pz_axes_box(const pz_array *a, const pz_axes *axes, const pz_box *box, int64_t element,
                         const int64_t stride[3]) {
  pz_array_box out = {.rank = a->rank};
  for (int i = 0; i < a->rank; i++) out.start[i] = axes->index[i], out.count[i] = 1;
  for (int i = 0; i < 4; i++) {
    const int at = axes->of[i];
    if (at < 0) continue;
    out.start[at] = i ? box->start[i - 1] : 0;
    out.count[at] = i ? box->size[i - 1] : axes->channels;
    out.to[at] = i < 3 ? stride[i] : element;
  }
  return out;
}

void pz_axes_rows(const pz_array *a, const pz_axes *axes, int64_t step[3]) {
  int closest = -1;
  for (int i = 2; i >= 0; i--) {
    step[i] = 1;
    if (axes->shape[i] == 1) continue;
    if (closest < 0 || a->stride[axes->of[i + 1]] < a->stride[axes->of[closest + 1]]) closest = i;
  }
  if (closest >= 0) step[closest] = axes->shape[closest];
}

typedef struct copy {
  int rank;
  int64_t from[PZ_AXES_RANK], to[PZ_AXES_RANK], count[PZ_AXES_RANK], element;
} copy;

#define DEFINE_ROW(bits)                                                                                     \
  static void row_##bits(const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t n) {    \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      uint##bits##_t v;                                                                                      \
      memcpy(&v, from + i * from_stride, sizeof v);                                                          \
      memcpy(to + i * to_stride, &v, sizeof v);                                                              \
    }                                                                                                        \
  }
DEFINE_ROW(8)
DEFINE_ROW(16)
DEFINE_ROW(32)
DEFINE_ROW(64)

static void row(const copy *c, const char *from, char *to, int axis) {
  const int64_t n = c->count[axis], f = c->from[axis], t = c->to[axis];
  if (f == c->element && t == c->element) memcpy(to, from, (size_t)(n * c->element));
  else if (c->element == 1) row_8(from, f, to, t, n);
  else if (c->element == 2) row_16(from, f, to, t, n);
  else if (c->element == 4) row_32(from, f, to, t, n);
  else if (c->element == 8) row_64(from, f, to, t, n);
  else
    for (int64_t i = 0; i < n; i++) memcpy(to + i * t, from + i * f, (size_t)c->element);
}

static void copy_axes(const copy *c, const char *from, char *to, int axis) {
  if (axis == c->rank - 1) {
    row(c, from, to, axis);
    return;
  }
  for (int64_t i = 0; i < c->count[axis]; i++)
    copy_axes(c, from + i * c->from[axis], to + i * c->to[axis], axis + 1);
}

static void exchange(int64_t *a, int64_t *b) {
  const int64_t kept = *a;
  *a = *b, *b = kept;
}

/* The axis along which the destination is dense is the innermost one; two axes that follow on each other on both sides are one. */
void pz_copy_strided(const char *from, const int64_t *from_stride, char *to, const int64_t *to_stride,
                     const int64_t *count, int rank, int64_t element) {
  copy c = {.element = element};
  for (int i = 0; i < rank; i++) {
    if (count[i] == 1) continue;
    const int p = c.rank - 1;
    if (p >= 0 && c.from[p] == from_stride[i] * count[i] && c.to[p] == to_stride[i] * count[i]) {
      c.from[p] = from_stride[i], c.to[p] = to_stride[i], c.count[p] *= count[i];
      continue;
    }
    c.from[c.rank] = from_stride[i], c.to[c.rank] = to_stride[i], c.count[c.rank++] = count[i];
  }
  if (c.rank == 0) c.from[0] = c.to[0] = element, c.count[c.rank++] = 1;
  const int last = c.rank - 1;
  for (int i = 0; i < last; i++)
    if (c.to[i] == element && c.to[last] != element) {
      exchange(&c.from[i], &c.from[last]);
      exchange(&c.to[i], &c.to[last]);
      exchange(&c.count[i], &c.count[last]);
    }
  copy_axes(&c, from, to, 0);
}
