// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of another datapath's numbers: rows lie in the text and have numbers of their kind; errors have a place. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "probes/net/datapath/net_dpnames.h"

struct span {
	const char *from, *to;
};

static int check_row(void *ctx, const struct net_dpname *n)
{
	const struct span *s = ctx;

	if (n->text < s->from || n->text + n->len > s->to || !n->len || n->number > 255)
		abort();
	return memchr(n->text, '\n', n->len) ? -EIO : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span s = { (const char *)data, (const char *)data + size };
	struct err err = { 0 };
	int r = net_dpnames_parse(s.from, size, check_row, &s, &err);

	if (r != 0 && (r != -EINVAL || !err.msg[0] || err.msg[0] < '1' || err.msg[0] > '9'))
		abort();
	return 0;
}
