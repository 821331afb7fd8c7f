/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reads memory that arguments point to into a scratch record. Unreadable memory is not an error: its chunk carries
 * SYS_CHUNK_F_FAULT and the record continues.
 *
 * The write position lives in scratch memory, not in a register, so that all paths through one step look alike to the
 * verifier and the states do not multiply.
 */
#ifndef SYS_FETCH_BPF_H
#define SYS_FETCH_BPF_H

#include "probes/sys/bpf/sys_call.bpf.h"
#include "probes/sys/bpf/sys_task.bpf.h"

#define SYS_DATA_BYTES 65536	/* chunk bytes of one record, a power of two */
#define SYS_PIECE_BYTES 16384	/* most bytes that one read adds, a power of two */
#define SYS_PATH_BYTES 4096
#define SYS_STRV_MAX 64		/* strings of one array */
#define SYS_IOV_MAX 32
#define SYS_MMSG_MAX 8	/* messages of sendmmsg() and recvmmsg() that are read */
#define SYS_ADDR_BYTES 128	/* sizeof(struct sockaddr_storage) */
#define SYS_MMSG_MAX 8		/* messages whose payload is read */

/* struct user_msghdr; i386 uses 4-byte words without padding. */
struct sys_msghdr {
	__u64 name;
	__u32 namelen, pad;
	__u64 iov, iovlen, control, controllen;
	__u32 flags, pad2;	/* pad2: msg_len of struct mmsghdr */
};

struct sys_msghdr32 {
	__u32 name, namelen, iov, iovlen, control, controllen, flags;
};

struct sys_scratch {
	struct sys_rec rec;
	__u8 data[SYS_DATA_BYTES + SYS_PIECE_BYTES];
	__u32 off;		/* next free byte of data */
	__u32 start;		/* start of the open chunk */
	__u32 payload;		/* payload bytes left of sys_snaplen */
	__u32 iov;		/* offset of the copy of a vector */
	__u64 iov_left;		/* valid bytes of the vector that were not read yet */
	struct {
		__u32 at, n;	/* next entry of a directory, entries before it */
	} dirents;
	struct sys_msghdr msg;	/* of sendmsg() and the like: too large for the stack of seven functions */
	struct sys_msghdr32 msg32;
	struct sys_file_ask { /* a call whose identity to find, and a file to report */
		__u64 now_ns, start_ns;
		__u32 tgid, tid;
		__u64 task;		    /* address of the caller */
		__u64 ret;		    /* result of the call */
		__u32 flags;		    /* MSG_* of a receiving call */
		__u64 kept_file, kept_sock; /* of the call's descriptor at its entry */
		__u64 addr, sk;	/* addresses of the file, and of its socket (0 = none) */
		__u64 number;
	} ask;
	struct sonde_ident id;	/* of the record that follows (identify()) */
};

MAP(sys_scratch, ARRAY, 1 /* user space sets the number of possible CPUs */, __u32, struct sys_scratch);

const volatile __u32 sys_snaplen = 0;	/* payload bytes of one record, at most SYS_PIECE_BYTES */
const volatile __u32 sys_str_bytes = SYS_PATH_BYTES; /* longest string */

static __always_inline struct sys_scratch *my_scratch(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&sys_scratch, &cpu);
}

static __always_inline void *scratch_at(struct sys_scratch *s, __u32 off)
{
	return s->data + (off & (SYS_DATA_BYTES - 1));
}

/* Is there no room for another piece? A full record gets no more chunks. */
static __always_inline bool scratch_full(const struct sys_scratch *s)
{
	return s->off > SYS_DATA_BYTES - SYS_PIECE_BYTES - 64;
}

static __always_inline void chunk_flag(struct sys_scratch *s, __u16 flags)
{
	struct sys_chunk *c = scratch_at(s, s->start);

	c->flags |= flags;
	if (flags & SYS_CHUNK_F_FAULT)
		s->rec.flags |= SYS_F_FAULT;
}

/*
 * The steps below are global functions, so the verifier checks each once, however often it is called. They take
 * numbers only and look up the scratch memory themselves.
 */

/* 0, or -1 without room. */
__noinline int chunk_begin(__u32 arg, __u32 what)
{
	struct sys_scratch *s = my_scratch();
	struct sys_chunk *c;

	if (!s || scratch_full(s))
		return -1;
	s->start = s->off;
	c = scratch_at(s, s->off);
	c->arg = arg;
	c->what = what;
	c->flags = 0;
	c->len = 0;
	s->off += sizeof(*c);
	return 0;
}

/* Zeroes the padding up to the next chunk, so that no old bytes leave the kernel. */
__noinline int chunk_end(__u32 flags)
{
	struct sys_scratch *s = my_scratch();
	struct sys_chunk *c;

	if (!s)
		return -1;
	chunk_flag(s, flags);
	c = scratch_at(s, s->start);
	c->len = s->off - s->start - sizeof(*c);
	*(__u64 *)scratch_at(s, s->off) = 0;
	s->off = (s->off + 7) & ~7u;
	return 0;
}

/* Reads @len bytes, at most @cap (up to SYS_PIECE_BYTES), into the open chunk. 0, or -1 on a fault. */
__noinline int chunk_read(__u64 addr, __u32 len, __u32 cap)
{
	struct sys_scratch *s = my_scratch();

	if (!s || scratch_full(s))
		return -1;
	if (len > cap) {
		len = cap;
		chunk_flag(s, SYS_CHUNK_F_CUT);
	}
	barrier_var(len);
	if (!len || len > SYS_PIECE_BYTES)
		return 0;
	if (bpf_probe_read_user(scratch_at(s, s->off), len, (void *)addr)) {
		chunk_flag(s, SYS_CHUNK_F_FAULT);
		return -1;
	}
	s->off += len;
	return 0;
}

/* Reads a string shorter than @cap. @nul: keeps its NUL. 0, or -1 on a fault. */
__noinline int chunk_read_str(__u64 addr, __u32 cap, __u32 nul)
{
	struct sys_scratch *s = my_scratch();
	long n;

	if (!s || scratch_full(s))
		return -1;
	barrier_var(cap);
	if (cap > SYS_PATH_BYTES)
		cap = SYS_PATH_BYTES;
	n = bpf_probe_read_user_str(scratch_at(s, s->off), cap, (void *)addr);
	if (n <= 0) {
		chunk_flag(s, SYS_CHUNK_F_FAULT);
		return -1;
	}
	if (n >= cap)
		chunk_flag(s, SYS_CHUNK_F_CUT);
	s->off += (n & (2 * SYS_PATH_BYTES - 1)) - !nul;
	return 0;
}

static __always_inline __u64 user_word(__u64 addr, bool compat, bool *ret_fault)
{
	__u64 v = 0;
	long r = compat ? bpf_probe_read_user(&v, 4, (void *)addr) : bpf_probe_read_user(&v, 8, (void *)addr);

	*ret_fault = r != 0;
	return v;
}

/* ---- one function for each way to read; @addr is not NULL ---- */

__noinline int read_mem(__u32 arg, __u32 what, __u64 addr, __u32 len, __u32 cap)
{
	if (chunk_begin(arg, what))
		return 0;
	chunk_read(addr, len, cap);
	return chunk_end(0);
}

/* Records the address itself. */
__noinline int read_addr(__u32 arg, __u64 addr)
{
	struct sys_scratch *s = my_scratch();

	if (!s || chunk_begin(arg, SYS_CHUNK_MEM))
		return 0;
	*(__u64 *)scratch_at(s, s->off) = addr;
	s->off += sizeof(addr);
	return chunk_end(0);
}

#define DIRENTS_BYTES 65536	/* of the buffer that are walked */
#define DIRENTS_MOST 2048
#define DIRENTS_STEP 64

/* Counts up to DIRENTS_STEP more entries in s->dirents. 0, or -1 behind the last one. */
__noinline int count_dirents(__u64 addr, __u32 bytes)
{
	struct sys_scratch *s = my_scratch();
	__u32 at, n;

	if (!s)
		return -1;
	at = s->dirents.at;
	for (n = 0; n < DIRENTS_STEP; n++) {
		__u16 len = 0;

		if (at >= bytes || bpf_probe_read_user(&len, sizeof(len), (void *)addr + at) || !len)
			break;
		at += len;
	}
	s->dirents.at = at;
	s->dirents.n += n;
	return n == DIRENTS_STEP ? 0 : -1;
}

/* Counts the entries in @bytes, up to DIRENTS_MOST; @addr: d_reclen of the first one. */
__noinline int read_dirents(__u32 arg, __u64 addr, __u32 bytes)
{
	struct sys_scratch *s = my_scratch();

	if (!s || chunk_begin(arg, SYS_CHUNK_MEM))
		return 0;
	s->dirents.at = s->dirents.n = 0;
	for (int i = 0; i < DIRENTS_MOST / DIRENTS_STEP; i++)
		if (count_dirents(addr, bytes))
			break;
	*(__u32 *)scratch_at(s, s->off) = s->dirents.n;
	s->off += sizeof(s->dirents.n);
	return chunk_end(s->dirents.at < bytes ? SYS_CHUNK_F_CUT : 0);
}

__noinline int read_str(__u32 arg, __u64 addr)
{
	if (chunk_begin(arg, SYS_CHUNK_STR))
		return 0;
	chunk_read_str(addr, sys_str_bytes, 0);
	return chunk_end(0);
}

__noinline int read_strv(__u32 arg, __u64 addr, __u32 word)
{
	__u32 flags = 0;

	if (chunk_begin(arg, SYS_CHUNK_STRV))
		return 0;
	for (int i = 0; i < SYS_STRV_MAX; i++) {
		bool fault;
		__u64 str = user_word(addr + i * (word & 8 ? 8 : 4), !(word & 8), &fault);

		if (fault) {
			flags = SYS_CHUNK_F_FAULT;
			break;
		}
		if (!str)
			break;
		if (i == SYS_STRV_MAX - 1)
			flags = SYS_CHUNK_F_CUT;
		if (chunk_read_str(str, SYS_PATH_BYTES / 4, 1))
			break;
	}
	return chunk_end(flags);
}

/* Payload, at most the rest of the snap length. */
__noinline int read_data(__u32 arg, __u64 addr, __u64 len)
{
	struct sys_scratch *s = my_scratch();
	__u32 take;

	if (!s)
		return 0;
	take = len > s->payload ? s->payload : len;
	if (!take || chunk_begin(arg, SYS_CHUNK_DATA))
		return 0;
	s->payload -= take;
	chunk_read(addr, take, SYS_PIECE_BYTES);
	return chunk_end(take < len ? SYS_CHUNK_F_CUT : 0);
}

/* Entry @i of the vector copied to s->iov. -1 after the last valid byte. */
__noinline int read_iov_piece(__u32 i, __u32 compat)
{
	struct sys_scratch *s = my_scratch();
	__u64 base, len;
	__u32 take;

	if (!s || !s->iov_left || !s->payload)
		return -1;
	if (compat) {
		base = *(__u32 *)scratch_at(s, s->iov + i * 8);
		len = *(__u32 *)scratch_at(s, s->iov + i * 8 + 4);
	} else {
		base = *(__u64 *)scratch_at(s, s->iov + i * 16);
		len = *(__u64 *)scratch_at(s, s->iov + i * 16 + 8);
	}
	if (len > s->iov_left)
		len = s->iov_left;
	s->iov_left -= len;
	take = len > s->payload ? s->payload : len;
	s->payload -= take;
	if (take < len)
		chunk_flag(s, SYS_CHUNK_F_CUT);
	return chunk_read(base, take, SYS_PIECE_BYTES);
}

/* The vector, then the first @bytes bytes that it points to. */
__noinline int read_iov(__u32 arg, __u64 addr, __u64 count, __u64 bytes, __u32 compat)
{
	struct sys_scratch *s = my_scratch();

	if (count > SYS_IOV_MAX)
		count = SYS_IOV_MAX;
	if (!s || !count || chunk_begin(arg, SYS_CHUNK_IOV))
		return 0;
	s->iov = s->off;
	s->iov_left = bytes;
	if (chunk_read(addr, (__u32)count * (compat ? 8 : 16), 1024))
		return chunk_end(0);
	chunk_end(0);
	if (!s->payload || !bytes || chunk_begin(arg, SYS_CHUNK_DATA))
		return 0;
	for (__u32 i = 0; i < SYS_IOV_MAX; i++)
		if (i >= count || read_iov_piece(i, compat))
			break;
	return chunk_end(0);
}

static __always_inline void msghdr_widen(struct sys_msghdr *m, const struct sys_msghdr32 *c)
{
	m->name = c->name;
	m->namelen = c->namelen;
	m->iov = c->iov;
	m->iovlen = c->iovlen;
	m->control = c->control;
	m->controllen = c->controllen;
	m->flags = c->flags;
	m->pad = 0;
}

#define MSG_HEADER_ONLY (1ull << 63)	/* in place of a byte count */

/* @len: msg_len of struct mmsghdr, else 0. */
__noinline int read_msg(__u32 arg, __u64 addr, __u64 bytes, __u32 compat, __u32 len)
{
	struct sys_scratch *s = my_scratch();
	long r;

	if (!s || chunk_begin(arg, SYS_CHUNK_MSGHDR))
		return 0;
	r = compat ? bpf_probe_read_user(&s->msg32, sizeof(s->msg32), (void *)addr) :
		     bpf_probe_read_user(&s->msg, sizeof(s->msg), (void *)addr);
	if (r)
		return chunk_end(SYS_CHUNK_F_FAULT);
	if (compat)
		msghdr_widen(&s->msg, &s->msg32);
	s->msg.pad2 = len;
	__builtin_memcpy(scratch_at(s, s->off), &s->msg, sizeof(s->msg));
	s->off += sizeof(s->msg);
	chunk_end(0);
	if (bytes == MSG_HEADER_ONLY)
		return 0;
	if (s->msg.name && s->msg.namelen)
		read_mem(arg, SYS_CHUNK_SOCKADDR, s->msg.name, s->msg.namelen, SYS_ADDR_BYTES);
	if (s->msg.iov)
		read_iov(arg, s->msg.iov, s->msg.iovlen, bytes, compat);
	if (s->msg.control && s->msg.controllen)
		read_mem(arg, SYS_CHUNK_CONTROL, s->msg.control, s->msg.controllen, 256);
	return 0;
}

#endif
