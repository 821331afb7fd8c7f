#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints an apt source entry for another suite of the mirror that this machine already uses, so that no host
# name stands anywhere in this project: options, keyring and address are those of the entry copied.
#   apt-suite.sh SUITE [SUITE...]      exit 1 when a suite has no entry to copy
# A suite named *-security copies an entry of a *-security suite, any other one of a plain suite.
set -eu

entries() { # every enabled entry of a Debian release, one-line or deb822, as it stands
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -r "$f" ] && sed -n 's/^[[:space:]]*deb[[:space:]]/deb /p' "$f"
	done
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -r "$f" ] && { grep -v '^#' "$f"; echo; }
	done
	:
}

one_suite() {
	entries | awk -v want="$1" '
	function kind(suite) { return suite ~ /[-\/]security/ ? "security" : "base" }
	function plain(suite) { return suite ~ /^(bookworm|stable|oldstable|trixie|bullseye|sid)/ }
	function finish() { # a deb822 stanza is complete
		if (!done && suites != "" && types ~ /(^| )deb( |$)/) {
			n = split(suites, s, " ")
			for (i = 1; i <= n && !done; i++)
				if (plain(s[i]) && kind(s[i]) == kind(want)) {
					printf "Types: deb\nSuites: %s\nComponents: main\n%s\n", want, rest
					done = 1
				}
		}
		suites = types = rest = ""
	}
	BEGIN { done = 0 }
	/^deb / {
		if (done) next
		opts = ""; line = $0; sub(/^deb +/, "", line)
		if (line ~ /^\[/) { opts = line; sub(/\].*/, "] ", opts); sub(/^[^]]*\] */, "", line) }
		split(line, w, /[ \t]+/)
		if (plain(w[2]) && kind(w[2]) == kind(want)) {
			printf "deb %s%s %s main\n", opts, w[1], want
			done = 1
		}
		next
	}
	/^[Ss]uites:/ { sub(/^[^:]*: */, ""); suites = $0; next }
	/^[Tt]ypes:/ { sub(/^[^:]*: */, ""); types = $0; next }
	/^[Cc]omponents:/ { next }
	/^[Ee]nabled: *no/ { suites = ""; types = ""; next }
	/^$/ { finish(); next }
	{ rest = rest $0 "\n" }
	END { finish(); exit !done }'
}

for suite in "$@"; do
	one_suite "$suite" || { echo "apt-suite.sh: no configured package source to derive $suite from" >&2; exit 1; }
done
