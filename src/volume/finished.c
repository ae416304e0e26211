#include "volume/finished.h"

#include "base/digest.h"
#include "formats/identity.h"

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
#define FRESH     ".new" /* what SUFFIX is followed by until the output is there */

/* A file system keeps attributes of some kilobytes. The facts in words are there for a message; the digest decides. */
enum { TEXT = 3584, WORD = 96, LINE = 160 };

/* ------------------------------------------------------------------ the text */

/* Line 1: kind, size and time of the output. Then a record of each result: a line that begins with MARK, and a line for each fact of
 * its run, as far as there is room. */
#define MARK '='

typedef struct record {
  pz_finished_places places;
  char digest[PZ_DIGEST_TEXT]; /* of the facts */
  pz_job_tally tally;
} record;

bool pz_finished_counts(pz_finished_places places, const pz_job_fact *fact) {
  static const char *const never[] = {PZ_FACT_PLACE, PZ_FACT_MASK_PLACE, PZ_FACT_BESIDE},
                           *const of_the_file[] = {PZ_FACT_SIZE, PZ_FACT_TIME, PZ_FACT_DIGEST};
  for (size_t i = 0; i < sizeof never / sizeof *never; i++)
    if (strcmp(fact->name, never[i]) == 0) return false;
  for (size_t i = 0; places.input && i < sizeof of_the_file / sizeof *of_the_file; i++)
    if (strcmp(fact->name, of_the_file[i]) == 0) return false;
  return true;
}

static void digest_facts(pz_finished_places places, const pz_facts *facts, char text[PZ_DIGEST_TEXT]) {
  pz_digest digest;
  pz_digest_begin(&digest);
  for (int i = 0; i < facts->n; i++) {
    if (!pz_finished_counts(places, &facts->fact[i])) continue;
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

static int print_head(const struct stat *info, char *out) {
  return snprintf(out, LINE, "pznet-2 %lld %lld.%09ld\n", (long long)info->st_size,
                  (long long)info->st_mtim.tv_sec, (long)info->st_mtim.tv_nsec);
}

static int print_line(const pz_finished_run *run, char out[LINE]) {
  char digest[PZ_DIGEST_TEXT];
  digest_facts(run->places, run->facts, digest);
  return snprintf(out, LINE, "%c%llx %llx %s %lld %lld\n", MARK, (unsigned long long)run->places.output,
                  (unsigned long long)run->places.input, digest, (long long)run->tally.clipped,
                  (long long)run->tally.not_finite);
}

/* At most `room` bytes of whole lines. */
static int print_words(const pz_finished_run *run, char *out, int room) {
  char value[WORD];
  int n = 0;
  for (int i = 0; i < run->facts->n; i++) {
    const pz_job_fact *f = &run->facts->fact[i];
    if (!pz_finished_counts(run->places, f)) continue;
    word(f->value, value);
    const int more = (int)strlen(f->name) + (int)strlen(value) + 2;
    if (more >= room - n) break;
    n += snprintf(out + n, (size_t)(room - n), "%s\t%s\n", f->name, value);
  }
  return n;
}

static const char *next_line(const char *text) {
  const char *end = strchr(text, '\n');
  return end ? end + 1 : text + strlen(text);
}

/* The first record at or behind `text`, which is at the beginning of a line; NULL: there is none that is sound. */
static const char *next_record(const char *text, record *r) {
  unsigned long long output, input;
  long long clipped, not_finite;
  for (; *text; text = next_line(text))
    if (*text == MARK && sscanf(text + 1, "%llx %llx %64[0-9a-f] %lld %lld\n", &output, &input, r->digest,
                                &clipped, &not_finite) == 5) {
      r->places = (pz_finished_places){output, input};
      r->tally = (pz_job_tally){.clipped = clipped, .not_finite = not_finite};
      return text;
    }
  return NULL;
}

/* Where the words of a record end. */
static const char *end_of(const char *text) {
  do text = next_line(text);
  while (*text && *text != MARK);
  return text;
}

/* ------------------------------------------------------------------ where it lies */

static bool path_beside(const char *output, const char *more, char path[PATH_MAX]) {
  return snprintf(path, PATH_MAX, "%s" SUFFIX "%s", output, more) < PATH_MAX;
}

/* A new file, so that nothing is written through a link that somebody has laid there. */
static bool write_beside(const char *output, const char *text, int n) {
  char fresh[PATH_MAX];
  if (!path_beside(output, FRESH, fresh)) return false;
  unlink(fresh);
  const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  const bool written = write(fd, text, (size_t)n) == n;
  if (close(fd) == 0 && written) return true;
  unlink(fresh);
  return false;
}

void pz_finished_settle(const char *output, bool published) {
  char path[PATH_MAX], fresh[PATH_MAX];
  if (!path_beside(output, "", path) || !path_beside(output, FRESH, fresh)) return;
  if (!published || rename(fresh, path) != 0) unlink(fresh);
}

static int read_beside(const char *output, const char *more, char text[TEXT + 1]) {
  char path[PATH_MAX];
  struct stat info;
  if (!path_beside(output, more, path)) return -1;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t n = regular ? read(fd, text, TEXT) : -1;
  close(fd);
  return (int)n;
}

/* ------------------------------------------------------------------ reading */

/* What is known of the file that is at `output` now. */
typedef enum knowledge { NOTHING, OF_ANOTHER, ITS_OWN } knowledge;

static knowledge judge(char *text, ssize_t n, const struct stat *info) {
  long long bytes, seconds;
  long nanoseconds;
  record first;
  text[n < 0 ? 0 : n] = 0;
  if (sscanf(text, "pznet-2 %lld %lld.%9ld\n", &bytes, &seconds, &nanoseconds) != 3 ||
      !next_record(text, &first))
    return NOTHING;
  const bool same =
      bytes == info->st_size && seconds == info->st_mtim.tv_sec && nanoseconds == info->st_mtim.tv_nsec;
  return same ? ITS_OWN : OF_ANOTHER;
}

/* A run that ended between the output and the file beside it has left that with another name. */
static knowledge recall(const char *output, const struct stat *info, char text[TEXT + 1], bool *beside) {
  static const char *const files[] = {"", FRESH};
  knowledge best = judge(text, getxattr(output, ATTRIBUTE, text, TEXT), info);
  *beside = false;
  for (size_t i = 0; i < sizeof files / sizeof *files && best != ITS_OWN; i++) {
    const knowledge k = judge(text, read_beside(output, files[i], text), info);
    if (k > best) best = k, *beside = true;
  }
  return best;
}

/* The value of a fact in the words of the record; false: there is none. */
static bool remembered(const char *text, const char *name, char value[WORD]) {
  const size_t n = strlen(name);
  for (const char *line = next_line(text); *line && *line != MARK; line = next_line(line))
    if (strncmp(line, name, n) == 0 && line[n] == '\t') {
      snprintf(value, WORD, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
      return true;
    }
  return false;
}

static void compare(const char *text, pz_finished_places places, const pz_facts *facts, char *why,
                    size_t size) {
  char old[WORD], now[WORD];
  snprintf(why, size, "it was made with other options or by another version of pznet");
  for (int i = 0; i < facts->n; i++) {
    const pz_job_fact *f = &facts->fact[i];
    word(f->value, now);
    if (!pz_finished_counts(places, f) || !remembered(text, f->name, old) || strcmp(old, now) == 0) continue;
    char was[WORD];
    word(old, was);
    snprintf(why, size, "the %s was %s when it was made and is %s now", f->name, was, now);
    return;
  }
}

bool pz_finished_find(const char *output, pz_finished_places places, const pz_facts *facts,
                      pz_job_tally *tally, char *why, size_t size) {
  char text[TEXT + 1], now[PZ_DIGEST_TEXT];
  struct stat info;
  record r;
  bool beside;
  *why = 0;
  if (stat(output, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const knowledge known = recall(output, &info, text, &beside);
  snprintf(why, size,
           known == OF_ANOTHER ? "it was changed after it was made" : "nothing says which run made it");
  if (known != ITS_OWN) return false;
  const char *at = next_record(text, &r);
  while (at && r.places.output != places.output) at = next_record(next_line(at), &r);
  if (!at) return false;
  digest_facts(places, facts, now);
  *tally = r.tally;
  if (r.places.input == places.input && strcmp(r.digest, now) == 0) return *why = 0, true;
  if (r.places.input != places.input) snprintf(why, size, "it was made from another volume");
  else compare(at, places, facts, why, size);
  return false;
}

/* ------------------------------------------------------------------ writing */

/* A place that was taken anew says nothing of what was there before. */
static bool goes_on(const record *old, const pz_finished_run *run) {
  const uint64_t gone[] = {run->replaced, run->unknown ? 0 : run->places.output};
  for (int i = 0; i < 2; i++)
    if (gone[i] && (old->places.output == gone[i] || old->places.input == gone[i])) return false;
  return old->places.output != 0;
}

/* Bytes that the lines of the records from `text` on take, without their words. */
static int lines_of(const char *text, const pz_finished_run *run) {
  record r;
  int n = 0;
  while ((text = next_record(text, &r))) {
    const char *end = next_line(text);
    if (goes_on(&r, run)) n += (int)(end - text);
    text = end;
  }
  return n;
}

/* Lines of all records before words of any; what does not fit is forgotten, the oldest first. */
static int take_over(const char *text, const pz_finished_run *run, char *out, int room) {
  record r;
  int n = 0, left = lines_of(text, run);
  while ((text = next_record(text, &r))) {
    const char *end = end_of(text);
    const int line = (int)(next_line(text) - text), all = (int)(end - text);
    if (goes_on(&r, run)) {
      left -= line;
      const int take = n + all + left <= room ? all : line;
      if (n + take > room) break;
      memcpy(out + n, text, (size_t)take);
      n += take;
    }
    text = end;
  }
  return n;
}

static int print(const pz_finished_run *run, const struct stat *info, const char *old, char out[TEXT]) {
  int n = print_head(info, out);
  if (!run->unknown) {
    n += print_line(run, out + n);
    const int left = TEXT - n - lines_of(old, run);
    if (left > 0) n += print_words(run, out + n, left);
  }
  return n + take_over(old, run, out + n, TEXT - n);
}

bool pz_finished_remember(const char *whole, const char *output, const pz_finished_run *run, bool beside) {
  char text[TEXT], old[TEXT + 1] = "";
  struct stat info;
  bool was_beside = false, written = false;
  if (run->joins && (stat(output, &info) != 0 || recall(output, &info, old, &was_beside) != ITS_OWN))
    *old = 0;
  const int fd = open(whole, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  if (pz_identity_settle(fd, &info)) {
    const int n = print(run, &info, old, text);
    if (fsetxattr(fd, ATTRIBUTE, text, (size_t)n, 0) != 0 && (beside || (*old && was_beside)))
      written = write_beside(output, text, n);
  }
  close(fd);
  return written;
}
