# SPDX-License-Identifier: GPL-2.0-or-later
# The menu. meson (meson.build) knows how things are built; tools/check.py runs the test layers.
# A line "target: ... ## text" is what `make help` shows.

B ?= build
S ?= 60
PREFIX ?= /usr/local
PYTHON := /usr/bin/python3
CHECK := $(PYTHON) tools/check.py --build $(B) --fuzz-seconds $(S)
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

help: ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
all: configure ## install what building needs (as root), then build everything, tests too
	@tools/build.sh $(B) all
run: configure ## set up, build, then show this host's packets and drops live until ^C (ARGS="...")
	@tools/build.sh $(B) sonde
	@echo "running: $(B)/sonde monitor $(ARGS)"; exec $(B)/sonde monitor $(ARGS)

check: test-setup configure ## set up, build, run every test layer; last line: N passed, N failed, N skipped
	@$(CHECK) --make --kernels='5.10 6.1 6.12' all
quick: quick-setup all ## lint, unit and golden tests: what to run before each commit
	@$(CHECK) lint unit golden
dev: ## install the git hook that checks format and lint of each commit
	@tools/pre-commit --install
lint: test-setup configure ## the conventions that a program can check
	@tools/build.sh $(B) product && $(CHECK) lint
unit: test-setup all ## unit tests, no root
	@$(CHECK) unit
golden: all ## recordings against expected output, no root
	@$(CHECK) golden
golden-update: all ## rewrite the expected output of the golden tests (read the diff)
	@$(PYTHON) tests/golden/run --sonde $(B)/sonde --update
docs: test-setup all ## README, man pages, completion and HOWTOs against the binary
	@$(CHECK) docs
ui: test-setup all ## the page of sonde ui in chromium, against made-up events, no root (T="-k name")
	@$(CHECK) --pytest-args='$(T)' ui
e2e: test-setup all ## live tests in network namespaces, root (T="-k name")
	@$(CHECK) --pytest-args='$(T)' e2e
replay: test-setup all ## commands over recordings and captures, root (T="-k name")
	@$(CHECK) --pytest-args='$(T)' replay
truth: test-setup all ## every event against programs that print the truth, root (EVENTS=50000)
	@$(CHECK) --events=$(or $(EVENTS),1000000) truth
explain-truth: all ## causes that sonde explain names, against injected faults, root (SEEDS=20)
	@$(PYTHON) tests/truth/explain/run --sonde $(B)/sonde --seeds $(or $(SEEDS),20)
bpf-compilers: test-setup all ## the BPF programs of each clang that Debian has here, loaded on this kernel, root
	@$(CHECK) compilers
vm: test-setup all ## boot distribution kernels 5.10 - newest under emulation (K="6.1 6.12")
	@$(CHECK) --every-clang --kernels='$(K)' vm
vm-newest: test-setup all ## nightly: the same of the newest kernel that Debian has
	@$(CHECK) --every-clang --kernels=newest vm
arm64: test-setup configure ## the same of arm64, built by a cross compiler (K="arm64-6.1")
	@tests/vm/arm64 $(K)
fuzz: test-setup ## fuzz every parser, S=100 seconds shared (T=name for one)
	@$(CHECK) --fuzz-target='$(T)' fuzz
fleet: test-setup all ## hosts in one ClickHouse: doc/FLEET.md, kills, servers that are away (five minutes)
	@export SONDE=$(abspath $(B))/sonde; $(PYTHON) -m pytest -q tests/fleet && $(PYTHON) tests/fleet/run
fleet-newest: test-setup all ## nightly: newest ClickHouse of npm, OpenTelemetry Collector of sid, 1 GB
	@PYTHON=$(PYTHON) tests/fleet/newest $(abspath $(B))
bench: test-setup all ## ratios against installed peers, in one run
	@tools/setup.sh bench && $(PYTHON) tests/bench/run --build $(B)
asan: test-setup ## unit and golden tests under address and undefined sanitizers
	@test -f build-asan/build.ninja || meson setup build-asan -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-asan && $(PYTHON) tools/check.py --build build-asan unit golden
rpc-newest: test-setup all ## nightly: live tests of calls with the newest Go and gRPC (Debian's sid), every build
	@SONDE_GO_SUITES=sid SONDE_GO_BUILDS=all $(CHECK) --pytest-args='-k rpc' e2e
fresh: ## prove run, check, install and uninstall in new minimal roots of Debian 12 and 13 (SUITES=trixie)
	@tools/setup.sh fresh && tests/fresh/run $(if $(SUITES),--suites $(SUITES))
deb: ## Debian packages of the tree at HEAD, in build-deb
	@tools/setup.sh build package && tools/deb.sh build-deb
release: ## what a release consists of, in build-release: source, packages, SPDX bill of materials, sums
	@tools/setup.sh build package && tools/release.sh build-release
packages: ## build the packages twice and compare, then install, use and purge them in bare Debian roots
	@tools/setup.sh build package && $(PYTHON) tests/packages/run $(ARGS)
man: all ## build/man from the option rows
	@ninja -C $(B) man
install: configure ## build and install below PREFIX=/usr/local (DESTDIR honoured)
	@tools/install.sh install $(B) $(PREFIX)
uninstall: ## remove what `make install` put there (the same PREFIX and DESTDIR)
	@tools/install.sh uninstall $(B) $(PREFIX)
fmt: ## format the lines of C that differ from the last commit
	@git clang-format -q HEAD -- '*.c' '*.h'
clean: ## remove everything that was built
	@rm -rf build build-* tests/vm/.work

configure:
	@tools/setup.sh build
	@test -f $(B)/build.ninja || meson setup $(B) -Dprefix=$(PREFIX) -Dlibdir=$$(tools/libdir.sh $(PREFIX))

%-setup: # a folder configured before the test packages came lacks some tests; what is compiled stays
	@tools/setup.sh build $*
	@if grep -qs '#undef' $(B)/test-packages.h; then meson setup --reconfigure $(B) >/dev/null; fi

.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*/\1/p' Makefile)
