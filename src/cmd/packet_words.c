// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/packet_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "event/event.h"
#include "pktfilter/pktfilter.h"
#include "probes/net/net.h"
#include "probes/net/flow/net_flow_find.h"
#include "sinks/sink.h"
#include "sonde/pktfilter_wire.h"
#include "sonde/wire.h"

#define COMPILE_NS 60000000000ull	/* of processor time, for who typed it; ^C ends it, too */

int packet_words_open(const struct net_conf *net, const struct opt_strv *words, bool live, struct packet_words *ret,
		      struct err *err)
{
	return packet_words_open_flow(net, words, NULL, NULL, live, ret, err);
}

/* What somebody named, behind what is there. */
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

/* Agents take no names, nor does the process that compiles: they are looked up here. */
static int compile(struct packet_words *w, struct err *err)
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

int packet_words_open_flow(const struct net_conf *net, const struct opt_strv *words, const char *flow,
			   const struct run_conf *run, bool live, struct packet_words *ret, struct err *err)
{
	_cleanup_free_ char *typed = run_join_words(words);
	int r;

	*ret = (struct packet_words){ .net = net, .live = live };
	r = net_conf_filter(net, typed, &ret->text, err);
	if (r >= 0)
		r = add_flow(flow, run, live, &ret->text, err);
	if (r < 0 || !ret->text.len)
		return r;
	return compile(ret, err);
}

void packet_words_close(struct packet_words *w)
{
	pktfilter_free(w->filter);
	buf_fini(&w->text);
}

/*
 * Of what is in doubt (the captured bytes are too few to know) live shows too much rather than too little: a
 * drop that was asked for must not vanish. In a file the bytes are all there ever was.
 */
bool packet_words_match(void *ctx, const struct event *ev)
{
	const struct packet_words *w = ctx;
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

int packet_words_explain(const struct packet_words *w, const struct run_conf *run)
{
	struct buf b = { 0 };
	int r = 0;

	if (w->filter)
		r = pktfilter_explain(w->filter, &b);
	else
		buf_add_str(&b, "There are no packet words: every packet passes.\n");
	if (run->where)
		buf_printf(&b, "--where is decided in user space, after the packet words.\n");
	if (r >= 0 && fwrite(b.data, 1, b.len, stdout) != b.len)
		r = -EIO;
	buf_fini(&b);
	return r < 0 ? CMD_FAIL : CMD_OK;
}

const char *packet_words_use(struct packet_words *w, const struct run_conf *run, struct net_conf *net)
{
	net->words = w->text.len ? buf_str(&w->text) : NULL;
	net->filter = w->filter;
	net->netns = &run->netns;
	return net->words;
}

bool packet_words_kept(const struct run_conf *run)
{
	for (size_t i = 0; i < run->outputs.len; i++) {
		_cleanup_free_ char *name = strndup(run->outputs.items[i], strcspn(run->outputs.items[i], ":"));
		const struct sink_ops *ops = name ? sink_find(name) : NULL;

		if (ops && ((ops->needs & 1u << SEC_PACKET) || (ops->flags & SINK_RAW)))
			return true;
	}
	return false;
}
