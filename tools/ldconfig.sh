#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tells the loader what was installed or removed, if root did that on this machine and below a prefix that it knows.
#   ldconfig.sh PREFIX
set -eu
PATH=$PATH:/usr/sbin:/sbin
if [ -n "${DESTDIR:-}" ] || [ "$(id -u)" -ne 0 ] || ! command -v ldconfig >/dev/null; then
	exit 0
fi
case $1 in
/usr | /usr/local) ldconfig ;;
*) echo "installed below $1: programs find libsonde there with PKG_CONFIG_PATH and LD_LIBRARY_PATH" ;;
esac
