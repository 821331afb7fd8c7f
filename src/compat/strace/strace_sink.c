// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of the sys probe as strace's lines. A call is one line, when it returns; its time is that of its entry.
 */
#include "compat/strace/strace_sink.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "compat/strace/strace_line.h"
#include "compat/strace/strace_opts.h"
#include "compat/strace/strace_stacks.h"
#include "compat/strace/strace_sums.h"
#include "event/event.h"
#include "probes/cpu/cpu_event.h"
#include "probes/sys/print/sys_print.h"
#include "probes/sys/print/sys_text.h"
#include "probes/sys/sys_event.h"
#include "sinks/sink.h"

#define COMM 16
#define NO_NUMBER UINT16_MAX
#define ENDED_MAX 256 /* files of ended threads that stay open */

/* A thread that was seen. */
struct task {
	FILE *out;   /* with -ff: owned */
	bool traced; /* it counts for "[pid N]" */
	uint16_t nr; /* of its last call */
	bool will_exec; /* the command, before its first exec */
	uint64_t last_ns; /* of its last call */
	uint64_t ends_ns; /* of the call that it does not return from; its stack stands behind the exit */
	uint64_t before_ns; /* of the call before that one */
	char comm[COMM];
};

struct strace_sink {
	const struct strace_opts *o;
	const uint32_t *command_pid;
	FILE *out; /* owned unless standard error; NULL with -ff */
	bool piped;
	/* lint-ok(tables): files and last calls of traced threads, which the engine does not know */
	struct map tasks; /* u32 tid -> struct task */
	size_t n_traced;
	bool begun;
	uint64_t last_ns; /* time of the line before */
	struct strace_sums sums;
	/* lint-ok(tables): processes that -b left, and their children, which the engine does not know */
	struct map left; /* u32 tgid -> u64 boot time since when */
	struct sym *sym; /* borrowed, from the first event on */
	struct strace_stacks *stacks; /* NULL = neither -i nor -k: lines are written at once */
	VEC(FILE *) ended; /* with stacks: files of threads that ended */
	size_t ip_at; /* in `text` */
	struct buf text, line; /* of one call; as written */
	void (*on_end)(void *ctx);
	void *on_end_ctx;
	int error; /* the first error of a write */
};

/* ---- files ---- */

static void note_error(struct strace_sink *s, int error)
{
	if (!s->error)
		s->error = error;
}

static bool is_command(const char *output)
{
	return output && (*output == '|' || *output == '!');
}

static int open_output(struct strace_sink *s, struct err *err)
{
	const struct strace_opts *o = s->o;

	if (!o->output) {
		s->out = stderr;
		return 0;
	}
	if (is_command(o->output)) {
		if (o->separately)
			return err_set(err, -EINVAL, "piping the output and -ff are mutually exclusive");
		s->piped = true;
		s->out = popen(o->output + 1, "we");
	} else if (!o->separately) {
		s->out = fopen(o->output, o->append ? "ae" : "we");
	} else {
		return 0;
	}
	return s->out ? 0 : err_errno(err, errno ? -errno : -ENOMEM, "cannot open %s", o->output);
}

static void write_text(struct strace_sink *s, FILE *out, const struct buf *b)
{
	if (buf_error(b) < 0 || !out)
		note_error(s, buf_error(b) < 0 ? -ENOMEM : -EIO);
	else if (fwrite(b->data, 1, b->len, out) != b->len || ((out == stderr || s->piped) && fflush(out)))
		note_error(s, -errno);
}

static void write_waited(void *ctx, FILE *out, const struct buf *text)
{
	write_text(ctx, out, text);
}

/* Writes @text, or has it wait for the stack whose time lies in the span; both 0 = it has none. */
static void put_text(struct strace_sink *s, FILE *out, const struct buf *text, uint32_t tid, uint64_t after_ns,
		     uint64_t until_ns)
{
	const struct strace_stacks_line line = {
		.out = out, .text = text, .ip_at = s->ip_at, .tid = tid, .after_ns = after_ns, .until_ns = until_ns,
	};

	if (!s->stacks)
		write_text(s, out, text);
	else if (buf_error(text) < 0 || !out || strace_stacks_put(s->stacks, &line) < 0)
		note_error(s, out ? -ENOMEM : -EIO);
}

int strace_sink_new(const struct strace_opts *o, const uint32_t *command_pid, struct strace_sink **ret,
		    struct err *err)
{
	struct strace_sink *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_errno(err, -ENOMEM, "cannot begin");
	s->o = o;
	s->command_pid = command_pid;
	map_init(&s->tasks, sizeof(uint32_t), sizeof(struct task));
	map_init(&s->left, sizeof(uint32_t), sizeof(uint64_t));
	strace_sums_init(&s->sums);
	if (o->ips || o->stacks)
		s->stacks = strace_stacks_new(o->stacks, write_waited, s);
	r = (o->ips || o->stacks) && !s->stacks ? err_errno(err, -ENOMEM, "cannot begin") : open_output(s, err);
	if (r < 0)
		strace_sink_free(s);
	else
		*ret = s;
	return r;
}

void strace_sink_on_end(struct strace_sink *s, void (*fn)(void *ctx), void *ctx)
{
	s->on_end = fn;
	s->on_end_ctx = ctx;
}

static void close_file(struct strace_sink *s, FILE *f)
{
	if (f && fclose(f) != 0)
		note_error(s, -errno);
}

static void close_ended(struct strace_sink *s)
{
	for (size_t i = 0; i < s->ended.len; i++)
		close_file(s, s->ended.items[i]);
	s->ended.len = 0;
}

static void close_all(struct strace_sink *s)
{
	size_t pos = 0;
	void *key, *val;

	while (map_next(&s->tasks, &pos, &key, &val)) {
		close_file(s, ((struct task *)val)->out);
		((struct task *)val)->out = NULL;
	}
	close_ended(s);
	if (s->out == stderr)
		fflush(stderr);
	else if (s->piped && s->out)
		pclose(s->out);
	else
		close_file(s, s->out);
	s->out = NULL;
}

void strace_sink_free(struct strace_sink *s)
{
	if (!s)
		return;
	close_all(s);
	map_fini(&s->tasks);
	map_fini(&s->left);
	strace_stacks_free(s->stacks);
	vec_fini(&s->ended);
	strace_sums_fini(&s->sums);
	buf_fini(&s->text);
	buf_fini(&s->line);
	free(s);
}

int strace_sink_finish(struct strace_sink *s)
{
	if ((s->o->summary || s->o->lines_too) && s->sums.rows.len) {
		buf_reset(&s->line);
		strace_sums_print(&s->sums, s->o, &s->line);
		write_text(s, s->out, &s->line);
	}
	close_all(s);
	return s->error;
}

/* ---- threads ---- */

static struct task *task_of(struct strace_sink *s, uint32_t tid)
{
	bool is_new;
	struct task *t = map_add(&s->tasks, &tid, &is_new);

	if (t && is_new)
		t->nr = NO_NUMBER;
	return t;
}

static void set_traced(struct strace_sink *s, struct task *t, bool traced)
{
	if (t->traced == traced)
		return;
	t->traced = traced;
	s->n_traced += traced ? 1 : (size_t)-1;
}

/* The threads that are traced from the start. */
static void begin(struct strace_sink *s)
{
	struct task *t = *s->command_pid ? task_of(s, *s->command_pid) : NULL;

	s->begun = true;
	if (t) {
		set_traced(s, t, true);
		t->will_exec = true;
	}
	for (size_t i = 0; i < s->o->pids.len; i++) {
		t = task_of(s, s->o->pids.items[i]);
		if (t)
			set_traced(s, t, true);
	}
}

static void learn_name(struct task *t, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	const char *name;
	size_t len = 0;

	name = p ? event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len) : NULL;
	if (len)
		snprintf(t->comm, sizeof(t->comm), "%.*s", (int)MIN(len, sizeof(t->comm) - 1), name);
}

static void say(struct strace_sink *s, uint32_t tid, const char *what)
{
	if (s->o->output || s->o->quiet & STRACE_QUIET_ATTACH || s->o->summary)
		return;
	buf_reset(&s->line);
	buf_printf(&s->line, "strace: Process %u %s\n", tid, what);
	s->ip_at = SIZE_MAX;
	put_text(s, stderr, &s->line, tid, 0, 0);
}

static bool leave(struct strace_sink *s, uint32_t tgid, uint64_t at_ns)
{
	return map_put(&s->left, &tgid, &at_ns) >= 0;
}

/* Was the process left with -b, or made by such a process? Earlier children of that stay traced. */
static bool is_left(struct strace_sink *s, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	const uint64_t *since_ns;
	uint32_t tgid = ev->tgid;

	if (!s->left.len)
		return false;
	if (map_find(&s->left, &tgid))
		return true;
	since_ns = p ? map_find(&s->left, &p->ppid) : NULL;
	return since_ns && ev->start_ns >= *since_ns && leave(s, tgid, ev->start_ns);
}

/* The thread of an event, or NULL if it is not traced. A thread that begins is traced with -f. */
static struct task *traced_task(struct strace_sink *s, const struct event *ev)
{
	struct task *t = map_find(&s->tasks, &ev->tid);
	bool known = t && t->traced;

	if ((!known && !s->o->follow) || is_left(s, ev))
		return NULL;
	t = task_of(s, ev->tid);
	if (!t)
		return NULL;
	learn_name(t, ev);
	if (known)
		return t;
	say(s, ev->tid, "attached");
	set_traced(s, t, true);
	return t;
}

/* Lines for the file may wait. */
static void close_later(struct strace_sink *s, FILE *f)
{
	if (s->ended.len == ENDED_MAX) {
		strace_stacks_flush(s->stacks, s->sym, true);
		close_ended(s);
	}
	if (vec_push(&s->ended, f) < 0)
		note_error(s, -ENOMEM);
}

static void end_task(struct strace_sink *s, uint32_t tid, struct task *t)
{
	set_traced(s, t, false);
	if (s->stacks)
		strace_stacks_drop(s->stacks, tid, UINT64_MAX);
	if (s->stacks && t->out)
		close_later(s, t->out);
	else
		close_file(s, t->out);
	t->out = NULL;
	map_remove(&s->tasks, &tid);
	if (!s->n_traced && s->on_end)
		s->on_end(s->on_end_ctx);
}

static FILE *file_of(struct strace_sink *s, uint32_t tid, struct task *t)
{
	_cleanup_(buf_fini) struct buf name = { 0 };

	if (s->out)
		return s->out;
	if (t->out)
		return t->out;
	buf_printf(&name, "%s.%u", s->o->output, tid);
	t->out = fopen(buf_str(&name), s->o->append ? "ae" : "we");
	if (!t->out)
		note_error(s, -errno);
	return t->out;
}

/* ---- lines ---- */

static void add_comm(const struct strace_sink *s, uint32_t id, struct buf *out)
{
	const struct task *t = map_find(&s->tasks, &id);

	if (!s->o->comms || !t || !*t->comm)
		return;
	buf_add_char(out, '<');
	strace_line_path(t->comm, strlen(t->comm), out);
	buf_add_char(out, '>');
}

static void add_who(const struct strace_sink *s, uint32_t tid, struct buf *out)
{
	const struct strace_opts *o = s->o;

	if (o->output && !o->separately && (o->follow || o->pids.len > 1)) {
		buf_printf(out, o->comms ? "%u" : "%-5u", tid);
		add_comm(s, tid, out);
		buf_add_char(out, ' ');
	} else if (!o->output && s->n_traced > 1) {
		buf_printf(out, "[pid %5u", tid);
		add_comm(s, tid, out);
		buf_add_str(out, "] ");
	}
}

/* Everything in front of the call; @entered_ns: boot time. */
static void add_head(struct strace_sink *s, const struct event *ev, const struct task *t, uint64_t entered_ns,
		     struct buf *out)
{
	uint64_t since = s->last_ns && entered_ns > s->last_ns ? entered_ns - s->last_ns : 0;

	add_who(s, ev->tid, out);
	strace_line_times(s->o, entered_ns + (uint64_t)ev->clock_offset_ns, since, out);
	s->last_ns = entered_ns;
	if (s->o->numbers && t->nr != NO_NUMBER)
		buf_printf(out, "[%4u] ", t->nr);
	s->ip_at = s->o->ips ? out->len : SIZE_MAX;
}

static void add_pid(void *ctx, int32_t pid, struct buf *out)
{
	if (pid > 0)
		add_comm(ctx, (uint32_t)pid, out);
}

/* Both kinds of names have one context in a call's print options. */
struct print_ctx {
	struct strace_names names;
	struct strace_sink *sink;
};

static void print_fd(void *ctx, int32_t fd, struct buf *out)
{
	strace_line_fd(&((struct print_ctx *)ctx)->names, fd, out);
}

static void print_pid(void *ctx, int32_t pid, struct buf *out)
{
	add_pid(((struct print_ctx *)ctx)->sink, pid, out);
}

static void add_raw(const struct sys_body *b, bool entered, size_t column, struct buf *out)
{
	char name[24];

	buf_printf(out, "%s(", sys_table_call_name(b->abi, b->nr, name));
	for (unsigned i = 0; i < sys_body_n_args(b); i++) {
		buf_add_str(out, i ? ", " : "");
		buf_add_hex(out, b->args[i]);
	}
	buf_add_char(out, ')');
	sys_print_pad(column, out);
	buf_add_str(out, " = ");
	if (entered)
		buf_add_char(out, '?');
	else if (sys_failed(b->ret))
		sys_result_print(b, out);
	else
		buf_add_hex(out, (uint64_t)b->ret);
}

static void add_call(struct strace_sink *s, const struct event *ev, const struct sys_body *b, struct buf *out)
{
	const struct strace_opts *o = s->o;
	const bool entered = sys_body_is_entry(ev);
	const size_t column = o->column;
	struct print_ctx ctx = { .names = { .ev = ev, .fds = o->fds }, .sink = s };
	const struct sys_print_opts print = {
		.cap = o->strings,
		.full = o->full || !strace_set_has_call(&o->abbrev, b->abi, b->nr),
		.add_fd = o->fds ? print_fd : NULL,
		.add_pid = o->comms ? print_pid : NULL,
		.ctx = &ctx,
	};

	if (strace_set_has_call(&o->raw, b->abi, b->nr)) {
		add_raw(b, entered, column, out);
		return;
	}
	sys_print_call(b, entered, &print, column, out);
	if (!entered)
		return;
	sys_print_pad(column, out);
	buf_add_str(out, " = ?");
}

/* ---- which calls ---- */

static unsigned status_of(const struct event *ev, const struct sys_body *b)
{
	if (sys_body_is_entry(ev) || b->flags & SYS_F_KILLED)
		return STRACE_STATUS_UNFINISHED;
	return sys_failed(b->ret) ? STRACE_STATUS_FAILED : STRACE_STATUS_SUCCESSFUL;
}

static bool is_in(const struct opt_strv *list, const char *path, size_t len)
{
	return vec_find(it, list, strlen(*it) == len && !memcmp(*it, path, len));
}

static bool is_path(const struct strace_opts *o, const char *path, size_t len)
{
	return path && (is_in(&o->paths, path, len) || is_in(&o->resolved, path, len));
}

/* Does the call access one of the paths of -P, by name or by descriptor? */
static bool accesses(const struct strace_opts *o, const struct event *ev, const struct sys_body *b)
{
	struct sys_image image;

	for (unsigned i = 0; i < sys_body_n_args(b); i++) {
		struct sys_value v = sys_body_value(b, i);
		const char *path;
		struct sys_bytes m;
		size_t len = 0;

		if (!v.arg)
			continue;
		m = sys_body_chunk(b, i, SYS_CHUNK_STR);
		if (v.arg->kind == SYS_ARG_PATH && m.there && is_path(o, (const char *)m.data, m.len))
			return true;
		if (v.arg->kind != SYS_ARG_FD && v.arg->kind != SYS_ARG_DIRFD)
			continue;
		path = (int32_t)v.raw < 0 ? NULL : strace_line_fd_path(ev, (int32_t)v.raw, &len);
		if (is_path(o, path, len))
			return true;
	}
	return sys_body_image(b, &image) && is_path(o, (const char *)image.name, image.proc.name_len);
}

static bool is_selected(const struct strace_opts *o, const struct event *ev, const struct sys_body *b)
{
	return o->status & status_of(ev, b) && strace_set_has_call(&o->trace, b->abi, b->nr) &&
	       (!o->paths.len || accesses(o, ev, b));
}

/* ---- data ---- */

static bool is_read(unsigned kind)
{
	return kind == SYS_ARG_DATA_OUT;
}

static void add_dumps(const struct strace_opts *o, const struct sys_body *b, struct buf *out)
{
	int32_t fd = sys_body_fd(b);

	for (unsigned i = 0; b->ret > 0 && fd >= 0 && i < sys_body_n_args(b); i++) {
		struct sys_value v = sys_body_value(b, i);
		struct sys_bytes m = sys_body_chunk(b, i, SYS_CHUNK_DATA);

		if (!v.arg || !m.there || (v.arg->kind != SYS_ARG_DATA && !is_read(v.arg->kind)))
			continue;
		if (strace_set_has_fd(is_read(v.arg->kind) ? &o->read : &o->write, fd))
			strace_line_dump(m.data, (size_t)MIN((uint64_t)m.len, (uint64_t)b->ret), out);
	}
}

/* ---- events ---- */

/* s->text, requoted. */
static struct buf *line_of(struct strace_sink *s)
{
	if (!s->o->hex)
		return &s->text;
	buf_reset(&s->line);
	strace_line_requote(s->text.data, s->text.len, s->o->hex, &s->line);
	return &s->line;
}

/* Is the stack of a call without return printed behind the exit? */
static bool ends_later(const struct strace_sink *s, const struct event *ev)
{
	return s->o->stacks && !s->o->ips && sys_body_is_entry(ev) && !(s->o->quiet & STRACE_QUIET_EXIT);
}

static bool is_exec(const struct sys_body *b)
{
	const struct sys_call *call = sys_table_call_find(b->abi, b->nr);

	return call && (!strcmp(call->name, "execve") || !strcmp(call->name, "execveat"));
}

/* Does the process leave with this call, by -b execve? The first program of the command is its own. */
static bool leaves(const struct strace_sink *s, const struct sys_body *b, const struct task *t)
{
	return s->o->detach && !t->will_exec && is_exec(b) && !b->ret;
}

/* "execve(...) = 0" ends behind the arguments. */
static void cut_result(struct buf *out)
{
	while (out->len && out->data[out->len - 1] != ')')
		out->len--;
	out->len -= out->len > 0;
	buf_add_str(out, " <detached ...>");
}

/* @after_ns: time of the thread's call before. */
static void print_call(struct strace_sink *s, const struct event *ev, const struct sys_body *b, struct task *t,
		       uint64_t after_ns)
{
	struct buf *out = &s->text;
	uint64_t until_ns = ev->ts_ns;

	buf_reset(out);
	add_head(s, ev, t, ev->ts_ns - MIN(ev->ts_ns, b->latency_ns), out);
	add_call(s, ev, b, out);
	if (leaves(s, b, t))
		cut_result(out);
	if (s->o->times && b->latency_ns && !(b->flags & SYS_F_KILLED))
		strace_line_took(b->latency_ns, s->o->times_digits, out);
	buf_add_char(out, '\n');
	out = line_of(s);
	add_dumps(s->o, b, out);
	if (ends_later(s, ev))
		after_ns = until_ns = 0;
	put_text(s, file_of(s, ev->tid, t), out, ev->tid, after_ns, until_ns);
}

/* May end @t. */
static void note_exec(struct strace_sink *s, const struct event *ev, const struct sys_body *b, struct task *t)
{
	bool leaving = leaves(s, b, t);

	if (is_exec(b) && !b->ret)
		t->will_exec = false;
	if (!leaving || !leave(s, ev->tgid, ev->ts_ns))
		return;
	say(s, ev->tid, "detached");
	end_task(s, ev->tid, t);
}

static int on_call(struct strace_sink *s, const struct event *ev, struct task *t)
{
	const struct sys_body *b = sys_body_of(ev);
	const uint64_t after_ns = t->last_ns;
	int r = 0;

	if (!b || (!sys_body_is_entry(ev) && sys_event_is_birth(b)))
		return 0; /* the line of the parent shows it */
	if (sys_body_is_entry(ev) && !sys_body_never_returns(b))
		return 0;
	if (t->will_exec && s->o->daemonize && !is_exec(b))
		return 0; /* it waits to be watched */
	t->nr = b->nr;
	t->last_ns = ev->ts_ns;
	if (is_selected(s->o, ev, b)) {
		if (ends_later(s, ev)) {
			t->before_ns = after_ns;
			t->ends_ns = ev->ts_ns;
		}
		if ((s->o->summary || s->o->lines_too) && !sys_body_is_entry(ev))
			r = strace_sums_add(&s->sums, b);
		if (!s->o->summary || s->o->lines_too)
			print_call(s, ev, b, t, after_ns);
	} else if (s->stacks) {
		strace_stacks_drop(s->stacks, ev->tid, ev->ts_ns);
	}
	note_exec(s, ev, b, t);
	return r;
}

/* The event's own line in strace's form, without the thread in front of it. */
static int add_own_line(const struct event *ev, struct buf *out)
{
	const struct line_opts o = { .format = "strace" };
	_cleanup_(buf_fini) struct buf own = { 0 };
	size_t at = 0;
	int r = event_line(ev, &o, &own);

	while (at < own.len && (isdigit((unsigned char)own.data[at]) || own.data[at] == ' '))
		at++;
	if (r >= 0 && at < own.len)
		buf_add(out, own.data + at, own.len - at);
	return r;
}

static bool number_in(const struct event *ev, const char *name, uint64_t *ret)
{
	for (unsigned i = 0; i < ev->desc->n_fields; i++)
		if (!strcmp(ev->desc->fields[i].name, name))
			return event_get_number(ev, &ev->desc->fields[i], ret) == 0;
	return false;
}

static void print_own_line(struct strace_sink *s, const struct event *ev, struct task *t)
{
	size_t head;

	buf_reset(&s->text);
	add_head(s, ev, t, ev->ts_ns, &s->text);
	head = s->text.len;
	add_own_line(ev, &s->text);
	if (s->text.len > head)
		put_text(s, file_of(s, ev->tid, t), line_of(s), ev->tid, t->before_ns, t->ends_ns);
}

static int on_event(struct strace_sink *s, const struct event *ev)
{
	const bool is_exit = ev->desc == &sys_procexit_desc, is_signal = ev->desc == &sys_signal_desc;
	const bool is_call = ev->desc == &sys_exit_desc || ev->desc == &sys_enter_desc;
	struct task *t;
	uint64_t signo = 0;
	int r = 0;

	if (s->stacks && ev->desc == &cpu_sample_desc)
		return strace_stacks_take(s->stacks, s->sym, ev);
	if (!is_call && !is_signal && !is_exit)
		return 0;
	if (!s->begun)
		begin(s);
	t = traced_task(s, ev);
	if (!t)
		return 0;
	if (is_call)
		r = on_call(s, ev, t);
	else if (is_signal && number_in(ev, "signal.number", &signo) && signo < 64 && s->o->signals & 1ull << signo &&
		 (!s->o->summary || s->o->lines_too))
		print_own_line(s, ev, t);
	else if (is_exit && !(s->o->quiet & STRACE_QUIET_EXIT) && (!s->o->summary || s->o->lines_too))
		print_own_line(s, ev, t);
	if (is_exit)
		end_task(s, ev->tid, t);
	return r < 0 ? r : s->error;
}

static int sink_event_of(struct sink *sink, const struct event *ev)
{
	struct strace_sink *s = sink->opts->ctx;

	s->sym = sink->opts->sym;
	return on_event(s, ev);
}

/* As strace, whose files have each line when it is there. */
static void flush_files(struct strace_sink *s)
{
	size_t pos = 0;
	void *key, *val;

	if (s->out && fflush(s->out))
		note_error(s, -errno);
	while (!s->out && map_next(&s->tasks, &pos, &key, &val)) {
		const struct task *t = val;

		if (t->out && fflush(t->out))
			note_error(s, -errno);
	}
}

static int flush(const struct sink *sink, bool all)
{
	struct strace_sink *s = sink->opts->ctx;
	int r = s->stacks ? strace_stacks_flush(s->stacks, sink->opts->sym, all) : 0;

	flush_files(s);
	return r < 0 ? r : s->error;
}

static int sink_flush_ready(struct sink *sink)
{
	return flush(sink, false);
}

/* Lines that wait for stacks need the symbolizer; strace_sink_finish() does the rest. */
static int sink_close_stacks(struct sink *sink)
{
	return flush(sink, true);
}

const struct sink_ops strace_sink_plain = {
	.name = "strace",
	.summary = "strace's lines",
	.shows = "calls",
	.flags = SINK_NO_FILE,
	.event = sink_event_of,
	.flush = sink_flush_ready,
	.close = sink_close_stacks,
};

const struct sink_ops strace_sink_named = {
	.name = "strace",
	.summary = "strace's lines with descriptors",
	.shows = "calls",
	.needs = 1u << SEC_PARAMS | 1u << SEC_STACK_USER,
	.flags = SINK_NO_FILE,
	.event = sink_event_of,
	.flush = sink_flush_ready,
	.close = sink_close_stacks,
};
