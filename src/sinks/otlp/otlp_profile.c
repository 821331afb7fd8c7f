// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_profile.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "sinks/otlp/otlp_calls.h"
#include "sinks/otlp/otlp_resource.h"
#include "sinks/otlp/otlp_tables.h"
#include "sinks/stack/profile.h"
#include "base/protobuf/protobuf.h"

/* Field numbers by message. */
enum { D_RESOURCES = 1, D_DICTIONARY };
enum { P_SAMPLE_TYPE = 1, P_SAMPLES, P_TIME, P_DURATION, P_PERIOD_TYPE, P_PERIOD };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { S_STACK = 1, S_ATTRIBUTES, S_LINK, S_VALUES };
enum { M_START = 1, M_LIMIT, M_OFFSET, M_FILE, M_ATTRIBUTES };
enum { L_MAPPING = 1, L_ADDRESS, L_LINES, L_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { STACK_LOCATIONS = 1 };

enum otlp_value { VALUE_SAMPLES, VALUE_TIME, VALUE__MAX };

struct process_key { uint64_t start_ns; uint32_t tgid, pad; };

struct process {
	const struct buf *resource;
	struct buf samples[VALUE__MAX];	/* P_SAMPLES fields */
};

struct writer {
	const struct profile *p;
	const struct otlp_calls *calls;
	struct otlp_tables tables;
	/* lint-ok(tables): samples of the message at hand by resource */
	struct map by_key;	/* struct process_key -> u32 index + 1 */
	VEC(struct process) processes;
	struct stack_names *names;
	struct stack_frames frames;
	VEC(uint32_t) stack;	/* locations of the stack at hand */
	struct buf msg, sub, line;
	size_t n_samples;
};

/* ---- locations ---- */

/* "main.go": the language is in the name of the file. */
static const char *frame_type(const struct writer *w, const struct stack_frame *f)
{
	size_t len = f->func && f->func->file ? strlen(f->func->file) : 0;

	if (!f->func || f->part == STACK_PART_NOTE)
		return "";
	if (f->part == STACK_PART_KERN)
		return "kernel";
	if (len > 3 && !strcmp(f->func->file + len - 3, ".go"))
		return "go";
	return w->p->sym && sym_module(w->p->sym, f->loc.module)->kind == SYM_JIT ? "" : "native";
}

/* 0: notes, and addresses outside all mappings. @ret_bias: process address - module address. */
static uint32_t mapping_of(struct writer *w, const struct stack_frame *f, uint64_t *ret_bias)
{
	const struct sym_module *m = f->func && w->p->sym ? sym_module(w->p->sym, f->loc.module) : NULL;
	uint32_t build_id;

	*ret_bias = 0;
	if (!m || m->kind == SYM_UNKNOWN)
		return 0;
	*ret_bias = m->kind == SYM_FILE ? m->start - m->offset : 0;
	build_id = otlp_tables_attribute(&w->tables, "process.executable.build_id.gnu",
					 m->build_id ? m->build_id : "");
	buf_reset(&w->sub);
	protobuf_uint(&w->sub, M_START, m->start);
	protobuf_uint(&w->sub, M_LIMIT, m->limit);
	protobuf_uint(&w->sub, M_OFFSET, m->offset);
	protobuf_uint(&w->sub, M_FILE, otlp_tables_string(&w->tables, m->path));
	otlp_tables_indices(&w->sub, M_ATTRIBUTES, &build_id, 1);
	w->tables.failed |= buf_error(&w->sub) < 0;
	return otlp_tables_add(&w->tables, OTLP_TABLE_MAPPING, w->sub.data, w->sub.len);
}

static void put_line(struct writer *w, const struct stack_frame *f, struct buf *location)
{
	const struct sym_func *fn = f->func;
	const char *raw = fn && fn->raw && *fn->raw ? fn->raw : f->name;

	if (f->unknown)
		return;	/* it would need a function */
	buf_reset(&w->line);
	protobuf_uint(&w->line, LINE_FUNCTION,
		      otlp_tables_function(&w->tables, f->name, raw, fn && fn->file ? fn->file : ""));
	protobuf_uint(&w->line, LINE_LINE, fn ? fn->line : 0);
	protobuf_bytes(location, L_LINES, w->line.data, w->line.len);
	w->tables.failed |= buf_error(&w->line) < 0;
}

/* Location of frames[*i] with the frames inlined into it; *i advances to its last frame. */
static uint32_t location_of(struct writer *w, size_t *i)
{
	const struct stack_frame *f = &w->frames.items[*i];
	uint64_t bias;
	const uint32_t mapping = mapping_of(w, f, &bias);
	const uint32_t type = otlp_tables_attribute(&w->tables, "profile.frame.type", frame_type(w, f));
	const uint64_t addr = f->func ? f->loc.addr + bias : 0;

	buf_reset(&w->msg);
	protobuf_uint(&w->msg, L_MAPPING, mapping);
	protobuf_uint(&w->msg, L_ADDRESS, addr);
	put_line(w, f, &w->msg);
	while (w->frames.items[*i].inlined && *i + 1 < w->frames.len)
		put_line(w, &w->frames.items[++*i], &w->msg);
	otlp_tables_indices(&w->msg, L_ATTRIBUTES, &type, 1);
	w->tables.failed |= buf_error(&w->msg) < 0;
	return otlp_tables_add(&w->tables, OTLP_TABLE_LOCATION, w->msg.data, w->msg.len);
}

static int add_location(struct writer *w, uint32_t location)
{
	if (vec_grow(&w->stack) < 0)
		return -ENOMEM;
	w->stack.items[w->stack.len++] = location;
	return 0;
}

static uint32_t note_of(struct writer *w, const char *text)
{
	buf_reset(&w->msg);
	buf_reset(&w->line);
	protobuf_uint(&w->line, LINE_FUNCTION, otlp_tables_function(&w->tables, text, text, ""));
	protobuf_bytes(&w->msg, L_LINES, w->line.data, w->line.len);
	w->tables.failed |= buf_error(&w->line) < 0 || buf_error(&w->msg) < 0;
	return otlp_tables_add(&w->tables, OTLP_TABLE_LOCATION, w->msg.data, w->msg.len);
}

/* Index of the stack of a line, innermost location first. */
static int stack_of(struct writer *w, const struct stack_line *l, uint32_t *ret)
{
	int r = stack_names_all(w->names, l->entry, &w->p->view, &w->frames);

	w->stack.len = 0;
	if (r >= 0 && l->state)
		r = add_location(w, note_of(w, l->state));
	for (size_t i = 0; r >= 0 && i < w->frames.len; i++)
		r = add_location(w, location_of(w, &i));
	if (r < 0)
		return r;
	buf_reset(&w->msg);
	otlp_tables_indices(&w->msg, STACK_LOCATIONS, w->stack.items, w->stack.len);
	w->tables.failed |= buf_error(&w->msg) < 0;
	*ret = otlp_tables_add(&w->tables, OTLP_TABLE_STACK, w->msg.data, w->msg.len);
	return 0;
}

/* ---- samples ---- */

static void put_sample(struct writer *w, const struct stack_key *key, uint32_t stack, uint64_t value, struct buf *out)
{
	const struct otlp_span_ids *ids = otlp_calls_find(w->calls, key->call);
	char comm[sizeof(key->comm) + 1] = "";
	uint32_t attributes[3], link;

	if (!value)
		return;
	link = ids ? otlp_tables_link(&w->tables, ids) : 0;
	memcpy(comm, key->comm, sizeof(key->comm));
	attributes[0] = otlp_tables_attribute_number(&w->tables, "thread.id", key->tid);
	attributes[1] = otlp_tables_attribute(&w->tables, "thread.name", comm);
	attributes[2] = otlp_tables_attribute_number(&w->tables, "cpu.logical_number", key->cpu);
	buf_reset(&w->msg);
	buf_reset(&w->sub);
	protobuf_uint(&w->msg, S_STACK, stack);
	otlp_tables_indices(&w->msg, S_ATTRIBUTES, attributes, ARRAY_SIZE(attributes));
	protobuf_uint(&w->msg, S_LINK, link);
	protobuf_varint(&w->sub, value);
	protobuf_bytes(&w->msg, S_VALUES, w->sub.data, w->sub.len);
	protobuf_bytes(out, P_SAMPLES, w->msg.data, w->msg.len);
	w->tables.failed |= buf_error(&w->msg) < 0 || buf_error(&w->sub) < 0;
	w->n_samples++;
}

/* NULL without memory. */
static struct process *process_of(struct writer *w, const struct stack_key *key, otlp_profile_resource_fn resource,
				  void *ctx)
{
	const struct process_key k = { .start_ns = key->start_ns, .tgid = key->tgid };
	uint32_t *index = map_add(&w->by_key, &k, NULL);

	if (index && *index)
		return &w->processes.items[*index - 1];
	if (!index || vec_grow(&w->processes) < 0)
		return NULL;
	w->processes.items[w->processes.len] = (struct process){ .resource = resource(ctx, key) };
	*index = (uint32_t)++w->processes.len;
	return &w->processes.items[*index - 1];
}

/* Lines are in us, values in ns; two lines of an entry are its time without the wait for a CPU, and that wait. */
static uint64_t time_of(const struct stack_entry *e, size_t line, size_t n)
{
	if (n < 2)
		return e->value;
	return line ? e->wait : e->value - e->wait;
}

/* The first line carries the count. */
static int put_entry(struct writer *w, const struct stack_entry *e, struct process *p)
{
	struct stack_line lines[STACK_MAX_LINES];
	size_t n = stack_lines(e, w->p->view.weight, lines);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		uint32_t stack = 0;

		r = stack_of(w, &lines[i], &stack);
		if (r < 0)
			break;
		put_sample(w, &e->key, stack, i ? 0 : e->count, &p->samples[VALUE_SAMPLES]);
		put_sample(w, &e->key, stack, time_of(e, i, n), &p->samples[VALUE_TIME]);
	}
	return r;
}

/* ---- profiles ---- */

static void put_type(struct writer *w, struct buf *out, uint32_t field, const char *type, const char *unit)
{
	buf_reset(&w->sub);
	protobuf_uint(&w->sub, TYPE_TYPE, otlp_tables_string(&w->tables, type));
	protobuf_uint(&w->sub, TYPE_UNIT, otlp_tables_string(&w->tables, unit));
	protobuf_bytes(out, field, w->sub.data, w->sub.len);
	w->tables.failed |= buf_error(&w->sub) < 0;
}

/* A Profile as an item of its scope. */
static void put_profile(struct writer *w, const struct buf *samples, enum otlp_value value, struct buf *items)
{
	const struct profile *p = w->p;
	const char *unit = p->view.event && !strcmp(p->view.event, "cycles") ? "cycles" : "nanoseconds";

	buf_reset(&w->msg);
	if (value == VALUE_SAMPLES)
		put_type(w, &w->msg, P_SAMPLE_TYPE, "samples", "count");
	else
		put_type(w, &w->msg, P_SAMPLE_TYPE, sinks_profile_kind(p), unit);
	buf_add(&w->msg, samples->data, samples->len);
	if (p->clock_offset_ns)
		protobuf_fixed64(&w->msg, P_TIME, p->first_ns + (uint64_t)p->clock_offset_ns);
	protobuf_uint(&w->msg, P_DURATION, p->last_ns - p->first_ns);
	put_type(w, &w->msg, P_PERIOD_TYPE, sinks_profile_kind(p), unit);
	protobuf_uint(&w->msg, P_PERIOD, p->view.period);
	protobuf_bytes(items, OTLP_FIELD_ITEMS, w->msg.data, w->msg.len);
	w->tables.failed |= buf_error(&w->msg) < 0 || buf_error(samples) < 0;
}

static void put_process(struct writer *w, const struct process *p, struct buf *out)
{
	static const struct buf none;
	struct buf items = { 0 }, all = { 0 };

	for (unsigned i = 0; i < VALUE__MAX; i++)
		if (p->samples[i].len)
			put_profile(w, &p->samples[i], i, &items);
	otlp_resource_put(&all, p->resource ? p->resource : &none, &items);
	protobuf_bytes(out, D_RESOURCES, all.data, all.len);
	if (buf_error(&all))
		out->error = -ENOMEM;
	buf_fini(&items);
	buf_fini(&all);
}

static int build(struct writer *w, otlp_profile_resource_fn resource, void *ctx, struct buf *out)
{
	struct buf dictionary = { 0 };
	int r = stack_names_new(w->p->set, w->p->sym, &w->names);

	for (size_t i = 0; r >= 0 && i < stack_set_len(w->p->set); i++) {
		const struct stack_entry *e = stack_set_at(w->p->set, i);
		struct process *p = process_of(w, &e->key, resource, ctx);

		r = p ? put_entry(w, e, p) : -ENOMEM;
	}
	for (size_t i = 0; i < w->processes.len; i++)
		put_process(w, &w->processes.items[i], out);
	otlp_tables_put(&w->tables, &dictionary);
	protobuf_bytes(out, D_DICTIONARY, dictionary.data, dictionary.len);
	if (buf_error(&dictionary) || w->tables.failed)
		out->error = -ENOMEM;
	buf_fini(&dictionary);
	return r < 0 ? r : buf_error(out);
}

static void writer_fini(struct writer *w)
{
	for (size_t i = 0; i < w->processes.len; i++)
		for (unsigned k = 0; k < VALUE__MAX; k++)
			buf_fini(&w->processes.items[i].samples[k]);
	vec_fini(&w->processes);
	vec_fini(&w->frames);
	vec_fini(&w->stack);
	stack_names_free(w->names);
	map_fini(&w->by_key);
	otlp_tables_fini(&w->tables);
	buf_fini(&w->msg);
	buf_fini(&w->sub);
	buf_fini(&w->line);
}

int otlp_profile(const struct profile *p, const struct otlp_calls *calls, otlp_profile_resource_fn resource,
		 void *ctx, struct buf *out, size_t *ret_samples)
{
	struct writer w = { .p = p, .calls = calls };
	int r;

	buf_reset(out);
	map_init(&w.by_key, sizeof(struct process_key), sizeof(uint32_t));
	r = otlp_tables_init(&w.tables);
	if (r >= 0)
		r = build(&w, resource, ctx, out);
	*ret_samples = w.n_samples;
	writer_fini(&w);
	return r;
}
