/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Name and image of a container, from the files that its engine keeps: docker's data root, containers/storage
 * (podman, cri-o), and the bundles of containerd's tasks, each at its default location. The files are hostile: they
 * are opened below the host's root and parsed in a worker.
 */
#ifndef CONTAINER_CONTAINER_FIND_H
#define CONTAINER_CONTAINER_FIND_H

#include "container/container_file.h"

/* libscap's numbers of container engines. */
#define CONTAINER_ENGINE_NONE (-1)
#define CONTAINER_ENGINE_DOCKER 0
#define CONTAINER_ENGINE_CRI 6
#define CONTAINER_ENGINE_CONTAINERD 7
#define CONTAINER_ENGINE_CRIO 8
#define CONTAINER_ENGINE_PODMAN 11

/* Directory of the host's root, "" = ours: a descriptor for container_find(), or -errno. */
int container_find_root(const char *host_root);
/*
 * Searches the container @id (full length). Blocks for some milliseconds, longer with hostile files. Returns
 * CONTAINER_ENGINE_*; NONE if no engine has it: *ret is undefined then.
 */
int container_find(int root_fd, const char *id, struct container_said *ret);

#endif
