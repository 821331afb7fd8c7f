// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half of the cpu probe: loads its programs with the configuration in read-only data, starts the perf events,
 * and gives names to the kernel addresses that come by.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/cpu/cpu_perf.h"
#include "probes/cpu/cpu_wire.h"

#include "cpu.skel.h"

extern const struct decoder_ops cpu_decoder;

struct cpu_state {
	struct hooks *hooks;
	struct cpu_perf *perf;		/* NULL: no samples wanted */
};

/* ---- loading ---- */

/* Attached by cpu_perf.c, hence HOOK_ATTACH_NOT. */
static const struct hook sample_hooks[] = {
	{ "samples", "cpu_sample", HOOK_ATTACH_NOT },
};

struct setup {
	const struct cpu_conf *conf;
	const struct cpu_perf *perf;	/* may be NULL */
	unsigned n_cpus;		/* possible */
};

static void set_u32(struct bpf_object *obj, const char *name, uint32_t value)
{
	probe_set_rodata(obj, name, &value, sizeof(value));
}

static void set_u64(struct bpf_object *obj, const char *name, uint64_t value)
{
	probe_set_rodata(obj, name, &value, sizeof(value));
}

static void set_flag(struct bpf_object *obj, const char *name, bool value)
{
	probe_set_rodata(obj, name, &value, sizeof(value));
}

static void set_size(struct bpf_object *obj, const char *name, size_t entries)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);

	if (map)
		bpf_map__set_max_entries(map, (uint32_t)MAX(entries, (size_t)1));
}

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct setup *s = ctx;
	const struct cpu_conf *c = s->conf;

	set_u32(obj, "cpu_kern_depth", c->user_only ? 0 : c->kernel_depth);
	set_u32(obj, "cpu_user_depth", c->kernel_only ? 0 : c->depth);
	set_flag(obj, "cpu_keep_idle", c->idle);
	set_flag(obj, "cpu_select_tids", c->tids.len);
	set_size(obj, "cpu_tids", c->tids.len);
	set_size(obj, "cpu_paces", s->n_cpus);
	if (s->perf) {
		set_u64(obj, "cpu_value", cpu_perf_value(s->perf));
		set_u64(obj, "cpu_clock_period_ns", cpu_perf_clock_ns(s->perf));
	}
}

static int check_conf(const struct cpu_conf *c, struct err *err)
{
	if (c->user_only && c->kernel_only)
		return err_set(err, -EINVAL, "--user-stacks-only and --kernel-stacks-only exclude each other");
	if (!c->depth || c->depth > CPU_USER_MAX)
		return err_set(err, -EINVAL, "--depth %u: 1 to %u frames are possible", c->depth, CPU_USER_MAX);
	if (!c->kernel_depth || c->kernel_depth > CPU_KERN_MAX)
		return err_set(err, -EINVAL, "--kernel-depth %u: 1 to %u frames are possible", c->kernel_depth,
			       CPU_KERN_MAX);
	return 0;
}

static int load(struct probe_env *env, const struct cpu_conf *c, const struct cpu_perf *perf, uint16_t instance,
		struct hooks **ret, struct err *err)
{
	struct setup setup = { .conf = c, .perf = perf, .n_cpus = probe_env_n_cpus(env) };
	struct hooks_spec spec = {
		.rows = sample_hooks, .n_rows = ARRAY_SIZE(sample_hooks), .configure = configure, .ctx = &setup,
	};

	spec.elf = cpu_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(env, &spec, instance, ret, err);
}

static int map_fd(const struct cpu_state *s, const char *name)
{
	return bpf_object__find_map_fd_by_name(hooks_object(s->hooks), name);
}

static int fill_tids(const struct cpu_state *s, const struct cpu_conf *c, struct err *err)
{
	const uint8_t one = 1;
	int fd = map_fd(s, "cpu_tids");

	for (size_t i = 0; i < c->tids.len; i++)
		if (bpf_map_update_elem(fd, &c->tids.items[i], &one, BPF_ANY) < 0)
			return err_errno(err, -errno, "cannot tell the kernel which threads are wanted");
	return 0;
}

/* ---- probe_ops ---- */

static int open_perf(const struct cpu_conf *c, struct cpu_perf **ret, struct err *err)
{
	const struct cpu_perf_opts o = {
		.event = c->event, .frequency = c->frequency, .period = c->period, .cpus = &c->cpus,
	};

	return cpu_perf_new(&o, ret, err);
}

static int cpu_open(struct probe *p, struct err *err)
{
	const struct cpu_conf *c = p->conf;
	struct cpu_state *s = p->state;
	int r = check_conf(c, err);

	if (r >= 0)
		r = open_perf(c, &s->perf, err);
	if (r >= 0)
		r = load(p->env, c, s->perf, p->instance, &s->hooks, err);
	return r < 0 ? r : fill_tids(s, c, err);
}

/* A CPU that was away begins anew. */
static int start_cpu(void *ctx, uint32_t cpu)
{
	const struct cpu_pace zero = { 0 };

	return bpf_map_update_elem(map_fd(ctx, "cpu_paces"), &cpu, &zero, BPF_ANY) < 0 ? -errno : 0;
}

static int cpu_attach(struct probe *p, struct err *err)
{
	struct cpu_state *s = p->state;

	return cpu_perf_attach(s->perf, hooks_program(s->hooks, "cpu_sample"), start_cpu, s, err);
}

static int name_frames(struct probe *p, const struct sonde_rec *rec)
{
	struct cursor c = cur_init(rec, rec->len);
	struct cpu_sample_rec r;
	int ret = 0;

	if (!cur_copy(&c, &r, sizeof(r)))
		return 0; /* the decoder counts it */
	for (unsigned i = 0; ret >= 0 && cur_left(&c) >= sizeof(uint64_t) && i < r.n_kern; i++)
		ret = probe_inject_ksym(p->env, cur_u64(&c));
	return ret;
}

static int cpu_control(struct probe *p, const struct sonde_rec *r)
{
	switch (r->type) {
	case CPU_REC_SAMPLE:
	case CPU_REC_BLOCK:
		return name_frames(p, r);
	default:
		return 0;
	}
}

static int cpu_tick(struct probe *p, uint64_t now_ns)
{
	struct cpu_state *s = p->state;

	(void)now_ns;
	cpu_perf_follow(s->perf); /* a CPU that comes while memory is short is tried again */
	return 0;
}

static void cpu_detach(struct probe *p)
{
	struct cpu_state *s = p->state;

	cpu_perf_detach(s->perf);
	hooks_detach(s->hooks);
}

static void cpu_close(struct probe *p)
{
	struct cpu_state *s = p->state;

	cpu_perf_free(s->perf);
	hooks_free(s->hooks);
	*s = (struct cpu_state){ 0 };
}

/* ---- doctor ---- */

static int cpu_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct hook_report rep = { .hook = "samples" };
	struct cpu_perf *perf = NULL;
	struct hooks *hooks = NULL;
	struct err err = { 0 };
	int r = open_perf(&cpu_conf_default, &perf, &err);

	if (r >= 0)
		r = load(env, &cpu_conf_default, perf, 0, &hooks, &err);
	if (r < 0) {
		rep.state = r == -EPERM || r == -EACCES ? HOOK_REFUSED : HOOK_FAILED;
		snprintf(rep.why, sizeof(rep.why), "%.255s", err.msg);
	}
	fn(ctx, &rep);
	hooks_free(hooks);
	cpu_perf_free(perf);
	return 0;
}

/* ---- options ---- */

const struct cpu_conf cpu_conf_default = {
	.frequency = 49,	/* not in step with what happens 50 or 100 times a second */
	.depth = 512, .kernel_depth = 127, .unwind_bytes = 64u << 20,
};

static const char *const event_names[] = {
	[CPU_EVENT_AUTO] = "auto", [CPU_EVENT_CYCLES] = "cycles", [CPU_EVENT_CLOCK] = "clock", NULL,
};
_Static_assert(ARRAY_SIZE(event_names) == CPU_EVENT__MAX + 1, "each event has a name");

#define ROW(member, ...) OPT_ROW(cpu_conf, member, __VA_ARGS__)

static const struct opt cpu_opts[] = {
	ROW(frequency, "frequency", 0, OPT_U32, "HZ", "samples per second and CPU (default 49)"),
	ROW(period, "period", 0, OPT_U64, "N",
	    "instead: a sample every N events; of the clock an event is a nanosecond"),
	{ .name = "event", .kind = OPT_ENUM, .off = offsetof(struct cpu_conf, event), .arg = "WHAT",
	  .help = "auto, cycles or clock: what is counted (default auto: cycles where the machine counts them)",
	  .aux = event_names },
	ROW(cpus, "cpu", 0, OPT_STRV, "LIST", "only these CPUs, as 0-3,8"),
	ROW(tids, "tid", 0, OPT_U32V, "TID", "only these threads"),
	ROW(user_only, "user-stacks-only", 0, OPT_BOOL, NULL, "no kernel stacks"),
	ROW(kernel_only, "kernel-stacks-only", 0, OPT_BOOL, NULL, "no user stacks"),
	ROW(idle, "include-idle", 0, OPT_BOOL, NULL, "show idle CPUs too"),
	ROW(off_cpu, "off-cpu", 0, OPT_BOOL, NULL, "threads that wait instead of those that run, with how long"),
	ROW(wall, "wall", 0, OPT_BOOL, NULL, "both: where the time goes, on a CPU or not"),
	ROW(min_block_ns, "min-block-time", 0, OPT_DURATION, "TIME", "no waits shorter than this (default 1us)"),
	ROW(max_block_ns, "max-block-time", 0, OPT_DURATION, "TIME", "no waits longer than this"),
	ROW(depth, "depth", 0, OPT_U32, "N", "frames of a user stack at most (default 512)"),
	ROW(kernel_depth, "kernel-depth", 0, OPT_U32, "N",
	    "frames of a kernel stack at most (default 127; kernel.perf_event_max_stack must allow more)"),
	ROW(unwind_bytes, "unwind-memory", 0, OPT_BYTES, "SIZE", "unwind tables in the kernel at most (default 64M)"),
	OPT_END
};

extern const struct probe_ops cpu_probe;
const struct probe_ops cpu_probe = {
	.name = "cpu", .summary = "what runs on the CPUs, and what waits, with stacks",
	.decoder = &cpu_decoder, .opts = cpu_opts, .conf_default = &cpu_conf_default,
	.conf_size = sizeof(struct cpu_conf), .state_size = sizeof(struct cpu_state),
	.check = cpu_check, .open = cpu_open, .attach = cpu_attach, .control = cpu_control, .tick = cpu_tick,
	.detach = cpu_detach, .close = cpu_close,
};
