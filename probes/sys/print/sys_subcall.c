// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * socketcall() and ipc() of 32-bit x86 programs: multiplexers whose first argument selects the call. socketcall() has
 * the arguments in memory, ipc() in registers in another order. Both print as the selected call.
 */

#include "base/cursor.h"
#include "base/macros.h"
#include "probes/sys/print/sys_print.h"

#define NR_SOCKETCALL 102
#define NR_IPC 117
#define WORDS_MAX 6
#define IPC_MSGRCV 12u

/* @like: call whose first @n arguments are the same. */
struct sub { const char *name, *like; uint8_t n; };

static const struct sub socket_subs[] = {
	[1] = { "socket", "socket", 3 }, [2] = { "bind", "bind", 3 }, [3] = { "connect", "connect", 3 },
	[4] = { "listen", "listen", 2 }, [5] = { "accept", "accept", 3 }, [6] = { "getsockname", "getsockname", 3 },
	[7] = { "getpeername", "getpeername", 3 }, [8] = { "socketpair", "socketpair", 4 },
	[9] = { "send", "sendto", 4 }, [10] = { "recv", "recvfrom", 4 }, [11] = { "sendto", "sendto", 6 },
	[12] = { "recvfrom", "recvfrom", 6 }, [13] = { "shutdown", "shutdown", 2 },
	[14] = { "setsockopt", "setsockopt", 5 }, [15] = { "getsockopt", "getsockopt", 5 },
	[16] = { "sendmsg", "sendmsg", 3 }, [17] = { "recvmsg", "recvmsg", 3 }, [18] = { "accept4", "accept4", 4 },
	[19] = { "recvmmsg", "recvmmsg", 5 }, [20] = { "sendmmsg", "sendmmsg", 4 },
};

/* @order: register of each argument. semctl is missing, because its last argument is behind a pointer. */
static const struct { struct sub sub; uint8_t order[WORDS_MAX]; } ipc_subs[] = {
	[1] = { { "semop", "semop", 3 }, { 1, 4, 2 } }, [2] = { { "semget", "semget", 3 }, { 1, 2, 3 } },
	[4] = { { "semtimedop", "semtimedop", 4 }, { 1, 4, 2, 5 } },
	[11] = { { "msgsnd", "msgsnd", 4 }, { 1, 4, 2, 3 } },
	[IPC_MSGRCV] = { { "msgrcv", "msgrcv", 5 }, { 1, 4, 2, 5, 3 } },
	[13] = { { "msgget", "msgget", 2 }, { 1, 2 } }, [14] = { { "msgctl", "msgctl", 3 }, { 1, 2, 4 } },
	[21] = { { "shmat", "shmat", 3 }, { 1, 4, 2 } }, [22] = { { "shmdt", "shmdt", 1 }, { 4 } },
	[23] = { { "shmget", "shmget", 3 }, { 1, 2, 3 } }, [24] = { { "shmctl", "shmctl", 3 }, { 1, 2, 4 } },
};

static bool socket_words(const struct sys_body *b, uint32_t words[WORDS_MAX])
{
	struct sys_bytes m = sys_body_chunk(b, 1, SYS_CHUNK_MEM);
	struct cursor c = cur_init(m.data, m.len);

	return m.there && !(m.flags & SYS_CHUNK_F_FAULT) && cur_copy(&c, words, WORDS_MAX * sizeof(*words));
}

static const struct sub *find(const struct sys_body *b, uint32_t words[WORDS_MAX])
{
	uint32_t what = (uint32_t)b->args[0], version = what >> 16;

	if (b->nr == NR_SOCKETCALL)
		return what < ARRAY_SIZE(socket_subs) && socket_words(b, words) ? &socket_subs[what] : NULL;
	what &= 0xffff;
	/* version 0 of msgrcv has two arguments in memory */
	if (b->nr != NR_IPC || what >= ARRAY_SIZE(ipc_subs) || (what == IPC_MSGRCV && !version))
		return NULL;
	for (unsigned i = 0; i < ipc_subs[what].sub.n; i++)
		words[i] = (uint32_t)b->args[ipc_subs[what].order[i]];
	return &ipc_subs[what].sub;
}

const char *sys_subcall(const struct sys_body *b, struct sys_body *ret)
{
	uint32_t words[WORDS_MAX] = { 0 };
	const struct sub *s = b->abi == SYS_ABI_I386 ? find(b, words) : NULL;
	const struct sys_call *like = s && s->name ? sys_table_call_named(s->like) : NULL;

	if (!like)
		return NULL;
	*ret = (struct sys_body){ .abi = SYS_ABI_SUBCALL, .nr = (uint16_t)(like - sys_calls), .n_args = s->n };
	for (unsigned i = 0; i < s->n; i++) {
		bool is_long = like->args[i].kind == SYS_ARG_LONG || like->args[i].kind == SYS_ARG_OFF;

		ret->args[i] = is_long ? (uint64_t)(int32_t)words[i] : words[i];
	}
	return s->name;
}
