// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/bpf/load.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "load.skel.h"
#include "probe/env.h"

struct load { struct load_bpf *skel; };

void load_close(struct load *l)
{
	if (!l)
		return;
	load_bpf__destroy(l->skel);
	free(l);
}
DEFINE_CLEANUP(struct load *, load_close)

/* Up to 6.1 at least, tc programs cannot ask for the current task. */
static const char *const optional[] = { "load_bare_task", "load_task", "load_selected" };

static int try_load(struct load *l, struct probe_env *env, uint16_t instance, size_t ring_bytes, bool all,
		    struct err *err)
{
	int r;

	load_bpf__destroy(l->skel);
	l->skel = load_bpf__open();
	if (!l->skel)
		return err_errno(err, -errno, "cannot open the test programs");
	bpf_map__set_max_entries(l->skel->maps.load_ring, (uint32_t)ring_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(optional) && !all; i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(l->skel->obj, optional[i]), false);
	r = probe_env_prepare(env, l->skel->obj, instance, err);
	return r < 0 ? r : probe_env_load(env, l->skel->obj, err);
}

int load_open(struct probe_env *env, uint16_t instance, size_t ring_bytes, struct load **ret, struct err *err)
{
	_cleanup_(load_closep) struct load *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_errno(err, -ENOMEM, "cannot open the test programs");
	r = try_load(l, env, instance, ring_bytes, true, err);
	if (r < 0)
		r = try_load(l, env, instance, ring_bytes, false, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

bool load_has(const struct load *l, const char *name)
{
	return bpf_program__fd(load_prog(l, name)) >= 0;
}

int load_one(struct probe_env *env, const char *name, struct err *err)
{
	struct load_bpf *skel = load_bpf__open();
	struct bpf_program *prog;
	int r;

	if (!skel)
		return err_errno(err, -errno, "cannot open the test programs");
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), name));
	r = probe_env_prepare(env, skel->obj, 0, err);
	if (r >= 0)
		r = probe_env_load(env, skel->obj, err);
	load_bpf__destroy(skel);
	return r;
}

const struct bpf_program *load_prog(const struct load *l, const char *name)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(l->skel->obj, name);

	assert(prog);
	return prog;
}

int load_map(const struct load *l, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(l->skel->obj, name);

	assert(map);
	return bpf_map__fd(map);
}

int load_run(const struct bpf_program *prog, unsigned times, uint32_t *ret_ns, uint32_t *ret_value)
{
	static const unsigned char packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet), .repeat = (int)times);
	int r = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	if (r < 0)
		return -errno;
	if (ret_ns)
		*ret_ns = opts.duration;
	if (ret_value)
		*ret_value = opts.retval;
	return 0;
}

int load_pin(unsigned cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	int r;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	r = sched_setaffinity(0, size, set) < 0 ? -errno : 0;
	CPU_FREE(set);
	return r;
}
