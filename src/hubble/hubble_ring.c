// SPDX-License-Identifier: GPL-2.0-or-later
#include "hubble/hubble_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "event/copy.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

struct entry {
	struct buf bytes;	/* the event's copy, its names, each with a NUL behind it, then the message */
	size_t copy_len;	/* 0 = a loss */
	size_t names_len;
};

#define NAMES 4u	/* of both hosts, of pod and namespace */

struct name_of {
	uint32_t space;
	uint64_t key;	/* 0 = none */
};

struct hubble_ring {
	struct entry entries[HUBBLE_RING_ENTRIES];
	uint64_t next, flows;
	struct arena scratch;	/* values that the event read last was asked for */
	struct names *then;	/* its names, over those of the pipeline */
};

static struct entry *entry_of(const struct hubble_ring *r, uint64_t n)
{
	return (struct entry *)&r->entries[n % HUBBLE_RING_ENTRIES];
}

static void names_of(const struct event *ev, struct name_of ret[static NAMES])
{
	const struct ipaddr *src = &ev->keys.conn.saddr, *dst = &ev->keys.conn.daddr;

	ret[0] = (struct name_of){ SONDE_NAME_HOST, src->family ? event_names_host_key(src) : 0 };
	ret[1] = (struct name_of){ SONDE_NAME_HOST, dst->family ? event_names_host_key(dst) : 0 };
	ret[2] = (struct name_of){ SONDE_NAME_POD, ev->keys.cgroup_id };
	ret[3] = (struct name_of){ SONDE_NAME_POD_NAMESPACE, ev->keys.cgroup_id };
}

static void add_names(struct entry *e, const struct event *ev)
{
	struct name_of names[NAMES];

	names_of(ev, names);
	for (size_t i = 0; i < NAMES; i++) {
		const char *name = names[i].key ? event_names_get(ev->names, names[i].space, names[i].key) : NULL;

		buf_add(&e->bytes, name ? name : "", name ? strlen(name) + 1 : 1);
	}
	e->names_len = e->bytes.len - e->copy_len;
}

/* Points @ev to its names of then. */
static void set_names(struct hubble_ring *r, const struct entry *e, struct event *ev)
{
	const char *name = e->bytes.data + e->copy_len;
	struct name_of names[NAMES];

	names_of(ev, names);
	event_names_put_over(r->then, ev->names);
	for (size_t i = 0; i < NAMES; i++, name += strlen(name) + 1)
		if (names[i].key)
			event_names_set(r->then, names[i].space, names[i].key, name, strlen(name));
	ev->names = r->then;
}

int hubble_ring_add(struct hubble_ring *r, const struct event *ev, const struct buf *message)
{
	struct entry *e = entry_of(r, r->next);
	size_t copy_len = ev ? event_copy_size(ev) : 0;
	void *copy;

	buf_reset(&e->bytes);
	e->copy_len = e->names_len = 0;
	copy = buf_reserve(&e->bytes, copy_len + message->len);
	if (!copy || buf_error(message))
		return -ENOMEM;
	if (ev)
		event_copy_put(ev, copy);
	buf_commit(&e->bytes, copy_len);
	e->copy_len = copy_len;
	if (ev)
		add_names(e, ev);
	buf_add(&e->bytes, message->data, message->len);
	if (buf_error(&e->bytes))
		return -ENOMEM;
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

	*ret_len = e->bytes.len - e->copy_len - e->names_len;
	return e->bytes.data + e->copy_len + e->names_len;
}

bool hubble_ring_event(struct hubble_ring *r, uint64_t n, bool then, struct event *ret)
{
	const struct entry *e = entry_of(r, n);

	if (!e->copy_len)
		return false;
	arena_reset(&r->scratch);
	event_copy_get(e->bytes.data, &r->scratch, ret);
	if (then)
		set_names(r, e, ret);
	return true;
}

struct hubble_ring *hubble_ring_new(void)
{
	struct hubble_ring *r = calloc(1, sizeof(*r));

	if (r)
		r->then = event_names_new();
	if (r && r->then)
		return r;
	free(r);
	return NULL;
}

void hubble_ring_free(struct hubble_ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < HUBBLE_RING_ENTRIES; i++)
		buf_fini(&r->entries[i].bytes);
	arena_fini(&r->scratch);
	event_names_free(r->then);
	free(r);
}
