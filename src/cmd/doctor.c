// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which commands work on this host, and why others do not. Tries every hook of every probe and prints each line as
 * soon as it is known.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "btf/kernel_btf.h"
#include "cmd/cmd.h"
#include "event/json.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probe/load_error.h"

struct doctor_conf { bool json; unsigned verbose; const char *btf; };

static const struct opt doctor_opts[] = {
	OPT_ROW(doctor_conf, json, "json", 'j', OPT_BOOL, NULL, "one JSON object a line"),
	OPT_ROW(doctor_conf, verbose, "verbose", 'v', OPT_COUNT, NULL, "every hook too, as it is tried"),
	OPT_ROW(doctor_conf, btf, "btf", 0, OPT_STR, "FILE",
		"copy of the kernel's BTF (raw, or in a vmlinux), if /sys/kernel/btf/vmlinux is hidden"),
	OPT_END,
};

static size_t doctor_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ "Options", doctor_opts, conf };
	return 1;
}

static const char *const state_names[] = {
	[HOOK_OK] = "ok", [HOOK_ABSENT] = "absent", [HOOK_REFUSED] = "refused", [HOOK_FAILED] = "failed",
};
_Static_assert(ARRAY_SIZE(state_names) == HOOK__MAX, "a name per hook state");

enum verdict { WORKS, PARTLY, NOT, VERDICT__MAX };

static const char *const verdict_names[] = { [WORKS] = "works", [PARTLY] = "partly", [NOT] = "not" };
_Static_assert(ARRAY_SIZE(verdict_names) == VERDICT__MAX, "a name per verdict");

/* The commands of each probe; all of them also need proc. */
static const struct { const char *probe, *commands[6];
} users[] = {
	{ "net", { "monitor", "capture", "flows", "counters", "policy" } },
	{ "cpu", { "profile" } },
	{ "sys", { "syscalls" } },
	{ "gohttp2", { "rpc" } },
	{ "call", { "rpc --source socket" } },
};

/* Hooks of one probe. */
struct hook_counts {
	unsigned n[HOOK__MAX];
	char why[400];		/* of the first failed hook */
};

struct report {
	const struct doctor_conf *conf;
	const char *probe;
	struct buf out;
	struct hook_counts proc, now;		/* of proc, and of the current probe */
	struct buf commands;		/* "monitor, flows": of the line that is not printed yet */
	enum verdict verdict;		/* of these commands, and why */
	char why[480];
	bool failed;			/* of some hook, or of the whole check */
	bool unwritten;
};

static void json_member(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, ",\"%s\":", key);
	json_string(b, value, strlen(value));
}

/* Print lines as they become known. */
static void flush_lines(struct report *rep)
{
	rep->unwritten |= fwrite(rep->out.data, 1, rep->out.len, stdout) != rep->out.len || fflush(stdout);
	buf_reset(&rep->out);
}

static void add_hook(void *ctx, const struct hook_report *r)
{
	struct report *rep = ctx;
	struct hook_counts *t = &rep->now;

	t->n[r->state]++;
	rep->failed |= r->state == HOOK_FAILED;
	if (r->state != HOOK_OK && !t->why[0])
		snprintf(t->why, sizeof(t->why), "%s: %.200s", r->hook, *r->why ? r->why : state_names[r->state]);
	if (rep->conf->json) {
		buf_add_str(&rep->out, "{\"v\":1,\"type\":\"hook\"");
		json_member(&rep->out, "probe", rep->probe);
		json_member(&rep->out, "hook", r->hook);
		json_member(&rep->out, "state", state_names[r->state]);
		json_member(&rep->out, "why", r->why);
		json_member(&rep->out, "fallback", r->fallback);
		buf_add_str(&rep->out, "}\n");
		flush_lines(rep);
		return;
	}
	if (!rep->conf->verbose)
		return;
	buf_printf(&rep->out, "  %-8s %-5s %s", state_names[r->state], rep->probe, r->hook);
	if (*r->why)
		buf_printf(&rep->out, ": %s", r->why);
	if (*r->fallback)
		buf_printf(&rep->out, "; instead: %s", r->fallback);
	buf_add_char(&rep->out, '\n');
	flush_lines(rep);
}

static unsigned n_hooks(const struct hook_counts *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HOOK__MAX; i++)
		n += t->n[i];
	return n;
}

static void end_line(struct report *rep)
{
	if (!rep->commands.len)
		return;
	buf_printf(&rep->out, "%-7s %s%s%s\n", verdict_names[rep->verdict], buf_str(&rep->commands),
		   *rep->why ? ": " : "", rep->why);
	buf_reset(&rep->commands);
	flush_lines(rep);
}

/* Commands in a row with the same verdict for the same reason share a line. */
static void add_to_line(struct report *rep, const char *name, enum verdict v, const char *why)
{
	if (v != rep->verdict || strcmp(why, rep->why) != 0)
		end_line(rep);
	buf_printf(&rep->commands, "%s%s", rep->commands.len ? ", " : "", name);
	rep->verdict = v;
	snprintf(rep->why, sizeof(rep->why), "%s", why);
}

static void add_command(struct report *rep, const char *name, enum verdict v, const char *why)
{
	if (!rep->conf->json) {
		add_to_line(rep, name, v, why);
		return;
	}
	buf_add_str(&rep->out, "{\"v\":1,\"type\":\"command\"");
	json_member(&rep->out, "command", name);
	json_member(&rep->out, "state", verdict_names[v]);
	json_member(&rep->out, "why", why);
	buf_add_str(&rep->out, "}\n");
	flush_lines(rep);
}

/* The commands of the current probe; @failure NULL: depends on its hooks and those of proc. */
static void add_commands(struct report *rep, const char *failure)
{
	unsigned ok = rep->now.n[HOOK_OK] + rep->proc.n[HOOK_OK];
	unsigned all = n_hooks(&rep->now) + n_hooks(&rep->proc);
	bool none = failure || !rep->now.n[HOOK_OK] || rep->proc.n[HOOK_OK] * 2 < n_hooks(&rep->proc);
	enum verdict v = none ? NOT : ok < all ? PARTLY : WORKS;
	const char *first = rep->now.why[0] ? rep->now.why : rep->proc.why;
	char why[480] = "";

	if (failure)
		snprintf(why, sizeof(why), "%.400s", failure);
	else if (v != WORKS)
		snprintf(why, sizeof(why), "%u of %u hooks; %s", ok, all, first);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		for (size_t k = 0; !strcmp(users[i].probe, rep->probe) && users[i].commands[k]; k++)
			add_command(rep, users[i].commands[k], v, why);
}

/* First line of a small file, "" if it cannot be read. */
static void read_line(const char *path, char *buf, size_t cap)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (f && fgets(buf, (int)cap, f))
		buf[strcspn(buf, "\n")] = '\0';
}

/* The host: what needs no search, at once. */
static void add_host(struct report *rep)
{
	struct utsname u = { 0 };

	if (rep->conf->json)
		return;
	uname(&u);
	buf_printf(&rep->out, "Linux %s on %s, %ld CPUs.\n", u.release, u.machine, sysconf(_SC_NPROCESSORS_CONF));
	flush_lines(rep);
}

static void add_kernel(struct report *rep, const char *btf)
{
	char lockdown[128], paranoid[16];
	struct utsname u = { 0 };

	uname(&u);
	read_line("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	if (rep->conf->json) {
		buf_add_str(&rep->out, "{\"v\":1,\"type\":\"host\"");
		json_member(&rep->out, "kernel", u.release);
		json_member(&rep->out, "machine", u.machine);
		buf_printf(&rep->out, ",\"cpus\":%ld,\"btf\":%s", sysconf(_SC_NPROCESSORS_CONF),
			   *btf ? "true" : "false");
		json_member(&rep->out, "btf_source", btf);
		json_member(&rep->out, "lockdown", lockdown);
		json_member(&rep->out, "perf_event_paranoid", paranoid);
		buf_add_str(&rep->out, "}\n");
		return;
	}
	if (*btf)
		buf_printf(&rep->out, "Type information (BTF) from %s.\n", btf);
	else
		buf_add_str(&rep->out, "No type information (BTF): no probe loads.\n");
	if (*lockdown && !strstr(lockdown, "[none]"))
		buf_printf(&rep->out, "Kernel lockdown is on: %s.\n", lockdown);
	if (*paranoid)
		buf_printf(&rep->out, "perf_event_paranoid is %s.\n", paranoid);
}

/* No hook can be tried: the same reason for every command. */
static void add_failure(struct report *rep, const char *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		rep->probe = users[i].probe;
		add_commands(rep, why);
	}
	rep->failed = true;
}

static int check_probe(struct report *rep, struct probe_env *env, const struct probe_ops *ops, struct err *err)
{
	int r;

	rep->probe = ops->name;
	rep->now = (struct hook_counts){ 0 };
	r = ops->check ? ops->check(env, add_hook, rep) : 0;
	if (r < 0)
		err_errno(err, r, "cannot check probe %s", ops->name);
	if (!strcmp(ops->name, "proc"))
		rep->proc = rep->now;
	else
		add_commands(rep, r < 0 ? err->msg : NULL);
	end_line(rep);
	return r;
}

static int check_probes(struct report *rep, struct err *err)
{
	const struct probe_env_opts opts = {
		.ring_bytes = 65536, .life_ring_bytes = 65536, .btf = rep->conf->btf,
	};
	struct probe_env *env = NULL;
	int r = probe_env_new(&opts, &env, err);

	if (r < 0)
		add_failure(rep, err->msg);
	end_line(rep);
	for (size_t i = 0; r >= 0 && all_probes[i]; i++)
		r = check_probe(rep, env, all_probes[i], err);
	probe_env_free(env);
	return r;
}

static int doctor_run(void *conf, _unused_ const struct cmd_words *w)
{
	struct report rep = { .conf = conf };
	struct kernel_btf found;
	struct err err = { 0 };
	int r;

	add_host(&rep);
	load_error_capture();
	r = kernel_btf_find(rep.conf->btf, &found, &err);
	if (r < 0)
		return cmd_fail(r, &err);
	btf__free(found.types);
	add_kernel(&rep, found.source);
	flush_lines(&rep);
	r = check_probes(&rep, &err);
	buf_fini(&rep.out);
	buf_fini(&rep.commands);
	if (r < 0)
		return cmd_exit_status(r);
	return rep.failed || rep.unwritten ? CMD_FAIL : CMD_OK;
}

const struct cmd cmd_doctor = {
	.name = "doctor", .summary = "what works on this host, what does not, and why", .args = "",
	.doc = "Loads and attaches every hook of every probe and detaches it again. Lines say which commands work, "
	       "work partly, or not, with the first reason. -v prints the hooks as they are tried: ok; "
	       "absent (this kernel does not have it); refused (not permitted here); failed (it should work and does "
	       "not). A hook that does not work stops no other; its replacement stands behind it.\n\n"
	       "Exit status 1 means that some hook failed; absent and refused hooks are facts, not failures.",
	.conf_size = sizeof(struct doctor_conf), .sets = doctor_sets, .run = doctor_run,
};
