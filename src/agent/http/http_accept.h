/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of HTTP as far as scrapers of metrics need them: Accept (RFC 9110, 12.5.1), Host (7.2).
 */
#ifndef BUS_ACCEPT_H
#define BUS_ACCEPT_H

#include <stdbool.h>

/* Does @accept (NULL = there was none) prefer OpenMetrics to the older text? */
bool http_accept_openmetrics(const char *accept);

/*
 * Is @host (NULL = there was none, as in HTTP/1.0) an address, localhost or one of @names (comma separated; NULL =
 * none), with or without a port? Browsers send another name when a web page has had it resolved to this address.
 */
bool http_accept_host(const char *host, const char *names);

#endif
