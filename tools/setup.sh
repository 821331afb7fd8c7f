#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian packages that building (build), `make quick` (quick), all tests (test), measuring (bench),
# `make arm64` (cross), `make fresh` (fresh) or `make deb` (package) needs; with --list it says which.
#   setup.sh [--list] build|quick|test|cross|bench|fresh|package...
# Does nothing, and touches no network, when all of them are there. Those of NEWER, where the release has them too old
# or not at all (Debian 12), come from its backports, on the mirror already configured: their package source is added
# then, and named. A release that has them gets no other source. Packages of PEERS that cannot be had are named; the
# tests that need them are skipped.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

# Lists, one package per word; what is needed and why it is not obvious stands behind it.
BUILD='gcc libc6-dev make meson ninja-build pkg-config python3 clang
	libelf-dev libdw-dev liblzma-dev libiberty-dev zlib1g-dev libzstd-dev libpcap-dev libmnl-dev libseccomp-dev
	libcap-ng-dev libncurses-dev libmicrohttpd-dev libnghttp2-dev libcurl4-gnutls-dev esbuild'
LIBBPF='libbpf-dev bpftool'	# libbpf >= 1.3: tcx links
OTLP=python3-opentelemetry-proto	# the project's own reader of traces
NEWER="$LIBBPF $OTLP"
QUICK='git libcmocka-dev libdrm-dev libjson-c-dev'
TEST="libclang-rt-dev python3-pytest python3-scapy
	iproute2 iputils-ping nftables ethtool tcpdump tshark socat procps util-linux
	qemu-system-x86 golang-go busybox-static kmod cpio xz-utils zstd
	mandoc g++ strace systemd prometheus $OTLP python3-grpcio python3-pyte tmux libssl-dev"
# prometheus reads the agent's counters, promtool judges them. python3-grpcio: a client of the agent's Observer.
# python3-pyte, tmux: terminals whose screens tests can read. libssl-dev: OpenSSL inside of a program.
PEERS='sysdig bpfcc-tools gdb memcached nats-server php-fpm nginx-light clickhouse-server
	chromium fonts-dejavu-core node-typescript android-libboringssl-dev clang-16 clang-18 clang-19 zsh fish'
# sysdig, bpfcc-tools, gdb: print what our output is compared with. memcached, nats-server, php-fpm, nginx: servers
# whose calls are counted. clickhouse-server: a database that rows are sent to and read back from. chromium runs the
# page, node-typescript checks its types. android-libboringssl-dev: another TLS library. clang-N: BPF programs of each
# are loaded. zsh, fish: Tab is pressed in them.
# Packages of servers, and prometheus, start a service where init does so.
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
	libbpf-dev | bpftool) new_enough "$(candidate libbpf-dev)" ;;	# they belong together
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
	update_lists
}

updated=
update_lists() { # a source that fails does not stop the others
	apt-get -qq update || echo "setup.sh: not all package lists are up to date" >&2
	updated=1
}
install_packages() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@" >&2; }

can_install() { # or the sentence why not, about packages $1
	if ! command -v apt-get >/dev/null; then
		echo "setup.sh: these Debian packages are missing, and there is no apt-get here: $1" >&2
		return 1
	elif [ "$(id -u)" -ne 0 ]; then
		echo "setup.sh: run this as root once (or install: $1), then it needs no rights" >&2
		return 3
	fi
}

list=
if [ "${1:-}" = --list ]; then
	list=1
	shift
fi
want=
wish=
for what in "${@:-build}"; do
	case $what in
	build) want="$want $BUILD $LIBBPF" ;;
	quick) want="$want $QUICK" ;;
	test) want="$want $QUICK $TEST" wish=$PEERS ;;
	bench) want="$want $BENCH" ;;
	cross) want="$want $CROSS" ;;
	fresh) want="$want $FRESH" ;;
	package) want="$want $PACKAGE" ;;
	*) echo "usage: setup.sh [--list] build|quick|test|cross|bench|fresh|package..." >&2; exit 2 ;;
	esac
done
if [ -n "$list" ]; then
	# shellcheck disable=SC2086 # lists of words
	printf '%s\n' $want $wish
	exit 0
fi

install_needed() { # package...: all of them, or this ends
	echo "setup.sh: installing $*"
	update_lists
	backports=
	old=
	for p in "$@"; do in_release "$p" || old="$old $p"; done
	for p in $old; do
		case " $NEWER " in
		*" $p "*) ;;
		*) echo "setup.sh: the package sources of this machine have no $p" >&2; exit 1 ;;
		esac
	done
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
	if ! install_packages "$@" && ! { [ -n "$backports" ] && install_packages -t "$backports" "$@"; }; then
		echo "setup.sh: apt-get could not install all of: $*" >&2
		exit 1
	fi
	if [ "$want" != "${want#*libbpf-dev}" ] && ! libbpf_there; then
		echo "setup.sh: libbpf-dev is still older than $MIN_LIBBPF after the installation" >&2
		exit 1
	fi
}

install_wished() { # package...: those that can be had; a set-up goes on without the others
	offers=
	for p in "$@"; do
		if in_release "$p"; then offers="$offers $p"; fi
	done
	if [ -z "$offers" ] || ! can_install "$offers"; then return 0; fi
	echo "setup.sh: installing$offers"
	[ -n "$updated" ] || update_lists
	# shellcheck disable=SC2086 # a list of words
	install_packages $offers || for p in $offers; do
		install_packages -o Acquire::Retries=0 -o Acquire::http::Timeout=20 "$p" || :
	done
}

export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # lists of words
need=$(missing $want)
case $need,$want in
*libbpf-dev*,*) ;;
*,*libbpf-dev*) libbpf_there || need="$need libbpf-dev" ;;	# there, and too old
esac
if [ -n "$need" ]; then
	can_install "$need"
	# shellcheck disable=SC2086 # a list of words
	install_needed $need
fi
# shellcheck disable=SC2086 # lists of words
absent=$(missing $wish)
if [ -n "$absent" ]; then
	# shellcheck disable=SC2086 # lists of words
	install_wished $absent
	# shellcheck disable=SC2086 # lists of words
	absent=$(missing $wish)
	[ -z "$absent" ] || echo "setup.sh: not to be had here, tests that need them are skipped: $absent"
fi
