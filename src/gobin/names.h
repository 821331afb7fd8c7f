/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packages that rules refer to, and matching names of a program against them: a package may be vendored (its path
 * then ends in "vendor/" and the path), and the HTTP/2 of net/http is a copy whose names begin with http2, until Go
 * 1.27 gave it its own package. Internal to src/gobin.
 */
#ifndef GOBIN_NAMES_H
#define GOBIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum go_pkg {
	PKG_TRANSPORT, PKG_XNET, PKG_STD, PKG_HPACK, PKG_STD_HPACK, PKG_HTTP, PKG_URL, PKG_NET, PKG_POLL,
	PKG_RUNTIME, PKG_IO, PKG_BUFIO, PKG_READY, PKG_GRPC, PKG_STATUS, PKG_SPB, PKG_TLS,
	PKG_MAP,	/* no package: the compiler's types for maps */
	PKG__MAX
};

/* Quality of a match. */
enum go_match { GO_NO, GO_VENDORED, GO_BUNDLED, GO_EXACT, GO_MATCH__MAX };

#define STD_PREFIX "http2"	/* prefix of every name of the copy in net/http */

const char *gobin_names_package_path(enum go_pkg p);

/* Does @path (@len bytes) name the package? GO_BUNDLED: its names have the prefix. */
enum go_match gobin_names_match_package(enum go_pkg p, const char *path, size_t len);

/* Does @name (of a type, field or method receiver) correspond to @want in a package matched as @m? */
bool gobin_names_match(enum go_match m, const char *name, const char *want);

/*
 * A function by its full name: "path.(*Receiver).method", or "path.method" if @receiver is "". @receiver has no star
 * and no brackets; a pointer receiver is meant.
 */
enum go_match gobin_names_match_function(const char *name, size_t len, enum go_pkg p, const char *receiver,
					 const char *method);

#endif
