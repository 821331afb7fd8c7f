// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Datapath notifications as JSON objects, with the client's member names and order.
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "cilium/gojson.h"
#include "cilium/layers.h"
#include "cilium/names.h"
#include "cilium/print.h"

static void put_text(struct buf *out, struct buf *text)
{
	gojson_string(out, text->data, text->len);
	buf_reset(text);
}

static void put_ends(struct buf *out, unsigned level, const struct layer *l)
{
	_cleanup_(buf_fini) struct buf src = { 0 }, dst = { 0 };

	layers_text_ends(l, &src, &dst);
	buf_printf(out, ",\"l%u\":{\"src\":", level);
	put_text(out, &src);
	buf_add_str(out, ",\"dst\":");
	put_text(out, &dst);
	buf_add_char(out, '}');
}

/* Members for layers [from, to): the text of each layer by kind, then the endpoints. */
static void put_range(struct buf *out, const struct layers *l, size_t from, size_t to)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const struct layer *of[LAYER__MAX] = { NULL }, *ends[5] = { NULL };
	const char *between = "";

	for (size_t i = from; i < to; i++) {
		of[l->at[i].kind] = &l->at[i];
		ends[layers_text_level(l->at[i].kind)] = &l->at[i];
	}
	for (size_t kind = 0; kind < LAYER__MAX; kind++) {
		if (!of[kind])
			continue;
		layers_text_put(&text, of[kind]);
		buf_printf(out, "%s\"%s\":", between, layers_text_key((enum layer_kind)kind));
		put_text(out, &text);
		between = ",";
	}
	for (unsigned level = 2; level <= 4; level++)
		if (ends[level])
			put_ends(out, level, ends[level]);
}

/* Writes ,"summary":{...}, or nothing if the packet is missing or cannot be dissected. */
static void put_summary(struct buf *out, const struct cilium_packet *p)
{
	struct layers l;
	bool inner;

	layers_parse(&l, p);
	if (!l.n || (l.error[0] && !l.tunnel))
		return;
	inner = l.tunnel && !l.error[0];
	buf_add_str(out, ",\"summary\":{");
	put_range(out, &l, inner ? l.tunnel + 1 : 0, l.tunnel && !inner ? l.tunnel : l.n);
	if (inner) {
		buf_add_str(out, ",\"tunnel\":{");
		put_range(out, &l, 0, l.tunnel + 1);
		buf_add_char(out, '}');
	}
	buf_add_char(out, '}');
}

static void put_drop(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const struct cilium_drop *d = &n->drop;

	buf_printf(out, "\"drop\",\"mark\":\"0x%x\",\"reason\":", n->hash);
	cilium_print_put_reason(&text, n, o);
	put_text(out, &text);
	buf_printf(out, ",\"source\":%u,\"bytes\":%u,\"srcLabel\":%u,\"dstLabel\":%u,\"dstID\":%u,\"Line\":%u,"
		   "\"File\":%u,\"ExtError\":%d,\"Ifindex\":%u", n->source, n->pkt.orig_len, d->src_identity,
		   d->dst_identity, d->dst_id, d->line, d->file, d->ext_error, d->ifindex);
	if (d->ip_trace_id)
		buf_printf(out, ",\"IPTraceID\":%llu", (unsigned long long)d->ip_trace_id);
	put_summary(out, &n->pkt);
}

static void put_trace(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const struct cilium_trace *t = &n->trace;

	buf_printf(out, "\"trace\",\"mark\":\"0x%x\",\"ifindex\":", n->hash);
	cilium_print_put_iface(&text, t->ifindex, o);
	put_text(out, &text);
	buf_add_str(out, ",\"state\":");
	cilium_names_put_state(&text, t->reason);
	put_text(out, &text);
	buf_add_str(out, ",\"observationPoint\":");
	cilium_names_put_point(&text, n->subtype);
	put_text(out, &text);
	buf_add_str(out, ",\"traceSummary\":");
	cilium_print_put_point_summary(&text, n);
	put_text(out, &text);
	buf_printf(out, ",\"source\":%u,\"bytes\":%u,\"srcLabel\":%u,\"dstLabel\":%u,\"dstID\":%u,\"IpTraceID\":%llu",
		   n->source, n->pkt.orig_len, t->src_identity, t->dst_identity, t->dst_id,
		   (unsigned long long)t->ip_trace_id);
	put_summary(out, &n->pkt);
}

static void put_debug(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	buf_add_str(out, "\"debug\",\"message\":");
	cilium_debug_put(&text, n, o);
	put_text(out, &text);
}

static void put_capture(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct layers l;

	buf_printf(out, "\"capture\",\"mark\":\"0x%x\",\"message\":", n->hash);
	cilium_debug_put_capture(&text, n, o);
	put_text(out, &text);
	if (cilium_debug_put_capture_prefix(&text, n, o)) {
		buf_add_str(out, ",\"prefix\":");
		put_text(out, &text);
	}
	buf_printf(out, ",\"source\":%u,\"bytes\":%u,\"summary\":", n->source, n->pkt.cap_len);
	layers_parse(&l, &n->pkt);
	layers_summary(&text, &l);
	put_text(out, &text);
}

void cilium_json_notify(struct buf *out, const struct cilium_notify *n, int64_t cpu, const struct cilium_print *o)
{
	buf_printf(out, "{\"cpu\":\"CPU %02lld:\",\"type\":", (long long)cpu);
	switch (n->type) {
	case CILIUM_DROP: put_drop(out, n, o); break;
	case CILIUM_TRACE: put_trace(out, n, o); break;
	case CILIUM_DEBUG: put_debug(out, n, o); break;
	case CILIUM_CAPTURE: put_capture(out, n, o); break;
	default: buf_add_str(out, "\"unknown\""); break;
	}
	buf_add_str(out, "}\n");
}
