// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half of the proc probe: loads and attaches its programs, reads the start snapshot, and puts records
 * into the stream that are not born in BPF: executable mappings and names of cgroups.
 *
 * Nothing falls between snapshot and events, and nothing counts twice: the tracepoints are attached before the
 * iterators run, so a task born meanwhile has its fork record, is in the snapshot, or both. Both describe the
 * same key (tgid, start), and a snapshot record says SONDE_RF_SNAPSHOT and when it was taken: readers let it
 * fill what they do not know and never let it undo anything that happened later.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "event/decode.h"
#include "event/event.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "host/cgroup_names.h"
#include "probes/proc/proc_container.h"
#include "probes/proc/proc_go.h"
#include "probes/proc/proc_mmap.h"
#include "probes/proc/proc_snapshot.h"
#include "probes/proc/proc_wire.h"

#include "proc.skel.h"

#define QUIET_NS 500000000ull	/* maximum delay of a mapping without a record to precede */
/* Limit of the records of processes that ended lately, about 700: each segment of a store repeats them. */
#define KNOWN_BYTES (256u << 10)

extern const struct decoder_ops proc_decoder;

struct proc_state {
	struct hooks *hooks;
	struct cgroup_names *cgroups;	/* NULL: no cgroup2 here */
	struct proc_containers *containers;	/* NULL: their names are unknown */
	struct mmap_watch *mmaps;	/* NULL: not requested, or not permitted */
	struct proc_go *go;		/* NULL: no goroutines are known */
	struct map shown;		/* struct proc_key of the processes in the last snapshot; no values */
	size_t known_bytes;		/* of processes reported beside it */
	uint64_t looked_ns;		/* when the rings of mappings were last looked at */
	uint64_t next_mapping_ns;	/* oldest that was waiting then */
	bool draining;
};

struct proc_key {
	uint64_t start_ns;
	uint64_t tgid;
};

/* ---- the hooks ---- */

/* Iterators are attached by the snapshot, hence HOOK_ATTACH_NOT. */
static const struct hook proc_hooks[] = {
	{ "fork", "proc_fork", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_fork", .n_args = 2,
	  .fallback = "new processes show up at their first exec" },
	{ "exec", "proc_exec", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exec", .n_args = 3,
	  .needs = "BPF_FUNC_loop" },
	{ "exec", "proc_exec_plain", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exec", .n_args = 3,
	  .fallback = "names are those from before the start" },
	{ "exit", "proc_exit", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exit", .n_args = 2 },
	{ "exit", "proc_exit_count", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exit", .n_args = 1,
	  .fallback = "processes are forgotten by age" },
	{ "rename", "proc_rename", HOOK_ATTACH_TRACE, .tracepoint = "task_rename", .n_args = 2,
	  .fallback = "names change at exec only" },
	{ "cgroup move", "proc_cgroup", HOOK_ATTACH_TRACE, .tracepoint = "cgroup_attach_task", .n_args = 4,
	  .fallback = "a process keeps the cgroup it had at fork or exec" },
	/* bpf_check_mtu came with the kernel (5.12) that lets tracing programs ask for a socket's cookie. */
	{ "tcp", "proc_tcp", HOOK_ATTACH_TRACE, .tracepoint = "inet_sock_set_state", .n_args = 3,
	  .needs = "BPF_FUNC_check_mtu" },
	{ "tcp", "proc_tcp_plain", HOOK_ATTACH_TRACE, .tracepoint = "inet_sock_set_state", .n_args = 3,
	  .fallback = "TCP packets have no owner unless the socket was open at the start" },
	{ "tcp accepted", "proc_tcp_accept", HOOK_ATTACH_CGROUP, .stands_for = "proc_tcp",
	  .fallback = "accepted connections have no cookie" },
	{ "socket send", "proc_send", HOOK_ATTACH_TRACE, .tracepoint = "sock_send_length", .n_args = 3,
	  .for_owners = true },
	{ "socket send", "proc_write_packet", HOOK_ATTACH_TRACE, .tracepoint = "net_dev_queue", .n_args = 1,
	  .for_owners = true,
	  .fallback = "a socket that changes hands keeps its owner until the new one receives" },
	{ "socket receive", "proc_recv", HOOK_ATTACH_TRACE, .tracepoint = "sock_recv_length", .n_args = 3,
	  .for_owners = true },
	{ "socket receive", "proc_read_tcp", HOOK_ATTACH_TRACE, .tracepoint = "tcp_rcv_space_adjust", .n_args = 1,
	  .for_owners = true,
	  .fallback = "a socket that changes hands keeps its owner until the new one sends" },
	{ "socket create", "proc_sock_create", HOOK_ATTACH_CGROUP,
	  .fallback = "UDP sockets have an owner once they are bound" },
	{ "bind IPv4", "proc_bind4", HOOK_ATTACH_CGROUP,
	  .fallback = "packets to a UDP port have no owner by address" },
	{ "bind IPv6", "proc_bind6", HOOK_ATTACH_CGROUP,
	  .fallback = "packets to a UDP port have no owner by address" },
	{ "socket release", "proc_sock_release", HOOK_ATTACH_CGROUP,
	  .fallback = "a closed UDP port keeps its last owner" },
	{ "snapshot of tasks", "proc_iter_task", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_copy_from_user_task" },
	{ "snapshot of tasks", "proc_iter_task_bare", HOOK_ATTACH_NOT,
	  .fallback = "processes from before the start have no name until they exec" },
	{ "snapshot of sockets", "proc_iter_file", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_sock_from_file",
	  .fallback = "sockets from before the start have no owner" },
	{ "snapshot of mappings", "proc_iter_vma", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_loop" },
	{ "snapshot of mappings", "proc_iter_vma_plain", HOOK_ATTACH_NOT, .needs = "struct bpf_iter__task_vma",
	  .fallback = "processes from before the start have no mappings" },
	/* The last row is for a selected tree of processes only. */
	{ "release of processes", "proc_free", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_free", .n_args = 1,
	  .fallback = "a process with the number of an ended child counts as a child" },
};

/* Tables that only owners of sockets need: 20 MiB. */
static const char *const owner_maps[] = {
	"sonde_sock_owner", "sonde_senders", "sonde_bound_ports", "sonde_listeners", "proc_bound",
};

static void configure(void *ctx, struct bpf_object *obj)
{
	const uint32_t page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	const struct probe_env *env = ctx;

	probe_rodata_set(obj, "proc_page_shift", &page_shift, sizeof(page_shift));
	for (size_t i = 0; !probe_env_wants_owners(env) && i < ARRAY_SIZE(owner_maps); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, owner_maps[i]), 1);
}

static int load(struct probe_env *env, uint16_t instance, struct hooks **ret, struct err *err)
{
	const struct probe_select *sel = probe_env_select(env, instance);
	struct hooks_spec spec = {
		.rows = proc_hooks, .n_rows = ARRAY_SIZE(proc_hooks) - !sel->n_tree, .configure = configure,
		.ctx = env,
	};

	spec.elf = proc_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(env, &spec, instance, ret, err);
}

/* ---- records that are not born in BPF ---- */

static int inject(void *ctx, struct sonde_rec *r, size_t len)
{
	struct probe *p = ctx;

	r->instance = p->instance;
	return probe_env_inject(p->env, r, len);
}

static void name_cgroup(struct probe *p, uint64_t id)
{
	struct proc_state *s = p->state;
	char path[4096];

	if (!s->cgroups || cgroup_names_first(s->cgroups, id, path, sizeof(path)) != 1)
		return;
	probe_env_inject_name(p->env, SONDE_NAME_CGROUP, id, path);
	proc_container_note(s->containers, id, path);
}

/* The cgroup in @r, 0 = none. */
static uint64_t cgroup_of(const struct sonde_rec *r)
{
	union {
		struct proc_fork_rec fork;
		struct proc_exec_rec exec;
		struct proc_cgroup_rec cgroup;
	} u;

	switch (r->type) {
	case PROC_REC_FORK:
		if (r->len < sizeof(u.fork))
			return 0;
		memcpy(&u.fork, r, sizeof(u.fork));
		return u.fork.who.cgroup_id;
	case PROC_REC_EXEC:
	case PROC_REC_TASK:
		if (r->len < sizeof(u.exec))
			return 0;
		memcpy(&u.exec, r, sizeof(u.exec));
		return u.exec.who.cgroup_id;
	case PROC_REC_CGROUP:
		if (r->len < sizeof(u.cgroup))
			return 0;
		memcpy(&u.cgroup, r, sizeof(u.cgroup));
		return u.cgroup.cgroup_id;
	default:
		return 0;
	}
}

/* Puts mappings up to @until_ns into the stream. */
static int drain_mappings(struct probe *p, uint64_t until_ns)
{
	struct proc_state *s = p->state;
	int r;

	if (!s->mmaps || s->draining)
		return 0;
	s->draining = true; /* what is injected may come back to control() */
	r = until_ns == UINT64_MAX ? proc_mmap_finish(s->mmaps, inject, p)
				   : proc_mmap_drain(s->mmaps, until_ns, inject, p);
	s->draining = false;
	s->next_mapping_ns = proc_mmap_next(s->mmaps);
	return r < 0 ? r : 0;
}

/*
 * A mapping goes in front of the first record that is younger, so that its process is known and whoever runs in
 * it comes later. To look once per batch is enough: no record of the batch is younger than that look.
 */
static int drain_before(struct probe *p, uint64_t ts_ns)
{
	struct proc_state *s = p->state;

	if (!s->mmaps || s->draining)
		return 0;
	if (ts_ns > s->looked_ns) {
		s->looked_ns = clock_boot_ns();
		s->next_mapping_ns = proc_mmap_next(s->mmaps);
	}
	return s->next_mapping_ns < ts_ns ? drain_mappings(p, ts_ns) : 0;
}

/* ---- probe_ops ---- */

/* Cgroup programs and users of sockets matter to owners only. */
static bool is_of_sockets(const char *hook)
{
	for (size_t i = 0; i < ARRAY_SIZE(proc_hooks); i++)
		if (!strcmp(proc_hooks[i].name, hook))
			return proc_hooks[i].attach == HOOK_ATTACH_CGROUP || proc_hooks[i].for_owners;
	return false;
}

static void report_failed(void *ctx, const struct hook_report *r)
{
	struct probe *p = ctx;
	struct err err = { 0 };

	if (is_of_sockets(r->hook) && !probe_env_wants_owners(p->env))
		return;
	err_set(&err, -ENOTSUP, "%s%s%s", r->why, *r->fallback ? "; " : "", r->fallback);
	probe_env_hook_failed(p->env, is_of_sockets(r->hook) ? PROBE_OWNERS : p->instance, r->hook, &err);
}

/* Mappings first: those made while programs are loaded name what other probes see meanwhile. */
static int proc_open(struct probe *p, struct err *err)
{
	struct proc_state *s = p->state;
	struct err why = { 0 };

	map_init(&s->shown, sizeof(struct proc_key), 0);
	if (proc_mmap_open(probe_env_n_cpus(p->env), p->loop, &s->mmaps, &why) < 0)
		probe_env_hook_failed(p->env, p->instance, "mappings", &why);
	return load(p->env, p->instance, &s->hooks, err);
}

static int proc_attach(struct probe *p, struct err *err)
{
	struct proc_state *s = p->state;
	struct err why = { 0 };
	int n;

	if (proc_go_new(hooks_object(s->hooks), p->env, &s->go, &why) < 0)
		probe_env_hook_failed(p->env, p->instance, "goroutines", &why);
	cgroup_names_open(probe_env_host_root(p->env), &s->cgroups);
	s->containers = s->cgroups ? proc_container_new(p->env) : NULL;
	n = hooks_attach(s->hooks, s->cgroups ? cgroup_names_fd(s->cgroups) : -1);
	hooks_report(s->hooks, true, report_failed, p);
	return n > 0 ? 0 : err_set(err, -ENOTSUP, "no hook could be attached");
}

static int snapshot_record(void *ctx, struct sonde_rec *r, size_t len)
{
	struct probe *p = ctx;
	struct proc_state *s = p->state;
	const struct proc_key key = { .start_ns = r->start_ns, .tgid = r->tgid };

	if (r->type == PROC_REC_TASK && !map_add(&s->shown, &key, NULL))
		return -ENOMEM;
	name_cgroup(p, cgroup_of(r));
	return inject(p, r, len);
}

static int known_record(void *ctx, struct sonde_rec *r, size_t len)
{
	struct probe *p = ctx;
	struct proc_state *s = p->state;

	s->known_bytes += len;
	return snapshot_record(p, r, len);
}

static void snapshot_with(struct probe *p, const char *name, const char *proc_dir)
{
	struct proc_state *s = p->state;
	struct bpf_program *prog = hooks_program(s->hooks, name);
	struct err why = { 0 };

	if (prog && proc_snapshot_read(prog, 0, proc_dir, snapshot_record, p, &why) < 0)
		probe_env_hook_failed(p->env, p->instance, name, &why);
}

/* ---- a process over its limit of mappings ---- */

struct reread {
	struct probe *p;
	unsigned n;
};

static int reread_record(void *ctx, struct sonde_rec *r, size_t len)
{
	struct reread *to = ctx;

	return to->n++ < PROC_MMAP_LIMIT ? inject(to->p, r, len) : -E2BIG;
}

/* Injects the loss, then the mappings that its process has now. Before Linux 6.1 no process can be chosen. */
static int inject_over(void *ctx, struct sonde_rec *r, size_t len)
{
	static const char *const names[] = { "proc_iter_vma", "proc_iter_vma_plain" };
	struct reread to = { .p = ctx };
	const struct proc_state *s = to.p->state;
	const uint32_t tgid = r->tgid;
	int ret = inject(ctx, r, len);

	for (size_t i = 0; ret >= 0 && tgid && i < ARRAY_SIZE(names); i++) {
		struct bpf_program *prog = hooks_program(s->hooks, names[i]);

		if (prog) /* the process may be gone */
			proc_snapshot_read(prog, tgid, NULL, reread_record, &to, NULL);
	}
	return ret;
}

static int proc_snapshot(struct probe *p, _unused_ struct err *err)
{
	const struct probe_select *select = probe_env_select(p->env, p->instance);
	struct proc_state *s = p->state;
	char proc_dir[4096];

	map_clear(&s->shown);
	s->known_bytes = 0;
	snprintf(proc_dir, sizeof(proc_dir), "%s/proc", probe_env_host_root(p->env));
	snapshot_with(p, "proc_iter_task", NULL);
	snapshot_with(p, "proc_iter_task_bare", proc_dir);
	snapshot_with(p, "proc_iter_file", NULL);
	snapshot_with(p, "proc_iter_vma", NULL);
	snapshot_with(p, "proc_iter_vma_plain", NULL);
	if (s->go)
		proc_go_scan(s->go, select->pids, select->n_pids);
	return 0;
}

/* One that no iterator showed has ended meanwhile: its end, and packets of it, may still be in the rings. */
static int proc_snapshot_one(struct probe *p, const struct event *ev)
{
	struct proc_state *s = p->state;
	const struct proc_key key = { .start_ns = ev->start_ns, .tgid = ev->tgid };

	if (!ev->ts_ns && map_find(&s->shown, &key))
		return 0;
	if (s->known_bytes > KNOWN_BYTES)
		return 1;
	return proc_snapshot_known(ev, known_record, p);
}

static int proc_control(struct probe *p, const struct sonde_rec *r)
{
	struct proc_state *s = p->state;

	if (r->type == SONDE_EV_NAME)
		return 0;	/* perhaps our own, and as late as it was looked up */
	if (r->type == PROC_REC_EXEC && s->go)
		proc_go_process(s->go, r->tgid);
	name_cgroup(p, cgroup_of(r));
	return drain_before(p, r->ts_ns);
}

static int proc_tick(struct probe *p, uint64_t now_ns)
{
	struct proc_state *s = p->state;
	int r;

	proc_container_tick(s->containers, now_ns);
	r = drain_mappings(p, now_ns - MIN(now_ns, QUIET_NS));
	return r >= 0 && s->mmaps ? proc_mmap_report(s->mmaps, inject_over, p) : r;
}

static void proc_detach(struct probe *p)
{
	struct proc_state *s = p->state;

	hooks_detach(s->hooks);
	if (s->go)
		proc_go_stop(s->go);
	proc_container_stop(s->containers);
	drain_mappings(p, UINT64_MAX);
	proc_mmap_close(s->mmaps);
	s->mmaps = NULL;
}

static void proc_close(struct probe *p)
{
	struct proc_state *s = p->state;

	proc_mmap_close(s->mmaps);
	proc_go_free(s->go);
	hooks_free(s->hooks);
	proc_container_free(s->containers);
	cgroup_names_close(s->cgroups);
	map_fini(&s->shown);
	*s = (struct proc_state){ 0 };
}

/* ---- doctor ---- */

static int proc_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct cgroup_names *cgroups = NULL;
	struct mmap_watch *mmaps = NULL;
	struct hooks *hooks = NULL;
	struct err err = { 0 };
	int r;

	cgroup_names_open(probe_env_host_root(env), &cgroups);
	probe_env_want_owners(env);
	r = load(env, 0, &hooks, &err);
	if (r < 0) {
		hooks_report_code(fn, ctx, "life-cycle", r, &err, "");
	} else {
		hooks_attach(hooks, cgroups ? cgroup_names_fd(cgroups) : -1);
		hooks_report(hooks, false, fn, ctx);
	}
	hooks_free(hooks);
	cgroup_names_close(cgroups);
	r = proc_mmap_open(probe_env_n_cpus(env), NULL, &mmaps, &err);
	hooks_report_code(fn, ctx, "mappings", r, &err, "only mappings from before the start are known");
	proc_mmap_close(mmaps);
	return 0;
}

const struct probe_ops proc_probe = {
	.name = "proc",
	.summary = "processes, executable mappings and sockets: the ground under the other probes",
	.decoder = &proc_decoder,
	.state_size = sizeof(struct proc_state),
	.check = proc_check,
	.open = proc_open,
	.attach = proc_attach,
	.snapshot = proc_snapshot,
	.snapshot_known = proc_snapshot_one,
	.control = proc_control,
	.tick = proc_tick,
	.detach = proc_detach,
	.close = proc_close,
};
