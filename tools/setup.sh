#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian packages that building (build), testing (test), measuring (bench), `make arm64` (cross),
# `make fresh` (fresh) or `make deb` (package) needs; with --list it says which.
#   setup.sh [--list] build|test|cross|bench|fresh|package...
# Does nothing, and touches no network, when all of them are there. Packages that the release has too old or not at
# all (Debian 12: libbpf, bpftool) come from its backports, on the mirror already configured: their package source is
# added then, and named. A release that has them gets no other source.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

# Lists, one package per word; what is needed and why it is not obvious stands behind it.
BUILD='gcc libc6-dev make meson ninja-build pkg-config python3 clang
	libelf-dev libdw-dev liblzma-dev libiberty-dev zlib1g-dev libzstd-dev libpcap-dev libmnl-dev libseccomp-dev
	libcap-ng-dev libncurses-dev libmicrohttpd-dev libcurl4-gnutls-dev esbuild'
NEWER='libbpf-dev bpftool'	# libbpf >= 1.3: tcx links
TEST='git libcmocka-dev libdrm-dev libjson-c-dev libclang-rt-14-dev python3-pytest python3-scapy sysdig
	iproute2 iputils-ping nftables ethtool tcpdump tshark socat procps util-linux
	qemu-system-x86 golang-go busybox-static kmod cpio xz-utils zstd
	mandoc g++ strace gdb systemd
	bpfcc-tools prometheus python3-opentelemetry-proto python3-pyte tmux
	memcached nats-server php-fpm clickhouse-server chromium fonts-dejavu-core node-typescript'
# bpfcc-tools: its profile prints what ours is compared with; its libraries are clang's, which are here. prometheus:
# reads the agent's counters, and promtool judges them. chromium runs the page, with fonts of its own; node-typescript
# checks its types.
# python3-opentelemetry-proto: the project's own reader of traces (Debian 12: backports). python3-pyte, tmux:
# terminals whose screens tests can read. memcached, nats-server, php-fpm: servers whose calls are counted;
# clickhouse-server: a database that rows are sent to and read back from. Their
# packages, as that of prometheus, start a service where init does so.
# Peers, and programs to profile; libc6-dbg: names inside the C library. redis-tools has the server's program too,
# and the package of the server would start one.
BENCH='linux-perf bpftrace libc6-dbg rustc nodejs redis-tools openssl gzip wrk nginx-light'
CROSS='gcc-aarch64-linux-gnu qemu-system-arm'	# libraries come into a root of their own (tools/sysroot.py)
FRESH='debootstrap git'
PACKAGE='debhelper dpkg-dev lintian debootstrap git'
MIN_LIBBPF=1.3

installed() { # package...: are all of them there
	[ "$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null | grep -cx installed)" -eq $# ]
}

new_enough() { # version of libbpf-dev, epoch included
	[ -n "$1" ] && [ "$1" != '(none)' ] && dpkg --compare-versions "${1#*:}" ge "$MIN_LIBBPF"
}

libbpf_there() { new_enough "$(dpkg-query -W -f '${Version}' libbpf-dev 2>/dev/null)"; }
candidate() { apt-cache policy "$1" | sed -n 's/^  Candidate: //p'; }
in_release() { # package: what apt would install by itself is good enough
	case $1 in
	libbpf-dev | bpftool) new_enough "$(candidate libbpf-dev)" ;;	# the two belong together
	*) c=$(candidate "$1") && [ -n "$c" ] && [ "$c" != '(none)' ] ;;
	esac
}
offered() { # package: some configured suite has it, also one that is never the default
	case $1 in
	libbpf-dev | bpftool)
		for v in $(apt-cache madison libbpf-dev | cut -d'|' -f2); do
			if new_enough "$v"; then return 0; fi
		done
		return 1
		;;
	*) in_release "$1" ;;
	esac
}

missing() { # the packages of a list that are not there, on one line
	for p in "$@"; do installed "$p" || printf '%s ' "$p"; done
}

add_suite() { # suite, package...
	suite=$1
	shift
	entry=$(tools/apt-suite.sh "$suite")
	folder=/etc/apt/sources.list.d/
	eval "$(apt-config shell folder Dir::Etc::sourceparts/d)"
	case $entry in
	deb*) file=${folder}sonde-backports.list ;;
	*) file=${folder}sonde-backports.sources ;;
	esac
	echo "setup.sh: adding package source $file ($suite) for $*"
	printf '%s\n' "$entry" >"$file"
	apt-get -qq update
}

install_packages() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@" >&2; }

list=
if [ "${1:-}" = --list ]; then
	list=1
	shift
fi
want=
for what in "${@:-build}"; do
	case $what in
	build) want="$want $BUILD $NEWER" ;;
	test) want="$want $TEST" ;;
	bench) want="$want $BENCH" ;;
	cross) want="$want $CROSS" ;;
	fresh) want="$want $FRESH" ;;
	package) want="$want $PACKAGE" ;;
	*) echo "usage: setup.sh [--list] build|test|cross|bench|fresh|package..." >&2; exit 2 ;;
	esac
done
if [ -n "$list" ]; then
	# shellcheck disable=SC2086 # lists of words
	printf '%s\n' $want
	exit 0
fi
# shellcheck disable=SC2086 # lists of words
need=$(missing $want)
case $need,$want in
*libbpf-dev*,*) ;;
*,*libbpf-dev*) libbpf_there || need="$need libbpf-dev" ;;	# there, and too old
esac
[ -n "$need" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "setup.sh: these Debian packages are missing, and there is no apt-get here: $need" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "setup.sh: run this as root once (or install: $need), then it needs no rights" >&2
	exit 3
fi

echo "setup.sh: installing $need"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
backports=
old=
for p in $need; do in_release "$p" || old="$old $p"; done
if [ -n "$old" ]; then
	# shellcheck source=/dev/null
	backports=$(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")-backports
	for p in $old; do
		# shellcheck disable=SC2086 # a list of words
		offered "$p" || { add_suite "$backports" $old; break; }
	done
	# A backport is never the default, so these are asked for by suite.
	# shellcheck disable=SC2046,SC2086
	install_packages $(printf "%s/$backports " $old)
fi
# Where other backports are installed already, the base suite's packages may not fit beside them.
# shellcheck disable=SC2086
install_packages $need || { [ -n "$backports" ] && install_packages -t "$backports" $need; }
if ! libbpf_there; then
	echo "setup.sh: libbpf-dev is still older than $MIN_LIBBPF after the installation" >&2
	exit 1
fi
