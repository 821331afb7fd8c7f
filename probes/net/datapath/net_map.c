// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/datapath/net_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/datapath/net_dpnames.h"
#include "probes/net/datapath/net_map_reader.h"
#include "probes/net/packet/net_iface.h"
#include "probes/net/net_part.h"
#include "probes/net/packet/net_point.h"
#include "ring/perf_rings.h"
#include "ring/ring.h"
#include "sonde/foreign_wire.h"

#define RING_BYTES (1u << 20)	/* per CPU */
#define EVENT_BYTES_MAX (1u << 17) /* a notification contains at most 64 KiB of a packet */
/* Record types of perf rings, as on Cilium's monitor socket (cilium/print.h). */
#define KIND_SAMPLE 9
#define KIND_LOST 2

struct net_map {
	struct probe *p;
	struct net_names *names;	/* borrowed */
	struct net_watch *watch;	/* NULL = interfaces stay numbers */
	int fd;				/* owned */
	bool ringbuf;
	struct perf_rings *rings; /* NULL for a ring buffer */
	struct buf rec;		  /* of the current event */
};

/* ---- whose it is ---- */

static int refuse(const char *path, const struct net_map_reader *h, struct err *err)
{
	char comm[80], socket[512];

	str_escape(comm, sizeof(comm), h->comm, strlen(h->comm));
	str_escape(socket, sizeof(socket), h->socket, strlen(h->socket));
	if (*socket)
		return err_set(err, -EBUSY,
			       "--event-map %s: %s (process %d) reads it and would get nothing more; it "
			       "listens at %s: if that is its monitor socket, `sonde monitor --cilium %s` "
			       "leaves it its events; --steal reads the map all the same",
			       path, comm, (int)h->pid, socket, socket);
	return err_set(err, -EBUSY, "--event-map %s: %s (process %d) reads it and would get nothing more; --steal "
		       "reads the map all the same", path, comm, (int)h->pid);
}

static int check_map(struct net_map *m, const struct net_map_conf *conf, struct err *err)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	struct net_map_reader h;
	int r = bpf_map_get_info_by_fd(m->fd, &info, &len) < 0 ? -errno : 0;

	if (r < 0)
		return err_errno(err, r, "--event-map %s is not a map: no map information", conf->path);
	m->ringbuf = info.type == BPF_MAP_TYPE_RINGBUF;
	if (!m->ringbuf && info.type != BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return err_set(err, -EINVAL,
			       "--event-map %s does not carry events: expected a perf event array or a ring "
			       "buffer, like cilium_events and sonde_events",
			       conf->path);
	if (conf->take_over)
		return 0;
	r = net_map_reader_find(info.id, m->ringbuf, &h);
	if (r < 0)
		return err_errno(err, r, "--event-map %s: cannot look for its reader", conf->path);
	return r > 0 ? refuse(conf->path, &h, err) : 0;
}

static void close_map(void *part)
{
	struct net_map *m = part;

	if (!m)
		return;
	perf_rings_close(m->rings);
	net_iface_close(m->watch);
	cleanup_close(&m->fd);
	buf_fini(&m->rec);
	free(m);
}
DEFINE_CLEANUP(struct net_map *, close_map)

static int open_map(struct net_parts *all, void **ret, struct err *err)
{
	const struct net_map_conf *conf = &((const struct net_conf *)all->p->conf)->map;
	_cleanup_(close_mapp) struct net_map *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return err_errno(err, -ENOMEM, "--event-map %s", conf->path);
	m->p = all->p;
	m->names = &all->names;
	m->fd = bpf_obj_get(conf->path);
	if (m->fd < 0)
		return err_errno(err, -errno, "--event-map %s: cannot open", conf->path);
	r = check_map(m, conf, err);
	if (r >= 0)
		r = net_dpnames_emit(m->p, conf->names, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

/* ---- names of interfaces: another datapath's events have no namespace ---- */

static void on_link(void *ctx, const struct net_link *l, _unused_ bool up)
{
	struct net_map *m = ctx;

	net_names_iface(m->names, 0, l->ifindex, l->name);
}

/* Its events may still be in flight. */
static void on_gone(_unused_ void *ctx, _unused_ uint32_t ifindex)
{
}

static void on_addr(_unused_ void *ctx, _unused_ const struct net_addr_key *a, _unused_ bool there)
{
}

static const struct net_watch_ops watch_ops = { .link = on_link, .gone = on_gone, .addr = on_addr };

static void watch_names(struct net_map *m)
{
	if (m->watch)
		net_iface_run(m->watch);
}

static int attach(void *part, struct err *err)
{
	struct net_map *m = part;
	const struct perf_rings_opts perf = {
		.ring_bytes = RING_BYTES, .watermark_bytes = RING_BYTES / 4, .with_time = true,
		.source = PROBE_RAW(m->p),
	};
	const struct ring_opts ring = { .kind = RING_BPF, .source = PROBE_RAW(m->p), .time_off = -1 };
	struct ring_reader *rr = probe_env_reader(m->p->env);
	int r;

	net_iface_open(&watch_ops, m, &m->watch);
	watch_names(m);
	if (m->ringbuf)
		r = ring_reader_add_bpf(rr, m->fd, &ring, err);
	else
		r = perf_rings_open(m->fd, &perf, rr, &m->rings, err);
	return r < 0 ? r : 0;
}

/* ---- while it runs ---- */

int net_map_raw(struct net_map *m, const struct ring_rec *r)
{
	struct sonde_foreign_rec head = {
		.hdr = { .ts_ns = r->time_ns, .type = SONDE_EV_FOREIGN, .instance = m->p->instance,
			 .cpu = (uint16_t)r->cpu },
		.cpu = r->cpu, .kind = r->data ? KIND_SAMPLE : KIND_LOST, .lost = r->lost,
		.len = r->data ? MIN(r->len, EVENT_BYTES_MAX) : 0,
	};

	buf_reset(&m->rec);
	buf_add(&m->rec, &head, sizeof(head));
	if (head.len)
		buf_add(&m->rec, r->data, head.len);
	buf_align(&m->rec, 8);
	if (buf_error(&m->rec))
		return 0; /* as a record lost for lack of room */
	return probe_env_inject(m->p->env, (void *)m->rec.data, sizeof(head) + head.len);
}

/* Rings for CPUs that came online, names of new interfaces. */
static void tick(void *part)
{
	struct net_map *m = part;
	struct err e = { 0 };

	watch_names(m);
	if (m->rings && perf_rings_refresh(m->rings, &e) < 0)
		probe_env_hook_failed(m->p->env, m->p->instance, "rings of other CPUs", &e);
}

static void detach(void *part)
{
	struct net_map *m = part;

	if (m->rings)
		perf_rings_pause(m->rings, true);
}

const struct net_part net_map_part = {
	.open = open_map, .attach = attach, .tick = tick, .detach = detach, .close = close_map,
};
