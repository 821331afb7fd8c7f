/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separate debug files (gdb manual, "Separate Debug Files"): by build id, then by the link in the file. Those of the
 * process's own root come before the host's. Only opens; that it is the right one its reader has to see. Private to
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
	const char *link;	/* name out of .gnu_debuglink; "" = none */
};

/*
 * The @i-th place where the debug file of @m may be: a descriptor, -ENOENT when nothing is there, -ERANGE behind the
 * last place. *@ret_by_link: the file was found by its name, so its checksum decides, else its build id.
 */
int debugfile_open(const struct sym *s, const struct module *m, const struct debug_want *w, unsigned i,
		   bool *ret_by_link);

#endif
