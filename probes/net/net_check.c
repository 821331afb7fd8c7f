// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/net_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "probe/env.h"
#include "probes/net/net.h"
#include "probes/net/packet/net_iface.h"
#include "probes/net/flow/net_flow.h"
#include "probes/net/recorder/net_recorder.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/net_ns.h"
#include "probes/net/policy/net_policy.h"
#include "probes/net/net_setup.h"
#include "probes/net/owner/net_sock.h"
#include "probes/net/packet/net_tc.h"
#include "probes/net/drop/net_drop.h"
#include "probes/net/drop/net_xdp.h"
#include "probes/net/flow/net_redirect.h"
#include "probes/net/owner/net_sender_tuples.h"
#include "probes/net/refused/net_refused.h"

struct check {
	struct probe p;
	struct net_setup setup;
	hook_report_fn fn;
	void *ctx;
};

static enum hook_state state_of(int r)
{
	switch (r) {
	case -EPERM:
	case -EACCES: return HOOK_REFUSED;
	case -EOPNOTSUPP:
	case -ENOENT:
	case -ENOSYS: return HOOK_ABSENT;
	default: return HOOK_FAILED;
	}
}

static void report(struct check *c, const char *hook, int r, const struct err *e, const char *fallback)
{
	struct hook_report h = { .hook = hook, .state = r < 0 ? state_of(r) : HOOK_OK };

	if (r < 0) {
		snprintf(h.why, sizeof(h.why), "%.255s", e->msg);
		snprintf(h.fallback, sizeof(h.fallback), "%s", fallback);
	}
	c->fn(c->ctx, &h);
}

/* ---- packets ---- */

struct tc_try { bool tcx; struct err e; };

static int try_tc(void *ctx)
{
	struct tc_try *t = ctx;

	return net_tc_try(t->tcx, &t->e);
}

static void check_tc(struct check *c)
{
	struct tc_try tcx = { .tcx = true }, clsact = { .tcx = false };
	int r = net_ns_scratch(try_tc, &tcx);

	if (r == -EINVAL) /* an attach type unknown to the kernel */
		r = -EOPNOTSUPP;
	report(c, "packets by tcx", r, &tcx.e, "clsact filters");
	if (r >= 0)
		return; /* clsact remains unused */
	r = net_ns_scratch(try_tc, &clsact);
	report(c, "packets by clsact", r, &clsact.e, "");
}

static void check_programs(struct check *c)
{
	struct net_tc_progs progs;
	struct net_flows *flows;
	struct err e = { 0 };
	int r = net_tc_load(&c->p, &c->setup, 0, &progs, &e);

	report(c, "packet programs", r, &e, "");
	if (r >= 0)
		progs.free(progs.skel);
	r = net_flow_load(&c->p, &c->setup, 0, &flows, &progs, &e);
	report(c, "flow programs", r, &e, "");
	if (r < 0)
		return;
	net_flow_free(flows);
	progs.free(progs.skel);
}

#define KEEP_TRY_BYTES (64u << 10) /* for each ring of the test recorder */

static void check_recorder(struct check *c)
{
	struct net_conf conf = net_conf_default;
	struct probe p = c->p;
	struct net_tc_progs progs;
	struct net_recorder *k = NULL;
	struct err e = { 0 };
	int r;

	conf.keep.keep_ns = 1;
	conf.keep.bytes = (uint64_t)KEEP_TRY_BYTES * NET_RECORDER_DIRS * probe_env_n_cpus(p.env);
	p.conf = &conf;
	r = net_recorder_new(&p, &c->setup, &k, &e);
	if (r >= 0)
		r = net_recorder_load(k, 0, &progs, &e);
	report(c, "flight recorder", r, &e, "");
	if (r >= 0)
		progs.free(progs.skel);
	net_recorder_free(k);
}

static void check_rules(struct check *c)
{
	struct net_conf conf = net_conf_default;
	struct probe p = c->p;
	struct net_tc_progs progs;
	struct net_policy *n = NULL;
	struct err e = { 0 };
	int r;

	conf.policy = (struct net_policy_conf){ .text = "deny\n", .name = "rules" };
	p.conf = &conf;
	r = net_policy_open(&p, &c->setup, &n, &e);
	if (r >= 0)
		r = net_policy_load(n, 0, &progs, &e);
	report(c, "rules", r, &e, "");
	if (r >= 0)
		progs.free(progs.skel);
	net_policy_close(n);
}

static int open_watch(void *ctx)
{
	static const struct net_watch_ops none;
	struct net_watch *w;
	int r = net_iface_open(&none, NULL, &w);

	(void)ctx;
	if (r >= 0)
		net_iface_close(w);
	return r;
}

static void check_netlink(struct check *c)
{
	struct err e = { 0 };
	int r = open_watch(NULL);

	if (r < 0)
		err_errno(&e, r, "cannot watch interfaces by rtnetlink");
	report(c, "interfaces by netlink", r, &e, "");
	r = net_ns_scratch(open_watch, NULL);
	if (r < 0)
		err_errno(&e, r, "cannot enter another network namespace");
	report(c, "other network namespaces", r, &e, "only the current one is traced");
}

/* ---- tracepoints ---- */

static void check_drops(struct check *c)
{
	int args = net_drop_args(c->p.env);
	struct net_drop *d = NULL;
	struct net_sender_tuples *f = NULL;
	struct err e = { 0 };
	int r = net_drop_open(&c->p, &c->setup, &d, &e);

	if (r >= 0)
		r = net_drop_attach(d, &e);
	report(c, "drops", r, &e, "");
	net_drop_close(d);
	if (r < 0)
		return;
	r = args < 3 ? err_set(&e, -EOPNOTSUPP, "the kernel gives no reason with a drop (5.17 and later do)") : 0;
	report(c, "drop reasons", r, &e, "every drop is NOT_SPECIFIED; the function still shows the location");
	r = args < 4 ? err_set(&e, -EOPNOTSUPP, "the kernel does not pass the receiving socket (6.11 and later do)")
		     : 0;
	report(c, "receiving socket of drops", r, &e, "owners are found by address and port");
	r = net_sender_tuples_open(&c->p, &c->setup, 0, false, &f, &e);
	if (r >= 0)
		r = net_sender_tuples_attach(f, &e);
	report(c, "senders of other namespaces", r, &e, "owners of drops there are known by their sockets only");
	net_sender_tuples_close(f);
}

/* Where functions cannot be traced, redirected packets are counted when they leave by another interface. */
static void check_redirect(struct check *c)
{
	struct net_redirect *n = NULL;
	struct err e = { 0 };
	int r = net_redirect_open(&c->p, &c->setup, &n, &e);

	if (r >= 0)
		r = net_redirect_attach(n, &e);
	report(c, "redirections", r, &e, "those to another interface are seen when they leave by it");
	net_redirect_close(n);
}

static void check_xdp(struct check *c)
{
	struct net_xdp *x = NULL;
	struct err e = { 0 };
	int r = net_xdp_open(&c->p, &c->setup, &x, &e);

	if (r >= 0)
		r = net_xdp_attach(x, &e);
	report(c, "XDP exceptions", r, &e, "");
	net_xdp_close(x);
}

static void check_refused(struct check *c)
{
	struct net_refused *n = NULL;
	struct err e = { 0 };
	int r = net_refused_open(&c->p, &c->setup, &n, &e);

	if (r >= 0)
		r = net_refused_attach(n, &e);
	report(c, "refused connections", r, &e, "");
	net_refused_close(n);
}

static void check_sockets(struct check *c)
{
	struct net_sock *s = NULL;
	struct err e = { 0 };
	int r = net_sock_open(&c->p, &c->setup, &s, &e);

	if (r < 0) {
		report(c, "addresses of sockets", r, &e, "");
		return;
	}
	net_sock_attach(s, NULL); /* the report names each of them */
	net_sock_report(s, c->fn, c->ctx);
	net_sock_close(s);
}

int net_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct check c = { .p = { .env = env, .conf = &net_conf_default }, .fn = fn, .ctx = ctx };
	int r = net_setup_init(&c.setup, &net_conf_default, NULL);

	if (r < 0)
		return r;
	check_tc(&c);
	check_programs(&c);
	check_recorder(&c);
	check_rules(&c);
	check_netlink(&c);
	check_drops(&c);
	check_redirect(&c);
	check_xdp(&c);
	check_refused(&c);
	check_sockets(&c);
	net_setup_fini(&c.setup);
	return 0;
}
