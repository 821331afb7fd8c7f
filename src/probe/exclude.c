// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that no probe shows: this one, which programs know by its number, and helpers in a set that they look
 * into only if it holds any (bpf/filter.bpf.h).
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "probe/env.h"

static int count(struct probe_env *env, int change)
{
	int fd = probe_env_shared_map(env, "sonde_n_excluded");
	uint32_t zero = 0, n = 0;

	bpf_map_lookup_elem(fd, &zero, &n);
	n += (uint32_t)change;
	return bpf_map_update_elem(fd, &zero, &n, BPF_ANY) < 0 ? -errno : 0;
}

int probe_env_exclude(struct probe_env *env, uint32_t tgid)
{
	const uint8_t one = 1;

	if (bpf_map_update_elem(probe_env_shared_map(env, "sonde_excluded"), &tgid, &one, BPF_NOEXIST) < 0)
		return errno == EEXIST ? 0 : -errno;
	return tgid == (uint32_t)getpid() ? 0 : count(env, 1);
}

void probe_env_include(struct probe_env *env, uint32_t tgid)
{
	if (bpf_map_delete_elem(probe_env_shared_map(env, "sonde_excluded"), &tgid) == 0 &&
	    tgid != (uint32_t)getpid())
		count(env, -1);
}
