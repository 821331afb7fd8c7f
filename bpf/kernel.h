/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Kernel types, maintained by hand and relocated by CO-RE: each struct has only the fields that programs use. Fields
 * that kernels renamed or moved have accessors in compat.bpf.h. UAPI structs (contexts, sockaddrs) that programs fill
 * are complete.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u16 __sum16;

typedef _Bool bool;
enum { false = 0, true = 1 };

#define NULL ((void *)0)

/* ---- UAPI ---- */

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LRU_PERCPU_HASH = 10,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_RDONLY_PROG = 1 << 7, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1, BPF_RB_CONS_POS = 2, BPF_RB_PROD_POS = 3 };
enum { BPF_F_USER_STACK = 1 << 8 };
enum { BPF_F_CLONE = 1 << 9, BPF_SK_STORAGE_GET_F_CREATE = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
#define BPF_F_CURRENT_CPU 0xffffffffULL

/* A definition in a header of several compile units of one object: bpftool's linker keeps one of each. */
#define UNIT_SHARED __attribute__((weak))

/* Maps; with sizes instead of types, or with inner maps, the declaration is written out. UNIT_MAP: as UNIT_SHARED. */
#define MAP_MEMBERS(map_type, entries, key_type, value_type) \
	__uint(type, BPF_MAP_TYPE_##map_type); \
	__uint(max_entries, entries); \
	__type(key, key_type); \
	__type(value, value_type)
#define MAP(name, map_type, entries, key_type, value_type) \
	struct { \
		MAP_MEMBERS(map_type, entries, key_type, value_type); \
	} name SEC(".maps")
#define MAP_FLAGS(name, map_type, flags, entries, key_type, value_type) \
	struct { \
		MAP_MEMBERS(map_type, entries, key_type, value_type); \
		__uint(map_flags, flags); \
	} name SEC(".maps")
#define UNIT_MAP(name, map_type, entries, key_type, value_type) \
	MAP(name, map_type, entries, key_type, value_type) UNIT_SHARED
#define UNIT_MAP_FLAGS(name, map_type, flags, entries, key_type, value_type) \
	MAP_FLAGS(name, map_type, flags, entries, key_type, value_type) UNIT_SHARED

/* A program that is one @call: rows of programs that share a function. @context: its parameter, with the type. */
#define PROGRAM(section, name, call, context) \
	SEC(section) \
	int name(context) \
	{ \
		return call; \
	}

enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, AF_PACKET = 17 };
enum { SOCK_STREAM = 1, SOCK_DGRAM = 2 };
enum {
	IPPROTO_HOPOPTS = 0,
	IPPROTO_ICMP = 1,
	IPPROTO_TCP = 6,
	IPPROTO_UDP = 17,
	IPPROTO_DCCP = 33,
	IPPROTO_ROUTING = 43,
	IPPROTO_FRAGMENT = 44,
	IPPROTO_ICMPV6 = 58,
	IPPROTO_DSTOPTS = 60,
	IPPROTO_SCTP = 132,
	IPPROTO_UDPLITE = 136,
};
enum {
	TCP_ESTABLISHED = 1, TCP_SYN_SENT, TCP_SYN_RECV, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_TIME_WAIT, TCP_CLOSE,
	TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_LISTEN, TCP_CLOSING, TCP_NEW_SYN_RECV,
};

/* Context of cgroup/sock_create, sock_release and post_bind programs. */
struct bpf_sock {
	__u32 bound_dev_if, family, type, protocol, mark, priority;
	__u32 src_ip4;		/* network order, like src_ip6 */
	__u32 src_ip6[4];
	__u32 src_port;		/* host order */
	__be16 dst_port;
	__u32 dst_ip4, dst_ip6[4], state;
	__s32 rx_queue_mapping;
};

/* Context of sockops programs, up to the last field in use. */
struct bpf_sock_ops {
	__u32 op;		/* BPF_SOCK_OPS_* */
};
enum { BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5 };

/* Context of tc programs, up to the last field in use. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;		/* network order */
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;	/* network order */
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5];
	__u32 hash;
	__u32 tc_classid;
	__u32 data;
	__u32 data_end;
	__u32 unread[15];	/* napi_id to data_meta */
	__u64 unread_more[3];	/* flow_keys to gso_segs */
	struct bpf_sock *sk;
};

/* Context of XDP programs, up to the last field in use. */
struct xdp_md {
	__u32 data, data_end;
};

/* Result of bpf_tcp_sock(), up to the last field in use. */
struct bpf_tcp_sock {
	__u32 snd_cwnd;
	__u32 srtt_us;		/* eighths of a microsecond */
};

/* Registers of the interrupted context, as perf_event programs see them. */
#if defined(__TARGET_ARCH_x86)
struct bpf_user_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct bpf_user_regs {
	unsigned long regs[31], sp, pc, pstate;
};
#endif

/* Context of perf_event programs. */
struct bpf_perf_event_data {
	struct bpf_user_regs regs;
	__u64 sample_period;
	__u64 addr;
};

/* ---- kernel structs, CO-RE ---- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct { unsigned int val; } kuid_t;
typedef struct { unsigned int val; } kgid_t;
typedef struct { int counter; } atomic_t;
typedef struct { __s64 counter; } atomic64_t;
typedef struct { struct net *net; } possible_net_t;

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

/* Since 5.12. */
struct net___plain {
	__u64 net_cookie;
};

/* Before. */
struct net___atomic {
	atomic64_t net_cookie;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct pid_namespace {
	unsigned int level;
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
	struct pid_namespace *pid_ns_for_children;
	struct net *net_ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct cred {
	kuid_t uid, euid;
	kgid_t gid, egid;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fs_struct {
	struct path root;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	unsigned long arg_start, arg_end;
	struct file *exe_file;
	mm_context_t context;
};

struct signal_struct {
	atomic_t live;
	unsigned int flags;
	int group_exit_code;
};

struct linux_binprm {
	struct file *file;
	const char *filename, *interp;
};

/* Registers of a system call. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp, bx, r10, r9, r8, cx, dx, si, di;
	unsigned long orig_ax;	/* number of the call */
	unsigned long ip, sp;
};

struct thread_info {
	unsigned int status;	/* TS_* */
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc;
	__u64 orig_x0;
	__s32 syscallno;
};

struct thread_info {
	unsigned long flags;	/* TIF_* */
	int preempt_count;
};
#endif

struct task_struct {
	struct thread_info thread_info;
	void *stack;		/* lowest address; NULL once freed */
	unsigned int flags;	/* PF_* */
	int pid, tgid;
	int exit_code;
	unsigned in_execve : 1;
	struct mm_struct *mm;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	__u64 self_exec_id;	/* execs of the process and its ancestors */
	const struct cred *cred;
	char comm[16];
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct css_set *cgroups;
};

struct vm_area_struct {
	struct mm_struct *vm_mm;
	unsigned long vm_start, vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;	/* network order */
	__u16 skc_num;		/* host order */
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned char skc_ipv6only : 1;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	atomic64_t skc_cookie;	/* 0 until first requested */
};

typedef struct {
	int owned;		/* a process holds the lock */
} socket_lock_t;

struct sock {
	struct sock_common __sk_common;
	socket_lock_t sk_lock;
	unsigned int sk_kern_sock : 1;
	__u16 sk_type, sk_protocol;
};

struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
};

struct socket {
	struct sock *sk;
};

struct list_head {
	struct list_head *next, *prev;
};

struct in_ifaddr {
	struct in_ifaddr *ifa_next;
	__be32 ifa_local;
};

struct in_device {
	struct in_ifaddr *ifa_list;
};

struct inet6_ifaddr {
	struct in6_addr addr;
	struct list_head if_list;
};

struct inet6_dev {
	struct list_head addr_list;
};

struct net_device {
	int ifindex;
	unsigned short type;	/* ARPHRD_* */
	unsigned short hard_header_len;
	possible_net_t nd_net;
	struct in_device *ip_ptr;
	struct inet6_dev *ip6_ptr;
	char name[16];
};

struct dst_entry {
	struct net_device *dev;
};

struct rtable {
	struct dst_entry dst;
	unsigned int rt_flags;	/* RTCF_* */
};

struct rt6_info {
	struct dst_entry dst;
	unsigned int rt6i_flags;	/* RTF_* */
};

struct sk_buff {
	struct net_device *dev;	/* in a union: skb_device() in compat.bpf.h */
	struct sock *sk;
	unsigned long _skb_refdst;	/* struct dst_entry *, bit 0: not counted */
	unsigned int len, data_len;
	__u16 mac_len;
	__be16 protocol;
	int skb_iif;
	__u32 hash;
	__u32 mark;
	__be16 vlan_proto;
	__u16 vlan_tci;
	__u16 transport_header, network_header, mac_header;
	unsigned int tail, end;	/* sk_buff_data_t: offsets from head where long has 64 bits */
	unsigned char *head, *data;
};

struct bpf_prog_aux {
	__u32 id;
};

struct bpf_prog {
	struct bpf_prog_aux *aux;
};

/* ---- iterator contexts ---- */

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;	/* NULL at the end, as in the contexts below */
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#pragma clang attribute pop

#endif
