// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets and their metadata, readable by Wireshark, tshark and tcpdump. Format: packet/pcapng.h.
 *
 * The section header is written with the first packet, since it names the recorded host. An interface is described
 * before its first packet. Losses between two packets of a probe instance go into the drop count of the later packet;
 * the ledger goes into the interface statistics at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "packet/pcapng.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/core.h"
#include "event/names.h"
#include "sinks/outfile.h"
#include "sinks/pcap/pcap_once.h"
#include "sinks/pcap/pcapng_block.h"
#include "sinks/pcap/pcapng_comment.h"
#include "sinks/sink.h"

struct iface_key {
	uint32_t netns, ifindex, link;
};

struct iface {
	uint64_t packets;
};

/* A probe instance; its losses count only if it delivers packets. */
struct instance {
	uint64_t lost;		/* since its last packet */
	bool has_packets;
	struct core_ledger ledger;
};

struct proc_key {
	uint32_t tgid, pad;
	uint64_t start_ns;
};

struct pcapng {
	struct buf block, text;	/* scratch */
	struct map iface_ids;	/* struct iface_key -> uint32_t: number in the file */
	VEC(struct iface) ifaces;	/* by number in the file */
	struct map instances;	/* uint32_t -> struct instance */
	struct map procs;	/* struct proc_key -> u8: process block is written */
	uint64_t last_ns;	/* wall-clock time of the latest packet */
	bool started;
	struct pcapng_common common;
};

static uint64_t wall_ns(const struct event *ev, uint64_t ns)
{
	int64_t wall = (int64_t)ns + ev->clock_offset_ns;

	return wall < 0 ? 0 : (uint64_t)wall;
}

static int write_block(struct sink *s)
{
	struct pcapng *st = s->state;
	int r = pcapng_block_end(&st->block);

	return r < 0 ? r : outfile_record(s->out, st->block.data, st->block.len);
}

static void opt_escaped(struct buf *block, struct buf *text, uint16_t code, const char *str)
{
	buf_reset(text);
	str_escape_buf(text, str, strlen(str));
	if (text->len)
		pcapng_block_opt(block, code, text->data, text->len);
}

static int start_section(struct sink *s)
{
	struct pcapng *st = s->state;
	const struct core_host *host = s->opts->host;
	char os[128];
	int r;

	if (st->started)
		return 0;
	pcapng_block_begin(&st->block, PCAPNG_SHB);
	buf_put_u32(&st->block, PCAPNG_BYTE_ORDER);
	buf_put_u16(&st->block, PCAPNG_MAJOR);
	buf_put_u16(&st->block, 0);
	buf_put_u64(&st->block, UINT64_MAX); /* section length: unknown */
	if (host && host->machine[0])
		opt_escaped(&st->block, &st->text, PCAPNG_SHB_HARDWARE, host->machine);
	if (host && host->release[0]) {
		snprintf(os, sizeof(os), "Linux %s", host->release);
		opt_escaped(&st->block, &st->text, PCAPNG_SHB_OS, os);
	}
	pcapng_block_opt_str(&st->block, PCAPNG_SHB_USERAPPL, "sonde " SONDE_VERSION);
	if (s->opts->cmdline)
		opt_escaped(&st->block, &st->text, PCAPNG_OPT_COMMENT, s->opts->cmdline);
	r = write_block(s);
	st->started = r == 0;
	return r;
}

/* ---- interfaces ---- */

static void put_iface_name(struct pcapng *st, const struct event *ev, const struct iface_key *k)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(k->netns, k->ifindex));
	char number[16];

	snprintf(number, sizeof(number), "if%u", k->ifindex);
	opt_escaped(&st->block, &st->text, PCAPNG_IF_NAME, name ? name : number);
}

static void put_netns(struct pcapng *st, const struct event *ev, uint32_t netns)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_NETNS, netns);
	char text[160];

	if (!netns)
		return;
	if (name)
		snprintf(text, sizeof(text), "netns %s", name);
	else
		snprintf(text, sizeof(text), "netns [%u]", netns);
	opt_escaped(&st->block, &st->text, PCAPNG_IF_DESCRIPTION, text);
}

static int write_iface(struct sink *s, const struct event *ev, const struct iface_key *k)
{
	struct pcapng *st = s->state;
	const uint8_t nanoseconds = 9;

	pcapng_block_begin(&st->block, PCAPNG_IDB);
	buf_put_u16(&st->block, (uint16_t)k->link);
	buf_put_u16(&st->block, 0);
	buf_put_u32(&st->block, 0); /* snaplen varies per event: no limit */
	put_iface_name(st, ev, k);
	put_netns(st, ev, k->netns);
	pcapng_block_opt(&st->block, PCAPNG_IF_TSRESOL, &nanoseconds, 1);
	if (s->opts->filter_text && *s->opts->filter_text) {
		buf_reset(&st->text);
		buf_add_char(&st->text, 0);
		buf_add_str(&st->text, s->opts->filter_text);
		pcapng_block_opt(&st->block, PCAPNG_IF_FILTER, st->text.data, st->text.len);
	}
	return write_block(s);
}

/* Number of the packet's interface in the file; describes a new one. */
static int find_iface(struct sink *s, const struct event *ev, const struct sec_packet *p, uint32_t *ret)
{
	struct pcapng *st = s->state;
	struct iface_key k = { .netns = p->netns, .ifindex = p->ifindex, .link = p->link };
	uint32_t *id = map_find(&st->iface_ids, &k);
	int r;

	if (id) {
		*ret = *id;
		return 0;
	}
	if (k.link > UINT16_MAX)
		return -EINVAL;
	r = vec_grow(&st->ifaces);
	if (r < 0)
		return r;
	r = write_iface(s, ev, &k);
	if (r < 0)
		return r;
	*ret = (uint32_t)st->ifaces.len;
	st->ifaces.items[st->ifaces.len++] = (struct iface){ 0 };
	return map_put(&st->iface_ids, &k, ret);
}

/* ---- processes ---- */

/* Option "process information": little endian, with nested options that end before the block's. */
static void put_process(struct pcapng *st, const struct event *ev, const struct sec_proc *p)
{
	const struct section *sec = event_section(ev, SEC_PROC);
	const struct { uint16_t code; struct sec_str str; } texts[] = {
		{ PCAPNG_WS_PROCESS_NAME, p->comm }, { PCAPNG_WS_PROCESS_PATH, p->exe },
		{ PCAPNG_WS_PROCESS_CMDLINE, p->args },
	};
	size_t len_at, from;
	uint32_t len;

	pcapng_block_begin(&st->block, PCAPNG_CB);
	buf_put_u32(&st->block, PCAPNG_PEN_WIRESHARK);
	buf_put_u32(&st->block, PCAPNG_WS_PROCESS);
	len_at = st->block.len;
	buf_put_u32(&st->block, 0);
	from = st->block.len;
	buf_put_u32(&st->block, p->tgid);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t n;
		const char *str = event_sec_proc_str(p, sec, texts[i].str, &n);

		if (str && n)
			pcapng_block_opt(&st->block, texts[i].code, str, n);
	}
	if (p->ppid)
		pcapng_block_opt_u32(&st->block, PCAPNG_WS_PROCESS_PPID, p->ppid);
	pcapng_block_opt_u32(&st->block, PCAPNG_WS_PROCESS_UID, p->uid);
	if (p->start_ns && ev->clock_offset_ns)
		pcapng_block_opt_u64(&st->block, PCAPNG_WS_PROCESS_START, wall_ns(ev, p->start_ns));
	pcapng_block_opt_end(&st->block);
	len = (uint32_t)(st->block.len - from);
	if (buf_error(&st->block) == 0)
		memcpy(st->block.data + len_at, &len, sizeof(len));
}

/* Describes a process once, before its first packet. Optional: readers count the block as a frame. */
static int write_process(struct sink *s, const struct event *ev)
{
	struct pcapng *st = s->state;
	const struct sec_proc *p = s->opts->process_blocks ? event_proc(ev) : NULL;
	struct proc_key k;
	int r;

	if (!p || !p->tgid)
		return 0;
	k = (struct proc_key){ .tgid = p->tgid, .start_ns = p->start_ns };
	r = map_note(&st->procs, &k);
	if (r <= 0)
		return r;
	put_process(st, ev, p);
	return write_block(s);
}

/* ---- packets ---- */

static struct instance *find_instance(struct pcapng *st, const struct event *ev)
{
	uint32_t k = ev->instance;

	return map_add(&st->instances, &k, NULL);
}

/* The XDP verdict, from any field that holds it. */
static void put_verdict(struct pcapng *st, const struct event *ev)
{
	const struct event_desc *d = ev->desc;

	each_item(f, d->fields, d->n_fields) {
		uint8_t bytes[9] = { PCAPNG_VERDICT_XDP };
		uint64_t action;

		if (f->kind != FIELD_NAME || f->space != SONDE_NAME_XDP_ACTION ||
		    event_get_number(ev, f, &action) < 0)
			continue;
		memcpy(bytes + 1, &action, sizeof(action));
		pcapng_block_opt(&st->block, PCAPNG_EPB_VERDICT, bytes, sizeof(bytes));
		return;
	}
}

static void put_packet_options(struct pcapng *st, const struct event *ev, uint8_t direction, uint64_t lost)
{
	const uint32_t ids[2] = { ev->tgid, ev->tid };

	if (direction)
		pcapng_block_opt_u32(&st->block, PCAPNG_EPB_FLAGS, direction & 3);
	if (lost)
		pcapng_block_opt_u64(&st->block, PCAPNG_EPB_DROPCOUNT, lost);
	put_verdict(st, ev);
	if (ev->tgid)
		pcapng_block_opt(&st->block, PCAPNG_EPB_PROCESS_THREAD, ids, sizeof(ids));
	pcapng_comment_write(&st->block, ev, &st->common, &st->text);
}

static int write_packet(struct sink *s, const struct event *ev, const struct sec_packet *p, const void *data)
{
	struct pcapng *st = s->state;
	struct instance *in = find_instance(st, ev);
	uint32_t iface;
	int r;

	if (!in)
		return -ENOMEM;
	r = find_iface(s, ev, p, &iface);
	if (r == 0)
		r = write_process(s, ev);
	if (r < 0)
		return r;
	st->last_ns = wall_ns(ev, ev->ts_ns);
	pcapng_block_begin(&st->block, PCAPNG_EPB);
	buf_put_u32(&st->block, iface);
	pcapng_block_time(&st->block, st->last_ns);
	buf_put_u32(&st->block, p->cap_len);
	buf_put_u32(&st->block, p->orig_len);
	pcapng_block_bytes(&st->block, data, p->cap_len);
	put_packet_options(st, ev, p->direction, in->lost);
	r = write_block(s);
	if (r < 0)
		return r;
	st->ifaces.items[iface].packets++;
	in->lost = 0;
	in->has_packets = true;
	return 0;
}

static int take_meta(struct pcapng *st, const struct event *ev)
{
	struct instance *in = find_instance(st, ev);

	if (!in)
		return -ENOMEM;
	if (ev->desc->type == SONDE_EV_LOST && ev->body_len >= sizeof(struct core_lost))
		in->lost += ((const struct core_lost *)ev->body)->count;
	else if (ev->desc->type == SONDE_EV_LEDGER && ev->body_len >= sizeof(struct core_ledger))
		in->ledger = *(const struct core_ledger *)ev->body;
	return 0;
}

static int pcapng_event(struct sink *s, const struct event *ev)
{
	const uint8_t *data;
	const struct sec_packet *p;
	int r;

	if (ev->desc->class == EVENT_META)
		return take_meta(s->state, ev);
	p = event_packet(ev, &data);
	if (!p)
		return 0;
	r = start_section(s);
	return r < 0 ? r : write_packet(s, ev, p, data);
}

/* ---- the end ---- */

static void sum_ledgers(const struct pcapng *st, struct core_ledger *sum)
{
	void *key, *val;

	for (size_t pos = 0; map_next(&st->instances, &pos, &key, &val);) {
		const struct instance *in = val;

		if (!in->has_packets)
			continue;
		sum->seen += in->ledger.seen;
		sum->delivered += in->ledger.delivered;
		sum->filtered += in->ledger.filtered;
		sum->sampled += in->ledger.sampled;
		sum->lost += in->ledger.lost;
	}
}

/*
 * Totals are per probe, not per interface. They go to the first interface, so that the sum over a file is right; a
 * comment says so.
 */
static int write_statistics(struct sink *s, uint32_t id, const struct core_ledger *sum)
{
	struct pcapng *st = s->state;

	pcapng_block_begin(&st->block, PCAPNG_ISB);
	buf_put_u32(&st->block, id);
	pcapng_block_time(&st->block, st->last_ns);
	if (id == 0 && sum->seen) {
		buf_reset(&st->text);
		buf_printf(&st->text,
			   "scope=all_interfaces seen=%llu delivered=%llu filtered=%llu sampled=%llu lost=%llu",
			   (unsigned long long)sum->seen, (unsigned long long)sum->delivered,
			   (unsigned long long)sum->filtered, (unsigned long long)sum->sampled,
			   (unsigned long long)sum->lost);
		pcapng_block_opt(&st->block, PCAPNG_OPT_COMMENT, st->text.data, st->text.len);
		pcapng_block_opt_u64(&st->block, PCAPNG_ISB_IFRECV, sum->seen);
		pcapng_block_opt_u64(&st->block, PCAPNG_ISB_IFDROP, sum->lost);
	}
	pcapng_block_opt_u64(&st->block, PCAPNG_ISB_USRDELIV, st->ifaces.items[id].packets);
	return write_block(s);
}

static int write_all_statistics(struct sink *s)
{
	struct pcapng *st = s->state;
	struct core_ledger sum = { 0 };
	int r = 0;

	sum_ledgers(st, &sum);
	for (uint32_t id = 0; r == 0 && id < st->ifaces.len; id++)
		r = write_statistics(s, id, &sum);
	return r;
}

static int pcapng_open(struct sink *s, _unused_ struct err *err)
{
	struct pcapng *st = s->state;

	map_init(&st->iface_ids, sizeof(struct iface_key), sizeof(uint32_t));
	map_init(&st->instances, sizeof(uint32_t), sizeof(struct instance));
	map_init(&st->procs, sizeof(struct proc_key), 1);
	pcapng_comment_resolve(&st->common);
	return 0;
}

static int pcapng_close(struct sink *s)
{
	struct pcapng *st = s->state;
	int r = start_section(s);

	if (r == 0)
		r = write_all_statistics(s);
	map_fini(&st->iface_ids);
	vec_fini(&st->ifaces);
	map_fini(&st->instances);
	map_fini(&st->procs);
	buf_fini(&st->block);
	buf_fini(&st->text);
	return r;
}

const struct sink_ops pcapng_sink = {
	.name = "pcapng", .summary = "packets for Wireshark, with process, reason and losses", .suffix = ".pcapng",
	.needs = 1u << SEC_PACKET, .flags = SINK_BINARY | SINK_META, .shows = "packets",
	.state_size = sizeof(struct pcapng),
	.repeats = pcap_once_repeats, .seen_size = sizeof(struct pcap_once),
	.open = pcapng_open, .event = pcapng_event, .close = pcapng_close,
};
