// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/copy.h"

#include <string.h>

#include "event/event.h"

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t event_copy_size(const struct event *ev)
{
	size_t n = align8(sizeof(*ev)) + align8(ev->body_len);

	for (unsigned i = 0; i < ev->n_sec; i++)
		n += align8(ev->sec[i].len);
	return n;
}

void event_copy_put(const struct event *ev, void *to)
{
	struct event *copy = to;
	char *at = (char *)to + align8(sizeof(*copy));

	*copy = *ev;
	copy->view = NULL;
	copy->scratch = NULL;
	memcpy(at, ev->body, ev->body_len);
	at += align8(ev->body_len);
	for (unsigned i = 0; i < ev->n_sec; i++) {
		memcpy(at, ev->sec[i].data, ev->sec[i].len);
		at += align8(ev->sec[i].len);
	}
}

void event_copy_get(const void *copy, struct arena *scratch, struct event *ret)
{
	const char *at = (const char *)copy + align8(sizeof(*ret));

	memcpy(ret, copy, sizeof(*ret));
	ret->scratch = scratch;
	ret->body = at;
	at += align8(ret->body_len);
	for (unsigned i = 0; i < ret->n_sec; i++) {
		ret->sec[i].data = at;
		at += align8(ret->sec[i].len);
	}
}
