/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and images of containers, from the files of the engines that run them. The files are hostile: they are opened
 * below the host's root and parsed in a worker.
 */
#ifndef SYS_CONTAINER_H
#define SYS_CONTAINER_H

#include <stddef.h>

struct containers;
struct params_out;

/* @host_root: "" or where the host's root is mounted. NULL without memory. */
struct containers *sys_container_new(const char *host_root);
void sys_container_free(struct containers *c); /* NULL is fine */

/* A process in these cgroups is there (as rows of threads have them). What is new is looked up by the next call. */
void sys_container_note(struct containers *c, const char *cgroups, size_t len);

/*
 * Tells of each container that was noted since: an event with what its engine says in sysdig's form, for the state
 * and not shown. One that no engine knows is named by its id. 0, or what @fn returned when negative.
 */
int sys_container_tell(struct containers *c, int (*fn)(void *ctx, const struct params_out *ev), void *ctx);

#endif
