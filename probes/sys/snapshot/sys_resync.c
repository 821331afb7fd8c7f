// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Re-reads a task from /proc if it is unknown, or at its first record after lost records. Rate-limited.
 */
#include "probes/sys/snapshot/sys_resync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "event/decode.h"
#include "loop/coop.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/params.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/snapshot/sys_container.h"
#include "probes/sys/snapshot/sys_scan.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_wire.h"
#include "scap/schema.h"
#include "sonde/scap_wire.h"

#define TURN_NS 100000000ull	/* in each period ... */
#define TURN_SPENT_NS 5000000ull /* ... time for re-reading tasks */
#define ROW_MAX (256u << 10)

struct seq { uint32_t seq; bool there; };

struct resync {
	struct probe *probe;
	struct scan *scan;
	struct containers *containers;
	struct buf rec;
	/* lint-ok(tables): number of the last reading, not what was read */
	struct map tasks;	/* uint32_t tid -> uint32_t number of the gap that it was read after */
	VEC(struct seq) seqs;	/* by CPU, then class */
	uint32_t gaps;
	uint64_t turn_ns, spent_ns;
	bool starting; /* inside sys_resync_start() */
	struct resync_stats stats;
};

/* Marks the thread of a row as known. */
static void note_thread(struct resync *h, const struct params_out *row)
{
	struct cursor c = cur_init(row->bytes.data, row->bytes.len);
	uint32_t tid = (uint32_t)cur_u64(&c);

	if (cur_ok(&c))
		map_put(&h->tasks, &tid, &h->gaps);
}

#define ROW_CGROUPS 22	/* in a thread row: tables/scap_rows.tsv */

static void note_container(struct resync *h, const struct params_out *row)
{
	size_t off = 0;

	for (unsigned i = 0; i < ROW_CGROUPS; i++)
		off += row->len[i];
	if (row->head.n > ROW_CGROUPS && off + row->len[ROW_CGROUPS] <= row->bytes.len)
		sys_container_note(h->containers, row->bytes.data + off, row->len[ROW_CGROUPS]);
}

/* Injects a row as a record. */
static int inject(struct resync *h, struct sonde_rec head, const struct params_out *row)
{
	void *made;
	int r;

	buf_reset(&h->rec);
	head.instance = h->probe->instance;
	buf_add(&h->rec, &head, sizeof(head));
	r = params_write(row, &h->rec);
	if (r >= 0)
		r = buf_align(&h->rec, 8);
	if (r < 0 || h->rec.len > ROW_MAX)
		return r;
	made = h->rec.data;
	r = probe_env_inject(h->probe->env, made, h->rec.len);
	return r < 0 ? r : 0;
}

/*
 * Rows of the start scan are injected one by one, so the loop may handle records between them. Rows of a re-read task
 * are injected while rings are drained and must not yield.
 */
static int on_row(void *ctx, const struct params_out *row)
{
	struct resync *h = ctx;
	int r;

	if (row->head.type == SCAP_ROW_THREAD) {
		note_thread(h, row);
		note_container(h, row);
	}
	h->stats.rows++;
	r = inject(h, (struct sonde_rec){ .type = SONDE_EV_SCAP_ROW, .flags = SONDE_RF_SNAPSHOT }, row);
	return r < 0 || !h->starting ? r : coop_yield(probe_env_coop(h->probe->env));
}

static int on_container(void *ctx, const struct params_out *ev)
{
	return inject(ctx, (struct sonde_rec){ .type = SONDE_EV_SCAP }, ev);
}

struct resync *sys_resync_new(struct probe *p, struct err *err)
{
	struct resync *h = calloc(1, sizeof(*h));

	if (!h) {
		err_errno(err, -ENOMEM, "cannot read /proc");
		return NULL;
	}
	h->probe = p;
	map_init(&h->tasks, sizeof(uint32_t), sizeof(uint32_t));
	h->containers = sys_container_new(probe_env_host_root(p->env));
	h->scan = sys_scan_new(probe_env_host_root(p->env), on_row, h);
	if (h->scan && h->containers)
		return h;
	err_set(err, -ENOENT, "cannot open %s/proc: processes that exist already stay unknown",
		probe_env_host_root(p->env));
	sys_resync_free(h);
	return NULL;
}

void sys_resync_free(struct resync *h)
{
	if (!h)
		return;
	sys_scan_free(h->scan);
	sys_container_free(h->containers);
	buf_fini(&h->rec);
	map_fini(&h->tasks);
	vec_fini(&h->seqs);
	free(h);
}

static int start_some(struct resync *h, const uint32_t *pids, size_t n)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = sys_scan_process(h->scan, pids[i], 0, true);
		if (r >= 0 || r == -ESRCH)
			r = sys_scan_ancestors(h->scan, pids[i]);
	}
	return r;
}

static int start_all(struct resync *h)
{
	const struct probe_select *sel = probe_env_select(h->probe->env, h->probe->instance);
	int r = sys_scan_host(h->scan);

	if (r >= 0 && (sel->n_pids || sel->n_tree)) {
		r = start_some(h, sel->pids, sel->n_pids);
		if (r >= 0)
			r = start_some(h, sel->tree, sel->n_tree);
	} else if (r >= 0) {
		r = sys_scan_all(h->scan);
	}
	return r < 0 ? r : sys_container_report(h->containers, on_container, h);
}

int sys_resync_start(struct resync *h, struct err *err)
{
	int r;

	h->starting = true;
	r = start_all(h);
	h->starting = false;
	return r < 0 ? err_errno(err, r, "cannot report the processes that exist already") : 0;
}

/* Counts a gap if the sequence numbers of a CPU and class are not contiguous. */
static void look_for_gap(struct resync *h, const struct sonde_rec *r)
{
	size_t row = (size_t)r->cpu * SONDE_CLASSES + (r->flags & SONDE_RF_CLASS);
	struct seq *s;

	while (h->seqs.len <= row) {
		if (vec_push(&h->seqs, (struct seq){ 0 }) < 0)
			return;
	}
	s = &h->seqs.items[row];
	h->gaps += s->there && r->seq != s->seq + 1;
	*s = (struct seq){ .seq = r->seq, .there = true };
}

static bool may_spend(struct resync *h, uint64_t now_ns)
{
	if (now_ns - h->turn_ns > TURN_NS) {
		h->turn_ns = now_ns;
		h->spent_ns = 0;
	}
	return h->spent_ns < TURN_SPENT_NS;
}

/* @is_new: the task is unknown. The injected rows modify the map of tasks. */
static void read_again(struct resync *h, uint32_t tgid, uint32_t tid, bool is_new)
{
	uint64_t now_ns = clock_boot_ns();

	if (!may_spend(h, now_ns)) {
		h->stats.postponed++;
		if (is_new)
			map_remove(&h->tasks, &tid);
		return;
	}
	/* Threads share the descriptors of their process. */
	if (tid != tgid)
		sys_scan_process(h->scan, tgid, tid, false);
	if (sys_scan_process(h->scan, tgid, tgid, true) >= 0)
		h->stats.healed++;
	sys_container_report(h->containers, on_container, h);
	map_put(&h->tasks, &tid, &h->gaps); /* also if the task has exited: /proc has nothing more to offer */
	h->spent_ns += clock_boot_ns() - now_ns;
}

/* Is it the return of fork() in the child? Such a record describes its task by itself. */
static bool is_beginning(const struct sonde_rec *r)
{
	const struct sys_call *call;
	struct sys_rec rec;

	if (r->type != SYS_REC_EXIT || !decode_fixed(r, &rec, sizeof(rec)) || rec.ret != 0)
		return false;
	call = sys_table_call_find(rec.abi, rec.nr);
	return call && call->flags & SYS_CALL_LIFE &&
	       (!strncmp(call->name, "clone", 5) || !strcmp(call->name, "fork") || !strcmp(call->name, "vfork"));
}

/* Passes the path of a new cgroup to the container lookup. */
static void on_name(struct resync *h, const struct sonde_rec *r)
{
	struct cursor c = cur_init(r, r->len);
	struct sonde_name_rec name;
	const void *path;
	struct buf text = { 0 };

	if (!cur_copy(&c, &name, sizeof(name)) || name.space != SONDE_NAME_CGROUP)
		return;
	path = cur_bytes(&c, name.name_len);
	buf_add(&text, "unified=", strlen("unified="));
	buf_add(&text, path, path ? name.name_len : 0);
	if (path && buf_error(&text) >= 0)
		sys_container_note(h->containers, text.data, text.len);
	buf_fini(&text);
	sys_container_report(h->containers, on_container, h);
}

void sys_resync_record(struct resync *h, const struct sonde_rec *r)
{
	uint32_t tid = r->tid, *slot;
	bool is_new = false;

	if (r->type == SONDE_EV_NAME)
		on_name(h, r);
	if (r->type >> 8 != PROBE_ID || r->instance != h->probe->instance || r->type == SYS_REC_SUM)
		return;
	look_for_gap(h, r);
	if (r->type == SYS_REC_PROCEXIT) {
		map_remove(&h->tasks, &tid);
		return;
	}
	if (!tid)
		return;
	slot = map_add(&h->tasks, &tid, &is_new);
	if (!slot)
		return;
	if (is_new && is_beginning(r))
		*slot = h->gaps;
	else if (is_new || *slot != h->gaps)
		read_again(h, r->tgid, tid, is_new);
}

void sys_resync_stats(const struct resync *h, struct resync_stats *ret)
{
	*ret = h->stats;
}
