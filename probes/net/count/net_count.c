// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/count/net_count.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/names.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/datapath/net_dpnames.h"
#include "probes/net/net_part.h"
#include "probes/net/policy/net_rules.h"
#include "probes/net/net_wire.h"
#include "sonde/foreign_wire.h"
#include "sonde/notify_wire.h"

struct count_id {
	struct net_count_key key;
	uint32_t line, file;
};

struct count_row {
	struct count_id id;
	struct net_count since, total;
};

struct net_counts {
	struct probe *p;
	struct net_names *names;
	struct map reported;		/* struct count_id -> totals of the last report */
	VEC(struct count_row) rows;	/* of the current report */
	struct net_count *cpus;		/* owned; a value per possible CPU */
	int map_fd;			/* owned: another datapath's map; -1 = our own maps */
	struct net_rules *rules;	/* owned: maps of running policies; NULL = our own maps */
	struct loop_source *timer;
	uint64_t reported_ns; /* of the last report, or of the start */
};

/* ---- reading ---- */

static int add_row(struct net_counts *c, const struct count_id *id)
{
	struct count_row *row;
	struct net_count *reported;
	unsigned n = probe_env_n_cpus(c->p->env);

	if (vec_grow(&c->rows) < 0)
		return -ENOMEM;
	row = &c->rows.items[c->rows.len];
	*row = (struct count_row){ .id = *id };
	for (unsigned i = 0; i < n; i++) {
		row->total.packets += c->cpus[i].packets;
		row->total.bytes += c->cpus[i].bytes;
	}
	reported = map_add(&c->reported, id, NULL);
	if (!reported)
		return -ENOMEM;
	row->since.packets = row->total.packets - reported->packets;
	row->since.bytes = row->total.bytes - reported->bytes;
	*reported = row->total;
	c->rows.len += row->since.packets > 0;
	return 0;
}

/* Cilium's layout: sonde/notify_wire.h. */
static void id_of_foreign(const struct sonde_metrics_key *k, struct count_id *ret)
{
	bool drop = k->reason == 2 || k->reason >= 130;

	*ret = (struct count_id){
		.key = { .reason = SONDE_FOREIGN_REASON | k->reason, .dir = k->dir & 3, .point = NET_POINT_NONE,
			 .kind = drop ? NET_COUNT_DROPPED : NET_COUNT_FORWARD },
		.line = k->line, .file = k->file,
	};
}

static int read_foreign(struct net_counts *c)
{
	struct sonde_metrics_key key, *at = NULL;
	struct count_id id;
	int r = 0;

	while (r >= 0 && bpf_map_get_next_key(c->map_fd, at, &key) == 0) {
		at = &key;
		if (bpf_map_lookup_elem(c->map_fd, &key, c->cpus) < 0)
			continue;
		id_of_foreign(&key, &id);
		r = add_row(c, &id);
	}
	return r;
}

static int add_rule(void *ctx, const struct net_count_key *key, uint8_t file)
{
	const struct count_id id = { .key = *key, .file = file };

	return add_row(ctx, &id);
}

static int read_rest(struct net_counts *c)
{
	int fd = probe_env_instance_map(c->p->env, c->p->instance, "inst_net_count_rest"), r = 0;

	for (uint32_t kind = 0; fd >= 0 && r >= 0 && kind < NET_COUNT__MAX; kind++) {
		const struct count_id id = { .key = { .kind = NET_COUNT_REST, .reason = kind,
						      .point = NET_POINT_NONE } };

		if (bpf_map_lookup_elem(fd, &kind, c->cpus) == 0)
			r = add_row(c, &id);
	}
	return r;
}

/* Entries are never removed from the map, so a walk visits each key once. */
static int read_own(struct net_counts *c)
{
	int fd = probe_env_instance_map(c->p->env, c->p->instance, "inst_net_counts"), r = 0;
	struct net_count_key key, *at = NULL;

	while (fd >= 0 && r >= 0 && bpf_map_get_next_key(fd, at, &key) == 0) {
		const struct count_id id = { .key = key };

		at = &key;
		if (bpf_map_lookup_elem(fd, &key, c->cpus) == 0)
			r = add_row(c, &id);
	}
	return r < 0 ? r : read_rest(c);
}

/* ---- telling ---- */

static int by_weight(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	return COMPARE(x->id.key.kind, y->id.key.kind) ?: COMPARE(y->since.packets, x->since.packets) ?:
	       memcmp(&x->id, &y->id, sizeof(x->id));
}

static void emit_names(struct net_counts *c, const struct net_count_key *k)
{
	int fd = probe_env_instance_map(c->p->env, c->p->instance, "inst_net_count_names");
	const struct net_count_iface key = { k->netns, k->ifindex };
	char name[16] = "";

	net_names_space(c->names, k->netns);
	if (fd >= 0 && k->kind != NET_COUNT_PASS && bpf_map_lookup_elem(fd, &key, name) == 0)
		net_names_iface(c->names, k->netns, k->ifindex, name);
	if (k->location && k->kind != NET_COUNT_POLICY)
		probe_env_inject_ksym(c->p->env, k->location);
}

static void emit_row(struct net_counts *c, const struct count_row *row, uint32_t number, uint64_t interval_ns)
{
	struct net_count_rec r = {
		.hdr = { .type = NET_EV_COUNT, .instance = c->p->instance, .flags = SONDE_RF_SUM },
		.key = row->id.key, .since = row->since, .total = row->total, .interval_ns = interval_ns,
		.row = number, .line = (uint16_t)row->id.line, .file = (uint8_t)row->id.file,
	};

	if (c->map_fd < 0)
		emit_names(c, &row->id.key);
	probe_env_inject(c->p->env, &r.hdr, sizeof(r));
}

/* With events, the ledger has each packet already; another datapath's packets do not belong into it. */
static void ledger_add(struct net_counts *c)
{
	const struct net_conf *conf = c->p->conf;
	struct sonde_counted_rec r = { .hdr = { .type = SONDE_EV_COUNTED, .instance = c->p->instance } };

	if (conf->count.events || c->map_fd >= 0 || c->rules)
		return;
	for (size_t i = 0; i < c->rows.len; i++)
		r.count += c->rows.items[i].since.packets;
	if (r.count)
		probe_env_inject(c->p->env, &r.hdr, sizeof(r));
}

static void emit(void *part)
{
	struct net_counts *c = part;
	uint64_t now_ns = clock_boot_ns(), interval_ns = now_ns - c->reported_ns;

	c->rows.len = 0;
	if ((c->rules ? net_rules_read(c->rules, c->cpus, add_rule, c) :
	     c->map_fd >= 0 ? read_foreign(c) : read_own(c)) < 0)
		return; /* no memory: the next report contains it */
	c->reported_ns = now_ns;
	vec_sort(&c->rows, by_weight);
	ledger_add(c);
	for (size_t i = 0; i < c->rows.len; i++)
		emit_row(c, &c->rows.items[i], (uint32_t)i, interval_ns);
}

/* ---- life ---- */

static int on_interval(void *ctx, _unused_ uint64_t now_ns)
{
	emit(ctx);
	return 0;
}

#define LEAD 16u	/* a report comes 1 / LEAD of the interval before a multiple of it (boot clock) */

/* Time to the first report: readers with such intervals find one in each. */
static uint64_t first_ns(uint64_t interval_ns)
{
	return interval_ns - (clock_boot_ns() + interval_ns / LEAD) % interval_ns;
}

static int start(void *part, struct err *err)
{
	struct net_counts *c = part;
	const struct net_conf *conf = c->p->conf;
	uint64_t interval = conf->count.interval_ns;
	int r = 0;

	c->reported_ns = clock_boot_ns();
	if (interval && c->p->loop)
		r = loop_add_timer(c->p->loop, first_ns(interval), interval, on_interval, c, &c->timer);
	if (c->timer)
		loop_name(c->timer, "counters");
	return r < 0 ? err_errno(err, r, "cannot report counters at intervals") : 0;
}

static int open_foreign(struct net_counts *c, const struct net_count_conf *conf, struct err *err)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	int r;

	c->map_fd = bpf_obj_get(conf->map);
	if (c->map_fd < 0)
		return err_errno(err, -errno, "--event-map %s: cannot open", conf->map);
	r = bpf_map_get_info_by_fd(c->map_fd, &info, &len) < 0 ? -errno : 0;
	if (r < 0)
		return err_errno(err, r, "--event-map %s is not a map: no map information", conf->map);
	if (info.type != BPF_MAP_TYPE_PERCPU_HASH || info.key_size != sizeof(struct sonde_metrics_key) ||
	    info.value_size != sizeof(struct sonde_metrics))
		return err_set(err, -EINVAL,
			       "--event-map %s does not hold counters: expected a per-CPU hash with keys of "
			       "8 bytes and values of 16, like cilium_metrics and sonde_metrics",
			       conf->map);
	return net_dpnames_emit(c->p, conf->names, err);
}

bool net_count_foreign(const struct net_count_conf *conf)
{
	return conf->map || conf->policy;
}

static void close_counts(void *part)
{
	struct net_counts *c = part;

	if (!c)
		return;
	loop_remove(c->timer);
	cleanup_close(&c->map_fd);
	net_rules_close(c->rules);
	map_fini(&c->reported);
	vec_fini(&c->rows);
	free(c->cpus);
	free(c);
}
DEFINE_CLEANUP(struct net_counts *, close_counts)

static int open_counts(struct net_parts *all, void **ret, struct err *err)
{
	struct probe *p = all->p;
	const struct net_count_conf *conf = &((const struct net_conf *)p->conf)->count;
	_cleanup_(close_countsp) struct net_counts *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_errno(err, -ENOMEM, "cannot keep counters");
	c->p = p;
	c->names = &all->names;
	c->map_fd = -1;
	map_init(&c->reported, sizeof(struct count_id), sizeof(struct net_count));
	c->cpus = calloc(probe_env_n_cpus(p->env), sizeof(*c->cpus));
	if (!c->cpus)
		return err_errno(err, -ENOMEM, "cannot keep counters");
	r = conf->policy ? net_rules_open(p, c->names, &c->rules, err) : conf->map ? open_foreign(c, conf, err) : 0;
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

const struct net_part net_count_part = {
	.open = open_counts, .attach = start, .finish = emit, .close = close_counts,
};
