// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See names.h.
 */
#include "gobin/names.h"

#include <string.h>

#include "base/macros.h"

static const char *const paths[] = {
	[PKG_TRANSPORT] = "google.golang.org/grpc/internal/transport",
	[PKG_XNET] = "golang.org/x/net/http2",
	[PKG_STD] = "net/http/internal/http2",
	[PKG_HPACK] = "golang.org/x/net/http2/hpack",
	[PKG_STD_HPACK] = "vendor/golang.org/x/net/http2/hpack",
	[PKG_HTTP] = "net/http",
	[PKG_URL] = "net/url",
	[PKG_NET] = "net",
	[PKG_POLL] = "internal/poll",
	[PKG_RUNTIME] = "runtime",
	[PKG_IO] = "io",
	[PKG_BUFIO] = "bufio",
	[PKG_READY] = "google.golang.org/grpc/internal/transport/readyreader",
	[PKG_GRPC] = "google.golang.org/grpc",
	[PKG_STATUS] = "google.golang.org/grpc/internal/status",
	[PKG_SPB] = "google.golang.org/genproto/googleapis/rpc/status",
	[PKG_TLS] = "crypto/tls",
	[PKG_MAP] = "map",
};
_Static_assert(ARRAY_SIZE(paths) == PKG__MAX, "a path per package");

#define BUNDLE "net/http"

const char *gobin_names_package_path(enum go_pkg p)
{
	return paths[p];
}

/*
 * The standard library's copy of a package of golang.org/x: its types are equivalent, its functions differ.
 */
static bool is_std_vendored(enum go_pkg p, const char *path, size_t len)
{
	size_t vendor = strlen("vendor/");

	return len == vendor + strlen(paths[p]) && !memcmp(path, "vendor/", vendor) &&
	       !memcmp(path + vendor, paths[p], len - vendor);
}

enum go_match gobin_names_match_package(enum go_pkg p, const char *path, size_t len)
{
	size_t want = strlen(paths[p]), tail = strlen("/vendor/");

	if (p == PKG_STD && len == strlen(BUNDLE) && !memcmp(path, BUNDLE, len))
		return GO_BUNDLED;
	if (len < want || memcmp(path + len - want, paths[p], want) != 0)
		return GO_NO;
	if (len == want)
		return GO_EXACT;
	if (len >= want + tail && !memcmp(path + len - want - tail, "/vendor/", tail))
		return GO_VENDORED;
	return is_std_vendored(p, path, len) ? GO_VENDORED : GO_NO;
}

bool gobin_names_match(enum go_match m, const char *name, const char *want)
{
	if (m == GO_NO)
		return false;
	if (m != GO_BUNDLED)
		return !strcmp(name, want);
	/* Fields keep their names in the copy, unless they are embedded types. */
	return !strcmp(name, want) || (!strncmp(name, STD_PREFIX, strlen(STD_PREFIX)) &&
				       !strcmp(name + strlen(STD_PREFIX), want));
}

/* Removes @tail from the end of @name; false if @name does not end in it. */
static bool strip(const char *name, size_t *len, const char *tail)
{
	size_t n = strlen(tail);

	if (*len < n || memcmp(name + *len - n, tail, n) != 0)
		return false;
	*len -= n;
	return true;
}

enum go_match gobin_names_match_function(const char *name, size_t len, enum go_pkg p, const char *receiver,
					 const char *method)
{
	enum go_match m;
	bool bundled;

	if (!strip(name, &len, method))
		return GO_NO;
	if (!*receiver)
		return strip(name, &len, ".") ? gobin_names_match_package(p, name, len) : GO_NO;
	if (!strip(name, &len, ").") || !strip(name, &len, receiver))
		return GO_NO;
	bundled = p == PKG_STD && strip(name, &len, STD_PREFIX);
	if (!strip(name, &len, ".(*"))
		return GO_NO;
	if (is_std_vendored(p, name, len))
		return GO_NO;
	m = gobin_names_match_package(p, name, len);
	return (m == GO_BUNDLED) == bundled ? m : GO_NO;
}
