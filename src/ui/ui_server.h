/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server of sonde ui in the caller's loop: walls (ui_walls.h), the page, /api/v1, streams.
 */
#ifndef UI_UI_SERVER_H
#define UI_UI_SERVER_H

#include "base/cleanup.h"
#include "ui/ui_query.h"

struct loop;
struct ui_server;

struct ui_server_opts {
	const char *address;	/* http_listen_check(); borrowed */
	int fd;			/* listens there already, taken over, whose file is the caller's; 0 = none */
	const struct ui_token *token;	/* NULL = a new one */
	const char *host;	/* --ui-host; NULL = none; borrowed */
	const struct ui_memory *memory;
	/* Called before a request is answered, for what its own process cannot do; may be NULL. */
	void (*prepare)(void *ctx, const struct ui_query *q);
	void *ctx;
};

/* Listens; requests are answered once the loop runs. 0 or -errno with a sentence. */
int ui_server_new(struct loop *loop, const struct ui_server_opts *o, struct ui_server **ret, struct err *err);
void ui_server_free(struct ui_server *s); /* and removes the socket file if it can; NULL is fine */

/* Appends the address to open, with the token. */
void ui_server_address(const struct ui_server *s, struct buf *out);

#endif
