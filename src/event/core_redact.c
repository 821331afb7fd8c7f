// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the pipeline without the fields of --redact. Names of cgroups, interfaces and kernel symbols stay.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "event/core_state.h"
#include "event/redact/redact.h"
#include "packet/packet.h"
#include "sonde/symbol_wire.h"
#include "sonde/wire.h"

static int redact_name(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct sonde_name_rec n;

	if (r->len < sizeof(n))
		return -EBADMSG;
	memcpy(&n, r, sizeof(n));
	if (n.name_len > r->len - sizeof(n))
		return -EBADMSG;
	if (n.space != SONDE_NAME_HOST || !(fields & REDACT_DNS))
		return 0;
	buf_add(out, &n, sizeof(n));
	n.name_len = (uint32_t)redact_mark(out, n.name_len);
	if (buf_error(out) == 0)
		memcpy(out->data, &n, sizeof(n));
	return 1;
}

/* Comments of a capture file go too: they may quote the payload. */
static int hide_packet(struct sonde_rec *r)
{
	struct sonde_packet_rec *p = (void *)r;
	const size_t room = r->len - sizeof(*p);

	if (r->len < sizeof(*p) || p->cap_len > room || p->text_len > room - p->cap_len)
		return -EBADMSG;
	p->cap_len = packet_headers_len(p->link, p->data, p->cap_len, p->orig_len);
	p->text_len = 0;
	r->len = (uint32_t)sizeof(*p) + p->cap_len;
	return 0;
}

static int redact_file_packet(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	const struct sonde_packet_rec *p = (const void *)r;

	if (r->len < sizeof(*p) || p->cap_len > r->len - sizeof(*p))
		return -EBADMSG;
	if (!redact_packet(fields, p->link, p->data, p->cap_len, p->orig_len))
		return 0;
	return redact_hide(r, hide_packet, out);
}

static int copy_func(struct cursor *c, struct buf *out)
{
	struct sonde_symbol_func f;
	const size_t at = out->len;
	const void *names, *file;

	if (!cur_copy(c, &f, sizeof(f)))
		return -EBADMSG;
	names = cur_bytes(c, (size_t)f.name_len + f.raw_len);
	file = cur_bytes(c, f.file_len);
	if (!cur_ok(c))
		return -EBADMSG;
	buf_add(out, &f, sizeof(f));
	buf_add(out, names, (size_t)f.name_len + f.raw_len);
	f.file_len = (uint16_t)redact_text(out, file, f.file_len, REDACT_PATHS);
	if (buf_error(out) == 0)
		memcpy(out->data + at, &f, sizeof(f));
	return buf_error(out);
}

/* Names of source files are paths of the host that compiled them. */
static int redact_symbols(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct cursor c = cur_init(r, r->len);
	struct sonde_symbols_rec s;
	int ret = 0;

	if (!(fields & REDACT_PATHS))
		return 0;
	if (!cur_copy(&c, &s, sizeof(s)))
		return -EBADMSG;
	buf_add(out, &s, sizeof(s));
	for (unsigned i = 0; ret >= 0 && i < s.n; i++) {
		struct sonde_symbol_loc loc;

		if (!cur_copy(&c, &loc, sizeof(loc)))
			return -EBADMSG;
		buf_add(out, &loc, sizeof(loc));
		for (unsigned k = 0; ret >= 0 && k < loc.n_funcs; k++)
			ret = copy_func(&c, out);
	}
	return ret < 0 ? ret : 1;
}

const struct redact_rule core_redact[] = {
	{ SONDE_EV_NAME, redact_name }, { SONDE_EV_PACKET, redact_file_packet }, { SONDE_EV_SYMBOLS, redact_symbols },
	{ 0 },
};
