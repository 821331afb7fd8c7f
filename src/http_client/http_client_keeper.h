/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process between the queue (http_client.c) and the sender, which talks to the server (http_client_child.h). It
 * was started while the command had its rights, so it can start the sender again when commands no longer can: after a
 * replay has given up its rights, in an agent whose filter refuses libraries.
 */
#ifndef HTTP_CLIENT_HTTP_CLIENT_KEEPER_H
#define HTTP_CLIENT_HTTP_CLIENT_KEEPER_H

/*
 * A worker_fn (worker/worker.h); @ctx is a struct http_client_child. Messages come from @in_fd as a struct
 * http_client_head and bytes, an answer for each goes to @out_fd, in order. A sender that ends loses the message it
 * had, which is answered by POST_UNREACHED, and is started again: after 250 ms, later up to 15 s.
 */
int http_client_keeper(void *ctx, int in_fd, int out_fd);

#endif
