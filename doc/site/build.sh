#!/bin/sh
# build.sh FOLDER [REPOSITORY]: builds the manual as a site in FOLDER/html. Installs what it needs into FOLDER/venv, a virtual
# environment of its own, and says so; nothing goes into the system. REPOSITORY: where links to sources lead (stage.py).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
wanted=$root/doc/requirements.txt
venv=$folder/venv

if ! cmp -s "$wanted" "$venv/installed"; then
  echo "installing Sphinx and what it needs into $venv (doc/requirements.txt)"
  rm -rf "$venv"
  python3 -m venv "$venv" || { echo "build.sh: this needs Python's venv: apt-get install python3-venv" >&2; exit 1; }
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$wanted"
  cp "$wanted" "$venv/installed"
fi
"$venv/bin/python" "$root/doc/site/stage.py" "$root" "$folder/source" "${2:-}"
PZ_DOC_ROOT=$root PYTHONDONTWRITEBYTECODE=1 "$venv/bin/sphinx-build" -q -W --keep-going -b html -d "$folder/doctrees" "$folder/source" "$folder/html"
echo "the manual: $folder/html/index.html"
