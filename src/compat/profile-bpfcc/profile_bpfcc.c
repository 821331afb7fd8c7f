// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat profile-bpfcc: the options of bcc's profile(8) over sonde profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile.h"
#include "compat/compat.h"
#include "compat/profile-bpfcc/bcc_maps.h"
#include "cpu_source.h"
#include "event/event.h"

struct bcc_conf {
	struct profile_conf profile;
	bool folded, ebpf;
	uint64_t stack_storage, hash_storage; /* entries; 0 = no limit but memory */
	uint64_t max_depth;
	const char *cgroupmap, *mntnsmap;

	/* while it runs */
	struct bcc_mntns *mntns; /* NULL = all */
	struct buf cgroup_ids;	 /* texts of --cgroupmap, each with its NUL */
};

#define ROW(member, ...) OPT_ROW(bcc_conf, member, __VA_ARGS__)
#define CPU(member, ...) OPT_ROW(bcc_conf, profile.cpu.member, __VA_ARGS__)
#define VIEW(member, ...) OPT_ROW(bcc_conf, profile.view.member, __VA_ARGS__)

static const struct opt bcc_opts[] = {
	ROW(profile.run.pids, "pid", 'p', OPT_U32V, "PID", "these processes"),
	CPU(tids, "tid", 'L', OPT_U32V, "TID", "these threads"),
	CPU(user_only, "user-stacks-only", 'U', OPT_BOOL, NULL, "no kernel stacks"),
	CPU(kernel_only, "kernel-stacks-only", 'K', OPT_BOOL, NULL, "no user stacks"),
	OPT_PARSE_ROW(bcc_conf, profile.cpu.frequency, cmd_profile_frequency, "frequency", 'F', "HZ",
		      "samples per second and CPU (default 49)"),
	CPU(period, "count", 'c', OPT_U64, "N", "instead: a sample every N events"),
	VIEW(delimiter, "delimited", 'd', OPT_BOOL, NULL, "a delimiter between kernel and user frames"),
	VIEW(annotate, "annotations", 'a', OPT_BOOL, NULL, "_[k] behind kernel frames in folded text"),
	VIEW(addresses, "address", 'A', OPT_BOOL, NULL, "raw addresses in front of frames"),
	CPU(idle, "include-idle", 'I', OPT_BOOL, NULL, "idle CPUs too"),
	ROW(folded, "folded", 'f', OPT_BOOL, NULL, "one line per stack, for flame graphs"),
	ROW(stack_storage, "stack-storage-size", 0, OPT_U64, "N", "most stacks kept; the rest counts as lost",
	    .differs = "a limit in user space, none by default", .more = "by default as many as 256 MB hold"),
	ROW(hash_storage, "hash-storage-size", 0, OPT_U64, "N", "most rows kept; here a row is a stack",
	    .differs = "a limit in user space; the smaller of both holds"),
	CPU(cpus, "cpu", 'C', OPT_STRV, "LIST", "these CPUs, as 0-3,8",
	    .differs = "lists and ranges too"),
	ROW(max_depth, "perf-max-stack-depth", 0, OPT_U64, "N", "most frames of a stack, kernel and user each"),
	ROW(cgroupmap, "cgroupmap", 0, OPT_STR, "FILE", "cgroups whose ids are keys of this pinned map",
	    .differs = "read once, at the start"),
	ROW(mntnsmap, "mntnsmap", 0, OPT_STR, "FILE", "mount namespaces that are keys of this pinned map",
	    .differs = "read once, at the start"),
	ROW(ebpf, "ebpf", 0, OPT_BOOL, NULL, "print the C text of the BPF programs, and exit",
	    .differs = "the files that it was built from"),
	OPT_END
};

static size_t bcc_sets(void *conf, struct opt_set *ret_sets)
{
	struct bcc_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "profile", .opts = bcc_opts, .conf = c };
	return 1 + cmd_profile_sets(&c->profile, ret_sets + 1);
}

/* ---- option conflicts ---- */

static int refuse(struct err *err, const char *a, const char *b)
{
	return err_set(err, -EINVAL, "%s and %s exclude each other", a, b);
}

static int check_pairs(const struct bcc_conf *c, struct err *err)
{
	const struct cpu_conf *cpu = &c->profile.cpu;
	const struct run_conf *run = &c->profile.run;

	if (run->pids.len && cpu->tids.len)
		return refuse(err, "-p", "-L");
	if (cpu->user_only && cpu->kernel_only)
		return refuse(err, "-U", "-K");
	if (cpu->frequency && cpu->period)
		return refuse(err, "-F", "-c");
	if (c->folded && (run->outputs.len || run->json))
		return err_set(err, -EINVAL,
			       "-f and %s exclude each other: -o folded:FILE writes folded lines to a "
			       "file",
			       run->json ? "--json" : "-o");
	if (c->max_depth > UINT16_MAX)
		return err_set(err, -EINVAL, "--perf-max-stack-depth %" PRIu64 ": more than %d is not possible",
			       c->max_depth, UINT16_MAX);
	return 0;
}

/* Its only word is the duration in seconds. */
static int take_words(struct run_conf *run, const struct cmd_words *w, struct err *err)
{
	const char *word = w->words.len ? w->words.items[0] : NULL;
	uint64_t secs;

	if (w->words.len > 1)
		return err_set(err, -EINVAL, "one word is expected at most, the duration in seconds; %s is too many",
			       w->words.items[1]);
	if (!word)
		return 0;
	if (str_to_u64(word, 10, &secs) < 0 || !secs || secs > UINT64_MAX / NS_PER_S)
		return err_set(err, -EINVAL, "%s is not a duration in seconds (a command to run goes behind --)",
			       word);
	if (run->duration_ns)
		return refuse(err, "--duration", "a duration as a word");
	run->duration_ns = secs * NS_PER_S;
	return 0;
}

/* ---- maps ---- */

static int apply_cgroup_map(struct bcc_conf *c, struct err *err)
{
	struct opt_strv *cgroups = &c->profile.run.cgroups;
	_cleanup_free_ uint64_t *ids = NULL;
	struct buf *text = &c->cgroup_ids;
	size_t n = 0;
	int r = c->cgroupmap ? bcc_maps_keys("--cgroupmap", c->cgroupmap, &ids, &n, err) : 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		buf_printf(text, "%" PRIu64, ids[i]);
		buf_add_char(text, '\0');
	}
	if (r >= 0 && buf_error(text))
		r = err_errno(err, -ENOMEM, "--cgroupmap");
	for (const char *p = text->data; r >= 0 && p && p < text->data + text->len; p += strlen(p) + 1) {
		if (vec_push(cgroups, p) < 0)
			return err_errno(err, -ENOMEM, "--cgroupmap");
	}
	return r;
}

/* The kernel selects threads; of a recording it is done here. */
static bool selects_threads(const struct bcc_conf *c)
{
	return c->profile.cpu.tids.len && c->profile.run.read;
}

static bool is_thread(const struct bcc_conf *c, uint32_t tid)
{
	const struct opt_u32v *tids = &c->profile.cpu.tids;

	return !selects_threads(c) || vec_find(it, tids, *it == tid);
}

static bool pass(void *ctx, const struct event *ev)
{
	const struct bcc_conf *c = ctx;
	bool inside = !c->mntns || bcc_maps_mntns_pass(c->mntns, ev); /* it learns from state events */

	if (ev->desc->class == EVENT_DATA && !ev->desc->aggregate)
		inside = inside && is_thread(c, ev->tid);
	return inside || ev->desc->aggregate;
}

static int apply_maps(struct bcc_conf *c, struct err *err)
{
	int r = apply_cgroup_map(c, err);

	if (r >= 0 && c->mntnsmap)
		r = bcc_maps_mntns_new(c->mntnsmap, &c->mntns, err);
	if (c->mntns || selects_threads(c)) {
		c->profile.pass = pass;
		c->profile.pass_ctx = c;
	}
	return r;
}

/* ---- the run ---- */

static int prepare(struct bcc_conf *c, const struct cmd_words *w, struct err *err)
{
	uint64_t stacks = c->stack_storage, rows = c->hash_storage;
	int r = check_pairs(c, err);

	if (r >= 0)
		r = take_words(&c->profile.run, w, err);
	if (r < 0)
		return r;
	if (c->folded)
		c->profile.output = "folded";
	if (c->max_depth)
		c->profile.cpu.depth = c->profile.cpu.kernel_depth = (uint32_t)c->max_depth;
	c->profile.view.max_entries = stacks && rows ? MIN(stacks, rows) : MAX(stacks, rows);
	return apply_maps(c, err);
}

static int bcc_run(void *conf, const struct cmd_words *w)
{
	struct bcc_conf *c = conf;
	struct err err = { 0 };
	int r, status;

	if (c->ebpf)
		return fputs(cpu_source, stdout) < 0 ? CMD_FAIL : CMD_OK;
	r = prepare(c, w, &err);
	if (r < 0) {
		status = cmd_fail(r, &err);
	} else {
		status = cmd_profile_main(&c->profile, NULL, w);
	}
	bcc_maps_mntns_free(c->mntns);
	buf_fini(&c->cgroup_ids);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat profile-bpfcc -F 99 -f 10", "folded stacks of ten seconds" },
	{ "sonde compat profile-bpfcc -U -p 812 5", "user stacks of a process" },
	{ 0 },
};

static const struct cmd bcc_cmd = {
	.name = "compat profile-bpfcc",
	.summary = "CPU stacks with the options of bcc's profile",
	.args = "[SECONDS]",
	.doc = "Takes the options of bcc's profile; all else is sonde profile. Nothing is limited by the size of a "
	       "table: the storage options are limits to set, not sizes to guess.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct bcc_conf),
	.sets = bcc_sets,
	.run = bcc_run,
};

const struct dialect dialect_profile_bpfcc = { .tool = "profile-bpfcc", .cmd = &bcc_cmd, .native = "profile" };
