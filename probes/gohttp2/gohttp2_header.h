/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of headers whose values are never shown.
 */
#ifndef GOHTTP2_HEADER_H
#define GOHTTP2_HEADER_H

#include <stdbool.h>

/* Is @name a usual name of credentials? In upper or lower case. */
bool gohttp2_header_is_secret(const char *name);

#endif
