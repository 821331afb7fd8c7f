/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the host by path.
 */
#ifndef SYM_HOSTFILE_H
#define SYM_HOSTFILE_H

struct sym;

/*
 * For a caller that dropped its rights: from here on @open(ctx, path) opens files of the host, by asking a privileged
 * process for hostfile_open_elf(): a regular file with an ELF header, read-only, or -errno.
 */
void hostfile_set_open(struct sym *s, int (*open)(void *ctx, const char *path), void *ctx);
int hostfile_open_elf(const struct sym *s, const char *path);
int hostfile_root_fd(const struct sym *s);	/* descriptor that hostfile_open_elf() needs to stay open */

/* Private to src/sym: a descriptor, opened here or by the privileged process (hostfile_set_open()); -errno. */
int hostfile_open(const struct sym *s, const char *path);

#endif
