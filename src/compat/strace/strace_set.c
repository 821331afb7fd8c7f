// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sets of strace's expressions. Which calls are in a class is a fact of strace 6.1, seen by asking it
 * (tests/e2e/compat/test_compat_strace.py).
 */
#include "compat/strace/strace_set.h"

#include <errno.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "probes/sys/sys_table.h"

/* By name, names separated by blanks. Calls of 32-bit programs have names of their own. */
static const struct {
	const char *name, *calls;
} classes[] = {
	{ "file", "access acct chdir chmod chown chown32 chroot creat execve execveat faccessat faccessat2 "
		  "fanotify_mark fchmodat fchmodat2 fchownat fsconfig fspick fstatat64 futimesat getcwd "
		  "getxattr getxattrat inotify_add_watch lchown lchown32 lgetxattr link linkat listxattr "
		  "listxattrat llistxattr lremovexattr lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat "
		  "mount mount_setattr move_mount name_to_handle_at newfstatat oldlstat oldstat oldumount open "
		  "open_tree openat openat2 pivot_root quotactl readlink readlinkat removexattr removexattrat "
		  "rename renameat renameat2 rmdir setxattr setxattrat stat stat64 statfs statfs64 statx "
		  "swapoff swapon symlink symlinkat truncate truncate64 umount umount2 unlink unlinkat uselib "
		  "utime utimensat utimes" },
	{ "process", "clone clone3 execve execveat exit exit_group fork kill pidfd_send_signal rt_sigqueueinfo "
		     "rt_tgsigqueueinfo tgkill tkill vfork wait4 waitid waitpid" },
	{ "network", "accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg "
		     "recvmsg send sendfile sendfile64 sendmmsg sendmsg sendto setsockopt shutdown socket socketcall "
		     "socketpair" },
	{ "signal", "io_uring_enter kill pause pidfd_send_signal rt_sigaction rt_sigpending rt_sigprocmask "
		    "rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 "
		    "rt_tgsigqueueinfo sgetmask sigaction sigaltstack signal signalfd signalfd4 sigpending "
		    "sigprocmask sigreturn sigsuspend ssetmask tgkill tkill" },
	{ "ipc", "ipc msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl "
		 "shmdt shmget" },
	{ "desc", "_llseek _newselect bpf cachestat close copy_file_range creat dup dup2 dup3 epoll_create "
		  "epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execveat "
		  "faccessat faccessat2 fadvise64 fadvise64_64 fallocate fanotify_init fanotify_mark fchdir "
		  "fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr "
		  "finit_module flistxattr flock fremovexattr fsconfig fsetxattr fsmount fsopen fspick fstat "
		  "fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getdents "
		  "getdents64 getxattrat inotify_add_watch inotify_init inotify_init1 inotify_rm_watch "
		  "io_uring_enter io_uring_register io_uring_setup ioctl kexec_file_load landlock_add_rule "
		  "landlock_create_ruleset landlock_restrict_self linkat listxattrat lseek memfd_create "
		  "mkdirat mknodat mmap mmap2 mount_setattr move_mount mq_getsetattr mq_notify mq_open "
		  "mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 name_to_handle_at "
		  "newfstatat old_mmap oldfstat open open_by_handle_at open_tree openat openat2 "
		  "perf_event_open pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 poll ppoll ppoll_time64 "
		  "pread64 preadv preadv2 process_madvise process_mrelease pselect6 pselect6_time64 pwrite64 "
		  "pwritev pwritev2 quotactl_fd read readahead readlinkat readv removexattrat renameat "
		  "renameat2 select sendfile sendfile64 setns setxattrat signalfd signalfd4 splice statx "
		  "symlinkat sync_file_range syncfs tee timerfd_create timerfd_gettime timerfd_gettime64 "
		  "timerfd_settime timerfd_settime64 unlinkat userfaultfd utimensat utimensat_time64 vmsplice "
		  "write writev" },
	{ "memory", "brk get_mempolicy io_destroy io_setup io_uring_register madvise map_shadow_stack mbind "
		    "migrate_pages mincore mlock mlock2 mlockall mmap mmap2 move_pages mprotect mremap mseal "
		    "msync munlock munlockall munmap old_mmap pkey_mprotect remap_file_pages set_mempolicy "
		    "set_mempolicy_home_node shmat shmdt" },
	{ "creds", "capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 "
		   "getresgid getresgid32 getresuid getresuid32 getuid getuid32 prctl setfsgid setfsgid32 setfsuid "
		   "setfsuid32 setgid setgid32 setgroups setgroups32 setregid setregid32 setresgid setresgid32 "
		   "setresuid setresuid32 setreuid setreuid32 setuid setuid32" },
	{ "stat", "oldstat stat stat64" },
	{ "lstat", "lstat lstat64 oldlstat" },
	{ "fstat", "fstat fstat64 fstatat64 newfstatat oldfstat statx" },
	{ "%stat", "fstat fstat64 fstatat64 lstat lstat64 newfstatat oldfstat oldlstat oldstat stat stat64 statx" },
	{ "statfs", "statfs statfs64" },
	{ "fstatfs", "fstatfs fstatfs64" },
	{ "%statfs", "fstatfs fstatfs64 statfs statfs64 ustat" },
	{ "clock", "adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime "
		   "clock_gettime64 clock_settime clock_settime64 gettimeofday settimeofday stime time" },
	{ "pure", "getegid getegid32 geteuid geteuid32 getgid getgid32 getpgrp getpid getppid gettid getuid "
		  "getuid32" },
};

/* ---- lists ---- */

/* One word of a list. */
struct item {
	const char *text;
	size_t len;
};

static bool next_item(const char **rest, struct item *ret)
{
	if (!**rest)
		return false;
	*ret = (struct item){ .text = *rest, .len = strcspn(*rest, ",") };
	*rest += ret->len + ((*rest)[ret->len] == ',');
	return true;
}

static bool item_is(struct item it, const char *word)
{
	return it.len == strlen(word) && !memcmp(it.text, word, it.len);
}

/* Takes leading exclamation marks; "none" is the inversion of "all". */
static bool take_inversion(const char **text)
{
	bool inverted = false;

	for (; **text == '!'; ++*text)
		inverted = !inverted;
	if (strcmp(*text, "none") != 0)
		return inverted;
	*text = "all";
	return !inverted;
}

/* ---- calls ---- */

static void add_call(struct strace_calls *s, unsigned i)
{
	if (i < STRACE_SET_CALLS)
		s->bits[i / 64] |= 1ull << i % 64;
}

static unsigned add_named(struct strace_calls *s, struct item it)
{
	unsigned found = 0;

	for (unsigned i = 0; i < sys_n_calls; i++) {
		if (!item_is(it, sys_calls[i].name))
			continue;
		add_call(s, i);
		found++;
	}
	return found;
}

/* A class, with or without its percent sign. */
static bool add_class(struct strace_calls *s, struct item it)
{
	static const char *const bare[] = { "file", "process", "network", "signal", "ipc", "desc", "memory" };
	bool percent = *it.text == '%', allowed = percent;

	if (percent)
		it = (struct item){ it.text + 1, it.len - 1 };
	for (size_t i = 0; !percent && i < ARRAY_SIZE(bare); i++)
		allowed = allowed || item_is(it, bare[i]);
	if (percent && item_is(it, "net"))
		it = (struct item){ "network", 7 };
	for (size_t i = 0; allowed && i < ARRAY_SIZE(classes); i++) {
		if (!item_is(it, classes[i].name))
			continue;
		for (const char *p = classes[i].calls; *p; p += strspn(p, " ")) {
			struct item name = { p, strcspn(p, " ") };

			add_named(s, name);
			p += name.len;
		}
		return true;
	}
	return false;
}

static int add_matching(struct strace_calls *s, struct item it, struct err *err)
{
	char pattern[256];
	regex_t re;

	if (!str_copy(pattern, sizeof(pattern), it.text + 1, it.len - 1))
		return err_set(err, -EINVAL, "-e trace=/REGEX: the expression is too long");
	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return err_set(err, -EINVAL, "-e trace=/%s: not a regular expression", pattern);
	for (unsigned i = 0; i < sys_n_calls; i++)
		if (!regexec(&re, sys_calls[i].name, 0, NULL, 0))
			add_call(s, i);
	regfree(&re);
	return 0;
}

static void add_all(struct strace_calls *s)
{
	for (unsigned i = 0; i < sys_n_calls; i++)
		add_call(s, i);
}

static int add_item(struct strace_calls *s, struct item it, struct err *err)
{
	bool may_fail = *it.text == '?';
	const char *at;

	if (may_fail)
		it = (struct item){ it.text + 1, it.len - 1 };
	if (it.len && *it.text == '/')
		return add_matching(s, it, err);
	at = memchr(it.text, '@', it.len);
	if (at && it.len - (size_t)(at - it.text) != 3)
		return err_set(err, -EINVAL, "%.*s: expected @64 or @32", (int)it.len, it.text);
	if (at)
		return err_set(err, -EINVAL, "%.*s: calls are not selected by ABI: use the filter syscall.abi=i386",
			       (int)it.len, it.text);
	if (item_is(it, "all"))
		add_all(s);
	else if (!add_class(s, it) && !add_named(s, it) && !may_fail)
		return err_set(err, -EINVAL, "invalid system call '%.*s'", (int)it.len, it.text);
	return 0;
}

int strace_set_calls(void *ret, const char *text, struct err *err)
{
	struct strace_calls s = { 0 }, all = { 0 };
	bool inverted = take_inversion(&text);
	struct item it;
	int r = 0;

	while (r >= 0 && next_item(&text, &it))
		r = it.len ? add_item(&s, it, err) : 0;
	if (r < 0)
		return r;
	add_all(&all);
	for (size_t i = 0; inverted && i < ARRAY_SIZE(s.bits); i++)
		s.bits[i] = all.bits[i] & ~s.bits[i];
	*(struct strace_calls *)ret = s;
	return 0;
}

bool strace_set_has_call(const struct strace_calls *s, unsigned abi, unsigned nr)
{
	const struct sys_call *call = sys_table_call_find(abi, nr);
	size_t i = call ? (size_t)(call - sys_calls) : STRACE_SET_CALLS;

	return i < STRACE_SET_CALLS && s->bits[i / 64] & 1ull << i % 64;
}

bool strace_set_is_all(const struct strace_calls *s)
{
	struct strace_calls all = { 0 };

	add_all(&all);
	return !memcmp(s, &all, sizeof(all));
}

int strace_set_names(const struct strace_calls *s, struct buf *out)
{
	const char *sep = "";

	for (unsigned i = 0; i < sys_n_calls && i < STRACE_SET_CALLS; i++) {
		if (!(s->bits[i / 64] & 1ull << i % 64))
			continue;
		buf_printf(out, "%s%s", sep, sys_calls[i].name);
		sep = ",";
	}
	return buf_error(out);
}

/* ---- signals ---- */

#define SIGNALS_END 64

/* 0 = no such signal. */
static unsigned signal_number(struct item it)
{
	const struct sys_xlat *names = sys_table_xlat_named("signum");
	char word[32];
	uint32_t n;

	if (!str_copy(word, sizeof(word), it.text, it.len))
		return 0;
	if (str_to_u32(word, 10, &n) == 0)
		return n < SIGNALS_END ? n : 0;
	for (uint32_t i = 0; i < names->x.n; i++) {
		const char *name = names->x.vals[i].name;

		if (!strcasecmp(name, word) || (!strncmp(name, "SIG", 3) && !strcasecmp(name + 3, word)))
			return (unsigned)names->x.vals[i].val;
	}
	return 0;
}

int strace_set_signals(void *ret, const char *text, struct err *err)
{
	bool inverted = take_inversion(&text);
	uint64_t bits = 0;
	struct item it;

	while (next_item(&text, &it)) {
		unsigned n = item_is(it, "all") ? 0 : signal_number(it);

		if (!n && !item_is(it, "all"))
			return err_set(err, -EINVAL, "invalid signal '%.*s'", (int)it.len, it.text);
		bits |= n ? 1ull << n : UINT64_MAX;
	}
	*(uint64_t *)ret = inverted ? ~bits : bits;
	return 0;
}

/* ---- descriptors ---- */

int strace_set_fds(void *fds, const char *text, struct err *err)
{
	struct strace_fds *ret = fds;
	bool inverted = take_inversion(&text);
	struct item it;

	ret->list.len = 0;
	ret->inverted = inverted;
	while (next_item(&text, &it)) {
		char word[16] = "";
		int r;

		if (item_is(it, "all")) {
			ret->inverted = !inverted;
			ret->list.len = 0;
			return 0;
		}
		r = vec_grow(&ret->list);
		if (it.len < sizeof(word))
			memcpy(word, it.text, it.len);
		if (r < 0 || str_to_u32(word, 10, &ret->list.items[ret->list.len]) < 0)
			return err_set(err, r < 0 ? r : -EINVAL, "invalid descriptor '%.*s'", (int)it.len, it.text);
		ret->list.len++;
	}
	return 0;
}

bool strace_set_has_fd(const struct strace_fds *s, int32_t fd)
{
	for (size_t i = 0; i < s->list.len; i++)
		if (s->list.items[i] == (uint32_t)fd)
			return !s->inverted;
	return s->inverted;
}

/* ---- words ---- */

int strace_set_words(const char *option, const char *text, const struct strace_word *words, unsigned *ret,
		     struct err *err)
{
	bool inverted = take_inversion(&text);
	unsigned all = 0, bits = 0;
	struct item it;

	for (const struct strace_word *w = words; w->name; w++)
		all |= w->bits;
	while (next_item(&text, &it)) {
		const struct strace_word *w = words;

		while (w->name && !item_is(it, w->name))
			w++;
		if (!w->name && !item_is(it, "all"))
			return err_set(err, -EINVAL, "--%s: %.*s is not one of its words", option, (int)it.len,
				       it.text);
		bits |= w->name ? w->bits : all;
	}
	*ret = inverted ? all & ~bits : bits;
	return 0;
}
