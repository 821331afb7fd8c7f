/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a libmicrohttpd daemon without a thread of its own in our loop: its epoll descriptor is a source, and its
 * timeout a timer. The latter matters for long answers: after a partial write the descriptor is not readable again.
 */
#ifndef HTTP_HTTP_PUMP_H
#define HTTP_HTTP_PUMP_H

#include "base/cleanup.h"

struct MHD_Daemon;
struct http_library;
struct http_pump;
struct loop;

/* @lib and @daemon (started with MHD_USE_EPOLL) are borrowed; @name as for loop_name(). 0 or -errno. */
int http_pump_new(struct loop *loop, const struct http_library *lib, struct MHD_Daemon *daemon, const char *name,
		  struct http_pump **ret);
void http_pump_free(struct http_pump *p); /* before the daemon stops; NULL is fine */

/* Lets the daemon work now, after connections were resumed. Not within its callbacks. */
void http_pump_run(struct http_pump *p);

#endif
