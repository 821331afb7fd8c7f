/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metadata of one container in the files of its engine. Hostile bytes in, bounded texts out; runs in a worker.
 * Formats: docker's config.v2.json, the container list of containers/storage (podman), and config.json of the OCI
 * runtime specification with the annotations of containerd, nerdctl and cri-o.
 */
#ifndef CONTAINER_CONTAINER_FILE_H
#define CONTAINER_CONTAINER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_FILE_MAX (8u << 20)	/* larger files are not read */

enum container_file { CONTAINER_DOCKER, CONTAINER_STORAGE, CONTAINER_OCI, CONTAINER_FILE__MAX };

/* NUL-terminated; "" = absent. */
struct container_said {
	char name[256], image[512], image_id[80];
	char pod[256], pod_namespace[256];
	bool by_crio;
};

/* @id: full length. 0, -ENOENT if the file lacks it, -EBADMSG if it is not JSON, -ENOMEM. */
int container_file_parse(enum container_file kind, const void *data, size_t len, const char *id,
			 struct container_said *ret);

#endif
