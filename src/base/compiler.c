#include "base/compiler.h"
#include "base/clock.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 30, MOST_SECONDS = 20 };

typedef struct command {
  char text[1024];
  char *words[MOST_WORDS + 2];
  const char *own; /* the words behind the compiler's name */
} command;

static pz_status split(const char *cc, command *c, pz_error *err) {
  int n = 0;
  char *rest = NULL;
  if ((size_t)snprintf(c->text, sizeof c->text, "%s", cc) >= sizeof c->text)
    return pz_fail(err, PZ_ERROR_RUN, "the C compiler's command is too long");
  for (char *word = strtok_r(c->text, " ", &rest); word && n < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
    c->words[n++] = word;
  if (n == 0) return pz_fail(err, PZ_ERROR_RUN, "the C compiler's name is empty");
  c->words[n++] = "--version";
  c->words[n] = NULL;
  cc += strspn(cc, " ");
  cc += strcspn(cc, " ");
  c->own = cc + strspn(cc, " ");
  return PZ_OK;
}

static pz_status start(const command *c, int *from, pz_process *child, pz_error *err) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return pz_fail(err, PZ_ERROR_RUN, "a pipe cannot be made: %s", strerror(errno));
  const int failed =
      pz_process_start((const char *const *)(uintptr_t)c->words, &(pz_process_place){.out = ends[1]}, child);
  close(ends[1]);
  *from = ends[0];
  if (!failed) return PZ_OK;
  close(ends[0]);
  return pz_fail(err, PZ_ERROR_RUN, "%s: cannot run this C compiler: %s; name another with --cc", c->words[0],
                 strerror(failed));
}

/* The beginning of what the compiler prints; the rest is read and dropped, so that it ends by itself. */
static pz_status listen_to(int from, const volatile int *interrupt, char *out, size_t size, pz_error *err) {
  const double end = pz_now() + MOST_SECONDS;
  char piece[512];
  size_t n = 0;
  for (;;) {
    struct pollfd wait = {.fd = from, .events = POLLIN};
    if (interrupt && *interrupt)
      return pz_fail(err, PZ_INTERRUPTED, "interrupted while asking the C compiler");
    if (pz_now() > end) return pz_fail(err, PZ_ERROR_RUN, "it did not end within %d seconds", MOST_SECONDS);
    if (poll(&wait, 1, 20) <= 0) continue;
    const ssize_t got = read(from, piece, sizeof piece);
    if (got < 0 && errno != EINTR) return pz_fail(err, PZ_ERROR_RUN, "%s", strerror(errno));
    if (got == 0) return out[n] = 0, PZ_OK;
    for (ssize_t i = 0; i < got && n + 1 < size; i++) out[n++] = piece[i];
  }
}

static void identity(const command *c, const char *printed, char out[PZ_COMPILER_TEXT]) {
  snprintf(out, PZ_COMPILER_TEXT, "%.*s%s%s", (int)strcspn(printed, "\r\n"), printed, *c->own ? ", " : "",
           c->own);
  for (char *at = out; *at; at++)
    if (*at < 0x20 || *at > 0x7e) *at = '?';
}

pz_status pz_compiler_identity(const char *cc, const volatile int *interrupt, char out[PZ_COMPILER_TEXT],
                               pz_error *err) {
  command c = {.own = ""};
  char printed[1024] = "";
  int from = -1, code = 0;
  pz_process child = {.life = -1};
  out[0] = 0;
  PZ_TRY(split(cc, &c, err));
  PZ_TRY(start(&c, &from, &child, err));
  pz_error problem = {0};
  const pz_status status = listen_to(from, interrupt, printed, sizeof printed, &problem);
  close(from);
  if (status != PZ_OK) pz_process_end((pz_process *const[]){&child}, 1);
  else
    while (!pz_process_ended(&child, &code)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  if (status == PZ_INTERRUPTED) return pz_fail(err, status, "%s", problem.message);
  if (status != PZ_OK) return pz_fail(err, status, "%s --version: %s", cc, problem.message);
  if (code || !printed[0] || strchr("\r\n", printed[0]))
    return pz_fail(err, PZ_ERROR_RUN, "%s --version does not say which C compiler this is", cc);
  identity(&c, printed, out);
  return PZ_OK;
}

/* "" where there is none. */
static void stamp(const char *cc, char *out, size_t size) {
  command c = {.own = ""};
  char path[4096];
  struct stat info;
  out[0] = 0;
  if (split(cc, &c, NULL) != PZ_OK || !pz_process_find(c.words[0], path, sizeof path) || stat(path, &info))
    return;
  snprintf(out, size, ", %lld %lld.%09ld", (long long)info.st_size, (long long)info.st_mtim.tv_sec,
           info.st_mtim.tv_nsec);
}

pz_status pz_compiler_installed(const char *cc, const char *identity, const volatile int *interrupt,
                                char out[PZ_COMPILER_INSTALLED], pz_error *err) {
  char asked[PZ_COMPILER_TEXT];
  if (!*identity) PZ_TRY(pz_compiler_identity(cc, interrupt, asked, err));
  snprintf(out, PZ_COMPILER_INSTALLED, "%s", *identity ? identity : asked);
  const size_t length = strlen(out);
  stamp(cc, out + length, PZ_COMPILER_INSTALLED - length);
  return PZ_OK;
}
