// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half: loads the BPF programs, finds the Go programs of this host at the start and on exec, and probes them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "event/decode.h"
#include "gobin/gobin.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/gohttp2/gohttp2.h"
#include "probes/gohttp2/gohttp2_files.h"
#include "probes/gohttp2/gohttp2_miss_numbers.h"
#include "probes/gohttp2/gohttp2_misses.h"
#include "probes/gohttp2/gohttp2_wire.h"

#include "gohttp2.skel.h"

extern const struct decoder_ops gohttp2_decoder;

#define VALUE_BYTES 512	/* of a header, by default */

/* Rows of one name are alternatives. Probe sites are attached file by file. */
static const struct hook gohttp2_hooks[] = {
	{ "probe sites", "gohttp2_multi", HOOK_ATTACH_NOT, .needs = "struct bpf_uprobe_multi_link" },
	{ "probe sites", "gohttp2_single", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_get_attach_cookie",
	  .fallback = "attach cookies need Linux 5.15" },
	{ "exec", "gohttp2_exec", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exec", .n_args = 3,
	  .fallback = "only programs from before the start are seen" },
	{ "exit", "gohttp2_exit", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_exit", .n_args = 1,
	  .fallback = "calls of a program that ended stay open" },
	/* left out without ranges */
	{ "frames", "gohttp2_range_multi", HOOK_ATTACH_NOT, .needs = "struct bpf_uprobe_multi_link" },
	{ "frames", "gohttp2_range_single", HOOK_ATTACH_NOT, .needs = "BPF_FUNC_get_attach_cookie",
	  .fallback = "packets do not name the calls that they carry" },
	/* left out without --show logs */
	{ "log lines", "gohttp2_log", HOOK_ATTACH_TRACE, .tracepoint = "sys_exit", .n_args = 2,
	  .fallback = "calls have no log lines" },
};

struct gohttp2_state {
	struct hook rows[ARRAY_SIZE(gohttp2_hooks)]; /* those in use */
	struct hooks *hooks;
	struct gohttp2_files *files;
	uint64_t *reported;		/* totals by number of gohttp2_misses.def */
	struct map ends;		/* struct gohttp2_type_key -> uint64_t reported so far */
};

/* The SIZE of "NAME=SIZE", and the length of the name. 0: there is none. */
static uint64_t header_size(const char *header, size_t *ret_name_len)
{
	const char *eq = strrchr(header, '=');
	uint64_t size = 0;

	*ret_name_len = strlen(header);
	if (!eq || str_to_bytes(eq + 1, &size) < 0)
		return 0;
	*ret_name_len = (size_t)(eq - header);
	return size;
}

/* Bytes of a header value at most. */
static uint32_t value_bytes(const struct gohttp2_conf *c)
{
	uint64_t most = 0;
	size_t len;

	for (size_t i = 0; i < c->headers.len; i++)
		most = MAX(most, header_size(c->headers.items[i], &len));
	return (uint32_t)MIN(most ? most : VALUE_BYTES, (uint64_t)GOHTTP2_VALUE_BYTES_MAX);
}

/* Bit set of the name lengths of --header; the kernel side knows the lengths of names always selected. */
static uint64_t lengths(const struct gohttp2_conf *c)
{
	uint64_t bits = 0;
	size_t len;

	for (size_t i = 0; i < c->headers.len; i++) {
		header_size(c->headers.items[i], &len);
		bits |= 1ull << MIN(len, (size_t)GOHTTP2_NAME_BYTES);
	}
	return bits;
}

/* Payload needs probe sites of DATA frames. */
static uint32_t gobin_sets(const struct gohttp2_conf *c)
{
	uint32_t sets = GOBIN_HEADERS | GOBIN_RESETS;

	if (c->set == GOHTTP2_SET_ALL)
		sets |= GOBIN_ALL;
	if (c->set == GOHTTP2_SET_DATA || c->payload_bytes)
		sets |= GOBIN_DATA;
	if (c->set == GOHTTP2_SET_PARENTS || c->set == GOHTTP2_SET_ALL || c->serving || c->logs)
		sets |= GOBIN_SERVING;
	if (c->ranges)
		sets |= GOBIN_RANGES;
	return sets;
}

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct probe *p = ctx;
	const struct gohttp2_conf *c = p->conf;
	const uint32_t bytes = value_bytes(c);
	const uint32_t payload = (uint32_t)MIN(c->payload_bytes, (uint64_t)GOHTTP2_VALUE_BYTES_MAX);
	const bool data = gobin_sets(c) & GOBIN_DATA;
	const bool serving = gobin_sets(c) & GOBIN_SERVING;
	const uint64_t bits = lengths(c);

	probe_rodata_set(obj, "gohttp2_value_bytes", &bytes, sizeof(bytes));
	probe_rodata_set(obj, "gohttp2_data", &data, sizeof(data));
	probe_rodata_set(obj, "gohttp2_payload", &payload, sizeof(payload));
	probe_rodata_set(obj, "gohttp2_lengths", &bits, sizeof(bits));
	probe_rodata_set(obj, "gohttp2_serving", &serving, sizeof(serving));
	bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "gohttp2_cpus"), probe_env_n_cpus(p->env));
	if (!c->ranges)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "gohttp2_plain_framers"), 1);
	probe_rodata_set(obj, "gohttp2_debug", &c->debug, sizeof(c->debug));
}

/* Rows that @c has a use for. Returns how many. */
static size_t choose_hooks(const struct gohttp2_conf *c, struct hook *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(gohttp2_hooks); i++)
		if ((c->ranges || strcmp(gohttp2_hooks[i].name, "frames") != 0) &&
		    (c->logs || strcmp(gohttp2_hooks[i].name, "log lines") != 0))
			ret[n++] = gohttp2_hooks[i];
	return n;
}

static int load(struct probe *p, struct gohttp2_state *s, struct err *err)
{
	struct hooks_spec spec = {
		.rows = s->rows,
		.n_rows = choose_hooks(p->conf, s->rows),
		.configure = configure,
		.ctx = p,
	};

	spec.elf = gohttp2_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(p->env, &spec, p->instance, &s->hooks, err);
}

/* ---- names of headers ---- */

/* Is it a usual name of credentials, whose values are never shown? */
static bool is_secret(const char *lower)
{
	static const char *const whole[] = {
		"authorization", "proxy-authorization", "cookie", "set-cookie", "authentication-info",
	};
	static const char *const parts[] = {
		"token", "secret", "password", "passwd", "api-key", "apikey", "credential", "session", "-auth",
		"signature",
	};

	return ARRAY_FIND(it, whole, !strcmp(lower, *it)) || ARRAY_FIND(it, parts, strstr(lower, *it));
}

static int add_name(int fd, const char *name, size_t len, uint8_t header)
{
	struct gohttp2_name_val val = { .header = header };
	char lower[GOHTTP2_NAME_BYTES + 1] = { 0 };
	struct gohttp2_name key;

	for (size_t i = 0; i < len && i < GOHTTP2_NAME_BYTES; i++)	/* names in HTTP/2 are lower case */
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	memcpy(key.name, lower, sizeof(key.name));
	val.secret = is_secret(lower);
	return bpf_map_update_elem(fd, &key, &val, BPF_ANY) < 0 ? -errno : 0;
}

static int add_names(const struct gohttp2_conf *c, struct bpf_object *obj, struct err *err)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, "gohttp2_names");
	int fd = bpf_map__fd(map), r = 0;

	for (size_t i = 0; r >= 0 && i < c->headers.len; i++) {
		const char *header = c->headers.items[i];
		size_t len;

		header_size(header, &len);
		if (len > GOHTTP2_NAME_BYTES)
			return err_set(err, -EINVAL, "--header %s: longer than %d bytes", header, GOHTTP2_NAME_BYTES);
		r = add_name(fd, header, len, GOHTTP2_H_OTHER);
	}
	return r < 0 ? err_errno(err, r, "cannot store the list of headers") : 0;
}

/* ---- programs ---- */

static void report_program(void *ctx, uint32_t tgid, uint64_t start_ns, uint32_t n_sites, const char *text)
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

/* One program is one loss: how many of its calls were missed is unknown. */
static void report_late(void *ctx, const struct gohttp2_start_rec *start, int fd, bool ended)
{
	struct probe *p = ctx;
	struct sonde_lost_rec lost = {
		.hdr = { .type = SONDE_EV_LOST, .instance = p->instance },
		.cause = SONDE_LOST_NOT_ATTACHED, .count = 1,
	};
	struct {
		struct gohttp2_late_rec rec;
		char path[GOHTTP2_PATH_BYTES];
	} r = { .rec = { .gone = ended } };
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, r.path, sizeof(r.path));
	r.rec.path_len = n < 0 ? 0 : (uint32_t)n;
	r.rec.hdr = start->hdr;
	r.rec.hdr.type = GOHTTP2_REC_LATE;
	r.rec.hdr.ts_ns = clock_boot_ns();
	r.rec.late_ns = r.rec.hdr.ts_ns - MIN(start->hdr.ts_ns, r.rec.hdr.ts_ns);
	probe_env_inject(p->env, &r.rec.hdr, sizeof(r.rec) + r.rec.path_len);
	probe_env_inject(p->env, &lost.hdr, sizeof(lost));
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
		.range_multi = c->ranges ? hooks_program(s->hooks, "gohttp2_range_multi") : NULL,
		.range_single = c->ranges ? hooks_program(s->hooks, "gohttp2_range_single") : NULL,
		.proc_path = proc_path,
		.sets = gobin_sets(c),
		.coop = probe_env_coop(p->env),
		.report = report_program,
		.late = report_late,
		.ctx = p,
	};

	snprintf(proc_path, sizeof(proc_path), "%s/proc", probe_env_host_root(p->env));
	if (o.single)	/* a hit while another BPF program runs on the CPU is lost */
		probe_env_watch(p->env, o.single, p->instance);
	return gohttp2_files_new(&o, &s->files, err);
}

/* ---- misses of the kernel side ---- */

/* @type: of the connection; NULL = the miss has none. */
static void report_miss(struct probe *p, unsigned site, uint64_t count, const char *type)
{
	struct {
		struct gohttp2_miss_rec rec;
		char type[128];
	} r = { .rec = {
			.hdr = { .type = GOHTTP2_REC_MISS, .instance = p->instance },
			.count = count,
			.site = (uint16_t)site,
			.line = (uint16_t)gohttp2_misses[site].line,
			.text_len = type ? (uint32_t)MIN(strlen(type), sizeof(r.type)) : 0,
		} };

	snprintf(r.rec.file, sizeof(r.rec.file), "%s", gohttp2_misses[site].file);
	snprintf(r.rec.reason, sizeof(r.rec.reason), "%s", gohttp2_misses[site].reason);
	memcpy(r.type, type ? type : "", r.rec.text_len);
	probe_env_inject(p->env, &r.rec.hdr, sizeof(r.rec) + r.rec.text_len);
}

/* Reports connections that led to no socket by their type, up to @most since the last call. Returns how many. */
static uint64_t report_ends(struct probe *p, unsigned site, uint64_t most)
{
	struct gohttp2_state *s = p->state;
	int fd = bpf_map__fd(bpf_object__find_map_by_name(hooks_object(s->hooks), "gohttp2_conn_ends"));
	struct gohttp2_type_key key, *last = NULL;
	uint64_t sum = 0;

	while (sum < most && bpf_map_get_next_key(fd, last, &key) == 0) {
		const char *name = gohttp2_files_conn_name(s->files, key.module, key.type);
		uint64_t n = 0, *told = map_add(&s->ends, &key, NULL);

		last = &key;
		if (!told || bpf_map_lookup_elem(fd, &key, &n) < 0 || n <= *told || !name)
			continue;
		report_miss(p, site, MIN(n - *told, most - sum), name);
		sum += MIN(n - *told, most - sum);
		*told = n;
	}
	return sum;
}

static void report_site(struct probe *p, unsigned site, uint64_t count)
{
	if (site == GOHTTP2_MISS_conn_type)
		count -= report_ends(p, site, count);
	if (count)
		report_miss(p, site, count, NULL);
}

/* Reports misses since the last call. */
static void report_misses(struct probe *p)
{
	struct gohttp2_state *s = p->state;
	const struct bpf_map *map = bpf_object__find_map_by_name(hooks_object(s->hooks), "gohttp2_misses");
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *counts = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(*counts)) : NULL;

	if (!s->reported)
		s->reported = calloc(gohttp2_n_misses, sizeof(*s->reported));
	for (uint32_t site = 1; counts && s->reported && site < gohttp2_n_misses; site++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(bpf_map__fd(map), &site, counts) < 0)
			continue;
		for (int i = 0; i < n_cpus; i++)
			sum += counts[i];
		if (sum != s->reported[site])
			report_site(p, site, sum - s->reported[site]);
		s->reported[site] = sum;
	}
}

static void report_totals(struct probe *p, probe_miss_fn fn, void *ctx)
{
	const struct gohttp2_state *s = p->state;

	for (unsigned site = 1; s->reported && site < gohttp2_n_misses; site++)
		if (s->reported[site])
			fn(ctx, gohttp2_misses[site].file, gohttp2_misses[site].line, gohttp2_misses[site].reason,
			   s->reported[site]);
}

/* ---- probe_ops ---- */

static int gohttp2_open(struct probe *p, struct err *err)
{
	struct gohttp2_state *s = p->state;
	int r = load(p, s, err);

	map_init(&s->ends, sizeof(struct gohttp2_type_key), sizeof(uint64_t));
	if (r >= 0)
		r = add_names(p->conf, hooks_object(s->hooks), err);
	return r < 0 ? r : open_files(p, err);
}

static const struct probe_select *selection(const struct probe *p)
{
	return probe_env_select(p->env, p->instance);
}

/* Fails if processes are selected and none can be probed. */
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
	const struct gohttp2_conf *c = p->conf;
	struct gohttp2_state *s = p->state;

	hooks_attach(s->hooks, -1);
	hooks_report(s->hooks, true, hooks_report_failed, p);
	if (c->optional)
		return 0;
	if (!hooks_program(s->hooks, "gohttp2_multi") && !hooks_program(s->hooks, "gohttp2_single"))
		return err_set(err, -ENOTSUP, "cannot attach to user programs: uprobes with cookies need Linux 5.15");
	return check_pids(s->files, selection(p), err);
}

/* The kernel side filters by process too, but a hit still costs a process that is not selected. */
static bool is_wanted(const struct probe *p, uint32_t tgid)
{
	const struct probe_select *s = selection(p);

	return !s->n_pids || FIND_ITEM(it, s->pids, s->n_pids, *it == tgid);
}

static int prefetch(struct gohttp2_files *files, const struct gohttp2_conf *c, struct err *err)
{
	for (size_t i = 0; i < c->prefetch.len; i++) {
		const char *name = c->prefetch.items[i];
		int r = gohttp2_files_expect(files, name);

		if (r == -ENOEXEC && c->optional)
			continue;	/* the other probe may watch it */
		if (r == -ENOEXEC)
			return err_set(err, r, "--prefetch %s: not a Go program with gRPC or HTTP/2; "
				       "sonde rpc explain %s says more", name, name);
		if (r < 0)
			return err_errno(err, r, "--prefetch %s: cannot attach to it", name);
	}
	return 0;
}

static int gohttp2_snapshot(struct probe *p, struct err *err)
{
	struct gohttp2_state *s = p->state;
	const struct probe_select *select = selection(p);
	const struct gohttp2_conf *c = p->conf;
	int r = prefetch(s->files, c, err);

	if (r < 0)
		return r;
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

	if (r->type == GOHTTP2_REC_EXIT || r->type == GOHTTP2_REC_START)
		gohttp2_files_exit(s->files, r->tgid);
	if (r->type == GOHTTP2_REC_START && r->len >= sizeof(struct gohttp2_start_rec) && is_wanted(p, r->tgid))
		gohttp2_files_start(s->files, (const void *)r);
	else if (r->type == SONDE_EV_MMAP && is_wanted(p, r->tgid))
		gohttp2_files_mapping(s->files, r);
	return 0;
}

static int gohttp2_tick(struct probe *p, _unused_ uint64_t now_ns)
{
	struct gohttp2_state *s = p->state;

	gohttp2_files_tick(s->files);
	report_misses(p);
	return 0;
}

static void gohttp2_detach(struct probe *p)
{
	struct gohttp2_state *s = p->state;

	hooks_detach(s->hooks);
	gohttp2_files_detach(s->files); /* after the hooks, whose records make control() attach to more files */
	report_misses(p);
}

static void gohttp2_close(struct probe *p)
{
	struct gohttp2_state *s = p->state;

	gohttp2_files_free(s->files);
	hooks_free(s->hooks);
	free(s->reported);
	map_fini(&s->ends);
	*s = (struct gohttp2_state){ 0 };
}

static int gohttp2_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct gohttp2_state s = { 0 };
	const struct gohttp2_conf all = { .logs = true, .ranges = true };
	struct probe p = { .env = env, .conf = &all, .state = &s };
	struct err err = { 0 };
	int r = load(&p, &s, &err);

	if (r < 0) {
		hooks_report_code(fn, ctx, "probe sites", r, &err, "");
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
	.command_opts = gohttp2_command_opts,
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
	.misses = report_totals,
	.detach = gohttp2_detach,
	.close = gohttp2_close,
};
