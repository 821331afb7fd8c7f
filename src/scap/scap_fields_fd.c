// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of descriptors (fd.*), and the table of all fields.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "scap/block.h"
#include "scap/scap_fields.h"
#include "scap/scap_fields_id.h"

static bool is_ip(const struct scap_fd *fd)
{
	return fd->type >= FD_IPV4 && fd->type <= FD_IPV6_SERVER;
}

static bool is_listener(const struct scap_fd *fd)
{
	return fd->type == FD_IPV4_SERVER || fd->type == FD_IPV6_SERVER;
}

/* Ends of a connection, whose tuple goes from client to server. The local end is the one of this process. */
enum end { END_CLIENT, END_SERVER, END__MAX };

static int get_ip(const struct scap_fd *fd, enum end end, struct value *ret)
{
	const struct ipaddr *ip = end == END_CLIENT ? &fd->sip : &fd->dip;

	if (!is_ip(fd) || !ip->family || (end == END_CLIENT && is_listener(fd)) ||
	    (!is_listener(fd) && fd->role == SCAP_ROLE_NONE))
		return -ENOENT;
	*ret = (struct value){ .kind = VAL_IP, .ip = *ip };
	return 0;
}

static int get_port(const struct scap_fd *fd, enum end end, struct value *ret)
{
	uint16_t port = end == END_CLIENT ? fd->sport : fd->dport;

	if (!is_ip(fd) || !port || (end == END_CLIENT && is_listener(fd)) ||
	    (!is_listener(fd) && fd->role == SCAP_ROLE_NONE))
		return -ENOENT;
	return value_set_uint(ret, port);
}

static enum end local_end(const struct scap_fd *fd)
{
	return fd->role == SCAP_ROLE_SERVER ? END_SERVER : END_CLIENT;
}

static enum end remote_end(const struct scap_fd *fd)
{
	return fd->role == SCAP_ROLE_SERVER ? END_CLIENT : END_SERVER;
}

static bool is_file(const struct scap_fd *fd)
{
	return fd->type == FD_FILE || fd->type == FD_FILE_V2 || fd->type == FD_DIRECTORY;
}

static int get_directory(const struct scap_fd *fd, struct value *ret)
{
	const char *slash;

	if (!is_file(fd) || !fd->name)
		return -ENOENT;
	if (fd->type == FD_DIRECTORY)
		return scap_value_str(ret, fd->name);
	slash = memrchr(fd->name->data, '/', fd->name->len);
	if (!slash || slash == fd->name->data)
		return value_set_text(ret, "/");
	return value_set_chars(ret, fd->name->data, (size_t)(slash - fd->name->data));
}

static int get_filename(const struct scap_fd *fd, struct value *ret)
{
	const char *slash;

	if (!is_file(fd) || !fd->name)
		return -ENOENT;
	slash = memrchr(fd->name->data, '/', fd->name->len);
	return value_set_text(ret, slash ? slash + 1 : "/");
}

static int get_uid(const struct scap_view *v, struct value *ret)
{
	struct buf *b = scap_state_scratch(v->state);

	if (!v->thread)
		return -ENOENT;
	buf_printf(b, "%lld%lld", (long long)v->thread->tid, (long long)v->fd_num);
	return scap_value_buf(ret, b);
}

static int get_l4(const struct scap_fd *fd, struct value *ret)
{
	static const char *const names[] = { "<NA>", "<NA>", "tcp", "udp", "icmp", "raw" };

	return is_ip(fd) && fd->l4 < ARRAY_SIZE(names) ? value_set_text(ret, names[fd->l4]) : -ENOENT;
}

/* Encoding of device numbers in 32 bits (new_encode_dev() of the kernel). */
static uint32_t dev_major(uint32_t dev)
{
	return dev >> 8 & 0xfff;
}

static uint32_t dev_minor(uint32_t dev)
{
	return (dev & 0xff) | (dev >> 12 & 0xfff00);
}

/* Peer of a failed connect. */
static int get_attempt(const struct scap_view *v, unsigned param, struct value *ret)
{
	struct buf *raw = scap_state_scratch(v->state), *resolved = scap_state_scratch(v->state);

	if (scap_render_param(v, param, scap_state_render(v->state), raw, resolved) < 0)
		return -ENOENT;
	return scap_value_buf(ret, raw);
}

/* Absolute path of a failed open, or its directory. */
static int get_opened_file(const struct scap_view *v, enum field_id w, struct value *ret)
{
	uint16_t type = v->p.head->type;
	unsigned param = type == SCAP_OPENAT_2_X || type == SCAP_OPENAT2_X ? 2 : 1;
	struct buf *b = scap_state_scratch(v->state);
	const char *s, *slash;
	size_t len;

	if (type != SCAP_OPEN_X && type != SCAP_CREAT_X && param == 1)
		return -ENOENT;
	scap_render_path(v, param, b);
	s = params_str(&v->p, param, &len);
	if (!b->len && s)
		str_escape_buf(b, s, len);
	slash = b->len ? memrchr(b->data, '/', b->len) : NULL;
	if (w == SF_FD_NAME || !slash)
		return b->len ? scap_value_buf(ret, b) : -ENOENT;
	return slash == b->data ? value_set_text(ret, "/")
				: value_set_chars(ret, b->data, (size_t)(slash - b->data));
}

static int get_text(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_fd *fd = v->fd;
	char *letter;

	switch ((enum field_id)f->off) {
	case SF_FD_TYPE: return value_set_text(ret, scap_state_fd_type_name(fd));
	case SF_FD_TYPECHAR:
		letter = buf_reserve(scap_state_scratch(v->state), 1);
		if (!letter)
			return -ENOENT;
		*letter = scap_state_fd_type_char(fd);
		return value_set_chars(ret, letter, 1);
	case SF_FD_NAME:
		if (v->p.head->type == SCAP_CONNECT_X && (!fd->name || !fd->name->len))
			return get_attempt(v, 1, ret);
		return scap_value_str_or_empty(ret, fd->name);
	case SF_FD_DIRECTORY: return get_directory(fd, ret);
	case SF_FD_FILENAME: return get_filename(fd, ret);
	case SF_FD_L4PROTO: return get_l4(fd, ret);
	case SF_FD_SOCKFAMILY: return value_set_text(ret, is_ip(fd) ? "ip" : fd->type == FD_UNIX ? "unix" : NULL);
	default: return -ENOENT;
	}
}

int scap_fields_fd_get(const struct scap_view *v, const struct field *f, struct value *ret)
{
	const struct scap_fd *fd = v->fd;

	if (f->off == SF_FD_NUM)
		return v->fd_num >= 0 ? value_set_int(ret, v->fd_num) : -ENOENT;
	if (!fd && (f->off == SF_FD_NAME || f->off == SF_FD_DIRECTORY))
		return get_opened_file(v, (enum field_id)f->off, ret);
	if (!fd)
		return -ENOENT;
	switch ((enum field_id)f->off) {
	case SF_FD_CIP: return get_ip(fd, END_CLIENT, ret);
	case SF_FD_SIP: return get_ip(fd, END_SERVER, ret);
	case SF_FD_LIP: return get_ip(fd, local_end(fd), ret);
	case SF_FD_RIP: return get_ip(fd, remote_end(fd), ret);
	case SF_FD_CPORT: return get_port(fd, END_CLIENT, ret);
	case SF_FD_SPORT: return get_port(fd, END_SERVER, ret);
	case SF_FD_LPORT: return get_port(fd, local_end(fd), ret);
	case SF_FD_RPORT: return get_port(fd, remote_end(fd), ret);
	case SF_FD_IS_SERVER: return value_set_bool(ret, fd->role == SCAP_ROLE_SERVER);
	case SF_FD_UID: return get_uid(v, ret);
	case SF_FD_CONNECTED: return value_set_bool(ret, fd->flags & SCAP_FD_CONNECTED);
	case SF_FD_DEV: return value_set_uint(ret, fd->dev);
	case SF_FD_DEV_MAJOR: return value_set_uint(ret, dev_major(fd->dev));
	case SF_FD_DEV_MINOR: return value_set_uint(ret, dev_minor(fd->dev));
	case SF_FD_INO: return value_set_uint(ret, fd->ino);
	default: return get_text(v, f, ret);
	}
}

#define WORD(name_, word_, like_, doc_, ...) \
	{ .name = (name_), .kind = FIELD_GET, .off = (word_), .like = FIELD_LIKE(like_), .doc = (doc_), \
	  .flags = FIELD_SILENT, ##__VA_ARGS__ }

/* A text with an open set of values. */
#define OPEN(...) WORD(__VA_ARGS__, .flags = FIELD_OPEN | FIELD_SILENT)
#define NO_VALUE(name_, like_, ...) WORD(name_, SF_UNTOLD, like_, "never has a value", ##__VA_ARGS__)

const struct field scap_fields[] = {
	WORD("evt.num", SF_NUM, FIELD_UINT, "number of the event, those that a filter left out counted", .flags = 0),
	WORD("evt.type", SF_TYPE, FIELD_STR, "the call or event: open, read, switch", .xlat = &scap_type_names,
	     .key = "event", .flags = FIELD_OPEN),
	WORD("evt.type.is", SF_TYPE_IS, FIELD_BOOL, "evt.type.is.open: is it an open?",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT),
	OPEN("syscall.type", SF_SYSCALL_TYPE, FIELD_STR, "the call; nothing for what is no system call"),
	WORD("evt.dir", SF_DIR, FIELD_STR, "> when a call is entered, < when it is left", .flags = FIELD_OPEN),
	WORD("evt.cpu", SF_CPU, FIELD_UINT, "CPU it happened on"),
	OPEN("evt.category", SF_CATEGORY, FIELD_STR, "file, net, ipc, memory, process, ..."),
	WORD("evt.args", SF_ARGS, FIELD_STR, "all arguments in one text", .flags = 0),
	WORD("evt.info", SF_ARGS, FIELD_STR, "all arguments in one text", .flags = FIELD_ALIAS | FIELD_SILENT),
	WORD("evt.arg", SF_ARG, FIELD_STR, "one argument, by name or number: evt.arg.fd, evt.arg[0]",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT),
	WORD("evt.rawarg", SF_RAWARG, FIELD_GET, "one argument as a number, without its name: evt.rawarg.size",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT, .like = 0),
	WORD("evt.buffer", SF_BUFFER, FIELD_STR, "data that was read or written"),
	WORD("evt.buflen", SF_BUFLEN, FIELD_UINT, "how many bytes were read or written"),
	OPEN("evt.res", SF_RES, FIELD_STR, "SUCCESS, or the error's name"),
	WORD("evt.rawres", SF_RAWRES, FIELD_INT, "result as a number", .key = "res", .flags = 0),
	WORD("evt.failed", SF_FAILED, FIELD_BOOL, "it returned an error"),
	WORD("evt.is_io", SF_IS_IO, FIELD_BOOL, "it reads from or writes to a descriptor"),
	WORD("evt.is_io_read", SF_IS_IO_READ, FIELD_BOOL, "it reads from a descriptor"),
	WORD("evt.is_io_write", SF_IS_IO_WRITE, FIELD_BOOL, "it writes to a descriptor"),
	OPEN("evt.io_dir", SF_IO_DIR, FIELD_STR, "read or write"),
	WORD("evt.is_wait", SF_IS_WAIT, FIELD_BOOL, "it makes the thread wait"),
	WORD("evt.wait_latency", SF_WAIT_LATENCY, FIELD_NS, "how long it waited"),
	WORD("evt.latency", SF_LATENCY, FIELD_NS, "time between entering and leaving the call", .key = "latency_ns",
	     .flags = 0),
	WORD("evt.deltatime", SF_DELTATIME, FIELD_NS, "time since the event before"),
	WORD("evt.deltatime.s", SF_DELTATIME_S, FIELD_UINT, "its seconds"),
	WORD("evt.deltatime.ns", SF_DELTATIME_NS, FIELD_UINT, "its fraction in ns"),
	WORD("evt.rawtime", SF_RAWTIME, FIELD_UINT, "time in ns since 1970"),
	WORD("evt.rawtime.s", SF_RAWTIME_S, FIELD_UINT, "its seconds"),
	WORD("evt.rawtime.ns", SF_RAWTIME_NS, FIELD_UINT, "its fraction in ns"),
	WORD("evt.reltime", SF_RELTIME, FIELD_UINT, "time in ns since the first event"),
	WORD("evt.reltime.s", SF_RELTIME_S, FIELD_UINT, "its seconds"),
	WORD("evt.reltime.ns", SF_RELTIME_NS, FIELD_UINT, "its fraction in ns"),
	WORD("evt.count", SF_COUNT, FIELD_UINT, "1"),
	WORD("evt.around", SF_AROUND, FIELD_UINT, "evt.around[TIME]=MS: at most so many ms from an evt.rawtime",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT | FIELD_WITHIN),
	WORD("evt.is_syslog", SF_IS_SYSLOG, FIELD_BOOL, "it writes to /dev/log"),
	WORD("syslog.facility", SF_FACILITY, FIELD_UINT, "of a message to /dev/log: its facility, 0 to 23"),
	WORD("syslog.facility.str", SF_FACILITY_STR, FIELD_STR, "its facility's name: kern, user, daemon, cron, ..."),
	WORD("syslog.severity", SF_SEVERITY, FIELD_UINT, "its severity, 0 (the worst) to 7"),
	WORD("syslog.severity.str", SF_SEVERITY_STR, FIELD_STR, "emerg, alert, crit, err, warn, notice, info, debug"),
	WORD("syslog.message", SF_MESSAGE, FIELD_STR, "its text, as far as the bytes were kept"),
	WORD("evt.abspath", SF_ABSPATH, FIELD_STR, "the path argument made absolute; .src and .dst of two",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT),
	WORD("evt.is_open_read", SF_OPEN_READ, FIELD_BOOL, "an open for reading"),
	WORD("evt.is_open_write", SF_OPEN_WRITE, FIELD_BOOL, "an open for writing"),
	WORD("evt.is_open_exec", SF_OPEN_EXEC, FIELD_BOOL, "an open that makes a file which can be run"),
	WORD("evt.latency.s", SF_LATENCY_S, FIELD_UINT, "seconds of the latency"),
	WORD("evt.latency.ns", SF_LATENCY_NS, FIELD_UINT, "its fraction in ns"),
	OPEN("evt.latency.human", SF_LATENCY_HUMAN, FIELD_STR, "the latency with a unit"),
	WORD("evt.count.error", SF_COUNT_ERROR, FIELD_UINT, "1 of calls that failed"),
	WORD("evt.count.error.file", SF_COUNT_ERROR_FILE, FIELD_UINT, "1 of calls about files that failed"),
	WORD("evt.count.error.net", SF_COUNT_ERROR_NET, FIELD_UINT, "1 of calls about sockets that failed"),
	WORD("evt.count.error.memory", SF_COUNT_ERROR_MEMORY, FIELD_UINT, "1 of calls about memory that failed"),
	WORD("evt.count.error.other", SF_COUNT_ERROR_OTHER, FIELD_UINT, "1 of other calls that failed"),
	WORD("evt.count.exit", SF_COUNT_EXIT, FIELD_UINT, "1 when a call is left"),
	WORD("thread.exectime", SF_EXECTIME, FIELD_NS, "of a switch: how long the thread had the CPU"),
	WORD("thread.totexectime", SF_TOTEXECTIME, FIELD_NS, "how long it had one so far, as switches tell"),
	WORD("proc.pid", SF_PID, FIELD_INT, "process id"),
	WORD("proc.exe", SF_EXE, FIELD_STR, "first word of the command line"),
	OPEN("proc.name", SF_NAME, FIELD_STR, "name of the process (comm)"),
	WORD("proc.args", SF_PROC_ARGS, FIELD_STR, "command line without its first word"),
	WORD("proc.env", SF_ENV, FIELD_STR, "environment"),
	WORD("proc.cmdline", SF_CMDLINE, FIELD_STR, "name and arguments"),
	WORD("proc.exeline", SF_EXELINE, FIELD_STR, "command line"),
	WORD("proc.cwd", SF_CWD, FIELD_STR, "current directory"),
	OPEN("proc.exepath", SF_EXEPATH, FIELD_STR, "path of the executable"),
	WORD("proc.nthreads", SF_NTHREADS, FIELD_UINT, "threads of the process"),
	WORD("proc.nchilds", SF_NCHILDS, FIELD_UINT, "threads beside the main one"),
	WORD("proc.ppid", SF_PPID, FIELD_INT, "process id of the parent"),
	OPEN("proc.pname", SF_PNAME, FIELD_STR, "name of the parent"),
	WORD("proc.pcmdline", SF_PCMDLINE, FIELD_STR, "command line of the parent",
	     .flags = FIELD_OTHERS | FIELD_SILENT),
	WORD("proc.apid", SF_APID, FIELD_INT, "process id of an ancestor: proc.apid[2] is the grandparent's",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT),
	WORD("proc.aname", SF_ANAME, FIELD_STR, "name of an ancestor: proc.aname[2] is the grandparent's",
	     .flags = FIELD_OPEN | FIELD_ARGUMENT | FIELD_SILENT),
	WORD("proc.loginshellid", SF_LOGINSHELLID, FIELD_INT, "process id of the oldest shell among the ancestors"),
	WORD("proc.duration", SF_DURATION, FIELD_NS, "time since the process began"),
	WORD("proc.fdopencount", SF_FDOPENCOUNT, FIELD_UINT, "open descriptors"),
	WORD("proc.fdlimit", SF_FDLIMIT, FIELD_INT, "most descriptors it may have"),
	WORD("proc.fdusage", SF_FDUSAGE, FIELD_UINT, "open descriptors in percent of the limit"),
	WORD("proc.vmsize", SF_VMSIZE, FIELD_UINT, "virtual memory in kB"),
	WORD("proc.vmrss", SF_VMRSS, FIELD_UINT, "resident memory in kB"),
	WORD("proc.vmswap", SF_VMSWAP, FIELD_UINT, "swapped memory in kB"),
	WORD("proc.sid", SF_SID, FIELD_INT, "session id"),
	OPEN("proc.sname", SF_SNAME, FIELD_STR, "name of the session's leader"),
	WORD("proc.tty", SF_TTY, FIELD_UINT, "controlling terminal, 0 = none"),
	WORD("proc.vpid", SF_VPID, FIELD_INT, "process id in its own pid namespace"),
	WORD("proc.vpgid", SF_VPGID, FIELD_INT, "process group in its own pid namespace"),
	WORD("proc.is_exe_writable", SF_EXE_WRITABLE, FIELD_BOOL, "its executable can be written by its user"),
	WORD("thread.tid", SF_TID, FIELD_INT, "thread id"),
	WORD("thread.ismain", SF_ISMAIN, FIELD_BOOL, "it is the process's main thread"),
	WORD("thread.vtid", SF_VTID, FIELD_INT, "thread id in its own pid namespace"),
	OPEN("thread.cgroups", SF_CGROUPS, FIELD_STR, "all cgroups of the thread"),
	WORD("thread.cgroup", SF_CGROUP, FIELD_STR, "cgroup of one subsystem: thread.cgroup.cpu",
	     .flags = FIELD_OPEN | FIELD_ARGUMENT | FIELD_SILENT),
	WORD("thread.pfmajor", SF_PFMAJOR, FIELD_UINT, "major page faults since it began"),
	WORD("thread.pfminor", SF_PFMINOR, FIELD_UINT, "minor page faults since it began"),
	WORD("user.uid", SF_UID, FIELD_UINT, "user id"),
	OPEN("user.name", SF_USER_NAME, FIELD_STR, "user name"),
	WORD("user.homedir", SF_HOMEDIR, FIELD_STR, "home directory of the user"),
	WORD("user.shell", SF_SHELL, FIELD_STR, "shell of the user"),
	WORD("user.loginuid", SF_LOGINUID, FIELD_INT, "user id at login, -1 = none"),
	OPEN("user.loginname", SF_LOGINNAME, FIELD_STR, "user name at login"),
	WORD("group.gid", SF_GID, FIELD_UINT, "group id"),
	OPEN("group.name", SF_GROUP_NAME, FIELD_STR, "group name"),
	WORD("container.id", SF_CONTAINER_ID, FIELD_STR, "container id, or host",
	     .flags = FIELD_OPEN | FIELD_SHORT | FIELD_SILENT),
	OPEN("container.name", SF_CONTAINER_NAME, FIELD_STR, "container name, or host"),
	OPEN("container.image", SF_CONTAINER_IMAGE, FIELD_STR, "container image"),
	OPEN("container.type", SF_CONTAINER_TYPE, FIELD_STR, "engine of the container: docker, podman, ...; or host"),
	WORD("container.privileged", SF_CONTAINER_PRIVILEGED, FIELD_BOOL, "the container has all rights"),
	OPEN("container.image.id", SF_CONTAINER_IMAGE_ID, FIELD_STR, "id of the container's image"),
	OPEN("container.image.repository", SF_CONTAINER_IMAGE_REPO, FIELD_STR, "its repository"),
	OPEN("container.image.tag", SF_CONTAINER_IMAGE_TAG, FIELD_STR, "its tag"),
	OPEN("container.image.digest", SF_CONTAINER_IMAGE_DIGEST, FIELD_STR, "its digest"),
	WORD("container.mounts", SF_CONTAINER_MOUNTS, FIELD_STR, "mounts: source:destination:mode:rdwr:propagation"),
	OPEN("fdlist.nums", SF_FDLIST_NUMS, FIELD_STR, "descriptors that a poll waits for, with commas between"),
	WORD("fdlist.names", SF_FDLIST_NAMES, FIELD_STR, "their names"),
	WORD("fdlist.cips", SF_FDLIST_CIPS, FIELD_STR, "addresses of their clients"),
	WORD("fdlist.sips", SF_FDLIST_SIPS, FIELD_STR, "addresses of their servers"),
	WORD("fdlist.cports", SF_FDLIST_CPORTS, FIELD_STR, "ports of their clients"),
	WORD("fdlist.sports", SF_FDLIST_SPORTS, FIELD_STR, "ports of their servers"),
	WORD("fd.num", SF_FD_NUM, FIELD_INT, "number of the descriptor", .key = "fd", .flags = 0),
	WORD("fd.type", SF_FD_TYPE, FIELD_STR, "file, directory, ipv4, ipv6, unix, pipe, event, ...",
	     .key = "fd_type", .flags = FIELD_OPEN),
	OPEN("fd.typechar", SF_FD_TYPECHAR, FIELD_STR, "its type as a letter: f d 4 6 u p e s l i t n o"),
	WORD("fd.name", SF_FD_NAME, FIELD_STR, "path, or client and server of a connection", .key = "fd_name",
	     .flags = 0),
	WORD("fd.directory", SF_FD_DIRECTORY, FIELD_STR, "directory of the file"),
	WORD("fd.filename", SF_FD_FILENAME, FIELD_STR, "name of the file without its directory"),
	WORD("fd.ip", SF_FD_CIP, FIELD_IP, "address of either end", .flags = FIELD_EITHER | FIELD_SILENT),
	WORD("fd.cip", SF_FD_CIP, FIELD_IP, "address of the client"),
	WORD("fd.sip", SF_FD_SIP, FIELD_IP, "address of the server"),
	WORD("fd.net", SF_FD_CIP, FIELD_IP, "network of either end", .flags = FIELD_EITHER | FIELD_SILENT),
	WORD("fd.cnet", SF_FD_CIP, FIELD_IP, "network of the client"),
	WORD("fd.snet", SF_FD_SIP, FIELD_IP, "network of the server"),
	WORD("fd.lip", SF_FD_LIP, FIELD_IP, "address of this side"),
	WORD("fd.rip", SF_FD_RIP, FIELD_IP, "address of the other side"),
	WORD("fd.lnet", SF_FD_LIP, FIELD_IP, "network of this side"),
	WORD("fd.rnet", SF_FD_RIP, FIELD_IP, "network of the other side"),
	WORD("fd.port", SF_FD_CPORT, FIELD_UINT, "port of either end",
	     .flags = FIELD_PORT | FIELD_EITHER | FIELD_SILENT),
	WORD("fd.cport", SF_FD_CPORT, FIELD_UINT, "port of the client", .flags = FIELD_PORT | FIELD_SILENT),
	WORD("fd.sport", SF_FD_SPORT, FIELD_UINT, "port of the server", .flags = FIELD_PORT | FIELD_SILENT),
	WORD("fd.lport", SF_FD_LPORT, FIELD_UINT, "port of this side", .flags = FIELD_PORT | FIELD_SILENT),
	WORD("fd.rport", SF_FD_RPORT, FIELD_UINT, "port of the other side", .flags = FIELD_PORT | FIELD_SILENT),
	OPEN("fd.l4proto", SF_FD_L4PROTO, FIELD_STR, "tcp, udp, icmp, raw"),
	OPEN("fd.sockfamily", SF_FD_SOCKFAMILY, FIELD_STR, "ip or unix"),
	WORD("fd.is_server", SF_FD_IS_SERVER, FIELD_BOOL, "the process is the server of the connection"),
	OPEN("fd.uid", SF_FD_UID, FIELD_STR, "thread id and number, one behind the other"),
	WORD("fd.connected", SF_FD_CONNECTED, FIELD_BOOL, "the socket is connected"),
	WORD("fd.dev", SF_FD_DEV, FIELD_HEX, "device of the file"),
	WORD("fd.dev.major", SF_FD_DEV_MAJOR, FIELD_UINT, "its major number"),
	WORD("fd.dev.minor", SF_FD_DEV_MINOR, FIELD_UINT, "its minor number"),
	WORD("fd.ino", SF_FD_INO, FIELD_UINT, "inode of the descriptor, where the capture has it"),
	/* For compatibility with rules of Falco. */
	WORD("proc.pexe", SF_PEXE, FIELD_STR, "first word of the parent's command line",
	     .flags = FIELD_OTHERS | FIELD_SILENT),
	WORD("proc.pexepath", SF_PEXEPATH, FIELD_STR, "path of the parent's executable"),
	WORD("proc.aexe", SF_AEXE, FIELD_STR, "first word of an ancestor's command line: proc.aexe[2]",
	     .flags = FIELD_OTHERS | FIELD_ARGUMENT | FIELD_SILENT),
	WORD("proc.aexepath", SF_AEXEPATH, FIELD_STR, "path of an ancestor's executable: proc.aexepath[2]",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT),
	WORD("proc.acmdline", SF_ACMDLINE, FIELD_STR, "command line of an ancestor: proc.acmdline[2]",
	     .flags = FIELD_OTHERS | FIELD_ARGUMENT | FIELD_SILENT),
	WORD("proc.vpgid.name", SF_VPGID_NAME, FIELD_STR, "name of the leader of the process group"),
	WORD("proc.vpgid.exe", SF_VPGID_EXE, FIELD_STR, "first word of its command line",
	     .flags = FIELD_OTHERS | FIELD_SILENT),
	WORD("proc.vpgid.exepath", SF_VPGID_EXEPATH, FIELD_STR, "path of its executable"),
	WORD("proc.is_vpgid_leader", SF_IS_VPGID_LEADER, FIELD_BOOL, "the process leads its process group"),
	WORD("proc.ppid.duration", SF_PPID_DURATION, FIELD_NS, "time since the parent began"),
	WORD("proc.is_exe_from_memfd", SF_FROM_MEMFD, FIELD_BOOL, "its executable lies in memory only (memfd)"),
	WORD("fd.types", SF_FD_TYPES, FIELD_STR, "type of one of the process's descriptors: fd.types[0]",
	     .flags = FIELD_ARGUMENT | FIELD_SILENT),
	/* Words of sonde's own system calls, which have them themselves. */
	WORD("syscall.name", SF_SYSCALL_TYPE, FIELD_STR, "the call",
	     .flags = FIELD_OPEN | FIELD_ALIAS | FIELD_SILENT | FIELD_OWN),
	WORD("syscall.latency", SF_LATENCY, FIELD_NS, "time between entering and leaving the call",
	     .flags = FIELD_ALIAS | FIELD_SILENT | FIELD_OWN),
	WORD("syscall.error", SF_ERROR, FIELD_STR, "name of the error that it returned",
	     .flags = FIELD_OPEN | FIELD_SILENT | FIELD_OWN),
	WORD("file.path", SF_FD_NAME, FIELD_STR, "path, or client and server of a connection",
	     .flags = FIELD_ALIAS | FIELD_SILENT | FIELD_OWN),
	WORD("fd.nameraw", SF_FD_NAME, FIELD_STR, "path, or client and server of a connection",
	     .flags = FIELD_ALIAS | FIELD_SILENT),
	NO_VALUE("proc.is_exe_upper_layer", FIELD_BOOL),
	NO_VALUE("proc.is_exe_lower_layer", FIELD_BOOL),
	NO_VALUE("proc.exe_ino", FIELD_UINT),
	NO_VALUE("proc.exe_ino.ctime", FIELD_UINT),
	NO_VALUE("proc.exe_ino.mtime", FIELD_UINT),
	NO_VALUE("proc.exe_ino.ctime_duration_proc_start", FIELD_NS),
	NO_VALUE("proc.exe_ino.ctime_duration_pidns_start", FIELD_NS),
	NO_VALUE("thread.cap_permitted", FIELD_STR),
	NO_VALUE("thread.cap_inheritable", FIELD_STR),
	NO_VALUE("thread.cap_effective", FIELD_STR),
	NO_VALUE("container.start_ts", FIELD_UINT),
	NO_VALUE("container.ip", FIELD_STR),
	NO_VALUE("fd.sip.name", FIELD_STR),
	NO_VALUE("fd.cip.name", FIELD_STR),
	NO_VALUE("fd.lip.name", FIELD_STR),
	NO_VALUE("fd.rip.name", FIELD_STR),
	NO_VALUE("fd.name_changed", FIELD_BOOL),
	NO_VALUE("evt.hostname", FIELD_STR),
	NO_VALUE("k8s.ns.name", FIELD_STR),
	NO_VALUE("k8s.pod.name", FIELD_STR),
	NO_VALUE("k8s.pod.id", FIELD_STR),
	NO_VALUE("k8s.pod.uid", FIELD_STR),
	NO_VALUE("k8s.pod.label", FIELD_STR, .flags = FIELD_ARGUMENT | FIELD_SILENT),
	NO_VALUE("k8s.pod.labels", FIELD_STR),
	NO_VALUE("k8s.ns.id", FIELD_STR),
	NO_VALUE("k8s.rc.name", FIELD_STR),
	NO_VALUE("k8s.rs.name", FIELD_STR),
	NO_VALUE("k8s.svc.name", FIELD_STR),
	NO_VALUE("k8s.deployment.name", FIELD_STR),
};
_Static_assert(ARRAY_SIZE(scap_fields) == SCAP_N_FIELDS, "as the header says");
