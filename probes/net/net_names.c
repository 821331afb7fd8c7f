// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/net_names.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/names.h"
#include "probe/env.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_ns.h"
#include "probes/net/net_text.h"
#include "probes/net/refused/net_refused_wire.h"
#include "probes/net/net_wire.h"

void net_names_init(struct net_names *n, struct probe_env *env)
{
	n->env = env;
	map_init(&n->ifaces, sizeof(uint64_t), 16);
	map_init(&n->spaces, sizeof(uint32_t), sizeof(uint8_t));
}

void net_names_fini(struct net_names *n)
{
	map_fini(&n->ifaces);
	map_fini(&n->spaces);
}

struct iface_query {
	uint32_t ifindex;
	char name[IF_NAMESIZE];
};

static int query_name(void *ctx)
{
	struct iface_query *q = ctx;

	return if_indextoname(q->ifindex, q->name) ? 0 : -errno;
}

/* A record with only the number: queries the namespace, once per interface. */
static int look_up_iface(struct net_names *n, uint32_t netns, uint32_t ifindex)
{
	uint64_t key = names_iface_key(netns, ifindex);
	struct iface_query q = { .ifindex = ifindex };
	char *have = map_add(&n->ifaces, &key, NULL);
	_cleanup_close_ int fd = -1;
	char inode[16];

	if (!have)
		return -ENOMEM;
	snprintf(inode, sizeof(inode), "%u", netns);
	fd = netns ? net_ns_open(inode, NULL) : -1;
	if (fd < 0 || net_ns_call(fd, query_name, &q) < 0)
		return 0; /* removed meanwhile: prints the number */
	memcpy(have, q.name, 16);
	return probe_env_inject_name(n->env, SONDE_NAME_IFACE, key, have);
}

/* An interface that was renamed, or a new one with its number, has the new name from here on. */
int net_names_iface(struct net_names *n, uint32_t netns, uint32_t ifindex, const char name[static 16])
{
	uint64_t key = names_iface_key(netns, ifindex);
	bool fresh = false;
	char *have;

	if (!ifindex)
		return 0;
	if (!name[0])
		return map_find(&n->ifaces, &key) ? 0 : look_up_iface(n, netns, ifindex);
	have = map_add(&n->ifaces, &key, &fresh);
	if (!have)
		return -ENOMEM;
	if (!fresh && !strncmp(have, name, 16))
		return 0;
	memcpy(have, name, 16);
	have[15] = '\0';
	return probe_env_inject_name(n->env, SONDE_NAME_IFACE, key, have);
}

int net_names_space(struct net_names *n, uint32_t netns)
{
	char name[256];
	int r = netns ? map_note(&n->spaces, &netns) : 0;

	if (r <= 0 || net_ns_name(netns, name, sizeof(name)) < 0)
		return MIN(r, 0);
	return probe_env_inject_name(n->env, SONDE_NAME_NETNS, netns, name);
}

int net_names_home(struct net_names *n)
{
	_cleanup_close_ int fd = net_ns_open(NULL, NULL);
	char text[16];

	if (fd < 0)
		return 0;
	snprintf(text, sizeof(text), "%u", net_ns_inode(fd));
	return probe_env_inject_name(n->env, SONDE_NAME_NETNS, NET_NS_HOME, text);
}

static int name_stack(struct net_names *n, const struct net_rec *r, struct cursor *c)
{
	int ret = 0;

	cur_skip(c, (r->cap_len + 7) / 8 * 8);
	for (unsigned i = 0; ret >= 0 && cur_ok(c) && i < r->n_stack; i++)
		ret = probe_env_inject_ksym(n->env, cur_u64(c));
	return ret;
}

static int name_refused(struct net_names *n, const struct sonde_rec *rec)
{
	struct net_refused_rec r;
	int ret;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return 0; /* the decoder counts it */
	ret = net_names_space(n, r.netns);
	return ret < 0 ? ret : net_names_iface(n, r.netns, r.ifindex, r.ifname);
}

static int name_flow(struct net_names *n, const struct sonde_rec *rec)
{
	struct cursor c = cur_init(rec, rec->len);
	uint32_t netns;

	cur_skip(&c, offsetof(struct net_flow_rec, netns));
	netns = cur_u32(&c);
	return cur_ok(&c) ? net_names_space(n, netns) : 0;
}

int net_names_record(struct net_names *n, const struct sonde_rec *rec)
{
	struct cursor c = cur_init(rec, rec->len);
	struct net_rec r;
	int ret;

	if (rec->type == NET_EV_REFUSED)
		return name_refused(n, rec);
	if (rec->type == NET_EV_FLOW)
		return name_flow(n, rec);
	if (rec->type != NET_EV_TRACE && rec->type != NET_EV_DROP && rec->type != NET_EV_XDP)
		return 0;
	if (!cur_copy(&c, &r, sizeof(r)))
		return 0; /* the decoder counts it */
	ret = net_names_space(n, r.netns);
	if (ret < 0 || rec->type == NET_EV_TRACE)
		return ret;
	ret = net_names_iface(n, r.netns, r.ifindex, r.ifname);
	if (ret >= 0)
		ret = probe_env_inject_ksym(n->env, r.location);
	return ret < 0 || !r.n_stack ? ret : name_stack(n, &r, &c);
}
