/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TLS library in a file: where its functions are, and the client random in its objects. A worker reads the file.
 */
#ifndef CALL_TLS_FIND_H
#define CALL_TLS_FIND_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define CALL_TLS_SITES_MAX 16u

struct call_tls_site {
	uint64_t file_off;
	uint32_t fn;		/* CALL_TLS_* */
	uint32_t pad;
};

struct call_tls_found {
	uint32_t n;
	uint32_t library;	/* CALL_SOURCE_* */
	uint32_t random;	/* offset of the client random + 1; 0 = unknown */
	uint32_t pad;
	struct call_tls_site sites[CALL_TLS_SITES_MAX];
};

/* @fd: an ELF file. -ENOENT if none of the libraries is in it, or -errno with a sentence in @err. */
int call_tls_find(int fd, struct call_tls_found *ret, struct err *err);

#endif
