// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/net_setup.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "loop/coop.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "pktfilter/pktfilter.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"

#define SNAPLEN_TEXT 128u /* headers; Cilium's default too */
#define HEAD_BYTES 128u	  /* the programs read that much in any case */
#define STACK_DEPTH 32u

/* Kinds of events with packets. */
static const char *const kind_names[] = {
	[NET_KIND_TRACE] = "trace", [NET_KIND_DROP] = "drop", [NET_KIND_XDP] = "xdp",
};

static int snaplen_number(const char *text, uint32_t *ret)
{
	uint32_t n;
	int r = str_to_u32(text, 10, &n);

	if (r < 0)
		return r;
	*ret = !n || n > NET_SNAP_MAX ? NET_SNAP_MAX : n;
	return 0;
}

/* "256" for every kind, "drop=0" for one; 0 = whole packets. */
static int add_snaplen(struct net_setup *s, const char *text, struct err *err)
{
	const char *eq = strchr(text, '=');
	uint32_t n;

	if (snaplen_number(eq ? eq + 1 : text, &n) < 0)
		return err_set(err, -EINVAL, "--snaplen %s: expected a number of bytes or KIND=BYTES", text);
	for (size_t k = 0; k < ARRAY_SIZE(kind_names); k++) {
		if (eq && (strlen(kind_names[k]) != (size_t)(eq - text) || strncmp(text, kind_names[k], eq - text)))
			continue;
		s->snaplen[k] = n;
		if (eq)
			return 0;
	}
	return eq ? err_set(err, -EINVAL, "--snaplen %s: the kinds are trace, drop and xdp", text) : 0;
}

static int add_ifaces(struct net_setup *s, const char *list)
{
	while (*list) {
		size_t len = strcspn(list, ",");

		if (len) {
			if (vec_grow(&s->ifaces) < 0)
				return -ENOMEM;
			s->ifaces.items[s->ifaces.len] = strndup(list, len);
			if (!s->ifaces.items[s->ifaces.len++])
				return -ENOMEM;
		}
		list += len + (list[len] == ',');
	}
	return 0;
}

void net_setup_fini(struct net_setup *s)
{
	for (size_t i = 0; i < s->ifaces.len; i++)
		free(s->ifaces.items[i]);
	vec_fini(&s->ifaces);
}

int net_setup_init(struct net_setup *s, const struct net_conf *c, struct err *err)
{
	uint32_t depth = c->filter ? pktfilter_depth(c->filter) : 0;
	int r = 0;

	*s = (struct net_setup){
		.undecided_snaplen = MIN(depth, (uint32_t)NET_SNAP_MAX), .stack_depth = c->verbose ? STACK_DEPTH : 0,
		.purpose = c->flow.on ? NET_FOR_FLOWS : c->keep.keep_ns ? NET_FOR_RECORDER :
			   c->policy.text ? NET_FOR_POLICY : NET_FOR_PACKETS,
		.kinds = c->kinds ? c->kinds : (1u << NET_KIND__MAX) - 1, .flows = c->flow.on,
		.sums = c->flow.on && c->flow.sums, .counting = c->count.on,
		.silent = c->count.on && !c->count.events,
	};
	for (int k = 0; k < NET_KIND__MAX; k++)
		s->snaplen[k] = c->whole_packets ? NET_SNAP_MAX : SNAPLEN_TEXT;
	for (size_t i = 0; r >= 0 && i < c->snaplen.len; i++)
		r = add_snaplen(s, c->snaplen.items[i], err);
	for (size_t i = 0; r >= 0 && i < c->iface.len; i++)
		r = add_ifaces(s, c->iface.items[i]);
	return r == -ENOMEM ? err_errno(err, r, "cannot keep the options") : r;
}

bool net_setup_iface(const struct net_setup *s, const char *name)
{
	if (!s->ifaces.len)
		return true;
	return vec_find(it, &s->ifaces, !fnmatch(*it, name, 0));
}

/* "eth0" with its NUL, "veth" of "veth*". */
static bool prefix_of(const char *glob, char name[static 16], uint32_t *ret_bits)
{
	size_t len = strcspn(glob, "*?[\\");
	bool star = !strcmp(glob + len, "*");

	if ((glob[len] && !star) || len >= 16)
		return false;
	memset(name, 0, 16);
	memcpy(name, glob, len);
	*ret_bits = (uint32_t)(len + !star) * 8;
	return true;
}

bool net_setup_prefixes(const struct net_setup *s, int (*fn)(void *ctx, const char name[static 16], uint32_t bits),
			void *ctx)
{
	for (size_t i = 0; i < s->ifaces.len; i++) {
		uint32_t bits;
		char name[16];

		if (!prefix_of(s->ifaces.items[i], name, &bits) || fn(ctx, name, bits) < 0)
			return false;
	}
	return true;
}

static int no_op(_unused_ void *ctx, _unused_ const char name[static 16], _unused_ uint32_t bits)
{
	return 0;
}

static int add_prefix(void *ctx, const char name[static 16], uint32_t bits)
{
	struct { uint32_t bits; char name[16]; } key = { .bits = bits };
	const uint8_t one = 1;
	const int *fd = ctx;

	memcpy(key.name, name, sizeof(key.name));
	return bpf_map_update_elem(*fd, &key, &one, BPF_ANY) < 0 ? -errno : 0;
}

/* For an object that selects interfaces (net_select.bpf.h). */
static int size_ifaces(const struct net_setup *s, struct bpf_object *obj)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "net_ifaces");
	const bool select = s->ifaces.len && net_setup_prefixes(s, no_op, NULL);

	if (!map)
		return 0;
	probe_rodata_set(obj, "net_select_ifaces", &select, sizeof(select));
	return bpf_map__set_max_entries(map, (uint32_t)s->ifaces.len + 1);
}

int net_setup_ifaces(const struct net_setup *s, struct bpf_object *obj, struct err *err)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "net_ifaces");

	if (fd < 0 || !net_setup_prefixes(s, no_op, NULL) || net_setup_prefixes(s, add_prefix, &fd))
		return 0;
	return err_set(err, -ENOMEM, "cannot pass the interface selection to the kernel");
}

static uint32_t snap_limit(const struct net_setup *s)
{
	uint32_t n = MAX(s->undecided_snaplen, HEAD_BYTES);

	for (int k = 0; k < NET_KIND__MAX; k++)
		n = MAX(n, s->snaplen[k]);
	return n;
}

void net_setup_rates(const struct net_conf *c, struct bpf_object *obj)
{
	uint64_t rate[NET_KIND__MAX], burst[NET_KIND__MAX], interval[NET_KIND__MAX];

	for (int k = 0; k < NET_KIND__MAX; k++) {
		rate[k] = c->rate;
		burst[k] = c->burst ? c->burst : c->rate;
		interval[k] = c->interval_ns ? c->interval_ns : 1000000000;
	}
	probe_rodata_set(obj, "net_rate", rate, sizeof(rate));
	probe_rodata_set(obj, "net_burst", burst, sizeof(burst));
	probe_rodata_set(obj, "net_interval_ns", interval, sizeof(interval));
}

/* One record per possible CPU, of the greatest possible length. */
static int size_scratch(const struct net_setup *s, struct probe *p, struct bpf_object *obj, uint32_t limit)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "net_scratch");
	uint32_t size;
	int r;

	if (!map)
		return 0;
	/* as compiled it has room for the longest packet and the deepest stack */
	size = bpf_map__value_size(map) - (NET_SNAP_MAX - limit) - (NET_STACK_MAX - s->stack_depth) * 8;
	r = bpf_map__set_max_entries(map, probe_env_n_cpus(p->env));
	return r < 0 ? r : bpf_map__set_value_size(map, ROUND_UP(size, 8u) + 8);
}

/* For an object that counts; the first one creates the map. */
static int set_counting(const struct net_setup *s, const struct net_conf *c, struct bpf_object *obj)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "inst_net_counts");

	probe_rodata_set(obj, "net_counting", &s->counting, sizeof(s->counting));
	probe_rodata_set(obj, "net_silent", &s->silent, sizeof(s->silent));
	return map && s->counting ? bpf_map__set_max_entries(map, c->count.max) : 0;
}

int net_setup_turns(const struct net_setup *s, struct bpf_map *map)
{
	return bpf_map__set_max_entries(map, s->n_spaces ? (uint32_t)s->n_spaces : 1);
}

int net_setup_tp_args(struct probe_env *env, const char *tracepoint)
{
	int id = probe_env_btf_find(env, tracepoint, BTF_KIND_TYPEDEF);
	const struct btf *btf = probe_env_btf(env);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	t = t ? btf__type_by_id(btf, t->type) : NULL;	/* pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL;	/* function; its first parameter is the tracer's */
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0;
}

int net_setup_apply(const struct net_setup *s, struct probe *p, struct bpf_object *obj, uint32_t netns,
		    struct err *err)
{
	const struct net_conf *c = p->conf;
	struct coop *coop = probe_env_coop(p->env);
	const struct btf *btf;
	const bool limited = probe_env_is_limited(p->env) && !s->flows && !s->silent;
	uint32_t limit = snap_limit(s);
	int r = set_counting(s, c, obj);
	bool left;

	if (r < 0)
		return err_errno(err, r, "cannot size the counters");
	r = probe_env_prepare(p->env, obj, p->instance, err);
	if (r < 0)
		return r;
	r = size_ifaces(s, obj);
	if (r >= 0)
		r = size_scratch(s, p, obj, limit);
	if (r < 0)
		return err_errno(err, r, "cannot size the records");
	probe_rodata_set(obj, "net_snaplen", s->snaplen, sizeof(s->snaplen));
	probe_rodata_set(obj, "net_snap_limit", &limit, sizeof(limit));
	probe_rodata_set(obj, "net_undecided_snaplen", &s->undecided_snaplen, sizeof(s->undecided_snaplen));
	probe_rodata_set(obj, "net_stack_depth", &s->stack_depth, sizeof(s->stack_depth));
	probe_rodata_set(obj, "net_want_netns", &netns, sizeof(netns));
	net_setup_rates(c, obj);
	probe_rodata_set(obj, "net_limited", &limited, sizeof(limited));
	btf = c->filter ? probe_env_btf(p->env) : NULL;
	left = coop_leave(coop);	/* it may load a program */
	r = pktfilter_splice(obj, c->filter, btf, err);
	coop_return(coop, left);
	return r == -ENOENT ? 0 : r;
}

int net_setup_load(const struct net_setup *s, struct probe *p, struct bpf_object *obj, struct err *err)
{
	int r = net_setup_apply(s, p, obj, 0, err);
	struct bpf_program *prog;

	if (r >= 0)
		r = probe_env_load(p->env, obj, err);
	bpf_object__for_each_program(prog, obj)
		if (r >= 0 && bpf_program__autoload(prog))
			r = probe_env_watch(p->env, prog, p->instance);
	return r;
}
