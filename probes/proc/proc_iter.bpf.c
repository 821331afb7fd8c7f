// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Snapshot of what exists at the start: tasks, sockets in use, executable mappings. User space reads the iterators
 * after it has attached the tracepoints, so nothing is missed in between; the records carry SONDE_RF_SNAPSHOT. The
 * kernel calls an iterator again for an object whose record did not fit the page, so all work here is repeatable.
 */
#include "bpf/ident_listen.bpf.h"
#include "probes/proc/proc_sock.bpf.h"
#include "probes/proc/proc_task.bpf.h"

#include <bpf/bpf_tracing.h>

#define VM_EXEC 4		/* include/linux/mm.h */

const volatile __u32 proc_page_shift = 12;

struct proc_mmap_buf {
	struct proc_mmap_rec rec;
	char path[PROC_PATH_BYTES + 256];
};

struct proc_iter_scratch {
	struct proc_exec_buf task;
	struct proc_mmap_buf mmap;
	struct proc_socket_rec sock;
};

/* Only one reader runs iterators, one at a time. */
MAP(proc_iter_scratch, ARRAY, 1, __u32, struct proc_iter_scratch);

static __always_inline struct proc_iter_scratch *scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&proc_iter_scratch, &zero);
}

static __always_inline void snapshot_header(struct sonde_rec *r, __u16 type, __u32 len)
{
	__builtin_memset(r, 0, sizeof(*r));
	r->ts_ns = bpf_ktime_get_boot_ns();
	r->type = type;
	r->len = len;
	r->flags = SONDE_RF_SNAPSHOT;
}

/* Every thread; the executable with the leader only. The length goes to the header when all is there. */
static __always_inline __u32 task_record(struct proc_exec_buf *b, struct task_struct *task, bool by_loop)
{
	snapshot_header(&b->rec.hdr, PROC_REC_TASK, 0);
	task_header(&b->rec.hdr, task);
	b->rec.hdr.flags |= SONDE_RF_IDENT;
	task_identity(&b->rec.hdr, &b->rec.id, &b->rec.who, task);
	b->rec.exe_ino = b->rec.image_ns = 0;
	b->rec.exe_dev = b->rec.old_tid = 0;
	b->rec.name_len = b->rec.path_len = b->rec.args_len = 0;
	b->rec.path_form = PROC_PATH_PARTS;
	b->rec.ended = 0;
	if (b->rec.hdr.tid != b->rec.hdr.tgid || task->flags & PF_KTHREAD)
		return 0;
	return task_exe(b, 0, task, by_loop);
}

static __always_inline int task_write(struct bpf_iter_meta *meta, struct proc_exec_buf *b, __u32 tail)
{
	b->rec.hdr.len = sizeof(b->rec) + (tail & (PROC_TAIL_BYTES - 1));
	bpf_seq_write(meta->seq, b, b->rec.hdr.len);
	return 0;
}

/* Since 5.18 an iterator may sleep, and so read the arguments even when they are not in memory. */
SEC("iter.s/task")
int proc_iter_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct proc_iter_scratch *s = scratch();
	unsigned long start, end;
	__u32 off, len;

	if (!task || !s)
		return 0;
	off = task_record(&s->task, task, true);
	if (!off)
		return task_write(ctx->meta, &s->task, 0);
	start = BPF_CORE_READ(task, mm, arg_start);
	end = BPF_CORE_READ(task, mm, arg_end);
	len = end - start < PROC_ARGS_BYTES ? end - start : PROC_ARGS_BYTES;
	if (end - start > PROC_ARGS_BYTES)
		s->task.rec.hdr.flags |= SONDE_RF_CUT;
	if (end > start && !bpf_copy_from_user_task(s->task.tail + (off & 0x3ff), len, (void *)start, task, 0)) {
		s->task.rec.args_len = len;
		off += len;
	}
	return task_write(ctx->meta, &s->task, off);
}

/* Before, user space adds the arguments from /proc. */
SEC("iter/task")
int proc_iter_task_bare(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct proc_iter_scratch *s = scratch();

	if (!task || !s)
		return 0;
	return task_write(ctx->meta, &s->task, task_record(&s->task, task, false));
}

/*
 * Of several processes that hold a socket the oldest is the owner, as if it had made it; but not the init
 * process, which opens sockets only to hand them on. A process that used it meanwhile remains.
 */
static __always_inline void owner_offer(__u64 cookie, struct task_struct *task)
{
	struct sonde_owner *have = owner_by_cookie(cookie);
	__u64 start_ns = BPF_CORE_READ(task, group_leader, start_boottime);

	if (have && have->by == SONDE_OWNER_USER)
		return;
	if (have && have->tgid != 1 && (BPF_CORE_READ(task, tgid) == 1 || have->start_ns <= start_ns))
		return;
	owner_set_by(cookie, task, SONDE_OWNER_SNAPSHOT);
}

/* Connections inherit the cookie of their listener. */
static __always_inline void listener_mark(struct sock *sk, __u64 cookie)
{
	struct sock_user u = { .cookie = cookie }, *have;

	have = bpf_sk_storage_get(&sonde_sock_user, sk, &u, BPF_SK_STORAGE_GET_F_CREATE);
	if (have)
		have->cookie = cookie;
}

SEC("iter/task_file")
int proc_iter_file(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct proc_iter_scratch *s = scratch();
	struct sonde_tuple t;
	struct socket *socket;
	struct sock *sk;
	__u64 cookie;
	__u8 state;

	if (!task || !file || !s)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || !sock_tuple(&t, sk))
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	if (!cookie)
		return 0;
	state = sk->__sk_common.skc_state;
	owner_offer(cookie, task);
	if (t.proto == IPPROTO_TCP || t.proto == IPPROTO_UDP)
		tuple_set_dual(&t, cookie, BPF_CORE_READ_BITFIELD_PROBED(sk, __sk_common.skc_ipv6only));
	if (t.proto == IPPROTO_TCP && state == TCP_LISTEN) {
		listener_mark(sk, cookie);
		listen_add(sk, cookie);
	}
	snapshot_header(&s->sock.hdr, PROC_REC_SOCKET, sizeof(s->sock));
	s->sock.hdr.flags |= SONDE_RF_IDENT;
	sock_record(&s->sock, &t, cookie, owner_by_cookie(cookie));
	s->sock.what = PROC_SOCK_HELD;
	s->sock.state = state;
	bpf_seq_write(ctx->meta->seq, &s->sock, sizeof(s->sock));
	return 0;
}

/* Code of no file, by the names that new mappings have: the vDSO, or made at run time. Returns the path's length. */
static __always_inline __u32 nameless_path(char *path, struct task_struct *task, const struct vm_area_struct *vma)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (mm && bpf_core_field_exists(mm->context.vdso) &&
	    (unsigned long)BPF_CORE_READ(mm, context.vdso) == vma->vm_start)
		__builtin_memcpy(path, "[vdso]", 6);
	else
		__builtin_memcpy(path, "//anon", 6);
	return 6;
}

static __always_inline int vma_record(struct bpf_iter__task_vma *ctx, bool by_loop)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct proc_iter_scratch *s = scratch();
	struct proc_mmap_buf *b;
	struct file *file;
	bool rooted;
	__u32 len;

	if (!task || !vma || !s || !(vma->vm_flags & VM_EXEC))
		return 0;
	file = BPF_CORE_READ(vma, vm_file);
	b = &s->mmap;
	snapshot_header(&b->rec.hdr, PROC_REC_MMAP, 0);
	task_header(&b->rec.hdr, task);
	b->rec.addr = vma->vm_start;
	b->rec.len = vma->vm_end - vma->vm_start;
	b->rec.file_off = (__u64)vma->vm_pgoff << proc_page_shift;
	b->rec.ino = b->rec.dev = b->rec.ino_generation = 0;
	b->rec.prot = vma->vm_flags & 7; /* VM_READ, VM_WRITE, VM_EXEC are PROT_* */
	b->rec.flags = 0;
	b->rec.build_id_len = 0;
	if (file) {
		b->rec.ino = BPF_CORE_READ(file, f_inode, i_ino);
		b->rec.dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
		b->rec.ino_generation = BPF_CORE_READ(file, f_inode, i_generation);
		len = path_parts((void *)file + bpf_core_field_offset(struct file, f_path), task, b->path, by_loop,
				 &rooted);
		b->rec.path_form = rooted ? PROC_PATH_PARTS : PROC_PATH_ROOTLESS;
	} else {
		len = nameless_path(b->path, task, vma);
		b->rec.path_form = PROC_PATH_PLAIN;
	}
	b->rec.path_len = len;
	len = sizeof(b->rec) + (len & 0x3ff);
	b->rec.hdr.len = len;
	barrier_var(len); /* compared and passed on in one register: older verifiers follow no copies */
	if (len <= sizeof(*b))
		bpf_seq_write(ctx->meta->seq, b, len);
	return 0;
}

PROGRAM("iter/task_vma", proc_iter_vma, vma_record(ctx, true), struct bpf_iter__task_vma *ctx) /* since 5.17 */
PROGRAM("iter/task_vma", proc_iter_vma_plain, vma_record(ctx, false), struct bpf_iter__task_vma *ctx)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
