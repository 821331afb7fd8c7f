// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * I/O vectors and messages. The chunks of a message follow its header; the next header begins another message.
 */
#include <inttypes.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/print/sys_text.h"

#define IOV_SHOWN 16

/* Reads the next chunk; false at the end. */
static bool next_chunk(struct cursor *c, struct sys_chunk *chunk, struct sys_bytes *ret)
{
	const void *data;

	if (!cur_left(c) || !cur_copy(c, chunk, sizeof(*chunk)))
		return false;
	data = cur_bytes(c, ROUND_UP((size_t)chunk->len, 8));
	*ret = (struct sys_bytes){ data, chunk->len, chunk->flags, true };
	return data != NULL;
}

/* First chunk @what of argument @arg before the next message header. */
static struct sys_bytes chunk_in(struct cursor c, unsigned arg, unsigned what)
{
	struct sys_bytes none = { .data = c.pos }, bytes;
	struct sys_chunk chunk;

	while (next_chunk(&c, &chunk, &bytes)) {
		if (chunk.arg == arg && chunk.what == what)
			return bytes;
		if (chunk.arg == arg && chunk.what == SYS_CHUNK_MSGHDR)
			break;
	}
	return none;
}

static struct cursor chunks_of(const struct sys_body *b)
{
	return cur_init(b + 1, b->chunks_len);
}

/* Entries of a vector, each with its share of the payload. @raw: address of the vector. */
static void add_iov(const struct sys_body *b, struct cursor in, unsigned i, uint64_t raw, unsigned cap,
		    struct buf *out)
{
	struct sys_bytes v = chunk_in(in, i, SYS_CHUNK_IOV), d = chunk_in(in, i, SYS_CHUNK_DATA);
	unsigned word = b->abi == SYS_ABI_I386 ? 4 : 8;
	struct cursor c = cur_init(v.data, v.len), bytes = cur_init(d.data, d.len);
	unsigned n = v.len / (2 * word);

	if (!v.there || v.flags & SYS_CHUNK_F_FAULT) {
		sys_text_ptr(raw, out);
		return;
	}
	buf_add_char(out, '[');
	for (unsigned k = 0; k < n && k < IOV_SHOWN; k++) {
		uint64_t base = word == 4 ? cur_u32(&c) : cur_u64(&c), len = word == 4 ? cur_u32(&c) : cur_u64(&c);
		size_t have = (size_t)MIN(len, (uint64_t)cur_left(&bytes)), shown = cap && have > cap ? cap : have;
		const uint8_t *data = cur_bytes(&bytes, have);

		buf_printf(out, "%s{iov_base=", k ? ", " : "");
		if (have)
			sys_text_quoted(data, shown, shown < have || (have < len && d.flags & SYS_CHUNK_F_CUT), out);
		else
			sys_text_ptr(base, out);
		buf_printf(out, ", iov_len=%" PRIu64 "}", len);
	}
	buf_add_str(out, n > IOV_SHOWN ? ", ...]" : "]");
}

void sys_msg_print_iov(const struct sys_body *b, unsigned i, unsigned cap, struct buf *out)
{
	add_iov(b, chunks_of(b), i, b->args[i], cap, out);
}

struct header {
	uint64_t name, iov, iovlen, control, controllen;
	uint32_t namelen, flags, len;	/* len: msg_len of struct mmsghdr */
};

static bool header_of(struct sys_bytes m, struct header *ret)
{
	struct cursor c = cur_init(m.data, m.len);

	ret->name = cur_u64(&c);
	ret->namelen = cur_u32(&c);
	cur_skip(&c, 4);
	ret->iov = cur_u64(&c);
	ret->iovlen = cur_u64(&c);
	ret->control = cur_u64(&c);
	ret->controllen = cur_u64(&c);
	ret->flags = cur_u32(&c);
	ret->len = cur_u32(&c);
	return m.there && !(m.flags & SYS_CHUNK_F_FAULT) && cur_ok(&c);
}

/* @in: chunks after the header. */
static void add_msg(const struct sys_body *b, struct cursor in, unsigned i, const struct header *h, unsigned cap,
		    struct buf *out)
{
	struct sys_bytes a = chunk_in(in, i, SYS_CHUNK_SOCKADDR);

	buf_add_str(out, "{msg_name=");
	if (a.there && !(a.flags & SYS_CHUNK_F_FAULT))
		sys_text_sockaddr(a.data, a.len, out);
	else
		sys_text_ptr(h->name, out);
	buf_printf(out, ", msg_namelen=%u, msg_iov=", h->namelen);
	add_iov(b, in, i, h->iov, cap, out);
	buf_printf(out, ", msg_iovlen=%" PRIu64, h->iovlen);
	if (h->control) {
		buf_add_str(out, ", msg_control=");
		sys_text_ptr(h->control, out);
	}
	buf_printf(out, ", msg_controllen=%" PRIu64 ", msg_flags=", h->controllen);
	sys_text_xlat(sys_xlat_msg, h->flags, out);
	buf_add_char(out, '}');
}

/* Advances @c past the next message header of argument @i. False at the end. */
static bool next_header(struct cursor *c, unsigned i, struct sys_bytes *ret)
{
	struct sys_chunk chunk;

	while (next_chunk(c, &chunk, ret))
		if (chunk.arg == i && chunk.what == SYS_CHUNK_MSGHDR)
			return true;
	return false;
}

void sys_msg_print(const struct sys_body *b, unsigned i, bool in, unsigned cap, struct buf *out)
{
	struct cursor c = chunks_of(b);
	struct sys_bytes m;
	struct header h;

	if (!next_header(&c, i, &m) || !header_of(m, &h))
		sys_text_ptr(b->args[i], out);
	else if (in || !sys_failed(b->ret))
		add_msg(b, c, i, &h, cap, out);
	else
		buf_printf(out, "{msg_namelen=%u}", h.namelen);
}

void sys_msg_print_mmsg(const struct sys_body *b, unsigned i, bool entered, unsigned cap, struct buf *out)
{
	struct cursor c = chunks_of(b);
	bool done = !entered && b->ret > 0;
	uint64_t n = 0, all = done ? (uint64_t)b->ret : (uint32_t)b->args[2];
	struct sys_bytes m;
	struct header h;

	while (next_header(&c, i, &m) && header_of(m, &h)) {
		buf_add_str(out, n++ ? ", {msg_hdr=" : "[{msg_hdr=");
		add_msg(b, c, i, &h, cap, out);
		if (done)
			buf_printf(out, ", msg_len=%u", h.len);
		buf_add_char(out, '}');
	}
	if (n)
		buf_add_str(out, n < all ? ", ...]" : "]");
	else
		sys_text_ptr(b->args[i], out);
}
