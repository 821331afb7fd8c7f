// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/drop/net_xdp.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probes/net/net_part.h"

#include "net_xdp.skel.h"

DEFINE_CLEANUP(struct net_xdp_bpf *, net_xdp_bpf__destroy)

/* Tracepoints that the kernel may lack (XDP compiled out, older names). */
static const char *const tracepoints[] = { "btf_trace_xdp_exception", "btf_trace_xdp_redirect_err" };

static void detach(void *part)
{
	net_xdp_bpf__detach(part);
}

static void close_xdp(void *part)
{
	net_xdp_bpf__destroy(part);
}

static unsigned select_programs(struct probe_env *env, struct net_xdp_bpf *skel)
{
	struct bpf_program *progs[] = { skel->progs.xdp_exception, skel->progs.xdp_redirect_err };
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(progs); i++) {
		bool there = probe_env_btf_find(env, tracepoints[i], BTF_KIND_TYPEDEF) >= 0;

		bpf_program__set_autoload(progs[i], there);
		n += there;
	}
	return n;
}

static int open_xdp(struct net_parts *all, void **ret, struct err *err)
{
	_cleanup_(net_xdp_bpf__destroyp) struct net_xdp_bpf *skel = net_xdp_bpf__open();
	int r;

	if (!skel)
		return err_errno(err, -errno, "cannot open the XDP programs");
	if (!select_programs(all->p->env, skel))
		return err_set(err, -EOPNOTSUPP, "the kernel has no tracepoints for XDP exceptions");
	r = net_setup_load(&all->setup, all->p, skel->obj, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(skel);
	return 0;
}

static int attach(void *part, struct err *err)
{
	int r = net_xdp_bpf__attach(part);

	return r < 0 ? err_errno(err, r, "cannot attach to the tracepoints of XDP exceptions") : 0;
}

const struct net_part net_xdp_part = { .open = open_xdp, .attach = attach, .detach = detach, .close = close_xdp };

int net_xdp_names(struct probe_env *env)
{
	static const char *const names[] = { "ABORTED", "DROP", "PASS", "TX", "REDIRECT" };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(names); i++)
		r = probe_env_inject_name(env, SONDE_NAME_XDP_ACTION, i, names[i]);
	return r;
}
