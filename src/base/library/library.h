/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that few runs need, loaded by these: they bring others along, which would slow down every start.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

struct err;

/* A function in use: its name, and the offset of its pointer in the caller's struct. */
struct library_symbol { const char *name; size_t off; };

struct library {
	const char *name, *package;		/* package: of Debian */
	const char *files[3];			/* the first that loads is taken; NULL = no more */
	const struct library_symbol *symbols;
	size_t n;
};

/* Fills the pointers in @ret; the library stays loaded. 0, or -ELIBACC with a message that names the package. */
int library_load(const struct library *l, void *ret, struct err *err);

#endif
