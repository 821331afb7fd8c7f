/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of container engines say of one container. Pure: hostile bytes in, bounded texts out; runs in a
 * worker. Formats: docker's config.v2.json, the list of containers of containers/storage (podman), and config.json
 * of the OCI runtime specification with the annotations of containerd, nerdctl and cri-o.
 */
#ifndef SCAP_CONTAINER_FILE_H
#define SCAP_CONTAINER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTAINER_FILE_MAX (8u << 20)	/* bytes: longer ones are not looked at */

enum container_file { CONTAINER_DOCKER, CONTAINER_STORAGE, CONTAINER_OCI, CONTAINER_FILE__MAX };

/* NUL-terminated; "" = not said. */
struct container_said {
	char name[256], image[512], image_id[80];
	char pod[256], pod_namespace[256];
	bool by_crio;
};

/* @id in full. 0, -ENOENT when the file does not know it, -EBADMSG when it is no JSON, -ENOMEM. */
int container_file_parse(enum container_file kind, const void *data, size_t len, const char *id,
			 struct container_said *ret);

/* The id in full that a list of cgroup paths (NUL behind each) means. False: none; @ret has 72 bytes. */
bool scap_state_container_id(const char *cgroups, size_t len, char *ret);

#endif
