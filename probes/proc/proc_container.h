/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers, for the stream: looked up once per cgroup of a container, in the files of its engine, on the
 * second thread. A miss is repeated: an engine may write its files after the container starts.
 */
#ifndef PROC_CONTAINER_H
#define PROC_CONTAINER_H

#include <stdint.h>

struct probe_env;

/* NULL without memory or without the host's root. */
struct proc_containers *proc_container_new(struct probe_env *env);
/* A cgroup was seen for the first time: its names follow as records if it is a container's. NULL is fine. */
void proc_container_note(struct proc_containers *c, uint64_t cgroup_id, const char *path);
/* Repeats what failed before; call it about once a second. NULL is fine. */
void proc_container_tick(struct proc_containers *c, uint64_t now_ns);
void proc_container_stop(struct proc_containers *c);	/* no further look-ups; NULL is fine */
void proc_container_free(struct proc_containers *c);	/* NULL is fine */

#endif
