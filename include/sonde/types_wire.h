/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Structs of the kernel whose BTF ids BPF programs use (bpf/typed.bpf.h).
 */
#ifndef SONDE_TYPES_WIRE_H
#define SONDE_TYPES_WIRE_H

/* Each ends with the struct's name. */
enum sonde_type {
	SONDE_TYPE_task_struct, SONDE_TYPE_sk_buff, SONDE_TYPE_sock, SONDE_TYPE_file, SONDE_TYPE_inode,
	SONDE_TYPE_dentry, SONDE_TYPE_list_head, SONDE_TYPE_socket, SONDE_TYPE_unix_sock, SONDE_TYPE_tcp_sock,
	SONDE_TYPE_bpf_uprobe_multi_run_ctx,
	SONDE_TYPE__MAX,
};

#endif
