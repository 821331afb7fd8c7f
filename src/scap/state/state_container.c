// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Containers: the id from the paths of cgroups, and what container events say in JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "container/container.h"
#include "container/container_file.h"
#include "scap/state/state.h"
#include "scap/state/state_tables.h"

#define ID_SHOWN 12	/* digits, as sysdig and the engines print it */
#define CONTAINERS_MAX 65536u

bool scap_state_container_id(const char *cgroups, size_t len, char *ret)
{
	char path[PATH_BYTES_MAX];

	for (size_t i = 0; i < len;) {
		size_t one = strnlen(cgroups + i, len - i);
		const char *eq = memchr(cgroups + i, '=', one);
		size_t from = eq ? (size_t)(eq - cgroups) + 1 : i, n = i + one - from;

		if (n < sizeof(path)) {
			memcpy(path, cgroups + from, n);
			path[n] = '\0';
			if (container_from_cgroup(path, ret))
				return true;
		}
		i += one + 1;
	}
	return false;
}

struct scap_str *state_container_of_cgroups(struct scap_state *st, const char *cgroups, size_t len)
{
	char id[CONTAINER_ID_MAX];

	return scap_state_container_id(cgroups, len, id) ? state_str_new(st, id, MIN(strlen(id), (size_t)ID_SHOWN))
							 : NULL;
}

/* ---- a look into the event's JSON: the strings of its one object, whatever stands around them ---- */

/* One JSON string at the cursor, escapes resolved as far as a name needs it. False when it is none. */
static bool read_string(struct cursor *c, struct buf *out)
{
	buf_reset(out);
	if (cur_u8(c) != '"')
		return false;
	for (;;) {
		uint8_t ch = cur_u8(c);

		if (!cur_ok(c))
			return false;
		if (ch == '"')
			return true;
		if (ch == '\\') {
			ch = cur_u8(c);
			if (ch == 'u') {
				cur_skip(c, 4);
				ch = '?';
			}
		}
		buf_add_char(out, (char)ch);
	}
}

static void skip_blanks(struct cursor *c)
{
	while (cur_left(c) && strchr(" \t\r\n:", cur_peek(c, 0)))
		cur_skip(c, 1);
}

static bool is_word(const struct buf *b, const char *word)
{
	return b->len == strlen(word) && !memcmp(b->data, word, b->len);
}

static void take_member(struct scap_state *st, struct scap_container *ct, const struct buf *key,
			const struct buf *val)
{
	struct { const char *word; struct scap_str **slot; } const strings[] = {
		{ "id", &ct->id }, { "name", &ct->name }, { "image", &ct->image }, { "imageid", &ct->image_id },
		{ "imagerepo", &ct->repo }, { "imagetag", &ct->tag }, { "imagedigest", &ct->digest },
	};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		if (is_word(key, strings[i].word) && !*strings[i].slot)
			*strings[i].slot = state_str_new(st, val->data ? val->data : "", val->len);
}

/* Unquoted values: numbers and booleans. */
static void take_bare(struct scap_state *st, struct scap_container *ct, const struct buf *key, struct cursor c)
{
	/* By libscap's number. */
	static const char *const types[] = {
		"docker", "lxc", "libvirt-lxc", "mesos", "rkt", "custom", "cri", "containerd", "cri-o", "bpm",
		"static", "podman",
	};
	unsigned n = 0;

	if (is_word(key, "privileged"))
		ct->privileged = cur_peek(&c, 0) == 't' ? 2 : 1;
	if (!is_word(key, "type") || ct->type || cur_peek(&c, 0) < '0' || cur_peek(&c, 0) > '9')
		return;
	while (cur_peek(&c, 0) >= '0' && cur_peek(&c, 0) <= '9' && n < 1000)
		n = n * 10 + (cur_u8(&c) - '0');
	if (n < ARRAY_SIZE(types))
		ct->type = state_str_new(st, types[n], strlen(types[n]));
}

/* ---- mounts: {"container":{"Mounts":[{...}, ...]}} ---- */

enum mount_part { MOUNT_SOURCE, MOUNT_DEST, MOUNT_MODE, MOUNT_RDWR, MOUNT_PROPAGATION, MOUNT_PART__MAX };

#define MOUNT_DEPTH 4	/* brackets around a mount's members */

struct mounts {
	struct buf part[MOUNT_PART__MAX];	/* of the mount at hand */
	struct buf all;				/* as sysdig writes them */
	bool inside;				/* the last member of the container is them */
};

static void mounts_fini(struct mounts *m)
{
	for (size_t i = 0; i < MOUNT_PART__MAX; i++)
		buf_fini(&m->part[i]);
	buf_fini(&m->all);
}

static void mount_member(struct mounts *m, const struct buf *key, const char *val, size_t len)
{
	static const char *const words[MOUNT_PART__MAX] = {
		[MOUNT_SOURCE] = "Source", [MOUNT_DEST] = "Destination", [MOUNT_MODE] = "Mode", [MOUNT_RDWR] = "RW",
		[MOUNT_PROPAGATION] = "Propagation",
	};

	for (size_t i = 0; i < MOUNT_PART__MAX; i++) {
		if (!is_word(key, words[i]))
			continue;
		buf_reset(&m->part[i]);
		buf_add(&m->part[i], val, len);
	}
}

static void mount_ends(struct mounts *m)
{
	if (m->all.len)
		buf_add_char(&m->all, ',');
	for (size_t i = 0; i < MOUNT_PART__MAX; i++) {
		if (i)
			buf_add_char(&m->all, ':');
		buf_add(&m->all, m->part[i].data, m->part[i].len);
		buf_reset(&m->part[i]);
	}
}

static void bare_member(struct scap_state *st, struct scap_container *ct, struct mounts *m, int depth,
			const struct buf *key, struct cursor c)
{
	if (depth == 2)
		take_bare(st, ct, key, c);
	else if (depth == MOUNT_DEPTH && m->inside && cur_peek(&c, 0) == 't')
		mount_member(m, key, "true", strlen("true"));
	else if (depth == MOUNT_DEPTH && m->inside)
		mount_member(m, key, "false", strlen("false"));
}

/* Members of {"container":{...}} and of its mounts: what is deeper otherwise belongs to labels and the like. */
static void read_json(struct scap_state *st, struct cursor c, struct scap_container *ct)
{
	struct buf key = { 0 }, val = { 0 };
	struct mounts m = { 0 };
	int depth = 0;

	while (cur_left(&c)) {
		uint8_t ch = cur_peek(&c, 0);

		if (ch != '"') {
			if (ch == '}' && depth == MOUNT_DEPTH && m.inside)
				mount_ends(&m);
			depth += (ch == '{' || ch == '[') - (ch == '}' || ch == ']');
			cur_skip(&c, 1);
			continue;
		}
		if (!read_string(&c, &key))
			break;
		skip_blanks(&c);
		if (depth == 2)
			m.inside = is_word(&key, "Mounts");
		if (cur_peek(&c, 0) != '"')
			bare_member(st, ct, &m, depth, &key, c);
		else if (depth == 2 && read_string(&c, &val))
			take_member(st, ct, &key, &val);
		else if (depth == MOUNT_DEPTH && m.inside && read_string(&c, &val))
			mount_member(&m, &key, val.data, val.len);
	}
	ct->mounts = m.all.len ? state_str_new(st, m.all.data, m.all.len) : NULL;
	mounts_fini(&m);
	buf_fini(&key);
	buf_fini(&val);
}

void state_container_free(struct scap_state *st, struct scap_container *ct)
{
	state_str_unref(st, ct->id);
	state_str_unref(st, ct->name);
	state_str_unref(st, ct->image);
	state_str_unref(st, ct->type);
	state_str_unref(st, ct->image_id);
	state_str_unref(st, ct->repo);
	state_str_unref(st, ct->tag);
	state_str_unref(st, ct->digest);
	state_str_unref(st, ct->mounts);
	state_str_unref(st, ct->json);
}

void state_container_fold(struct scap_state *st, const struct params *p)
{
	struct scap_container ct = { 0 }, *old;
	size_t len;
	const char *json = params_str(p, 0, &len);

	if (!json)
		return;
	read_json(st, cur_init(json, len), &ct);
	ct.json = ct.id ? state_str_new(st, json, len) : NULL;
	old = ct.id ? (struct scap_container *)scap_state_container(st, ct.id) : NULL;
	if (old) {
		state_container_free(st, old);
		*old = ct;
		st->last_container = ct.id;
		return;
	}
	if (!ct.id || st->containers.len >= CONTAINERS_MAX || vec_grow(&st->containers) < 0) {
		state_container_free(st, &ct);
		return;
	}
	st->containers.items[st->containers.len++] = ct;
	st->last_container = ct.id;
}

const struct scap_str *scap_state_last_container(const struct scap_state *st)
{
	return st->last_container;
}

const struct scap_container *scap_state_container(const struct scap_state *st, const struct scap_str *id)
{
	for (size_t i = 0; id && i < st->containers.len; i++)
		if (st->containers.items[i].id && !strcmp(st->containers.items[i].id->data, id->data))
			return &st->containers.items[i];
	return NULL;
}
