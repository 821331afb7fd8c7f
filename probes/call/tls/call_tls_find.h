/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TLS library in a file: where its functions are, and how its objects lead to a socket. A worker reads the file.
 */
#ifndef CALL_TLS_FIND_H
#define CALL_TLS_FIND_H

#include <stddef.h>
#include <stdint.h>

#include "probes/call/tls/call_tls_wire.h"

struct err;

#define CALL_TLS_SITES_MAX 64u	/* of Go with the return instructions */
#define CALL_TLS_TYPES_MAX 64u
#define CALL_TLS_NAMES 11u	/* functions of C libraries that have a use */

struct call_tls_site {
	uint64_t file_off;
	uint32_t fn;		/* CALL_TLS_* */
	uint32_t addr;		/* Go: as linked */
};

struct call_tls_found {
	uint32_t n;
	uint32_t library;	/* CALL_SOURCE_* */
	uint32_t random;	/* offset of the client random + 1; 0 = unknown */
	uint32_t pointer;	/* offset of a pointer that leads to it + 1; 0 = it is in the object itself */
	uint32_t n_types;	/* Go */
	struct call_tls_site sites[CALL_TLS_SITES_MAX];
	struct call_tls_go_program program;
	struct {
		uint64_t type;
		struct call_tls_go_type ways;
	} types[CALL_TLS_TYPES_MAX];
};

/* Functions whose addresses the user knows, by call_tls_find_name(); virtual addresses of the file, 0 = unknown. */
struct call_tls_given {
	uint64_t addrs[CALL_TLS_NAMES];
};

/* Number of a function's name; -ENOENT with a sentence in @err. */
int call_tls_find_name(const char *name, size_t len, struct err *err);

/*
 * @fd: an ELF file. @given: NULL = look for the functions. -ENOENT if none of the libraries is in it, -EINVAL with a
 * sentence in @err if a given address is none of a function, or -errno with a sentence.
 */
int call_tls_find(int fd, const struct call_tls_given *given, struct call_tls_found *ret, struct err *err);

#endif
