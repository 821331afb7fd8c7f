/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Accept header of HTTP (RFC 9110, 12.5.1), as far as scrapers of metrics need it. Knows no connection.
 */
#ifndef BUS_ACCEPT_H
#define BUS_ACCEPT_H

#include <stdbool.h>

/* Does @accept (NULL = there was none) prefer OpenMetrics to the older text? */
bool accepts_openmetrics(const char *accept);

#endif
