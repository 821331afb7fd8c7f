/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit-PID.dump files: code that run-time compilers made, with names, moves and source lines. The newest record of an
 * address is right. Lines are those of the code where it was loaded; code that moved has none.
 */
#ifndef ELF_JITDUMP_H
#define ELF_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

struct symtab_hit;

struct jitdump_line {
	char *file;		/* owned by the caller; NULL = unknown */
	uint32_t line;
};

/*
 * @addrs ascending. Fills ret[@n], and @ret_lines[@n] unless NULL. How many were found, -EBADMSG for no jitdump or
 * one of the other byte order, -errno. A file that ends within a record (it is being written) is read so far.
 */
int jitdump_lookup_fd(int fd, const uint64_t *addrs, size_t n, struct symtab_hit *ret,
		      struct jitdump_line *ret_lines);
int jitdump_lookup_mem(const void *data, size_t len, const uint64_t *addrs, size_t n, struct symtab_hit *ret,
		       struct jitdump_line *ret_lines);

#endif
