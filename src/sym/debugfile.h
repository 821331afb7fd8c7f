/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug files (gdb manual, "Separate Debug Files"): by build id, then by the file's debug link. Those in the
 * process's own root come before the host's. Only opens; the reader must check that the file matches. Private to
 * src/sym.
 */
#ifndef SYM_DEBUGFILE_H
#define SYM_DEBUGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module;
struct sym;

struct debug_want {
	const uint8_t *id;	/* build id; id_len 0 = none */
	size_t id_len;
	const char *link;	/* name from .gnu_debuglink; "" = none */
};

/*
 * Opens the @i-th candidate for the debug file of @m: a descriptor, -ENOENT if it does not exist, -ERANGE past the
 * last. *@ret_by_link: the file was found by its name, so its checksum decides, else its build id.
 */
int debugfile_open(const struct sym *s, const struct module *m, const struct debug_want *w, unsigned i,
		   bool *ret_by_link);

#endif
