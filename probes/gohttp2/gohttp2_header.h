/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of headers: those that are always asked for, and those whose values nobody may see.
 */
#ifndef GOHTTP2_HEADER_H
#define GOHTTP2_HEADER_H

#include <stdbool.h>

/* Credentials by their usual names, in any case. */
bool gohttp2_header_is_secret(const char *name);

#endif
