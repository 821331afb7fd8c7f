/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Listeners by cookie: sonde_listeners, where the kernel has the socket. Packets lead to a cookie (ident_flow.bpf.h);
 * queue, limit and losses of the listener are in the socket itself.
 *
 * The probe proc fills it when a process listens, and from the sockets that existed before. An address is believed
 * only while the socket there has the cookie.
 */
#ifndef BPF_IDENT_LISTEN_BPF_H
#define BPF_IDENT_LISTEN_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct listener {
	__u64 sk;		/* address of the struct sock */
	__u32 drops;		/* sk_drops that are accounted for */
	__u32 pad;
};

/* LRU: a full map evicts the least recently used entry. */
UNIT_MAP(sonde_listeners, LRU_HASH, 16384, __u64, struct listener);

struct sock___listen {
	atomic_t sk_drops;
} __attribute__((preserve_access_index));

static __always_inline __u32 listen_drops(const void *sk)
{
	return BPF_CORE_READ((const struct sock___listen *)sk, sk_drops.counter);
}

static __always_inline void listen_add(const struct sock *sk, __u64 cookie)
{
	struct listener l = { .sk = (__u64)sk, .drops = listen_drops(sk) };

	bpf_map_update_elem(&sonde_listeners, &cookie, &l, BPF_ANY);
}

static __always_inline void listen_remove(__u64 cookie)
{
	bpf_map_delete_elem(&sonde_listeners, &cookie);
}

static __always_inline __u64 listen_cookie(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

/* The entry of @cookie, or NULL if the socket is gone. */
static __always_inline struct listener *listen_find(__u64 cookie)
{
	struct listener *l = cookie ? bpf_map_lookup_elem(&sonde_listeners, &cookie) : NULL;
	const struct sock *sk = l ? (const struct sock *)l->sk : NULL;

	return sk && listen_cookie(sk) == cookie && BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN ? l : NULL;
}

#endif
