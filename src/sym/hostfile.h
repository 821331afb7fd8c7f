/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the host by path. Private to src/sym.
 */
#ifndef SYM_HOSTFILE_H
#define SYM_HOSTFILE_H

struct sym;

/* A descriptor, opened here or by the privileged process (sym_set_open()); -errno. */
int hostfile_open(const struct sym *s, const char *path);

#endif
