// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What works on this host, what does not, and why, in sentences. Every hook of every probe is really tried.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "event/json.h"
#include "probe/env.h"
#include "probe/probe.h"

struct doctor_conf { bool json; };

static const struct opt doctor_opts[] = {
	OPT_ROW(doctor_conf, json, "json", 'j', OPT_BOOL, NULL, "one JSON object a line"),
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

struct report {
	const struct doctor_conf *conf;
	const char *probe;
	struct buf out;
	unsigned n[HOOK__MAX];
};

static void json_member(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, ",\"%s\":", key);
	json_string(b, value, strlen(value));
}

static void add_hook(void *ctx, const struct hook_report *r)
{
	struct report *rep = ctx;

	rep->n[r->state]++;
	if (rep->conf->json) {
		buf_add_str(&rep->out, "{\"v\":1,\"type\":\"hook\"");
		json_member(&rep->out, "probe", rep->probe);
		json_member(&rep->out, "hook", r->hook);
		json_member(&rep->out, "state", state_names[r->state]);
		json_member(&rep->out, "why", r->why);
		json_member(&rep->out, "fallback", r->fallback);
		buf_add_str(&rep->out, "}\n");
		return;
	}
	buf_printf(&rep->out, "  %-8s %-5s %s", state_names[r->state], rep->probe, r->hook);
	if (*r->why)
		buf_printf(&rep->out, ": %s", r->why);
	if (*r->fallback)
		buf_printf(&rep->out, " Instead: %s.", r->fallback);
	buf_add_char(&rep->out, '\n');
}

/* First line of a small file, "" when it cannot be read. */
static void read_line(const char *path, char *buf, size_t cap)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (f && fgets(buf, (int)cap, f))
		buf[strcspn(buf, "\n")] = '\0';
}

static void add_host(struct report *rep)
{
	char lockdown[128], paranoid[16];
	struct utsname u = { 0 };
	bool btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;

	uname(&u);
	read_line("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	if (rep->conf->json) {
		buf_add_str(&rep->out, "{\"v\":1,\"type\":\"host\"");
		json_member(&rep->out, "kernel", u.release);
		json_member(&rep->out, "machine", u.machine);
		buf_printf(&rep->out, ",\"cpus\":%ld,\"btf\":%s", sysconf(_SC_NPROCESSORS_CONF),
			   btf ? "true" : "false");
		json_member(&rep->out, "lockdown", lockdown);
		json_member(&rep->out, "perf_event_paranoid", paranoid);
		buf_add_str(&rep->out, "}\n");
		return;
	}
	buf_printf(&rep->out, "Linux %s on %s, %ld CPUs, %s.\n", u.release, u.machine, sysconf(_SC_NPROCESSORS_CONF),
		   btf ? "type information (BTF) is there" :
			 "no type information: /sys/kernel/btf/vmlinux cannot be read, "
			 "and no probe can load without it");
	if (*lockdown && !strstr(lockdown, "[none]"))
		buf_printf(&rep->out, "Kernel lockdown is on: %s.\n", lockdown);
	if (*paranoid)
		buf_printf(&rep->out, "perf_event_paranoid is %s.\n", paranoid);
}

static int check_probes(struct report *rep, struct err *err)
{
	const struct probe_env_opts opts = { .ring_bytes = 65536, .life_ring_bytes = 65536 };
	struct probe_env *env = NULL;
	int r = probe_env_new(&opts, &env, err);

	for (size_t i = 0; r >= 0 && all_probes[i]; i++) {
		rep->probe = all_probes[i]->name;
		r = all_probes[i]->check ? all_probes[i]->check(env, add_hook, rep) : 0;
		if (r < 0)
			err_errno(err, r, "cannot check probe %s", rep->probe);
	}
	probe_env_free(env);
	return r;
}

static int doctor_run(void *conf, _unused_ const struct cmd_words *w)
{
	struct report rep = { .conf = conf };
	struct err err = { 0 };
	int r, status = CMD_OK;

	add_host(&rep);
	r = check_probes(&rep, &err);
	if (r >= 0 && !rep.conf->json)
		buf_printf(&rep.out, "%u hooks work, %u do not.\n", rep.n[HOOK_OK],
			   rep.n[HOOK_ABSENT] + rep.n[HOOK_REFUSED] + rep.n[HOOK_FAILED]);
	if (fwrite(rep.out.data, 1, rep.out.len, stdout) != rep.out.len || fflush(stdout))
		status = CMD_FAIL;
	buf_fini(&rep.out);
	if (r < 0) {
		log_error("%s", err.msg);
		return cmd_exit_status(r);
	}
	return rep.n[HOOK_FAILED] ? CMD_FAIL : status;
}

const struct cmd cmd_doctor = {
	.name = "doctor", .summary = "what works on this host, what does not, and why", .args = "",
	.doc = "Loads and attaches every hook of every probe, detaches it again and says what happened: ok; absent "
	       "(this kernel does not have it); refused (not permitted here); failed (it should work and does not). "
	       "A hook that does not work stops nothing else; what is used instead stands behind it.\n\n"
	       "Exit status 1 means that some hook failed; absent and refused hooks are facts, not failures.",
	.conf_size = sizeof(struct doctor_conf), .sets = doctor_sets, .run = doctor_run,
};
