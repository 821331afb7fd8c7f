// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half of the cpu probe: loads its programs with the configuration in read-only data, starts the perf events,
 * and gives names to the kernel addresses and cgroups that come by.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "loop/coop.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "host/cgroup_names.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probe/rodata.h"
#include "probes/cpu/cpu_calls.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/cpu/cpu_deferred.h"
#include "probes/cpu/cpu_perf.h"
#include "probes/cpu/cpu_tables.h"
#include "probes/cpu/cpu_wire.h"
#include "sonde/stack_wire.h"

#include "cpu.skel.h"

/* Default frames of a user stack. Those of waits are kept for every thread. */
#define SAMPLE_DEPTH 512
#define BLOCK_DEPTH 127
#define SLOTS_LEAST 4096
#define REASONS_BYTES 2048
#define COPIES_BYTES (1u << 20)	/* ring of copied stacks */
#define BLOCK_COPIES_BYTES (4u << 20)	/* the same with blocks */
#define LATE_NS 150000000ull	/* maximum wait for tables at the end */

extern const struct decoder_ops cpu_decoder;

#define WORKER_NICE (-15)	/* their CPU time is limited */
#define BEHIND_NS 1000000000ull	/* maximum wait for tables before other probes start */

struct cpu_state {
	struct hooks *hooks;
	struct cpu_perf *perf;		/* NULL: no samples */
	uint32_t *cpus;			/* --cpu, owned */
	size_t n_cpus;			/* 0 = all */
	struct cpu_tables *tables;	/* NULL: built without unwinding, or no user stacks */
	struct cpu_deferred *late;	/* NULL: stacks without a table stay truncated */
	bool flowing;			/* records enter the stream */
	struct buf reasons;		/* reasons why files have no table, the first few */
	uint64_t idle_begin_ns;		/* idle time of the machine when sampling began */
	uint64_t walked_late, stayed_cut;	/* stacks in the stream that were sampled before their table */
	struct cgroup_names *quotas[CPU_QUOTA__MAX];	/* of cgroups with a quota; NULL: not mounted here */
};

/* ---- loading ---- */

/* Samples are attached by cpu_perf.c, hence HOOK_ATTACH_NOT. */
static const struct hook cpu_hooks[] = {
	{ "samples", "cpu_sample", HOOK_ATTACH_NOT },
	{ "switches", "cpu_switch", HOOK_ATTACH_TRACE, .tracepoint = "sched_switch", .n_args = 4 },
	{ "switches", "cpu_switch_args3", HOOK_ATTACH_TRACE, .tracepoint = "sched_switch", .n_args = 3 },
	{ "wake-ups", "cpu_wakeup", HOOK_ATTACH_TRACE, .tracepoint = "sched_wakeup", .n_args = 1,
	  .fallback = "time waiting for a CPU counts as other waiting" },
	{ "wakers", "cpu_waking", HOOK_ATTACH_TRACE, .tracepoint = "sched_waking", .n_args = 1,
	  .fallback = "who ended a wait is unknown" },
};

static const struct hook call_hooks[] = {
	{ "calls", "cpu_call_enter", HOOK_ATTACH_TRACE, .tracepoint = "sys_enter", .n_args = 2 },
	{ "new programs", "cpu_call_exec", HOOK_ATTACH_TRACE, .tracepoint = "sys_exit", .n_args = 2,
	  .fallback = "the stack of an exec is that of its caller" },
};

static bool wants_samples(const struct cpu_conf *c)
{
	return !c->calls && (c->wall || !c->off_cpu);
}

static bool wants_blocks(const struct cpu_conf *c)
{
	return !c->calls && (c->wall || c->off_cpu);
}

struct setup {
	const struct cpu_conf *conf;
	const struct cpu_perf *perf;	/* may be NULL */
	struct probe_env *env;
	unsigned n_cpus;		/* possible */
	size_t n_selected;		/* --cpu; 0 = all */
	bool copies;			/* copy stacks that wait for a table */
};

static void set_u32(struct bpf_object *obj, const char *name, uint32_t value)
{
	probe_rodata_set(obj, name, &value, sizeof(value));
}

static void set_u64(struct bpf_object *obj, const char *name, uint64_t value)
{
	probe_rodata_set(obj, name, &value, sizeof(value));
}

static void set_flag(struct bpf_object *obj, const char *name, bool value)
{
	probe_rodata_set(obj, name, &value, sizeof(value));
}

static void set_size(struct bpf_object *obj, const char *name, size_t entries)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);

	if (map)
		bpf_map__set_max_entries(map, (uint32_t)MAX(entries, (size_t)1));
}

/* Threads of the host: "0.20 0.18 0.12 1/80 11206" are load averages, then running/all threads. */
static size_t n_threads(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/loadavg", "re");
	size_t n = 0;

	return f && fscanf(f, "%*s %*s %*s %*u/%zu", &n) == 1 ? n : 0;
}

/* A slot per thread, and as many for future threads. */
static void configure_slots(struct bpf_object *obj, const struct cpu_conf *c)
{
	struct bpf_map *slots = bpf_object__find_map_by_name(obj, "cpu_slots");
	struct bpf_map *blank = bpf_object__find_map_by_name(obj, "cpu_blank");
	const uint32_t depth = c->depth ? c->depth : BLOCK_DEPTH;
	const uint32_t bytes = (uint32_t)sizeof(struct cpu_slot) + depth * (uint32_t)sizeof(uint64_t);

	bpf_map__set_autocreate(slots, wants_blocks(c));
	bpf_map__set_autocreate(blank, wants_blocks(c));
	bpf_map__set_value_size(slots, bytes);
	bpf_map__set_value_size(blank, bytes);
	bpf_map__set_max_entries(slots, (uint32_t)MAX(2 * n_threads(), (size_t)SLOTS_LEAST));
	set_u32(obj, "cpu_block_depth", depth);
	set_u64(obj, "cpu_min_block_ns", c->min_block_ns);
	set_u64(obj, "cpu_max_block_ns", c->max_block_ns);
}

/* Functions that wait for locks: names in 5.10 to 6.18. */
static void configure_locks(struct bpf_object *obj, struct probe_env *env)
{
	static const char *const names[] = {
		"__mutex_lock", "__mutex_lock_slowpath", "__mutex_lock_killable_slowpath", "__ww_mutex_lock",
		"rwsem_down_read_slowpath", "rwsem_down_write_slowpath", "__down", "__down_common", "__down_killable",
		"percpu_rwsem_wait", "percpu_down_write", "__percpu_down_read", "__lock_sock", "rt_mutex_slowlock",
	};
	struct cpu_range ranges[CPU_LOCKS] = { 0 };

	_Static_assert(ARRAY_SIZE(names) <= CPU_LOCKS, "a range per function");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t start, end;

		if (probe_env_ksym_range(env, names[i], 0, &start, &end) == 0)
			ranges[i] = (struct cpu_range){ .start = start, .end = end };
	}
	probe_rodata_set(obj, "cpu_locks", ranges, sizeof(ranges));
}

/* Tells threads from interrupts. */
static void configure_context(struct bpf_object *obj, struct probe_env *env)
{
	int64_t bytes;

	if (probe_env_percpu_distance(env, "runqueues", "__preempt_count", &bytes) == 0 ||
	    probe_env_percpu_distance(env, "runqueues", "pcpu_hot", &bytes) == 0)
		probe_rodata_set(obj, "cpu_preempt_distance", &bytes, sizeof(bytes));
}

/* Facts about waits. */
static void configure_waits(struct bpf_object *obj, struct probe_env *env)
{
	probe_rodata_set(obj, "cpu_calls", cpu_calls, sizeof(cpu_calls));
	configure_locks(obj, env);
	configure_context(obj, env);
}

static void configure_calls(struct bpf_object *obj, const struct cpu_conf *c)
{
	const uint32_t execs[] = { SYS_execve, SYS_execveat };

	probe_rodata_set(obj, "cpu_call_bits", c->calls, CPU_CALLS / 8);
	probe_rodata_set(obj, "cpu_call_execs", execs, sizeof(execs));
}

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct setup *s = ctx;
	const struct cpu_conf *c = s->conf;

	set_u32(obj, "cpu_kern_depth", c->user_only ? 0 : c->kernel_depth);
	set_u32(obj, "cpu_user_depth", c->kernel_only ? 0 : c->depth ? c->depth : SAMPLE_DEPTH);
	set_flag(obj, "cpu_keep_idle", c->idle);
	set_flag(obj, "cpu_select_tids", c->tids.len);
	set_size(obj, "cpu_tids", c->tids.len);
	set_flag(obj, "cpu_select_cpus", s->n_selected);
	set_size(obj, "cpu_cpus", s->n_selected);
	set_size(obj, "cpu_paces", s->n_cpus);
	set_size(obj, "cpu_scratches", (size_t)s->n_cpus * (wants_blocks(c) ? 2 : 1));
	set_u32(obj, "cpu_n_cpus", s->n_cpus);
	configure_slots(obj, c);
	if (wants_blocks(c))
		configure_waits(obj, s->env);
	if (c->calls)
		configure_calls(obj, c);
	set_u32(obj, "cpu_page_shift", (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)));
	cpu_tables_configure(obj, cpu_tables_budget(s->env, c->unwind_bytes));
	set_flag(obj, "cpu_copies_on", s->copies);
	set_size(obj, "cpu_copies", !s->copies ? (size_t)sysconf(_SC_PAGESIZE) :
				    wants_blocks(c) ? BLOCK_COPIES_BYTES : COPIES_BYTES);
	if (s->perf) {
		set_u64(obj, "cpu_value", cpu_perf_value(s->perf));
		set_u64(obj, "cpu_clock_period_ns", cpu_perf_clock_ns(s->perf));
	}
}

static int check_conf(const struct cpu_conf *c, struct err *err)
{
	if (c->user_only && c->kernel_only)
		return err_set(err, -EINVAL, "--user-stacks-only and --kernel-stacks-only exclude each other");
	if (c->max_block_ns && c->max_block_ns < c->min_block_ns)
		return err_set(err, -EINVAL, "--max-block-time is less than --min-block-time: nothing is left");
	if (c->depth > CPU_USER_MAX)
		return err_set(err, -EINVAL, "--depth %u: 1 to %u frames are possible", c->depth, CPU_USER_MAX);
	/* only kernel stacks, of no frame: waits without a stack */
	if ((!c->kernel_depth && !(c->off_cpu && c->kernel_only)) || c->kernel_depth > CPU_KERN_MAX)
		return err_set(err, -EINVAL, "--kernel-depth %u: 1 to %u frames are possible", c->kernel_depth,
			       CPU_KERN_MAX);
	return 0;
}

static int load(struct probe_env *env, const struct cpu_conf *c, const struct cpu_state *s, uint16_t instance,
		struct hooks **ret, struct err *err)
{
	struct setup setup = {
		.conf = c, .perf = s->perf, .env = env, .n_cpus = probe_env_n_cpus(env), .n_selected = s->n_cpus,
		.copies = s->tables != NULL,
	};
	const size_t first = wants_samples(c) ? 0 : 1, end = wants_blocks(c) ? ARRAY_SIZE(cpu_hooks) : 1;
	struct hooks_spec spec = {
		.rows = cpu_hooks + first, .n_rows = end - first, .configure = configure, .ctx = &setup,
	};

	if (c->calls) {
		spec.rows = call_hooks;
		spec.n_rows = ARRAY_SIZE(call_hooks);
	}

	spec.elf = cpu_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(env, &spec, instance, ret, err);
}

static int map_fd(const struct cpu_state *s, const char *name)
{
	return bpf_object__find_map_fd_by_name(hooks_object(s->hooks), name);
}

static int fill_set(const struct cpu_state *s, const char *name, const uint32_t *keys, size_t n, struct err *err)
{
	const uint8_t one = 1;
	int fd = map_fd(s, name);

	for (size_t i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, &keys[i], &one, BPF_ANY) < 0)
			return err_errno(err, -errno, "cannot pass the selected threads and CPUs to the kernel");
	return 0;
}

/* ---- probe_ops ---- */

static int open_perf(struct cpu_state *s, const struct cpu_conf *c, struct err *err)
{
	struct cpu_perf_opts o = { .event = c->event, .frequency = c->frequency, .period = c->period };
	int n = cpu_perf_list(&c->cpus, &s->cpus, err);

	if (n < 0)
		return n;
	o.cpus = s->cpus;
	o.n_cpus = s->n_cpus = (size_t)n;
	n = wants_samples(c) ? cpu_perf_new(&o, &s->perf, err) : 0;
	if (s->perf)
		cpu_perf_run_ahead(s->perf);
	return n;
}

static void table_refused(void *ctx, const struct err *err)
{
	const struct probe *p = ctx;
	struct cpu_state *s = p->state;

	if (s->reasons.len < REASONS_BYTES)
		buf_printf(&s->reasons, "%s%s", s->reasons.len ? "\n" : "", err->msg);
	probe_env_hook_failed(p->env, p->instance, "unwind tables", err);
}

/* Without tables stacks are walked by frame pointers. */
static int open_tables(struct probe *p, struct err *err)
{
	const struct cpu_conf *c = p->conf;
	struct cpu_state *s = p->state;
	char proc[PATH_MAX];
	const struct cpu_tables_opts o = {
		.budget_bytes = c->unwind_bytes, .proc_path = proc, .env = p->env, .loop = p->loop,
		.instance = p->instance,
		.complain = table_refused, .ctx = p, .nice = c->no_nice ? 0 : WORKER_NICE,
	};

	if (c->kernel_only || !SONDE_UNWIND || (c->calls && c->depth == 1))
		return 0;
	snprintf(proc, sizeof(proc), "%s/proc", probe_env_host_root(p->env));
	return cpu_tables_new(&o, &s->tables, err);
}

static int cpu_open(struct probe *p, struct err *err)
{
	const struct cpu_conf *c = p->conf;
	struct cpu_state *s = p->state;
	int r = check_conf(c, err);

	if (r >= 0)
		r = open_perf(s, c, err);
	if (r >= 0)
		r = open_tables(p, err);
	if (r >= 0)
		r = load(p->env, c, s, p->instance, &s->hooks, err);
	if (r >= 0)
		r = fill_set(s, "cpu_tids", c->tids.items, c->tids.len, err);
	if (r >= 0)
		r = fill_set(s, "cpu_cpus", s->cpus, s->n_cpus, err);
	return r;
}

/* A CPU that comes back starts a new grid and keeps its counts. */
static int start_cpu(void *ctx, uint32_t cpu)
{
	const int fd = map_fd(ctx, "cpu_paces");
	struct cpu_pace pace;

	if (bpf_map_lookup_elem(fd, &cpu, &pace) < 0)
		return -errno;
	pace.grid_ns = 0;
	return bpf_map_update_elem(fd, &cpu, &pace, BPF_ANY) < 0 ? -errno : 0;
}

/* Idle time of all CPUs so far, 0 if unreadable. */
static uint64_t idle_ns(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/stat", "re");
	unsigned long long idle, iowait;

	if (!f || fscanf(f, "cpu %*u %*u %*u %llu %llu", &idle, &iowait) != 2)
		return 0;
	return (idle + iowait) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Fails if samples were requested and are impossible. Switches too are required: without them there are no blocks. */
static int begin_sampling(struct cpu_state *s, struct err *err)
{
	const struct bpf_program *prog = hooks_program(s->hooks, "cpu_sample");

	if (!prog)
		return err_set(err, -ENOTSUP, "this kernel does not take the program that samples");
	s->idle_begin_ns = idle_ns();
	return cpu_perf_attach(s->perf, prog, start_cpu, s, err);
}

static void put_late(void *ctx, struct cpu_sample_rec *r);

static void table_loaded(void *ctx)
{
	struct cpu_state *s = ctx;

	if (s->late && s->flowing)
		cpu_deferred_go_on(s->late);
}

static int begin_late(struct probe *p, struct err *err)
{
	struct cpu_state *s = p->state;
	const struct cpu_conf *c = p->conf;
	const struct cpu_deferred_opts o = {
		.depth = c->depth,
		.tables = s->tables,
		.loop = p->loop,
		.ring_fd = map_fd(s, "cpu_copies"),
		.emit = put_late,
		.ctx = p,
	};
	int r = cpu_deferred_new(&o, &s->late, err);

	if (r == 0)
		cpu_tables_watch(s->tables, table_loaded, s);
	return r;
}

/* Loads tables of the most likely files, and of those that samples have requested meanwhile. */
static int begin_tables(struct probe *p, struct err *err)
{
	const struct cpu_conf *c = p->conf;
	struct cpu_state *s = p->state;
	int r;

	if (!s->tables)
		return 0;
	cpu_tables_ahead(s->tables, c->tids.items, c->tids.len);
	if (c->program)
		cpu_tables_ahead_of(s->tables, c->program);
	r = cpu_tables_begin(s->tables, hooks_object(s->hooks), err);
	if (r >= 0)
		r = begin_late(p, err);
	if (r >= 0 && p->loop)
		cpu_deferred_wait(s->late, BEHIND_NS);
	return r;
}

/* Without a mount cgroups have a number only. */
static void open_quotas(struct probe *p)
{
	struct cpu_state *s = p->state;

	cgroup_names_open(probe_env_host_root(p->env), &s->quotas[CPU_QUOTA_V2]);
	cgroup_names_open_v1(probe_env_host_root(p->env), "cpu", &s->quotas[CPU_QUOTA_V1]);
}

/* Samples start before all tables are there: stacks through files with a table are complete. */
static int cpu_attach(struct probe *p, struct err *err)
{
	struct cpu_state *s = p->state;
	int n = hooks_attach(s->hooks, -1), r;

	if (wants_blocks(p->conf))
		open_quotas(p);
	hooks_report(s->hooks, true, hooks_report_failed, p);
	if (!s->perf && n <= 0)
		return err_set(err, -ENOTSUP, "switches of threads and their calls cannot be watched here");
	r = s->perf ? begin_sampling(s, err) : 0;
	return r < 0 ? r : begin_tables(p, err);
}

static int name_quota(struct probe *p, const struct cpu_wait *w)
{
	const uint32_t space = w->quota_of == CPU_QUOTA_V1 ? SONDE_NAME_CPU_CGROUP : SONDE_NAME_CGROUP;
	struct cpu_state *s = p->state;
	char path[PATH_MAX];

	if (!w->quota_of || w->quota_of >= CPU_QUOTA__MAX || !s->quotas[w->quota_of] ||
	    cgroup_names_first(s->quotas[w->quota_of], w->quota.cgroup_id, path, sizeof(path)) != 1)
		return 0;
	return probe_env_inject_name(p->env, space, w->quota.cgroup_id, path);
}

static int give_names(struct probe *p, const struct sonde_rec *rec)
{
	struct cursor c = cur_init(rec, rec->len);
	struct cpu_wait w = { 0 };
	struct cpu_sample_rec r;
	int ret;

	if (!cur_copy(&c, &r, sizeof(r)) || (rec->type == CPU_REC_BLOCK && !cur_copy(&c, &w, sizeof(w))))
		return 0; /* the decoder counts it */
	ret = name_quota(p, &w);
	for (unsigned i = 0; ret >= 0 && cur_left(&c) >= sizeof(uint64_t) && i < r.n_kern; i++)
		ret = probe_env_inject_ksym(p->env, cur_u64(&c));
	return ret;
}

/* A missing mapping has gone with its process, or with the program that it ran. */
static void count_cut(struct cpu_state *s, const struct sonde_rec *rec)
{
	struct cpu_sample_rec r;
	bool later;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return;
	later = r.mode & CPU_MODE_LATER;
	if (r.user_end == SONDE_STACK_NO_TABLE || (later && r.user_end == SONDE_STACK_NO_MAPPING))
		s->stayed_cut++;
	else
		s->walked_late += later;
}

static void put_late(void *ctx, struct cpu_sample_rec *r)
{
	struct probe *p = ctx;

	probe_env_inject(p->env, &r->hdr, r->hdr.len);
}

static int load_table(struct probe *p, const struct sonde_rec *rec)
{
	struct cpu_state *s = p->state;
	struct cpu_need_rec need;

	if (s->tables && decode_fixed(rec, &need, sizeof(need)))
		cpu_tables_need(s->tables, &need); /* the walker requests a vanished file again */
	if (s->late)
		cpu_deferred_take(s->late);
	return 0;
}

static int cpu_control(struct probe *p, const struct sonde_rec *r)
{
	struct cpu_state *s = p->state;

	s->flowing = true;
	switch (r->type) {
	case CPU_REC_SAMPLE:
	case CPU_REC_BLOCK:
		if (r->instance == p->instance)
			count_cut(s, r);
		return give_names(p, r);
	case CPU_REC_NEED:
		return load_table(p, r);
	default:
		return 0;
	}
}

static int cpu_tick(struct probe *p, _unused_ uint64_t now_ns)
{
	struct cpu_state *s = p->state;

	coop_step(probe_env_coop(p->env), "follow", "CPUs");
	if (s->perf)
		cpu_perf_follow(s->perf); /* a CPU that comes online while memory is short is retried */
	coop_step(probe_env_coop(p->env), "load", "unwind tables");
	if (s->tables)
		cpu_tables_poll(s->tables);
	s->flowing = true;
	coop_step(probe_env_coop(p->env), "walk", "late stacks");
	if (s->late)
		cpu_deferred_go_on(s->late);
	return 0;
}

/* ---- --max-cpu ---- */

static bool set_variable(const struct cpu_state *s, const char *name, uint32_t value)
{
	uint32_t *var = probe_rodata_var(hooks_object(s->hooks), name, sizeof(*var));

	if (var)
		__atomic_store_n(var, value, __ATOMIC_RELAXED);
	return var;
}

static bool sample_samples(const struct cpu_state *s, uint32_t one_in, struct buf *what)
{
	if (one_in > 1)
		buf_printf(what, "taking 1 of %u samples", one_in);
	else
		buf_add_str(what, "taking all samples again");
	return set_variable(s, "cpu_sample_one_in", one_in);
}

/* The walks of user stacks cost most: they go first. */
static bool sample_waits(const struct cpu_state *s, const struct cpu_conf *c, uint32_t one_in, struct buf *what)
{
	const bool bare = !c->kernel_only && one_in > 1;
	const uint32_t waits = bare ? one_in / 2 : one_in;

	if (waits > 1)
		buf_printf(what, "recording 1 of %u waits%s", waits, bare ? " without user stacks" : "");
	else
		buf_printf(what, "recording all waits%s", bare ? " without user stacks" : " again");
	return set_variable(s, "cpu_block_bare", bare) && set_variable(s, "cpu_block_one_in", waits);
}

static int cpu_set_rate(struct probe *p, uint32_t one_in, char *ret_what, size_t size)
{
	const struct cpu_conf *c = p->conf;
	const struct cpu_state *s = p->state;
	_cleanup_(buf_fini) struct buf what = { 0 };
	bool can = wants_samples(c) || wants_blocks(c);

	if (wants_samples(c))
		can &= sample_samples(s, one_in, &what);
	if (wants_samples(c) && wants_blocks(c))
		buf_add_str(&what, ", ");
	if (wants_blocks(c))
		can &= sample_waits(s, c, one_in, &what);
	snprintf(ret_what, size, "%s", buf_str(&what));
	return can ? 0 : -ENOTSUP;
}

/* ---- the end ---- */

/* Timers of idle CPUs may stop; no thread's time is missing there. */
static void forgive_idle(const struct cpu_state *s, struct cpu_totals_rec *r)
{
	uint64_t period_ns = s->perf ? cpu_perf_clock_ns(s->perf) : 0, now_ns = idle_ns(), idle;

	if (!period_ns || now_ns < s->idle_begin_ns)
		return;
	idle = (now_ns - s->idle_begin_ns) / period_ns;
	r->missed -= MIN(r->missed, idle);
}

/* Sums over the CPUs; skips what it cannot read. */
static void add_paces(const struct probe *p, struct cpu_totals_rec *r)
{
	const int fd = map_fd(p->state, "cpu_paces");

	for (uint32_t cpu = 0; cpu < probe_env_n_cpus(p->env); cpu++) {
		struct cpu_pace pace;

		if (bpf_map_lookup_elem(fd, &cpu, &pace) < 0)
			continue;
		r->periods += pace.periods;
		r->missed += pace.missed;
	}
	forgive_idle(p->state, r);
}

/* Best effort: a run does not fail because its totals are missing. */
static void emit_totals(struct probe *p)
{
	const struct cpu_state *s = p->state;
	const size_t len = sizeof(struct cpu_totals_rec) + s->reasons.len;
	_cleanup_free_ struct cpu_totals_rec *r = calloc(1, len);
	struct cpu_tables_stats t = { 0 };

	if (!r)
		return;
	if (s->tables)
		cpu_tables_stats(s->tables, &t);
	*r = (struct cpu_totals_rec){
		.hdr = { .type = CPU_REC_TOTALS, .instance = p->instance, .flags = SONDE_RF_SNAPSHOT },
		.files = t.files, .rows = t.rows, .bytes = t.bytes, .pool_bytes = t.pool_bytes, .loaded = t.loaded,
		.evicted = t.evicted, .refused = t.refused, .gone = t.gone, .late = t.late,
		.walked_late = s->walked_late, .stayed_cut = s->stayed_cut,
	};
	if (s->perf)
		add_paces(p, r);
	if (s->reasons.len)
		memcpy(r->reasons, s->reasons.data, s->reasons.len);
	probe_env_inject(p->env, &r->hdr, len);
}

static void cpu_detach(struct probe *p)
{
	struct cpu_state *s = p->state;

	cpu_perf_detach(s->perf);
	hooks_detach(s->hooks);
}

static void cpu_finish(struct probe *p)
{
	struct cpu_state *s = p->state;

	if (s->late)
		cpu_deferred_end(s->late, LATE_NS);
	if (s->hooks)
		emit_totals(p);
}

static void cpu_close(struct probe *p)
{
	struct cpu_state *s = p->state;

	cpu_deferred_free(s->late);
	cpu_tables_free(s->tables);
	cpu_perf_free(s->perf);
	hooks_free(s->hooks);
	free(s->cpus);
	for (size_t i = 0; i < ARRAY_SIZE(s->quotas); i++)
		cgroup_names_close(s->quotas[i]);
	buf_fini(&s->reasons);
	*s = (struct cpu_state){ 0 };
}

/* ---- doctor ---- */

static int cpu_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct cpu_conf both = cpu_conf_default;
	struct cpu_state s = { 0 };
	struct err err = { 0 };
	int r;

	both.wall = true;
	r = open_perf(&s, &both, &err);
	if (r >= 0)
		r = load(env, &both, &s, 0, &s.hooks, &err);
	if (r >= 0) {
		hooks_attach(s.hooks, -1);
		hooks_report(s.hooks, false, fn, ctx);
	} else {
		hooks_report_code(fn, ctx, "samples", r, &err, "");
	}
	hooks_free(s.hooks);
	cpu_perf_free(s.perf);
	free(s.cpus);
	return 0;
}

extern const struct probe_ops cpu_probe;
const struct probe_ops cpu_probe = {
	.name = "cpu", .summary = "what runs on the CPUs, and what waits, with stacks",
	.decoder = &cpu_decoder, .opts = cpu_opts, .conf_default = &cpu_conf_default,
	.conf_base = &cpu_conf_default,
	.conf_size = sizeof(struct cpu_conf), .state_size = sizeof(struct cpu_state),
	.check = cpu_check, .open = cpu_open, .attach = cpu_attach, .ahead = true,
	.control = cpu_control, .tick = cpu_tick, .sample = cpu_set_rate,
	.detach = cpu_detach, .finish = cpu_finish, .close = cpu_close,
};
