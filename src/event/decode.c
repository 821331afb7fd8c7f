// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoders of one pipeline: dispatches records by probe id and lets other decoders observe the events.
 */
#include "event/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "event/core_state.h"
#include "event/event.h"
#include "event/names.h"

/* Scratch memory for the events of one record; valid records stay far below. */
#define SCRATCH_BYTES_MAX (64u << 20)
#define PROBES_MAX 256	 /* the probe id is the high byte of the record type */
#define RECORD_TYPES 256 /* of one probe: the low byte */

struct decoder {
	const struct decoder_ops *ops;
	void *state;		/* owned, ops->state_size bytes */
	const struct decode_row *rows[RECORD_TYPES]; /* by the low byte of the record type */
	const struct decode_row *tick;		     /* NULL = the decoder ignores ticks */
};

struct decode_set {
	struct decoder *decoders;	/* owned; [0] is the core's */
	size_t n;
	struct decoder *by_probe[PROBES_MAX];
	const struct decoder **observers; /* owned; decoders with observe() */
	size_t n_observers;
	struct registry *reg;		/* owned */
	struct core_state *core;	/* state of decoders[0] */
	struct arena scratch;

	/* valid while a record is decoded */
	struct emitter em;
	const struct decoder *running;
	int (*emit)(void *ctx, struct event *ev);
	void *emit_ctx;
};

DEFINE_CLEANUP(struct decode_set *, decode_set_free)

static int emit_event(void *ctx, struct event *ev)
{
	struct decode_set *d = ctx;

	ev->names = d->core->names;
	ev->clock_offset_ns = d->core->clock_offset_ns;
	ev->scratch = &d->scratch;
	for (size_t i = 0; i < d->n_observers; i++) {
		const struct decoder *dec = d->observers[i];

		if (dec != d->running)
			dec->ops->observe(dec->state, ev);
	}
	return d->emit(d->emit_ctx, ev);
}

static int add_rows(struct decoder *dec)
{
	for (const struct decode_row *row = dec->ops->rows; row && row->type; row++) {
		const struct decode_row **slot = &dec->rows[row->type & 0xff];

		if (row->type == SONDE_EV_TICK)
			slot = &dec->tick;
		else if (row->type >> 8 != dec->ops->probe)
			return -EINVAL;
		if (*slot)
			return -EEXIST;
		*slot = row;
	}
	return 0;
}

static int add_decoder(struct decode_set *d, const struct decoder_ops *ops)
{
	struct decoder *dec = &d->decoders[d->n];
	int r;

	if (ops->probe >= PROBES_MAX || d->by_probe[ops->probe])
		return -EEXIST;
	dec->state = calloc(1, MAX(ops->state_size, (size_t)1));
	if (!dec->state)
		return -ENOMEM;
	dec->ops = ops;
	d->by_probe[ops->probe] = dec;
	d->n++;
	if (ops->observe)
		d->observers[d->n_observers++] = dec;
	r = add_rows(dec);
	if (r < 0)
		return r;
	/* registry_new() has registered the core types. */
	return ops == &core_decoder ? 0 : registry_add(d->reg, ops->events);
}

bool decode_makes(const struct decoder_ops *ops, const struct event_desc *d)
{
	bool makes = ops->probe == d->type >> 8;

	for (const uint16_t *type = ops->also; type && *type && !makes; type++)
		makes = *type == d->type;
	return makes;
}

int decode_set_new(const struct decoder_ops *const *decoders, struct decode_set **ret)
{
	_cleanup_(decode_set_freep) struct decode_set *d = calloc(1, sizeof(*d));
	size_t n = 1;
	int r;

	if (!d)
		return -ENOMEM;
	for (const struct decoder_ops *const *p = decoders; *p; p++)
		n++;
	d->decoders = calloc(n, sizeof(*d->decoders));
	d->observers = calloc(n, sizeof(*d->observers));
	d->reg = registry_new();
	if (!d->decoders || !d->observers || !d->reg)
		return -ENOMEM;
	r = add_decoder(d, &core_decoder);
	for (size_t i = 0; r >= 0 && decoders[i]; i++)
		r = add_decoder(d, decoders[i]);
	if (r < 0)
		return r;
	d->core = d->decoders[0].state;
	d->core->names = event_names_new();
	if (!d->core->names)
		return -ENOMEM;
	d->scratch.limit_bytes = SCRATCH_BYTES_MAX;
	d->em = (struct emitter){ .emit = emit_event, .ctx = d, .scratch = &d->scratch, .names = d->core->names };
	*ret = TAKE_PTR(d);
	return 0;
}

void decode_set_free(struct decode_set *d)
{
	if (!d)
		return;
	each_item(dec, d->decoders, d->n) {
		if (dec->ops->fini)
			dec->ops->fini(dec->state);
		free(dec->state);
	}
	free(d->decoders);
	free(d->observers);
	registry_free(d->reg);
	arena_fini(&d->scratch);
	free(d);
}

void decode_set_reveal(struct decode_set *d, unsigned what)
{
	d->em.reveal = what;
}

const struct registry *decode_set_registry(const struct decode_set *d)
{
	return d->reg;
}

const struct names *decode_set_names(const struct decode_set *d)
{
	return d->core->names;
}

const struct core_host *decode_set_host(const struct decode_set *d)
{
	return &d->core->host;
}

static const struct decode_row *row_of(const struct decode_set *d, const struct sonde_rec *r)
{
	const struct decoder *dec = d->by_probe[r->type >> 8];

	return !dec ? NULL : r->type == SONDE_EV_TICK ? dec->tick : dec->rows[r->type & 0xff];
}

bool decode_is_data(const struct decode_set *d, const struct sonde_rec *r)
{
	const struct decode_row *row = row_of(d, r);

	return row && row->desc && row->desc->class == EVENT_DATA;
}

/* Has @r an identity block exactly if the structs of @row have one? */
static bool layout_matches(const struct decode_row *row, const struct sonde_rec *r)
{
	return !row || row->ident == !!(r->flags & SONDE_RF_IDENT);
}

/* ---- content ---- */

static const struct content_rule *rule_of(const struct decode_set *d, const struct sonde_rec *r)
{
	const struct decoder *dec = d->by_probe[r->type >> 8];
	const struct content_rule *rule = dec ? dec->ops->content : NULL;

	while (rule && rule->type && rule->type != r->type)
		rule++;
	return rule && rule->type ? rule : NULL;
}

bool decode_owner_sure(const struct decode_set *d, const struct sonde_rec *r)
{
	const struct content_rule *rule = rule_of(d, r);

	return rule && r->tgid && (!rule->sure || (layout_matches(row_of(d, r), r) && rule->sure(r)));
}

int decode_hide_content(const struct decode_set *d, struct sonde_rec *r)
{
	const struct content_rule *rule = rule_of(d, r);

	if (!rule)
		return -EACCES;
	if (!rule->hide)
		return 0;
	return layout_matches(row_of(d, r), r) ? rule->hide(r) : -EACCES;
}

/* ---- identity blocks ---- */

static size_t head_len(const struct sonde_rec *r)
{
	return sizeof(*r) + (r->flags & SONDE_RF_IDENT ? sizeof(struct sonde_ident) : 0);
}

/* Copies @r to scratch, with a zeroed identity block (@ident) or without one. NULL without memory. */
static const struct sonde_rec *relayout(struct decode_set *d, const struct sonde_rec *r, bool ident)
{
	const size_t head = sizeof(*r) + (ident ? sizeof(struct sonde_ident) : 0), body = r->len - head_len(r);
	struct sonde_rec *copy = arena_alloc(&d->scratch, head + body);

	if (!copy)
		return NULL;
	memset(copy, 0, head);
	*copy = *r;
	copy->len = (uint32_t)(head + body);
	copy->flags = (uint16_t)((r->flags & ~SONDE_RF_IDENT) | (ident ? SONDE_RF_IDENT : 0));
	memcpy((char *)copy + head, (const char *)r + head_len(r), body);
	return copy;
}

/* ---- rows ---- */

static int decode_in_place(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = decode_body(r);

	if (cur_left(&c) < ev->body_len)
		return -EBADMSG;
	ev->body = ev->body_len ? c.pos : NULL;
	return em->emit(em->ctx, ev);
}

static int run_row(struct decode_set *d, const struct decoder *dec, const struct decode_row *row,
		   const struct sonde_rec *r)
{
	struct event ev;
	int ret;

	if (row->desc)
		event_decode_from_rec(&ev, row->desc, r);
	if (!layout_matches(row, r)) {
		r = relayout(d, r, row->ident);
		if (!r)
			return -ENOMEM;
	}
	d->running = dec;
	d->em.state = dec->state;
	ret = dec->ops->before ? dec->ops->before(r, &d->em) : 0;
	if (ret < 0)
		return ret;
	if (!row->desc)
		return row->decode ? row->decode(r, NULL, &d->em) : 0;
	return row->decode ? row->decode(r, &ev, &d->em) : decode_in_place(r, &ev, &d->em);
}

static int run_decoder(struct decode_set *d, const struct sonde_rec *r)
{
	const struct decode_row *row = row_of(d, r);

	return row ? run_row(d, d->by_probe[r->type >> 8], row, r) : -ENOSYS;
}

/* Ticks go to every decoder. */
static int tick_others(struct decode_set *d, const struct sonde_rec *r)
{
	for (size_t i = 1; i < d->n; i++) {
		const struct decoder *dec = &d->decoders[i];
		int ret = dec->tick ? run_row(d, dec, dec->tick, r) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * Validates the record at @data. Returns it in place if aligned, else a copy in scratch; NULL and *ret_error if
 * invalid.
 */
static const struct sonde_rec *rec_checked(struct decode_set *d, const void *data, size_t len, int *ret_error)
{
	struct cursor c = cur_init(data, len);
	struct sonde_rec head;
	const void *p = data;

	*ret_error = -EBADMSG;
	if (!cur_copy(&c, &head, sizeof(head)) || head.len < head_len(&head) || head.len > len)
		return NULL;
	if ((uintptr_t)data % _Alignof(struct sonde_rec)) {
		*ret_error = -ENOMEM;
		p = arena_copy(&d->scratch, data, head.len);
	}
	return p;
}

int decode_record(struct decode_set *d, const void *rec, size_t len, int (*emit)(void *ctx, struct event *ev),
		  void *ctx)
{
	const struct sonde_rec *r;
	int ret;

	d->emit = emit;
	d->emit_ctx = ctx;
	r = rec_checked(d, rec, len, &ret);
	if (r) {
		ret = run_decoder(d, r);
		if (ret >= 0 && r->type == SONDE_EV_TICK)
			ret = tick_others(d, r);
	}
	arena_reset(&d->scratch);
	return ret < 0 ? ret : 0;
}

int decode_fact(struct decode_set *d, const void *rec, size_t len,
		int (*emit)(void *ctx, struct event *ev), void *ctx)
{
	const struct emitter em = { .emit = emit, .ctx = ctx, .scratch = &d->scratch, .names = d->core->names };
	const struct decode_row *row = row_of(d, rec);
	const struct sonde_rec *r;
	int ret;

	if (!row || !row->fact)
		return 0;
	r = rec_checked(d, rec, len, &ret);
	if (r)
		ret = layout_matches(row, r) ? row->fact(r, &em) : 0;
	arena_reset(&d->scratch);
	return ret;
}

static int emit_aside(void *ctx, struct event *ev)
{
	struct decode_set *d = ctx;

	ev->names = d->core->names;
	ev->scratch = &d->scratch;
	return d->emit(d->emit_ctx, ev);
}

int decode_ahead(struct decode_set *d, const void *rec, size_t len,
		int (*emit)(void *ctx, struct event *ev), void *ctx)
{
	const struct decode_row *row = row_of(d, rec);
	const struct decoder *dec = row ? d->by_probe[row->type >> 8] : NULL;
	const struct sonde_rec *r;
	int ret;

	if (!dec || !dec->ops->alone)
		return 0;
	d->emit = emit;
	d->emit_ctx = ctx;
	d->em.emit = emit_aside;
	r = rec_checked(d, rec, len, &ret);
	if (r)
		ret = run_row(d, dec, row, r);
	d->em.emit = emit_event;
	arena_reset(&d->scratch);
	return ret;
}

/* ---- for decoders ---- */

/* Assigns members: a compound literal is built aside and copied. */
static void keys_from_ident(struct event_keys *k, const struct sonde_ident *id)
{
	k->cgroup_id = id->cgroup_id;
	k->cookie = id->sock;
	k->goid = id->goid;
	k->netns = id->netns;
	k->image = id->image;
	k->call = id->call;
	k->file = id->file;
	k->seq = id->seq;
	k->seq_len = id->seq_len;
	k->owner_how = id->owner_how;
	k->file_how = id->file_how;
	k->call_how = id->call_how;
	k->ident_flags = id->flags;
}

/* Assigns member by member: clearing sec[], which is empty, would cost more than everything else. */
void event_decode_from_rec(struct event *ev, const struct event_desc *desc, const struct sonde_rec *r)
{
	const struct sonde_ident *ident = decode_ident(r);

	ev->desc = desc;
	ev->ts_ns = r->ts_ns;
	ev->seq = 0;
	ev->start_ns = r->start_ns;
	ev->tgid = r->tgid;
	ev->tid = r->tid;
	ev->cpu = r->cpu;
	ev->instance = r->instance;
	ev->flags = r->flags & (uint16_t)~SONDE_RF_IDENT;
	ev->hide = HIDE_NOTHING;
	ev->n_sec = 0;
	ev->body_len = desc->body_size;
	ev->body = NULL;
	memset(&ev->keys, 0, sizeof(ev->keys));
	if (ident)
		keys_from_ident(&ev->keys, ident);
	ev->names = NULL;
	ev->view = NULL;
	ev->clock_offset_ns = 0;
	ev->scratch = NULL;
}

void *event_decode_new_body(struct event *ev, const struct emitter *em)
{
	void *body = arena_alloc(em->scratch, ev->desc->body_size);

	ev->body = body;
	ev->body_len = ev->desc->body_size;
	return body;
}
