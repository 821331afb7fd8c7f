// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The common part of every command that shows events. The only layer that reports a run to the user.
 */
#include "cmd/run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "ipc/client.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/sched_boost.h"
#include "cmd/other_netns.h"
#include "cmd/daemon/remote.h"
#include "cmd/closing/run_end.h"
#include "cmd/run/run_about.h"
#include "cmd/run/run_query.h"
#include "cmd/run/run_select.h"
#include "cmd/run/run_store.h"
#include "event/decode.h"
#include "event/filter/filter.h"
#include "event/format.h"
#include "event/names.h"
#include "probe/probe.h"
#include "scap/event.h"
#include "scap/render.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "store/store_writer.h"
#include "sinks/otlp/otlp_signals.h"
#include "sym/sym.h"

#define FUNCTIONS "stack.function" /* word of filters that needs names of user functions */

/* ---- one run ---- */

struct run_state {
	const struct run_conf *conf;
	const struct run_ops *spec;
	struct pipeline *pipeline;
	struct filter *filter;		/* --where, without the parts decided in the kernel */
	struct filter *whole;		/* the complete filter, if the kernel decides parts of it; NULL = filter is
					 * complete */
	struct filter *of_sums;		/* the part left to user space for summed events: NULL = filter */
	struct run_select_push push;	/* pushed parts of the filter, unless the command pushes its own */
	struct format *print;		/* --format with fields, or another tool's line */
	int signal;			/* that ended the run, 0 = none */
	struct child *child;		/* of the command after "--"; NULL = none */
	struct child *adopted;		/* of conf->trees; NULL = none */
	struct sched_boost sched_boost; /* at the start and at the end */
	struct loop *loop;
	struct client *agent;		/* agent whose records are shown; NULL = own probes, or a file */
	struct other_netns *others;	/* for a command that observes only its own network namespace; NULL = none */
	struct run_about about;		/* of a recording */
};

/* State events, and those of a recording that other commands read, are shown only if the filter names their type. */
static bool is_shown(struct run_state *s, const struct event_desc *d)
{
	const bool is_mine = !s->conf->read || run_about_shows(&s->about, s->spec->reads, d);

	return (d->class == EVENT_DATA && is_mine) || filter_eval_names_type(s->whole ? s->whole : s->filter, d);
}

/* The processes that are selected with their descendants; NULL = none. */
static struct child *family_of(const struct run_state *s)
{
	return s->child && !(s->spec->child && s->spec->child->aside) ? s->child : s->adopted;
}

/* The complete selection, cheapest checks first. */
static bool pass(void *ctx, const struct event *ev)
{
	struct run_state *s = ctx;
	struct child *family = family_of(s);
	/* both learn from state events, so they must see all of them */
	bool is_mine = !family || child_owns(family, ev) || ev->desc->aggregate;
	bool is_selected = !s->spec->pass || s->spec->pass(s->spec->pass_ctx, ev);

	if (!is_shown(s, ev->desc) || !is_mine || !is_selected || !run_query_in_time(s->conf, ev))
		return false;
	if (ev->desc->aggregate)
		return filter_match(s->of_sums ? s->of_sums : s->filter, ev);
	return run_select_match(s->conf, ev) && filter_match(s->filter, ev);
}

/* Of the processes that -p or a command behind "--" selects, if any. */
static bool is_recorded(void *ctx, const struct sonde_rec *r)
{
	const struct run_state *s = ctx;
	const struct opt_u32v *pids = &s->conf->pids;

	if (family_of(s))
		return child_has(family_of(s), r->tgid);
	return !pids->len || vec_find(it, pids, *it == r->tgid);
}

static bool is_named(const char *name, const struct opt_strv *names)
{
	return vec_find(it, names, !strcmp(*it, name));
}

static bool reads_other(const struct run_state *s)
{
	return s->spec->input && (s->spec->input->socket || s->spec->input->source);
}

/* NULL: the type comes from files and from the pipeline. */
static const struct probe_ops *probe_of(const struct event_desc *d)
{
	for (size_t i = 0; all_probes[i]; i++)
		if (all_probes[i]->decoder->probe == d->type >> 8)
			return all_probes[i];
	return NULL;
}

/* Can an event of this type occur? */
static bool type_comes(const struct run_state *s, const struct event_desc *d)
{
	const struct probe_ops *owner = probe_of(d);

	if (!owner || s->conf->read || reads_other(s) || !strcmp(owner->name, "proc"))
		return true;
	for (size_t i = 0; i < s->spec->n_probes; i++)
		if (decode_makes(s->spec->probes[i].ops->decoder, d))
			return true;
	for (size_t i = 0; all_probes[i]; i++)
		if (decode_makes(all_probes[i]->decoder, d) && is_named(all_probes[i]->name, &s->conf->probes))
			return true;
	return false;
}

struct type_check {
	const struct run_state *s;
	struct err *err;
};

/* A name that captures use too ("open") refers to the capture's type there. */
static int check_type(void *ctx, const char *name, const struct event_desc *const *descs, size_t n)
{
	const struct type_check *c = ctx;
	uint64_t number;

	if (!n || xlat_value(&scap_type_names, name, &number) == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (type_comes(c->s, descs[i]))
			return 0;
	return err_set(c->err, -EINVAL,
		       "evt.type=%s: no probe of this run makes such events (--probe adds one; "
		       "sonde help events lists types and probes)",
		       name);
}

static int check_types(const struct run_state *s, struct err *err)
{
	struct type_check c = { .s = s, .err = err };
	int r = filter_eval_types(s->filter, pipeline_registry(s->pipeline), check_type, &c);

	return r < 0 ? r : 0;
}

static int on_signal(void *ctx, int signo)
{
	struct run_state *s = ctx;

	if (s->signal) {	/* second request: stop at once */
		sched_boost_end(&s->sched_boost);
		_exit(CMD_BY_SIGNAL + signo);
	}
	s->signal = signo;
	pipeline_stop(s->pipeline);
	return 0;
}

/* Ignored SIGHUP stays so, though signalfd would get it: nohup(1). */
static int watch_signal(struct run_state *s, struct loop *loop, int signo)
{
	struct sigaction was;

	if (signo == SIGHUP && sigaction(signo, NULL, &was) >= 0 && was.sa_handler == SIG_IGN)
		return 0;
	return loop_add_signal(loop, signo, on_signal, s, NULL);
}

/* Sections that events of this type have in this run: kernel stacks of other events than samples come with -v. */
static uint32_t sections_of(const struct run_state *s, const struct event_desc *d)
{
	const bool is_sample = d->sections & 1u << SEC_STACK_USER;

	return d->sections & ~(is_sample || s->conf->read || s->conf->verbose ? 0 : 1u << SEC_STACK_KERN);
}

/* Can an event of this type be shown? */
static bool may_show(const struct run_state *s, const struct event_desc *d)
{
	struct run_about about = { 0 };

	if (d->class != EVENT_DATA)
		return false;
	if (s->conf->read)
		return run_about_shows(&about, s->spec->reads, d) || filter_eval_names_type(s->filter, d);
	return reads_other(s) || (probe_of(d) && type_comes(s, d));
}

/* Has some event of the run what the format shows? */
static bool output_fits(const struct run_state *s, const struct sink_ops *ops)
{
	const bool shows_stacks = ops->shows && !strcmp(ops->shows, SINK_SHOWS_STACKS);
	const uint32_t needs = shows_stacks ? 1u << SEC_STACK_USER | 1u << SEC_STACK_KERN : ops->needs;
	const struct event_desc *d;

	for (size_t pos = 0; needs && (d = registry_next(pipeline_registry(s->pipeline), &pos));)
		if (sections_of(s, d) & needs && may_show(s, d))
			return true;
	return !needs;
}

static int check_output(const struct run_state *s, const char *text, const struct sink_ops *ops, struct err *err)
{
	_cleanup_(buf_fini) struct buf fits = { 0 };

	if (output_fits(s, ops))
		return 0;
	for (size_t i = 0; all_sinks[i]; i++)
		if (output_fits(s, all_sinks[i]))
			buf_printf(&fits, "%s%s", fits.len ? ", " : "", all_sinks[i]->name);
	return err_set(err, -EINVAL, "-o %s: format %s is for %s, which this command does not show; formats that "
		       "fit: %s", text, ops->name, ops->shows, buf_str(&fits));
}

static int add_output(struct run_state *s, const char *text, const struct sink_opts *opts, struct err *err)
{
	const char *path;
	const struct sink_ops *ops = sink_of_output(text, s->conf->file_format, &path);
	const struct sink_ops *signals[OTLP_SIGNALS];
	size_t n;
	int r = 0;

	if (!ops)
		return err_set(err, -EINVAL, "-o %s: unknown output format %.*s (sonde help outputs lists them)",
			       text, (int)strcspn(text, ":"), text);
	if (s->conf->read && ops->flags & SINK_FOLDER)
		return err_set(err, -EINVAL,
			       "-o %s: only a live run writes one; a replay has no right to create files", ops->name);
	r = check_output(s, text, ops, err);
	if (!path && ops->http_client_path)
		path = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	n = otlp_signals(sink_for_tool(ops, s->conf->format), path, s->spec->otlp, signals);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = pipeline_add_sink(s->pipeline, signals[i], opts, path, err);
	return r;
}

static int add_outputs(struct run_state *s, const struct sink_opts *opts, struct err *err)
{
	const char *plain = s->spec->output ? s->spec->output : "text";
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->conf->outputs.len; i++)
		r = add_output(s, s->conf->outputs.items[i], opts, err);
	if (r >= 0 && s->conf->json)
		r = add_output(s, "json", opts, err);
	else if (r >= 0 && !s->conf->outputs.len && *plain)
		r = add_output(s, plain, opts, err);
	if (r >= 0 && s->spec->watcher)
		r = pipeline_add_sink(s->pipeline, s->spec->watcher, opts, NULL, err);
	return r;
}

bool run_want_color(const struct run_conf *c)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (c->color != RUN_COLOR_AUTO)
		return c->color == RUN_COLOR_ALWAYS;
	if ((no && *no) || (term && !strcmp(term, "dumb")))
		return false;
	return (force && *force && strcmp(force, "0")) || isatty(STDOUT_FILENO);
}

/* The command's own probes and those of --probe. */
static int open_probes(struct run_state *s, const struct probe_env_opts *env, struct err *err)
{
	const struct opt_strv *more = &s->conf->probes;
	size_t n = s->spec->n_probes;
	int r;
	_cleanup_free_ struct pipeline_probe *all = calloc(n + more->len + 1, sizeof(*all));

	if (!all)
		return err_errno(err, -ENOMEM, "cannot list the probes");
	for (size_t i = 0; i < n; i++)
		all[i] = s->spec->probes[i];
	for (size_t i = 0; i < more->len; i++) {
		const struct probe_ops *ops = probe_find(more->items[i]);

		if (!ops)
			return err_set(err, -EINVAL, "--probe %s: no such probe (sonde probes lists them)",
				       more->items[i]);
		if (ops->conf_size && !ops->conf_default)
			return err_set(err, -EINVAL, "--probe %s: this probe has a command of its own", ops->name);
		all[n + i] = (struct pipeline_probe){ .ops = ops, .conf = ops->conf_default };
	}
	/* The scheduling boost of the start is an attribute of this thread, so start the probes here. */
	r = s->spec->nice ? 0 : pipeline_use_thread(s->pipeline, NULL, NULL, err);
	return r < 0 ? r : pipeline_open_live(s->pipeline, env, all, n + more->len, err);
}

/* Agents evaluate summed events like this process: with the parts that no kernel side decided. NULL = nothing. */
static const char *sent_filter(struct run_state *s)
{
	if (filter_uses(s->filter, FUNCTIONS) || filter_uses(s->whole, FUNCTIONS))
		return NULL;	/* names of functions are known here */
	if (s->push.pids.len || s->push.comms.len)
		return s->push.rest.len ? buf_str(&s->push.rest) : NULL;
	return s->conf->where;
}

static int open_file(struct run_state *s, struct err *err)
{
	_cleanup_(run_query_fini) struct run_query q = { 0 };
	int r = run_query_make(s->conf, s->filter, pipeline_registry(s->pipeline), &q);

	if (r < 0)
		return err_errno(err, r, "cannot read %s", s->conf->read);
	pipeline_settings(s->pipeline)->query = &q.query;
	pipeline_settings(s->pipeline)->follows = s->conf->follow;
	r = pipeline_open_file(s->pipeline, s->conf->read, err);
	pipeline_settings(s->pipeline)->query = NULL;
	return r;
}

static int open_input(struct run_state *s, struct err *err)
{
	const struct run_input *input = s->spec->input;
	_cleanup_(run_select_freep) struct run_select *sel = NULL;
	struct probe_env_opts env = {
		.ring_bytes = s->conf->ring_bytes,
		.host_root = s->conf->host_root,
		.btf = s->conf->btf,
		.max_cpu_permille = s->spec->max_cpu_permille,
	};
	uint32_t tree;
	int r;

	if (input && input->socket)
		return pipeline_open_socket(s->pipeline, input->socket, input->socket_format, input->reconnect_ns,
					    err);
	if (input && input->source) {
		pipeline_open_source(s->pipeline, input->source);
		return 0;
	}
	if (s->conf->read)
		return open_file(s, err);
	r = run_select_resolve(s->conf, &s->push, &sel, err);
	if (r < 0)
		return r;
	r = remote_open(s->conf, s->spec, run_select_probe(sel), sent_filter(s), &s->agent, err);
	if (r > 0) {
		pipeline_open_agent(s->pipeline, s->agent, false);
		/* The agent's instance may let more events through, and container cgroups are resolved only here. */
		if (s->whole && !s->spec->sums) {
			filter_free(s->filter);
			s->filter = TAKE_PTR(s->whole);
		}
	}
	if (r != 0)
		return r;
	env.select = *run_select_probe(sel);
	if (s->child && family_of(s) == s->child) {
		tree = child_pid(s->child);
		env.select.tree = &tree;
		env.select.n_tree = 1;
	} else if (s->adopted) {
		env.select.tree = s->conf->trees.items;
		env.select.n_tree = s->conf->trees.len;
	}
	return open_probes(s, &env, err);
}

static int on_child(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct run_state *s = ctx;

	child_wait(s->child);
	pipeline_stop(s->pipeline);
	return 0;
}

static int release_child(struct run_state *s, struct err *err)
{
	int r = loop_add_io(s->loop, child_fd(s->child), EPOLLIN, on_child, s, NULL);

	return r < 0 ? err_errno(err, r, "cannot wait for the command") : child_release(s->child, err);
}

/*
 * Boost while the user waits for the start. The priority follows the fork of a command, and needs privileges.
 */
static void hurry(struct run_state *s, bool forked)
{
	if (!s->conf->read && s->spec->nice)
		sched_boost_begin(&s->sched_boost);
	if (!s->conf->read && forked)
		sched_boost_process(&s->sched_boost, s->spec->nice);
}

/* From here on the user waits for the end. */
static void on_ending(void *ctx)
{
	hurry(ctx, false);
}

/* All files are open; decoding of untrusted bytes begins here. */
static int give_up_rights(struct run_state *s, struct err *err)
{
	const struct run_input *input = s->spec->input;

	if (input && input->opener)
		pipeline_settings(s->pipeline)->opener = TAKE_PTR(*input->opener);
	return pipeline_give_up_rights(s->pipeline, err);
}

/* Between the first and the last probe. */
static int start(struct run_state *s, struct err *err)
{
	int r;

	hurry(s, true);
	r = open_input(s, err);
	sched_boost_end(&s->sched_boost);
	if (r >= 0 && pipeline_stopping(s->pipeline))
		return 0;	/* requested during the start */
	if (r >= 0 && s->child)
		r = release_child(s, err);
	if (r >= 0 && s->spec->started)
		r = s->spec->started(s->spec->started_ctx, s->loop, s->pipeline, err);
	if (r >= 0 && s->conf->read)
		r = give_up_rights(s, err);
	return r;
}

/* The processes that are selected with their descendants. */
static int make_family(struct run_state *s, struct err *err)
{
	const struct run_ops *spec = s->spec;

	if (spec->command && spec->command->len)
		return child_new(spec->command, spec->child, &s->child, err);
	if (s->conf->trees.len && child_adopt(&s->conf->trees, &s->adopted) < 0)
		return err_errno(err, -ENOMEM, "cannot select the processes");
	return 0;
}

static int run_pipeline(struct run_state *s, struct err *err)
{
	const struct run_conf *c = s->conf;
	const struct pipeline_limits limits = {
		.latency_ns = c->latency_ns, .max_events = c->count, .duration_ns = c->duration_ns,
		.ending = on_ending, .ending_ctx = s,
	};
	uint64_t began_ns;
	bool began;
	int r = make_family(s, err);

	if (r >= 0 && s->spec->setup)
		r = s->spec->setup(s->spec->started_ctx, s->loop, s->pipeline, err);
	pipeline_settings(s->pipeline)->limits = limits;
	if (r >= 0)
		r = start(s, err);
	if (r < 0)
		return r;
	if (s->spec->own_netns && !c->read && !c->netns.len && !s->agent)
		s->others = other_netns_new();
	began = !pipeline_stopping(s->pipeline);
	if (began && !c->read && (!c->quiet || s->spec->says_ready) && (s->spec->ready || c->verbose))
		log_info("%s", s->spec->ready ? s->spec->ready : "sonde: ready");
	began_ns = clock_boot_ns();
	r = pipeline_run(s->pipeline, &limits, err);
	sched_boost_end(&s->sched_boost);
	if (r == -ENODATA && c->read) {
		log_warn("%s", err->msg);	/* all complete records were shown */
		r = 0;
	}
	if (r != -EPIPE)
		run_end_say(s->pipeline, &(struct run_end){ .conf = c, .spec = s->spec, .others = s->others,
							    .ran_ns = began ? clock_boot_ns() - began_ns : 0 });
	if (r != -EPIPE && c->read && !c->quiet && s->spec->unit && !pipeline_shown(s->pipeline))
		run_about_say(&s->about, c, s->spec->unit);
	return r;
}

static int add_sym(struct run_state *s, struct sink_opts *opts, struct err *err)
{
	const struct sym_opts *asked = s->spec->stacks ? s->spec->stacks->symbols : NULL;
	struct sym_opts o = asked ? *asked : (struct sym_opts){ 0 };
	const bool words = filter_uses(s->filter, FUNCTIONS);
	int r;

	if (!asked && !s->conf->symbols && !words)
		return 0;
	o.live = !s->conf->read;
	o.host_root = s->conf->host_root;
	if (s->conf->read) {
		o.files = s->conf->symfs ? SYM_FILES_BY_ID : SYM_FILES_NONE;
		o.host_root = s->conf->symfs ? s->conf->symfs : o.host_root;
	}
	pipeline_settings(s->pipeline)->names_first = words;
	r = pipeline_add_sym(s->pipeline, &o, err);
	if (asked || s->conf->symbols)
		opts->sym = pipeline_sym(s->pipeline);
	return r;
}

/* The format of text lines, unless the event's type provides it. */
static int set_lines(struct run_state *s, struct sink_opts *opts, struct err *err)
{
	const struct run_conf *c = s->conf;
	const struct scap_render_opts render = { .form = c->data, .cut = SCAP_RENDER_CUT };
	const char *form = c->format && strchr(c->format, '%') ? c->format : NULL;
	int r;

	scap_state_set_render(pipeline_scap(s->pipeline), &render);
	if (!form && c->format && !strcmp(c->format, "sysdig"))
		form = SCAP_FORM_SYSDIG;
	if (!form)
		return 0;
	r = format_parse(pipeline_registry(s->pipeline), form, &s->print, err);
	if (r < 0)
		return err_prefix(err, "--format");
	opts->line.print = s->print;
	return 0;
}

/* Does a requested option drop events? */
static bool selects(const struct run_state *s)
{
	const struct run_conf *c = s->conf;

	return c->where || s->spec->filter_text || c->since_ns || c->until_ns ||
	       c->pids.len || c->containers.len || c->cgroups.len || c->netns.len;
}

/* May events of class DATA be refused? */
static bool may_refuse(const struct run_state *s)
{
	return selects(s) || s->spec->pass || s->child || (s->conf->read && s->spec->reads);
}

/* Fields from SEC_PARAMS require that section, even if no output writes it. */
static void declare_needs(struct run_state *s)
{
	bool words = filter_also(s->filter) || format_also(s->print);
	uint32_t outputs = pipeline_needs(s->pipeline);

	if (words)
		pipeline_need(s->pipeline, 1u << SEC_PARAMS);
	if (s->spec->needs && !s->conf->read)
		s->spec->needs(s->spec->needs_ctx, outputs, words, s->filter);
}

/* Summed events have no process: the kernel has already filtered their calls or packets. */
static int push_selection(struct run_state *s, struct err *err)
{
	int r = run_select_push_filter(s->conf, s->filter, &s->push);

	if (r < 0)
		return err_errno(err, r, "cannot take the filter apart");
	if (!s->push.pids.len && !s->push.comms.len)
		return 0;
	return filter_parse(pipeline_registry(s->pipeline), s->push.rest.len ? buf_str(&s->push.rest) : "",
			    &s->of_sums, err);
}

/* Pushes parts of the filter to the kernel; user space evaluates only the rest. */
static int push_filter(struct run_state *s, struct err *err)
{
	const struct registry *reg = pipeline_registry(s->pipeline);
	_cleanup_(buf_fini) struct buf rest = { 0 };
	struct filter *left = NULL;
	int r;

	if (s->conf->read)
		return 0;
	if (!s->spec->push)
		return push_selection(s, err);
	r = s->spec->push(s->spec->needs_ctx, s->filter, reg, &rest, err);
	if (r >= 0)
		r = filter_parse(reg, rest.len ? buf_str(&rest) : "", &left, err);
	if (r < 0)
		return r;
	s->whole = s->filter;
	s->filter = left;
	return 0;
}

static int prepare(struct run_state *s, struct loop *loop, struct sink_opts *opts, struct err *err)
{
	const struct run_conf *c = s->conf;
	int r = pipeline_new(loop, &s->pipeline, err);

	if (r < 0)
		return r;
	pipeline_settings(s->pipeline)->own_heap = true;
	r = filter_parse(pipeline_registry(s->pipeline), c->where ? c->where : "", &s->filter, err);
	if (r < 0)
		return err_prefix(err, "%s", c->where_name ? c->where_name : "--where");
	r = check_types(s, err);
	if (r < 0)
		return r;
	pipeline_set_filter(s->pipeline, pass, s, !may_refuse(s));
	pipeline_settings(s->pipeline)->recorded = is_recorded;
	pipeline_settings(s->pipeline)->recorded_ctx = s;
	pipeline_set_reveal(s->pipeline, c->reveal);
	r = set_lines(s, opts, err);
	if (r < 0)
		return r;
	if (selects(s)) {
		opts->pass = pass;
		opts->pass_ctx = s;
	}
	opts->rotate = (struct sink_rotation){
		.bytes = c->rotate_bytes, .every_ns = c->rotate_ns, .events = c->rotate_events,
		.files = c->rotate_files, .like_tcpdump = c->rotate_like_tcpdump, .number_last = c->write_format,
		.closed = c->rotate_closed, .closed_ctx = c->rotate_closed_ctx,
	};
	opts->reg = pipeline_registry(s->pipeline);
	opts->host = pipeline_host(s->pipeline);
	r = add_sym(s, opts, err);
	if (r >= 0)
		r = add_outputs(s, opts, err);
	if (r < 0)
		return r;
	declare_needs(s);
	return push_filter(s, err);
}

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };

int run(const struct run_conf *c, const struct run_ops *spec)
{
	struct run_state s = { .conf = c, .spec = spec };
	struct store_writer_opts store = spec->store ? *spec->store : (struct store_writer_opts){ 0 };
	int status = 0;
	struct sink_opts opts = {
		.line = { .verbose = c->verbose,
			  .numeric = c->numeric,
			  .format = c->format,
			  .hex = c->data == SCAP_BUFFER_HEX || c->data == SCAP_BUFFER_HEX_ASCII,
			  .string_bytes = c->string_bytes },
		.time = c->time,
		.color = run_want_color(c),
		.symbolic = !c->numeric,
		.cmdline = spec->cmdline,
		.filter_text = spec->filter_text,
		.stack = spec->stacks ? spec->stacks->view : NULL,
		.left_out = spec->stacks ? spec->stacks->left_out : NULL,
		.wait = c->read,
		.follows = c->follow,
		.store = &store,
		.redact = c->store.redact,
		.pcap = c->pcap,
		.gzip = c->gzip,
		.both_sides = c->both_sides,
		.ctx = spec->watcher_ctx,
	};
	struct loop *loop = loop_new();
	struct err err = { 0 };
	int r = loop ? run_store_limits(c, &store, &err) : err_errno(&err, -errno, "cannot make an event loop");

	hurry(&s, !spec->command || !spec->command->len);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(stop_signals); i++)
		if ((stop_signals[i] != SIGHUP || !spec->hangup) && (r = watch_signal(&s, loop, stop_signals[i])) < 0)
			err_errno(&err, r, "cannot wait for signals");
	s.loop = loop;
	if (r >= 0)
		r = prepare(&s, loop, &opts, &err);
	if (r >= 0)
		r = run_pipeline(&s, &err);
	if (r == -EINTR && loop_once(loop, 0) >= 0 && s.signal)
		r = 0;	/* while the agent started the probes */
	sched_boost_end(&s.sched_boost);
	if (spec->stopped)
		spec->stopped(spec->started_ctx);
	if (s.child && s.signal)
		child_signal(s.child, s.signal);
	else if (r >= 0 && s.child)
		status = child_wait(s.child);
	child_free(s.child);
	child_free(s.adopted);
	if (spec->input && spec->input->opener && s.pipeline)
		*spec->input->opener = TAKE_PTR(pipeline_settings(s.pipeline)->opener);
	pipeline_free(s.pipeline);
	client_close(s.agent);
	other_netns_free(s.others);
	filter_free(s.filter);
	filter_free(s.whole);
	filter_free(s.of_sums);
	run_select_push_fini(&s.push);
	format_free(s.print);
	loop_free(loop);
	if (r == -EPIPE)	/* reader closed the pipe (| head): not an error */
		return CMD_BY_SIGNAL + SIGPIPE;
	if (r < 0) {
		if (!*err.msg)
			err_errno(&err, r, "cannot run");
		return cmd_fail(r, &err);
	}
	return s.signal ? CMD_BY_SIGNAL + s.signal : status;
}
