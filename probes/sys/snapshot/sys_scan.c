// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads in /proc/PID: stat, status, cmdline, environ, cgroup, and links. Formats: proc(5).
 */
#include "probes/sys/snapshot/sys_scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "probes/sys/snapshot/sys_procfs.h"
#include "probes/sys/snapshot/sys_scan_tables.h"
#include "scap/schema.h"

#define BYTES_MAX 4096u		/* arguments, environment and cgroups, each as in events */
#define FILE_MAX 16384u		/* other files */
#define ANCESTORS_MAX 64
#define CLONE_THREAD_BITS (1u << 0 | 1u << 1 | 1u << 11 | 1u << 13 | 1u << 15)	/* files fs sighand thread vm */

/* Values from the files of one thread. */
struct who {
	char comm[64];
	uint32_t tid, pid, ppid;
	int64_t pgrp, sid, vpgid, vtid, vpid, tty;
	uint64_t min_flt, maj_flt, fd_limit;
	uint32_t uid, gid, login, vm_kb, rss_kb, swap_kb;
	uint64_t cap_inh, cap_prm, cap_eff;
};

/* ---- reading ---- */

/* Number @nth (-1: the last) in the line "KEY:", or @otherwise. */
static uint64_t keyed(const char *text, const char *key, int nth, int base, uint64_t otherwise)
{
	const char *line = text;
	size_t len = strlen(key);
	uint64_t v = otherwise;
	char *end;

	while (line && (strncmp(line, key, len) != 0 || line[len] != ':')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return otherwise;
	line += len + 1;
	for (int i = 0; nth < 0 || i <= nth; i++) {
		while (*line == ' ' || *line == '\t')
			line++;
		if (!isxdigit((unsigned char)*line))
			return nth < 0 ? v : otherwise;
		v = strtoull(line, &end, base);
		line = end;
	}
	return v;
}

/* stat: the command name may contain any byte, so the rest begins after the last parenthesis. */
static int read_stat(struct scan *s, int dir_fd, struct who *w)
{
	long long ppid, pgrp, sid, tty;
	unsigned long long min_flt, maj_flt;
	const char *open, *close;
	int r = sys_procfs_read(dir_fd, "stat", &s->text, FILE_MAX);

	if (r < 0)
		return r;
	open = strchr(s->text.data, '(');
	close = strrchr(s->text.data, ')');
	if (!open || !close || close < open ||
	    sscanf(close + 1, " %*c %lld %lld %lld %lld %*d %*u %llu %*u %llu", &ppid, &pgrp, &sid, &tty, &min_flt,
		   &maj_flt) != 6)
		return -ESRCH;
	snprintf(w->comm, sizeof(w->comm), "%.*s", (int)(close - open - 1), open + 1);
	w->ppid = (uint32_t)ppid;
	w->pgrp = pgrp;
	w->sid = sid;
	w->tty = tty;
	w->min_flt = min_flt;
	w->maj_flt = maj_flt;
	return 0;
}

static int read_status(struct scan *s, int dir_fd, struct who *w)
{
	int r = sys_procfs_read(dir_fd, "status", &s->text, FILE_MAX);
	const char *t = s->text.data;

	if (r < 0)
		return r;
	w->pid = (uint32_t)keyed(t, "Tgid", 0, 10, w->tid);
	w->uid = (uint32_t)keyed(t, "Uid", 1, 10, UINT32_MAX);
	w->gid = (uint32_t)keyed(t, "Gid", 1, 10, UINT32_MAX);
	w->vm_kb = (uint32_t)keyed(t, "VmSize", 0, 10, 0);
	w->rss_kb = (uint32_t)keyed(t, "VmRSS", 0, 10, 0);
	w->swap_kb = (uint32_t)keyed(t, "VmSwap", 0, 10, 0);
	w->vtid = (int64_t)keyed(t, "NSpid", -1, 10, w->tid);
	w->vpid = (int64_t)keyed(t, "NStgid", -1, 10, w->pid);
	w->vpgid = (int64_t)keyed(t, "NSpgid", -1, 10, (uint64_t)w->pgrp);
	w->cap_inh = keyed(t, "CapInh", 0, 16, 0);
	w->cap_prm = keyed(t, "CapPrm", 0, 16, 0);
	w->cap_eff = keyed(t, "CapEff", 0, 16, 0);
	return 0;
}

static void read_others(struct scan *s, int dir_fd, struct who *w)
{
	static const char limit[] = "Max open files";
	const char *line;
	uint64_t v;

	w->login = UINT32_MAX;
	if (sys_procfs_read(dir_fd, "loginuid", &s->text, 64) > 0 && str_to_u64(s->text.data, 10, &v) == 0)
		w->login = (uint32_t)v;
	if (sys_procfs_read(dir_fd, "limits", &s->text, FILE_MAX) <= 0)
		return;
	line = strstr(s->text.data, limit);
	if (line)
		w->fd_limit = strtoull(line + sizeof(limit) - 1, NULL, 10);
}

/* ---- the row ---- */

static void add_link(struct scan *s, int dir_fd, const char *name, bool slash)
{
	char path[PATH_MAX + 2];
	size_t n = sys_procfs_link(dir_fd, name, path, PATH_MAX);

	if (slash && n && path[n - 1] != '/')
		path[n++] = '/';
	params_add_str(&s->out, path, n);
}

/* argv[0] and the other arguments. A process may overwrite them; kernel threads have none. */
static void add_command(struct scan *s, int dir_fd, const struct who *w)
{
	char path[PATH_MAX];
	size_t path_len = sys_procfs_link(dir_fd, "exe", path, sizeof(path)), first;
	int n = sys_procfs_read(dir_fd, "cmdline", &s->text, BYTES_MAX);

	if (n <= 0) {
		params_add_str(&s->out, w->comm, strlen(w->comm));
		params_add_str(&s->out, path, path_len);
		params_add(&s->out, NULL, 0);
		return;
	}
	first = strnlen(s->text.data, (size_t)n);
	params_add_str(&s->out, s->text.data, first);
	params_add_str(&s->out, path, path_len);
	first = MIN(first + 1, (size_t)n);
	params_add(&s->out, s->text.data + first, (size_t)n - first);
	if ((size_t)n > first && s->text.data[n - 1])
		params_append(&s->out, "", 1);
}

static void add_environment(struct scan *s, int dir_fd)
{
	int n = sys_procfs_read(dir_fd, "environ", &s->text, BYTES_MAX);

	params_add(&s->out, s->text.data, n > 0 ? (size_t)n : 0);
	if (n > 0 && s->text.data[n - 1])
		params_append(&s->out, "", 1);
}

static void add_cgroup(struct scan *s, const char *name, size_t name_len, const char *path, size_t path_len)
{
	params_append(&s->out, name, name_len);
	params_append(&s->out, "=", 1);
	params_append(&s->out, path, path_len);
	params_append(&s->out, "", 1);
}

/*
 * "4:cpu,cpuacct:/path" lists two controllers; controllers that are not listed use the unified hierarchy
 * ("0::/path").
 */
static void add_cgroups(struct scan *s, int dir_fd)
{
	static const char *const unified[] = { "cpuset", "cpu", "cpuacct", "io", "memory", "pids" };
	int n = sys_procfs_read(dir_fd, "cgroup", &s->text, BYTES_MAX);
	const char *line = s->text.data, *names, *path, *end;
	bool any = false;

	params_add(&s->out, NULL, 0);
	for (; n > 0 && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		names = memchr(line, ':', (size_t)(end - line));
		path = names ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;
		if (!path)
			continue;
		if (path == names + 1 && !any)
			for (size_t i = 0; i < ARRAY_SIZE(unified); i++)
				add_cgroup(s, unified[i], strlen(unified[i]), path + 1, (size_t)(end - path - 1));
		/* with version 1 hierarchies mounted, a container may still use the unified one only */
		if (path == names + 1 && any && end - path > 2)
			add_cgroup(s, "unified", strlen("unified"), path + 1, (size_t)(end - path - 1));
		for (names++; names < path; names += strcspn(names, ",:") + 1) {
			any = true;
			add_cgroup(s, names, strcspn(names, ",:"), path + 1, (size_t)(end - path - 1));
		}
	}
}

static void add_image(struct scan *s, int dir_fd, const struct who *w)
{
	struct stat st = { 0 };

	if (fstatat(dir_fd, "exe", &st, 0) < 0)
		st = (struct stat){ 0 };
	params_add_u64(&s->out, 0);	/* start of the pid namespace: unknown */
	params_add_u32(&s->out, (uint32_t)w->tty);
	params_add_u32(&s->out, w->login);
	params_add_u8(&s->out, st.st_mode & 0222 && w->uid == st.st_uid ? 1 : 0);
	params_add_u64(&s->out, w->cap_inh);
	params_add_u64(&s->out, w->cap_prm);
	params_add_u64(&s->out, w->cap_eff);
	params_add_u8(&s->out, 0);
	params_add_u64(&s->out, st.st_ino);
	params_add_u64(&s->out, (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec);
	params_add_u64(&s->out, (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec);
	params_add_u8(&s->out, 0);
	params_add_u8(&s->out, 0);
	params_add_u64(&s->out, (uint64_t)w->pgrp);
}

/* @pid_fd: /proc/PID, with the files that all threads share. */
static int send_thread(struct scan *s, int pid_fd, const struct who *w)
{
	struct params_out *o = &s->out;

	params_begin(o, SCAP_ROW_THREAD, -1);
	o->head.flags = s->anew && w->tid == w->pid ? PARAMS_ANEW : 0;
	params_add_u64(o, w->tid);
	params_add_u64(o, w->pid);
	params_add_u64(o, w->ppid);
	params_add_u64(o, (uint64_t)w->sid);
	params_add_u64(o, (uint64_t)w->vpgid);
	params_add_str(o, w->comm, strlen(w->comm));
	add_command(s, pid_fd, w);
	add_link(s, pid_fd, "cwd", true);
	params_add_u64(o, w->fd_limit);
	params_add_u32(o, w->tid == w->pid ? 0 : CLONE_THREAD_BITS);
	params_add_u32(o, w->uid);
	params_add_u32(o, w->gid);
	params_add_u32(o, w->vm_kb);
	params_add_u32(o, w->rss_kb);
	params_add_u32(o, w->swap_kb);
	params_add_u64(o, w->maj_flt);
	params_add_u64(o, w->min_flt);
	add_environment(s, pid_fd);
	params_add_u64(o, (uint64_t)w->vtid);
	params_add_u64(o, (uint64_t)w->vpid);
	add_cgroups(s, pid_fd);
	add_link(s, pid_fd, "root", true);
	add_image(s, pid_fd, w);
	return s->fn(s->ctx, o);
}

static int scan_thread(struct scan *s, int pid_fd, uint32_t pid, uint32_t tid)
{
	struct who w = { .tid = tid };
	_cleanup_close_ int task_fd = -1;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "task/%u", tid);
	if (tid != pid) {
		task_fd = openat(pid_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (task_fd < 0)
			return -ESRCH;
	}
	r = read_stat(s, tid == pid ? pid_fd : task_fd, &w);
	if (r >= 0)
		r = read_status(s, tid == pid ? pid_fd : task_fd, &w);
	if (r < 0 || w.pid != pid)
		return -ESRCH;
	read_others(s, pid_fd, &w);
	return send_thread(s, pid_fd, &w);
}

/* ---- walking ---- */

/* The next entry with a numeric name; 0 at the end. */
static uint32_t next_number(DIR *dir)
{
	struct dirent *e;
	uint32_t v;

	while ((e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]) && str_to_u32(e->d_name, 10, &v) == 0 && v)
			return v;
	return 0;
}

static int scan_threads(struct scan *s, int pid_fd, uint32_t pid)
{
	_cleanup_(closedirp) DIR *dir = io_opendir(pid_fd, "task");
	int r = scan_thread(s, pid_fd, pid, pid);
	uint32_t tid;

	while (dir && r >= 0 && (tid = next_number(dir)))
		if (tid != pid) {
			r = scan_thread(s, pid_fd, pid, tid);
			r = r == -ESRCH ? 0 : r;
		}
	return r;
}

int sys_scan_process(struct scan *s, uint32_t pid, uint32_t tid, bool files)
{
	_cleanup_close_ int pid_fd = -1;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%u", pid);
	pid_fd = openat(s->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (pid_fd < 0)
		return -ESRCH;
	s->anew = files;
	r = tid ? scan_thread(s, pid_fd, pid, tid) : scan_threads(s, pid_fd, pid);
	if (r >= 0 && files)
		r = sys_scan_files_of(s, pid_fd, pid);
	return r;
}

int sys_scan_ancestors(struct scan *s, uint32_t pid)
{
	char name[48];
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < ANCESTORS_MAX; i++) {
		snprintf(name, sizeof(name), "%u/status", pid);
		if (sys_procfs_read(s->proc_fd, name, &s->text, FILE_MAX) < 0)
			return 0;
		pid = (uint32_t)keyed(s->text.data, "PPid", 0, 10, 0);
		if (!pid)
			return 0;
		r = sys_scan_process(s, pid, pid, false);
		r = r == -ESRCH ? 0 : r;
	}
	return r;
}

int sys_scan_all(struct scan *s)
{
	_cleanup_(closedirp) DIR *dir = io_opendir(s->proc_fd, ".");
	uint32_t pid;
	int r = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (pid = next_number(dir))) {
		r = sys_scan_process(s, pid, 0, true);
		r = r == -ESRCH ? 0 : r;
	}
	return r;
}

struct scan *sys_scan_new(const char *host_root, scan_fn fn, void *ctx)
{
	struct scan *s = calloc(1, sizeof(*s));
	char path[PATH_MAX];

	if (!s)
		return NULL;
	snprintf(path, sizeof(path), "%s/proc", host_root);
	s->fn = fn;
	s->ctx = ctx;
	map_init(&s->sockets, sizeof(uint64_t), sizeof(struct scan_socket));
	map_init(&s->spaces, sizeof(uint64_t), sizeof(uint8_t));
	s->host_root = strdup(host_root);
	s->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd >= 0 && s->host_root)
		return s;
	sys_scan_free(s);
	return NULL;
}

void sys_scan_free(struct scan *s)
{
	if (!s)
		return;
	cleanup_close(&s->proc_fd);
	free(s->host_root);
	params_out_fini(&s->out);
	buf_fini(&s->text);
	buf_fini(&s->more);
	buf_fini(&s->names);
	map_fini(&s->sockets);
	map_fini(&s->spaces);
	free(s);
}
