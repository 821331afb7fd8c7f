/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container that a cgroup belongs to, told from the cgroup's path: how docker, containerd, podman, cri-o,
 * Kubernetes, LXC and systemd-nspawn name theirs. Knows nothing but the path.
 */
#ifndef ENRICH_CONTAINER_H
#define ENRICH_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_ID_MAX 72	/* with the NUL */

/*
 * The id in full (engines and sysdig print its first twelve digits), or a name where the engine uses names.
 * False when @path is not that of a container.
 */
bool container_from_cgroup(const char *path, char ret_id[CONTAINER_ID_MAX]);

#endif
