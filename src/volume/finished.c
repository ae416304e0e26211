#include "volume/finished.h"

#include "base/digest.h"
#include "volume/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE "user.pznet.finished"
#define SUFFIX    ".pznet-finished"

/* A file system keeps attributes of some kilobytes. The facts in words are there for a message; the digest decides. */
enum { TEXT = 3584, WORD = 96, DIGEST = PZ_DIGEST_TEXT - 1 };

/* ------------------------------------------------------------------ the text */

static bool counts(const pz_job_fact *fact) { return strcmp(fact->name, PZ_FACT_PLACE) != 0; }

static void digest_facts(const pz_facts *facts, char text[PZ_DIGEST_TEXT]) {
  pz_digest digest;
  pz_digest_begin(&digest);
  for (int i = 0; i < facts->n; i++) {
    if (!counts(&facts->fact[i])) continue;
    pz_digest_add(&digest, facts->fact[i].name, strlen(facts->fact[i].name) + 1);
    pz_digest_add(&digest, facts->fact[i].value, strlen(facts->fact[i].value) + 1);
  }
  pz_digest_end_text(&digest, text);
}

/* A value as one word of a line: without control characters, its beginning only. */
static void word(const char *value, char out[WORD]) {
  snprintf(out, WORD, "%s", value);
  for (char *c = out; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* Line 1: kind, digest of the facts, size and time of the output, counts. Then a line for each fact, as far as there is room. */
static int print(const pz_facts *facts, const struct stat *info, pz_job_tally tally, char out[TEXT]) {
  char digest[PZ_DIGEST_TEXT], value[WORD];
  digest_facts(facts, digest);
  int n = snprintf(out, TEXT, "pznet-1 %s %lld %lld.%09ld %lld %lld\n", digest, (long long)info->st_size,
                   (long long)info->st_mtim.tv_sec, (long)info->st_mtim.tv_nsec, (long long)tally.clipped,
                   (long long)tally.not_finite);
  for (int i = 0; i < facts->n; i++) {
    const pz_job_fact *f = &facts->fact[i];
    if (!counts(f)) continue;
    word(f->value, value);
    const int more = (int)strlen(f->name) + (int)strlen(value) + 2;
    if (n + more >= TEXT) break;
    n += snprintf(out + n, (size_t)(TEXT - n), "%s\t%s\n", f->name, value);
  }
  return n;
}

/* ------------------------------------------------------------------ where it lies */

static bool path_beside(const char *output, const char *more, char path[PATH_MAX]) {
  return snprintf(path, PATH_MAX, "%s" SUFFIX "%s", output, more) < PATH_MAX;
}

/* A new file that is renamed, so that nothing is written through a link that somebody has laid there. */
static void write_beside(const char *output, const char *text, int n) {
  char path[PATH_MAX], fresh[PATH_MAX];
  if (!path_beside(output, "", path) || !path_beside(output, ".new", fresh)) return;
  unlink(fresh);
  const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return;
  const bool written = write(fd, text, (size_t)n) == n;
  if (close(fd) != 0 || !written || rename(fresh, path) != 0) unlink(fresh);
}

static int read_beside(const char *output, char text[TEXT + 1]) {
  char path[PATH_MAX];
  struct stat info;
  if (!path_beside(output, "", path)) return -1;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t n = regular ? read(fd, text, TEXT) : -1;
  close(fd);
  return (int)n;
}

void pz_finished_remember(const char *whole, const char *output, const pz_facts *facts, pz_job_tally tally,
                          bool beside) {
  char text[TEXT];
  struct stat info;
  const int fd = open(whole, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (pz_identity_settle(fd, &info)) {
    const int n = print(facts, &info, tally, text);
    if (fsetxattr(fd, ATTRIBUTE, text, (size_t)n, 0) != 0 && beside) write_beside(output, text, n);
  }
  close(fd);
}

/* ------------------------------------------------------------------ reading */

/* The value of a fact in the text, which ends with a NUL; false: there is none. */
static bool remembered(const char *text, const char *name, char value[WORD]) {
  const size_t n = strlen(name);
  for (const char *line = strchr(text, '\n'); line && *++line; line = strchr(line, '\n'))
    if (strncmp(line, name, n) == 0 && line[n] == '\t') {
      snprintf(value, WORD, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
      return true;
    }
  return false;
}

static void compare(const char *text, const pz_facts *facts, char *why, size_t size) {
  char old[WORD], now[WORD];
  snprintf(why, size, "it was made by another version of pznet");
  for (int i = 0; i < facts->n; i++) {
    const pz_job_fact *f = &facts->fact[i];
    word(f->value, now);
    if (!counts(f) || !remembered(text, f->name, old) || strcmp(old, now) == 0) continue;
    char was[WORD];
    word(old, was);
    snprintf(why, size, "the %s was %s when it was made and is %s now", f->name, was, now);
    return;
  }
}

bool pz_finished_find(const char *output, const pz_facts *facts, pz_job_tally *tally, char *why,
                      size_t size) {
  char text[TEXT + 1], digest[PZ_DIGEST_TEXT], now[PZ_DIGEST_TEXT];
  long long bytes, seconds, clipped, not_finite;
  long nanoseconds;
  struct stat info;
  *why = 0;
  if (stat(output, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  ssize_t n = getxattr(output, ATTRIBUTE, text, TEXT);
  if (n < 0) n = read_beside(output, text);
  text[n < 0 ? 0 : n] = 0;
  snprintf(why, size, "nothing says which run made it");
  if (sscanf(text, "pznet-1 %64[0-9a-f] %lld %lld.%9ld %lld %lld\n", digest, &bytes, &seconds, &nanoseconds,
             &clipped, &not_finite) != 6)
    return false;
  snprintf(why, size, "it was changed after it was made");
  if (bytes != info.st_size || seconds != info.st_mtim.tv_sec || nanoseconds != info.st_mtim.tv_nsec)
    return false;
  digest_facts(facts, now);
  *tally = (pz_job_tally){.clipped = clipped, .not_finite = not_finite};
  if (strcmp(digest, now) == 0) return *why = 0, true;
  compare(text, facts, why, size);
  return false;
}
