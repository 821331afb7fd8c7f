/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that talks to the server.
 */
#ifndef HTTP_CLIENT_HTTP_CLIENT_CHILD_H
#define HTTP_CLIENT_HTTP_CLIENT_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "http_client/http_message.h"

#define HTTP_CLIENT_CLOSE_NS (5 * NS_PER_S) /* http_client_opts.close_ns */

/*
 * Main function of the sender: @sock has the head of each message, whose bytes are at @message, and takes the answer.
 * Returns its exit status when the keeper has closed the socket.
 */
int http_client_child(const struct http_client_child *conf, const char *message, int sock);

/*
 * Items that the server refused in a message it accepted (ExportTraceServiceResponse), and its reason, cut to @size
 * bytes with the NUL, control characters as "?". 0 and "" if @reply is invalid.
 */
uint64_t http_client_reply_rejected(const void *reply, size_t len, char *ret_why, size_t size);

#endif
