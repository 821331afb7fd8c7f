/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounded reads of small files and links in /proc.
 */
#ifndef SYS_PROCFS_H
#define SYS_PROCFS_H

#include <stddef.h>

struct buf;

/* Replaces @into with at most @cap bytes of file @name and a NUL after them. Returns the length, or -errno. */
int sys_procfs_read(int dir_fd, const char *name, struct buf *into, size_t cap);
/* Target of the link @name, truncated to @cap with its NUL; "" if it cannot be read. Returns the length. */
size_t sys_procfs_link(int dir_fd, const char *name, char *to, size_t cap);

#endif
