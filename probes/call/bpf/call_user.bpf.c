// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The user's buffers of the running system call, by its registers: socket tracepoints name the socket, not the bytes.
 */
#include "bpf/kernel.h"
#include "probes/call/bpf/call_regs.bpf.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CALL_SEGMENTS 8 /* of an iovec that are read */

/* struct user_msghdr up to its iovec; a struct mmsghdr is 64 bytes. */
struct user_msg {
	__u64 name;
	__u32 name_len, pad;
	__u64 iov, n_iov;
};
#define MMSGHDR_BYTES 64

/* @nth: message of an array of them. */
static __always_inline void user_bytes_msg(struct call_user_bytes *b, __u64 addr, __u32 nth)
{
	struct user_msg m;

	if (bpf_probe_read_user(&m, sizeof(m), (void *)(addr + (__u64)nth * MMSGHDR_BYTES)))
		return;
	b->base = m.iov;
	b->n_iov = m.n_iov;
}

int call_user_find(struct call_user_bytes *b, const struct pt_regs *regs, __u32 nth)
{
	__u32 n_messages;

	__builtin_memset(b, 0, sizeof(*b));
	switch (regs_nr(regs)) {
	case NR_read:
	case NR_write:
	case NR_sendto:
	case NR_recvfrom: b->base = regs_arg(regs, 1); break;
	case NR_readv:
	case NR_writev:
	case NR_preadv2:
	case NR_pwritev2:
		b->base = regs_arg(regs, 1);
		b->n_iov = regs_arg(regs, 2);
		break;
	case NR_sendmsg:
	case NR_recvmsg: user_bytes_msg(b, regs_arg(regs, 1), 0); break;
	case NR_sendmmsg:
		n_messages = regs_arg(regs, 2);
		user_bytes_msg(b, regs_arg(regs, 1), n_messages ? nth % n_messages : 0);
		break;
	}
	return 0;
}

int call_user_copy(const struct call_user_bytes *b, __u8 *to, __u32 most)
{
	__u32 done = 0;

	barrier_var(most);	/* the verifier (6.1) must see bounds beside their use */
	if (!b || !to || most > CALL_HEAD_MAX)
		return 0;
	if (!b->n_iov)
		return bpf_probe_read_user(to, most, (void *)b->base) ? 0 : most;
	for (__u32 i = 0; i < CALL_SEGMENTS; i++) {
		struct call_iovec v;
		__u32 n = most - done;

		if (i >= b->n_iov || done >= most || done > CALL_HEAD_MAX ||
		    bpf_probe_read_user(&v, sizeof(v), (void *)(b->base + i * sizeof(v))))
			break;
		if (v.len < n)
			n = v.len;
		barrier_var(n);
		if (n > CALL_HEAD_MAX || bpf_probe_read_user(to + done, n, (void *)v.base))
			break;
		done += n;
	}
	return done;
}

#define REDIS_WORDS 24		/* of a command that is measured */
#define EACH_BYTE(b) ((b) * 0x0101010101010101ull)

/*
 * "*NUMBER\r", and whatever is behind it, as one little-endian word. Returns the digits, 0 unless one to six.
 * Without branches and loops, whose paths the verifier would follow one by one.
 */
static __always_inline __u32 redis_line(__u64 word, __u32 *ret_number)
{
	__u64 text = word >> 8, other = text ^ EACH_BYTE('\r');
	__u64 found = (other - EACH_BYTE(1)) & ~other & EACH_BYTE(0x80);	/* lowest bit: the first \r */
	__u32 n = ((((found - 1) & ~found & EACH_BYTE(1)) * EACH_BYTE(1)) >> 56) - 1;

	if (!found || !n || n > 6)
		return 0;
	text = text << (64 - 8 * n) & EACH_BYTE(0x0f);	/* the last digit is the highest byte */
	text = (text * (10 * 256 + 1) >> 8) & 0x00ff00ff00ff00ffull;
	text = (text * (100ull * 65536 + 1) >> 16) & 0x0000ffff0000ffffull;
	*ret_number = text * (10000ull * 4294967296 + 1) >> 32;
	return n;
}

bool call_user_pipelines(const void *from, __u32 size)
{
	__u32 words = 0;
	__u64 at = 0;

	for (__u32 i = 0; i <= REDIS_WORDS; i++) {
		__u32 number = 0, digits;
		__u64 line;

		if (bpf_probe_read_user(&line, sizeof(line), from + at) || (line & 0xff) != (i ? '$' : '*'))
			return false;
		digits = redis_line(line, &number);
		if (!digits)
			return false;
		at += digits + 3;
		if (i)
			at += number + 2;
		else
			words = number;
		if (i == words)
			return at < size;
	}
	return false;
}

bool call_user_ends_head(const void *from, __u32 size)
{
	__u64 end;

	if (size < sizeof(end) || bpf_probe_read_user(&end, sizeof(end), from + size - sizeof(end)))
		return false;
	/* "\r\n\r\n", not "\r\n0" before it */
	return end >> 32 == 0x0a0d0a0d && (end >> 8 & 0xffffff) != 0x300a0d;
}
