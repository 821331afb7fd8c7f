// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/redact/redact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "packet/packet.h"
#include "sonde/wire.h"

static const char *const names[] = { "args", "env", "paths", "payload", "dns" };	/* in the order of REDACT_* */

int redact_parse(void *ret, const char *list, struct err *err)
{
	while (*list) {
		const size_t len = strcspn(list, ",");
		size_t i = 0;

		while (i < ARRAY_SIZE(names) && (strlen(names[i]) != len || memcmp(names[i], list, len) != 0))
			i++;
		if (i == ARRAY_SIZE(names))
			return err_set(err, -EINVAL, "--redact %.*s: expected args, env, paths, payload or dns, "
				       "separated by commas", (int)MIN(len, (size_t)64), list);
		*(unsigned *)ret |= 1u << i;
		list += len + (list[len] == ',');
	}
	return 0;
}

/* ---- for rules ---- */

size_t redact_mark(struct buf *out, size_t len)
{
	const size_t before = out->len;

	if (len)
		buf_printf(out, "<redacted:%zu>", len);
	return out->len - before;
}

size_t redact_text(struct buf *out, const void *text, size_t len, unsigned hide)
{
	if (hide)
		return redact_mark(out, len);
	buf_add(out, text, len);
	return len;
}

size_t redact_list(struct buf *out, const void *text, size_t len, unsigned hide)
{
	const size_t n = redact_text(out, text, len, hide);

	return !hide || !n || buf_add_char(out, '\0') < 0 ? n : n + 1;
}

void redact_array(char *text, size_t cap)
{
	const size_t len = strnlen(text, cap);

	if (!len)
		return;
	memset(text, 0, cap);
	snprintf(text, cap, "<redacted:%zu>", len);
}

int redact_hide(const struct sonde_rec *r, int (*hide)(struct sonde_rec *r), struct buf *out)
{
	struct sonde_rec *copy;
	int ret = buf_add(out, r, r->len);

	if (ret < 0)
		return ret;
	copy = (void *)out->data;
	ret = hide(copy);
	out->len = copy->len;
	return ret < 0 ? ret : 1;
}

static bool is_dns(const struct packet_flow *f)
{
	static const uint16_t ports[] = { 53, 5353, 5355 };	/* and multicast DNS, LLMNR */

	return f->has_ports && ARRAY_FIND(it, ports, f->sport == *it || f->dport == *it);
}

/* A later fragment has no ports: it may be of a DNS message. */
unsigned redact_packet(unsigned fields, uint32_t link, const void *data, uint32_t cap_len, uint32_t orig_len)
{
	struct packet p;

	if (fields & REDACT_PAYLOAD)
		return REDACT_PAYLOAD;
	if (!(fields & REDACT_DNS))
		return 0;
	packet_dissect(link, data, cap_len, orig_len, &p);
	return is_dns(&p.outer) || is_dns(&p.inner) || (p.outer.fragment && !p.outer.has_ports) ? REDACT_DNS : 0;
}
