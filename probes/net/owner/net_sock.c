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
#include "probes/net/net_part.h"

#include "net_sock.skel.h"

struct net_sock {
	struct hooks *hooks;
	struct probe_env *env;
};

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
	net_setup_rates(((struct probe *)ctx)->conf, obj);
}

static void close_sock(void *part)
{
	struct net_sock *s = part;

	if (!s)
		return;
	hooks_free(s->hooks);
	free(s);
}
DEFINE_CLEANUP(struct net_sock *, close_sock)

static int open_sock(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_sockp) struct net_sock *n = calloc(1, sizeof(*n));
	struct hooks_spec spec = {
		.rows = sock_hooks, .n_rows = ARRAY_SIZE(sock_hooks), .configure = configure, .ctx = all->p,
	};
	int r;

	if (!n)
		return err_errno(err, -ENOMEM, "cannot load the socket programs");
	n->env = all->p->env;
	spec.elf = net_sock_bpf__elf_bytes(&spec.elf_len);
	r = hooks_load(n->env, &spec, all->p->instance, &n->hooks, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

static int attach(void *part, struct err *err)
{
	struct net_sock *s = part;
	_cleanup_close_ int fd = cgroup2_open(probe_env_host_root(s->env));

	if (fd < 0)
		return err_errno(err, fd, "cannot attach: cgroup2 is not mounted");
	if (!hooks_attach(s->hooks, fd))
		return err_set(err, -EOPNOTSUPP, "none of them can be attached; `sonde doctor` says why");
	return 0;
}

static void detach(void *part)
{
	hooks_detach(((struct net_sock *)part)->hooks);
}

const struct net_part net_sock_part = { .open = open_sock, .attach = attach, .detach = detach, .close = close_sock };

void net_sock_report(const struct net_sock *s, hook_report_fn fn, void *ctx)
{
	hooks_report(s->hooks, false, fn, ctx);
}
