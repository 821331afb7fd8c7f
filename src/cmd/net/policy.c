// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde policy: evaluates a rule file for the packets at interfaces, reports and counts the verdicts. Packets pass
 * unchanged. Always runs in this process: an agent does not read its clients' rule files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cilium_listener.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/net/packet_filter.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "event/json.h"
#include "policy/policy.h"
#include "probe/probe.h"
#include "probes/net/net_conf.h"
#include "probes/net/policy/net_policy_wire.h"
#include "probes/net/net_wire.h"

struct policy_conf {
	struct run_conf run;
	struct net_conf net;
	const char *cilium_socket;
	const char *file;		/* valid while it runs, like the next three */
	struct buf text;
	struct pipeline *pipeline;
	struct cilium_listener *listener;
};

DEFINE_CLEANUP(struct policy *, policy_free)

static const char *const report_names[] = {
	[NET_REPORT_DENIED] = "denied", [NET_REPORT_ALL] = "all", [NET_REPORT_NONE] = "none", NULL,
};
_Static_assert(ARRAY_SIZE(report_names) == NET_REPORT__MAX + 1, "each choice has a word");

static const struct opt policy_opts[] = {
	OPT_ROW(policy_conf, net.policy.report, "verdicts", 0, OPT_ENUM, "WHICH", "verdicts to report",
		.names = report_names, .more = "denied (the default) includes audited; counters have all"),
	OPT_ROW(policy_conf, net.count.interval_ns, "interval", 0, OPT_DURATION, "TIME",
		"rule counters every TIME (default: at the end)"),
	OPT_ROW(policy_conf, cilium_socket, "serve-cilium", 0, OPT_STR, "PATH",
		"serve Cilium's clients on this socket", .more = "with Cilium's monitor protocol 1.2"),
	OPT_END
};

static size_t policy_sets(void *conf, struct opt_set *ret_sets)
{
	struct policy_conf *c = conf;

	c->net = net_conf_default;
	ret_sets[0] = (struct opt_set){ .title = "Policy", .opts = packet_opts, .conf = &c->net };
	ret_sets[1] = (struct opt_set){ .opts = policy_opts, .conf = c };
	return 2 + run_sets(&c->run, RUN_PACKETS | RUN_LINES, ret_sets + 2);
}

/* ---- the file ---- */

static int read_file(const char *path, struct buf *out, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int r;

	buf_reset(out);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, -errno, "cannot open the rule file %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "cannot read rules from %s: not a regular file", path);
	r = io_read_to_end(fd, POLICY_TEXT_MAX, out);
	if (r == -EFBIG)
		return err_set(err, -EINVAL, "cannot read rules from %s: larger than %u KiB", path,
			       POLICY_TEXT_MAX >> 10);
	if (r < 0)
		return err_errno(err, r, "cannot read the rule file %s", path);
	if (memchr(out->data ? out->data : "", 0, out->len))
		return err_set(err, -EINVAL, "%s:1:1: zero byte in a rule file", path);
	return 0;
}

static int load_file(const char *path, struct buf *text, struct policy **ret, struct err *err)
{
	int r = read_file(path, text, err);

	if (r < 0)
		return r;
	r = policy_parse(text->data ? text->data : "", text->len, ret, err);
	if (r == -EINVAL)
		err_prefix(err, "%s", path);
	return r;
}

/* ---- check, explain ---- */

static int policy_check(const char *path)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct err err = { 0 };
	int r = load_file(path, &text, &p, &err);

	if (r < 0)
		return cmd_fail(r, &err);
	printf("%s: %zu rules; default %s in, %s out\n", path, p->rules.len,
	       policy_action_name(p->fallback[POLICY_IN]), policy_action_name(p->fallback[POLICY_OUT]));
	return CMD_OK;
}

static void print_verdict(const char *path, const struct policy *p, const struct policy_packet *pkt, bool json)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct policy_verdict v;
	const char *text;
	uint32_t line;

	policy_decide(p, pkt, &v);
	text = v.rule ? v.rule->text : "default";
	line = v.rule ? v.rule->line : p->fallback_line[pkt->dir];
	if (json) {
		buf_printf(&out, "{\"action\":\"%s\",\"line\":%u,\"number\":%u,\"rule\":",
			   policy_action_name(v.action), line, v.number);
		json_string(&out, text, strlen(text));
		buf_add_str(&out, "}\n");
	} else {
		buf_printf(&out, "%s\t%s", policy_action_name(v.action), path);
		if (line)
			buf_printf(&out, ":%u", line);
		buf_add_str(&out, ": ");
		str_escape_buf(&out, text, strlen(text));
		buf_add_char(&out, '\n');
	}
	fwrite(out.data, 1, out.len, stdout);
}

static int policy_explain(const char *path, const struct opt_strv *words, bool json)
{
	const struct opt_strv packet_filter = { .items = words->items + 2, .len = words->len - 2 };
	_cleanup_free_ char *joined = run_join_words(&packet_filter);
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct policy_packet pkt = { 0 };
	struct err err = { 0 };
	int r = joined ? load_file(path, &text, &p, &err) : err_errno(&err, -ENOMEM, "cannot read the packet");

	if (r >= 0) {
		r = policy_packet_parse(joined, &pkt, &err);
		if (r < 0)
			err_prefix(&err, "packet");
	}
	if (r >= 0)
		print_verdict(path, p, &pkt, json);
	else
		log_error("%s", err.msg);
	policy_packet_fini(&pkt);
	return r < 0 ? cmd_exit_status(r) : CMD_OK;
}

/* ---- live ---- */

/* Reloads the file; after an error the old rules stay active. */
static int on_hangup(void *ctx, _unused_ int signo)
{
	struct policy_conf *c = ctx;
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct err err = { 0 };
	struct opt_strv args;
	const char *arg;
	int r = load_file(c->file, &text, &p, &err);

	if (r >= 0) {
		arg = buf_str(&text);
		args = (struct opt_strv){ .items = &arg, .len = 1 };
		r = pipeline_call(c->pipeline, "net", 0, "rules", &args, &err);
	}
	if (r < 0)
		log_error("%s; the old rules stay active", err.msg);
	else
		log_info("sonde: %s: %zu rules active", c->file, p->rules.len);
	return 0;
}

static int set_up(void *ctx, struct loop *loop, struct pipeline *p, struct err *err)
{
	struct policy_conf *c = ctx;
	const struct cilium_listener_opts o = { .path = c->cilium_socket };
	int r = loop_add_signal(loop, SIGHUP, on_hangup, c, NULL);

	c->pipeline = p;
	if (r < 0)
		return err_errno(err, r, "cannot handle SIGHUP");
	return o.path ? cilium_listener_new(loop, pipeline_bus(p), &o, &c->listener, err) : 0;
}

static void stopped(void *ctx)
{
	struct policy_conf *c = ctx;

	cilium_listener_free(TAKE_PTR(c->listener));
}

static int policy_live(struct policy_conf *c, const struct cmd_words *w)
{
	const struct pipeline_probe probes[] = { { .ops = probe_find("net"), .conf = &c->net } };
	struct run_ops spec = {
		.otlp = "otlp-logs",
		.probes = probes,
		.n_probes = ARRAY_SIZE(probes),
		.cmdline = w->line,
		.why_local = "the rule file",
		.ready = "sonde: ready; packets are audited, none is dropped; SIGHUP reloads the rules, ^C stops",
		.setup = set_up,
		.stopped = stopped,
		.started_ctx = c,
		.hangup = true,
	};

	c->net.iface = c->run.ifaces;
	c->net.netns = &c->run.netns;
	c->net.kinds = 1u << NET_KIND_TRACE;
	c->net.policy.text = buf_str(&c->text);
	c->net.policy.name = c->file;
	c->net.count.on = c->net.count.events = true;
	c->net.count.client = (uint32_t)getpid();
	return run(&c->run, &spec);
}

static int policy_start(struct policy_conf *c, const struct cmd_words *w)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	struct err err = { 0 };
	int r;

	c->file = w->words.items[0];
	r = load_file(c->file, &c->text, &p, &err);
	if (r < 0)
		return cmd_fail(r, &err);
	return policy_live(c, w);
}

static int policy_run(void *conf, const struct cmd_words *w)
{
	const struct opt_strv *words = &w->words;
	struct policy_conf *c = conf;
	_cleanup_(run_texts_fini) struct run_texts texts = { 0 };
	struct err err = { 0 };
	int status;

	if (words->len == 2 && !strcmp(words->items[0], "check"))
		return policy_check(words->items[1]);
	if (words->len > 2 && !strcmp(words->items[0], "explain"))
		return policy_explain(words->items[1], words, c->run.json);
	if (words->len != 1)
		return cmd_error(CMD_USAGE, "expected sonde policy FILE, sonde policy check FILE or "
				 "sonde policy explain FILE PACKET");
	if (c->run.read)
		return cmd_error(CMD_USAGE, "policy evaluates live packets; it cannot read recordings (--read)");
	if (run_settle(&c->run, NULL, "rec", &texts, &err) < 0)
		return cmd_fail(err.code, &err);
	status = policy_start(c, w);
	buf_fini(&c->text);
	return status;
}

static const struct cmd_example policy_examples[] = {
	{ "sonde policy rules.conf -i eth0", "report the packets at eth0 that the rules would deny" },
	{ "sonde policy rules.conf -i eth0 --verdicts all --json", "every verdict, as JSON" },
	{ "sonde policy check rules.conf", "check the syntax" },
	{ "sonde policy explain rules.conf in tcp from 10.0.0.1 to 10.0.0.2 sport 4711 port 22",
	  "show the rule that matches such a packet" },
	{ 0 },
};

const struct cmd cmd_policy = {
	.name = "policy",
	.summary = "audit packets against a rule file, count by rule",
	.args = "FILE | check FILE | explain FILE PACKET",
	.doc = "Evaluates the rules of FILE in the kernel for each packet at the interfaces; the first rule that "
	       "matches decides. Reports the verdicts in the form of Cilium's policy verdicts and counts packets and "
	       "bytes by rule. Only audits: every packet passes, also one that a rule denies.\n\n"
	       "A line is an action (allow, deny, audit) and its criteria: in or out, a protocol (ip, ip4, ip6, "
	       "tcp, udp, sctp, icmp, icmp6, proto N), from and to (addresses, networks), sport and port (numbers, "
	       "ranges), type (of ICMP), established (TCP with ACK or RST), fragment (not the first), cgroup, comm, "
	       "pid; lists are comma separated. default ACTION [in|out] applies if no rule matches. Rules are "
	       "stateless: replies need rules too. doc/policy.md describes the language.\n\n"
	       "SIGHUP reloads the file: all interfaces switch to the new rules at once; the old rules stay in force "
	       "if the file has an error.\n\n"
	       "check reports the first error of FILE, explain prints the rule that matches a packet.",
	.examples = policy_examples,
	.conf_size = sizeof(struct policy_conf),
	.sets = policy_sets,
	.run = policy_run,
};
