// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as one record of a system call: as text and as libscap's parameters, which must always read back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/params.h"

#define PROBE_ID 4
#include "probes/sys/sys_params.h"
#include "probes/sys/sys_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct decoder_ops sys_decoder;

static int take(void *ctx, struct event *ev)
{
	const struct line_opts o = { .verbose = 1 };
	struct params p;
	struct buf b = { 0 };

	(void)ctx;
	if (event_line(ev, &o, &b) < 0 && !buf_error(&b))
		abort();
	buf_fini(&b);
	if (sys_params_make(ev, SEC_PARAMS, ev->scratch) == 0 && params_of(ev, &p) < 0)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decoder_ops *const decoders[] = { &sys_decoder, NULL };
	struct sonde_rec head = { .type = SYS_REC_EXIT };
	struct decode_set *d = NULL;
	char *copy;

	if (size > 60000 || decode_set_new(decoders, &d) < 0)
		return 0;
	copy = malloc(sizeof(head) + size);
	if (!copy)
		abort();
	head.type = (uint16_t)(size && data[0] & 1 ? SYS_REC_ENTER : SYS_REC_EXIT);
	head.len = (uint32_t)(sizeof(head) + size);
	memcpy(copy, &head, sizeof(head));
	memcpy(copy + sizeof(head), data, size);
	decode_record(d, copy, head.len, take, NULL);
	free(copy);
	decode_set_free(d);
	return 0;
}
