/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Schema of SEC_PARAMS: libscap's event types of all versions from 0.10, their parameters, and names of values.
 * tools/gen_scap.py generates C from tables/scap_*.tsv.
 *
 * The first parameters of a type are those of libscap 0.29 in its encodings; later versions appended theirs.
 */
#ifndef SCAP_SCHEMA_H
#define SCAP_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "scap/scap_types.h"	/* generated: enum scap_event_type, enum scap_syscall_id */

/* Types of parameters, with libscap's numbers. Comments give lengths in bytes where they are fixed. */
enum scap_param_type {
	PT_NONE = 0,
	PT_INT8,
	PT_INT16,
	PT_INT32,
	PT_INT64,
	PT_UINT8,
	PT_UINT16,
	PT_UINT32,
	PT_UINT64,
	PT_CHARBUF, /* text with NUL; empty = NULL */
	PT_BYTEBUF,
	PT_ERRNO,     /* 8: negative errno or a count */
	PT_SOCKADDR,  /* u8 family, then ip4 u16 | ip16 u16 | path with NUL; ports in host order */
	PT_SOCKTUPLE, /* u8 family, source, destination; for unix u64 u64 path */
	PT_FD,
	PT_PID,	   /* 8 */
	PT_FDLIST, /* u16 count, then { i64 fd, u16 poll flags } */
	PT_FSPATH,
	PT_SYSCALLID, /* 2: enum scap_schema_syscall_id */
	PT_SIGTYPE,   /* 1 */
	PT_RELTIME,
	PT_ABSTIME, /* 8, ns */
	PT_PORT,
	PT_L4PROTO,
	PT_SOCKFAMILY,
	PT_BOOL,
	PT_IPV4ADDR,
	PT_DYN, /* u8 selector, then a value of the selected type */
	PT_FLAGS8,
	PT_FLAGS16,
	PT_FLAGS32,
	PT_UID,
	PT_GID, /* 4; all ones = none */
	PT_DOUBLE,
	PT_SIGSET, /* 4 */
	PT_CHARBUFARRAY,
	PT_CHARBUF_PAIR_ARRAY,
	PT_IPV4NET,
	PT_IPV6ADDR,
	PT_IPV6NET,
	PT_IPADDR,
	PT_IPNET,
	PT_MODE,      /* 4 */
	PT_FSRELPATH, /* relative to the directory of another parameter */
	PT_ENUM8,
	PT_ENUM16,
	PT_ENUM32,
	PT_FD32,
	PT_PID32,
	PT__MAX,
};

/* Address families in PT_SOCKADDR and PT_SOCKTUPLE: Linux's numbers on any machine. */
#define SCAP_AF_UNIX 1
#define SCAP_AF_INET 2
#define SCAP_AF_INET6 10
#define SCAP_AF_NETLINK 16

enum scap_print_format { PF_NA, PF_DEC, PF_HEX, PF_DEC10, PF_ID, PF_DIR, PF_OCT, PF__MAX };

struct params;

enum scap_category {
	SCAP_CAT_UNKNOWN, SCAP_CAT_OTHER, SCAP_CAT_FILE, SCAP_CAT_NET, SCAP_CAT_IPC, SCAP_CAT_MEMORY,
	SCAP_CAT_PROCESS, SCAP_CAT_SLEEP, SCAP_CAT_SYSTEM, SCAP_CAT_SIGNAL, SCAP_CAT_USER, SCAP_CAT_TIME,
	SCAP_CAT_PROCESSING, SCAP_CAT_IO_READ, SCAP_CAT_IO_WRITE, SCAP_CAT_IO_OTHER, SCAP_CAT_WAIT,
	SCAP_CAT_SCHEDULER, SCAP_CAT_INTERNAL,
	SCAP_CAT__MAX,
};

#define SCAP_CREATES_FD 0x001u
#define SCAP_DESTROYS_FD 0x002u
#define SCAP_USES_FD 0x004u	/* parameter 0 of the enter event, or parameter "fd" of the exit event */
#define SCAP_READS_FD 0x008u
#define SCAP_WRITES_FD 0x010u
#define SCAP_MODIFIES_STATE 0x020u
#define SCAP_UNUSED 0x040u
#define SCAP_WAITS 0x080u
#define SCAP_SKIP_PARSER 0x100u
#define SCAP_OLD 0x200u		/* only old versions write it */
#define SCAP_DROPPABLE 0x400u
#define SCAP_LARGE 0x800u	/* 32-bit lengths */

struct scap_param {
	const char *name;
	uint8_t type;			/* enum scap_param_type */
	uint8_t format;			/* enum scap_print_format */
	uint8_t dirfd;			/* PT_FSRELPATH: parameter with the directory */
	uint8_t n_dyn;
	const struct xlat *xlat;	/* names of values in libscap's order, the first match counts; NULL = none */
	const struct scap_param *dyn;	/* PT_DYN: by selector */
};

struct scap_event_info {
	const char *id;			/* libscap's identifier without its prefix: "OPENAT_2_E" */
	const char *name;		/* what evt.type shows: "openat" */
	uint16_t flags;			/* SCAP_* */
	uint8_t category;		/* enum scap_category */
	uint8_t n_params;
	const struct scap_param *params;
};

/* NULL for unused numbers. Table rows (SCAP_ROW_*) have one too. */
const struct scap_event_info *scap_schema_event_info(uint32_t type);

static inline bool scap_is_exit(uint16_t type)
{
	return type & 1;
}

static inline bool scap_is_row(uint16_t type)
{
	return type >= SCAP_ROW_MACHINE;
}

/* libscap's numbers of system calls (PT_SYSCALLID). NULL and SCAP_CAT_OTHER if unknown. */
const char *scap_schema_syscall_name(uint32_t id);
enum scap_category scap_schema_syscall_category(uint32_t id);
/* -ENOENT for an unknown name. */
int scap_schema_syscall_id(const char *name);

const char *scap_schema_category_name(enum scap_category c); /* as in evt.category: "file", "IO", ... */

/*
 * libscap's number of the call in a generic event. Calls that old readers have no name for store 0 in the parameter
 * that those read, and the number in a later one.
 */
#define SCAP_GENERIC_ID_TOO 2u	/* index of the later parameter */
bool scap_schema_generic_id(const struct params *p, uint64_t *ret);

/* Generated tables behind the functions above. */
struct scap_syscall {
	const char *name; /* NULL: unused number */
	uint8_t category;
};

extern const struct scap_event_info scap_events[]; /* SCAP_EVENT_MAX; unused numbers have no name */
extern const struct scap_event_info scap_rows[];   /* from SCAP_ROW_MACHINE on */
extern const struct scap_syscall scap_syscalls[];  /* SCAP_SC_MAX */
extern const struct xlat *const scap_xlats[];	   /* NULL-terminated */

/* All values of evt.type, without duplicates. */
extern const struct xlat scap_type_names;

#endif
