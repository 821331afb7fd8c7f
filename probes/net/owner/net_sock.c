// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/owner/net_sock.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "host/cgroup2.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/net/net_setup.h"

#include "net_sock.skel.h"

struct net_sock {
	struct hooks *hooks;
	struct probe_env *env;
};

struct sock_setup {
	struct probe *p;
	const struct net_setup *setup;
};

DEFINE_CLEANUP(struct net_sock *, net_sock_close)

#define NO_FIRST "one event a call, with the address as translators of cgroups below left it"
#define ROWS(name_) \
	{ .name = name_ " before translation", .prog = name_ "_first", .attach = HOOK_ATTACH_CGROUP_FIRST, \
	  .fallback = NO_FIRST }, \
	{ .name = name_, .prog = name_ "_last", .attach = HOOK_ATTACH_CGROUP }

static const struct hook sock_hooks[] = {
	ROWS("connect4"), ROWS("connect6"), ROWS("sendmsg4"), ROWS("sendmsg6"),
	ROWS("recvmsg4"), ROWS("recvmsg6"), ROWS("getpeername4"), ROWS("getpeername6"),
};

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct sock_setup *s = ctx;

	net_setup_rates(s->p->conf, obj);
}

int net_sock_open(struct probe *p, const struct net_setup *s, struct net_sock **ret, struct err *err)
{
	_cleanup_(net_sock_closep) struct net_sock *n = calloc(1, sizeof(*n));
	struct sock_setup setup = { p, s };
	struct hooks_spec spec = {
		.rows = sock_hooks, .n_rows = ARRAY_SIZE(sock_hooks), .configure = configure, .ctx = &setup,
	};
	int r;

	if (!n)
		return err_errno(err, -ENOMEM, "cannot load the socket programs");
	n->env = p->env;
	spec.elf = net_sock_bpf__elf_bytes(&spec.elf_len);
	r = hooks_load(p->env, &spec, p->instance, &n->hooks, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

int net_sock_attach(struct net_sock *s, struct err *err)
{
	_cleanup_close_ int fd = cgroup2_open(probe_env_host_root(s->env));

	if (fd < 0)
		return err_errno(err, fd, "cannot attach: cgroup2 is not mounted");
	if (!hooks_attach(s->hooks, fd))
		return err_set(err, -EOPNOTSUPP, "none of them can be attached; `sonde doctor` says why");
	return 0;
}

void net_sock_report(const struct net_sock *s, hook_report_fn fn, void *ctx)
{
	hooks_report(s->hooks, false, fn, ctx);
}

void net_sock_detach(struct net_sock *s)
{
	hooks_detach(s->hooks);
}

void net_sock_close(struct net_sock *s)
{
	if (!s)
		return;
	hooks_free(s->hooks);
	free(s);
}
