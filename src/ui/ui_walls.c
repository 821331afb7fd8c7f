// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/ui_walls.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "http/http_listen.h"

#define API "/api"
#define BEARER "Bearer "

int ui_walls_token(struct ui_token *ret, struct err *err)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char bytes[UI_TOKEN_BYTES + 1] = { 0 }; /* and two zero bits for the last letter */

	if (getrandom(bytes, UI_TOKEN_BYTES, 0) != UI_TOKEN_BYTES)
		return err_errno(err, -errno, "cannot make a token");
	for (size_t i = 0; i < UI_TOKEN_TEXT; i++) {
		size_t bit = i * 6, at = bit / 8;
		unsigned pair = (unsigned)bytes[at] << 8 | bytes[MIN(at + 1, sizeof(bytes) - 1)];

		ret->text[i] = letters[pair >> (10 - bit % 8) & 63];
	}
	ret->text[UI_TOKEN_TEXT] = '\0';
	return 0;
}

void ui_walls_address(const char *address, const struct ui_token *t, struct buf *out)
{
	const char *path = http_listen_path(address);

	if (path)
		buf_printf(out, "%s (http://localhost/#t=%s)", path, t->text);
	else
		buf_printf(out, "http://%s%s/#t=%s", strchr(address, ':') ? "" : "127.0.0.1:", address, t->text);
}

/* The time does not depend on where they differ. */
static bool is_token(const struct ui_token *t, const char *text)
{
	const size_t len = strlen(text);
	unsigned differ = len != UI_TOKEN_TEXT;

	for (size_t i = 0; i < UI_TOKEN_TEXT; i++)
		differ |= (unsigned char)t->text[i] ^ (unsigned char)(i < len ? text[i] : 0);
	return !differ;
}

bool ui_walls_is_api(const char *path)
{
	return !strncmp(path, API, strlen(API)) && (path[strlen(API)] == '/' || !path[strlen(API)]);
}

/* "", or ":" and digits. */
static bool is_port(const char *s)
{
	return !*s || (*s == ':' && s[1] && strspn(s + 1, "0123456789") == strlen(s + 1) && strlen(s) <= 6);
}

static bool begins(const char *text, const char *name, const char **ret_rest)
{
	size_t len = strlen(name);

	if (strncasecmp(text, name, len) != 0)
		return false;
	*ret_rest = text + len;
	return true;
}

static bool is_host(const struct ui_walls *w, const char *host)
{
	static const char *const local[] = { "localhost", "127.0.0.1", "[::1]" };
	const char *rest;

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (begins(host, local[i], &rest) && is_port(rest))
			return true;
	return w->host && begins(host, w->host, &rest) && is_port(rest);
}

/* Of the host that was asked: http, or https by a proxy. */
static bool is_origin(const struct ui_walls *w, const char *origin, const char *host)
{
	const char *rest;
	bool https = w->host && begins(host, w->host, &rest) && is_port(rest);

	return begins(origin, https ? "https://" : "http://", &rest) && !strcasecmp(rest, host);
}

static unsigned refuse(unsigned status, const char *why, const char **ret_why)
{
	*ret_why = why;
	return status;
}

unsigned ui_walls_check(const struct ui_walls *w, const struct ui_request *r, const char **ret_why)
{
	const char *a = r->authorization;

	if (r->header_bytes > UI_WALLS_HEADERS)
		return refuse(431, "the headers are longer than 16 KB", ret_why);
	if (r->hosts > 1 || r->authorizations > 1)
		return refuse(400, "a header is there twice", ret_why);
	if (!r->host || !is_host(w, r->host))
		return refuse(421, "this name is not served: localhost, 127.0.0.1, [::1] and --ui-host are", ret_why);
	if (r->origin && !is_origin(w, r->origin, r->host))
		return refuse(403, "a page of another origin may not ask", ret_why);
	if (r->fetch_site && strcmp(r->fetch_site, "same-origin") != 0 &&
	    (strcmp(r->fetch_site, "none") != 0 || ui_walls_is_api(r->path)))
		return refuse(403, "a page of another site may not ask", ret_why);
	if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
		return refuse(405, "GET and HEAD only", ret_why);
	if (!ui_walls_is_api(r->path))
		return 0;
	if (!a || strncmp(a, BEARER, strlen(BEARER)) != 0 || !is_token(&w->token, a + strlen(BEARER)))
		return refuse(401, "no valid token: open the address that sonde ui printed, or run sonde ui again",
			      ret_why);
	return 0;
}
