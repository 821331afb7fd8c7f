// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/policy/net_rules.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/net_names.h"
#include "probes/net/net_ns.h"
#include "probes/net/policy/net_policy_wire.h"

#define FILES (UINT8_MAX - NET_POLICY_FILE) /* further ones have the last one's name */

/* A rule of one process; line UINT32_MAX = its file. */
struct rule_id {
	uint32_t map; /* id of the map of its texts */
	uint32_t generation, line;
};

struct net_rules {
	struct probe *p;
	struct net_names *names;
	struct map numbers; /* struct rule_id -> u32, from 1; for a file, its own number */
	struct map ifaces;  /* struct net_count_iface -> u8: its name is in the stream */
	uint32_t n_files;
};

/* Rules of one process. */
struct rule_maps {
	int texts, counts;	/* owned */
	uint32_t id;
	uint8_t file;
};

DEFINE_CLEANUP(struct net_rules *, net_rules_close)

static void maps_close(struct rule_maps *m)
{
	cleanup_close(&m->texts);
	cleanup_close(&m->counts);
}

/* ---- finding them ---- */

static uint8_t file_number(struct net_rules *r, uint32_t id, const char *name)
{
	const struct rule_id key = { .map = id, .generation = UINT32_MAX, .line = UINT32_MAX };
	bool is_new = false;
	uint32_t *number = map_add(&r->numbers, &key, &is_new);

	if (!number)
		return NET_POLICY_FILE;
	if (is_new) {
		*number = NET_POLICY_FILE + MIN(r->n_files, (uint32_t)FILES);
		r->n_files++;
		probe_env_inject_name(r->p->env, SONDE_NAME_SOURCE_FILE, *number, name);
	}
	return (uint8_t)*number;
}

/* Takes @fd. False: not a map of rule texts, or its process has exited. */
static bool maps_open(struct net_rules *r, int fd, struct rule_maps *ret)
{
	const uint64_t head = NET_POLICY_HEAD;
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	struct net_policy_text t;

	*ret = (struct rule_maps){ .texts = fd, .counts = -1 };
	if (bpf_map_get_info_by_fd(fd, &info, &len) < 0 || strcmp(info.name, NET_POLICY_TEXTS_NAME) != 0 ||
	    info.key_size != sizeof(uint64_t) || info.value_size != sizeof(t) ||
	    bpf_map_lookup_elem(fd, &head, &t) < 0)
		return false;
	t.text[sizeof(t.text) - 1] = '\0';
	ret->id = info.id;
	ret->counts = bpf_map_get_fd_by_id(t.counts);
	len = sizeof(info);
	if (ret->counts < 0 || bpf_map_get_info_by_fd(ret->counts, &info, &len) < 0 ||
	    info.key_size != sizeof(struct net_count_key) || info.value_size != sizeof(struct net_count))
		return false;
	ret->file = file_number(r, ret->id, t.text);
	return true;
}

/* Opens the next map after *id: 1 and its maps, 0 at the end, or the error if the kernel does not show maps. */
static int next_maps(struct net_rules *r, uint32_t *id, struct rule_maps *ret)
{
	while (bpf_map_get_next_id(*id, id) == 0) {
		int fd = bpf_map_get_fd_by_id(*id);

		if (fd < 0 && errno == ENOENT)
			continue; /* removed meanwhile */
		if (fd < 0)
			return -errno;
		if (maps_open(r, fd, ret))
			return 1;
		maps_close(ret);
	}
	return errno == EPERM ? -EPERM : 0;
}

/* ---- names ---- */

static int query_name(void *ctx)
{
	return if_indextoname(*(unsigned *)ctx, (char *)ctx + sizeof(unsigned)) ? 0 : -errno;
}

static void emit_iface(struct net_rules *r, const struct net_count_key *k)
{
	const struct net_count_iface key = { k->netns, k->ifindex };
	struct {
		unsigned ifindex;
		char name[IF_NAMESIZE];
	} query = { .ifindex = k->ifindex };
	_cleanup_close_ int fd = -1;
	char inode[16];

	if (map_note(&r->ifaces, &key) <= 0)
		return;
	snprintf(inode, sizeof(inode), "%u", k->netns);
	fd = net_ns_open(inode, NULL);
	if (fd >= 0 && net_ns_call(fd, query_name, &query) >= 0)
		net_names_iface(r->names, k->netns, k->ifindex, query.name);
}

/* The number of the rule, with its name in the stream; 0 = no memory. */
static uint32_t rule_number(struct net_rules *r, const struct rule_maps *m, const struct net_count_key *k)
{
	const struct rule_id id = { .map = m->id, .generation = (uint32_t)k->location, .line = k->reason };
	const uint64_t key = k->location << 32 | k->reason;
	bool is_new = false;
	uint32_t *number = map_add(&r->numbers, &id, &is_new);
	struct net_policy_text t;

	if (!number)
		return 0;
	if (!is_new)
		return *number;
	*number = (uint32_t)r->numbers.len;
	if (bpf_map_lookup_elem(m->texts, &key, &t) == 0) {
		t.text[sizeof(t.text) - 1] = '\0';
		probe_env_inject_name(r->p->env, SONDE_NAME_POLICY_RULE, (uint64_t)*number << 32 | k->reason, t.text);
	}
	return *number;
}

/* ---- reading ---- */

static int read_maps(struct net_rules *r, const struct rule_maps *m, struct net_count *cpus, net_rules_fn fn,
		     void *ctx)
{
	struct net_count_key key, out, *at = NULL;
	int ret = 0;

	while (ret >= 0 && bpf_map_get_next_key(m->counts, at, &key) == 0) {
		at = &key;
		if (key.kind != NET_COUNT_POLICY || bpf_map_lookup_elem(m->counts, &key, cpus) < 0)
			continue;
		out = key;
		out.location = rule_number(r, m, &key);
		emit_iface(r, &key);
		ret = out.location ? fn(ctx, &out, m->file) : -ENOMEM;
	}
	return ret;
}

int net_rules_read(struct net_rules *r, struct net_count *cpus, net_rules_fn fn, void *ctx)
{
	struct rule_maps m;
	uint32_t id = 0;
	int more, ret = 0;

	while (ret >= 0 && (more = next_maps(r, &id, &m)) > 0) {
		ret = read_maps(r, &m, cpus, fn, ctx);
		maps_close(&m);
	}
	return ret;
}

/* ---- life ---- */

int net_rules_open(struct probe *p, struct net_names *names, struct net_rules **ret, struct err *err)
{
	_cleanup_(net_rules_closep) struct net_rules *r = calloc(1, sizeof(*r));
	struct rule_maps m;
	uint32_t id = 0;
	int found;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read counters of rules");
	r->p = p;
	r->names = names;
	map_init(&r->numbers, sizeof(struct rule_id), sizeof(uint32_t));
	map_init(&r->ifaces, sizeof(struct net_count_iface), sizeof(uint8_t));
	found = next_maps(r, &id, &m);
	if (found < 0)
		return err_errno(err, found, "--policy: cannot list the maps in the kernel");
	if (!found)
		return err_set(err, -ENOENT, "--policy: no `sonde policy` is running on this host");
	maps_close(&m);
	*ret = TAKE_PTR(r);
	return 0;
}

void net_rules_close(struct net_rules *r)
{
	if (!r)
		return;
	map_fini(&r->numbers);
	map_fini(&r->ifaces);
	free(r);
}
