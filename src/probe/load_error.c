// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/load_error.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/rights.h"
#include "btf/kernel_btf.h"

#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END "-- END PROG LOAD LOG --"

/* lint-ok(mutable_globals): libbpf's callback has no context; it runs on the thread that loads */
static _Thread_local struct {
	char words[400];	/* first warning since load_error_begin() */
	char log[256];		/* the verifier's last reason */
} kept;

/* ---- keeping ---- */

/* Counters, printed after the reason. */
static bool is_statistics(const char *line)
{
	return !strncmp(line, "processed ", 10) || !strncmp(line, "verification time", 17) ||
	       !strncmp(line, "stack depth", 11) || !strncmp(line, LOG_END, strlen(LOG_END));
}

void load_error_last_line(const char *log, char *buf, unsigned cap)
{
	buf[0] = '\0';
	while (*log) {
		size_t len = strcspn(log, "\n");
		size_t n = MIN(len, (size_t)cap - 1);

		if (len && !is_statistics(log)) {
			memcpy(buf, log, n);
			buf[n] = '\0';
		}
		log += len + (log[len] == '\n');
	}
}

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;
	const char *log, *words;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, ap) < 0)
		return 0;
	log = strstr(text, LOG_BEGIN);
	if (log) {
		load_error_last_line(log + strlen(LOG_BEGIN), kept.log, sizeof(kept.log));
	} else if (!kept.words[0]) {
		words = strncmp(text, "libbpf: ", 8) ? text : text + 8;
		snprintf(kept.words, sizeof(kept.words), "%.*s", (int)strcspn(words, "\n"), words);
	}
	return 0;
}

void load_error_capture(void)
{
	libbpf_set_print(keep);
}

void load_error_begin(void)
{
	kept.words[0] = kept.log[0] = '\0';
}

/* ---- explaining ---- */

/* CAP_BPF (since 5.8) or CAP_SYS_ADMIN in the effective set. */
static bool may_load(void)
{
	return rights_effective() & (RIGHT(CAP_BPF) | RIGHT(CAP_SYS_ADMIN));
}

/* Capabilities that probes need and this process lacks, "CAP_BPF, CAP_PERFMON"; "" = none. */
static void missing_caps(char *buf, size_t cap)
{
	static const struct { uint64_t any; const char *name; } needed[] = {
		{ RIGHT(CAP_BPF) | RIGHT(CAP_SYS_ADMIN), "CAP_BPF" },
		{ RIGHT(CAP_PERFMON) | RIGHT(CAP_SYS_ADMIN), "CAP_PERFMON" },
		{ RIGHT(CAP_NET_ADMIN), "CAP_NET_ADMIN" },
	};
	uint64_t have = rights_effective();
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!(have & needed[i].any) && len < cap)
			len += (size_t)snprintf(buf + len, cap - len, "%s%s", len ? ", " : "", needed[i].name);
}

/* The first line of @path that begins with @prefix, in @buf; false = none. */
static bool find_line(const char *path, const char *prefix, char *buf, size_t cap)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	while (f && fgets(buf, (int)cap, f))
		if (!strncmp(buf, prefix, strlen(prefix)))
			return true;
	return false;
}

/* Known limits of a process that has all capabilities: ": a seccomp filter is active", "" without any. */
static void add_limits(char *buf, size_t cap)
{
	char line[128];
	unsigned long first, outside, n = 0;
	size_t len = 0;

	buf[0] = '\0';
	if (find_line("/proc/self/uid_map", "", line, sizeof(line)) &&
	    sscanf(line, "%lu %lu %lu", &first, &outside, &n) == 3 && n < UINT32_MAX)
		len += (size_t)snprintf(buf + len, cap - len, ": this is not the host's user namespace");
	if (find_line("/proc/self/status", "Seccomp:\t2", line, sizeof(line)))
		len += (size_t)snprintf(buf + len, cap - len, "%s a seccomp filter is active", len ? "," : ":");
	if (find_line("/sys/kernel/security/lockdown", "", line, sizeof(line)) && !strstr(line, "[none]"))
		snprintf(buf + len, cap - len, "%s kernel lockdown is on", len ? "," : ":");
}

/* @words: libbpf's or the verifier's, "" = none. */
static int not_permitted(struct err *err, int code, const char *words)
{
	char missing[64], limits[128];

	missing_caps(missing, sizeof(missing));
	if (*missing && geteuid() == 0)
		return err_set(err, code, "not permitted to load BPF: this root lacks %s; give the container or "
			       "service these capabilities", missing);
	if (*missing)
		return err_set(err, code, "not permitted to load BPF: run as root, or with %s", missing);
	add_limits(limits, sizeof(limits));
	if (!*limits && *words)
		return err_set(err, code, "the kernel does not permit this BPF program: %s", words);
	return err_set(err, code, "the kernel does not permit BPF programs of this kind here%s",
		       *limits ? limits : ", and does not say why");
}

/* The quoted name that follows @before in @text, or NULL; its length in *ret_len. */
static const char *quoted(const char *text, const char *before, size_t *ret_len)
{
	const char *p = strstr(text, before), *end;

	p = p ? strchr(p + strlen(before), '\'') : NULL;
	end = p ? strchr(p + 1, '\'') : NULL;
	if (!end)
		return NULL;
	*ret_len = (size_t)(end - p - 1);
	return p + 1;
}

/* "unknown func bpf_loop#181", since 6.9 "program of this type cannot use helper bpf_loop#181" */
static const char *helper_in(const char *log, size_t *ret_len)
{
	static const char *const before[] = { "unknown func ", "cannot use helper ", "invalid func " };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		const char *p = strstr(log, before[i]);

		if (p) {
			p += strlen(before[i]);
			*ret_len = strcspn(p, "# ");
			return p;
		}
	}
	return NULL;
}

static bool lacks_btf(const char *words)
{
	return strstr(words, "kernel BTF is missing") || strstr(words, "failed to find valid kernel BTF") ||
	       strstr(words, "Error loading vmlinux BTF");
}

int load_error_explain(struct err *err, int code, const char *words, const char *log)
{
	const char *name;
	size_t len;

	name = quoted(words, "failed to find kernel BTF type ID of", &len);
	if (name)
		return err_set(err, code, "this kernel has no %.*s", (int)len, name);
	if (lacks_btf(words))
		return err_set(err, code, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	name = helper_in(log, &len);
	if (name && !strncmp(name, "unknown#", 8))
		return err_set(err, code, "this kernel lacks a helper that the program calls (number %s)", name + 8);
	if (name)
		return err_set(err, code, "this kernel does not offer %.*s to programs of this kind", (int)len, name);
	if (strstr(log, "invalid CO-RE relocation") || strstr(log, "<invalid "))
		return err_set(err, code, "this kernel lacks a field or type that the program reads (%s)", log);
	if (code == -E2BIG)
		return err_set(err, code, "the program is too long for this kernel's verifier");
	if (code == -EPERM || (code == -EACCES && !*log))
		return not_permitted(err, code, *log ? log : words);
	name = quoted(words, "prog ", &len);
	if (name && *log)
		return err_set(err, code, "the verifier refused %.*s: %s", (int)len, name, log);
	return err_errno(err, code, "the kernel refused the program%s%s%s", *words ? " (" : "", words,
			 *words ? ")" : "");
}

int load_error_of_load(struct err *err, int code)
{
	if (lacks_btf(kept.words) && access(KERNEL_BTF, R_OK) < 0)
		return load_error_of_btf(err);
	return load_error_explain(err, code, kept.words, kept.log);
}

int load_error_of_cpus(struct err *err, int code)
{
	if (code == -ENOENT)
		return err_set(err, code, "cannot read /sys/devices/system/cpu/possible: sysfs is not mounted here "
			       "(mount -t sysfs sysfs /sys)");
	return err_errno(err, code, "cannot read /sys/devices/system/cpu/possible");
}

/* The kernel's own types are its first BTF object. EPERM: the list needs CAP_SYS_ADMIN, the object exists. */
static bool kernel_has_btf(void)
{
	uint32_t id;

	return bpf_btf_get_next_id(0, &id) == 0 || errno == EPERM;
}

static int hidden_btf(struct err *err, int code)
{
	const uint64_t needed = RIGHT(CAP_SYS_ADMIN) | RIGHT(CAP_SYS_CHROOT);

	if ((rights_effective() & needed) != needed)
		return err_set(err, code, "cannot read the kernel's types: " KERNEL_BTF " is hidden here; run with "
			       "CAP_SYS_ADMIN and CAP_SYS_CHROOT, or name a copy of the host's: --btf FILE");
	return err_set(err, code, "cannot read the kernel's types: " KERNEL_BTF " is hidden here; make it visible, "
		       "or name a copy of the host's: --btf FILE");
}

int load_error_of_btf(struct err *err)
{
	_cleanup_close_ int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	int code = fd < 0 ? -errno : 0;

	if (code == -ENOENT && access("/sys/kernel", F_OK) < 0)
		return err_set(err, code, "cannot read the kernel's types in " KERNEL_BTF ": sysfs is not mounted "
			       "here (mount -t sysfs sysfs /sys)");
	if (code == -ENOENT && kernel_has_btf())
		return hidden_btf(err, code);
	if (code == -ENOENT)
		return err_set(err, code, "this kernel has no BTF (" KERNEL_BTF "): it needs CONFIG_DEBUG_INFO_BTF");
	if (code < 0)
		return err_errno(err, code, "cannot read the kernel's types in " KERNEL_BTF);
	return err_set(err, -EINVAL, "libbpf cannot parse the kernel's types in " KERNEL_BTF);
}

/* Before Linux 5.11 maps count as locked memory; root without CAP_SYS_RESOURCE cannot raise its limit. */
int load_error_of_maps(struct err *err, int code, const char *what)
{
	struct rlimit lim;
	char limits[128];

	if (code != -EPERM && code != -EACCES)
		return err_errno(err, code, "cannot %s", what);
	add_limits(limits, sizeof(limits));
	if (code == -EPERM && may_load() && !*limits && getrlimit(RLIMIT_MEMLOCK, &lim) == 0 &&
	    lim.rlim_cur != RLIM_INFINITY)
		return err_set(err, code, "cannot %s: before Linux 5.11 it counts as locked memory, of which "
			       "%llu KiB are allowed; raise that (ulimit -l unlimited) or run with CAP_SYS_RESOURCE",
			       what, (unsigned long long)lim.rlim_cur / 1024);
	return not_permitted(err, code, "");
}
