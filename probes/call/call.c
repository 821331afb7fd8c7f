// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half: loads the programs with the user's choice in their read-only data, and attaches them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/call/call.h"
#include "probes/call/call_order.h"
#include "probes/call/tls/call_tls.h"

#include "call.skel.h"

extern const struct decoder_ops call_decoder;

struct call_state {
	struct hooks *hooks;
	struct call_tls *tls;		/* NULL: no TLS libraries */
	struct bpf_link *ready;		/* owned; NULL unless asked for */
	uint32_t *has_orders;	/* variable of the programs */
};

#define SENT "sockets sent"
#define ARRIVED "bytes arrived"
#define BY_SYSCALLS "system calls are watched instead"

static const struct hook call_hooks[] = {
	{ SENT, "call_send", HOOK_ATTACH_TRACE, .tracepoint = "sock_send_length", .n_args = 3,
	  .fallback = BY_SYSCALLS },
	{ "sockets received", "call_recv", HOOK_ATTACH_TRACE, .tracepoint = "sock_recv_length", .n_args = 3,
	  .fallback = BY_SYSCALLS },
	{ "sockets by system calls", "call_sys_exit", HOOK_ATTACH_TRACE, .tracepoint = "sys_exit", .n_args = 2,
	  .stands_for = "call_recv", .fallback = "calls at sockets are not seen" },
	{ ARRIVED, "call_ready", HOOK_ATTACH_NOT, .tracepoint = "sk_data_ready", .n_args = 1,
	  .fallback = "rpc.queue is unknown" },
	{ CALL_HOOK_TLS, "call_tls_enter_multi", HOOK_ATTACH_NOT,
	  .needs = "struct bpf_uprobe_multi_link" },
	{ CALL_HOOK_TLS, "call_tls_enter_single", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_get_attach_cookie",
	  .fallback = "calls over TLS are not seen" },
	{ "TLS libraries, left", "call_tls_return_multi", HOOK_ATTACH_NOT,
	  .needs = "struct bpf_uprobe_multi_link" },
	{ "TLS libraries, left", "call_tls_return_single", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_get_attach_cookie",
	  .fallback = "calls over TLS are not seen" },
	{ "crypto/tls of Go", "call_gotls_multi", HOOK_ATTACH_NOT, .needs = "struct bpf_uprobe_multi_link" },
	{ "crypto/tls of Go", "call_gotls_single", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_get_attach_cookie",
	  .fallback = "calls of Go programs over TLS are not seen" },
};

static bool is_chosen(const struct bpf_object *obj, const char *name)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);

	return prog && bpf_program__autoload(prog);
}

/* Tables that this kernel lacks (before 5.11), or that the chosen hook does not use: 8 MiB. */
static void configure_tables(struct bpf_object *obj)
{
	struct bpf_map *inside = bpf_object__find_map_by_name(obj, "call_tls_insides");
	struct bpf_map *inodes = bpf_object__find_map_by_name(obj, "call_inodes");

	if (inside && libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 0)
		bpf_map__set_autocreate(inside, false);
	if (inodes && !is_chosen(obj, "call_sys_exit"))
		bpf_map__set_max_entries(inodes, 1);
}

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct call_choice *ch = ctx;
	static const char *const rooms[] = { "call_rooms", "call_tls_rooms" };
	int n_cpus = libbpf_num_possible_cpus();

	for (size_t i = 0; n_cpus > 0 && i < ARRAY_SIZE(rooms); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, rooms[i]);

		if (map)
			bpf_map__set_max_entries(map, (uint32_t)n_cpus);
	}
	configure_tables(obj);
	probe_rodata_set(obj, "call_head", &ch->head, sizeof(ch->head));
	probe_rodata_set(obj, "call_kinds", &ch->kinds, sizeof(ch->kinds));
	probe_rodata_set(obj, "call_n_ports", &ch->n_ports, sizeof(ch->n_ports));
	probe_rodata_set(obj, "call_ports", ch->ports, sizeof(ch->ports));
	probe_rodata_set(obj, "call_dns_port", &ch->dns_port, sizeof(ch->dns_port));
	probe_rodata_set(obj, "call_leave_go", &ch->leave_go, sizeof(ch->leave_go));
}

static int load(struct probe *p, struct hooks **ret, struct err *err)
{
	struct call_choice choice;
	struct hooks_spec spec = {
		.rows = call_hooks, .n_rows = ARRAY_SIZE(call_hooks), .configure = configure, .ctx = &choice,
	};
	int r = call_conf_choose(p->conf, &choice, err);

	spec.elf = call_bpf__elf_bytes(&spec.elf_len);
	return r < 0 ? r : hooks_load(p->env, &spec, p->instance, ret, err);
}

/* One sentence for both tracepoints, none for waits that are not asked for. */
static bool is_worth_saying(const struct probe *p, const char *hook)
{
	const struct call_conf *c = p->conf;
	const struct call_state *s = p->state;

	if (!strcmp(hook, SENT))
		return !hooks_program(s->hooks, "call_sys_exit");
	return c->queue || strcmp(hook, ARRIVED) != 0;
}

static void report_failed(void *ctx, const struct hook_report *r)
{
	if (is_worth_saying(ctx, r->hook))
		hooks_report_failed(ctx, r);
}

/* Without it calls over TLS are missing, and the rest works. */
static int open_tls(struct probe *p, struct err *err)
{
	const struct call_conf *c = p->conf;
	struct call_state *s = p->state;
	char proc_path[4096];
	struct call_tls_opts o = {
		.enter_multi = hooks_program(s->hooks, "call_tls_enter_multi"),
		.return_multi = hooks_program(s->hooks, "call_tls_return_multi"),
		.enter_single = hooks_program(s->hooks, "call_tls_enter_single"),
		.return_single = hooks_program(s->hooks, "call_tls_return_single"),
		.go_multi = hooks_program(s->hooks, "call_gotls_multi"),
		.go_single = hooks_program(s->hooks, "call_gotls_single"),
		.obj = hooks_object(s->hooks),
		.proc_path = proc_path,
		.coop = probe_env_coop(p->env),
	};
	struct err why = { 0 };
	int r = 0;

	snprintf(proc_path, sizeof(proc_path), "%s/proc", probe_env_host_root(p->env));
	if (call_tls_new(&o, &s->tls, &why) < 0) {
		probe_env_hook_failed(p->env, p->instance, "TLS libraries", &why);
		return 0;
	}
	for (size_t i = 0; r >= 0 && i < c->tls_at.len; i++)
		r = call_tls_give(s->tls, c->tls_at.items[i], err);
	return r;
}

static int call_open(struct probe *p, struct err *err)
{
	const struct call_conf *c = p->conf;
	struct call_state *s = p->state;
	int r = load(p, &s->hooks, err);

	if (r >= 0)
		r = open_tls(p, err);
	if (r >= 0)
		s->has_orders = probe_rodata_var(hooks_object(s->hooks), "call_has_orders", sizeof(*s->has_orders));
	if (r >= 0 || !c->optional || r == -EINVAL || r == -ECANCELED)
		return r;
	probe_env_hook_failed(p->env, p->instance, "sockets", err);
	return 0;
}

static void attach_ready(struct probe *p)
{
	struct call_state *s = p->state;
	struct bpf_program *prog = hooks_program(s->hooks, "call_ready");
	struct err err = { 0 };

	if (!prog)
		return;		/* hooks_report() says why */
	s->ready = bpf_program__attach(prog);
	if (s->ready)
		return;
	err_errno(&err, -errno, "cannot attach to sk_data_ready; rpc.queue is unknown");
	probe_env_hook_failed(p->env, p->instance, ARRIVED, &err);
}

/* Programs that are not running yet. */
static void expect(struct probe *p)
{
	const struct call_conf *c = p->conf;
	struct call_state *s = p->state;

	for (size_t i = 0; i < c->prefetch.len; i++)
		call_tls_expect(s->tls, c->prefetch.items[i]);
	if (c->command)
		call_tls_expect(s->tls, c->command);
}

static int call_attach(struct probe *p, _unused_ struct err *err)
{
	const struct call_conf *c = p->conf;
	struct call_state *s = p->state;

	if (!s->hooks)
		return 0;
	hooks_attach(s->hooks, -1);
	if (c->queue)
		attach_ready(p);
	hooks_report(s->hooks, true, report_failed, p);
	if (!s->tls)
		return 0;
	call_tls_host(s->tls);
	expect(p);
	return 0;
}

static int call_control(struct probe *p, const struct sonde_rec *r)
{
	struct call_state *s = p->state;

	if (r->type == SONDE_EV_MMAP && s->tls)
		call_tls_mapping(s->tls, r);
	return 0;
}

/* A connection needs other bytes than its programs keep. */
static void call_learn(struct probe *p, const struct event *ev)
{
	const struct call_state *s = p->state;
	const struct call_order_body *b = ev->body;
	const struct bpf_map *map;

	if (ev->desc != &call_order_desc || !s->hooks)
		return;
	map = bpf_object__find_map_by_name(hooks_object(s->hooks), b->tls ? "call_tls_orders" : "call_orders");
	bpf_map_update_elem(bpf_map__fd(map), &ev->keys.cookie, &b->order, BPF_ANY);
	if (s->has_orders)
		*s->has_orders = 1;
}

static void call_detach(struct probe *p)
{
	struct call_state *s = p->state;

	call_tls_detach(s->tls);
	bpf_link__destroy(s->ready);
	s->ready = NULL;
	hooks_detach(s->hooks);
}

static void call_close(struct probe *p)
{
	struct call_state *s = p->state;

	call_tls_free(s->tls);
	bpf_link__destroy(s->ready);
	hooks_free(s->hooks);
	s->ready = NULL;
	s->tls = NULL;
	s->hooks = NULL;
}

/* No program can be loaded. Of alternatives the last one says what is missing then. */
static void report_none(int code, const struct err *err, hook_report_fn fn, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(call_hooks); i++)
		if (call_hooks[i].fallback)
			hooks_report_code(fn, ctx, call_hooks[i].name, code, err, call_hooks[i].fallback);
}

static int call_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct call_state s = { 0 };
	struct probe p = { .env = env, .conf = &call_conf_default, .state = &s };
	struct err err = { 0 };
	int r = load(&p, &s.hooks, &err);

	if (r < 0) {
		report_none(r, &err, fn, ctx);
		return 0;
	}
	hooks_attach(s.hooks, -1);
	hooks_report(s.hooks, false, fn, ctx);
	hooks_free(s.hooks);
	return 0;
}

const struct probe_ops call_probe = {
	.name = "call",
	.summary = "calls of any program at its sockets: HTTP, SQL, caches, brokers, DNS",
	.decoder = &call_decoder,
	.opts = call_opts,
	.command_opts = call_command_opts,
	.conf_size = sizeof(struct call_conf),
	.state_size = sizeof(struct call_state),
	.conf_default = &call_conf_default,
	.conf_base = &call_conf_default,
	.check = call_check,
	.open = call_open,
	.attach = call_attach,
	.control = call_control,
	.learn = call_learn,
	.detach = call_detach,
	.close = call_close,
};
