// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/state_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "state/state_tables.h"

#define ENTRY_BYTES 64	/* of the index and of the allocator, per file */

struct file_key {
	uint64_t number;
	uint64_t instance;
};

struct file {
	struct list age;
	struct file_key key;
	uint32_t len;
	bool used;		/* since the last search for room */
	_Alignas(8) char data[];
};

static struct file *find(struct state_files *t, const struct file_key *key)
{
	if (t->recent && t->recent->key.number == key->number && t->recent->key.instance == key->instance)
		return t->recent;
	return t->recent = map_find_ptr(&t->by_number, key);
}

static size_t bytes_of(const struct file *f)
{
	return sizeof(*f) + f->len + ENTRY_BYTES;
}

static void forget(struct state_files *t, struct file *f)
{
	t->recent = NULL;
	list_remove(&f->age);
	map_remove(&t->by_number, &f->key);
	t->bytes -= bytes_of(f);
	free(f);
}

static struct file *oldest(struct state_files *t)
{
	struct list *a = list_first(&t->files);

	return a ? container_of(a, struct file, age) : NULL;
}

/* The first file without a question since the last round. */
static struct file *choose(struct state_files *t)
{
	struct file *f;

	while ((f = oldest(t)) && f->used) {
		f->used = false;
		list_remove(&f->age);
		list_add(&t->files, &f->age);
	}
	return f;
}

static void make_room(struct state_files *t, size_t len)
{
	struct file *f;

	while (t->bytes + sizeof(*f) + len + ENTRY_BYTES > t->budget_bytes && (f = choose(t))) {
		state_evicted_add(&t->evicted, map_hash(&f->key, sizeof(f->key)));
		forget(t, f);
	}
}

int state_file_set(struct state *s, uint16_t instance, uint64_t number, const void *data, uint32_t len)
{
	const struct file_key key = { .number = number, .instance = instance };
	struct state_files *t = &s->files;
	struct file *f = find(t, &key);

	if (f)
		forget(t, f);
	make_room(t, len);
	f = malloc(sizeof(*f) + len);
	if (!f || map_put(&t->by_number, &key, &f) < 0) {
		free(f);
		return -ENOMEM;
	}
	f->key = key;
	f->len = len;
	f->used = false;
	memcpy(f->data, data, len);
	list_add(&t->files, &f->age);
	t->bytes += bytes_of(f);
	return 0;
}

int state_file_find(struct state *s, uint16_t instance, uint64_t number, const void **ret, uint32_t *ret_len)
{
	const struct file_key key = { .number = number, .instance = instance };
	struct file *f = find(&s->files, &key);

	if (!f)
		return state_evicted_has(&s->files.evicted, map_hash(&key, sizeof(key))) ? -ESTALE : -ENOENT;
	f->used = true;
	*ret = f->data;
	*ret_len = f->len;
	return 0;
}

void state_file_init(struct state *s, size_t budget_bytes)
{
	struct state_files *t = &s->files;

	map_init(&t->by_number, sizeof(struct file_key), sizeof(struct file *));
	list_init(&t->files);
	t->budget_bytes = budget_bytes;
}

void state_file_fini(struct state *s)
{
	struct state_files *t = &s->files;
	struct file *f;

	while ((f = oldest(t)))
		forget(t, f);
	map_fini(&t->by_number);
}
