// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof profiles: the gzip-compressed protocol buffer of github.com/google/pprof, proto/profile.proto.
 *
 * Samples are counts and nanoseconds, innermost location first, inlined functions as lines of one location. The
 * mappings state that all names are present, so viewers need no symbol files. Comments report losses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "base/protobuf/protobuf.h"
#include "sinks/sink.h"

/* Field numbers by message. */
enum { P_SAMPLE_TYPE = 1, P_SAMPLE, P_MAPPING, P_LOCATION, P_FUNCTION, P_STRINGS, P_TIME = 9, P_DURATION,
       P_PERIOD_TYPE, P_PERIOD, P_COMMENT };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { S_LOCATION = 1, S_VALUE, S_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };
enum { M_ID = 1, M_START, M_LIMIT, M_OFFSET, M_FILE, M_BUILD_ID, M_FUNCTIONS, M_FILENAMES, M_LINES, M_INLINES };
enum { L_ID = 1, L_MAPPING, L_ADDRESS, L_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { F_ID = 1, F_NAME, F_SYSTEM_NAME, F_FILE };

struct text { const char *s; uint32_t next; };
struct func_key { uint32_t name, system, file, pad; };
struct loc_key { uint32_t module, func; uint64_t addr, caller; };	/* func: set for notes, else 0 */

/* Mapping of a module, collected from the samples. */
struct module {
	uint64_t weight;	/* samples whose outermost file frame is in it */
	uint64_t bias;		/* process address = module address + bias */
	uint32_t id;		/* in the profile; 0 = unused */
	bool filenames, lines, inlines;
};

struct writer {
	struct profile *p;
	const struct sink_opts *opts;
	struct stack_names *names;
	struct buf out, msg, sub;	/* the profile, a message, a nested message */
	struct map text_by_hash, func_by_key, loc_by_key;
	VEC(struct text) texts;
	struct buf funcs, locs;		/* encoded, appended after the samples */
	uint32_t n_funcs, n_locs;
	struct module *modules;
	size_t n_modules;
	struct arena arena;
	struct stack_frames frames;
	bool failed;			/* out of memory */
};

/* ---- strings, functions, locations: deduplicated ---- */

static uint32_t text_id(struct writer *w, const char *s)
{
	size_t len = strlen(s);
	uint64_t hash = map_hash(s, len);
	uint32_t *first;

	if (!len)
		return 0;
	first = map_add(&w->text_by_hash, &hash, NULL);
	for (uint32_t i = first ? *first : 0; i; i = w->texts.items[i].next)
		if (!strcmp(w->texts.items[i].s, s))
			return i;
	s = arena_copy(&w->arena, s, len);
	if (!first || !s || vec_grow(&w->texts) < 0) {
		w->failed = true;
		return 0;
	}
	w->texts.items[w->texts.len] = (struct text){ s, *first };
	*first = (uint32_t)w->texts.len;
	return (uint32_t)w->texts.len++;
}

static uint32_t func_id(struct writer *w, const char *name, const char *system, const char *file)
{
	const struct func_key key = { text_id(w, name), text_id(w, system), text_id(w, file), 0 };
	uint32_t *id = map_add(&w->func_by_key, &key, NULL);

	if (!id) {
		w->failed = true;
		return 0;
	}
	if (*id)
		return *id;
	*id = ++w->n_funcs;
	buf_reset(&w->sub);
	protobuf_uint(&w->sub, F_ID, *id);
	protobuf_uint(&w->sub, F_NAME, key.name);
	protobuf_uint(&w->sub, F_SYSTEM_NAME, key.system);
	protobuf_uint(&w->sub, F_FILE, key.file);
	protobuf_bytes(&w->funcs, P_FUNCTION, w->sub.data, w->sub.len);
	return *id;
}

static void put_line(struct writer *w, const struct stack_frame *f, struct buf *loc)
{
	const struct sym_func *fn = f->func;
	_cleanup_(buf_fini) struct buf line = { 0 };
	uint32_t id;

	if (f->unknown)
		return;	/* omit the line: it would need a function */
	id = fn ? func_id(w, f->name, fn->raw && *fn->raw ? fn->raw : f->name, fn->file ? fn->file : "")
		: func_id(w, f->name, f->name, "");
	protobuf_uint(&line, LINE_FUNCTION, id);
	protobuf_uint(&line, LINE_LINE, fn ? fn->line : 0);
	protobuf_bytes(loc, L_LINE, line.data, line.len);
	w->failed |= buf_error(&line) < 0;
}

static struct module *module_of(struct writer *w, const struct stack_frame *f)
{
	struct module *m = f->func && f->loc.module < w->n_modules ? &w->modules[f->loc.module] : NULL;

	return m && m->id ? m : NULL;
}

/* Location of frames[*i] with the frames inlined into it; *i advances to its last frame. */
static uint32_t location_id(struct writer *w, const struct stack_frames *frames, size_t *i)
{
	const struct stack_frame *f = &frames->items[*i];
	struct module *m = module_of(w, f);
	const struct loc_key key = {
		.module = f->func ? f->loc.module : 0, .func = f->func ? 0 : func_id(w, f->name, f->name, ""),
		.addr = f->func ? f->loc.addr : 0, .caller = f->caller,
	};
	uint32_t *id = map_add(&w->loc_by_key, &key, NULL);
	_cleanup_(buf_fini) struct buf loc = { 0 };
	size_t last = *i;

	while (frames->items[last].inlined && last + 1 < frames->len)
		last++;
	if (!id || *id) {
		w->failed |= !id;
		*i = last;
		return id ? *id : 0;
	}
	*id = ++w->n_locs;
	protobuf_uint(&loc, L_ID, *id);
	protobuf_uint(&loc, L_MAPPING, m ? m->id : 0);
	protobuf_uint(&loc, L_ADDRESS, m ? key.addr + m->bias : key.addr);
	for (; *i <= last; (*i)++) {
		const struct stack_frame *one = &frames->items[*i];

		put_line(w, one, &loc);
		if (m && one->func) {
			m->filenames |= one->func->file && *one->func->file;
			m->lines |= one->func->line != 0;
			m->inlines |= one->inlined;
		}
	}
	*i = last;
	protobuf_bytes(&w->locs, P_LOCATION, loc.data, loc.len);
	w->failed |= buf_error(&loc) < 0;
	return *id;
}

static uint32_t note_id(struct writer *w, const char *text)
{
	struct stack_frame note = { .name = text, .part = STACK_PART_NOTE };
	size_t i = 0;

	return location_id(w, &(struct stack_frames){ .items = &note, .len = 1 }, &i);
}

/* ---- mappings ---- */

static void note_modules(struct writer *w, const struct sym_loc *locs, uint32_t n, uint64_t weight)
{
	struct module *outermost = NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct sym_module *sm = sym_module(w->p->sym, locs[i].module);
		struct module *m = &w->modules[locs[i].module];

		if (sm->kind == SYM_UNKNOWN)
			continue;
		m->id = 1;
		m->bias = sm->kind == SYM_FILE ? sm->start - sm->offset : 0;
		if (sm->kind == SYM_FILE && !strstr(sm->path, ".so"))
			outermost = m;
	}
	if (outermost)
		outermost->weight += weight;
}

/* By convention the first mapping is the program: the outermost file of most samples. */
static size_t main_module(const struct writer *w)
{
	size_t best = 0;

	for (size_t i = 0; i < w->n_modules; i++)
		if (w->modules[i].weight > w->modules[best].weight)
			best = i;
	return best;
}

static int find_modules(struct writer *w)
{
	uint32_t id = 0;
	size_t first;

	w->n_modules = w->p->sym ? sym_n_modules(w->p->sym) : 0;
	w->modules = calloc(w->n_modules + 1, sizeof(*w->modules));
	if (!w->modules)
		return -ENOMEM;
	if (!w->n_modules)
		return 0;
	for (size_t i = 0; i < stack_set_len(w->p->set); i++) {
		const struct stack_entry *e = stack_set_at(w->p->set, i);

		if (!w->p->view.kernel_only)
			note_modules(w, e->user, e->n_user, e->count);
		if (!w->p->view.user_only)
			note_modules(w, e->kern, e->n_kern, 0);
	}
	first = main_module(w);
	if (w->modules[first].id)
		w->modules[first].id = ++id;
	for (size_t i = 0; i < w->n_modules; i++)
		if (i != first && w->modules[i].id)
			w->modules[i].id = ++id;
	return 0;
}

static void put_mapping(struct writer *w, size_t i)
{
	const struct sym_module *sm = sym_module(w->p->sym, (uint32_t)i);
	const struct module *m = &w->modules[i];

	buf_reset(&w->msg);
	protobuf_uint(&w->msg, M_ID, m->id);
	protobuf_uint(&w->msg, M_START, sm->start);
	protobuf_uint(&w->msg, M_LIMIT, sm->limit);
	protobuf_uint(&w->msg, M_OFFSET, sm->offset);
	protobuf_uint(&w->msg, M_FILE, text_id(w, sm->path));
	protobuf_uint(&w->msg, M_BUILD_ID, text_id(w, sm->build_id ? sm->build_id : ""));
	protobuf_uint(&w->msg, M_FUNCTIONS, true);
	protobuf_uint(&w->msg, M_FILENAMES, m->filenames);
	protobuf_uint(&w->msg, M_LINES, m->lines);
	protobuf_uint(&w->msg, M_INLINES, m->inlines);
	protobuf_bytes(&w->out, P_MAPPING, w->msg.data, w->msg.len);
}

static void put_mappings(struct writer *w)
{
	for (uint32_t id = 1; id <= w->n_modules; id++)
		for (size_t i = 0; i < w->n_modules; i++)
			if (w->modules[i].id == id)
				put_mapping(w, i);
}

/* ---- samples ---- */

static void put_label(struct writer *w, const char *key, const char *str, uint64_t num)
{
	if (!num && !*str)
		return;
	buf_reset(&w->sub);
	protobuf_uint(&w->sub, LABEL_KEY, text_id(w, key));
	protobuf_uint(&w->sub, LABEL_STR, text_id(w, str));
	protobuf_uint(&w->sub, LABEL_NUM, num);
	protobuf_bytes(&w->msg, S_LABEL, w->sub.data, w->sub.len);
}

/* Off-CPU lines split the time; the first one carries the count. */
static void put_values(struct writer *w, const struct stack_entry *e, const struct stack_line *l, bool first)
{
	_cleanup_(buf_fini) struct buf v = { 0 };

	protobuf_varint(&v, first ? e->count : 0);
	protobuf_varint(&v, w->p->view.weight == STACK_SAMPLES ? e->value : l->weight * 1000);
	protobuf_bytes(&w->msg, S_VALUE, v.data, v.len);
	w->failed |= buf_error(&v) < 0;
}

static int put_sample(struct writer *w, const struct stack_line *l, bool first)
{
	const struct stack_key *key = &l->entry->key;
	_cleanup_(buf_fini) struct buf ids = { 0 };
	char comm[17] = "";
	int r = stack_names_all(w->names, l->entry, &w->p->view, &w->frames);

	if (r < 0)
		return r;
	if (l->state)
		protobuf_varint(&ids, note_id(w, l->state));
	for (size_t i = 0; i < w->frames.len; i++)
		protobuf_varint(&ids, location_id(w, &w->frames, &i));
	memcpy(comm, key->comm, sizeof(key->comm));
	buf_reset(&w->msg);
	protobuf_bytes(&w->msg, S_LOCATION, ids.data, ids.len);
	put_values(w, l->entry, l, first);
	put_label(w, "pid", "", key->tgid);
	put_label(w, "tid", "", key->tid);
	put_label(w, "comm", comm, 0);
	put_label(w, "container", l->entry->container, 0);
	protobuf_bytes(&w->out, P_SAMPLE, w->msg.data, w->msg.len);
	return buf_error(&ids);
}

static int put_samples(struct writer *w)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < stack_set_len(w->p->set); i++) {
		struct stack_line lines[STACK_MAX_LINES];
		size_t n = stack_lines(stack_set_at(w->p->set, i), w->p->view.weight, lines);

		for (size_t j = 0; r >= 0 && j < n; j++)
			r = put_sample(w, &lines[j], j == 0);
	}
	return r;
}

/* ---- profile header and output ---- */

static void put_type(struct writer *w, uint32_t field, const char *type, const char *unit)
{
	buf_reset(&w->msg);
	protobuf_uint(&w->msg, TYPE_TYPE, text_id(w, type));
	protobuf_uint(&w->msg, TYPE_UNIT, text_id(w, unit));
	protobuf_bytes(&w->out, field, w->msg.data, w->msg.len);
}

static void put_comments(struct writer *w)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	char *rest, *line;

	buf_printf(&b, "sonde %s\n", SONDE_VERSION);
	if (w->opts->cmdline)
		buf_printf(&b, "command: %s\n", w->opts->cmdline);
	buf_add_str(&b, sinks_profile_losses(w->p));
	if (buf_add_char(&b, '\0') < 0) {
		w->failed = true;
		return;
	}
	for (rest = b.data; (line = strsep(&rest, "\n"));)
		if (*line)
			protobuf_uint(&w->out, P_COMMENT, text_id(w, line));
}

static void put_head(struct writer *w)
{
	const struct profile *p = w->p;
	bool events = p->view.event && !strcmp(p->view.event, "cycles");

	put_type(w, P_SAMPLE_TYPE, "samples", "count");
	put_type(w, P_SAMPLE_TYPE, sinks_profile_kind(p), events ? "cycles" : "nanoseconds");
	put_type(w, P_PERIOD_TYPE, sinks_profile_kind(p), events ? "cycles" : "nanoseconds");
	protobuf_uint(&w->out, P_PERIOD, p->view.period);
	if (p->clock_offset_ns)
		protobuf_uint(&w->out, P_TIME, p->first_ns + (uint64_t)p->clock_offset_ns);
	protobuf_uint(&w->out, P_DURATION, p->last_ns - p->first_ns);
}

static int build(struct writer *w)
{
	int r;

	if (vec_grow(&w->texts) < 0)
		return -ENOMEM;
	w->texts.items[w->texts.len++] = (struct text){ "", 0 };	/* string 0 is empty by definition */
	r = stack_names_new(w->p->set, w->p->sym, &w->names);
	if (r >= 0)
		r = find_modules(w);
	if (r < 0)
		return r;
	put_head(w);
	r = put_samples(w);
	put_mappings(w);
	put_comments(w);
	buf_add(&w->out, w->locs.data, w->locs.len);
	buf_add(&w->out, w->funcs.data, w->funcs.len);
	for (size_t i = 0; i < w->texts.len; i++)
		protobuf_bytes(&w->out, P_STRINGS, w->texts.items[i].s, strlen(w->texts.items[i].s));
	if (r >= 0 && (w->failed || buf_error(&w->msg) || buf_error(&w->sub) || buf_error(&w->funcs) ||
		       buf_error(&w->locs)))
		r = -ENOMEM;
	return r < 0 ? r : buf_error(&w->out);
}

/* A single member, RFC 1952, without name and time: equal profiles give equal bytes. */
static int gzip(const struct buf *in, struct buf *out)
{
	z_stream z = { .next_in = (Bytef *)in->data, .avail_in = (uInt)in->len };
	uLong bound;
	int r;

	if (in->len > UINT32_MAX / 2)
		return -EFBIG;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, in->len);
	z.next_out = buf_reserve(out, bound);
	z.avail_out = (uInt)bound;
	r = z.next_out && deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
	if (r == 0)
		buf_commit(out, z.total_out);
	deflateEnd(&z);
	return r;
}

static void writer_fini(struct writer *w)
{
	stack_names_free(w->names);
	buf_fini(&w->out);
	buf_fini(&w->msg);
	buf_fini(&w->sub);
	buf_fini(&w->funcs);
	buf_fini(&w->locs);
	map_fini(&w->text_by_hash);
	map_fini(&w->func_by_key);
	map_fini(&w->loc_by_key);
	vec_fini(&w->texts);
	vec_fini(&w->frames);
	free(w->modules);
	arena_fini(&w->arena);
}

static int pprof_close(struct sink *s)
{
	struct writer w = { .p = s->state, .opts = s->opts };
	_cleanup_(buf_fini) struct buf packed = { 0 };
	int r;

	w.p->view.delimiter = false;	/* for text formats only */
	map_init(&w.text_by_hash, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&w.func_by_key, sizeof(struct func_key), sizeof(uint32_t));
	map_init(&w.loc_by_key, sizeof(struct loc_key), sizeof(uint32_t));
	r = build(&w);
	if (r >= 0)
		r = gzip(&w.out, &packed);
	if (r >= 0)
		r = outfile_record(s->out, packed.data, packed.len);
	writer_fini(&w);
	sinks_profile_fini(s->state);
	return r;
}

const struct sink_ops pprof_sink = {
	.name = "pprof", .summary = "profile for go tool pprof and other viewers", .suffix = ".pb.gz",
	.flags = SINK_BINARY | SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS, .state_size = sizeof(struct profile),
	.open = sinks_profile_sink_open, .event = sinks_profile_sink_event, .close = pprof_close,
};
