// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Captures for sysdig, Falco and Wireshark (.scap), format 1.2. Blocks: scap/block.h.
 *
 * The tables at the start are the stream's rows unchanged, so rewriting a capture preserves it. With a filter, or
 * with rows that do not come from a capture, the tables are the state at the first event, and the filter applies to
 * them too. libscap's own notes are kept.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "event/core.h"
#include "event/params.h"
#include "scap/block.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/scap_wire.h"

#define ROWS_MAX (256u << 20)	/* limit of rows buffered before the first event */
#define LIST_BYTES (1u << 20)	/* a list's block ends at this size */
#define ALIGN 8

struct fd_key { int64_t pid, num; };

struct scap {
	struct buf rows;	/* u32 length and pad, then SEC_PARAMS, padded; until the first event */
	struct buf block;
	struct buf text;	/* scratch */
	uint32_t list;		/* number of the open list block; 0 = none */
	size_t list_start;
	int64_t list_tid;
	int64_t clock_offset_ns;
	struct map told;	/* with a filter: threads in the file; int64_t tid -> uint8_t */
	struct map told_files;	/* struct fd_key -> told_as() */
	struct map told_containers; /* with a filter: hash of the id -> uint8_t */
	uint64_t reported_ns;	/* time of the event being introduced */
	uint16_t reported_cpu;
	bool started, has_rows, has_machine;
};

/* ---- lists ---- */

static int end_list(struct sink *s)
{
	struct scap *st = s->state;
	int r;

	if (!st->list)
		return 0;
	st->list = 0;
	r = scap_block_end(&st->block, st->list_start);
	return r < 0 ? r : outfile_record(s->out, st->block.data, st->block.len);
}

/* Opens list @number if needed, with room; a list of descriptors belongs to @tid. */
static int want_list(struct sink *s, uint32_t number, int64_t tid)
{
	struct scap *st = s->state;
	int r;

	if (st->list == number && st->block.len < LIST_BYTES && st->list_tid == tid)
		return 0;
	r = end_list(s);
	if (r < 0)
		return r;
	buf_reset(&st->block);
	st->list = number;
	st->list_tid = tid;
	st->list_start = scap_block_begin(&st->block, number);
	if (number == SCAP_WRITE_FDS)
		buf_add(&st->block, &tid, sizeof(tid));
	return buf_error(&st->block);
}

static int write_row(struct sink *s, const struct params *p)
{
	static const struct {
		uint16_t row;
		uint32_t number;
		int (*write)(const struct params *row, struct buf *out);
	} kinds[] = {
		{ SCAP_ROW_MACHINE, SCAP_WRITE_MACHINE, scap_block_write_machine },
		{ SCAP_ROW_IFACE, SCAP_WRITE_IFACES, scap_block_write_iface },
		{ SCAP_ROW_USER, SCAP_WRITE_USERS, scap_block_write_user },
		{ SCAP_ROW_GROUP, SCAP_WRITE_USERS, scap_block_write_user },
		{ SCAP_ROW_THREAD, SCAP_WRITE_THREADS, scap_block_write_thread },
		{ SCAP_ROW_FD, SCAP_WRITE_FDS, scap_block_write_fd },
	};
	struct scap *st = s->state;
	int64_t tid = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].row != p->head->type)
			continue;
		if (p->head->type == SCAP_ROW_FD)
			params_i64(p, 0, &tid);
		if (p->head->type == SCAP_ROW_THREAD && params_i64(p, 0, &tid)) {
			map_note(&st->told, &tid);
			tid = 0;
		}
		r = want_list(s, kinds[i].number, tid);
		if (r < 0)
			return r;
		r = kinds[i].write(p, &st->block);
		return r == -EINVAL ? 0 : r;
	}
	return 0;
}

/* ---- the beginning ---- */

/* @ret: until the next call. */
static int write_params(struct scap *st, const struct params_out *o, struct params *ret)
{
	int r;

	buf_reset(&st->text);
	r = params_write(o, &st->text);
	return r < 0 ? r : params_read(st->text.data, st->text.len, ret);
}

static int write_machine(struct sink *s)
{
	const struct core_host *h = s->opts ? s->opts->host : NULL;
	struct scap *st = s->state;
	struct params_out o = { 0 };
	struct params p;
	int r;

	params_begin(&o, SCAP_ROW_MACHINE, -1);
	params_add_u32(&o, h ? h->n_cpus : 0);
	params_add_u64(&o, 0);
	params_add_u64(&o, 0);
	params_add_str(&o, h ? h->hostname : "", h ? strlen(h->hostname) : 0);
	params_add_u64(&o, (uint64_t)st->clock_offset_ns);	/* boot time on the wall clock */
	r = write_params(st, &o, &p);
	if (r >= 0)
		r = write_row(s, &p);
	params_out_fini(&o);
	return r;
}

static int write_kept_rows(struct sink *s)
{
	struct scap *st = s->state;
	struct cursor c = cur_init(st->rows.data, st->rows.len);
	struct params p;
	int r = 0;

	while (r >= 0 && cur_left(&c)) {
		uint32_t len = cur_u32(&c);
		const void *data;

		cur_skip(&c, sizeof(uint32_t));
		data = cur_bytes(&c, len);
		cur_skip(&c, ROUND_UP(len, (uint32_t)ALIGN) - len);
		r = data ? params_read(data, len, &p) : -EBADMSG;
		if (r >= 0)
			r = write_row(s, &p);
	}
	buf_fini(&st->rows);
	return r;
}

static int on_state_row(void *ctx, const struct params_out *row)
{
	struct sink *s = ctx;
	struct params p;
	int r = write_params(s->state, row, &p);

	return r < 0 ? r : write_row(s, &p);
}

/* @state: NULL if no event arrived. */
static int scap_open(struct sink *s, _unused_ struct err *err)
{
	struct scap *st = s->state;

	map_init(&st->told, sizeof(int64_t), sizeof(uint8_t));
	map_init(&st->told_files, sizeof(struct fd_key), sizeof(uint64_t));
	map_init(&st->told_containers, sizeof(uint64_t), sizeof(uint8_t));
	return 0;
}

static int start(struct sink *s, const struct scap_state *state)
{
	bool filtered = s->opts && s->opts->pass;
	struct scap *st = s->state;
	int r;

	if (st->started)
		return 0;
	st->started = true;
	buf_reset(&st->block);
	r = scap_block_write_section(&st->block);
	if (r >= 0)
		r = outfile_record(s->out, st->block.data, st->block.len);
	if (r >= 0 && (filtered || !st->has_machine))
		r = write_machine(s);
	if (r >= 0 && st->has_rows && !filtered)
		r = write_kept_rows(s);
	else if (r >= 0 && state)
		r = scap_state_rows(state, filtered ? s->opts->pass : NULL, filtered ? s->opts->pass_ctx : NULL,
				    on_state_row, s);
	return r < 0 ? r : end_list(s);
}

/* ---- records and events ---- */

/* A row within the stream follows a loss: its thread's state is unknown, so its next event introduces it again. */
static int forget_thread(struct sink *s, const void *data, uint32_t len)
{
	struct scap *st = s->state;
	struct params p;
	int64_t tid;

	if (params_read(data, len, &p) == 0 && params_i64(&p, 0, &tid))
		map_remove(&st->told, &tid);
	return 0;
}

static int keep_row(struct sink *s, const void *data, uint32_t len, uint16_t type)
{
	struct scap *st = s->state;
	const uint32_t head[2] = { len, 0 };

	/* Tables of a second, concatenated capture: start its section. */
	if (st->started && type == SCAP_ROW_MACHINE)
		st->started = st->has_rows = st->has_machine = false;
	if (st->started && type == SCAP_ROW_THREAD)
		return forget_thread(s, data, len);
	if (st->started || (s->opts && s->opts->pass))
		return 0;
	if (st->rows.len + len > ROWS_MAX)
		return -ENOMEM;
	st->has_rows = true;
	st->has_machine = st->has_machine || type == SCAP_ROW_MACHINE;
	buf_add(&st->rows, head, sizeof(head));
	buf_add(&st->rows, data, len);
	return buf_align(&st->rows, ALIGN);
}

static int write_event(struct sink *s, const struct params *p, uint64_t ts_ns, uint16_t cpu)
{
	const struct scap_event_head head = { .ts_ns = ts_ns, .cpu = cpu };
	int r = scap_block_write_event(p, &head, outfile_begin(s->out));

	if (r >= 0)
		return outfile_end(s->out);
	outfile_cancel(s->out);
	return r;
}

#define IMAGE_PARAMS 20	/* parameters of clone and execve events that sysdig 0.29 expects, even of failed calls */

static bool makes_image(uint16_t type)
{
	return type == SCAP_EXECVE_19_X || type == SCAP_EXECVEAT_X || type == SCAP_CLONE_20_X ||
	       type == SCAP_CLONE3_X || type == SCAP_FORK_20_X || type == SCAP_VFORK_20_X;
}

static void add_nothing(struct params_out *o, uint8_t type)
{
	switch (type) {
	case PT_CHARBUF: params_add_str(o, "", 0); break;
	case PT_BYTEBUF: params_add(o, NULL, 0); break;
	case PT_INT32:
	case PT_UINT32:
	case PT_FLAGS32: params_add_u32(o, 0); break;
	default: params_add_u64(o, 0);
	}
}

/* Adds the parameters that readers expect to a failed call, which has its result only. */
static int write_failed_image(struct sink *s, const struct params *p, uint64_t ts_ns, uint16_t cpu)
{
	const struct scap_event_info *info = scap_schema_event_info(p->head->type);
	struct scap *st = s->state;
	struct params_out o = { 0 };
	struct params full;
	size_t len;
	const void *res = params_bytes(p, 0, &len);
	int r;

	params_begin(&o, p->head->type, p->head->tid);
	params_add(&o, res, len);
	for (unsigned i = 1; i < IMAGE_PARAMS; i++)
		add_nothing(&o, info->params[i].type);
	buf_reset(&st->text);
	r = params_write(&o, &st->text);
	if (r >= 0)
		r = params_read(st->text.data, st->text.len, &full);
	params_out_fini(&o);
	return r < 0 ? r : write_event(s, &full, ts_ns, cpu);
}

#define SYSCALL_ID_OLD_MAX 328	/* sysdig 0.29 reads beyond its name table for larger numbers */

/*
 * Rewrites a call that old readers do not know, and that has no event type, as an unnamed one. Its number remains,
 * also where old readers do not look it up.
 */
static int write_new_call(struct sink *s, const struct params *p, uint64_t ts_ns, uint16_t cpu)
{
	struct scap *st = s->state;
	struct params_out o = { 0 };
	struct params old;
	size_t len;
	const void *native = params_bytes(p, 1, &len);
	uint64_t id = 0;
	int r;

	scap_schema_generic_id(p, &id);
	params_begin(&o, p->head->type, p->head->tid);
	params_add_u16(&o, 0);
	params_add(&o, native, native ? len : 0);
	params_add_u16(&o, (uint16_t)id);
	buf_reset(&st->text);
	r = params_write(&o, &st->text);
	if (r >= 0)
		r = params_read(st->text.data, st->text.len, &old);
	params_out_fini(&o);
	return r < 0 ? r : write_event(s, &old, ts_ns, cpu);
}

static bool is_new_call(const struct params *p)
{
	uint64_t id;

	return scap_schema_generic_id(p, &id) && id > SYSCALL_ID_OLD_MAX;
}

static bool is_internal(const struct sonde_rec *r, const struct params *p)
{
	const struct scap_event_info *info = scap_schema_event_info(p->head->type);

	return r->flags & SONDE_RF_SNAPSHOT ||
	       (p->head->flags & PARAMS_HAS_WORD && p->head->word & SCAP_WORD_STATE_ONLY) ||
	       (info && info->category == SCAP_CAT_INTERNAL);
}

static int scap_record(struct sink *s, const struct sonde_rec *r)
{
	struct cursor c = cur_init(r, r->len);
	struct scap *st = s->state;
	struct params p;
	const void *data;
	size_t len;
	int ret;

	cur_skip(&c, sizeof(*r));
	len = cur_left(&c);
	if (r->type == SONDE_EV_CLOCK && len >= sizeof(int64_t))
		st->clock_offset_ns = (int64_t)cur_u64(&c);
	if (r->type != SONDE_EV_SCAP && r->type != SONDE_EV_SCAP_ROW)
		return 0;
	data = cur_bytes(&c, len);
	if (!data || params_read(data, len, &p) < 0)
		return 0;	/* the decoder counts it */
	if (r->type == SONDE_EV_SCAP_ROW)
		return keep_row(s, data, (uint32_t)len, p.head->type);
	if (!is_internal(r, &p) || (s->opts && s->opts->pass))
		return 0;
	ret = start(s, NULL);
	if (ret < 0)
		return ret;
	/* Events without a time in the stream had none in the original file. */
	return write_event(s, &p, r->flags & SONDE_RF_SNAPSHOT ? 0 : r->ts_ns + (uint64_t)st->clock_offset_ns,
			   r->cpu);
}

static int on_announced(void *ctx, const struct params_out *ev)
{
	struct sink *s = ctx;
	struct scap *st = s->state;
	struct params p;
	int r = write_params(st, ev, &p);

	return r < 0 ? r : write_event(s, &p, st->reported_ns, st->reported_cpu);
}

/* Did no call or row tell what the event's descriptor is? */
static bool is_from_kernel(const struct scap_view *v)
{
	return v->fd && v->fd->flags & SCAP_FD_FROM_KERNEL;
}

static uint64_t told_as(const struct scap_view *v, const struct scap_str *name)
{
	return is_from_kernel(v) ? v->fd->serial : map_hash(name->data, name->len);
}

/* Introduces a descriptor before its use if the file lacks the call that opened it. */
static int introduce_fd(struct sink *s, const struct scap_view *v)
{
	const struct scap_str *name = v->fd ? v->fd->name : NULL;
	struct scap *st = s->state;
	struct fd_key key = { v->process->tid, v->fd_num };
	uint64_t as, *told;
	bool is_new, leaves = v->p.head->type & 1;

	if (!name || (leaves && (!(v->info->flags & SCAP_CREATES_FD) || is_from_kernel(v))))
		return 0;
	as = told_as(v, name);
	told = map_add(&st->told_files, &key, &is_new);
	if (!told)
		return -ENOMEM;
	if (!is_new && *told == as)
		return 0;
	*told = as;
	if (leaves)
		return 0;	/* the event introduces it */
	return scap_state_announce_file(v->state, v->process, v->fd_num, v->fd, on_announced, s);
}

/* The result of clone introduces the child, in parent and child. */
static int note_child(struct sink *s, const struct scap_view *v)
{
	struct scap *st = s->state;
	int64_t child;

	if (!params_i64(&v->p, 0, &child) || child < 0 || v->p.n < IMAGE_PARAMS ||
	    v->p.head->type == SCAP_EXECVE_19_X || v->p.head->type == SCAP_EXECVEAT_X)
		return 0;
	child = child ? child : v->p.head->tid;
	return MIN(map_note(&st->told, &child), 0);
}

static int introduce_container(struct sink *s, const struct scap_view *v)
{
	const struct scap_str *id = v->thread->container;
	struct scap *st = s->state;
	uint64_t hash;
	int r;

	if (!id || !scap_state_container(v->state, id))
		return 0;
	hash = map_hash(id->data, id->len);
	r = map_note(&st->told_containers, &hash);
	return r > 0 ? scap_state_announce_container(v->state, id, on_announced, s) : r;
}

/* Introduces a thread before its first event if its creation is not in the file: filtered out or lost. */
static int introduce_thread(struct sink *s, const struct event *ev)
{
	const struct scap_view *v = ev->view;
	bool filtered = s->opts && s->opts->pass, is_new = false;
	struct scap *st = s->state;
	int r;

	if (!v->thread || v->thread->invented)
		return 0;
	if (!filtered && makes_image(v->p.head->type)) {
		r = note_child(s, v);
		if (r < 0)
			return r;
	}
	if (!map_add(&st->told, &v->thread->tid, &is_new))
		return -ENOMEM;
	st->reported_ns = event_wall_ns(ev);
	st->reported_cpu = ev->cpu;
	r = filtered ? introduce_container(s, v) : 0;
	if (r >= 0 && is_new)
		r = scap_state_announce(v->state, v->thread, on_announced, s);
	if (v->p.head->type == SCAP_PROCEXIT_1_E)
		map_remove(&st->told, &v->thread->tid);
	return r < 0 || (!filtered && !is_from_kernel(v)) ? r : introduce_fd(s, v);
}

static int scap_event(struct sink *s, const struct event *ev)
{
	struct scap *st = s->state;
	struct params own;
	const struct params *p = ev->view ? &ev->view->p : &own;
	const uint64_t at_ns = event_wall_ns(ev);
	int r;

	if (ev->desc->class != EVENT_DATA || (!ev->view && params_of(ev, &own) < 0))
		return 0;
	st->clock_offset_ns = ev->clock_offset_ns;
	r = start(s, ev->view ? ev->view->state : NULL);
	if (r >= 0 && ev->view && ((s->opts && s->opts->pass) || !st->has_machine))
		r = introduce_thread(s, ev);
	if (r < 0)
		return r;
	/* Do not rewrite events of a capture: its writer chose them. */
	if (!st->has_machine && is_new_call(p))
		return write_new_call(s, p, at_ns, ev->cpu);
	if (p->n == 1 && makes_image(p->head->type))
		return write_failed_image(s, p, at_ns, ev->cpu);
	return write_event(s, p, at_ns, ev->cpu);
}

/* A capture without events still needs its tables. */
static int scap_close(struct sink *s)
{
	struct scap *st = s->state;
	int r = start(s, NULL);

	buf_fini(&st->rows);
	buf_fini(&st->block);
	buf_fini(&st->text);
	map_fini(&st->told);
	map_fini(&st->told_files);
	map_fini(&st->told_containers);
	return r;
}

const struct sink_ops scap_sink = {
	.name = "scap", .summary = "system calls for sysdig, Falco and Wireshark", .suffix = ".scap",
	.needs = 1u << SEC_PARAMS, .flags = SINK_BINARY | SINK_RAW, .shows = "system calls",
	.state_size = sizeof(struct scap),
	.open = scap_open, .event = scap_event, .record = scap_record, .close = scap_close,
};
