// SPDX-License-Identifier: GPL-2.0-or-later
#include "hubble/hubble_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "event/copy.h"
#include "event/event.h"

struct entry {
	struct buf bytes;	/* the event's copy, then the message */
	size_t copy_len;	/* 0 = a loss */
};

struct hubble_ring {
	struct entry entries[HUBBLE_RING_ENTRIES];
	uint64_t next, flows;
	struct arena scratch;	/* values that the event read last was asked for */
};

static struct entry *entry_of(const struct hubble_ring *r, uint64_t n)
{
	return (struct entry *)&r->entries[n % HUBBLE_RING_ENTRIES];
}

int hubble_ring_add(struct hubble_ring *r, const struct event *ev, const struct buf *message)
{
	struct entry *e = entry_of(r, r->next);
	size_t copy_len = ev ? event_copy_size(ev) : 0;
	void *copy;

	buf_reset(&e->bytes);
	e->copy_len = 0;
	copy = buf_reserve(&e->bytes, copy_len + message->len);
	if (!copy || buf_error(message))
		return -ENOMEM;
	if (ev)
		event_copy_put(ev, copy);
	buf_commit(&e->bytes, copy_len);
	buf_add(&e->bytes, message->data, message->len);
	e->copy_len = copy_len;
	r->next++;
	r->flows += ev != NULL;
	return 0;
}

uint64_t hubble_ring_first(const struct hubble_ring *r)
{
	return r->next - MIN(r->next, (uint64_t)HUBBLE_RING_ENTRIES);
}

uint64_t hubble_ring_next(const struct hubble_ring *r)
{
	return r->next;
}

uint64_t hubble_ring_flows(const struct hubble_ring *r)
{
	return r->flows;
}

const void *hubble_ring_message(const struct hubble_ring *r, uint64_t n, size_t *ret_len)
{
	const struct entry *e = entry_of(r, n);

	*ret_len = e->bytes.len - e->copy_len;
	return e->bytes.data + e->copy_len;
}

bool hubble_ring_event(struct hubble_ring *r, uint64_t n, struct event *ret)
{
	const struct entry *e = entry_of(r, n);

	if (!e->copy_len)
		return false;
	arena_reset(&r->scratch);
	event_copy_get(e->bytes.data, &r->scratch, ret);
	return true;
}

struct hubble_ring *hubble_ring_new(void)
{
	return calloc(1, sizeof(struct hubble_ring));
}

void hubble_ring_free(struct hubble_ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < HUBBLE_RING_ENTRIES; i++)
		buf_fini(&r->entries[i].bytes);
	arena_fini(&r->scratch);
	free(r);
}
