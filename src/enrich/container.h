/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Container ids out of cgroup paths.
 */
#ifndef ENRICH_CONTAINER_H
#define ENRICH_CONTAINER_H

#include <stddef.h>

/*
 * The id in @path ("/system.slice/docker-<id>.scope", ".../crio-<id>.scope", "/docker/<id>", "/libpod-<id>",
 * "/kubepods/.../<id>", "/machine.slice/..."), which points into @path. Returns its length, 0 = no container.
 */
size_t container_id(const char *path, const char **ret);

#endif
