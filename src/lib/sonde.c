// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libsonde (include/sonde/sonde.h): a pipeline whose only subscriber queues events, and sonde_next(), which takes
 * them out. The pipeline runs only inside sonde_next(), when the queue is empty.
 */
#include "sonde/sonde.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/bus.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/params.h"
#include "probe/probe.h"
#include "probes/sys/sys_conf.h"
#include "scap/block.h"
#include "scap/event.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "sonde/wire.h"

#define SNAPLEN 80
#define TIMEOUT_MS 30
#define BLOCK_HEAD 8		/* block header in a capture file */
#define CPU_BYTES 2
#define BODY_ALIGN 8

/* Header of each event in the queue. */
struct queued {
	uint32_t len;		/* bytes that follow, without padding */
	uint16_t cpu;
	uint16_t large;		/* 32-bit lengths */
};
_Static_assert(sizeof(struct queued) % BODY_ALIGN == 0, "events begin aligned");

/* Boot clock; end UINT64_MAX = open. */
struct window { uint64_t from_ns, to_ns; };

struct sonde {
	struct loop *loop;
	struct pipeline *pipeline;
	struct subscriber sub;
	struct sys_conf sys;
	sonde_open_args args;
	const char *comms[SONDE_MAX_SUPPRESSED_COMMS];
	size_t n_comms;
	struct buf queue, block;	/* block: scratch */
	size_t taken;			/* bytes of the queue */
	struct map suppressed;		/* int64_t tid -> uint8_t */
	uint64_t n_suppressed;
	VEC(struct window) windows;	/* time ranges without events */
	uint64_t last_ns;		/* time of the last event */
	bool opened, ended;
	bool failed;			/* out of memory: no more events */
	int end;			/* result of the pipeline, once the queue is empty */
	struct err err;
};

/* ---- events into the queue ---- */

static const char *str_of(const struct scap_str *s)
{
	return s ? s->data : "";
}

static void call_proc_callback(struct sonde *h, const struct params *row)
{
	const struct scap_thread *t = NULL;
	int64_t tid;

	if (h->args.proc_callback && row->head->type == SCAP_ROW_THREAD && params_i64(row, 0, &tid))
		t = scap_state_thread(pipeline_scap(h->pipeline), tid);
	if (t)
		h->args.proc_callback(h->args.proc_callback_context, h, &(sonde_threadinfo){
			.tid = t->tid, .pid = t->pid, .ptid = t->ptid, .uid = t->uid, .gid = t->gid,
			.comm = str_of(t->comm), .exe = str_of(t->exe), .exepath = str_of(t->exepath),
			.cwd = str_of(t->cwd),
		});
}

static bool is_listed(const struct sonde *h, const struct scap_thread *t)
{
	return FIND_ITEM(it, h->comms, h->n_comms, t->comm && !strcmp(t->comm->data, *it));
}

/* Suppresses threads with a listed name and their later children until they exit. */
static bool is_suppressed(struct sonde *h, const struct event *ev, const struct params *p)
{
	const struct scap_view *v = scap_state_view(ev);
	const struct scap_thread *t = v ? v->thread : NULL;
	bool gone = p->head->type == SCAP_PROCEXIT_1_E || p->head->type == SCAP_PROCEXIT_E;
	bool yes;

	if (!t || !h->n_comms)
		return false;
	yes = map_find(&h->suppressed, &t->tid) || map_find(&h->suppressed, &t->pid) || is_listed(h, t) ||
	      (t->clone_ns && map_find(&h->suppressed, &t->ptid));
	if (yes && gone)
		map_remove(&h->suppressed, &t->tid);
	else if (yes)
		map_note(&h->suppressed, &t->tid);
	h->n_suppressed += yes;
	return yes;
}

static int add_event(struct sonde *h, const struct event *ev, const struct params *p)
{
	const struct scap_event_head head = {
		.ts_ns = event_wall_ns(ev), .cpu = ev->cpu,
	};
	struct queued q = { .cpu = ev->cpu };
	const struct scap_block_type *type;
	size_t skip = BLOCK_HEAD + CPU_BYTES;
	sonde_evt evt;
	uint32_t number;
	int r;

	buf_reset(&h->block);
	r = scap_block_write_event(p, &head, &h->block);
	if (r < 0)
		return r == -ENOMEM ? r : 0;	/* the format cannot express the event */
	memcpy(&number, h->block.data, sizeof(number));
	type = scap_block_type(number);
	if (type && type->has_word)
		skip += sizeof(uint32_t);
	memcpy(&evt, h->block.data + skip, sizeof(evt));
	q.large = type && type->large;
	q.len = evt.len;
	buf_add(&h->queue, &q, sizeof(q));
	buf_add(&h->queue, h->block.data + skip, evt.len);
	return buf_align(&h->queue, BODY_ALIGN);
}

static bool is_left_out(const struct sonde *h, uint64_t ts_ns)
{
	return vec_find(it, &h->windows, ts_ns >= it->from_ns && ts_ns < it->to_ns);
}

static void on_event(void *ctx, const struct event *ev)
{
	struct sonde *h = ctx;
	struct params p;

	if (h->failed || params_of(ev, &p) < 0)
		return;
	if (ev->desc == &scap_row_desc) {
		call_proc_callback(h, &p);
		return;
	}
	h->last_ns = ev->ts_ns;
	if (ev->desc->class == EVENT_DATA && !is_left_out(h, ev->ts_ns) && !is_suppressed(h, ev, &p))
		h->failed = add_event(h, ev, &p) < 0;
}

/* ---- open and close ---- */

void sonde_close(sonde_t *h)
{
	if (!h)
		return;
	if (h->opened && !h->ended)
		pipeline_end(h->pipeline, NULL);
	pipeline_free(h->pipeline);
	loop_free(h->loop);
	map_fini(&h->suppressed);
	buf_fini(&h->queue);
	buf_fini(&h->block);
	vec_fini(&h->windows);
	free(h);
}
DEFINE_CLEANUP(sonde_t *, sonde_close)

/* The struct of a program built against another header: missing members are zero, unknown ones must be. */
static int take_args(struct sonde *h, const sonde_open_args *args)
{
	const char *bytes = (const char *)args;

	if (args->size < sizeof(args->size))
		return err_set(&h->err, -EINVAL, "sonde_open_args.size is not set");
	for (size_t i = sizeof(*args); i < args->size; i++)
		if (bytes[i])
			return err_set(&h->err, -E2BIG,
				       "sonde_open_args has an unknown member: the library is older than the header");
	memcpy(&h->args, args, MIN(args->size, sizeof(*args)));
	for (const char *const *c = h->args.suppressed_comms; c && *c; c++) {
		if (h->n_comms == SONDE_MAX_SUPPRESSED_COMMS)
			return err_set(&h->err, -E2BIG, "at most %d names can be suppressed",
				       SONDE_MAX_SUPPRESSED_COMMS);
		h->comms[h->n_comms++] = *c;
	}
	return 0;
}

/* The event set of captures: enter events and state of descriptors and processes included. */
static int open_live(struct sonde *h)
{
	const struct pipeline_probe probe = { .ops = probe_find("sys"), .conf = &h->sys };
	const struct probe_env_opts env = { .ring_bytes = h->args.ring_bytes };

	h->sys = sys_conf_default;
	h->sys.snaplen = h->args.snaplen ? h->args.snaplen : SNAPLEN;
	h->sys.enter = h->sys.context = h->sys.scan = true;
	h->sys.events_too = SYS_EVENT_EXIT | SYS_EVENT_SIGNAL;
	return pipeline_open_live(h->pipeline, &env, &probe, 1, &h->err);
}

static int open_input(struct sonde *h)
{
	const struct pipeline_limits limits = { 0 };
	int r;

	h->loop = loop_new();
	if (!h->loop)
		return err_errno(&h->err, -errno, "cannot create an event loop");
	r = pipeline_new(h->loop, &h->pipeline, &h->err);
	if (r < 0)
		return r;
	pipeline_need(h->pipeline, 1u << SEC_PARAMS);
	h->sub = (struct subscriber){ .event = on_event, .ctx = h };
	bus_subscribe(pipeline_bus(h->pipeline), &h->sub);
	r = h->args.path ? pipeline_open_file(h->pipeline, h->args.path, &h->err) : open_live(h);
	if (r >= 0)
		r = pipeline_begin(h->pipeline, &limits, &h->err);
	h->opened = r >= 0;
	return r;
}

static int32_t code_of(int r)
{
	switch (-r) {
	case 0: return SONDE_SUCCESS;
	case EBADMSG:
	case ENODATA:
	case EPROTONOSUPPORT: return SONDE_ILLEGAL_INPUT;
	case ENOENT: return SONDE_NOTFOUND;
	default: return SONDE_FAILURE;
	}
}

static void say(char *error, int32_t *rc, int r, const char *text)
{
	if (error)
		snprintf(error, SONDE_LASTERR_SIZE, "%s", text);
	if (rc)
		*rc = code_of(r);
}

sonde_t *sonde_open(const sonde_open_args *args, char *error, int32_t *rc)
{
	_cleanup_(sonde_closep) sonde_t *h = calloc(1, sizeof(*h));
	int r;

	log_set_level(LOG_LEVEL_ERROR);	/* of the library's copy: errors are returned to the caller */
	if (!h) {
		say(error, rc, -ENOMEM, "out of memory");
		return NULL;
	}
	map_init(&h->suppressed, sizeof(int64_t), sizeof(uint8_t));
	r = take_args(h, args);
	if (r >= 0)
		r = open_input(h);
	say(error, rc, r, h->err.msg);
	return r < 0 ? NULL : TAKE_PTR(h);
}

sonde_t *sonde_open_live(char *error, int32_t *rc)
{
	const sonde_open_args args = { .size = sizeof(args) };

	return sonde_open(&args, error, rc);
}

sonde_t *sonde_open_file(const char *path, char *error, int32_t *rc)
{
	const sonde_open_args args = { .size = sizeof(args), .path = path };

	return sonde_open(&args, error, rc);
}

/* ---- events out of the queue ---- */

static bool pop(struct sonde *h, sonde_evt **ret_evt, uint16_t *ret_cpuid)
{
	struct queued q;

	if (h->taken >= h->queue.len)
		return false;
	memcpy(&q, h->queue.data + h->taken, sizeof(q));
	*ret_evt = (void *)(h->queue.data + h->taken + sizeof(q));
	if (ret_cpuid)
		*ret_cpuid = q.cpu;
	h->taken += sizeof(q) + ROUND_UP((size_t)q.len, (size_t)BODY_ALIGN);
	return true;
}

/* End of the file, or the error that ends the stream. */
static void finish(struct sonde *h, int r)
{
	int w = pipeline_end(h->pipeline, NULL);

	h->ended = true;
	h->end = r < 0 ? r : w;
}

int32_t sonde_next(sonde_t *h, sonde_evt **ret_evt, uint16_t *ret_cpuid)
{
	int timeout_ms = (int)(h->args.timeout_ms ? h->args.timeout_ms : TIMEOUT_MS), r;

	if (pop(h, ret_evt, ret_cpuid))
		return SONDE_SUCCESS;
	buf_reset(&h->queue);
	h->taken = 0;
	if (!h->ended) {
		r = pipeline_step(h->pipeline, timeout_ms, &h->err);
		if (r <= 0)
			finish(h, r);
	}
	if (pop(h, ret_evt, ret_cpuid))
		return SONDE_SUCCESS;
	if (!h->ended)
		return SONDE_TIMEOUT;
	return h->end < 0 ? code_of(h->end) : SONDE_EOF;
}

static const struct scap_event_info *info_of(const sonde_evt *evt)
{
	return scap_schema_event_info(evt->type);
}

const char *sonde_evt_name(const sonde_evt *evt)
{
	return info_of(evt) ? info_of(evt)->name : NULL;
}

const char *sonde_evt_param_name(const sonde_evt *evt, uint32_t i)
{
	const struct scap_event_info *info = info_of(evt);

	return info && i < info->n_params ? info->params[i].name : NULL;
}

static uint32_t length_at(const sonde_evt *evt, uint32_t i, bool large)
{
	const char *lens = (const char *)(evt + 1);
	uint32_t wide;
	uint16_t narrow;

	if (large) {
		memcpy(&wide, lens + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, lens + i * sizeof(narrow), sizeof(narrow));
	return narrow;
}

const void *sonde_evt_param(const sonde_evt *evt, uint32_t i, uint32_t *ret_len)
{
	struct queued q;
	uint64_t off;

	if (i >= evt->nparams)
		return NULL;
	memcpy(&q, (const char *)evt - sizeof(q), sizeof(q));
	off = sizeof(*evt) + (uint64_t)evt->nparams * (q.large ? sizeof(uint32_t) : sizeof(uint16_t));
	for (uint32_t k = 0; k < i; k++)
		off += length_at(evt, k, q.large);
	*ret_len = length_at(evt, i, q.large);
	return off + *ret_len <= evt->len ? (const char *)evt + off : NULL;
}

/* ---- the rest ---- */

int32_t sonde_get_stats(sonde_t *h, sonde_stats *ret)
{
	struct sonde_ledger l;

	if (!h->ended)
		pipeline_refresh(h->pipeline);
	pipeline_ledger(h->pipeline, &l);
	*ret = (sonde_stats){
		.n_evts = l.seen,
		.n_drops_buffer = l.lost[SONDE_LOST_RING_FULL],
		.n_drops_pf = l.lost[SONDE_LOST_COPY],
		.n_preemptions = l.lost[SONDE_LOST_RECURSION],
		.n_suppressed = h->n_suppressed,
		.n_tids_suppressed = h->suppressed.len,
	};
	for (unsigned i = 0; i < SONDE_LOST__MAX; i++)
		ret->n_drops += l.lost[i];
	ret->n_drops_bug = ret->n_drops - ret->n_drops_buffer - ret->n_drops_pf - ret->n_preemptions;
	return SONDE_SUCCESS;
}

const char *sonde_getlasterr(sonde_t *h)
{
	return h->err.msg;
}

int32_t sonde_stop_capture(sonde_t *h)
{
	struct window *w = h->windows.items;

	if (h->windows.len && w[h->windows.len - 1].to_ns == UINT64_MAX)
		return SONDE_SUCCESS;
	while (h->windows.len && w[0].to_ns < h->last_ns)	/* all events of that time were delivered */
		memmove(w, w + 1, --h->windows.len * sizeof(*w));
	if (vec_push(&h->windows, (struct window){ clock_boot_ns(), UINT64_MAX }) < 0) {
		err_errno(&h->err, -ENOMEM, "cannot stop");
		return SONDE_FAILURE;
	}
	return SONDE_SUCCESS;
}

int32_t sonde_start_capture(sonde_t *h)
{
	if (h->windows.len && h->windows.items[h->windows.len - 1].to_ns == UINT64_MAX)
		h->windows.items[h->windows.len - 1].to_ns = clock_boot_ns();
	return SONDE_SUCCESS;
}

const char *sonde_user_name(sonde_t *h, uint32_t uid)
{
	const struct scap_user *u = h->args.import_users ? scap_state_user(pipeline_scap(h->pipeline), uid) : NULL;

	return u && u->name ? u->name->data : NULL;
}

const char *sonde_group_name(sonde_t *h, uint32_t gid)
{
	const struct scap_group *g = h->args.import_users ? scap_state_group(pipeline_scap(h->pipeline), gid) : NULL;

	return g && g->name ? g->name->data : NULL;
}

const char *sonde_version(void)
{
	return SONDE_VERSION;
}
