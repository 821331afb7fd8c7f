/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filters of bcc's profile by pinned BPF maps.
 */
#ifndef COMPAT_BCC_MAPS_H
#define COMPAT_BCC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bcc_mntns;
struct err;
struct event;

/* The 64-bit keys of a pinned map, at least one; owned by the caller. @option: for messages. */
int bcc_maps_keys(const char *option, const char *path, uint64_t **ret, size_t *ret_n, struct err *err);

/* Mount namespaces whose inodes are keys of the map at @path. */
int bcc_maps_mntns_new(const char *path, struct bcc_mntns **ret, struct err *err);
void bcc_maps_mntns_free(struct bcc_mntns *f);
bool bcc_maps_mntns_pass(struct bcc_mntns *f, const struct event *ev); /* learns from state events too */

#endif
