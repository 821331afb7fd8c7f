/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Container of a cgroup, derived from the cgroup's path by the naming schemes of docker, containerd, podman, cri-o,
 * Kubernetes, LXC and systemd-nspawn. Reads nothing but the path.
 */
#ifndef CONTAINER_CONTAINER_H
#define CONTAINER_CONTAINER_H

#include <stdbool.h>

#define CONTAINER_ID_MAX 72	/* including the NUL */

/*
 * Stores the full id (engines and sysdig print its first twelve digits), or the container's name for engines that use
 * names. False if @path does not belong to a container.
 */
bool container_from_cgroup(const char *path, char ret_id[CONTAINER_ID_MAX]);

#define CONTAINER_POD_UID_MAX 40

/* The uid of the Kubernetes pod, as the API server writes it. False if @path does not belong to one. */
bool container_pod_of_cgroup(const char *path, char ret_uid[CONTAINER_POD_UID_MAX]);

#endif
