/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about a process that say why bytes of its connections cannot be read.
 */
#ifndef CMD_RPC_PROGRAM_H
#define CMD_RPC_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* The TLS library of a process. */
enum rpc_program_tls {
	RPC_PROGRAM_TLS_UNKNOWN,
	RPC_PROGRAM_TLS_WATCHED,  /* a shared library, a static copy with symbols, Go's */
	RPC_PROGRAM_TLS_STRIPPED, /* OpenSSL inside the program, without symbols */
	RPC_PROGRAM_TLS_BORING,	  /* BoringSSL, the same */
	RPC_PROGRAM_TLS_NSS,
	RPC_PROGRAM_TLS_JAVA,
	RPC_PROGRAM_TLS_GO,	  /* whose functions were not found */
	RPC_PROGRAM_TLS_RUSTLS,
	RPC_PROGRAM_TLS__MAX,
};

struct rpc_program {
	enum rpc_program_tls tls;
	bool io_uring; /* it has a ring */
	bool tls_hidden; /* on this kernel no TLS library is watched; set by the caller */
};

/*
 * Looks at the mappings, the descriptors and the program file of @pid; a worker without rights reads the file. Facts
 * that cannot be had count as unknown.
 */
void rpc_program_look(uint32_t pid, struct rpc_program *ret);

#endif
