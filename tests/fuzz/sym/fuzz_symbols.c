// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in a recording of any bytes, and what a replay finds by them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "event/decode.h"
#include "event/event.h"
#include "sonde/symbol_wire.h"
#include "sym/sym.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int learn(void *ctx, struct event *ev)
{
	return sym_event(ctx, ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decoder_ops *const none[] = { NULL };
	const struct sym_opts o = { .files = SYM_FILES_NONE, .budget_bytes = 4 << 20 };
	struct sonde_rec head = { .type = SONDE_EV_SYMBOLS, .len = (uint32_t)(sizeof(head) + size), .tgid = 1 };
	char *rec = malloc(head.len);	/* exactly the record: a read past its end is seen */
	struct decode_set *d = NULL;
	struct sym *s = NULL;
	struct err err;
	int r;

	if (!rec || decode_set_new(none, &d) < 0 || sym_new(&o, &s, &err) < 0)
		abort();
	memcpy(rec, &head, sizeof(head));
	memcpy(rec + sizeof(head), data, size);
	r = decode_record(d, rec, head.len, learn, s);
	if (r < 0 && r != -EBADMSG && r != -ENOMEM)
		abort();
	sym_free(s);
	decode_set_free(d);
	free(rec);
	return 0;
}
