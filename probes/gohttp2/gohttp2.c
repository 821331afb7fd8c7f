// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half: loads the programs, finds the Go programs of this host now and when they start, and has them watched.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "gobin/gobin.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/gohttp2/gohttp2.h"
#include "probes/gohttp2/gohttp2_files.h"
#include "probes/gohttp2/gohttp2_header.h"
#include "probes/gohttp2/gohttp2_site.h"
#include "probes/gohttp2/gohttp2_wire.h"

#include "gohttp2.skel.h"

extern const struct decoder_ops gohttp2_decoder;

struct gohttp2_state {
	struct hooks *hooks;
	struct gohttp2_files *files;
	uint64_t *told;		/* misses, by site */
};

/* Programs of one name are alternatives. Those for places are attached file by file. */
static const struct hook gohttp2_hooks[] = {
	{ "places in programs", "gohttp2_multi", HOOK_ATTACH_NOT, .needs = "struct bpf_uprobe_multi_link" },
	{ "places in programs", "gohttp2_single", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_get_attach_cookie",
	  .fallback = "Linux 5.15 is the first that can tell them apart" },
	{ "exec", "gohttp2_exec", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exec", .n_args = 3,
	  .fallback = "only programs from before the start are seen" },
	{ "exit", "gohttp2_exit", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exit", .n_args = 1,
	  .fallback = "calls of a program that ended stay open" },
};

/* Bits of the lengths that the names have that were asked for; the others the kernel side knows by itself. */
static uint64_t lengths(const struct gohttp2_conf *c)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < c->headers.len; i++)
		bits |= 1ull << MIN(strlen(c->headers.items[i]), (size_t)GOHTTP2_NAME_BYTES);
	return bits;
}

/* Payload is that of DATA frames. */
static uint32_t gobin_sets(const struct gohttp2_conf *c)
{
	switch (c->payload_bytes ? MAX(c->set, (unsigned)GOHTTP2_SET_DATA) : c->set) {
	case GOHTTP2_SET_ALL: return GOBIN_ALL;
	case GOHTTP2_SET_DATA: return GOBIN_HEADERS | GOBIN_RESETS | GOBIN_DATA;
	default:
		return GOBIN_HEADERS | GOBIN_RESETS;
	}
}

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct gohttp2_conf *c = ctx;
	const uint32_t bytes = (uint32_t)MIN(c->value_bytes, (uint64_t)GOHTTP2_VALUE_BYTES_MAX);
	const uint32_t payload = (uint32_t)MIN(c->payload_bytes, (uint64_t)GOHTTP2_VALUE_BYTES_MAX);
	const bool data = gobin_sets(c) & GOBIN_DATA;
	const uint64_t bits = lengths(c);

	probe_rodata_set(obj, "gohttp2_value_bytes", &bytes, sizeof(bytes));
	probe_rodata_set(obj, "gohttp2_data", &data, sizeof(data));
	probe_rodata_set(obj, "gohttp2_payload", &payload, sizeof(payload));
	probe_rodata_set(obj, "gohttp2_lengths", &bits, sizeof(bits));
	probe_rodata_set(obj, "gohttp2_debug", &c->debug, sizeof(c->debug));
}

static int load(struct probe *p, struct hooks **ret, struct err *err)
{
	struct hooks_spec spec = {
		.rows = gohttp2_hooks,
		.n_rows = ARRAY_SIZE(gohttp2_hooks),
		.configure = configure,
		.ctx = (void *)p->conf,
	};

	spec.elf = gohttp2_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(p->env, &spec, p->instance, ret, err);
}

/* ---- names of headers ---- */

static int add_name(int fd, const char *name, uint8_t header, bool secret)
{
	const struct gohttp2_name_val val = { .header = header, .secret = secret };
	struct gohttp2_name key = { 0 };

	for (size_t i = 0; name[i] && i < sizeof(key.name); i++)	/* in HTTP/2 all names are in lower case */
		key.name[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	return bpf_map_update_elem(fd, &key, &val, BPF_ANY) < 0 ? -errno : 0;
}

static int add_names(const struct gohttp2_conf *c, struct bpf_object *obj, struct err *err)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, "gohttp2_names");
	int fd = bpf_map__fd(map), r = 0;

	for (size_t i = 0; r >= 0 && i < c->headers.len; i++) {
		if (strlen(c->headers.items[i]) > GOHTTP2_NAME_BYTES)
			return err_set(err, -EINVAL, "--header %s: longer than %d bytes", c->headers.items[i],
				       GOHTTP2_NAME_BYTES);
		r = add_name(fd, c->headers.items[i], GOHTTP2_H_OTHER, gohttp2_header_is_secret(c->headers.items[i]));
	}
	return r < 0 ? err_errno(err, r, "cannot store the list of headers") : 0;
}

/* ---- programs ---- */

static void tell_program(void *ctx, uint32_t tgid, uint64_t start_ns, uint32_t n_sites, const char *text)
{
	struct probe *p = ctx;
	struct {
		struct gohttp2_program_rec rec;
		char text[256];
	} r = { .rec = { .n_sites = n_sites, .text_len = (uint32_t)MIN(strlen(text), sizeof(r.text)) } };

	r.rec.hdr = (struct sonde_rec){
		.type = GOHTTP2_REC_PROGRAM,
		.tgid = tgid,
		.tid = tgid,
		.start_ns = start_ns,
		.instance = p->instance,
		.flags = start_ns ? 0 : SONDE_RF_SNAPSHOT,
	};
	memcpy(r.text, text, r.rec.text_len);
	probe_env_inject(p->env, &r.rec.hdr, sizeof(r.rec) + r.rec.text_len);
}

static int open_files(struct probe *p, struct err *err)
{
	struct gohttp2_state *s = p->state;
	const struct gohttp2_conf *c = p->conf;
	char proc_path[4096];
	struct gohttp2_files_opts o = {
		.obj = hooks_object(s->hooks),
		.multi = hooks_program(s->hooks, "gohttp2_multi"),
		.single = hooks_program(s->hooks, "gohttp2_single"),
		.proc_path = proc_path,
		.sets = gobin_sets(c),
		.coop = probe_env_coop(p->env),
		.tell = tell_program,
		.ctx = p,
	};

	snprintf(proc_path, sizeof(proc_path), "%s/proc", probe_env_host_root(p->env));
	if (o.single)	/* a hit that finds another program running on its CPU is missed */
		probe_env_watch(p->env, o.single, p->instance);
	return gohttp2_files_new(&o, &s->files, err);
}

/* ---- what went wrong in the kernel ---- */

static void tell_miss(struct probe *p, unsigned site, uint64_t count)
{
	struct gohttp2_miss_rec r = {
		.hdr = { .type = GOHTTP2_REC_MISS, .instance = p->instance },
		.count = count,
		.site = (uint16_t)site,
		.line = (uint16_t)gohttp2_sites[site].line,
	};

	snprintf(r.file, sizeof(r.file), "%s", gohttp2_sites[site].file);
	snprintf(r.reason, sizeof(r.reason), "%s", gohttp2_sites[site].reason);
	probe_env_inject(p->env, &r.hdr, sizeof(r));
}

/* What was counted since the last time. */
static void tell_misses(struct probe *p)
{
	struct gohttp2_state *s = p->state;
	const struct bpf_map *map = bpf_object__find_map_by_name(hooks_object(s->hooks), "gohttp2_misses");
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *counts = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(*counts)) : NULL;

	if (!s->told)
		s->told = calloc(gohttp2_n_sites, sizeof(*s->told));
	for (uint32_t site = 1; counts && s->told && site < gohttp2_n_sites; site++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(bpf_map__fd(map), &site, counts) < 0)
			continue;
		for (int i = 0; i < n_cpus; i++)
			sum += counts[i];
		if (sum != s->told[site])
			tell_miss(p, site, sum - s->told[site]);
		s->told[site] = sum;
	}
}

static void gohttp2_misses(struct probe *p, probe_miss_fn fn, void *ctx)
{
	const struct gohttp2_state *s = p->state;

	for (unsigned site = 1; s->told && site < gohttp2_n_sites; site++)
		if (s->told[site])
			fn(ctx, gohttp2_sites[site].file, gohttp2_sites[site].line, gohttp2_sites[site].reason,
			   s->told[site]);
}

/* ---- probe_ops ---- */

static void report_failed(void *ctx, const struct hook_report *r)
{
	struct probe *p = ctx;
	struct err err = { 0 };

	err_set(&err, -ENOTSUP, "%s%s%s", r->why, *r->fallback ? "; " : "", r->fallback);
	probe_env_hook_failed(p->env, r->hook, &err);
}

static int gohttp2_open(struct probe *p, struct err *err)
{
	struct gohttp2_state *s = p->state;
	int r = load(p, &s->hooks, err);

	if (r >= 0)
		r = add_names(p->conf, hooks_object(s->hooks), err);
	return r < 0 ? r : open_files(p, err);
}

static const struct probe_select *selection(const struct probe *p)
{
	return probe_env_select(p->env, p->instance);
}

/* Fails if processes were selected and none of them can be watched. */
static int check_pids(struct gohttp2_files *files, const struct probe_select *s, struct err *err)
{
	for (size_t i = 0; i < s->n_pids; i++)
		if (gohttp2_files_can_watch(files, s->pids[i]))
			return 0;
	if (!s->n_pids)
		return 0;
	if (s->n_pids > 1)
		return err_set(err, -ENOEXEC, "none of the %zu processes runs a Go program with gRPC or HTTP/2",
			       s->n_pids);
	return err_set(err, -ENOEXEC, "process %" PRIu32 " does not run a Go program with gRPC or HTTP/2; "
		       "sonde rpc explain %" PRIu32 " says more", s->pids[0], s->pids[0]);
}

static int gohttp2_attach(struct probe *p, struct err *err)
{
	struct gohttp2_state *s = p->state;

	hooks_attach(s->hooks, -1);
	hooks_report(s->hooks, true, report_failed, p);
	if (!hooks_program(s->hooks, "gohttp2_multi") && !hooks_program(s->hooks, "gohttp2_single"))
		return err_set(err, -ENOTSUP, "this kernel cannot watch places in programs");
	return check_pids(s->files, selection(p), err);
}

/* The kernel side filters by process as well, but each hit of a probe costs the program that is not selected. */
static bool is_wanted(const struct probe *p, uint32_t tgid)
{
	const struct probe_select *s = selection(p);

	for (size_t i = 0; i < s->n_pids; i++)
		if (s->pids[i] == tgid)
			return true;
	return !s->n_pids;
}

static int gohttp2_snapshot(struct probe *p, struct err *err)
{
	struct gohttp2_state *s = p->state;
	const struct probe_select *select = selection(p);
	const struct gohttp2_conf *c = p->conf;
	int r;

	for (size_t i = 0; i < select->n_pids; i++)
		gohttp2_files_process(s->files, select->pids[i], 0);
	if (select->n_pids)
		return 0;
	r = gohttp2_files_scan(s->files);
	if (c->command)
		gohttp2_files_expect(s->files, c->command);
	return r < 0 ? err_errno(err, r, "cannot list the processes") : 0;
}

static int gohttp2_control(struct probe *p, const struct sonde_rec *r)
{
	struct gohttp2_state *s = p->state;

	if (r->type == GOHTTP2_REC_EXIT || r->type == GOHTTP2_REC_EXEC)
		gohttp2_files_exit(s->files, r->tgid);
	if (r->type == GOHTTP2_REC_EXEC && is_wanted(p, r->tgid))
		gohttp2_files_process(s->files, r->tgid, r->start_ns);
	else if (r->type == SONDE_EV_MMAP && is_wanted(p, r->tgid))
		gohttp2_files_mapping(s->files, r);
	return 0;
}

static int gohttp2_tick(struct probe *p, uint64_t now_ns)
{
	struct gohttp2_state *s = p->state;

	gohttp2_files_tick(s->files, now_ns);
	tell_misses(p);
	return 0;
}

static void gohttp2_detach(struct probe *p)
{
	struct gohttp2_state *s = p->state;

	hooks_detach(s->hooks);
	gohttp2_files_detach(s->files); /* after the hooks, whose records make control() attach to more files */
	tell_misses(p);
}

static void gohttp2_close(struct probe *p)
{
	struct gohttp2_state *s = p->state;

	gohttp2_files_free(s->files);
	hooks_free(s->hooks);
	free(s->told);
	*s = (struct gohttp2_state){ 0 };
}

static int gohttp2_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct gohttp2_state s = { 0 };
	struct probe p = { .env = env, .conf = &gohttp2_conf_default, .state = &s };
	struct err err = { 0 };
	int r = load(&p, &s.hooks, &err);

	if (r < 0) {
		struct hook_report report = { .hook = "places in programs", .state = HOOK_FAILED };

		snprintf(report.why, sizeof(report.why), "%.255s", err.msg);
		fn(ctx, &report);
		return 0;
	}
	hooks_attach(s.hooks, -1);
	hooks_report(s.hooks, false, fn, ctx);
	hooks_free(s.hooks);
	return 0;
}

const struct probe_ops gohttp2_probe = {
	.name = "gohttp2",
	.summary = "gRPC and HTTP/2 calls of Go programs",
	.decoder = &gohttp2_decoder,
	.opts = gohttp2_opts,
	.conf_size = sizeof(struct gohttp2_conf),
	.state_size = sizeof(struct gohttp2_state),
	.conf_default = &gohttp2_conf_default,
	.conf_base = &gohttp2_conf_default,
	.check = gohttp2_check,
	.open = gohttp2_open,
	.attach = gohttp2_attach,
	.snapshot = gohttp2_snapshot,
	.control = gohttp2_control,
	.tick = gohttp2_tick,
	.misses = gohttp2_misses,
	.detach = gohttp2_detach,
	.close = gohttp2_close,
};
