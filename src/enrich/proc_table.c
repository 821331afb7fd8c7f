// SPDX-License-Identifier: GPL-2.0-or-later
#include "enrich/proc_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "event/event.h"

#define ENTRY_BYTES (sizeof(struct proc) + 64)	/* with its share of the maps */
#define LOOK_FOR_ENDED 64	/* entries looked at for an ended process before a running one is pushed out */

struct proc_table {
	struct map by_key;	/* struct proc_key -> struct proc * */
	struct map by_pid;	/* uint32_t tgid -> struct proc *, newest */
	struct proc *newest, *oldest;	/* by last use */
	size_t bytes, budget_bytes;
	uint64_t evicted;
};

struct proc_table *proc_table_new(size_t budget_bytes)
{
	struct proc_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	map_init(&t->by_key, sizeof(struct proc_key), sizeof(struct proc *));
	map_init(&t->by_pid, sizeof(uint32_t), sizeof(struct proc *));
	t->budget_bytes = budget_bytes;
	return t;
}

static void proc_free(struct proc *p)
{
	for (int i = 0; i < PROC_TEXT__MAX; i++)
		free(p->text[i]);
	free(p->section);
	free(p);
}

void proc_table_free(struct proc_table *t)
{
	if (!t)
		return;
	while (t->newest) {
		struct proc *p = t->newest;

		t->newest = p->older;
		proc_free(p);
	}
	map_fini(&t->by_key);
	map_fini(&t->by_pid);
	free(t);
}

static void unlink_use(struct proc_table *t, struct proc *p)
{
	*(p->newer ? &p->newer->older : &t->newest) = p->older;
	*(p->older ? &p->older->newer : &t->oldest) = p->newer;
}

static void link_newest(struct proc_table *t, struct proc *p)
{
	p->newer = NULL;
	p->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = p;
	t->newest = p;
}

static void touch(struct proc_table *t, struct proc *p)
{
	if (t->newest == p)
		return;
	unlink_use(t, p);
	link_newest(t, p);
}

static void add_bytes(struct proc_table *t, struct proc *p, size_t more, size_t less)
{
	p->bytes += more - less;
	t->bytes += more - less;
}

/* Newest start first, so that a late record of an earlier process takes its place in the chain. */
static void link_pid(struct proc **head, struct proc *p)
{
	while (*head && (*head)->key.start_ns > p->key.start_ns)
		head = &(*head)->older_same_pid;
	p->older_same_pid = *head;
	*head = p;
}

static void unlink_pid(struct proc_table *t, struct proc *p)
{
	struct proc **head = map_find(&t->by_pid, &p->key.tgid), **at = head;

	while (*at != p)
		at = &(*at)->older_same_pid;
	*at = p->older_same_pid;
	if (!*head)
		map_remove(&t->by_pid, &p->key.tgid);
}

static void drop(struct proc_table *t, struct proc *p)
{
	unlink_pid(t, p);
	map_remove(&t->by_key, &p->key);
	unlink_use(t, p);
	t->bytes -= p->bytes;
	proc_free(p);
}

struct proc *proc_table_add(struct proc_table *t, const struct proc_key *key)
{
	struct proc **slot = map_find(&t->by_key, key), **head;
	struct proc *p;

	if (slot) {
		touch(t, *slot);
		return *slot;
	}
	p = calloc(1, sizeof(*p));
	slot = p ? map_add(&t->by_key, key, NULL) : NULL;
	head = slot ? map_add(&t->by_pid, &key->tgid, NULL) : NULL;
	if (!head) {
		if (slot)
			map_remove(&t->by_key, key);
		free(p);
		return NULL;
	}
	p->key = *key;
	*slot = p;
	link_pid(head, p);
	link_newest(t, p);
	add_bytes(t, p, ENTRY_BYTES, 0);
	return p;
}

struct proc *proc_table_find(struct proc_table *t, const struct proc_key *key, uint64_t ts_ns)
{
	struct proc **slot, *p;

	if (key->start_ns) {
		slot = map_find(&t->by_key, key);
		p = slot ? *slot : NULL;
	} else {
		slot = map_find(&t->by_pid, &key->tgid);
		for (p = slot ? *slot : NULL; p && p->key.start_ns > ts_ns; p = p->older_same_pid)
			;
		if (p && p->exit_ns && p->exit_ns < ts_ns)
			p = NULL;
	}
	if (p)
		touch(t, p);
	return p;
}

void proc_changed(struct proc_table *t, struct proc *p)
{
	add_bytes(t, p, 0, p->section_len);
	free(p->section);
	p->section = NULL;
	p->section_len = 0;
}

int proc_set_text(struct proc_table *t, struct proc *p, enum proc_text which, const char *text, size_t len)
{
	char *copy = NULL;

	if (p->text_len[which] == len && (!len || !memcmp(p->text[which], text, len)))
		return 0;
	if (len) {
		copy = malloc(len);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, text, len);
	}
	add_bytes(t, p, len, p->text_len[which]);
	free(p->text[which]);
	p->text[which] = copy;
	p->text_len[which] = (uint32_t)len;
	proc_changed(t, p);
	return 0;
}

const void *proc_section(struct proc_table *t, struct proc *p, uint32_t *ret_len)
{
	struct sec_proc *s = p->section;
	uint32_t len = sizeof(*s), off = 0;

	if (s) {
		*ret_len = p->section_len;
		return s;
	}
	for (int i = 0; i < PROC_TEXT__MAX; i++)
		len += p->text_len[i];
	s = calloc(1, len);
	if (!s)
		return NULL;
	*s = (struct sec_proc){
		.start_ns = p->key.start_ns, .tgid = p->key.tgid, .ppid = p->ppid, .uid = p->uid, .gid = p->gid,
	};
	for (int i = 0; i < PROC_TEXT__MAX; i++) {
		struct sec_str *const strs[] = {
			[PROC_COMM] = &s->comm, [PROC_EXE] = &s->exe, [PROC_ARGS] = &s->args,
			[PROC_CONTAINER] = &s->container, [PROC_IMAGE] = &s->image,
		};

		*strs[i] = (struct sec_str){ .off = off, .len = p->text_len[i] };
		if (p->text_len[i])
			memcpy((char *)(s + 1) + off, p->text[i], p->text_len[i]);
		off += p->text_len[i];
	}
	p->section = s;
	p->section_len = len;
	add_bytes(t, p, len, 0);
	*ret_len = len;
	return s;
}

/* The least used process that has ended, if one is near the end of the list; else the least used one. */
static struct proc *victim(const struct proc_table *t)
{
	struct proc *p = t->oldest;

	for (int i = 0; p && i < LOOK_FOR_ENDED; i++, p = p->newer)
		if (p->exit_ns)
			return p;
	return t->oldest;
}

void proc_table_trim(struct proc_table *t, uint64_t before_ns)
{
	struct proc *p, *newer;

	for (p = t->oldest; p && p->exit_ns && p->exit_ns < before_ns; p = newer) {
		newer = p->newer;
		drop(t, p);
	}
	while (t->bytes > t->budget_bytes && t->oldest) {
		drop(t, victim(t));
		t->evicted++;
	}
}

size_t proc_table_len(const struct proc_table *t)
{
	return t->by_key.len;
}

uint64_t proc_table_evicted(const struct proc_table *t)
{
	return t->evicted;
}
