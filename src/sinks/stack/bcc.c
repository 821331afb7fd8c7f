// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of bcc's profile(8): one paragraph per stack, the most frequent last. Frames are innermost first, kernel
 * before user, as "function+0xoffset [module]"; thread and count follow.
 *
 * Source of the format: tools/profile.py of bcc 0.31 and later.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"

struct bcc {
	struct profile profile;	/* first */
	bool headed;
};

/* Writes the header at the first flush, when the run has started. */
static int bcc_flush(struct sink *s)
{
	struct bcc *b = s->state;
	const char *header = b->profile.view.header;
	_cleanup_(buf_fini) struct buf line = { 0 };

	if (b->headed || !header)
		return 0;
	b->headed = true;
	buf_printf(&line, "%s\n", header);
	return buf_error(&line) ? buf_error(&line) : outfile_record(s->out, line.data, line.len);
}

/* Kernel modules print by their plain names. */
static void put_module(struct buf *out, const struct sym_module *m)
{
	const char *name = stack_names_module_name(m);
	size_t len = strlen(name);

	if (m->kind == SYM_UNKNOWN || !*m->path)
		return;
	buf_add_str(out, " [");
	if (m->kind == SYM_KERNEL && !strcmp(name, "[kernel.kallsyms]"))
		buf_add_str(out, "kernel");
	else if (m->kind == SYM_KERNEL && len > 2 && name[0] == '[')
		str_escape_buf(out, name + 1, len - 2);
	else
		str_escape_buf(out, name, len);
	buf_add_char(out, ']');
}

static void put_frame(struct profile *p, const struct stack_frame *f, struct buf *out)
{
	const char *name;

	buf_add_str(out, "    ");
	if (p->view.addresses && f->part == STACK_PART_KERN)
		buf_printf(out, "0x%-16llx ", (unsigned long long)f->ip);
	if (p->view.addresses && f->part == STACK_PART_USER)
		buf_printf(out, "0x%016llx ", (unsigned long long)f->ip);
	if (f->part == STACK_PART_NOTE && !strcmp(f->name, "-")) {
		buf_add_str(out, "--\n");
		return;
	}
	name = f->func && !*f->func->name ? "[unknown]" : f->name;	/* bcc's text; the module follows */
	str_escape_buf(out, name, strlen(name));
	if (f->func && *f->func->name && !f->inlined)
		buf_printf(out, "+0x%llx", (unsigned long long)stack_names_frame_offset(f));
	if (f->func && p->sym)
		put_module(out, sym_module(p->sym, f->loc.module));
	buf_add_char(out, '\n');
}

static int put_line(struct profile *p, struct stack_names *names, const struct stack_line *l,
		    struct stack_frames *frames, struct buf *out)
{
	const struct stack_key *key = &l->entry->key;
	char comm[64];
	int r = stack_names_all(names, l->entry, &p->view, frames);

	if (l->state)
		buf_printf(out, "    %s\n", l->state);
	for (size_t i = 0; i < frames->len; i++)
		put_frame(p, &frames->items[i], out);
	str_escape(comm, sizeof(comm), key->comm, strnlen(key->comm, sizeof(key->comm)));
	buf_printf(out, "    %-16s %s (%u)\n        %llu\n\n", "-", comm,
		   p->view.by_thread && key->tid ? key->tid : key->tgid, (unsigned long long)l->weight);
	return r < 0 ? r : buf_error(out);
}

static int write_stacks(struct sink *s)
{
	struct bcc *b = s->state;
	_cleanup_(stack_names_freep) struct stack_names *names = NULL;
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct stack_frames frames = { 0 };
	struct stack_line_list lines = { 0 };
	int r = stack_names_new(b->profile.set, b->profile.sym, &names);

	if (r >= 0)
		r = stack_lines_list(b->profile.set, b->profile.view.weight, true, &lines);
	if (r >= 0 && b->headed)
		r = outfile_record(s->out, "\n", 1);
	for (size_t i = 0; r >= 0 && i < lines.len; i++) {
		buf_reset(&out);
		r = put_line(&b->profile, names, &lines.items[i], &frames, &out);
		if (r >= 0)
			r = outfile_record(s->out, out.data, out.len);
	}
	vec_fini(&frames);
	vec_fini(&lines);
	return r;
}

static int bcc_close(struct sink *s)
{
	struct bcc *b = s->state;
	int r = write_stacks(s);

	sinks_profile_fini(&b->profile);
	return r;
}

const struct sink_ops bcc_sink = {
	.name = "bcc", .summary = "counted stacks, a paragraph each, as bcc's profile prints them",
	.suffix = ".stacks", .flags = SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS, .state_size = sizeof(struct bcc),
	.open = sinks_profile_sink_open, .event = sinks_profile_sink_event, .flush = bcc_flush, .close = bcc_close,
};
