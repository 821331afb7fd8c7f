// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text as a filter. An accepted filter has a normal form that parses to the same filter and decides the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "event/core.h"
#include "event/filter/filter.h"

static struct registry *reg;
static struct event ev;
static struct core_ledger ledger = { .seen = 7 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct event_desc d;

	(void)argc, (void)argv;
	reg = registry_new();
	d = *registry_find(reg, SONDE_EV_LEDGER);
	d.class = EVENT_DATA;	/* meta events pass every filter: nothing would be evaluated */
	ev = (struct event){ .desc = &d, .ts_ns = 5, .seq = 1, .tgid = 42, .tid = 42, .body = &ledger,
			     .body_len = sizeof(ledger),
			     .keys = { .netns = 7, .conn = { .proto = 6, .sport = 80 } } };
	return 0;
}

static int count(void *ctx, const struct filter_conjunct *c)
{
	*(size_t *)ctx += strlen(c->text) + c->n_values;
	return 0;
}

static void use(struct filter *f)
{
	struct buf once = { 0 }, twice = { 0 };
	struct filter *g = NULL;
	size_t n = 0;

	filter_text(f, &once);
	/* Quotes and escapes make the normal form longer: past the limit it need not parse. */
	if (once.len <= 60000) {
		if (filter_parse(reg, buf_str(&once), &g, NULL) < 0)
			abort();
		filter_text(g, &twice);
		if (strcmp(buf_str(&once), buf_str(&twice)) || filter_match(f, &ev) != filter_match(g, &ev))
			abort();
	}
	filter_conjuncts(f, count, &n);
	filter_free(g);
	buf_fini(&once);
	buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct filter *f = NULL;
	struct err e = { 0 };

	memcpy(text, data, size);
	text[size] = '\0';
	if (filter_parse(reg, text, &f, &e) == 0)
		use(f);
	else if (e.code >= 0 || !e.msg[0])
		abort();
	filter_free(f);
	free(text);
	return 0;
}
