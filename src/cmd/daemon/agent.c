// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde agent: the daemon. Its options are also rows of the configuration file.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/record/agent_record.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "metrics/metrics_table.h"
#include "base/macros.h"
#include "cmd/cmd.h"
#include "cmd/daemon/agent_rows.h"
#include "cmd/daemon/conf_file.h"
#include "cmd/daemon/hubble_keep.h"
#include "cmd/daemon/keeper.h"
#include "cmd/ui/ui_keep.h"
#include "http/http_listen.h"

#define CONF_PATH "/etc/sonde/agent.conf"
#define NS_PER_MINUTE (60 * NS_PER_S)

struct agent_cmd_conf {
	struct agent_conf agent;
	const char *config;
	bool check;
};

#define ROW(member, ...) OPT_ROW(agent_conf, member, __VA_ARGS__)

static const char *const content_names[] = {
	[AGENT_CONTENT_NONE] = "none", [AGENT_CONTENT_GROUP] = "group", NULL,
};
_Static_assert(ARRAY_SIZE(content_names) == AGENT_CONTENT__MAX + 1, "each choice has a name");

static const struct opt agent_opts[] = {
	ROW(dir, "socket-dir", 0, OPT_STR, "DIR", "where the sockets are made (default /run/sonde)"),
	ROW(group, "group", 0, OPT_STR, "NAME", "whose members may read (default sonde)"),
	ROW(limits.max_clients, "max-clients", 0, OPT_U32, "N",
	    "connections to the read socket at one time (default 128); the control socket has four more"),
	ROW(limits.max_connections, "max-connections", 0, OPT_U32, "N",
	    "of these, connections of one user (default 64)"),
	ROW(limits.max_subscriptions, "max-subscriptions", 0, OPT_U32, "N",
	    "streams of one user (default 32)"),
	ROW(limits.max_instances, "max-instances", 0, OPT_U32, "N",
	    "different probes of one user (default 8)"),
	ROW(limits.max_frequency, "max-frequency", 0, OPT_U32, "HZ",
	    "samples per second of a CPU, of one user (5000)"),
	ROW(limits.max_memory, "max-memory", 0, OPT_BYTES, "SIZE",
	    "kernel memory of one user's probes (default 256M)",
	    .more = "as far as their options set it"),
	ROW(limits.max_snaplen, "max-snaplen", 0, OPT_BYTES, "SIZE",
	    "bytes of one packet, call, message or stack on the read socket (default 256k)"),
	ROW(limits.max_expression, "max-expression", 0, OPT_BYTES, "SIZE",
	    "filters and options of one stream (default 8k)"),
	ROW(limits.min_interval_ns, "min-interval", 0, OPT_DURATION, "TIME",
	    "shortest interval between reports of a probe on the read socket (default 10ms)"),
	ROW(limits.idle_ns, "idle-time", 0, OPT_DURATION, "TIME",
	    "disconnect a reader without a stream after this time when three quarters of the places are taken "
	    "(default 60s)"),
	ROW(queue_bytes, "queue-size", 0, OPT_BYTES, "SIZE", "unread bytes of one client (default 4M)"),
	ROW(stall_ns, "stall-time", 0, OPT_DURATION, "TIME",
	    "disconnect a client that reads nothing for this long (60s)"),
	ROW(allow_content, "allow-content", 0, OPT_ENUM, "WHO", "who sees content of other users' processes",
	    .names = content_names),
	ROW(ring_bytes, "ring-size", 0, OPT_BYTES, "SIZE", "ring buffer per CPU (default 4M)"),
	ROW(btf, "btf", 0, OPT_STR, "FILE", "copy of the kernel's BTF, if /sys hides it"),
	ROW(latency_ns, "latency", 0, OPT_DURATION, "TIME",
	    "longest delay of a record (default 50ms)"),
	ROW(cilium_socket, "serve-cilium", 0, OPT_STR, "PATH",
	    "serve Cilium's clients on this socket: packets, drops and calls"),
	ROW(cilium_probes, "cilium-probes", 0, OPT_STR, "LIST",
	    "probes for those clients: net, gohttp2 (calls), comma separated (default net)"),
	ROW(metrics, "metrics", 0, OPT_STR, "ADDR",
	    "serve /metrics for Prometheus: 127.0.0.1:PORT, [::1]:PORT or a socket"),
	ROW(metrics_host, "metrics-host", 0, OPT_STR, "LIST",
	    "host names that /metrics answers to, beside localhost and addresses"),
	ROW(metrics_families, "metrics-families", 0, OPT_STR, "LIST",
	    "metrics of the host at /metrics: drops, network, tcp, syscalls, oncpu, offcpu, policy, hubble, "
	    "calls",
	    .more = "doc/metrics.md has the metrics of each and their cost; names of methods and programs of all "
		    "users are among the labels of calls; +pid, +container-id, +address, +port and +path add labels"),
	ROW(metrics_interval_ns, "metrics-interval", 0, OPT_DURATION, "TIME",
	    "how often to read the kernel's sums (default 5s)"),
	ROW(otlp_metrics, "otlp-metrics", 0, OPT_STR, "URL", "send them to http://HOST:4318 every 10 s, too"),
	ROW(ui, "ui", 0, OPT_STR, "ADDRESS",
	    "serve the page of sonde ui: 127.0.0.1:PORT, [::1]:PORT or a socket",
	    .more = "by a process without rights, with the content that allow-content gives the group; sonde status "
		    "prints its address with the token"),
	ROW(hubble, "hubble", 0, OPT_BOOL, NULL, "serve the hubble client on hubble.sock (flows and drops)",
	    .more = "by a process without rights; the net probe runs as long as the agent does"),
	ROW(no_admin, "no-admin", 0, OPT_BOOL, NULL,
	    "give up CAP_SYS_ADMIN too: no other network namespaces, and on some systems no profiles"),
	OPT_END,
};

/* Only on the command line. */
static const struct opt start_opts[] = {
	OPT_ROW(agent_cmd_conf, config, "config", 0, OPT_STR, "FILE",
		"lines \"name = value\", the names being those of the options (default " CONF_PATH ")"),
	OPT_ROW(agent_cmd_conf, check, "check", 0, OPT_BOOL, NULL, "check options and configuration, and stop"),
	OPT_END,
};

static size_t agent_sets(void *conf, struct opt_set *ret_sets)
{
	struct agent_cmd_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "Agent", .opts = agent_opts, .conf = &c->agent };
	ret_sets[1] = (struct opt_set){ .title = "Start", .opts = start_opts, .conf = c };
	return 2;
}

/* sd_notify(3): one datagram to the service manager's socket. */
static void notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	size_t len = path ? strlen(path) : 0;

	if (!len || len >= sizeof(addr.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(addr.sun_path, path, len);
	if (*path == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* The file's rows, overridden by those of the command line. */
struct settings {
	struct agent_conf agent;
	char *text;		/* memory of its strings; owned */
};

static void settings_fini(struct settings *s)
{
	free(s->text);
}

/* Every member is a number or a pointer and zero unless it was set. */
static void lay_over(struct agent_conf *ret, const struct agent_conf *given)
{
	const struct agent_conf none = { 0 };

	for (const struct opt *o = agent_opts; opt_is_row(o); o++) {
		size_t size = o->kind == OPT_BOOL ? sizeof(bool) : o->kind == OPT_U32 ? sizeof(uint32_t) :
			      o->kind == OPT_ENUM ? sizeof(unsigned) : sizeof(uint64_t);

		if (memcmp((const char *)given + o->off, (const char *)&none + o->off, size))
			memcpy((char *)ret + o->off, (const char *)given + o->off, size);
	}
}

static int settings_read(const struct agent_cmd_conf *c, struct settings *ret, struct err *err)
{
	struct settings s = { 0 };
	const struct opt_set sets[] = { { .opts = agent_opts, .conf = &s.agent },
					{ .opts = agent_rows_file, .conf = &s.agent } };
	int r = conf_file_read(c->config ? c->config : CONF_PATH, sets, ARRAY_SIZE(sets), &s.text, err);

	if (r == -ENOENT && !c->config)
		r = 0;
	if (r < 0)
		return r;
	lay_over(&s.agent, &c->agent);
	*ret = s;
	return 0;
}

struct daemon {
	struct agent *agent;
	const struct agent_cmd_conf *conf;
	struct settings settings;
	struct keeper page_keeper;	/* of the page, if there is one */
	struct keeper hubble_keeper;	/* of the server of Hubble's clients */
	struct buf page;		/* the page's address with the token */
	struct buf hubble;		/* where Hubble's clients are served */
	int signal;
};

static int on_stop(void *ctx, int signo)
{
	struct daemon *d = ctx;

	if (d->signal)
		_exit(CMD_BY_SIGNAL + signo); /* second request: stop at once */
	d->signal = signo;
	notify("STOPPING=1");
	agent_stop(d->agent);
	return 0;
}

static int on_hangup(void *ctx, _unused_ int signo)
{
	struct daemon *d = ctx;
	struct settings fresh = { 0 };
	struct err err = { 0 };

	if (settings_read(d->conf, &fresh, &err) < 0) {
		log_error("%s; the configuration stays as it was", err.msg);
		return 0;
	}
	agent_reload(d->agent, &fresh.agent);
	settings_fini(&fresh);
	return 0;
}

/* Before the agent has anything that is not the servers' business. */
static int start_keepers(struct daemon *d, struct err *err)
{
	struct agent_conf *c = &d->settings.agent;
	int r = c->ui ? ui_keep_start(c, &d->page_keeper, &d->page, err) : 0;

	if (r >= 0 && c->hubble)
		r = hubble_keep_start(c, &d->hubble_keeper, &d->hubble, err);
	c->ui_fd = d->page_keeper.fd;
	c->ui_address = buf_str(&d->page);
	c->hubble_fd = d->hubble_keeper.fd;
	c->hubble_shown = buf_str(&d->hubble);
	return r;
}

/* The token is for a terminal and for readers of the agent, not for a log. */
static void say_page(const struct agent_conf *c)
{
	if (isatty(STDOUT_FILENO) && printf("%s\n", c->ui_address) > 0)
		fflush(stdout);
	else
		log_info("sonde agent: page at %s; sonde status prints its address with the token", c->ui);
}

static int serve(struct daemon *d, struct loop *loop, struct err *err)
{
	int r = loop_add_signal(loop, SIGINT, on_stop, d, NULL);

	if (r >= 0)
		r = loop_add_signal(loop, SIGTERM, on_stop, d, NULL);
	if (r >= 0)
		r = loop_add_signal(loop, SIGHUP, on_hangup, d, NULL);
	if (r < 0)
		return err_errno(err, r, "cannot watch signals");
	r = agent_new(loop, &d->settings.agent, &d->agent, err);
	if (r < 0)
		return r;
	log_info("sonde agent: ready");
	if (d->settings.agent.ui)
		say_page(&d->settings.agent);
	notify("READY=1");
	return agent_run(d->agent, err);
}

static int check_settings(const struct agent_conf *c, struct err *err)
{
	uint32_t families, more;

	if (c->metrics && !http_listen_check(c->metrics, err))
		return -EINVAL;
	if (ui_keep_check(c, err) < 0 || hubble_keep_check(c, err) < 0)
		return -EINVAL;
	if (c->metrics_interval_ns > NS_PER_MINUTE)
		return err_set(err, -EINVAL, "metrics-interval: at most 60s");
	if (agent_record_check(c, err) < 0)
		return -EINVAL;
	if (c->metrics_families && metrics_table_mask(c->metrics_families, &families, &more, err) < 0)
		return err_prefix(err, "metrics-families");
	return 0;
}

static int agent_cmd_run(void *conf, _unused_ const struct cmd_words *w)
{
	struct daemon d = { .conf = conf };
	struct loop *loop = NULL;
	struct err err = { 0 };
	int r = settings_read(d.conf, &d.settings, &err);

	if (r >= 0)
		r = check_settings(&d.settings.agent, &err);
	if (r >= 0 && !d.conf->check)
		r = start_keepers(&d, &err);
	if (r >= 0 && !d.conf->check) {
		loop = loop_new();
		r = loop ? serve(&d, loop, &err) : err_errno(&err, -errno, "cannot make an event loop");
	}
	agent_free(d.agent);
	loop_free(loop);
	keeper_stop(&d.page_keeper);
	keeper_stop(&d.hubble_keeper);
	buf_fini(&d.page);
	buf_fini(&d.hubble);
	settings_fini(&d.settings);
	if (r < 0)
		log_error("%s", err.msg);
	return r < 0 ? cmd_exit_status(r) : d.signal && d.signal != SIGTERM ? CMD_BY_SIGNAL + d.signal : CMD_OK;
}

static const struct cmd_example agent_examples[] = {
	{ "sonde agent", "serve clients at /run/sonde until SIGTERM" },
	{ "sonde monitor --agent --where evt.type=drop", "drops, from the agent: the group sonde needs no root" },
	{ 0 },
};

const struct cmd cmd_agent = {
	.name = "agent", .summary = "the daemon: probes loaded once, for any number of clients",
	.args = "",
	.doc = "Loads probes when clients ask for them and passes their records on over unix sockets. Commands use "
	       "it by themselves when it runs; --agent=no keeps them from it.\n\n"
	       "A reader sees the events of its own user whole, and those of others without content: no payload, no "
	       "arguments of calls but numbers, no environment and no command lines. Root sees all, and so does "
	       "the group with allow-content = group.\n\n"
	       "Options may stand in the configuration file, without dashes, one \"name = value\" a line; what "
	       "stands on the command line wins. SIGHUP reads the file again: limits of clients change at "
	       "once, the rest with the next start. SIGTERM ends every stream whole and leaves nothing behind.\n\n"
	       "Rows of the file only (sonde help recording) make the agent record: it writes a store, or keeps the "
	       "last TIME in memory for sonde control dump.\n\n"
	       "With --ui it serves the page of sonde ui by a process without rights, and starts that again when it "
	       "ends (doc/ui.md).",
	.examples = agent_examples,
	.conf_size = sizeof(struct agent_cmd_conf), .sets = agent_sets, .run = agent_cmd_run,
};
