// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two generations: when the younger one is full, it becomes the older one, whose calls are forgotten.
 */
#include "state/state_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "event/event.h"
#include "state/state_tables.h"

#define CALLS_MAX 16384		/* of a generation */
#define TEXT_MAX 1024		/* bytes of a string */

struct call {
	struct sec_call *section;	/* owned */
	uint32_t len;
};

static void init(struct map *m)
{
	map_init(m, sizeof(uint64_t), sizeof(struct call));
}

static void fini(struct map *m)
{
	void *key, *call;
	size_t pos = 0;

	while (map_next(m, &pos, &key, &call))
		free(((struct call *)call)->section);
	map_fini(m);
}

void state_call_init(struct state *s)
{
	init(&s->calls[0]);
	init(&s->calls[1]);
}

void state_call_fini(struct state *s)
{
	fini(&s->calls[0]);
	fini(&s->calls[1]);
}

static const struct call *find(const struct state *s, uint64_t number)
{
	const struct call *call = map_find(&s->calls[0], &number);

	return call ? call : map_find(&s->calls[1], &number);
}

static void make_room(struct state *s)
{
	if (s->calls[0].len < CALLS_MAX)
		return;
	fini(&s->calls[1]);
	s->calls[1] = s->calls[0];
	init(&s->calls[0]);
}

int state_call_learn(struct state *s, uint64_t number, const char *method, size_t method_len, const char *path,
		size_t path_len)
{
	struct sec_call *section;
	struct call *call;

	if (find(s, number))
		return 0;
	make_room(s);
	method_len = MIN(method_len, (size_t)TEXT_MAX);
	path_len = MIN(path_len, (size_t)TEXT_MAX);
	section = malloc(sizeof(*section) + method_len + path_len);
	call = section ? map_add(&s->calls[0], &number, NULL) : NULL;
	if (!call) {
		free(section);
		return -ENOMEM;
	}
	*section = (struct sec_call){
		.method = { .off = 0, .len = (uint32_t)method_len },
		.path = { .off = (uint32_t)method_len, .len = (uint32_t)path_len },
	};
	if (method_len)
		memcpy(section + 1, method, method_len);
	if (path_len)
		memcpy((char *)(section + 1) + method_len, path, path_len);
	*call = (struct call){ .section = section, .len = (uint32_t)(sizeof(*section) + method_len + path_len) };
	return 0;
}

const void *state_call_find(const struct state *s, uint64_t number, uint32_t *ret_len)
{
	const struct call *call = find(s, number);

	if (!call)
		return NULL;
	*ret_len = call->len;
	return call->section;
}
