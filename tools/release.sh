#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a folder with all that a release consists of, from the tree at HEAD: source, packages, bill of materials and
# sums. Signing and upload are left to whoever releases.
#   release.sh OUTPUT
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)

packaged=$(dpkg-parsechangelog -S Version)
if [ "$packaged" != "$version" ]; then
	echo "release.sh: debian/changelog is of $packaged, meson.build of $version" >&2
	exit 1
fi
if ! grep -q "^## $version," CHANGELOG.md; then
	echo "release.sh: CHANGELOG.md has no part for $version" >&2
	exit 1
fi
[ -z "$(git status --porcelain)" ] || echo "release.sh: changes that are not committed are not in the release" >&2

rm -f "$out"/*
git archive --prefix="sonde-$version/" HEAD | gzip -9n >"$out/sonde-$version.tar.gz"
tools/sbom.py >"$out/sonde-$version.spdx.json"
tools/deb.sh "$out"
rm -f "$out"/*.changes
(cd "$out" && sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
ls -l "$out"
