/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access: checks of a request's method and headers, before anything else of it is read, and the token.
 */
#ifndef UI_UI_WALLS_H
#define UI_UI_WALLS_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

#define UI_TOKEN_BYTES 32u
#define UI_TOKEN_TEXT 43u /* characters: base64url without padding */

struct ui_token {
	char text[UI_TOKEN_TEXT + 1];
};

/* 256 random bits. 0 or -errno. */
int ui_walls_token(struct ui_token *ret, struct err *err);

/* Appends what a browser opens: @address (http_listen_check()) with the token. */
void ui_walls_address(const char *address, const struct ui_token *t, struct buf *out);

/* Headers of a request; NULL = not sent. */
struct ui_request {
	const char *method, *path; /* path: as sent, up to the question mark */
	const char *host, *origin, *fetch_site, *authorization;
	unsigned hosts, authorizations; /* how many of them */
	size_t header_bytes;
};

struct ui_walls {
	struct ui_token token;
	const char *host; /* --ui-host: a name that a reverse proxy serves by https; NULL = none */
};

#define UI_WALLS_HEADERS 16384u /* bytes of all headers */

/* 0, or the status of the refusal and its sentence. */
unsigned ui_walls_check(const struct ui_walls *w, const struct ui_request *r, const char **ret_why);

bool ui_walls_is_api(const char *path);

#endif
