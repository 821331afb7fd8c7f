// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A capture through everything behind the reader: decoder, state, all fields, lines, and the writer, whose output the
 * reader must accept.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/format.h"
#include "scap/event.h"
#include "scap/render.h"
#include "scap/state/state.h"
#include "scap/scap_fields.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "source/source.h"
#include "sonde/wire.h"

extern const struct source_ops scap_source;
static const struct decoder_ops *const decoders[] = { &scap_decoder, NULL };

struct run {
	struct decode_set *d;
	struct scap_state *st;
	struct sink sink;
	struct format *form;
	struct buf line;
};

static const struct sink_opts opts;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_event(void *ctx, struct event *ev)
{
	static const struct line_opts o;
	struct run *r = ctx;
	struct value v;

	if (scap_state_event(r->st, ev) < 0)
		abort();
	buf_reset(&r->line);
	event_line(ev, &o, &r->line);
	format_event(r->form, ev, "", &r->line);
	for (size_t i = 0; ev->view && i < SCAP_N_FIELDS; i++)
		if (event_get(ev, &scap_fields[i], &v) == 0)
			value_text(&v, &r->line);
	return sink_event(&r->sink, ev);
}

static int take_record(void *ctx, const struct sonde_rec *rec)
{
	struct run *r = ctx;

	sink_record(&r->sink, rec);
	decode_record(r->d, rec, rec->len, take_event, r);
	return 0;
}

static int count(void *ctx, const struct sonde_rec *rec)
{
	*(size_t *)ctx += rec->len;
	return 0;
}

static int parse(const void *data, size_t size, source_fn fn, void *ctx)
{
	void *state = calloc(1, scap_source.state_size);
	struct err e = { 0 };
	int64_t n = scap_source.parse(state, data, size, true, fn, ctx, &e);

	scap_source.fini(state);
	free(state);
	return n < 0 ? (int)n : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run r = { .st = scap_state_new() };
	struct outfile *out = NULL;
	size_t len, total = 0;
	const void *written;

	if (size > 1 << 16 || decode_set_new(decoders, &r.d) < 0 || outfile_open_mem(&out) < 0)
		goto out;
	if (format_parse(decode_set_registry(r.d), SCAP_FORM_CONTAINER, &r.form, NULL) < 0)
		abort();
	sink_open(&r.sink, sink_find("scap"), &opts, out, NULL);
	scap_state_set_render(r.st, &(struct scap_render_opts){ .form = size % SCAP_BUFFER__MAX, .cut = 80 });
	parse(data, size, take_record, &r);
	sink_close(&r.sink);
	written = outfile_mem(out, &len);
	if (parse(written, len, count, &total) < 0)
		abort();
out:
	outfile_free(out);
	format_free(r.form);
	buf_fini(&r.line);
	decode_set_free(r.d);
	scap_state_free(r.st);
	return 0;
}
