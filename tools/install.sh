#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what `make` built, or removes all of it; DESTDIR is honoured.
#   install.sh install|uninstall FOLDER PREFIX
set -eu
PATH=$PATH:/usr/sbin:/sbin
verb=$1 folder=$2 prefix=$3
cd "$(dirname "$0")/.."

meson configure "$folder" -Dprefix="$prefix" -Dlibdir="$(tools/libdir.sh "$prefix")"
case $verb in
install)
	tools/build.sh "$folder" product
	made=$(tools/uninstall.py --missing "$folder")
	meson install -C "$folder" --no-rebuild --strip --quiet
	printf '%s\n' "$made" >>"${DESTDIR:-}$prefix/share/sonde/directories"
	;;
uninstall)
	ninja -C "$folder" build.ninja >/dev/null
	tools/uninstall.py "$folder"
	;;
esac

# The loader of this machine hears of it, if root did that below a prefix it knows.
if [ -n "${DESTDIR:-}" ] || [ "$(id -u)" -ne 0 ] || ! command -v ldconfig >/dev/null; then
	exit 0
fi
case $prefix in
/usr | /usr/local) ldconfig ;;
*) [ "$verb" = uninstall ] || echo "programs find libsonde below $prefix by PKG_CONFIG_PATH and LD_LIBRARY_PATH" ;;
esac
