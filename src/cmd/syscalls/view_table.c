// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of --view: the key and value that each table takes from an event, and its rows.
 */
#include "cmd/syscalls/view_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "scap/block.h"
#include "scap/schema.h"
#include "scap/state/state.h"

#define ROWS_MAX 65536u		/* limit of rows; later keys share the last row */
#define KEY_MAX 400u
#define OTHERS "(all others)"

/* ---- keys ---- */

static void add_str(struct buf *key, const struct scap_str *s)
{
	str_escape_buf(key, s ? s->data : "", s ? s->len : 0);
}

static bool key_process(const struct view_event *e, struct buf *key)
{
	const struct scap_thread *p = e->v->process;

	if (!p || p->invented)
		return false;
	add_str(key, p->comm);
	buf_printf(key, " (%" PRId64 ")", p->pid);
	return true;
}

static bool is_file(const struct scap_fd *fd)
{
	return fd && (fd->type == FD_FILE || fd->type == FD_FILE_V2 || fd->type == FD_DIRECTORY);
}

static bool is_net(const struct scap_fd *fd)
{
	return fd && fd->type >= FD_IPV4 && fd->type <= FD_IPV6_SERVER;
}

static bool key_fd(const struct view_event *e, struct buf *key)
{
	if (!e->v->fd || !e->v->fd->name || !e->v->fd->name->len)
		return false;
	add_str(key, e->v->fd->name);
	return true;
}

/* ---- tables ---- */

static bool take_cpu(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->v->exec_ns;
	return e->v->exec_ns && e->v->thread && e->v->thread->tid && key_process(e, key);
}

static bool take_net(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->moved;
	return e->moved && is_net(e->v->fd) && key_process(e, key);
}

static bool take_disk(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->moved;
	return e->moved && is_file(e->v->fd) && key_process(e, key);
}

static bool take_file_bytes(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->moved;
	return e->moved && is_file(e->v->fd) && key_fd(e, key);
}

static bool take_file_time(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->latency_ns;
	return e->leaves && e->latency_ns && is_file(e->v->fd) && key_fd(e, key);
}

static bool take_conn(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	static const char *const protocols[] = { "", "", "tcp ", "udp ", "icmp ", "raw " };

	*ret = e->moved;
	if (!e->moved || !is_net(e->v->fd) || e->v->fd->role == SCAP_ROLE_NONE)
		return false;
	buf_add_str(key, e->v->fd->l4 < ARRAY_SIZE(protocols) ? protocols[e->v->fd->l4] : "");
	return key_fd(e, key);
}

static bool take_port(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->moved;
	if (!e->moved || !is_net(e->v->fd) || !e->v->fd->dport)
		return false;
	return buf_printf(key, "%u", e->v->fd->dport) >= 0;
}

static bool take_call(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = 1;
	return e->leaves && buf_add_str(key, e->call) >= 0;
}

static bool take_call_time(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->latency_ns;
	return e->leaves && e->latency_ns && buf_add_str(key, e->call) >= 0;
}

static bool take_error(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	const char *name = e->failed ? strerrorname_np((int)-e->res) : NULL;

	*ret = 1;
	return name && buf_printf(key, "%s %s", e->call, name) >= 0;
}

static bool take_slow(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = e->latency_ns;
	if (!e->leaves || !e->latency_ns || !key_process(e, key))
		return false;
	buf_printf(key, " %s ", e->call);
	key_fd(e, key);
	return true;
}

static bool take_container(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	const struct scap_thread *p = e->v->process;
	const struct scap_container *c;

	*ret = e->moved;
	if (!e->moved || !p)
		return false;
	c = scap_state_container(e->v->state, p->container);
	if (!p->container)
		return buf_add_str(key, "host") >= 0;
	if (c && c->name) {
		add_str(key, c->name);
		buf_add_char(key, ' ');
	}
	add_str(key, p->container);
	return true;
}

static bool take_event_type(const struct view_event *e, struct buf *key, uint64_t *ret)
{
	*ret = 1;
	return buf_printf(key, "%s %s", e->leaves ? "<" : ">", e->call) >= 0;
}

const struct view_kind view_kinds[] = {
	{ "procs-cpu", "processes by time on the CPU", "PROCESS", UNIT_CPU, VIEW_NEEDS_SWITCHES, false, take_cpu },
	{ "procs-net", "processes by bytes over the network", "PROCESS", UNIT_BYTES, 0, false, take_net },
	{ "procs-file", "processes by bytes of files", "PROCESS", UNIT_BYTES, 0, false, take_disk },
	{ "files-bytes", "files by bytes", "FILE", UNIT_BYTES, 0, false, take_file_bytes },
	{ "files-time", "files by time in their calls", "FILE", UNIT_NS, 0, false, take_file_time },
	{ "conns", "connections by bytes", "CONNECTION", UNIT_BYTES, 0, false, take_conn },
	{ "ports", "server ports by bytes", "PORT", UNIT_BYTES, 0, false, take_port },
	{ "calls", "system calls by number", "CALL", UNIT_COUNT, 0, false, take_call },
	{ "calls-time", "system calls by time", "CALL", UNIT_NS, 0, false, take_call_time },
	{ "errors", "failed calls", "CALL AND ERROR", UNIT_COUNT, 0, false, take_error },
	{ "slow", "the slowest calls", "PROCESS, CALL, DESCRIPTOR", UNIT_NS, 0, true, take_slow },
	{ "containers", "containers by bytes", "CONTAINER", UNIT_BYTES, 0, false, take_container },
	{ "events", "events by type", "EVENT", UNIT_COUNT, 0, false, take_event_type },
};
const size_t view_n_kinds = ARRAY_SIZE(view_kinds);

/* ---- rows ---- */

static struct view_row *row_of(struct view_table *t, const char *key, size_t len)
{
	uint64_t hash = map_hash(key, len);
	uint32_t *at;
	bool is_new;

	if (t->rows.len >= ROWS_MAX && !map_find(&t->by_key, &hash)) {
		key = OTHERS;
		len = strlen(OTHERS);
		hash = map_hash(key, len);
	}
	at = map_add(&t->by_key, &hash, &is_new);
	if (!at)
		return NULL;
	if (!is_new)
		return &t->rows.items[*at];
	if (vec_grow(&t->rows) < 0) {
		map_remove(&t->by_key, &hash);
		return NULL;
	}
	*at = (uint32_t)t->rows.len;
	t->rows.items[t->rows.len] = (struct view_row){ .key = strndup(key, len) };
	if (!t->rows.items[t->rows.len].key) {
		map_remove(&t->by_key, &hash);
		return NULL;
	}
	return &t->rows.items[t->rows.len++];
}

int view_table_take(struct view_table *t, const struct view_event *e, struct buf *key)
{
	struct view_row *row;
	uint64_t value;

	buf_reset(key);
	if (!t->kind->take(e, key, &value))
		return 0;
	if (buf_error(key))
		return buf_error(key);
	row = row_of(t, key->data, MIN(key->len, (size_t)KEY_MAX));
	if (!row)
		return -ENOMEM;
	row->count++;
	row->value = t->kind->largest ? MAX(row->value, value) : row->value + value;
	t->total += value;
	return 0;
}

static int heavier(const void *a, const void *b)
{
	const struct view_row *x = a, *y = b;

	return COMPARE(y->value, x->value) ?: strcmp(x->key, y->key);
}

void view_table_sort(struct view_table *t)
{
	qsort(t->rows.items, t->rows.len, sizeof(*t->rows.items), heavier);
	map_clear(&t->by_key);
	for (uint32_t i = 0; i < t->rows.len; i++) {
		uint64_t hash = map_hash(t->rows.items[i].key, strlen(t->rows.items[i].key));

		map_put(&t->by_key, &hash, &i);
	}
}

/* ---- life ---- */

struct view_table *view_table_new(const struct view_kind *kind)
{
	struct view_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->kind = kind;
	map_init(&t->by_key, sizeof(uint64_t), sizeof(uint32_t));
	return t;
}

void view_table_free(struct view_table *t)
{
	for (size_t k = 0; k < t->rows.len; k++)
		free(t->rows.items[k].key);
	vec_fini(&t->rows);
	map_fini(&t->by_key);
	free(t);
}
