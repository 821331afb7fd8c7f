/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and images of containers, from the files of their engines. The files are hostile: they are opened below the
 * host's root and parsed in a worker.
 */
#ifndef SYS_CONTAINER_H
#define SYS_CONTAINER_H

#include <stddef.h>

struct params_out;

/* @host_root: "" or the mount point of the host's root. NULL without memory. */
struct containers *sys_container_new(const char *host_root);
void sys_container_free(struct containers *c); /* NULL is fine */

/* Notes the container of a process in @cgroups (in the format of thread rows) for the next report. */
void sys_container_note(struct containers *c, const char *cgroups, size_t len);

/*
 * Reports each new container: a hidden event for the state, in sysdig's format. A container without metadata gets its
 * id as name. 0, or a negative return of @fn.
 */
int sys_container_report(struct containers *c, int (*fn)(void *ctx, const struct params_out *ev), void *ctx);

#endif
