/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The open file behind a descriptor of the current task.
 */
#ifndef BPF_TASK_FILE_BPF_H
#define BPF_TASK_FILE_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFSOCK 0140000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___fd {
	unsigned short i_mode;
	unsigned long i_ino;
};

struct file___fd {
	struct inode___fd *f_inode;
	void *private_data;
};

struct fdtable___fd {
	unsigned int max_fds;
	struct file___fd **fd;
};

struct socket___fd {
	struct sock *sk;
};

struct files_struct___fd {
	struct fdtable___fd *fdt;
};

struct task_struct___fd {
	struct files_struct___fd *files;
};

#pragma clang attribute pop

/* NULL = none. */
static __always_inline struct file___fd *task_file_at(__u32 fd)
{
	struct task_struct___fd *task = (void *)bpf_get_current_task();
	struct fdtable___fd *fdt = BPF_CORE_READ(task, files, fdt);
	struct file___fd **slots, *file = NULL;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	slots = BPF_CORE_READ(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

/* Is it of @type, S_IF*? */
static __always_inline bool task_file_is(struct file___fd *file, __u32 type)
{
	return (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == type;
}

/* NULL = not a socket. */
static __always_inline struct sock *task_file_sock(__u32 fd)
{
	struct file___fd *file = task_file_at(fd);
	struct socket___fd *socket;

	if (!file || !task_file_is(file, S_IFSOCK))
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	return BPF_CORE_READ(socket, sk);
}

#endif
