#!/bin/sh
# venv.sh BUILD: a virtual environment in BUILD/venv for test_stores.py and test_cases.py, of the Python that the build found. Without PyPI there is none, and these tests
# say 'skipped'.
set -eu
here=$(dirname "$0")
python=$(sed -n 's/^_Python3_EXECUTABLE:INTERNAL=//p' "$1/CMakeCache.txt")
[ -n "$python" ] || exit 0
[ -e "$1/venv/made" ] && [ "$1/venv/made" -nt "$here/venv.txt" ] && exit 0
rm -rf "$1/venv"
if "$python" -m venv --system-site-packages "$1/venv" && "$1/venv/bin/pip" install -q --disable-pip-version-check -r "$here/venv.txt"; then
  touch "$1/venv/made"
else
  rm -rf "$1/venv"
  echo "venv.sh: no tensorstore, no SimpleITK: the tests of stores and cases are skipped" >&2
fi
