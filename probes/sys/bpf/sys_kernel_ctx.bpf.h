/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Kernel state of a call beyond its arguments: the file or socket behind a descriptor, the process after exec and
 * clone. It comes from kernel structures, which no process can change in between.
 *
 * Types carry the suffix ___sys and only the fields that are read here; CO-RE relocates them.
 */
#ifndef SYS_KERNEL_CTX_BPF_H
#define SYS_KERNEL_CTX_BPF_H

#include "bpf/ident_file.bpf.h"
#include "bpf/path.bpf.h"
#include "probes/sys/bpf/sys_mm.bpf.h"
#include "probes/sys/bpf/sys_fetch.bpf.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define PIDTYPE_PGID 2
#define PIDTYPE_SID 3
#define RLIMIT_NOFILE 7
#define PROC_ARGS_CAP 4096
#define NSFS_MAGIC 0x6e736673

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___sys {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

/* Since 6.11. */
struct inode___times {
	__s64 i_mtime_sec, i_ctime_sec;
	__u32 i_mtime_nsec, i_ctime_nsec;
};

struct file___sys {
	struct inode___sys *f_inode;
	void *private_data;
};

struct sockaddr_un___sys {
	__u16 sun_family;
	char sun_path[108];
};

struct unix_address___sys {
	int len;
	struct sockaddr_un___sys name[1];
};

struct sock___sys {
	struct sock_common __sk_common;
	__u16 sk_type, sk_protocol;
	__u32 sk_ack_backlog, sk_max_ack_backlog;
};

struct unix_sock___sys {
	struct unix_address___sys *addr;
	struct sock___sys *peer;
};

struct socket___sys {
	struct sock___sys *sk;
};

struct mm_struct___sys {
	unsigned long arg_start, arg_end, env_start, env_end;
	struct file *exe_file;
};

struct rlimit___sys {
	unsigned long rlim_cur;
};

struct tty_driver___sys {
	int major, minor_start;
};

struct tty_struct___sys {
	struct tty_driver___sys *driver;
	int index;
};

struct signal_struct___sys {
	struct pid *pids[4];
	struct rlimit___sys rlim[16];
	struct tty_struct___sys *tty;
};

/* 64 bits in all versions; two 32-bit words before 6.3. */
struct kernel_cap___sys {
	__u64 val;
};

struct cred___sys {
	kuid_t euid;
	kgid_t egid;
	struct kernel_cap___sys cap_inheritable, cap_permitted, cap_effective;
};

struct fs_struct___sys {
	struct path root, pwd;
};

struct task_struct___sys {
	struct mm_struct___sys *mm;
	struct signal_struct___sys *signal;
	struct fs_struct___sys *fs;
	const struct cred___sys *cred;
};

struct task_struct___audit {
	kuid_t loginuid;
};

struct hlist_bl_node___file {
	void *pprev;
};

struct dentry___file {
	struct hlist_bl_node___file d_hash;
	struct dentry___file *d_parent;
};

struct proc_ns_operations___file {
	const char *name;
};

struct ns_common___file {
	struct proc_ns_operations___file *ops;
};

struct super_block___file {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode___file {
	unsigned short i_mode;
	__u32 i_rdev, i_generation;
	unsigned long i_ino;
	struct super_block___file *i_sb;
	void *i_private;
};

struct path___file {
	struct vfsmount *mnt;
	struct dentry___file *dentry;
};

struct file___file {
	struct path___file f_path;
	struct inode___file *f_inode;
	unsigned int f_flags;
};

#pragma clang attribute pop

static __always_inline struct file___sys *file_of(__u32 fd)
{
	return (void *)ident_file_of_fd((struct task_struct *)bpf_get_current_task(), fd, false);
}

static __always_inline struct sock___sys *sock_of(__u32 fd)
{
	struct file___sys *file = file_of(fd);
	struct socket___sys *sock;

	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	sock = BPF_CORE_READ(file, private_data);
	return sock ? BPF_CORE_READ(sock, sk) : NULL;
}

static __always_inline void fill_inet(struct sys_sock *out, struct sock___sys *sk)
{
	__be32 l4 = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr), r4 = BPF_CORE_READ(sk, __sk_common.skc_daddr);

	out->lport = BPF_CORE_READ(sk, __sk_common.skc_num);
	out->rport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (out->family == AF_INET6) {
		BPF_CORE_READ_INTO(&out->laddr, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
		BPF_CORE_READ_INTO(&out->raddr, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
		return;
	}
	__builtin_memcpy(out->laddr, &l4, sizeof(l4));
	__builtin_memcpy(out->raddr, &r4, sizeof(r4));
}

static __always_inline void fill_unix(struct sys_sock *out, struct sock___sys *sk)
{
	struct unix_sock___sys *u = (void *)sk, *peer = (void *)BPF_CORE_READ(u, peer);
	struct unix_address___sys *addr = BPF_CORE_READ(u, addr);
	char *name;

	out->kernel_addr = (__u64)sk;
	out->peer_addr = (__u64)peer;
	if (!addr && peer)
		addr = BPF_CORE_READ(peer, addr);
	if (!addr || BPF_CORE_READ(addr, len) <= 2)
		return;
	name = (char *)addr + bpf_core_field_offset(struct unix_address___sys, name) + 2;
	bpf_probe_read_kernel_str(out->path, sizeof(out->path), name);
	if (!out->path[0]) {
		out->path[0] = '@';
		bpf_probe_read_kernel_str(out->path + 1, sizeof(out->path) - 1, name + 1);
	}
}

static __always_inline void fill_sock(struct sys_sock *out, struct sock___sys *sk)
{
	__builtin_memset(out, 0, sizeof(*out));
	out->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	out->type = BPF_CORE_READ(sk, sk_type);
	out->proto = BPF_CORE_READ(sk, sk_protocol);
	out->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	out->cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
	out->queue_len = BPF_CORE_READ(sk, sk_ack_backlog);
	out->queue_max = BPF_CORE_READ(sk, sk_max_ack_backlog);
	if (out->family == AF_INET || out->family == AF_INET6)
		fill_inet(out, sk);
	else if (out->family == AF_UNIX)
		fill_unix(out, sk);
}

__noinline int ctx_sock(__u32 arg, __u32 fd)
{
	struct sys_scratch *s = my_scratch();
	struct sock___sys *sk = sock_of(fd);
	struct sys_sock *out;

	if (!s || !sk || chunk_begin(arg, SYS_CHUNK_SOCK))
		return 0;
	out = scratch_at(s, s->off);
	fill_sock(out, sk);
	s->off += sizeof(*out);
	return chunk_end(0);
}

__noinline int ctx_file(__u32 arg, __u32 fd)
{
	struct sys_scratch *s = my_scratch();
	struct file___sys *file = file_of(fd);
	struct sys_file *out;

	if (!s || !file || chunk_begin(arg, SYS_CHUNK_FILE))
		return 0;
	out = scratch_at(s, s->off);
	out->ino = BPF_CORE_READ(file, f_inode, i_ino);
	out->dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	out->mode = BPF_CORE_READ(file, f_inode, i_mode);
	s->off += sizeof(*out);
	return chunk_end(0);
}

/* ---- the process ---- */

static __always_inline __u32 pid_in_ns(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid up = { 0 };

	if (!pid)
		return 0;
	bpf_core_read(&up, sizeof(up), &pid->numbers[level & 31]);
	return up.nr;
}

static __always_inline __u32 pid_global(struct pid *pid)
{
	return BPF_CORE_READ(pid, numbers[0].nr);
}

/* Encoding of st_rdev in stat(2): the upper minor bits are above the major number. */
static __always_inline __u32 tty_number(struct tty_struct___sys *tty)
{
	__u32 major, minor;

	if (!tty)
		return 0;
	major = BPF_CORE_READ(tty, driver, major);
	minor = BPF_CORE_READ(tty, driver, minor_start) + BPF_CORE_READ(tty, index);
	return (minor & 0xff) | major << 8 | (minor & ~0xffu) << 12;
}

static __always_inline void fill_memory(struct sys_proc *out, struct task_struct___sys *task)
{
	mm_read(task, &out->maj_faults, &out->min_faults, &out->vm_size_kb, &out->vm_rss_kb, &out->vm_swap_kb);
}

static __always_inline void fill_ids(struct sys_proc *out, struct task_struct___sys *me)
{
	struct task_struct *task = (void *)me;
	struct task_struct___audit *audit = (void *)me;
	const struct cred___sys *cred = BPF_CORE_READ(me, cred);

	out->ppid = BPF_CORE_READ(task, real_parent, tgid);
	out->pgid = pid_global(BPF_CORE_READ(me, signal, pids[PIDTYPE_PGID]));
	out->sid = pid_global(BPF_CORE_READ(me, signal, pids[PIDTYPE_SID]));
	out->vtid = pid_in_ns(BPF_CORE_READ(task, thread_pid));
	out->vpid = pid_in_ns(BPF_CORE_READ(task, group_leader, thread_pid));
	if (BPF_CORE_READ(task, thread_pid, level))
		out->flags |= SYS_PROC_IN_PIDNS;
	out->uid = BPF_CORE_READ(me, cred, euid.val);
	out->gid = BPF_CORE_READ(me, cred, egid.val);
	out->loginuid = ~0u;
	if (bpf_core_field_exists(audit->loginuid))
		out->loginuid = BPF_CORE_READ(audit, loginuid.val);
	out->tty = tty_number(BPF_CORE_READ(me, signal, tty));
	out->fd_limit = BPF_CORE_READ(me, signal, rlim[RLIMIT_NOFILE].rlim_cur);
	BPF_CORE_READ_INTO(&out->cap_inheritable, cred, cap_inheritable);
	BPF_CORE_READ_INTO(&out->cap_permitted, cred, cap_permitted);
	BPF_CORE_READ_INTO(&out->cap_effective, cred, cap_effective);
	BPF_CORE_READ_INTO(&out->comm, task, comm);
}

static __always_inline void fill_exe(struct sys_proc *out, struct task_struct___sys *task)
{
	struct file *exe = BPF_CORE_READ(task, mm, exe_file);
	struct inode___sys *inode = (void *)BPF_CORE_READ(exe, f_inode);
	struct inode___times *times = (void *)inode;

	if (!inode)
		return;
	out->exe_ino = BPF_CORE_READ(inode, i_ino);
	if (!bpf_core_field_exists(times->i_mtime_sec))
		return;
	out->exe_mtime_ns = BPF_CORE_READ(times, i_mtime_sec) * 1000000000ull + BPF_CORE_READ(times, i_mtime_nsec);
	out->exe_ctime_ns = BPF_CORE_READ(times, i_ctime_sec) * 1000000000ull + BPF_CORE_READ(times, i_ctime_nsec);
}

/* ---- its strings: each function adds one to the open chunk and says how long it is ---- */

/* @which: 0 = executable, 1 = working directory, 2 = s->ask. Bit 15 of the result: the root was not reached. */
__noinline int ctx_path(__u32 which)
{
	struct sys_scratch *s = my_scratch();
	struct task_struct___sys *me = (void *)bpf_get_current_task();
	struct file *exe;
	struct path *path;
	bool rooted = false;
	__u32 n;

	if (!s || scratch_full(s))
		return 0;
	if (which == 1) {
		path = &BPF_CORE_READ(me, fs)->pwd;
	} else {
		exe = which ? (void *)s->ask.addr : BPF_CORE_READ(me, mm, exe_file);
		if (!exe)
			return 0;
		path = &exe->f_path;
	}
	n = path_parts(path, (void *)me, scratch_at(s, s->off), false, &rooted) & (2 * PATH_BYTES - 1);
	s->off += n;
	return n | (rooted ? 0 : 1u << 15);
}

/* Reads user memory of the new program. Bit 15 of the result: truncated. */
__noinline int ctx_user(__u64 start, __u64 end)
{
	struct sys_scratch *s = my_scratch();
	__u64 len = end - start;
	__u32 cut = 0;

	if (!s || scratch_full(s) || end <= start)
		return 0;
	if (len > PROC_ARGS_CAP) {
		len = PROC_ARGS_CAP;
		cut = 1u << 15;
	}
	barrier_var(len);
	if (len > PROC_ARGS_CAP || bpf_probe_read_user(scratch_at(s, s->off), len, (void *)start))
		return 0;
	s->off += len;
	return len | cut;
}

__noinline int ctx_name(__u64 addr)
{
	struct sys_scratch *s = my_scratch();
	long n;

	if (!s || scratch_full(s))
		return 0;
	n = bpf_probe_read_user_str(scratch_at(s, s->off), SYS_PATH_BYTES, (void *)addr);
	if (n <= 1)
		return 0;
	n &= 2 * SYS_PATH_BYTES - 1;
	s->off += n - 1;
	return n - 1;
}

static __always_inline struct sys_proc *proc_at(struct sys_scratch *s)
{
	return scratch_at(s, s->start + sizeof(struct sys_chunk));
}

/* @full: also the strings of a new program; its own name follows its environment. */
__noinline int ctx_proc(__u32 full)
{
	struct task_struct___sys *me = (void *)bpf_get_current_task();
	struct mm_struct___sys *mm = BPF_CORE_READ(me, mm);
	struct sys_scratch *s = my_scratch();
	struct sys_proc *out;
	int n;

	if (!s || chunk_begin(SYS_OF_TASK, SYS_CHUNK_PROC))
		return 0;
	out = proc_at(s);
	__builtin_memset(out, 0, sizeof(*out));
	s->off += sizeof(*out);
	fill_memory(out, me);
	fill_ids(out, me);
	fill_exe(out, me);
	out->cgroup_id = bpf_get_current_cgroup_id();
	n = ctx_path(0);
	out->exe_len = n & 0x7fff;
	out->flags |= n & 1 << 15 ? SYS_PROC_EXE_ROOTLESS : 0;
	n = ctx_path(1);
	out->cwd_len = n & 0x7fff;
	out->flags |= n & 1 << 15 ? SYS_PROC_CWD_ROOTLESS : 0;
	if (!mm)
		return chunk_end(0);
	if (full)
		out->name_len = ctx_name(BPF_CORE_READ(mm, env_end));
	n = ctx_user(BPF_CORE_READ(mm, arg_start), BPF_CORE_READ(mm, arg_end));
	out->args_len = n & 0x7fff;
	out->flags |= n & 1 << 15 ? SYS_PROC_ARGS_CUT : 0;
	if (full) {
		n = ctx_user(BPF_CORE_READ(mm, env_start), BPF_CORE_READ(mm, env_end));
		out->env_len = n & 0x7fff;
		out->flags |= n & 1 << 15 ? SYS_PROC_ENV_CUT : 0;
	}
	return chunk_end(0);
}

/* Address space sizes only. */
__noinline int ctx_memory(void)
{
	struct sys_scratch *s = my_scratch();

	if (!s || chunk_begin(SYS_OF_TASK, SYS_CHUNK_PROC))
		return 0;
	__builtin_memset(proc_at(s), 0, sizeof(struct sys_proc));
	s->off += sizeof(struct sys_proc);
	fill_memory(proc_at(s), (void *)bpf_get_current_task());
	return chunk_end(0);
}

/* ---- an open file, for its record ---- */

static __always_inline void file_state(struct sys_file_rec *r, const struct file___file *file)
{
	struct inode___file *inode = BPF_CORE_READ(file, f_inode);
	struct dentry___file *dentry = BPF_CORE_READ(file, f_path.dentry);

	r->ino = BPF_CORE_READ(inode, i_ino);
	r->ino_generation = BPF_CORE_READ(inode, i_generation);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->rdev = BPF_CORE_READ(inode, i_rdev);
	r->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	r->magic = BPF_CORE_READ(inode, i_sb, s_magic);
	r->open_flags = BPF_CORE_READ(file, f_flags);
	if (BPF_CORE_READ(dentry, d_parent) == dentry)
		r->flags |= SYS_FILE_ALONE;
	else if (!BPF_CORE_READ(dentry, d_hash.pprev))
		r->flags |= SYS_FILE_DELETED;
}

/* Files of namespaces are called by their kind. */
static __always_inline long ns_name(char *dst, const struct file___file *file)
{
	struct ns_common___file *ns = BPF_CORE_READ(file, f_inode, i_private);

	return bpf_probe_read_kernel_str(dst, 16, BPF_CORE_READ(ns, ops, name));
}

/* Fills the record in scratch memory for s->ask, its path included. Returns the bytes of the path. */
__noinline int file_read(void)
{
	struct sys_scratch *s = my_scratch();
	struct file___file *file;
	struct sys_file_rec *r;
	__u32 n;

	if (!ident_typed() || !s)
		return 0;
	r = (void *)s->data;
	file = (void *)s->ask.addr;
	file_state(r, file);
	if (s->ask.sk)
		fill_sock(&r->end, (void *)s->ask.sk);
	if (r->magic == NSFS_MAGIC)
		return ns_name((char *)(r + 1), file) & 31;
	s->off = sizeof(*r);
	n = ctx_path(2);
	if (n & 1 << 15)
		r->flags |= SYS_FILE_ROOTLESS;
	return n & (2 * PATH_BYTES - 1);
}

#endif
