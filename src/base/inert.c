#include "base/inert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- letters ---- */

int32_t pz_utf8_letter(const char *s, int *bytes) {
  static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char first = (unsigned char)*s;
  const int n = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  int32_t code = n == 1 ? first : first & (0x7F >> n);
  *bytes = 1;
  for (int i = 1; i < n; i++) {
    if (((unsigned char)s[i] & 0xC0) != 0x80) return -1;
    code = code << 6 | ((unsigned char)s[i] & 0x3F);
  }
  if (!n || code < least[n] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return -1;
  *bytes = n;
  return code;
}

/* From the first to the last of what is not shown. Among them: joiners and marks of direction, the byte order mark, tags. */
static const struct {
  int32_t first, last;
} hidden[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
              {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
              {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};

static bool is_shown(int32_t code) {
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    if (code >= hidden[i].first && code <= hidden[i].last) return false;
  return code >= 0 && (code & 0xFFFE) != 0xFFFE;
}

/* ---- terminals ---- */

enum { PIECE = 12 };
/* The letter at s as it is shown, and how many bytes of s that takes. */
static size_t show(const char *s, int *bytes, char out[PIECE]) {
  const int32_t code = pz_utf8_letter(s, bytes);
  if (is_shown(code)) return memcpy(out, s, (size_t)*bytes), (size_t)*bytes;
  const bool byte = code < 0x80;
  return (size_t)snprintf(out, PIECE,
                          byte            ? "\\x%02x"
                          : code > 0xFFFF ? "\\U%08x"
                                          : "\\u%04x",
                          byte ? (unsigned)(unsigned char)*s : (unsigned)code);
}

static size_t shown_size(const char *text) {
  char piece[PIECE];
  size_t size = 0;
  for (int bytes; *text; text += bytes) size += show(text, &bytes, piece);
  return size;
}

size_t pz_inert(const char *text, char *out, size_t room) {
  static const char gap[] = "...";
  const size_t all = shown_size(text), most = room - 1, gap_size = most < sizeof gap ? 0 : sizeof gap - 1;
  const size_t tail = all > most ? (most - gap_size) / 3 : 0,
               head = all > most ? most - gap_size - tail : all;
  char piece[PIECE];
  size_t at = 0, size = 0;
  bool cut = false;
  for (int bytes; *text; text += bytes) {
    const size_t n = show(text, &bytes, piece), begin = at;
    at += n;
    if (at > head && all - begin > tail) {
      if (!cut) memcpy(out + size, gap, gap_size), size += gap_size;
      cut = true;
      continue;
    }
    memcpy(out + size, piece, n);
    size += n;
  }
  out[size] = 0;
  return size;
}

void pz_inert_append(pz_text *out, const char *text) {
  char shown[PZ_INERT_MOST + 1];
  pz_text_append_bytes(out, shown, pz_inert(text, shown, sizeof shown));
}

const char *pz_inert_in(pz_arena *arena, const char *text) {
  char shown[PZ_INERT_MOST + 1];
  pz_inert(text, shown, sizeof shown);
  if (!strcmp(shown, text)) return text;
  const char *copy = pz_arena_strdup(arena, shown);
  return copy ? copy : "?";
}

/* ---- C ---- */

static bool is_ascii(char c) { return c >= 0x20 && c < 0x7F; }

/* No slash becomes the begin or the end of a comment without an asterisk; no line of a comment ends with a backslash; no question
 * mark is part of a trigraph. */
void pz_inert_c_comment(pz_text *out, const char *text) {
  char shown[PZ_INERT_MOST + 1];
  pz_inert(text, shown, sizeof shown);
  for (const char *s = shown; *s; s++)
    if (is_ascii(*s) && !strchr("*?\\", *s)) pz_text_append_bytes(out, s, 1);
    else pz_text_printf(out, "%%%02x", (unsigned)(unsigned char)*s);
}

void pz_inert_c_string(pz_text *out, const char *text) {
  for (const char *s = text; *s; s++)
    if (is_ascii(*s) && !strchr("\"?\\", *s)) pz_text_append_bytes(out, s, 1);
    else pz_text_printf(out, "\\%03o", (unsigned)(unsigned char)*s);
}

/* ---- pages, drawings, shells ---- */

void pz_inert_dot(pz_text *out, const char *text) {
  char shown[PZ_INERT_MOST + 1];
  pz_inert(text, shown, sizeof shown);
  for (const char *s = shown; *s; s++) {
    if (*s == '"' || *s == '\\') pz_text_append(out, "\\");
    pz_text_append_bytes(out, s, 1);
  }
}

static size_t count_letters(const char *s) {
  size_t n = 0;
  for (int bytes; *s; s += bytes, n++) (void)pz_utf8_letter(s, &bytes);
  return n;
}

static void put_letter(pz_text *out, const char *s, int bytes, int32_t code) {
  if (!is_shown(code)) pz_text_append(out, "?");
  else if (code == '&') pz_text_append(out, "&amp;");
  else if (code == '<') pz_text_append(out, "&lt;");
  else if (code == '>') pz_text_append(out, "&gt;");
  else if (code == '"') pz_text_append(out, "&quot;");
  else if (code == '\'') pz_text_append(out, "&#39;");
  else pz_text_append_bytes(out, s, (size_t)bytes);
}

void pz_inert_html(pz_text *out, const char *text, size_t most) {
  const bool cut = count_letters(text) > most;
  int bytes;
  for (size_t n = 0; *text && n + cut < most; n++, text += bytes) {
    const int32_t code = pz_utf8_letter(text, &bytes);
    put_letter(out, text, bytes, code);
  }
  if (cut) pz_text_append(out, "\xE2\x80\xA6");
}

/* Quoted, a quote is closed, escaped and opened again. What is not inert cannot be typed anyway. */
void pz_inert_shell(pz_text *out, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@%-";
  char shown[PZ_INERT_MOST + 1];
  pz_inert(text, shown, sizeof shown);
  if (*shown && !shown[strspn(shown, plain)]) {
    pz_text_append(out, shown);
    return;
  }
  pz_text_append(out, "'");
  for (const char *s = shown; *s; s++)
    if (*s == '\'') pz_text_append(out, "'\\''");
    else pz_text_append_bytes(out, s, 1);
  pz_text_append(out, "'");
}

char *pz_utf8_copy(const char *text) {
  pz_text out = {0};
  pz_text_append(&out, "");
  for (int bytes; *text; text += bytes)
    if (pz_utf8_letter(text, &bytes) >= 0) pz_text_append_bytes(&out, text, (size_t)bytes);
    else pz_text_printf(&out, "\\x%02x", (unsigned)(unsigned char)*text);
  if (out.failed) pz_text_free(&out);
  return out.data;
}
