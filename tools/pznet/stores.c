/* stores.c: volumes that the Python package reads and writes, of stores of chunks (Zarr, N5, precomputed) and of ITK: this process becomes Python. */
#include "tool.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffixes[] = {".zarr", ".n5", ".precomputed", NULL};
static const char *const schemes[] = {"s3://", "gs://", "http://", "https://", "file://", NULL};
static const char *const files[] = {"zarr.json", ".zarray", ".zgroup", "attributes.json", "info", NULL};

/* A part of the path, up to a slash or its end, has such a suffix. */
static bool has_suffix(const char *path) {
  for (int i = 0; suffixes[i]; i++)
    for (const char *at = path; (at = strcasestr(at, suffixes[i])); at++)
      if (at[strlen(suffixes[i])] == '/' || !at[strlen(suffixes[i])]) return true;
  return false;
}

static bool is_folder_of_chunks(const char *path) {
  char file[PATH_MAX];
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  for (int i = 0; files[i]; i++)
    if (snprintf(file, sizeof file, "%s/%s", path, files[i]) < (int)sizeof file && access(file, F_OK) == 0)
      return true;
  return false;
}

bool tool_is_case_folder(const char *path) {
  DIR *folder = opendir(path);
  bool is = false;
  if (!folder) return false;
  for (const struct dirent *entry; !is && (entry = readdir(folder));) is = strstr(entry->d_name, "_0000.");
  closedir(folder);
  return is;
}

bool tool_is_image(const char *path) {
  static const char *const images[] = {".mha", ".mhd", ".nrrd", ".nhdr", NULL};
  const size_t n = strlen(path);
  for (int i = 0; images[i]; i++)
    if (n > strlen(images[i]) && !strcasecmp(path + n - strlen(images[i]), images[i])) return true;
  return false;
}

bool tool_is_store(const char *path) {
  for (int i = 0; schemes[i]; i++)
    if (!strncmp(path, schemes[i], strlen(schemes[i]))) return true;
  return has_suffix(path) || is_folder_of_chunks(path);
}

/* The Python that this command was installed with, if it was; else the one of PATH. */
static const char *find_python(char path[PATH_MAX]) {
  const char *given = getenv("PZNET_PYTHON");
  if (given && *given) return given;
  const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
  if (n > 0) {
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (slash) memcpy(slash, "/python3", sizeof "/python3");
    if (access(path, X_OK) == 0) return path;
  }
  return "python3";
}

static const char script[] =
    "import sys\n"
    "del sys.path[0]\n"
    "try:\n"
    "    from pznet.stores_command import main\n"
    "except ImportError:\n"
    "    sys.exit('pznet: Zarr, N5, precomputed, .mha and .nrrd volumes, and recipes, go through the Python "
    "package: '\n"
    "             'pip install \\'pznet[zarr]\\' or \\'pznet[medical]\\', or name a Python that has it by "
    "PZNET_PYTHON')\n"
    "sys.exit(main(sys.argv[1]))\n";

int tool_become_python(const json_t *asked) {
  char path[PATH_MAX];
  const char *python = find_python(path);
  char *text = json_dumps(asked, JSON_COMPACT);
  if (!text) return tool_warn("pznet: not enough memory\n"), PZ_ERROR_MEMORY;
  execlp(python, python, "-c", script, text, (char *)NULL);
  tool_warn(
      "pznet: %s: %s; Zarr, N5, precomputed, .mha and .nrrd volumes, and recipes, go through the Python "
      "package: pip install 'pznet[zarr]' or 'pznet[medical]'\n",
      python, strerror(errno));
  free(text);
  return PZ_ERROR_RUN;
}
