/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP headers that scrapers send: Accept (RFC 9110, 12.5.1), Host (7.2).
 */
#ifndef HTTP_HTTP_ACCEPT_H
#define HTTP_HTTP_ACCEPT_H

#include <stdbool.h>

/* Does @accept (NULL = no header) prefer OpenMetrics to the Prometheus format? */
bool http_accept_openmetrics(const char *accept);

/*
 * Is @host (NULL = no header, as in HTTP/1.0) an address, localhost or one of @names (comma-separated; NULL = none),
 * with or without a port? This refuses browsers whose page resolved its own name to this address (DNS rebinding).
 */
bool http_accept_host(const char *host, const char *names);

#endif
