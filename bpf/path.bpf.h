/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The path of a file, without bpf_d_path(), which tracepoints may not call: a walk over dentries and mounts up
 * to the task's root. Components come last first, NUL after each; whoever reads the record turns them round.
 */
#ifndef BPF_PATH_BPF_H
#define BPF_PATH_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PATH_MAX_DEPTH 32	/* components and mount crossings; deeper paths are cut at the root side */

static __always_inline struct mount *path_mount(struct vfsmount *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount, mnt);
}

/* Leaves a mounted file system for the place it is mounted on; false at the topmost mount. */
static __always_inline bool path_cross_mount(struct dentry **dentry, struct vfsmount **mnt)
{
	struct mount *m = path_mount(*mnt), *parent = BPF_CORE_READ(m, mnt_parent);

	if (parent == m)
		return false;
	*dentry = BPF_CORE_READ(m, mnt_mountpoint);
	*mnt = (void *)parent + bpf_core_field_offset(struct mount, mnt);
	return true;
}

/*
 * Writes components of @path, seen from @task's root, to @dst. @cap is a constant power of two from 256 on; @dst has
 * @cap + 256 bytes. Returns the bytes written, below @cap + 256. *ret_rooted: the walk ended at the root.
 */
static __always_inline __u32 path_parts(struct path *path, struct task_struct *task, char *dst, __u32 cap,
					bool *ret_rooted)
{
	struct dentry *dentry = NULL, *root = BPF_CORE_READ(task, fs, root.dentry);
	struct vfsmount *mnt = BPF_CORE_READ(path, mnt), *root_mnt = BPF_CORE_READ(task, fs, root.mnt);
	/*
	 * 0, which the verifier does not know: it takes any number below the mask, now and after each component.
	 * So all ways to a turn of the loop look alike to it; with a growing bound it followed hundreds of them.
	 */
	__u32 off = bpf_core_read(&dentry, sizeof(dentry), &path->dentry) & (cap - 1);

	*ret_rooted = false;
	if (!dentry)
		return 0;
	for (int i = 0; i < PATH_MAX_DEPTH; i++) {
		struct dentry *parent;
		long n;

		if (!dentry || !mnt || off >= cap)
			return off;
		if (dentry == root && mnt == root_mnt) {
			*ret_rooted = true;
			return off;
		}
		if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
			if (!path_cross_mount(&dentry, &mnt))
				return off;
			continue;
		}
		barrier_var(off); /* else the compiler drops the mask, and older verifiers lose the bound */
		n = bpf_probe_read_kernel_str(dst + (off & (cap - 1)), 256, BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0)
			return off;
		off = (off + (n & 0x1ff)) & (2 * cap - 1);
		parent = BPF_CORE_READ(dentry, d_parent);
		if (dentry == parent)
			return off;
		dentry = parent;
	}
	return off;
}

#endif
