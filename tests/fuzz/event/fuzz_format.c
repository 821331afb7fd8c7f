// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text as the format of a line. An accepted format prints text that ends in a line feed, or nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "event/core.h"
#include "event/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registry *reg = registry_new();
	const struct core_ledger body = { .seen = 7 };
	struct event ev = { .desc = registry_find(reg, SONDE_EV_LEDGER), .ts_ns = 5, .body = &body,
			    .body_len = sizeof(body) };
	char *text = malloc(size + 1);
	struct format *f = NULL;
	struct buf out = { 0 };
	struct err e = { 0 };

	memcpy(text, data, size);
	text[size] = '\0';
	if (format_parse(reg, text, &f, &e) < 0) {
		if (e.code >= 0 || !e.msg[0])
			abort();
	} else if (format_event(f, &ev, "now", &out) == 0 && out.len && out.data[out.len - 1] != '\n') {
		abort();
	}
	format_free(f);
	buf_fini(&out);
	registry_free(reg);
	free(text);
	return 0;
}
