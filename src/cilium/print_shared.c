// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts of a notification's text that lines, debug messages and JSON share.
 */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cilium/names.h"
#include "cilium/print.h"

void cilium_print_put_iface(struct buf *out, uint32_t ifindex, const struct cilium_print *o)
{
	char name[16];

	if (o->iface && o->iface(o->ctx, ifindex, name))
		buf_printf(out, "%.*s", (int)strnlen(name, sizeof(name)), name);
	else
		buf_add_u64(out, ifindex);
}

void cilium_print_put_reason(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const char *own = o->drop ? o->drop(o->ctx, n->subtype) : NULL;

	if (!own) {
		cilium_names_put_drop(out, n->subtype, n->drop.ext_error);
		return;
	}
	buf_add_str(out, own);
	if (n->drop.ext_error)
		buf_printf(out, ", %d", n->drop.ext_error);
}

void cilium_print_put_point_summary(struct buf *out, const struct cilium_notify *n)
{
	static const char *const texts[] = {
		[2] = "-> host from", [3] = "-> stack", [4] = "-> overlay", [6] = "<- proxy", [7] = "<- host",
		[8] = "<- stack", [9] = "<- overlay", [10] = "<- network", [11] = "-> network", [12] = "<- crypto",
		[13] = "-> crypto",
	};

	if (n->subtype == 0)
		buf_printf(out, "-> endpoint %u", n->trace.dst_id);
	else if (n->subtype == 1 && n->trace.dst_id)
		buf_printf(out, "-> proxy port %u", n->trace.dst_id);
	else if (n->subtype == 1)
		buf_add_str(out, "-> proxy");
	else if (n->subtype == 5)
		buf_printf(out, "<- endpoint %u", n->source);
	else
		buf_add_str(out, n->subtype < ARRAY_SIZE(texts) ? texts[n->subtype] : "unknown trace");
}
