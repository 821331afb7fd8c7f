/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The open file behind a descriptor of the current task.
 */
#ifndef GOHTTP2_FILE_BPF_H
#define GOHTTP2_FILE_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFSOCK 0140000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___gohttp2 {
	unsigned short i_mode;
	unsigned long i_ino;
};

struct file___gohttp2 {
	struct inode___gohttp2 *f_inode;
	void *private_data;
};

struct fdtable___gohttp2 {
	unsigned int max_fds;
	struct file___gohttp2 **fd;
};

struct files_struct___gohttp2 {
	struct fdtable___gohttp2 *fdt;
};

struct task_struct___gohttp2 {
	struct files_struct___gohttp2 *files;
};

#pragma clang attribute pop

/* NULL = none. */
static __always_inline struct file___gohttp2 *file_of_fd(__u32 fd)
{
	struct task_struct___gohttp2 *task = (void *)bpf_get_current_task();
	struct fdtable___gohttp2 *fdt = BPF_CORE_READ(task, files, fdt);
	struct file___gohttp2 **slots, *file = NULL;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	slots = BPF_CORE_READ(fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

/* Is it of @type, S_IF*? */
static __always_inline bool file_is(struct file___gohttp2 *file, __u32 type)
{
	return (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == type;
}

#endif
