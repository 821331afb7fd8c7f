// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel counted for each instance, and giving an instance's number back.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probe/env_impl.h"
#include "probe/select.h"

static uint32_t id_of(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_prog_get_info_by_fd(prog_fd, &info, &len) < 0 ? 0 : info.id;
}

static int add_program(struct probe_env *env, int prog_fd, uint16_t instance, struct watched **ret)
{
	_cleanup_close_ int fd = dup(prog_fd);

	if (fd < 0)
		return -errno;
	if (instance >= SONDE_INSTANCES || vec_grow(&env->watched) < 0)
		return -ENOMEM;
	*ret = &env->watched.items[env->watched.len++];
	**ret = (struct watched){ .id = id_of(fd), .instance = instance };
	(*ret)->prog_fd = TAKE_FD(fd);
	return 0;
}

int probe_env_watch(struct probe_env *env, const struct bpf_program *prog, uint16_t instance)
{
	uint32_t id = id_of(bpf_program__fd(prog));
	struct watched *w = NULL;
	int r = 0;

	for (size_t i = 0; id && !w && i < env->watched.len; i++)
		if (env->watched.items[i].id == id)
			w = &env->watched.items[i];
	if (!w)
		r = add_program(env, bpf_program__fd(prog), instance, &w);
	if (r >= 0)
		w->misses = true;
	return r;
}

/* What it costs is asked of the kernel later; without memory it is not known. */
void env_remember_programs(struct probe_env *env, const struct bpf_object *obj, uint16_t instance)
{
	struct bpf_program *prog;
	struct watched *w;

	bpf_object__for_each_program(prog, obj)
		if (bpf_program__fd(prog) >= 0)
			add_program(env, bpf_program__fd(prog), instance, &w);
}

/* Drops the entries of @instance from the end: their places are taken by others. */
static void forget_maps(struct probe_env *env, int instance)
{
	for (size_t i = env->shared.len; i-- > 0;) {
		if (env->shared.items[i].instance != instance)
			continue;
		close(env->shared.items[i].fd);
		env->shared.items[i] = env->shared.items[--env->shared.len];
	}
}

static void forget_watched(struct probe_env *env, int instance)
{
	for (size_t i = env->watched.len; i-- > 0;) {
		if (env->watched.items[i].instance != instance)
			continue;
		close(env->watched.items[i].prog_fd);
		env->watched.items[i] = env->watched.items[--env->watched.len];
	}
}

int probe_env_forget(struct probe_env *env, uint16_t instance)
{
	_cleanup_free_ struct sonde_ledger *zeros = calloc(env->n_cpus, sizeof(*zeros));
	int fd = probe_env_shared_map(env, "sonde_ledger"), r = zeros ? 0 : -ENOMEM;

	forget_maps(env, instance);
	forget_watched(env, instance);
	env->probe_select_flags[instance] = probe_select_flags(&env->select);
	env->own_select[instance] = NULL;
	for (uint32_t class = 0; zeros && class < SONDE_CLASSES; class++) {
		uint32_t row = instance * SONDE_CLASSES + class;

		if (bpf_map_update_elem(fd, &row, zeros, BPF_ANY) < 0)
			r = -errno;
	}
	return r;
}

void probe_env_programs(struct probe_env *env, void (*fn)(void *ctx, uint16_t instance, int prog_fd), void *ctx)
{
	for (size_t i = 0; i < env->watched.len; i++)
		fn(ctx, env->watched.items[i].instance, env->watched.items[i].prog_fd);
}

static uint64_t recursion_misses(const struct probe_env *env, uint16_t instance)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < env->watched.len; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (env->watched.items[i].instance == instance && env->watched.items[i].misses &&
		    !bpf_prog_get_info_by_fd(env->watched.items[i].prog_fd, &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

static void add_row(struct sonde_ledger *sum, const struct sonde_ledger *row)
{
	sum->seen += row->seen;
	sum->delivered += row->delivered;
	sum->filtered += row->filtered;
	sum->sampled += row->sampled;
	for (int i = 0; i < SONDE_LOST__MAX; i++)
		sum->lost[i] += row->lost[i];
}

int probe_env_ledger(struct probe_env *env, uint16_t instance, struct sonde_ledger *ret)
{
	_cleanup_free_ struct sonde_ledger *cpus = calloc(env->n_cpus, sizeof(*cpus));
	int fd = probe_env_shared_map(env, "sonde_ledger");
	uint64_t misses;

	if (!cpus)
		return -ENOMEM;
	if (instance >= SONDE_INSTANCES)
		return -ERANGE;
	*ret = (struct sonde_ledger){ 0 };
	for (uint32_t class = 0; class < SONDE_CLASSES; class++) {
		uint32_t row = instance * SONDE_CLASSES + class;

		if (bpf_map_lookup_elem(fd, &row, cpus) < 0)
			return -errno;
		for (unsigned cpu = 0; cpu < env->n_cpus; cpu++)
			add_row(ret, &cpus[cpu]);
	}
	misses = recursion_misses(env, instance);
	ret->seen += misses;
	ret->lost[SONDE_LOST_RECURSION] += misses;
	return 0;
}

void probe_env_wait_for_programs(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };	/* no grace period to be had: far more than a walk */

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		nanosleep(&pause, NULL);
}
