// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names in a recording, by module and address. A file is known by its build id or its inode, as in the mappings.
 */
#include "sym/recorded.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "event/event.h"
#include "sonde/symbol_wire.h"
#include "sym/texts.h"

#define RECORDED_MAX (1u << 20) /* locations */

enum { KEY_ID = 1, KEY_INODE, KEY_PROCESS, KEY_VDSO };

/* A location in a recording: its module as in the record, its address. */
struct recorded_key { uint64_t w[4], addr, caller; };

void recorded_init(struct sym *s)
{
	map_init(&s->recorded, sizeof(struct recorded_key), sizeof(struct sym_frame));
}

void recorded_fini(struct sym *s)
{
	map_fini(&s->recorded);
}

static void key_of_id(struct recorded_key *k, const uint8_t *id, size_t len)
{
	memset(k->w, 0, sizeof(k->w));
	memcpy(k->w, id, MIN(len, (size_t)20));
	k->w[3] = KEY_ID;
}

static void key_of_inode(struct recorded_key *k, uint32_t dev, uint64_t ino, uint32_t generation)
{
	k->w[0] = ino;
	k->w[1] = dev;
	k->w[2] = generation;
	k->w[3] = KEY_INODE;
}

static void key_of_other(struct recorded_key *k, bool vdso, uint32_t tgid, uint64_t start_ns)
{
	k->w[0] = vdso ? 0 : tgid;
	k->w[1] = vdso ? 0 : start_ns;
	k->w[2] = 0;
	k->w[3] = vdso ? KEY_VDSO : KEY_PROCESS;
}

static const char *take_text(struct sym *s, struct cursor *c, size_t len)
{
	const char *text = cur_bytes(c, len);

	return text && !memchr(text, 0, len) ? sym_texts_keep(s, text, len) : "";
}

static void take_func(struct sym *s, struct cursor *c, struct sym_func *ret)
{
	struct sonde_symbol_func w = { 0 };

	cur_copy(c, &w, sizeof(w));
	*ret = (struct sym_func){ .off = w.off, .start = w.start, .line = w.line };
	ret->name = take_text(s, c, w.name_len);
	ret->raw = w.raw_len ? take_text(s, c, w.raw_len) : ret->name;
	ret->file = take_text(s, c, w.file_len);
}

static int keep(struct sym *s, const struct recorded_key *k, const struct sym_frame *f)
{
	return k->w[3] && s->recorded.len < RECORDED_MAX ? map_put(&s->recorded, k, f) : 0;
}

/* A file with both identities is found by either. */
static int learn_location(struct sym *s, struct cursor *c, struct recorded_key keys[2])
{
	struct sonde_symbol_loc l = { 0 };
	struct sym_func *funcs = NULL;
	struct sym_frame f;
	int r = 0;

	cur_copy(c, &l, sizeof(l));
	if (cur_ok(c) && l.n_funcs)
		funcs = arena_alloc(&s->arena, l.n_funcs * sizeof(*funcs));
	if (l.n_funcs && !funcs)
		return cur_ok(c) ? -ENOMEM : -EBADMSG;
	for (unsigned i = 0; i < l.n_funcs; i++)
		take_func(s, c, &funcs[i]);
	if (!cur_ok(c))
		return -EBADMSG;
	f = (struct sym_frame){ .funcs = funcs, .n = l.n_funcs };
	for (unsigned i = 0; r >= 0 && i < 2; i++) {
		keys[i].addr = l.addr;
		keys[i].caller = !!l.caller;
		r = keep(s, &keys[i], &f);
	}
	return r;
}

int recorded_learn(struct sym *s, const struct event *ev)
{
	struct cursor c = cur_init(ev->body, ev->body_len);
	struct recorded_key keys[2] = { 0 };
	struct sonde_symbols_rec r;
	int ret = 0;

	if (s->o.live)
		return 0;
	if (!cur_copy(&c, (char *)&r + sizeof(r.hdr), sizeof(r) - sizeof(r.hdr)) ||
	    r.build_id_len > sizeof(r.build_id))
		return -EBADMSG;
	if (r.kind != SONDE_SYMBOLS_FILE)
		key_of_other(&keys[0], r.kind == SONDE_SYMBOLS_VDSO, ev->tgid, ev->start_ns);
	if (r.kind == SONDE_SYMBOLS_FILE && r.build_id_len)
		key_of_id(&keys[0], r.build_id, r.build_id_len);
	if (r.kind == SONDE_SYMBOLS_FILE && r.ino)
		key_of_inode(&keys[1], r.dev, r.ino, r.ino_generation);
	for (unsigned i = 0; ret >= 0 && i < r.n; i++)
		ret = learn_location(s, &c, keys);
	return ret;
}

const struct sym_frame *recorded_find(const struct sym *s, const struct module *m, uint64_t addr, bool caller)
{
	struct recorded_key k = { .addr = addr, .caller = caller };

	if (!s->recorded.len)
		return NULL;
	if (m->pub.kind != SYM_FILE)
		key_of_other(&k, m->pub.kind == SYM_VDSO, m->seen.key.tgid, m->seen.key.start_ns);
	else if (m->id_len)
		key_of_id(&k, m->id, m->id_len);
	else
		key_of_inode(&k, m->dev, m->ino, m->generation);
	return map_find(&s->recorded, &k);
}
