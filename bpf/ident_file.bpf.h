/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Open files: from a descriptor of the current task to `struct file` to a number.
 *
 * The kernel's descriptor table is asked at each event, so nothing has to be known of the calls that filled it
 * (O_CLOEXEC, SCM_RIGHTS, pidfd_getfd, close_range). A number stands for one open file with one name. The kernel
 * reuses the address of a closed file at once, so a cell of the cache is believed only if the inode and its number,
 * the entry in the directory, the hash of its name and the operations agree as well.
 *
 * Cells are plain memory, because a look-up in a hash map costs as much as all the rest. Two CPUs may write one cell
 * at a time: its checksum tells a mixture.
 */
#ifndef BPF_IDENT_FILE_BPF_H
#define BPF_IDENT_FILE_BPF_H

#include "bpf/kernel.h"
#include "bpf/typed.bpf.h"
#include "sonde/ident_file_wire.h"
#include "sonde/ident_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define IDENT_FILE_SETS 4096	/* a power of two; old kernels limit all global variables to 4 MiB */
#define IDENT_FILE_WAYS 2
#define IDENT_FILE_CPU_BITS 13	/* of a number: the CPU that first saw the file */
#define IDENT_SPREAD 0x9e3779b97f4a7c15ull /* odd, its bits are even: Knuth's multiplicative hash */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr___ident {
	__u32 hash, len;
	const unsigned char *name;
};

struct hlist_bl_node___ident {
	void *pprev;
};

struct dentry___ident {
	struct qstr___ident d_name;
	struct hlist_bl_node___ident d_hash;	/* of the directory's entries: pprev is NULL once the name is gone */
};

struct path___ident {
	struct dentry___ident *dentry;
};

struct inode___ident {
	unsigned short i_mode;
	unsigned long i_ino;
};

struct file___ident {
	struct path___ident f_path;
	struct inode___ident *f_inode;
	const void *f_op;
	void *private_data;
};

struct sock_common___ident {
	unsigned short skc_family;
	__u32 skc_portpair; /* of both ends */
	__u64 skc_addrpair; /* IPv4 */
	unsigned long skc_flags;
	atomic64_t skc_cookie;
};

struct sock___ident {
	struct sock_common___ident __sk_common;
	__u16 sk_protocol;
};

struct socket___ident {
	struct sock___ident *sk;
};

struct unix_sock___ident {
	void *addr, *peer;
};

struct fdtable___ident {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct___ident {
	struct fdtable___ident *fdt;
};

struct task_struct___ident {
	struct files_struct___ident *files;
};

struct list_head___ident {
	void *next;
};

#pragma clang attribute pop

static __always_inline bool ident_typed(void)
{
	return HAS_TYPE(file) && TYPE_ID(inode) && TYPE_ID(dentry) && TYPE_ID(list_head) && TYPE_ID(socket) &&
	       TYPE_ID(sock) && TYPE_ID(unix_sock) && TYPE_ID(tcp_sock);
}

/*
 * The kernel's struct @id at @addr, as its flavour struct @id___ident. Only where ident_typed(). Once per object: to
 * the compiler it is a call.
 */
#define IDENT_AT(addr, id) ((struct id##___ident *)TYPED(addr, id))

#define IDENT_S_IFMT 0170000
#define IDENT_S_IFSOCK 0140000

struct ident_file_cell ident_file_cells[IDENT_FILE_SETS * IDENT_FILE_WAYS];

/* User space raises it when all files have to be reported again. */
__u32 ident_file_epoch = 1;

/* Per CPU: files numbered so far. */
MAP(ident_file_last, PERCPU_ARRAY, 1, __u32, __u64);

/*
 * An address as a number to compare and hash. The verifier forbids that with typed pointers and allows the
 * difference of two.
 */
#define IDENT_KEY(addr) ((__u64)(addr) - (__u64)&ident_file_epoch)

/* Open file behind @fd of @task, the current one. @typed, a constant: @task has its type. 0 = none. */
static __always_inline __u64 ident_file_of_fd(struct task_struct *task, __u32 fd, bool typed)
{
	struct task_struct___ident *me = (void *)task;
	struct fdtable___ident *fdt;
	__u64 slots, file = 0;

	if (typed && ident_typed()) {
		fdt = me->files->fdt;
		if (fd >= fdt->max_fds)
			return 0;
		/* the verifier follows no pointer to a pointer: the slot becomes the first member of a struct */
		slots = (__u64)fdt->fd;
		return (__u64)IDENT_AT(slots + 8ull * fd, list_head)->next;
	}
	fdt = BPF_CORE_READ(me, files, fdt);
	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return 0;
	slots = (__u64)BPF_CORE_READ(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), (void *)(slots + 8ull * fd));
	return file;
}

/* Changes when the socket is bound, connected or gets its peer. */
static __always_inline __u64 ident_sock_ends(const struct sock___ident *sk, __u32 family)
{
	const struct unix_sock___ident *unix_sk;

	if (family != AF_UNIX)
		return sk->__sk_common.skc_addrpair ^ sk->__sk_common.skc_portpair * IDENT_SPREAD;
	unix_sk = IDENT_AT(sk, unix_sock);
	return IDENT_KEY(unix_sk->peer) ^ IDENT_KEY(unix_sk->addr) << 1;
}

/* Cookie of the socket; one without a cookie, or of a family without them, has the inode of its file. */
static __always_inline __u64 ident_sock_id(const struct sock___ident *sk, __u32 family, __u64 ino)
{
	__u64 cookie = family == AF_INET || family == AF_INET6 ? sk->__sk_common.skc_cookie.counter : 0;

	return cookie ? cookie : SONDE_ID_SOCK_INODE | ino;
}

/*
 * Fills @ret for the file at @addr, not 0, and sets *ret_sock, zero before, to the number of its socket. Returns the
 * `struct sock`; NULL: not a socket.
 */
static __always_inline struct sock___ident *ident_file_look(__u64 addr, struct ident_file_look *ret, __u64 *ret_sock)
{
	const struct file___ident *file = IDENT_AT(addr, file);
	const struct inode___ident *inode = file->f_inode;
	const struct dentry___ident *dentry = file->f_path.dentry;
	__u64 ino = inode->i_ino, gone;
	struct sock___ident *sk = NULL;
	void *socket;
	__u32 family;

	ret->file = IDENT_KEY(addr);
	/* the address alone may be that of a closed pipe, reused with all the rest */
	ret->inode = IDENT_KEY(inode) ^ ino * IDENT_SPREAD;
	ret->dentry = IDENT_KEY(dentry);
	if ((inode->i_mode & IDENT_S_IFMT) == IDENT_S_IFSOCK) {
		socket = file->private_data;
		if (socket)
			sk = IDENT_AT(socket, socket)->sk;
	}
	if (sk) {
		family = sk->__sk_common.skc_family;
		ret->name = ident_sock_ends(sk, family);
		*ret_sock = ident_sock_id(sk, family, ino);
		return sk;
	}
	gone = !dentry->d_hash.pprev;
	ret->name = gone << 63 | (__u64)dentry->d_name.len << 32 | dentry->d_name.hash;
	/* [eventfd] and [timerfd] share an inode, have names without hash, and differ here */
	ret->name ^= IDENT_KEY(file->f_op);
	return NULL;
}

static __always_inline __u64 ident_file_check(const struct ident_file_look *l, __u64 number, __u32 epoch)
{
	return l->file ^ l->inode ^ (l->dentry << 1 | l->dentry >> 63) ^ l->name ^ number << 8 ^ epoch;
}

/* First cell of the set of file @key. */
static __always_inline struct ident_file_cell *ident_file_set(__u64 key)
{
	__u64 set = (key * IDENT_SPREAD) >> 52 & (IDENT_FILE_SETS - 1);

	return &ident_file_cells[set * IDENT_FILE_WAYS];
}
_Static_assert(IDENT_FILE_SETS == 1 << (64 - 52), "the shift leaves the set");

static __always_inline bool ident_file_agrees(const struct ident_file_cell *cell, const struct ident_file_look *l)
{
	return cell->look.file == l->file && cell->look.inode == l->inode && cell->look.dentry == l->dentry &&
	       cell->look.name == l->name && cell->epoch == ident_file_epoch &&
	       cell->check == ident_file_check(l, cell->number, cell->epoch);
}

/* The cell of an open file, or NULL: the file is new, or its cell is stale. */
static __always_inline struct ident_file_cell *ident_file_find(const struct ident_file_look *l)
{
	struct ident_file_cell *set = ident_file_set(l->file);

	if (ident_file_agrees(set, l))
		return set;
	return ident_file_agrees(set + 1, l) ? set + 1 : NULL;
}
_Static_assert(IDENT_FILE_WAYS == 2, "both cells of a set are compared");

/* Number for a new file, unique in this instance; 0 = none. */
static __always_inline __u64 ident_file_number(void)
{
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&ident_file_last, &zero);

	return last ? ++*last << IDENT_FILE_CPU_BITS | bpf_get_smp_processor_id() : 0;
}

/* Remembers a file that was reported: in the place of a stale one, else of the one with the lower number. */
static __always_inline void ident_file_put(const struct ident_file_look *l, __u64 number)
{
	struct ident_file_cell *set = ident_file_set(l->file), *cell = set + 1;

	if (set->look.file == l->file || set->epoch != ident_file_epoch ||
	    (set[1].look.file != l->file && set[1].epoch == ident_file_epoch && set->number < set[1].number))
		cell = set;
	cell->check = 0;
	cell->look = *l;
	cell->number = number;
	cell->epoch = ident_file_epoch;
	cell->sent_end = cell->received_end = 0;
	cell->check = ident_file_check(l, number, cell->epoch);
}

#endif
