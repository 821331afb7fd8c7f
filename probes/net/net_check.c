// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/net_check.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probes/net/drop/net_drop.h"
#include "probes/net/drop/net_xdp.h"
#include "probes/net/flow/net_flow.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_part.h"
#include "probes/net/owner/net_sock.h"
#include "probes/net/packet/net_iface.h"
#include "probes/net/packet/net_tc.h"
#include "probes/net/policy/net_policy.h"
#include "probes/net/recorder/net_recorder.h"
#include "probes/net/recorder/net_recorder_wire.h"

struct check {
	struct probe p;
	struct net_parts all;
	hook_report_fn fn;
	void *ctx;
};

static void report(const struct check *c, const char *hook, int r, const struct err *e, const char *fallback)
{
	hooks_report_code(c->fn, c->ctx, hook, r, e, fallback);
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

/* @part: the programs need it; NULL = none. */
static void check_load(struct check *c, const char *hook, net_tc_load_fn *load, enum net_part_id id,
		       const struct net_part *part)
{
	struct net_tc_progs progs;
	struct err e = { 0 };
	int r = part ? part->open(&c->all, &c->all.part[id], &e) : 0;

	if (r >= 0)
		r = load(&c->all, 0, &progs, &e);
	report(c, hook, r, &e, "");
	if (r >= 0)
		progs.free(progs.skel);
	if (part)
		part->close(TAKE_PTR(c->all.part[id]));
}

#define KEEP_TRY_BYTES (64u << 10) /* for each ring of the test recorder */

static void check_programs(struct check *c)
{
	struct net_conf conf = net_conf_default;

	check_load(c, "packet programs", net_tc_load, 0, NULL);
	check_load(c, "flow programs", net_flow_load, 0, NULL);
	conf.keep.keep_ns = 1;
	conf.keep.bytes = (uint64_t)KEEP_TRY_BYTES * NET_RECORDER_DIRS * probe_env_n_cpus(c->p.env);
	conf.policy = (struct net_policy_conf){ .text = "deny\n", .name = "rules" };
	c->p.conf = &conf;
	check_load(c, "flight recorder", net_recorder_load, NET_PART_RECORDER, &net_recorder_part);
	check_load(c, "rules", net_policy_load, NET_PART_POLICY, &net_policy_part);
	c->p.conf = &net_conf_default;
}

static int open_watch(_unused_ void *ctx)
{
	static const struct net_watch_ops none;
	struct net_watch *w;
	int r = net_iface_open(&none, NULL, &w);

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

static int check_part(struct check *c, const struct net_part *part, const char *hook, const char *fallback)
{
	struct err e = { 0 };
	void *at = NULL;
	int r = part->open(&c->all, &at, &e);

	if (r >= 0)
		r = part->attach(at, &e);
	report(c, hook, r, &e, fallback);
	part->close(at);
	return r;
}

static void check_drops(struct check *c)
{
	int args = net_drop_args(c->p.env), r;
	struct err e = { 0 };

	if (check_part(c, &net_drop_part, "drops", "") < 0)
		return;
	r = args < 3 ? err_set(&e, -EOPNOTSUPP, "the kernel gives no reason with a drop (5.17 and later do)") : 0;
	report(c, "drop reasons", r, &e, "every drop is NOT_SPECIFIED; the function still shows the location");
	r = args < 4 ? err_set(&e, -EOPNOTSUPP, "the kernel does not pass the receiving socket (6.11 and later do)")
		     : 0;
	report(c, "receiving socket of drops", r, &e, "owners are found by address and port");
	check_part(c, &net_sender_tuples_part, "senders of other namespaces",
		   "owners of drops there are known by their sockets only");
}

static void check_sockets(struct check *c)
{
	void *at = NULL;
	struct err e = { 0 };
	int r = net_sock_part.open(&c->all, &at, &e);

	if (r < 0) {
		report(c, "addresses of sockets", r, &e, "");
		return;
	}
	net_sock_part.attach(at, NULL); /* the report names each of them */
	net_sock_report(at, c->fn, c->ctx);
	net_sock_part.close(at);
}

int net_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct check c = { .p = { .env = env, .conf = &net_conf_default }, .fn = fn, .ctx = ctx };
	int r = net_setup_init(&c.all.setup, &net_conf_default, NULL);

	if (r < 0)
		return r;
	c.all.p = &c.p;
	check_tc(&c);
	check_programs(&c);
	check_netlink(&c);
	check_drops(&c);
	/* where functions cannot be traced, redirected packets are counted when they leave by another interface */
	check_part(&c, &net_redirect_part, "redirections",
		   "those to another interface are seen when they leave by it");
	check_part(&c, &net_xdp_part, "XDP exceptions", "");
	check_part(&c, &net_refused_part, "refused connections", "");
	check_sockets(&c);
	net_setup_fini(&c.all.setup);
	return 0;
}
