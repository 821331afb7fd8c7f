// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/capture.h"

#include <errno.h>

#include "base/err.h"
#include "base/macros.h"
#include "sonde/wire.h"

void capture_fini(struct capture *c)
{
	buf_fini(&c->rec);
}

/* Starts a record of @size bytes in the scratch buffer; NULL without memory. */
static void *begin(struct capture *c, size_t size, uint16_t type)
{
	struct sonde_rec *r;

	buf_reset(&c->rec);
	r = buf_reserve(&c->rec, size);
	if (!r)
		return NULL;
	memset(r, 0, size);
	buf_commit(&c->rec, size);
	r->type = type;
	return r;
}

/* Sets the final length and passes the record on. */
static int send(struct capture *c)
{
	void *data = c->rec.data;
	struct sonde_rec *r = data;
	int ret;

	if (buf_error(&c->rec) < 0)
		return buf_error(&c->rec);
	r->len = (uint32_t)c->rec.len;
	ret = c->fn(c->ctx, r);
	return MIN(ret, 0);
}

static void copy_text(char *dst, size_t cap, const char *src, size_t len)
{
	if (src)
		memcpy(dst, src, MIN(len, cap - 1));
}

int capture_host(struct capture *c, const char *os, size_t os_len, const char *hardware, size_t hardware_len)
{
	struct sonde_host_rec *h = begin(c, sizeof(*h), SONDE_EV_HOST);
	static const char linux_is[] = "Linux ";

	if (!h)
		return -ENOMEM;
	if (os && os_len > strlen(linux_is) && !memcmp(os, linux_is, strlen(linux_is))) {
		os += strlen(linux_is);
		os_len -= strlen(linux_is);
	}
	copy_text(h->release, sizeof(h->release), os, os_len);
	copy_text(h->machine, sizeof(h->machine), hardware, hardware_len);
	return send(c);
}

int capture_name(struct capture *c, uint32_t space, uint64_t key, const char *name, size_t len)
{
	struct sonde_name_rec *n = begin(c, sizeof(*n), SONDE_EV_NAME);

	if (!n)
		return -ENOMEM;
	n->space = space;
	n->key = key;
	n->name_len = (uint32_t)len;
	buf_add(&c->rec, name, len);
	return send(c);
}

int capture_iface(struct capture *c, uint32_t iface, const char *name, size_t len)
{
	/* Namespace 0: files do not record it. */
	return capture_name(c, SONDE_NAME_IFACE, iface, name, len);
}

/* A clock record, which gives the following records their time. */
static int capture_clock(struct capture *c, int64_t offset_ns)
{
	struct sonde_clock_rec *r = begin(c, sizeof(*r), SONDE_EV_CLOCK);

	if (!r)
		return -ENOMEM;
	r->offset_ns = offset_ns;
	c->offset_ns = offset_ns;
	c->has_clock = true;
	return send(c);
}

int capture_packet(struct capture *c, const struct capture_packet *p)
{
	size_t text_len = MIN(p->text_len, (size_t)CAPTURE_MAX_TEXT);
	struct sonde_packet_rec *r;
	int ret = 0;

	if (!c->has_clock || p->time_ns < c->offset_ns)
		ret = capture_clock(c, p->time_ns);
	if (ret < 0)
		return ret;
	r = begin(c, sizeof(*r), SONDE_EV_PACKET);
	if (!r)
		return -ENOMEM;
	r->hdr.ts_ns = (uint64_t)p->time_ns - (uint64_t)c->offset_ns;
	r->hdr.seq = ++c->seq;
	r->hdr.tgid = p->pid;
	r->hdr.tid = p->tid;
	r->hdr.flags = text_len < p->text_len ? SONDE_RF_CUT : 0;
	r->link = p->link;
	r->orig_len = MAX(p->orig_len, p->cap_len);
	r->cap_len = p->cap_len;
	r->text_len = (uint32_t)text_len;
	r->iface = p->iface;
	r->direction = p->direction;
	buf_add(&c->rec, p->data, p->cap_len);
	buf_add(&c->rec, p->text, text_len);
	return send(c);
}

int capture_record(struct capture *c, struct sonde_rec *r, size_t len, int64_t time_ns)
{
	int ret = 0;

	if (!c->has_clock || time_ns < c->offset_ns)
		ret = capture_clock(c, time_ns);
	if (ret < 0)
		return ret;
	r->len = (uint32_t)len;
	r->ts_ns = (uint64_t)time_ns - (uint64_t)c->offset_ns;
	r->seq = ++c->seq;
	ret = c->fn(c->ctx, r);
	return MIN(ret, 0);
}

/* Skips the available part of an ignored block. */
static void skip_some(struct capture *c, struct cursor *at)
{
	size_t n = (size_t)MIN(c->skip, (uint64_t)cur_left(at));

	cur_skip(at, n);
	c->skip -= n;
	c->at += n;
}

int64_t capture_blocks(struct capture *c, struct cursor window, bool eof, capture_block_fn fn, void *state,
		       struct err *err)
{
	struct cursor at = window;

	for (skip_some(c, &at); cur_left(&at); skip_some(c, &at)) {
		int64_t n = fn(state, at, err);

		if (n < 0)
			return n;
		if (n == 0 && !c->skip)
			break;
		cur_skip(&at, (size_t)n);
		c->at += (uint64_t)n;
	}
	if (eof && (cur_left(&at) || c->skip))
		return capture_cut(c, "a block", err);
	return (int64_t)(cur_left(&window) - cur_left(&at));
}

int capture_cut(const struct capture *c, const char *what, struct err *err)
{
	return err_set(err, -ENODATA, "the file ends inside %s that begins at byte %llu; "
		       "everything before it was read", what, (unsigned long long)c->at);
}

int64_t capture_time(int64_t seconds, uint64_t ns)
{
	__int128 t = (__int128)seconds * 1000000000 + ns;

	return t > INT64_MAX ? INT64_MAX : t < 0 ? 0 : (int64_t)t;
}
