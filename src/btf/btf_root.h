/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread with its own root directory, which contains only /sys/kernel/btf/vmlinux. libbpf reads the kernel's BTF at
 * fixed paths; where these do not exist, this thread loads the objects. The root directory is a detached tmpfs: other
 * threads and processes do not see it, and it vanishes with the thread.
 */
#ifndef BTF_BTF_ROOT_H
#define BTF_BTF_ROOT_H

struct btf;
struct btf_root;
struct err;

/*
 * Starts the thread with a copy of @types and the caller's capabilities. -EPERM without CAP_SYS_CHROOT. Without
 * CAP_SYS_ADMIN the root directory is a directory in /tmp, removed by btf_root_free().
 */
int btf_root_new(const struct btf *types, struct btf_root **ret, struct err *err);
void btf_root_free(struct btf_root *r);	/* NULL is fine */

/*
 * Runs @fn on the thread with the caller's capabilities and waits for it. Jobs run one at a time. With @fn NULL the
 * thread only drops the capabilities that the caller has dropped.
 */
void btf_root_run(struct btf_root *r, void (*fn)(void *ctx), void *ctx);

/* Parses the copy of the types. Owned by the caller; NULL and errno on failure. */
struct btf *btf_root_types(const struct btf_root *r);

#endif
