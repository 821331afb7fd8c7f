// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets that programs and actions at the interfaces redirect: counted with their flows, not reported otherwise.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "loop/coop.h"
#include "base/err.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_spaces.h"

#include "net_redirect.skel.h"

struct net_redirect {
	struct net_redirect_bpf *skel;
};

DEFINE_CLEANUP(struct btf *, btf__free)

static void detach(void *part)
{
	net_redirect_bpf__detach(((struct net_redirect *)part)->skel);
}

static void close_redirect(void *part)
{
	struct net_redirect *n = part;

	if (!n)
		return;
	net_redirect_bpf__destroy(n->skel);
	free(n);
}
DEFINE_CLEANUP(struct net_redirect *, close_redirect)

static bool has_function(const struct btf *btf, const char *name)
{
	return btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) >= 0;
}

/* The action may be a module, which has a BTF of its own while loaded. */
static unsigned select_programs(const struct btf *btf, struct net_redirect_bpf *skel)
{
	_cleanup_(btf__freep) struct btf *module = btf__load_module_btf("act_mirred", (struct btf *)btf);
	bool bpf = has_function(btf, "skb_do_redirect");
	bool mirred = has_function(btf, "tcf_mirred_act") || has_function(module, "tcf_mirred_act");

	bpf_program__set_autoload(skel->progs.redirect_bpf, bpf);
	bpf_program__set_autoload(skel->progs.redirect_mirred, mirred);
	return (unsigned)bpf + mirred;
}

static int open_redirect(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(close_redirectp) struct net_redirect *n = calloc(1, sizeof(*n));
	struct probe *p = all->p;
	struct coop *coop = probe_env_coop(p->env);
	struct bpf_program *prog;
	const struct btf *btf;
	unsigned known;
	bool left;
	int r;

	if (!n)
		return err_errno(err, -ENOMEM, "cannot load the programs for redirections");
	n->skel = net_redirect_bpf__open();
	if (!n->skel)
		return err_errno(err, -errno, "cannot open the programs for redirections");
	btf = probe_env_btf(p->env);
	left = coop_leave(coop); /* the look-ups go through all types */
	known = select_programs(btf, n->skel);
	coop_return(coop, left);
	if (!known)
		return err_set(err, -EOPNOTSUPP, "the kernel has no function for redirections that can be traced");
	r = net_setup_turns(&all->setup, n->skel->maps.net_flow_direction_tables);
	if (r < 0)
		return err_errno(err, r, "cannot size the table of flow tables");
	r = net_setup_apply(&all->setup, p, n->skel->obj, 0, err);
	if (r >= 0)
		r = probe_env_load(p->env, n->skel->obj, err);
	bpf_object__for_each_program(prog, n->skel->obj)
		if (r >= 0 && bpf_program__autoload(prog))
			r = probe_env_watch(p->env, prog, p->instance);
	if (r < 0)
		return r;
	net_spaces_share_flows(all, n->skel->maps.net_flow_direction_tables);
	*ret = TAKE_PTR(n);
	return 0;
}

static int attach(void *part, struct err *err)
{
	int r = net_redirect_bpf__attach(((struct net_redirect *)part)->skel);

	return r < 0 ? err_errno(err, r, "cannot attach to the redirection functions") : 0;
}

const struct net_part net_redirect_part = {
	.open = open_redirect, .attach = attach, .detach = detach, .close = close_redirect,
};
