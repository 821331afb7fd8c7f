// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two generations: when the younger one is full, it becomes the older one, whose calls are forgotten.
 */
#include "enrich/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "event/event.h"

#define CALLS_MAX 16384		/* of a generation */
#define TEXT_MAX 1024		/* bytes of a string */

struct call {
	struct sec_call *section;	/* owned */
	uint32_t len;
};

struct calls {
	struct map of[2];	/* number -> struct call; the younger generation first */
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

struct calls *calls_new(void)
{
	struct calls *c = calloc(1, sizeof(*c));

	for (size_t i = 0; c && i < ARRAY_SIZE(c->of); i++)
		init(&c->of[i]);
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(c->of); i++)
		fini(&c->of[i]);
	free(c);
}

static const struct call *find(const struct calls *c, uint64_t number)
{
	const struct call *call = map_find(&c->of[0], &number);

	return call ? call : map_find(&c->of[1], &number);
}

static void make_room(struct calls *c)
{
	if (c->of[0].len < CALLS_MAX)
		return;
	fini(&c->of[1]);
	c->of[1] = c->of[0];
	init(&c->of[0]);
}

int calls_learn(struct calls *c, uint64_t number, const char *method, size_t method_len, const char *path,
		size_t path_len)
{
	struct sec_call *s;
	struct call *call;

	if (find(c, number))
		return 0;
	make_room(c);
	method_len = MIN(method_len, (size_t)TEXT_MAX);
	path_len = MIN(path_len, (size_t)TEXT_MAX);
	s = malloc(sizeof(*s) + method_len + path_len);
	call = s ? map_add(&c->of[0], &number, NULL) : NULL;
	if (!call) {
		free(s);
		return -ENOMEM;
	}
	*s = (struct sec_call){
		.method = { .off = 0, .len = (uint32_t)method_len },
		.path = { .off = (uint32_t)method_len, .len = (uint32_t)path_len },
	};
	if (method_len)
		memcpy(s + 1, method, method_len);
	if (path_len)
		memcpy((char *)(s + 1) + method_len, path, path_len);
	*call = (struct call){ .section = s, .len = (uint32_t)(sizeof(*s) + method_len + path_len) };
	return 0;
}

const void *calls_find(const struct calls *c, uint64_t number, uint32_t *ret_len)
{
	const struct call *call = find(c, number);

	if (!call)
		return NULL;
	*ret_len = call->len;
	return call->section;
}
