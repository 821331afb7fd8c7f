/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of system calls for the decoder, generated from tables/ at build time.
 */
#ifndef SYS_TABLE_H
#define SYS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

#define SYS_NUMBERS 512		/* per ABI */

enum sys_class {
	SYS_CLASS_OTHER, SYS_CLASS_FILE, SYS_CLASS_NET, SYS_CLASS_IPC, SYS_CLASS_MEMORY, SYS_CLASS_PROCESS,
	SYS_CLASS_SLEEP, SYS_CLASS_SYSTEM, SYS_CLASS_SIGNAL, SYS_CLASS_USER, SYS_CLASS_TIME, SYS_CLASS_IO_READ,
	SYS_CLASS_IO_WRITE, SYS_CLASS_IO_OTHER, SYS_CLASS_WAIT, SYS_CLASS__MAX,
};

/* Type of an argument or result. */
enum sys_arg_kind {
	SYS_ARG_INT, SYS_ARG_UINT, SYS_ARG_LONG, SYS_ARG_ULONG, SYS_ARG_U64, SYS_ARG_HEX, SYS_ARG_PTR,
	SYS_ARG_FD, SYS_ARG_UFD, SYS_ARG_DIRFD, SYS_ARG_PID, SYS_ARG_SPID, SYS_ARG_UID, SYS_ARG_GID, SYS_ARG_SIG,
	SYS_ARG_MODE, SYS_ARG_FMODE, SYS_ARG_SIZE, SYS_ARG_OFF, SYS_ARG_DEV, SYS_ARG_SOCKOPT, SYS_ARG_U32V,
	SYS_ARG_NONE,
	SYS_ARG_XLAT,		/* ref: sys_xlats */
	SYS_ARG_PATH, SYS_ARG_STR, SYS_ARG_STRV,
	SYS_ARG_MEM, SYS_ARG_MEM_OUT, SYS_ARG_MEM_IO, SYS_ARG_MEM_REST,	/* ref: sys_structs */
	SYS_ARG_ARRAY, SYS_ARG_ARRAY_OUT,
	SYS_ARG_DATA, SYS_ARG_DATA_OUT, SYS_ARG_DATA_LENP,
	SYS_ARG_DATA_HEX, SYS_ARG_DATA_STR,	/* output in hex; output up to its NUL */
	SYS_ARG_OPT_IN, SYS_ARG_OPT_OUT,	/* socket option: an int, or bytes in hex */
	SYS_ARG_DIRENTS, SYS_ARG_CPUS, SYS_ARG_NODES, SYS_ARG_ONODES, SYS_ARG_SIGFRAME,
	SYS_ARG_SA, SYS_ARG_OSA,
	SYS_ARG_IOV, SYS_ARG_OIOV, SYS_ARG_MSG, SYS_ARG_OMSG, SYS_ARG_MMSG, SYS_ARG_OMMSG, SYS_ARG_FDSET,
	SYS_ARG__MAX,
};

enum sys_member_kind {
	SYS_MEMBER_I8, SYS_MEMBER_I16, SYS_MEMBER_I32, SYS_MEMBER_I64, SYS_MEMBER_U8, SYS_MEMBER_U16, SYS_MEMBER_U32,
	SYS_MEMBER_U64, SYS_MEMBER_H8, SYS_MEMBER_H16, SYS_MEMBER_H32, SYS_MEMBER_H64, SYS_MEMBER_PTR,
	SYS_MEMBER_DEV, SYS_MEMBER_MODE, SYS_MEMBER_MODE2, SYS_MEMBER_U64MODE, SYS_MEMBER_SIGSET,
	SYS_MEMBER_SIG, SYS_MEMBER_SIG64, SYS_MEMBER_FD, SYS_MEMBER_UID,
	SYS_MEMBER_GID, SYS_MEMBER_WSTATUS, SYS_MEMBER_RLIM, SYS_MEMBER_TIME_NSEC, SYS_MEMBER_SIGHANDLER,
	SYS_MEMBER_IP4, SYS_MEMBER_PORT,
	SYS_MEMBER_UTIME, SYS_MEMBER_UTIMEVAL,	/* whole timespec or timeval with its date */
	SYS_MEMBER_DATE,			/* seconds followed by nanoseconds */
	SYS_MEMBER_TICKS, SYS_MEMBER_CAPS, SYS_MEMBER_TERMIOS, SYS_MEMBER_TERMIO, SYS_MEMBER_ERROR,
	SYS_MEMBER_MAC, SYS_MEMBER_ADDR,
	SYS_MEMBER_C, SYS_MEMBER_X,
	SYS_MEMBER_MORE,			/* dots for omitted members */
	SYS_MEMBER__MAX,
};

enum sys_xlat_kind {
	SYS_XLAT_FLAGS, SYS_XLAT_ENUM, SYS_XLAT_BASE, SYS_XLAT_LOW, SYS_XLAT_PERM, SYS_XLAT_FUTEX, SYS_XLAT__MAX
};

struct sys_xlat {
	struct xlat x;
	enum sys_xlat_kind kind;
	uint16_t arm64;		/* index of the table for arm64 */
	const char *unknown;	/* comment after numbers without a name; NULL = none */
};

/* Condition of a member: the masked number at @off equals @value, or with @negated differs. Size 0: always true. */
struct sys_condition {
	uint16_t off, size;
	bool negated;
	uint64_t mask, value;
};

struct sys_member {
	const char *name;	/* "": the structure consists of this value */
	enum sys_member_kind kind;
	uint16_t size;		/* bytes, if the kind does not imply them */
	uint16_t off;
	uint16_t xlat;
	uint16_t n;		/* length of an array; 0 = no array */
	bool brief;		/* also in strace's short format */
	bool answer;		/* filled in by the kernel: only after success */
	struct sys_condition when;
};

struct sys_struct {
	const char *name;
	const struct sys_member *members;
	uint16_t n_members;
	uint16_t size;		/* bytes to read */
	uint16_t arm64, i386;	/* indices for these ABIs; SYS_STRUCT_NONE: layout unknown */
	bool has_brief;		/* some members are brief */
};

#define SYS_STRUCT_NONE UINT16_MAX

struct sys_arg {
	const char *name;
	uint8_t kind;		/* enum sys_arg_kind */
	uint8_t n;		/* argument with the length or count; SYS_N_RET, SYS_N_NONE */
	uint16_t ref;
	uint8_t reg;		/* index among the registers */
};

/* Arguments of a call for one value of its selecting arguments. */
struct sys_form {
	uint32_t value;
	uint8_t n_args;
	uint16_t ret_names;	/* index + 1 in sys_xlats of names for the result; 0 = none */
	struct sys_arg args[SYS_ARGS];
};

/*
 * ABI of the call inside socketcall() or ipc() (sys_print.h): its number is an index in sys_calls. Never in records.
 */
#define SYS_ABI_SUBCALL 255u

#define SYS_CALL_PATH 1		/* takes a path */
#define SYS_CALL_DESC 2		/* takes a descriptor */
#define SYS_CALL_LIFE 4		/* changes the process */

struct sys_call {
	const char *name;
	uint8_t class;		/* enum sys_class */
	uint8_t ret;		/* enum sys_arg_kind */
	uint8_t n_args;
	uint8_t flags;		/* SYS_CALL_* */
	uint16_t ret_ref;
	uint16_t first_form, n_forms;	/* of sys_forms, sorted by value */
	uint8_t fd;		/* register of the descriptor that it is about; SYS_N_RET: the result; SYS_N_NONE */
	uint8_t select[2];	/* arguments that select the form; equal: one argument, masked */
	uint32_t mask;
	struct sys_arg args[SYS_ARGS];
};

extern const struct sys_xlat sys_xlats[];
extern const struct sys_xlat *const sys_xlat_af, *const sys_xlat_errno, *const sys_xlat_icmp6opt,
	*const sys_xlat_ip6opt, *const sys_xlat_ipopt, *const sys_xlat_ipproto, *const sys_xlat_mpol_flags,
	*const sys_xlat_msg, *const sys_xlat_netlink, *const sys_xlat_nlopt, *const sys_xlat_packetopt,
	*const sys_xlat_poll, *const sys_xlat_rawopt, *const sys_xlat_signum, *const sys_xlat_so,
	*const sys_xlat_sockflags, *const sys_xlat_tcpopt, *const sys_xlat_udpopt;
extern const unsigned sys_n_xlats;
extern const struct sys_struct sys_structs[];
extern const unsigned sys_n_structs;
extern const struct sys_call sys_calls[];
extern const struct sys_form sys_forms[];
extern const unsigned sys_n_calls;
extern const uint16_t sys_numbers[][SYS_NUMBERS];	/* index + 1 into sys_calls; 0 = none */

/* NULL if the number or the ABI has no row. @abi: SYS_ABI_*. */
static inline const struct sys_call *sys_table_call_find(unsigned abi, unsigned nr)
{
	uint16_t i;

	if (abi == SYS_ABI_SUBCALL)
		return nr < sys_n_calls ? &sys_calls[nr] : NULL;
	if (abi == SYS_ABI_X32)
		abi = SYS_ABI_X86_64;
	if (abi > SYS_ABI_ARM64 || nr >= SYS_NUMBERS)
		return NULL;
	i = sys_numbers[abi][nr];
	return i ? &sys_calls[i - 1] : NULL;
}
/* Form of the call with these arguments. NULL: the call's own arguments apply. */
const struct sys_form *sys_table_form(const struct sys_call *call, const uint64_t *args);
/* Register of the descriptor that a call is about; SYS_N_RET: the result; SYS_N_NONE. @call may be NULL. */
static inline unsigned sys_table_fd(const struct sys_call *call)
{
	return call ? call->fd : SYS_N_NONE;
}
unsigned sys_table_struct_named(const char *name); /* index; @name must exist */
/* First row of that name, or NULL. */
const struct sys_call *sys_table_call_named(const char *name);
/* "openat", or "syscall_0x1ff" in @buf. */
const char *sys_table_call_name(unsigned abi, unsigned nr, char buf[static 24]);
/* Table of names and structure for an ABI. NULL: the structure's layout is unknown there. */
const struct sys_xlat *sys_table_xlat_for(unsigned ref, unsigned abi);
const struct sys_struct *sys_table_struct_for(unsigned ref, unsigned abi);
/* By name in tables/xlat.in, or NULL. */
const struct sys_xlat *sys_table_xlat_named(const char *name);

extern const char *const sys_class_names[];	/* sysdig's categories */
extern const char *const sys_abi_names[];

#endif
