/* common.c: failures, Ctrl-C, progress, and the options that verbs share. */
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A long line is cut where memory is short: the last thing to be lost is what a failure says. */
static void print_line(FILE *to, char *line, size_t length) {
  char few[4096];
  size_t room = 12 * length + 1; /* no letter is shown longer */
  char *more = room > sizeof few ? malloc(room) : NULL;
  if (!more) room = sizeof few;
  line[length] = 0;
  fputs(pz_printable(line, more ? more : few, room < INT32_MAX ? (int32_t)room : INT32_MAX), to);
  free(more);
}

static void print(FILE *to, const char *format, va_list list) {
  char few[1024], *text = few;
  va_list again;
  va_copy(again, list);
  const int length = vsnprintf(few, sizeof few, format, list);
  if (length >= (int)sizeof few && vasprintf(&text, format, again) < 0) text = few;
  va_end(again);
  if (length < 0) return;
  for (char *line = text; *line;) {
    const size_t part = strcspn(line, "\n");
    const bool ends = line[part];
    print_line(to, line, part);
    if (ends) fputc('\n', to);
    line += part + ends;
  }
  if (text != few) free(text);
}

void tool_print(const char *format, ...) {
  va_list list;
  va_start(list, format);
  print(stdout, format, list);
  va_end(list);
}

void tool_warn(const char *format, ...) {
  va_list list;
  va_start(list, format);
  print(stderr, format, list);
  va_end(list);
}

const char *tool_name(const char *name, char out[TOOL_NAME]) { return pz_printable(name, out, TOOL_NAME); }

bool tool_flush(FILE *file) {
  bool good = !ferror(file);
  while (good && fflush(file)) good = errno == EINTR, clearerr(file);
  return good;
}

/* ---- Ctrl-C ---- */

#define GRACE_US 900000 /* for work to end by itself, with what it leaves cleared away */

/* Written by the signal handler alone: the flag, the first signal's number, and its time. */
static volatile int interrupted;
static volatile sig_atomic_t first;
static struct timespec since;
static const char *hint = "";

/* What `end_now` says and does must be safe in a handler. Temporary files that are left are cleared away by the next compile, compilers
 * end with this process. */
static void end_now(int number) {
  static const char line[] = "pznet: interrupted";
  ssize_t said = write(2, line, sizeof line - 1);
  if (said > 0) said = write(2, hint, strlen(hint));
  if (said >= 0) said = write(2, "\n", 1);
  (void)said; /* whether anybody hears it or not */
  _exit(128 + number);
}

static void on_alarm(int number) {
  (void)number;
  end_now(first);
}

/* `timeout` and some shells signal the process and then its group: two signals at once are one. */
static void on_signal(int number) {
  const struct itimerval grace = {.it_value = {.tv_usec = GRACE_US}};
  struct timespec now;
  const int before = errno;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!interrupted) since = now, first = number, setitimer(ITIMER_REAL, &grace, NULL);
  else if (1e9 * (double)(now.tv_sec - since.tv_sec) + (double)(now.tv_nsec - since.tv_nsec) > 1e9)
    end_now(first);
  interrupted = 1;
  errno = before;
}

const volatile int *tool_interrupt(const char *says) {
  struct sigaction action = {.sa_handler = on_signal}, last = {.sa_handler = on_alarm}, hangup;
  if (says) hint = says;
  sigaction(SIGALRM, &last, NULL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN) /* nohup ignores it */
    sigaction(SIGHUP, &action, NULL);
  return &interrupted;
}

json_t *tool_report(const char *text) {
  json_t *report = json_loads(text, 0, NULL);
  if (!report) tool_warn("pznet: out of memory for the report\n");
  return report;
}

int tool_fail(pz_status status) {
  tool_warn("pznet: %s\n", pz_last_message());
  if (status == PZ_INTERRUPTED && first) return 128 + first;
  return status == PZ_ERROR_MEMORY ? PZ_ERROR_RUN : status == PZ_ERROR_OUTPUT ? PZ_ERROR_INPUT : (int)status;
}

/* ---- progress ---- */

static void duration(double seconds, char *out, size_t size) {
  const long s = (long)(seconds + 0.5);
  if (s < 3600) snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
  else snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

/* Of all the time that the work takes; before that is known, of its units. */
static double share_of(const tool_progress *p, int64_t done, int64_t total, double seconds, double left) {
  if (left >= 0) return seconds + left > 0 ? seconds / (seconds + left) : 1;
  return p->unit && total > 0 ? (double)done / (double)total : 0;
}

/* Only units of this run count, not those that it found done. */
static double voxels_a_second(tool_progress *p, const char *what, int64_t done, double seconds) {
  if (p->voxels <= 0 || !p->unit || strcmp(what, p->unit)) return 0;
  if (!p->counts) p->counts = true, p->before = done - 1, p->since = seconds;
  const double worked = (double)(done - p->before - 1), took = seconds - p->since;
  return worked > 0 && took > 0 ? p->voxels * worked / took : 0;
}

static void print_bar(tool_progress *p, const char *what, int64_t done, int64_t total, double seconds,
                      bool terminal) {
  enum { WIDTH = 24 };
  char bar[WIDTH + 1], time[40] = "", units[64] = "", rate[48] = "";
  const double left = pz_progress_left(), share = share_of(p, done, total, seconds, left),
               speed = voxels_a_second(p, what, done, seconds);
  const int filled = (int)(WIDTH * share);
  for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  if (total > 0 && done >= total) duration(seconds, time, sizeof time);
  else if (left >= 0) {
    duration(left, time, sizeof time);
    strncat(time, " left", sizeof time - strlen(time) - 1);
  }
  const bool counts = p->unit && !strcmp(what, p->unit);
  if (counts && total > 0)
    snprintf(units, sizeof units, " %lld/%lld %s", (long long)done, (long long)total, p->unit);
  if (speed > 0) snprintf(rate, sizeof rate, "  %.2f Mvoxels/s", 1e-6 * speed);
  if (terminal) fputs("\r\033[K", stderr);
  tool_warn("[%s]%s%s  %s  %s%s", bar, units, rate, time, counts ? "" : what, terminal ? "" : "\n");
  fflush(stderr);
}

/* For programs: one object a line. */
static void print_object(const char *what, int64_t done, int64_t total, double seconds) {
  const double left = pz_progress_left();
  json_t *o =
      json_pack("{s:s, s:I, s:I, s:f, s:o}", "what", what, "done", (json_int_t)done, "total",
                (json_int_t)total, "seconds", seconds, "left", left < 0 ? json_null() : json_real(left));
  char *text = o ? json_dumps(o, JSON_REAL_PRECISION(6) | JSON_ENSURE_ASCII) : NULL;
  if (text) tool_warn("%s\n", text);
  free(text);
  json_decref(o);
}

void tool_progress_show(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  tool_progress *p = host;
  if (p->quiet && !p->json) return;
  const bool terminal = isatty(2) && !p->json;
  const bool first = p->shown == 0, last = total > 0 && done >= total;
  if (!first && !last && seconds - p->shown < (terminal || p->json ? 0.1 : 5)) return;
  p->shown = seconds > 0 ? seconds : 1e-9;
  if (p->json) return print_object(what, done, total, seconds);
  print_bar(p, what, done, total, seconds, terminal);
  p->open = terminal;
}

bool tool_progress_set(tool_progress *p, const char *value) {
  p->json = !strcmp(value, "json");
  if (p->json || !strcmp(value, "bar")) return true;
  tool_warn("pznet: --progress %s: expected bar or json\n", value);
  return false;
}

void tool_progress_end(tool_progress *progress) {
  if (progress->open) fputc('\n', stderr);
  progress->open = false;
}

const char *tool_size(double bytes, char *out) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 999.95 && unit < 4; unit++) bytes /= 1000;
  snprintf(out, 16, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return out;
}

/* ---- a model's options ---- */

/* One more of an option that may be given again. */
static bool add(const char *option, const char *list[TOOL_MAX_INPUTS], int32_t *n, const char *value) {
  if (*n < TOOL_MAX_INPUTS) return list[(*n)++] = value, true;
  tool_warn("pznet: more than %d --%s\n", TOOL_MAX_INPUTS, option);
  return false;
}

bool tool_model_set(tool_model *m, const char *name, const char *value, bool *good) {
  pz_compile_options *o = &m->options;
  *good = true;
  if (!strcmp(name, "weights")) o->weights = value;
  else if (!strcmp(name, "target")) o->target = value;
  else if (!strcmp(name, "isa")) o->isa = value;
  else if (!strcmp(name, "disable")) o->disable = value;
  else if (!strcmp(name, "precision")) o->precision = value;
  else if (!strcmp(name, "fuse-rows")) o->fuse_rows = value;
  else if (!strcmp(name, "search")) o->search = value;
  else if (!strcmp(name, "tiling")) o->tiling = value;
  else if (!strcmp(name, "patch")) o->patch = value;
  else if (!strcmp(name, "volume")) o->volume = value;
  else if (!strcmp(name, "algorithm")) {
    *good = add(name, m->algorithms, &o->n_algorithms, value);
    o->algorithms = m->algorithms;
  } else if (!strcmp(name, "memory")) *good = tool_bytes(name, value, &o->memory);
  else if (!strcmp(name, "max-error")) {
    char *end;
    o->max_error = strtod(value, &end);
    *good = *value && !*end && o->max_error > 0 && o->max_error <= 1;
    if (!*good) tool_warn("pznet: --max-error %s: expected a number above 0, up to 1, such as 1e-5\n", value);
  } else if (!strcmp(name, "vector-block")) *good = tool_int(name, value, 4, 16, &o->vector_block);
  else if (!strcmp(name, "input")) {
    *good = add(name, m->inputs, &o->n_input_shapes, value);
    o->input_shapes = m->inputs;
  } else if (!strcmp(name, "input-type")) {
    *good = add(name, m->input_types, &o->n_input_types, value);
    o->input_types = m->input_types;
  } else if (!strcmp(name, "output-type")) {
    *good = add(name, m->output_types, &o->n_output_types, value);
    o->output_types = m->output_types;
  } else return false;
  return true;
}

bool tool_tuning_set(tool_model *m, const char *name, const char *value, bool *good) {
  pz_compile_options *o = &m->options;
  *good = true;
  if (!strcmp(name, "effort")) o->effort = value;
  else if (!strcmp(name, "tuning")) o->tuning = value;
  else if (!strcmp(name, "cache")) o->cache = value;
  else if (!strcmp(name, "cc")) o->cc = value;
  else if (!strcmp(name, "threads")) *good = tool_int(name, value, 0, 4096, &o->threads);
  else return false;
  return true;
}
