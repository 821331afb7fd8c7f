/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of headers: those that are always asked for, and those whose values nobody may see.
 */
#ifndef GORPC_HEADER_H
#define GORPC_HEADER_H

#include <stdbool.h>
#include <stdint.h>

struct gorpc_header_name {
	const char *name;	/* in lower case, as HTTP/2 has them */
	uint8_t number;		/* enum gorpc_header */
};

extern const struct gorpc_header_name gorpc_headers[];
extern const unsigned gorpc_n_headers;

/* Credentials by their usual names, in any case. */
bool gorpc_header_is_secret(const char *name);

#endif
