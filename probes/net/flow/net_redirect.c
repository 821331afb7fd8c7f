// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets that programs and actions at the interfaces redirect: counted with their flows, not reported otherwise.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "loop/coop.h"
#include "base/err.h"
#include "probe/env.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_spaces.h"

#include "net_redirect.skel.h"

DEFINE_CLEANUP(struct btf *, btf__free)
DEFINE_CLEANUP(struct net_redirect_bpf *, net_redirect_bpf__destroy)

static void detach(void *part)
{
	net_redirect_bpf__detach(part);
}

static void close_redirect(void *part)
{
	net_redirect_bpf__destroy(part);
}

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
	_cleanup_(net_redirect_bpf__destroyp) struct net_redirect_bpf *skel = net_redirect_bpf__open();
	struct coop *coop = probe_env_coop(all->p->env);
	const struct btf *btf;
	unsigned known;
	bool left;
	int r;

	if (!skel)
		return err_errno(err, -errno, "cannot open the programs for redirections");
	btf = probe_env_btf(all->p->env);
	left = coop_leave(coop); /* the look-ups go through all types */
	known = select_programs(btf, skel);
	coop_return(coop, left);
	if (!known)
		return err_set(err, -EOPNOTSUPP, "the kernel has no function for redirections that can be traced");
	r = net_setup_turns(&all->setup, skel->maps.net_flow_direction_tables);
	if (r < 0)
		return err_errno(err, r, "cannot size the table of flow tables");
	r = net_setup_load(&all->setup, all->p, skel->obj, err);
	if (r < 0)
		return r;
	net_spaces_share_flows(all, skel->maps.net_flow_direction_tables);
	*ret = TAKE_PTR(skel);
	return 0;
}

static int attach(void *part, struct err *err)
{
	int r = net_redirect_bpf__attach(part);

	return r < 0 ? err_errno(err, r, "cannot attach to the redirection functions") : 0;
}

const struct net_part net_redirect_part = {
	.open = open_redirect, .attach = attach, .detach = detach, .close = close_redirect,
};
