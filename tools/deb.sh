#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian packages of the tree at HEAD, which lintian has to accept; nothing of the working tree gets in.
#   deb.sh OUTPUT [WORK]     WORK: a folder to build in (default: a new one, removed)
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
work=${2:-}
if [ -z "$work" ]; then
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/sonde-deb-XXXXXX")
	trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/sonde"
git archive HEAD | tar -x -C "$work/sonde"
if ! (cd "$work/sonde" && dpkg-buildpackage --build=binary --no-sign) >"$work/log" 2>&1; then
	tail -40 "$work/log" >&2
	exit 1
fi
# Debian 12's lintian is older than the field Static-Built-Using.
lintian --allow-root --fail-on error,warning --suppress-tags unknown-field "$work"/*.changes
rm -f "$out"/*.deb "$out"/*.buildinfo "$out"/*.changes
mv "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$out"
