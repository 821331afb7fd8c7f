// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/net/packet_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "pktfilter/pktfilter.h"
#include "probes/net/net_conf.h"
#include "probes/net/flow/net_flow_find.h"
#include "sinks/sink.h"
#include "sonde/pktfilter_wire.h"
#include "sonde/wire.h"

#define COMPILE_NS 60000000000ull	/* limit of CPU time for the user's expression; ^C ends it, too */

/* ---- options ---- */

/* "N[/TIME][:BURST]" */
static int on_rate(void *conf, const char *arg, struct err *err)
{
	struct net_conf *net = conf;
	_cleanup_free_ char *copy = strdup(arg);
	char *burst = copy ? strrchr(copy, ':') : NULL, *time;

	if (!copy)
		return err_errno(err, -ENOMEM, "--rate");
	if (burst)
		*burst++ = '\0';
	time = strchr(copy, '/');
	if (time)
		*time++ = '\0';
	if (str_to_u32(copy, 10, &net->rate) < 0 || (burst && str_to_u32(burst, 10, &net->burst) < 0) ||
	    (time && str_to_duration_ns(time, &net->interval_ns) < 0))
		return err_set(err, -EINVAL,
			       "--rate %s: expected N[/TIME][:BURST], such as 100, 100/1s or 100/1s:500", arg);
	return 0;
}

const struct opt packet_opts[] = {
	OPT_ROW(net_conf, snaplen, "snaplen", 's', OPT_STRV, "[KIND=]BYTES", "bytes of each packet, 0 = all",
		.more = "KIND is trace or drop; the default is 128, in captures all"),
	OPT_CALL_ROW(on_rate, "rate", 0, "N[/TIME][:BURST]", "at most N events of a kind per TIME (1s)",
		     .more = "the rest is counted; BURST is the burst size, by default N"),
	OPT_ROW(net_conf, attach, "attach", 0, OPT_ENUM, "HOW", "tc attach mechanism", .names = net_attach_names,
		.more = "auto is tcx where the kernel has it, and clsact from the 17th interface on"),
	OPT_END
};

/* ---- the filter ---- */

int packet_filter_open(const struct net_conf *net, const struct opt_strv *words, bool live, struct packet_filter *ret,
		      struct err *err)
{
	return packet_filter_open_flow(net, words, NULL, NULL, live, ret, err);
}

/* Appends the expression of --flow to @text. */
static int add_flow(const char *flow, const struct run_conf *run, bool live, struct buf *text, struct err *err)
{
	int r;

	if (!flow)
		return 0;
	buf_add_str(text, text->len ? " and (" : "(");
	r = net_flow_find(flow, live, &run->netns, text, err);
	buf_add_char(text, ')');
	return r < 0 ? r : buf_error(text);
}

/* Neither agents nor the compiling process resolve names: do it here. */
static int compile(struct packet_filter *w, struct err *err)
{
	_cleanup_(buf_fini) struct buf numbers = { 0 };
	int r = pktfilter_compile(buf_str(&w->text), COMPILE_NS, &w->filter, err);

	if (r != -ENOKEY)
		return r;
	r = pktfilter_resolve(buf_str(&w->text), COMPILE_NS, &numbers, err);
	if (r < 0)
		return r;
	buf_fini(&w->text);
	w->text = numbers;
	numbers = (struct buf){ 0 };
	return pktfilter_compile(buf_str(&w->text), COMPILE_NS, &w->filter, err);
}

int packet_filter_open_flow(const struct net_conf *net, const struct opt_strv *words, const char *flow,
			   const struct run_conf *run, bool live, struct packet_filter *ret, struct err *err)
{
	_cleanup_free_ char *typed = run_join_words(words);
	int r;

	*ret = (struct packet_filter){ .net = net, .live = live };
	r = net_conf_filter(net, typed, &ret->text, err);
	if (r >= 0)
		r = add_flow(flow, run, live, &ret->text, err);
	if (r < 0 || !ret->text.len)
		return r;
	return compile(ret, err);
}

void packet_filter_close(struct packet_filter *w)
{
	pktfilter_free(w->filter);
	buf_fini(&w->text);
}

/*
 * If the captured bytes are too few to decide, a live run shows the packet: a requested drop must not vanish. A file
 * has no further bytes.
 */
bool packet_filter_match(void *ctx, const struct event *ev)
{
	const struct packet_filter *w = ctx;
	const struct sec_packet *pkt;
	const uint8_t *data;

	if (!net_conf_pass(w->net, ev))
		return false;
	if (!w->filter || (w->live && !(ev->flags & SONDE_RF_UNDECIDED)))
		return true;
	pkt = event_packet(ev, &data);
	if (!pkt || !w->live)
		return pkt && pktfilter_match(w->filter, pkt->link, data, pkt->cap_len, pkt->orig_len);
	return pktfilter_verdict(w->filter, pkt->link, data, pkt->cap_len, pkt->orig_len) != PKTFILTER_REJECT;
}

int packet_filter_explain(const struct packet_filter *w, const struct run_conf *run)
{
	struct buf b = { 0 };
	int r = 0;

	if (w->filter)
		r = pktfilter_explain(w->filter, &b);
	else
		buf_add_str(&b, "There are no packet words: every packet passes.\n");
	if (run->where)
		buf_add_str(&b, "Checks of evt.type, proc.name and proc.pid in --where that must hold are evaluated\n"
				"in the kernel, the rest of it in user space.\n");
	if (r >= 0 && fwrite(b.data, 1, b.len, stdout) != b.len)
		r = -EIO;
	buf_fini(&b);
	return r < 0 ? CMD_FAIL : CMD_OK;
}

const char *packet_filter_use(struct packet_filter *w, const struct run_conf *run, struct net_conf *net)
{
	net->words = w->text.len ? buf_str(&w->text) : NULL;
	net->filter = w->filter;
	net->netns = &run->netns;
	net->iface = run->ifaces;
	return net->words;
}

static int add_kinds(void *ctx, const struct filter_conjunct *c)
{
	unsigned *kinds = ctx;

	if (!c->field || strcmp(c->field, "evt.type") != 0 || c->negated ||
	    (c->op != FILTER_EQ && c->op != FILTER_IN))
		return 0;
	for (size_t i = 0; i < c->n_values; i++)
		*kinds |= net_conf_kinds(c->values[i].text);
	return 0;
}

void packet_filter_kinds(const struct filter *f, struct net_conf *net)
{
	filter_conjuncts(f, add_kinds, &net->kinds);
}

bool packet_filter_kept(const struct run_conf *run)
{
	for (size_t i = 0; i < run->outputs.len; i++) {
		const char *path;
		const struct sink_ops *ops = sink_of_output(run->outputs.items[i], run->file_format, &path);

		if (ops && ((ops->needs & 1u << SEC_PACKET) || (ops->flags & SINK_RAW)))
			return true;
	}
	return false;
}
