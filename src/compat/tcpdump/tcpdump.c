// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat tcpdump: tcpdump's command line over sonde capture, with a printer of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/net/capture_cmd.h"
#include "compat/compat.h"
#include "compat/tcpdump/tcpdump_print.h"
#include "compat/tcpdump/tcpdump_rotated.h"
#include "compat/tcpdump/tcpdump_sink.h"
#include "pktfilter/pktfilter.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

#define SNAPLEN_MAX 262144u
#define COMPILE_NS 60000000000ull /* limit of CPU time for an expression */

struct tcpdump_conf {
	struct capture_conf capture;
	struct tcpdump_opts o;
	bool any, print, count_only, list, version, always;
	const char *command, *file; /* of -z and -F */
	unsigned code;		    /* -d, how often */
	char snaplen[16];

	/* while it runs */
	struct tcpdump_sink *sink;
	struct tcpdump_rotated *rotated; /* NULL = no -z */
	struct buf expr, ready;
};

OPT_CALL(on_interface)
{
	struct tcpdump_conf *c = conf;

	if (!strcmp(arg, "any")) {
		c->any = true;
		return 0;
	}
	if (vec_push(&c->capture.run.ifaces, arg) < 0)
		return err_errno(err, -ENOMEM, "-i");
	return 0;
}

/* 0 means the default, whole packets. */
OPT_CALL(on_snaplen)
{
	struct tcpdump_conf *c = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0 || n > SNAPLEN_MAX)
		return err_set(err, -EINVAL, "invalid snaplen %s", arg);
	snprintf(c->snaplen, sizeof(c->snaplen), "%u", n);
	c->capture.net.snaplen.len = 0;
	if (vec_push(&c->capture.net.snaplen, c->snaplen) < 0)
		return err_errno(err, -ENOMEM, "-s");
	return 0;
}

OPT_CALL(on_file_size)
{
	struct tcpdump_conf *c = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0 || !n)
		return err_set(err, -EINVAL, "invalid file size %s", arg);
	c->capture.run.rotate_bytes = (uint64_t)n * 1000000;
	return 0;
}

OPT_CALL(on_seconds)
{
	struct tcpdump_conf *c = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0)
		return err_set(err, -EINVAL, "invalid number of seconds %s", arg);
	c->capture.run.rotate_ns = (uint64_t)n * NS_PER_S;
	return 0;
}

OPT_CALL(on_files)
{
	struct tcpdump_conf *c = conf;

	if (str_to_u32(arg, 10, &c->capture.run.rotate_files) < 0 || !c->capture.run.rotate_files)
		return err_set(err, -EINVAL, "invalid number of output files %s", arg);
	return 0;
}

OPT_CALL(on_buffer)
{
	struct tcpdump_conf *c = conf;
	uint32_t n;

	if (str_to_u32(arg, 10, &n) < 0 || !n)
		return err_set(err, -EINVAL, "invalid packet buffer size %s", arg);
	c->capture.run.ring_bytes = (uint64_t)n << 10;
	return 0;
}

OPT_CALL(on_precision)
{
	struct tcpdump_conf *c = conf;

	if (strcmp(arg, "micro") != 0 && strcmp(arg, "nano") != 0)
		return err_set(err, -EINVAL, "%s is not a precision: expected micro or nano", arg);
	c->o.nano = *arg == 'n';
	return 0;
}

OPT_CALL(on_micro)
{
	((struct tcpdump_conf *)conf)->o.nano = false;
	return 0;
}

OPT_CALL(on_always)
{
	((struct tcpdump_conf *)conf)->always = true;
	return 0;
}

#define ROW(member, ...) OPT_ROW(tcpdump_conf, member, __VA_ARGS__)
#define RUN(member, ...) OPT_ROW(tcpdump_conf, capture.run.member, __VA_ARGS__)
#define CALL_ROW(...) OPT_CALL_ROW(__VA_ARGS__)

#define NO_RADIO "sonde captures at traffic control, which has no radio headers: use tcpdump or iw"
#define NO_SECRETS "sonde decrypts nothing: use Wireshark on the file of -w"

static const struct opt tcpdump_rows[] = {
	CALL_ROW(on_interface, "interface", 'i', "IFACE", "this interface, or any",
		 .differs = "without it all interfaces, as any; a comma and patterns make lists"),
	RUN(count, NULL, 'c', OPT_U64, "COUNT", "exit after COUNT packets", .not_zero = true),
	ROW(count_only, "count", 0, OPT_BOOL, NULL, "print only how many packets a file has"),
	RUN(read, "read", 'r', OPT_STR, "FILE", "read packets from a pcap or pcapng file; - is stdin"),
	RUN(write, "write", 'w', OPT_STR, "FILE", "write packets to a pcap file",
	    .differs = "its packets are of one link type"),
	CALL_ROW(on_file_size, NULL, 'C', "SIZE", "a new file after SIZE million bytes"),
	CALL_ROW(on_seconds, NULL, 'G', "SECONDS", "a new file after SECONDS"),
	CALL_ROW(on_files, NULL, 'W', "COUNT", "at most COUNT files"),
	ROW(command, NULL, 'z', OPT_STR, "COMMAND", "run COMMAND FILE for each file that is full",
	    .differs = "the end waits for the commands"),
	ROW(print, "print", 0, OPT_BOOL, NULL, "lines too while -w writes"),
	CALL_ROW(on_snaplen, "snapshot-length", 's', "BYTES", "bytes of each packet"),
	OPT_ROW(tcpdump_conf, capture.net.direction, "direction", 'Q', OPT_ENUM, "DIR", "in, out or inout",
		.names = capture_direction_names),
	CALL_ROW(on_buffer, "buffer-size", 'B', "KIB", "memory of the kernel", .differs = "of each CPU"),
	ROW(o.ether, "print-link", 'e', OPT_BOOL, NULL, "the link-level header"),
	ROW(o.numeric, "numbers", 'n', OPT_BOOL, NULL, "no names of addresses and ports",
	    .differs = "without it ports, protocols and vendors have names, hosts have none"),
	ROW(o.quick, NULL, 'q', OPT_BOOL, NULL, "less of each protocol"),
	ROW(o.verbose, NULL, 'v', OPT_COUNT, NULL, "more of each protocol",
	    .differs = "Ethernet, VLAN, ARP, IP, TCP, UDP, ICMP, IGMP, DNS, HTTP and lines of text are dissected"),
	ROW(o.hex, NULL, 'x', OPT_COUNT, NULL, "bytes in hex, -xx with the link-level header"),
	ROW(o.hex_ascii, NULL, 'X', OPT_COUNT, NULL, "bytes in hex and as text, -XX with the link-level header"),
	ROW(o.ascii, NULL, 'A', OPT_BOOL, NULL, "bytes as text", .differs = "IPv6 and others show whole packets"),
	ROW(o.stamp, NULL, 't', OPT_COUNT, NULL, "-t no time, -tt since 1970, -ttt, -tttt, -ttttt"),
	ROW(o.absolute, "absolute-tcp-sequence-numbers", 'S', OPT_BOOL, NULL, "sequence numbers as they are"),
	ROW(o.unchecked, "dont-verify-checksums", 'K', OPT_BOOL, NULL, "verify no checksums"),
	ROW(o.number, "number", 0, OPT_BOOL, NULL, "number of each packet",
	    .differs = "-# is not taken, --number is"),
	CALL_ROW(on_precision, "time-stamp-precision", 0, "UNIT", "micro or nano"),
	CALL_ROW(on_micro, "micro", 0, NULL, "six decimals of a second"),
	ROW(o.nano, "nano", 0, OPT_BOOL, NULL, "nine decimals of a second"),
	ROW(list, "list-interfaces", 'D', OPT_BOOL, NULL, "list interfaces",
	    .differs = "those of the kernel, and any"),
	CALL_ROW(on_always, NULL, 'l', NULL, "lines at once", .differs = "always so, at most --latency late"),
	CALL_ROW(on_always, "packet-buffered", 'U', NULL, "packets at once into files",
		 .differs = "always so, at most --latency late"),
	CALL_ROW(on_always, "immediate-mode", 0, NULL, "packets at once",
		 .differs = "always so, at most --latency late"),
	CALL_ROW(on_always, "no-promiscuous-mode", 'p', NULL, "no promiscuous mode",
		 .differs = "always so: sonde changes no interface"),
	CALL_ROW(on_always, "no-optimize", 'O', NULL, "no optimizer",
		 .differs = "ignored: the kernel decides the same"),
	CALL_ROW(on_always, NULL, 'N', NULL, "no domains of host names",
		 .differs = "always so: addresses are numbers"),
	CALL_ROW(on_always, NULL, 'f', NULL, "numbers of foreign addresses", .differs = "always so"),
	CALL_ROW(on_always, "relinquish-privileges", 'Z', "USER", "drop rights after the start",
		 .differs = "ignored: sonde gives up its rights by itself, and files belong to the caller"),
	ROW(file, NULL, 'F', OPT_STR, "FILE", "the filter is in FILE; that of the command line is ignored"),
	ROW(code, NULL, 'd', OPT_COUNT, NULL, "print the filter's code, -dd as C, -ddd as numbers",
	    .differs = "for Ethernet, with -i any for cooked headers"),
	CALL_ROW(on_always, "help", 'h', NULL, "this list"),
	ROW(version, "version", 0, OPT_BOOL, NULL, "print the version", .differs = "it is sonde's"),
	REFUSED("asdot", 'b', NULL, "BGP is not dissected: use tshark on the file of -w"),
	REFUSED(NULL, 'E', "SECRET", NO_SECRETS),
	REFUSED(NULL, 'M', "SECRET", NO_SECRETS),
	REFUSED(NULL, 'H', NULL, NO_RADIO),
	REFUSED("monitor-mode", 'I', NULL, NO_RADIO),
	REFUSED("time-stamp-type", 'j', "TYPE", "time is the kernel's clock: adapters' clocks need tcpdump"),
	REFUSED("list-time-stamp-types", 'J', NULL, "time is the kernel's clock"),
	REFUSED("list-data-link-types", 'L', NULL,
		"packets are Ethernet, or IP where an interface has no link header"),
	REFUSED("linktype", 'y', "TYPE", "packets are Ethernet, or IP where an interface has no link header"),
	REFUSED(NULL, 'm', "MODULE", "SNMP is not dissected: use tshark on the file of -w"),
	REFUSED(NULL, 'T', "TYPE", "protocols are known by their ports: use tshark -d on the file of -w"),
	REFUSED(NULL, 'u', NULL, "NFS is not dissected: use tshark on the file of -w"),
	REFUSED(NULL, 'V', "FILE", "run sonde for each file"),
	OPT_END
};

static size_t tcpdump_sets(void *conf, struct opt_set *ret_sets)
{
	struct tcpdump_conf *c = conf;

	ret_sets[0] = (struct opt_set){ .title = "tcpdump", .opts = tcpdump_rows, .conf = c };
	return 1 + cmd_capture_sets(&c->capture, ret_sets + 1);
}

/* ---- -D ---- */

static void print_interface(unsigned number, const char *name, int fd)
{
	struct ifreq req = { 0 };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.*s", IFNAMSIZ - 1, name);
	if (ioctl(fd, SIOCGIFFLAGS, &req) < 0)
		req.ifr_flags = 0;
	printf("%u.%s", number, name);
	if (!(req.ifr_flags & IFF_UP))
		printf(" [none]\n");
	else
		printf(" [Up%s%s]\n", req.ifr_flags & IFF_RUNNING ? ", Running" : "",
		       req.ifr_flags & IFF_LOOPBACK ? ", Loopback" : "");
}

static int list_interfaces(void)
{
	struct if_nameindex *all = if_nameindex();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned n = 0;

	for (const struct if_nameindex *i = all; i && i->if_index; i++)
		print_interface(++n, i->if_name, fd);
	printf("%u.any (Pseudo-device that captures on all interfaces) [Up, Running]\n", ++n);
	if (all)
		if_freenameindex(all);
	cleanup_close(&fd);
	return CMD_OK;
}

/* ---- the run ---- */

/* Packets of all interfaces? */
static bool is_any(const struct tcpdump_conf *c)
{
	return !c->capture.run.read && (c->any || c->capture.run.ifaces.len != 1);
}

/* Of -s, of which 0 is the longest. */
static uint32_t snaplen_of(const struct tcpdump_conf *c)
{
	uint32_t n = 0;

	return str_to_u32(c->snaplen, 10, &n) == 0 && n ? n : SNAPLEN_MAX;
}

/* The expression of -F; a # begins a comment. */
static int read_filter(struct tcpdump_conf *c, struct err *err)
{
	_cleanup_fclose_ FILE *f = strcmp(c->file, "-") != 0 ? fopen(c->file, "re") : fdopen(dup(STDIN_FILENO), "r");
	bool comment = false;

	if (!f)
		return err_errno(err, -errno, "cannot open %s", c->file);
	for (int b; (b = getc(f)) != EOF;) {
		comment = (comment || b == '#') && b != '\n';
		buf_add_char(&c->expr, comment ? ' ' : (char)b);
	}
	if (ferror(f))
		return err_errno(err, -EIO, "cannot read %s", c->file);
	return buf_error(&c->expr) < 0 ? err_errno(err, -ENOMEM, "cannot read %s", c->file) : 0;
}

static int join_filter(struct tcpdump_conf *c, const struct cmd_words *w, struct err *err)
{
	if (c->file)
		return read_filter(c, err);
	for (size_t i = 0; i < w->words.len; i++)
		buf_printf(&c->expr, "%s%s", i ? " " : "", w->words.items[i]);
	return buf_error(&c->expr) < 0 ? err_errno(err, -ENOMEM, "cannot take the filter") : 0;
}

/* A name is looked up here: the process that compiles may not. */
static int compile(struct tcpdump_conf *c, struct pktfilter **ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf numbers = { 0 };
	int r = pktfilter_compile(buf_str(&c->expr), COMPILE_NS, ret, err);

	if (r != -ENOKEY)
		return r;
	r = pktfilter_resolve(buf_str(&c->expr), COMPILE_NS, &numbers, err);
	return r < 0 ? r : pktfilter_compile(buf_str(&numbers), COMPILE_NS, ret, err);
}

/* -d */
static int print_code(struct tcpdump_conf *c, struct err *err)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct pktfilter *f = NULL;
	const uint32_t link = c->any ? SONDE_LINK_SLL2 : SONDE_LINK_ETHERNET;
	int r = compile(c, &f, err);

	if (r >= 0 && pktfilter_code(f, link, c->code, snaplen_of(c), &out) < 0)
		r = err_errno(err, -ENOMEM, "cannot print the filter");
	if (r >= 0)
		fwrite(out.data, 1, out.len, stdout);
	pktfilter_free(f);
	return r;
}

static void set_ready(struct tcpdump_conf *c)
{
	const struct opt_strv *names = &c->capture.run.ifaces;
	const bool any = is_any(c);

	if (c->capture.run.read)
		return;
	buf_printf(&c->ready, "sonde: ready, listening on %s, link-type %s, snapshot length %u bytes",
		   any ? "any" : names->items[0], any ? "LINUX_SLL2 (Linux cooked v2)" : "EN10MB (Ethernet)",
		   snaplen_of(c));
	c->capture.ready = buf_str(&c->ready);
}

static void set_files(struct tcpdump_conf *c)
{
	struct run_conf *run = &c->capture.run;

	run->write_format = "pcap";
	run->pcap = (is_any(c) ? SINK_PCAP_COOKED : 0) | (c->o.nano ? SINK_PCAP_NANO : 0);
	run->quiet = true;
	if (!run->rotate_bytes && !run->rotate_ns)
		run->rotate_files = 0; /* -W alone means nothing */
	if (!c->rotated)
		return;
	run->rotate_closed = tcpdump_rotated_closed;
	run->rotate_closed_ctx = c->rotated;
}

static int prepare(struct tcpdump_conf *c, struct err *err)
{
	int r = c->command ? tcpdump_rotated_new(c->command, &c->rotated) : 0;

	if (r < 0)
		return err_errno(err, r, "cannot prepare -z %s", c->command);
	c->sink = tcpdump_sink_new(&c->o, is_any(c), c->count_only);
	if (!c->sink)
		return err_errno(err, -ENOMEM, "cannot begin");
	set_ready(c);
	set_files(c);
	if (!c->capture.run.write || c->print || c->count_only) {
		c->capture.watcher = &tcpdump_sink_ops;
		c->capture.watcher_ctx = c->sink;
	}
	return 0;
}

static int run_capture(struct tcpdump_conf *c, const struct cmd_words *w)
{
	const char *expr = c->expr.len ? buf_str(&c->expr) : NULL;
	struct cmd_words words = *w;
	int status;

	words.words = (struct opt_strv){ .items = &expr, .len = expr != NULL };
	status = cmd_capture_run(&c->capture, &words);
	if (c->count_only)
		printf("%" PRIu64 " packet%s\n", tcpdump_sink_count(c->sink),
		       tcpdump_sink_count(c->sink) == 1 ? "" : "s");
	return status;
}

static int tcpdump_run(void *conf, const struct cmd_words *w)
{
	struct tcpdump_conf *c = conf;
	struct err err = { 0 };
	int r, status = CMD_OK;

	if (c->version)
		return cmd_print_version(stdout, false);
	if (c->list)
		return list_interfaces();
	r = join_filter(c, w, &err);
	if (r >= 0)
		r = c->code ? print_code(c, &err) : prepare(c, &err);
	if (r < 0) {
		status = cmd_fail(r, &err);
	} else if (!c->code) {
		status = run_capture(c, w);
	}
	tcpdump_rotated_free(c->rotated);
	tcpdump_sink_free(c->sink);
	buf_fini(&c->expr);
	buf_fini(&c->ready);
	return status;
}

static const struct cmd_example examples[] = {
	{ "sonde compat tcpdump -ni any tcp port 443", "packets of all interfaces" },
	{ "sonde compat tcpdump -nvX -r trace.pcap icmp", "packets of a file with their bytes" },
	{ "sonde compat tcpdump -w trace.pcap -C 100 -W 5", "files, five of 100 MB" },
	{ 0 },
};

static const struct cmd tcpdump_cmd = {
	.name = "compat tcpdump",
	.summary = "packets in tcpdump's lines",
	.args = "[PCAP FILTER]",
	.doc = "Shows packets at the interfaces, or of a file, as tcpdump prints them. A protocol that is not "
	       "dissected is named with its length.",
	.examples = examples,
	.dialect = true,
	.conf_size = sizeof(struct tcpdump_conf),
	.sets = tcpdump_sets,
	.run = tcpdump_run,
};

const struct dialect dialect_tcpdump = { .tool = "tcpdump", .cmd = &tcpdump_cmd, .native = "capture" };
