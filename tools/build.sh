#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds a target of a configured folder and says first about how long that takes, if it is long.
#   build.sh FOLDER TARGET
set -eu
CPU_S_OF_100=10	# per 100 steps, measured: 944 steps (all but unit tests) are 98 s of CPU on a 2020s server CPU
LONG_S=5

steps=$(ninja -C "$1" -n "$2" | grep -c '^\[' || :)
seconds=$((steps * CPU_S_OF_100 / 100 / $(nproc)))
if [ "$seconds" -ge "$LONG_S" ]; then
	echo "building $1/$2: $steps steps, about $seconds s on $(nproc) CPUs"
fi
exec ninja -C "$1" "$2"
