// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_batch.h"

#include <errno.h>

#include "base/clock.h"
#include "event/event.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "base/protobuf/protobuf.h"

#define BATCH_ITEMS 512u
#define BATCH_BYTES (512u << 10)
#define BATCH_NS 1000000000ull	/* maximum time an item waits for its batch */

enum { REQUEST_RESOURCES = 1 };

void otlp_batch_fini(struct otlp_batch *b)
{
	for (size_t i = 0; i < b->processes.len; i++) {
		buf_fini(&b->processes.items[i].resource);
		buf_fini(&b->processes.items[i].items);
	}
	vec_fini(&b->processes);
	buf_fini(&b->message);
	buf_fini(&b->part);
	otlp_kv_fini(&b->kv);
}

bool otlp_batch_is_due(const struct otlp_batch *b, const struct event *ev)
{
	return b->n_items && (b->n_items >= BATCH_ITEMS || b->bytes >= BATCH_BYTES ||
			      ev->ts_ns >= b->first_ns + BATCH_NS);
}

bool otlp_batch_is_late(const struct otlp_batch *b)
{
	return b->n_items && clock_boot_ns() >= b->since_ns + BATCH_NS;
}

static struct otlp_process *new_process(struct otlp_batch *b)
{
	struct otlp_process *p;

	if (b->n_processes == b->processes.len) {
		if (vec_grow(&b->processes) < 0)
			return NULL;
		b->processes.items[b->processes.len++] = (struct otlp_process){ 0 };
	}
	p = &b->processes.items[b->n_processes++];
	buf_reset(&p->resource);
	buf_reset(&p->items);
	return p;
}

/* Finds or adds the entry of the event's process. NULL without memory. */
static struct otlp_process *process_of(struct otlp_batch *b, const struct sink *s, const struct event *ev)
{
	const struct otlp_host host = { .host = s->opts->host, .names = ev->names };
	const bool has = otlp_resource_has_process(ev);
	const uint64_t start_ns = has ? ev->start_ns : 0;
	struct otlp_process *p;

	for (size_t i = 0; i < b->n_processes; i++) {
		p = &b->processes.items[i];
		if (p->tgid == ev->tgid && p->start_ns == start_ns)
			return p;
	}
	p = new_process(b);
	if (!p)
		return NULL;
	p->tgid = ev->tgid;
	p->start_ns = start_ns;
	if (has)
		otlp_resource_process(&b->kv, &host, ev, &p->resource);
	else
		otlp_resource_host(&b->kv, &host, &p->resource);
	return p;
}

int otlp_batch_reserve(struct otlp_batch *b, const struct sink *s, const struct event *ev, size_t *ret_process)
{
	const struct otlp_process *p = process_of(b, s, ev);

	if (!p)
		return -ENOMEM;
	if (!b->n_items) {
		b->first_ns = ev->ts_ns;
		b->since_ns = clock_boot_ns();
	}
	b->n_items++;
	*ret_process = (size_t)(p - b->processes.items);
	return 0;
}

void otlp_batch_fill(struct otlp_batch *b, size_t process, const struct buf *item)
{
	struct otlp_process *p = &b->processes.items[process];

	protobuf_bytes(&p->items, OTLP_FIELD_ITEMS, item->data, item->len);
	if (buf_error(item))
		p->items.error = buf_error(item);
	b->bytes += item->len;
}

int otlp_batch_add(struct otlp_batch *b, const struct sink *s, const struct event *ev, const struct buf *item)
{
	size_t process;
	int r = otlp_batch_reserve(b, s, ev, &process);

	if (r >= 0)
		otlp_batch_fill(b, process, item);
	return r;
}

int otlp_batch_put(struct otlp_batch *b, struct sink *s)
{
	int r;

	buf_reset(&b->message);
	each_item(p, b->processes.items, b->n_processes) {
		if (!p->items.len && !buf_error(&p->items))
			continue;
		buf_reset(&b->part);
		otlp_resource_put(&b->part, &p->resource, &p->items);
		if (buf_error(&b->part))
			b->message.error = -ENOMEM;
		protobuf_bytes(&b->message, REQUEST_RESOURCES, b->part.data, b->part.len);
	}
	r = buf_error(&b->message);
	if (r == 0 && b->n_items)
		r = outfile_batch(s->out, b->message.data, b->message.len, b->n_items);
	b->n_processes = b->n_items = b->bytes = 0;
	return r;
}
