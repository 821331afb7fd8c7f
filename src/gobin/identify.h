/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Go program's own description: release, modules, build mode. All of it is a hint: programs packed by distributions
 * name no modules. Internal to src/gobin.
 */
#ifndef GOBIN_IDENTIFY_H
#define GOBIN_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "gobin/gobin.h"
#include "gobin/image.h"

#define GO_VERSION_MAX 128
#define GO_MODULE_MAX 256

struct identity {
	char version[GO_VERSION_MAX];		/* "go1.24.4"; "" = unknown */
	const char *version_source;
	unsigned minor;				/* 0 = unknown */
	char module[GO_MODULE_MAX];		/* of the main package */
	char grpc[GO_VERSION_MAX], xnet[GO_VERSION_MAX];
	char build_id[GO_MODULE_MAX];		/* Go's */
	enum gobin_mode mode;
	uint32_t n_deps;
	const char *why;			/* why the build information cannot be read; NULL = it can, or the
						 * program has none */
	bool found;				/* the program has Go build information or a Go build id */
};

void identify(struct image *img, struct identity *ret);

/* 24 for "go1.24.4" and "devel go1.24-abc"; 0 for any other text. */
unsigned identify_minor(const char *version);

#endif
