#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the folder below a prefix in which both pkg-config and the loader of this machine look for libraries.
#   libdir.sh PREFIX      "lib/x86_64-linux-gnu" for /usr/local on Debian, with or without dpkg-dev; "lib" in doubt
set -eu
PATH=$PATH:/usr/sbin:/sbin
prefix=${1%/}
# ldconfig names folders that are not there yet as well, in its warnings.
loader=$(LC_ALL=C ldconfig -N -X -v 2>&1 || :)

IFS=:
for place in $(pkg-config --variable pc_path pkg-config 2>/dev/null || :); do
	case $place in
	"$prefix"/lib*/pkgconfig) ;;
	*) continue ;;
	esac
	folder=${place%/pkgconfig}
	case $loader in
	*"$folder: "* | *"
${folder#/usr}: "*)	# of /usr/lib and its other name /lib one is listed
		echo "${folder#"$prefix"/}"
		exit 0
		;;
	esac
done
echo lib
