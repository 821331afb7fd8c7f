/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go programs: which functions of gRPC and HTTP/2 can be probed, the exact probe site, the location of their
 * arguments and the offsets of the members that a probe reads. Works on stripped programs: functions come from
 * .gopclntab, layouts from the runtime's type descriptors; DWARF, if present, is the second source and the argument
 * passing rules computed from types the third. A rule whose sources disagree is disabled and gives the reason.
 *
 * gobin_run() is a worker's function (worker_call(.., gobin_run, &request, fd, ..)): it reads one file through a
 * descriptor and writes one flat answer, which gobin_answer_parse() checks. It knows nothing of processes.
 *
 * The rows are in rules.def, fields.def and types.def; a new rule or member is a new row. All addresses are those of
 * the file: in a process they are  address - base + start of the mapping of the first PT_LOAD.
 */
#ifndef GOBIN_GOBIN_H
#define GOBIN_GOBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Groups of rules. */
enum gobin_set {
	GOBIN_HEADERS = 1 << 0,		/* requests, responses, trailers, status: the default */
	GOBIN_RESETS = 1 << 1,		/* unusual ends; no hits in a call that ends normally */
	GOBIN_DATA = 1 << 2,
	GOBIN_FALLBACK = 1 << 3,	/* redundant; many hits per call */
	GOBIN_ALL = 15,
	GOBIN_SERVING = 1 << 4,		/* handlers of calls: the goroutine that serves */
	GOBIN_RANGES = 1 << 5,		/* each frame: its bytes in the TCP stream */
	GOBIN_TLS = 1 << 6,		/* plain text of crypto/tls; with places of return */
	GOBIN_SET__MAX
};

#define GOBIN_RULE(id, ...) GOBIN_##id,
enum gobin_rule {
#include "gobin/rules.def"
	GOBIN_RULE__MAX
};

#define GOBIN_FIELD(id, pkg, structure, field) GOBIN_F_##id,
enum gobin_field {
#include "gobin/fields.def"
	GOBIN_F__MAX
};

#define GOBIN_TYPE(id, ...) GOBIN_T_##id,
#define GOBIN_ITAB(id, ...)
enum gobin_type {
#include "gobin/types.def"
	GOBIN_T__MAX
};

#define GOBIN_TYPE(id, ...)
#define GOBIN_ITAB(id, ...) GOBIN_I_##id,
enum gobin_itab {
#include "gobin/types.def"
	GOBIN_I__MAX
};

/* Sources of a number; several may agree. */
enum gobin_source {
	GOBIN_BY_TYPES = 1 << 0,	/* runtime type descriptors */
	GOBIN_BY_DWARF = 1 << 1,
	GOBIN_BY_ABI = 1 << 2,		/* computed by the rules of argument passing */
	GOBIN_BY_SYMTAB = 1 << 3,
	GOBIN_BY_PCLNTAB = 1 << 4,
	GOBIN_BY_TABLE = 1 << 5,	/* equal in every release so far; only where no other source exists */
	GOBIN_SOURCE__MAX
};

enum gobin_mode { GOBIN_EXE, GOBIN_PIE, GOBIN_SHARED, GOBIN_PLUGIN, GOBIN_MODE__MAX };

enum gobin_abi {
	GOBIN_ABI_UNKNOWN,
	GOBIN_ABI0,		/* arguments on the stack */
	GOBIN_ABI_REGS,
	GOBIN_ABI__MAX
};

enum gobin_state {
	GOBIN_READY,
	GOBIN_NO_PACKAGE,	/* the program lacks the package */
	GOBIN_NO_FUNCTION,	/* removed, renamed, or inlined everywhere */
	GOBIN_NO_FIELD,
	GOBIN_NO_TYPE,
	GOBIN_NO_ABI,		/* unknown calling convention */
	GOBIN_NO_SITE,		/* the function's code cannot be decoded */
	GOBIN_CONTRADICTION,	/* two sources disagree */
	GOBIN_OTHER_WAY,	/* another rule covers this program */
	GOBIN_STATE__MAX
};

enum gobin_site_kind {
	GOBIN_AT_ENTRY,		/* single-stepped, hit again when the stack grows */
	GOBIN_AT_BRANCH,	/* the branch of the check: emulated; if it is taken the function restarts: ignore the
				 * hit */
	GOBIN_AT_FIRST,		/* no stack check; an emulated instruction, hit once per call */
	GOBIN_SITE_KIND__MAX
};
/*
 * "Taken", for GOBIN_AT_BRANCH: x86-64 jbe: CF or ZF set (flags & 0x41). arm64 b.ls: C clear or Z set
 * (!(pstate & 1 << 29) || pstate & 1 << 30).
 */

enum gobin_where { GOBIN_NOWHERE, GOBIN_IN_REG, GOBIN_ON_STACK, GOBIN_WHERE__MAX };

/* A word of an argument at the probe site. If it has less than 8 bytes, the upper ones are undefined. */
struct gobin_loc {
	uint8_t where;		/* enum gobin_where */
	uint8_t reg;		/* index in the order of passing: amd64 AX BX CX DI SI R8 R9 R10 R11, arm64 R0.. */
	uint8_t size;		/* bytes: 1, 2, 4, 8 */
	uint8_t sources;
	int32_t off;		/* bytes above the stack pointer */
	uint32_t name;		/* gobin_str(): "streamID", "hf.ptr" */
};

#define GOBIN_ARGS_MAX 6
#define GOBIN_INSN_MAX 8
#define GOBIN_RETURNS_MAX 24

struct gobin_site {
	uint64_t function, addr;	/* entry; attach address */
	uint64_t file_off;		/* of addr: the offset for a uprobe */
	uint8_t kind;			/* enum gobin_site_kind */
	uint8_t sources;		/* offset from the function's address */
	uint8_t n_args;
	uint8_t insn_len;
	uint8_t insn[GOBIN_INSN_MAX];	/* code at file_off: compare it before and after attaching */
	uint32_t symbol;		/* gobin_str() */
	struct gobin_loc args[GOBIN_ARGS_MAX];	/* in the order of the rule's row */
	/* Of rules of GOBIN_TLS: all return instructions, as offsets from the function's entry. */
	uint32_t n_returns, returns[GOBIN_RETURNS_MAX];
};

struct gobin_rule_answer {
	uint8_t state;			/* enum gobin_state */
	uint8_t hooker;			/* index of the fitting entry of the rule's rules_hookers, in the order of
					 * rules.c */
	uint32_t why;			/* gobin_str(): a sentence; "" if ready */
	struct gobin_site site;		/* valid when ready */
};

struct gobin_field_answer {
	int32_t off;			/* -1 = unknown, or contradicted */
	int32_t by_types, by_dwarf;	/* -1 = not in that source */
	uint32_t size;			/* bytes of the member; 0 = unknown */
	uint8_t sources;
	uint32_t name;			/* gobin_str(): as found, "net/http.http2serverConn.conn" */
};

struct gobin_type_answer {
	uint64_t addr;			/* of the descriptor (an itab's _type points to it) or the itab; 0 = none */
	uint64_t by_types, by_dwarf;
	uint8_t sources;
	uint32_t name;
};

/* From a connection to the one inside it. */
enum gobin_conn_how {
	GOBIN_CONN_NONE,
	GOBIN_CONN_FD,			/* pointer to net.netFD: the end of the way */
	GOBIN_CONN_IFACE,		/* interface with the methods of net.Conn */
	GOBIN_CONN_POINTER,		/* pointer to a type of the table */
	GOBIN_CONN_MAYBE,		/* interface with some of them: counts if it holds a type of the table */
	GOBIN_CONN__MAX
};

struct gobin_conn_way {
	uint8_t how;			/* enum gobin_conn_how */
	uint16_t off;			/* of the field, bytes */
	uint64_t type;			/* GOBIN_CONN_POINTER: the pointer's descriptor */
};

#define GOBIN_CONN_WAYS 3
#define GOBIN_CONNS_MAX 64

/* A type with the methods of net.Conn. Without ways it leads to no socket: a pipe, for example. */
struct gobin_conn {
	uint64_t type;			/* descriptor: dynamic type of an interface that holds one */
	uint32_t name;			/* gobin_str(): "*crypto/tls.Conn" */
	uint8_t direct;			/* the interface holds the struct, not a pointer to it */
	uint8_t n_plain;		/* fields for a connection that are not embedded; two are ambiguous */
	uint8_t n_ways;
	struct gobin_conn_way ways[GOBIN_CONN_WAYS];	/* the first that is not nil counts */
};

#define GOBIN_BUILD_ID_MAX 20

struct gobin_answer {
	uint32_t magic, len;		/* total size; strings follow the struct */
	uint16_t machine;		/* EM_* */
	uint8_t mode, abi;		/* enum gobin_mode, gobin_abi */
	uint8_t minor;			/* Go 1.minor; 0 = unknown */
	uint8_t has_symtab, has_dwarf, n_build_id;
	uint8_t build_id[GOBIN_BUILD_ID_MAX];
	uint32_t go_version, go_build_id, module, grpc_version, xnet_version;	/* gobin_str(), "" = unknown */
	uint32_t types_why, dwarf_why;	/* why this source has no layout; "" = it has */
	uint32_t version_source;	/* source of the Go version */
	uint64_t base;			/* address of the first PT_LOAD, rounded down to its page */
	uint64_t fixed_end;		/* from base to here is read-only: code, string literals */
	uint64_t text, types, etypes, moduledata, pclntab;
	int32_t tls_off;		/* amd64: of the current g from the thread pointer; 0 = unknown */
	uint32_t pad;
	uint32_t n_functions, n_types, n_itabs, n_deps;
	struct gobin_rule_answer rules[GOBIN_RULE__MAX];
	struct gobin_field_answer fields[GOBIN_F__MAX];
	struct gobin_type_answer types_of[GOBIN_T__MAX];
	struct gobin_type_answer itabs[GOBIN_I__MAX];
	uint32_t n_conns, n_conns_left;	/* listed; further ones for which there was no room */
	struct gobin_conn conns[GOBIN_CONNS_MAX];	/* ascending by type */
};

struct gobin_request {
	bool no_dwarf;			/* layouts from types alone: faster, without a second source */
	bool runtime_only;		/* members of package runtime, no rules */
	size_t budget_bytes;		/* 0 = 192 MiB */
};

/*
 * A plain worker_fn. @ctx: struct gobin_request. Exit status 0: the answer, or, if the file is invalid or not a Go
 * program, a sentence (gobin_answer_parse() returns it). Other status: the positive errno.
 */
int gobin_run(void *ctx, int in_fd, int out_fd);
#define GOBIN_ANSWER_CAP (256u << 10)	/* maximum size of an answer */

struct err;

/* @data is copied. -EBADMSG for a malformed answer, -ENOEXEC with the worker's sentence in @err, -ENOMEM. */
int gobin_answer_parse(const void *data, size_t len, struct gobin_answer **ret, struct err *err);
void gobin_answer_free(struct gobin_answer *a);	/* NULL is fine */
const char *gobin_str(const struct gobin_answer *a, uint32_t off);	/* owned by the answer; never NULL */

/* The same in this process, a worker. @fd is borrowed. -ENOEXEC and a sentence if the file is not a Go program. */
int gobin_analyse(int fd, const struct gobin_request *q, struct gobin_answer **ret, struct err *err);

/* False if the file lacks the marks that every Go program has. Compares bytes, parses none. */
bool gobin_may_be_go(int fd);

/* Names, for people. */
const char *gobin_rule_name(enum gobin_rule r);		/* "grpc.write-header" */
const char *gobin_rule_what(enum gobin_rule r);		/* "HEADERS sent: request, response, trailers" */
uint32_t gobin_rule_sets(enum gobin_rule r);		/* enum gobin_set */
const char *gobin_field_name(enum gobin_field f);	/* "loopyWriter.framer" */
const char *gobin_state_name(enum gobin_state s);
const char *gobin_site_kind_name(enum gobin_site_kind p);
const char *gobin_reg_name(uint16_t machine, uint8_t reg);	/* "AX"; "?" beyond */

#endif
