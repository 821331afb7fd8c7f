// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assembly of a pipeline, its accessors and its rights.
 */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/cilium_listener.h"
#include "pipeline/output.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "event/decode.h"
#include "event/names.h"
#include "loop/coop.h"
#include "probe/budget/budget.h"
#include "probe/env.h"
#include "scap/state/state.h"
#include "sinks/outfile.h"
#include "source/source.h"
#include "stack/functions.h"
#include "state/state.h"
#include "state/state_task.h"
#include "sym/hostfile.h"
#include "sym/sym.h"
#include "worker/confine.h"
#include "worker/opener.h"
#include "worker/spawner.h"
#include "worker/worker.h"

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	coop_stop(p->coop);
	budget_free(p->budget);
	pipeline_live_free(p);
	coop_free(p->coop);
	probe_env_free(p->env);
	source_close(p->source);
	source_close(p->names_source);
	for (size_t i = 0; i < p->outputs.len; i++)
		output_close(p->outputs.items[i], NULL);
	vec_fini(&p->outputs);
	stack_functions_free(p->functions);
	sym_free(p->sym);
	pipeline_hold_fini(&p->hold);
	state_free(p->state);
	scap_state_free(p->scap);
	decode_set_free(p->decode);
	opener_free(p->set.opener);
	failed_hooks_fini(&p->failed);
	spawner_stop();
	if (p->served_folder)
		close(p->served_folder);
	arena_fini(&p->scratch);
	free(p);
}
DEFINE_CLEANUP(struct pipeline *, pipeline_free)

int pipeline_new(struct loop *loop, struct pipeline **ret, struct err *err)
{
	_cleanup_(pipeline_freep) struct pipeline *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_errno(err, -ENOMEM, "cannot set up the pipeline");
	p->loop = loop;
	r = decode_set_new(all_decoders, &p->decode);
	if (r < 0)
		return err_errno(err, r, "cannot register the event types");
	p->state = state_new(0);
	pipeline_path_init(p);
	p->scap = scap_state_new();
	if (!p->state || !p->scap)
		return err_errno(err, -ENOMEM, "cannot set up the pipeline");
	scap_state_set_engine(p->scap, p->state);
	*ret = TAKE_PTR(p);
	return 0;
}

const struct registry *pipeline_registry(const struct pipeline *p)
{
	return decode_set_registry(p->decode);
}

struct bus *pipeline_bus(struct pipeline *p)
{
	return &p->bus;
}

struct scap_state *pipeline_scap(struct pipeline *p)
{
	return p->scap;
}

const struct state *pipeline_state(const struct pipeline *p)
{
	return p->state;
}

bool pipeline_owner(struct pipeline *p, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid)
{
	return state_task_user(p->state, tgid, start_ns, ts_ns, ret_uid);
}

const struct decode_set *pipeline_decoders(const struct pipeline *p)
{
	return p->decode;
}

const struct core_host *pipeline_host(const struct pipeline *p)
{
	return decode_set_host(p->decode);
}

void pipeline_set_filter(struct pipeline *p, bool (*pass)(void *ctx, const struct event *ev), void *ctx,
			 bool all_data)
{
	p->selects = !all_data;
	p->pass = pass;
	p->pass_ctx = ctx;
}

void pipeline_set_reveal(struct pipeline *p, unsigned what)
{
	decode_set_reveal(p->decode, what);
}

struct pipeline_settings *pipeline_settings(struct pipeline *p)
{
	return &p->set;
}

int pipeline_add_sym(struct pipeline *p, const struct sym_opts *o, struct err *err)
{
	int r = sym_new(o, &p->sym, err);

	if (r >= 0 && stack_functions_new(p->sym, &p->functions) < 0)
		r = err_errno(err, -ENOMEM, "cannot set up the symbolizer");
	return r;
}

struct sym *pipeline_sym(const struct pipeline *p)
{
	return p->sym;
}

int pipeline_add_sink(struct pipeline *p, const struct sink_ops *ops, const struct sink_opts *opts,
		      const char *path, struct err *err)
{
	struct output *o;
	int r;

	if (vec_grow(&p->outputs) < 0)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = output_open(&p->bus, p->loop, ops, opts, path, &o, err);
	if (r < 0)
		return r;
	p->outputs.items[p->outputs.len++] = o;
	p->needs |= ops->needs;
	p->records |= ops->record != NULL;
	p->collects |= p->sym && ops->flags & SINK_RAW;
	return 0;
}

int pipeline_trigger(struct pipeline *p)
{
	int n = 0;

	for (size_t i = 0; i < p->outputs.len; i++)
		n += output_trigger(p->outputs.items[i]);
	return n;
}

void pipeline_dumps(const struct pipeline *p, uint64_t *ret_dumps, uint64_t *ret_more)
{
	*ret_dumps = *ret_more = 0;
	for (size_t i = 0; i < p->outputs.len; i++) {
		uint64_t dumps, more;

		output_dumps(p->outputs.items[i], &dumps, &more);
		*ret_dumps += dumps;
		*ret_more += more;
	}
}

void pipeline_need(struct pipeline *p, uint32_t sections)
{
	p->needs |= sections;
}

uint32_t pipeline_needs(const struct pipeline *p)
{
	return p->needs;
}

bool pipeline_hook_failed(const struct pipeline *p, const char *hook)
{
	return failed_hooks_has(&p->failed, hook);
}

void pipeline_failed_hooks(const struct pipeline *p, uint64_t of,
			   void (*fn)(void *ctx, const char *hook, const char *why), void *ctx)
{
	for (size_t i = 0; i < p->failed.all.len; i++)
		if (p->failed.all.items[i].of & of)
			fn(ctx, p->failed.all.items[i].hook, p->failed.all.items[i].why);
}

int pipeline_use_thread(struct pipeline *p, void (*guard)(void *ctx, bool raised), void *ctx, struct err *err)
{
	int r = coop_new(p->loop, &p->coop);

	if (r < 0)
		return err_errno(err, r, "cannot start a thread");
	coop_set_guard(p->coop, guard, ctx);
	if (p->env)
		probe_env_set_coop(p->env, p->coop);
	return 0;
}

struct coop *pipeline_coop(const struct pipeline *p)
{
	return p->coop;
}

const char *pipeline_instance(const struct pipeline *p, uint16_t instance, struct sonde_ledger *ret)
{
	const char *name;

	if (instance >= SONDE_INSTANCES || !p->accounts.of[instance].used)
		return NULL;
	account_total(&p->accounts.of[instance], ret);
	name = event_names_get(decode_set_names(p->decode), SONDE_NAME_INSTANCE, instance);
	return name ? name : "file";
}

uint64_t pipeline_gap(const struct pipeline *p, uint16_t instance)
{
	const struct account *a = instance < SONDE_INSTANCES ? &p->accounts.of[instance] : NULL;

	return a && a->used ? account_gap(a) : 0;
}

int pipeline_kernel_ledger(struct pipeline *p, uint16_t instance, struct sonde_ledger *ret)
{
	const struct account *a = account_of(&p->accounts, instance);

	if (!a)
		return -ERANGE;
	account_kernel(a, ret);
	return 0;
}

struct probe_env *pipeline_env(const struct pipeline *p)
{
	return p->env;
}

void pipeline_refresh(struct pipeline *p)
{
	if (p->env)
		pipeline_path_emit_losses(p);
}

uint64_t pipeline_refused(const struct pipeline *p)
{
	return p->refused;
}

uint64_t pipeline_shown(const struct pipeline *p)
{
	return p->shown;
}

void pipeline_ledger(const struct pipeline *p, struct sonde_ledger *ret)
{
	*ret = (struct sonde_ledger){ 0 };
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger one;

		if (pipeline_instance(p, i, &one))
			probe_env_add_ledger(ret, &one);
	}
}

/* ---- rights ---- */

/*
 * A pipeline over a file gives up all rights before it reads. An opener process then opens files for it (symbol
 * files, next files of a rotated output) and removes the listener's socket.
 */
#define OPEN_SYMBOLS UINT32_MAX		/* other values: index of an output */

/* Runs in the opener. @name comes from a process that has parsed untrusted input. */
static int open_for(void *ctx, uint32_t what, const char *name)
{
	const struct pipeline *p = ctx;

	if (what == OPEN_SYMBOLS && p->sym)
		return hostfile_open_elf(p->sym, name);
	if (what >= p->outputs.len || output_folder(p->outputs.items[what]) < 0)
		return -EPERM;
	return outfile_open_below(output_folder(p->outputs.items[what]), name);
}

static int open_symbols(void *ctx, const char *path)
{
	const struct pipeline *p = ctx;

	return opener_open(p->set.opener, OPEN_SYMBOLS, path);
}

/* Runs in the opener, too. */
static int remove_socket(void *ctx)
{
	const struct pipeline *p = ctx;

	if (p->served_folder)
		return unlinkat(p->served_folder, p->served_name, 0) < 0 ? -errno : 0;
	return cilium_listener_remove_socket(p->set.listener);
}

static int start_opener(struct pipeline *p, struct err *err)
{
	int fds[WORKER_FDS_MAX + 1], socket_folder = p->served_folder ? p->served_folder :
						     p->set.listener ? cilium_listener_folder(p->set.listener) : -1;
	struct opener_opts o = { .open = open_for, .ctx = p, .fds = fds };
	size_t n = 0;

	if (p->sym)
		fds[n++] = hostfile_root_fd(p->sym);
	if (socket_folder >= 0) {
		o.remove = remove_socket;
		o.remove_fd = fds[n++] = socket_folder;
	}
	for (size_t i = 0; i < p->outputs.len && n < WORKER_FDS_MAX + 1; i++)
		if (output_folder(p->outputs.items[i]) >= 0)
			fds[n++] = output_folder(p->outputs.items[i]);
	o.n_fds = n;
	return n ? opener_start(&o, &p->set.opener, err) : 0;
}

static void use_opener(struct pipeline *p)
{
	for (size_t i = 0; i < p->outputs.len; i++)
		output_set_opener(p->outputs.items[i], p->set.opener, (uint32_t)i);
	if (p->sym)
		hostfile_set_open(p->sym, open_symbols, p);
	if (p->set.listener)
		cilium_listener_set_opener(p->set.listener, p->set.opener);
}

int pipeline_give_up_rights(struct pipeline *p, struct err *err)
{
	int r = 0;

	if (confine_works() && !p->set.opener)
		r = start_opener(p, err);
	if (p->set.opener)
		use_opener(p);
	return r < 0 ? r : confine_self(p->set.listener || p->accepts, err);
}

int pipeline_set_accepts(struct pipeline *p, const char *path)
{
	_cleanup_free_ char *folder = path ? strdup(path) : NULL;
	char *slash = folder ? strrchr(folder, '/') : NULL;
	const char *name = slash ? path + (slash - folder) + 1 : path;

	p->accepts = true;
	if (!path)
		return 0;
	if (!folder || strlen(name) >= sizeof(p->served_name))
		return folder ? -ENAMETOOLONG : -ENOMEM;
	if (slash)
		slash[slash == folder] = '\0';
	p->served_folder = open(slash ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->served_folder < 0) {
		p->served_folder = 0;
		return -errno;
	}
	memcpy(p->served_name, name, strlen(name) + 1);
	return 0;
}

int pipeline_remove_socket(struct pipeline *p)
{
	if (!p->served_folder)
		return -ENOENT;
	return p->set.opener ? opener_remove(p->set.opener) : remove_socket(p);
}
