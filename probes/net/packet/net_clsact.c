// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libbpf adds and removes filters; RTM_GETTFILTER of rtnetlink lists all filters of an interface:
 * include/uapi/linux/rtnetlink.h (struct tcmsg), pkt_cls.h (TCA_BPF_*).
 */
#include "probes/net/packet/net_clsact.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* Lower priorities run first; 1 is the common default of other tools. A priority in use is skipped. */
#define PRIORITY_FIRST 2
#define PRIORITY_LAST 64
#define NAME_PREFIX "sonde_" /* of our programs, hence of the filters: libbpf names them after the program */

DEFINE_CLEANUP(struct mnl_socket *, mnl_socket_close)

static struct bpf_tc_hook hook_of(uint32_t ifindex, int dir)
{
	return (struct bpf_tc_hook){
		.sz = sizeof(struct bpf_tc_hook), .ifindex = (int)ifindex,
		.attach_point = dir ? BPF_TC_EGRESS : BPF_TC_INGRESS,
	};
}

static int make_qdisc(uint32_t ifindex, bool *made)
{
	struct bpf_tc_hook hook = hook_of(ifindex, 0);
	int r;

	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
	r = bpf_tc_hook_create(&hook);
	if (r == 0)
		*made = true;
	return r == -EEXIST ? 0 : r;
}

int net_clsact_add(uint32_t ifindex, int dir, int prog_fd, struct net_filter *f, bool *made_qdisc)
{
	struct bpf_tc_hook hook = hook_of(ifindex, dir);
	int r = make_qdisc(ifindex, made_qdisc);

	for (uint32_t prio = PRIORITY_FIRST; r >= 0 && prio <= PRIORITY_LAST; prio++) {
		LIBBPF_OPTS(bpf_tc_opts, o, .handle = (uint32_t)getpid(), .priority = prio, .prog_fd = prog_fd);

		r = bpf_tc_attach(&hook, &o);
		if (r == 0) {
			*f = (struct net_filter){
				.prog_id = o.prog_id, .handle = o.handle, .priority = (uint16_t)prio,
			};
			return 0;
		}
		/* in use, or by a filter of another kind */
		if (r == -EEXIST || r == -EINVAL)
			r = prio == PRIORITY_LAST ? r : 0;
	}
	return r;
}

void net_clsact_remove(uint32_t ifindex, int dir, struct net_filter *f)
{
	struct bpf_tc_hook hook = hook_of(ifindex, dir);
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = f->handle, .priority = f->priority);

	if (!f->prog_id)
		return;
	if (bpf_tc_query(&hook, &o) == 0 && o.prog_id == f->prog_id) {
		o.prog_id = 0;
		o.prog_fd = 0;
		o.flags = 0;
		bpf_tc_detach(&hook, &o);
	}
	*f = (struct net_filter){ 0 };
}

/* ---- all filters of an interface ---- */

struct seen_filter {
	struct net_filter id;
	char name[64];
	bool is_bpf;
};

struct filter_dump {
	void (*fn)(void *ctx, const struct seen_filter *f);
	void *ctx;
};

static void read_bpf_options(struct seen_filter *f, const struct nlattr *options)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, options) {
		if (mnl_attr_get_type(a) == TCA_BPF_NAME && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			snprintf(f->name, sizeof(f->name), "%s", mnl_attr_get_str(a));
		else if (mnl_attr_get_type(a) == TCA_BPF_ID && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			f->id.prog_id = mnl_attr_get_u32(a);
	}
}

static int on_filter(const struct nlmsghdr *h, void *data)
{
	const struct tcmsg *m = mnl_nlmsg_get_payload(h);
	const struct filter_dump *d = data;
	const struct nlattr *a, *options = NULL;
	struct seen_filter f = { 0 };

	if (h->nlmsg_type != RTM_NEWTFILTER || mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return MNL_CB_OK;
	/* the kernel lists a chain without filters with handle 0 */
	if (!m->tcm_handle)
		return MNL_CB_OK;
	mnl_attr_for_each(a, h, sizeof(*m)) {
		if (mnl_attr_get_type(a) == TCA_KIND && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			f.is_bpf = !strcmp(mnl_attr_get_str(a), "bpf");
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	f.id.handle = m->tcm_handle;
	f.id.priority = (uint16_t)(m->tcm_info >> 16);
	if (f.is_bpf && options)
		read_bpf_options(&f, options);
	d->fn(d->ctx, &f);
	return MNL_CB_OK;
}

static int ask_filters(struct mnl_socket *nl, uint32_t ifindex, int dir)
{
	char buf[256];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct tcmsg *m;

	h->nlmsg_type = RTM_GETTFILTER;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = 1;
	m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	m->tcm_family = AF_UNSPEC;
	m->tcm_ifindex = (int)ifindex;
	m->tcm_parent = TC_H_MAKE(TC_H_CLSACT, dir ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
	return mnl_socket_sendto(nl, h, h->nlmsg_len) < 0 ? -errno : 0;
}

static int each_filter(uint32_t ifindex, int dir, struct filter_dump *d)
{
	_cleanup_(mnl_socket_closep) struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	_cleanup_free_ char *buf = malloc(65536);
	int r = MNL_CB_OK;

	if (!nl || !buf)
		return nl ? -ENOMEM : -errno;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	r = ask_filters(nl, ifindex, dir);
	if (r < 0)
		return r;
	r = MNL_CB_OK;
	while (r > MNL_CB_STOP) {
		ssize_t n = mnl_socket_recvfrom(nl, buf, 65536);

		if (n < 0)
			return -errno;
		r = mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), on_filter, d);
	}
	return r < 0 ? -errno : 0;
}

static void count_filter(void *ctx, _unused_ const struct seen_filter *f)
{
	++*(unsigned *)ctx;
}

void net_clsact_release(uint32_t ifindex)
{
	unsigned n = 0;
	struct filter_dump d = { .fn = count_filter, .ctx = &n };
	struct bpf_tc_hook hook = hook_of(ifindex, 0);

	if (each_filter(ifindex, 0, &d) < 0 || each_filter(ifindex, 1, &d) < 0 || n)
		return;
	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
	bpf_tc_hook_destroy(&hook);
}

/* ---- leftovers ---- */

struct sweep {
	uint32_t ifindex;
	uint32_t creator;	/* 0 = all that have exited */
	int dir;
};

static bool runs(uint32_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

static void sweep_filter(void *ctx, const struct seen_filter *f)
{
	const struct sweep *s = ctx;
	struct net_filter left = f->id;

	if (!f->is_bpf || strncmp(f->name, NAME_PREFIX, strlen(NAME_PREFIX)))
		return;
	if (left.priority < PRIORITY_FIRST || left.priority > PRIORITY_LAST)
		return;
	if (s->creator ? left.handle != s->creator : runs(left.handle))
		return;
	net_clsact_remove(s->ifindex, s->dir, &left);
}

void net_clsact_sweep(uint32_t ifindex, uint32_t creator)
{
	for (int dir = 0; dir < 2; dir++) {
		struct sweep s = { .ifindex = ifindex, .creator = creator, .dir = dir };
		struct filter_dump d = { .fn = sweep_filter, .ctx = &s };

		each_filter(ifindex, dir, &d);
	}
}
