// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bcc's --cgroupmap and --mntnsmap: pinned BPF hash maps whose keys, 64-bit numbers, are cgroup ids or inodes of
 * mount namespaces. They are read once, at the start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "compat/profile-bpfcc/bcc_maps.h"
#include "event/event.h"

int bcc_maps_keys(const char *option, const char *path, uint64_t **ret, size_t *ret_n, struct err *err)
{
	_cleanup_close_ int fd = bpf_obj_get(path);
	struct bpf_map_info info = { 0 };
	unsigned len = sizeof(info);
	VEC(uint64_t) keys = { 0 };
	uint64_t key = 0, *at = NULL;

	if (fd < 0)
		return err_errno(err, -errno, "%s %s: cannot open the pinned map", option, path);
	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0 || info.key_size != sizeof(key))
		return err_set(err, -EINVAL, "%s %s: its keys must be 64-bit numbers", option, path);
	for (; bpf_map_get_next_key(fd, at, &key) == 0; at = &key) {
		if (keys.len >= info.max_entries)	/* the map may change meanwhile */
			break;
		if (vec_push(&keys, key) < 0) {
			vec_fini(&keys);
			return err_errno(err, -ENOMEM, "%s %s", option, path);
		}
	}
	if (!keys.len) {
		vec_fini(&keys);
		return err_set(err, -EINVAL, "%s %s: the map is empty, so nothing would be profiled", option, path);
	}
	*ret = keys.items;
	*ret_n = keys.len;
	return 0;
}

struct bcc_mntns {
	struct map inodes;	/* u64 inode -> u8 */
	struct map ns_by_tgid;	/* u32 -> u64 */
};

void bcc_maps_mntns_free(struct bcc_mntns *f)
{
	if (!f)
		return;
	map_fini(&f->inodes);
	map_fini(&f->ns_by_tgid);
	free(f);
}
DEFINE_CLEANUP(struct bcc_mntns *, bcc_maps_mntns_free)

int bcc_maps_mntns_new(const char *path, struct bcc_mntns **ret, struct err *err)
{
	_cleanup_(bcc_maps_mntns_freep) struct bcc_mntns *f = calloc(1, sizeof(*f));
	_cleanup_free_ uint64_t *keys = NULL;
	size_t n = 0;
	int r = f ? bcc_maps_keys("--mntnsmap", path, &keys, &n, err) : err_errno(err, -ENOMEM, "--mntnsmap");

	if (r < 0)
		return r;
	map_init(&f->inodes, sizeof(uint64_t), sizeof(uint8_t));
	map_init(&f->ns_by_tgid, sizeof(uint32_t), sizeof(uint64_t));
	for (size_t i = 0; i < n; i++)
		if (!map_add(&f->inodes, &keys[i], NULL))
			return err_errno(err, -ENOMEM, "--mntnsmap");
	*ret = TAKE_PTR(f);
	return 0;
}

static void learn(struct bcc_mntns *f, const struct event *ev)
{
	each_item(field, ev->desc->fields, ev->desc->n_fields) {
		uint64_t ns;

		if (!strcmp(field->name, "task.mntns") && event_get_number(ev, field, &ns) >= 0)
			map_put(&f->ns_by_tgid, &ev->tgid, &ns);
	}
}

bool bcc_maps_mntns_pass(struct bcc_mntns *f, const struct event *ev)
{
	const uint64_t *ns;

	if (ev->desc->class == EVENT_STATE)
		learn(f, ev);
	ns = map_find(&f->ns_by_tgid, &ev->tgid);
	return ns && map_find(&f->inodes, ns);
}
