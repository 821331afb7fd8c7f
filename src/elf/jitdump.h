/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit-PID.dump files: names, moves and source lines of code from run-time compilers. The newest record of an address
 * is right. Lines apply to the load address only; moved code has none.
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
 * @addrs ascending. Fills ret[@n], and @ret_lines[@n] unless NULL. Returns how many were found; -EBADMSG if the file
 * is not a jitdump or has the other byte order, -errno. A file that ends within a record (it is being written) is
 * read up to that record.
 */
int jitdump_lookup_fd(int fd, const uint64_t *addrs, size_t n, struct symtab_hit *ret,
		      struct jitdump_line *ret_lines);
int jitdump_lookup_mem(const void *data, size_t len, const uint64_t *addrs, size_t n, struct symtab_hit *ret,
		       struct jitdump_line *ret_lines);

#endif
