// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of kernel addresses: asked of the kernel one by one, or looked up in all that kallsyms lists.
 */
#include <errno.h>

#include "base/clock.h"
#include "loop/coop.h"
#include "base/macros.h"
#include "probe/env_impl.h"
#include "host/kname.h"
#include "host/ksym.h"

#define KSYMS_AGE_NS 1000000000ull

/* Reading them takes 50 ms and more, so it is not done again and again: a fiftieth of the time at most. */
static int read_ksyms(struct probe_env *env)
{
	uint64_t begin = clock_boot_ns(), end;
	struct ksyms *fresh = NULL;
	bool left = coop_leave(env->coop);
	int r = ksym_new(&fresh);

	coop_return(env->coop, left);
	end = clock_boot_ns();
	env->ksyms_again_ns = end + MAX(50 * (end - begin), (uint64_t)KSYMS_AGE_NS);
	if (r < 0)
		return r;
	ksym_free(env->ksyms);
	env->ksyms = fresh;
	return 0;
}

static int need_ksyms(struct probe_env *env)
{
	return env->ksyms ? 0 : read_ksyms(env);
}

/*
 * Kernel symbols: name of the function that holds @addr, "tcp_v4_rcv+0x1a", or -ENOENT. The kernel is asked
 * (kname.h); where it cannot tell, kallsyms is read.
 */
static int probe_ksym(struct probe_env *env, uint64_t addr, char *buf, size_t cap)
{
	int r;

	if (!env->kname && !env->no_kname)
		env->no_kname = kname_new(&env->kname) < 0;
	if (env->kname)
		return kname_get(env->kname, addr, buf, cap);
	r = need_ksyms(env);

	if (r < 0)
		return r;
	/* a module or a BPF program may be younger than the table */
	if (clock_boot_ns() >= env->ksyms_again_ns && ksym_may_change(env->ksyms, addr))
		read_ksyms(env);
	return ksym_name(env->ksyms, addr, buf, cap);
}

int probe_env_inject_ksym(struct probe_env *env, uint64_t addr)
{
	bool fresh = false;
	char name[512];

	if (!addr || !map_add(&env->named, &addr, &fresh))
		return addr ? -ENOMEM : 0;
	if (!fresh || probe_ksym(env, addr, name, sizeof(name)) < 0)
		return 0;
	return probe_env_inject_name(env, SONDE_NAME_KSYM, addr, name);
}

int probe_env_ksym_range(struct probe_env *env, const char *name, unsigned nth, uint64_t *ret_start,
			 uint64_t *ret_end)
{
	int r = need_ksyms(env);

	return r < 0 ? r : ksym_range(env->ksyms, name, nth, ret_start, ret_end);
}
