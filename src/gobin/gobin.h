/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go programs: which functions of gRPC and HTTP/2 can be watched, where exactly, where their arguments are and at
 * which offsets the members that a probe reads. Works on stripped programs: functions come from .gopclntab, layouts
 * from the runtime's type descriptors; DWARF, where there is any, is the second witness and the argument passing
 * rules computed from types the third. A rule whose sources disagree is off and says so.
 *
 * gobin_run() is a worker's function (worker_call(.., gobin_run, &request, fd, ..)): it reads one file through a
 * descriptor and writes one flat answer, which gobin_answer_parse() checks. It knows nothing of processes.
 *
 * The rows stand in rules.def, fields.def and types.def; a new rule or member is a row there. All addresses are those
 * of the file: in a process they are  address - base + start of the mapping of the first PT_LOAD.
 */
#ifndef GOBIN_GOBIN_H
#define GOBIN_GOBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which rules belong together. */
enum gobin_set {
	GOBIN_HEADERS = 1 << 0,		/* requests, responses, trailers, status: the default */
	GOBIN_RESETS = 1 << 1,		/* ends of another kind; no hits in a call that ends well */
	GOBIN_DATA = 1 << 2,
	GOBIN_FALLBACK = 1 << 3,	/* seen elsewhere already; many hits per call */
	GOBIN_ALL = 15,
	GOBIN_SET__MAX
};

#define GOBIN_RULE(id, ...) GOBIN_##id,
enum gobin_rule {
#include "gobin/rules.def"
	GOBIN_RULE__MAX
};
#undef GOBIN_RULE

#define GOBIN_FIELD(id, pkg, structure, field) GOBIN_F_##id,
enum gobin_field {
#include "gobin/fields.def"
	GOBIN_F__MAX
};
#undef GOBIN_FIELD

#define GOBIN_TYPE(id, ...) GOBIN_T_##id,
#define GOBIN_ITAB(id, ...)
enum gobin_type {
#include "gobin/types.def"
	GOBIN_T__MAX
};
#undef GOBIN_TYPE
#undef GOBIN_ITAB

#define GOBIN_TYPE(id, ...)
#define GOBIN_ITAB(id, ...) GOBIN_I_##id,
enum gobin_itab {
#include "gobin/types.def"
	GOBIN_I__MAX
};
#undef GOBIN_TYPE
#undef GOBIN_ITAB

/* Where a number comes from; several may have said the same. */
enum gobin_source {
	GOBIN_BY_TYPES = 1 << 0,	/* runtime type descriptors */
	GOBIN_BY_DWARF = 1 << 1,
	GOBIN_BY_ABI = 1 << 2,		/* computed by the rules of argument passing */
	GOBIN_BY_SYMTAB = 1 << 3,
	GOBIN_BY_PCLNTAB = 1 << 4,
	GOBIN_BY_TABLE = 1 << 5,	/* equal in every release so far; only what nothing else tells */
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
	GOBIN_NO_PACKAGE,	/* nothing of it is in the program */
	GOBIN_NO_FUNCTION,	/* removed, renamed, or inlined everywhere */
	GOBIN_NO_FIELD,
	GOBIN_NO_TYPE,
	GOBIN_NO_ABI,		/* how arguments are passed is not known */
	GOBIN_NO_SITE,		/* the bytes of the function make no sense */
	GOBIN_CONTRADICTION,	/* two sources disagree */
	GOBIN_OTHER_WAY,	/* another rule has the same facts in this program */
	GOBIN_STATE__MAX
};

enum gobin_site_kind {
	GOBIN_AT_ENTRY,		/* single-stepped, hit again when the stack grows */
	GOBIN_AT_BRANCH,	/* the branch of the check: emulated; when it is taken the call starts anew: ignore */
	GOBIN_AT_FIRST,		/* no stack check; an instruction that is emulated, hit once per call */
	GOBIN_SITE_KIND__MAX
};
/*
 * "Taken", for GOBIN_AT_BRANCH: x86-64 jbe: CF or ZF set (flags & 0x41). arm64 b.ls: C clear or Z set
 * (!(pstate & 1 << 29) || pstate & 1 << 30).
 */

enum gobin_where { GOBIN_NOWHERE, GOBIN_IN_REG, GOBIN_ON_STACK, GOBIN_WHERE__MAX };

/* One word of an argument when the site is hit. Of less than 8 bytes the upper ones are garbage. */
struct gobin_loc {
	uint8_t where;		/* enum gobin_where */
	uint8_t reg;		/* place in the order of passing: amd64 AX BX CX DI SI R8 R9 R10 R11, arm64 R0.. */
	uint8_t size;		/* bytes: 1, 2, 4, 8 */
	uint8_t sources;
	int32_t off;		/* bytes above the stack pointer */
	uint32_t name;		/* gobin_str(): "streamID", "hf.ptr" */
};

#define GOBIN_ARGS_MAX 6
#define GOBIN_INSN_MAX 8

struct gobin_site {
	uint64_t function, addr;	/* entry; where to attach */
	uint64_t file_off;		/* of addr: what a uprobe takes */
	uint8_t kind;			/* enum gobin_site_kind */
	uint8_t sources;		/* of the function's address */
	uint8_t n_args;
	uint8_t insn_len;
	uint8_t insn[GOBIN_INSN_MAX];	/* what stands at file_off: compare again before and after attaching */
	uint32_t symbol;		/* gobin_str() */
	struct gobin_loc args[GOBIN_ARGS_MAX];	/* in the order that the rule's row lists them */
};

struct gobin_rule_answer {
	uint8_t state;			/* enum gobin_state */
	uint8_t hooker;			/* which of the rule's rules_hookers fits, in the order of rules.c */
	uint32_t why;			/* gobin_str(): a sentence; "" when ready */
	struct gobin_site site;		/* valid when ready */
};

struct gobin_field_answer {
	int32_t off;			/* -1 = unknown, or contradicted */
	int32_t by_types, by_dwarf;	/* -1 = that source does not have it */
	uint32_t size;			/* bytes of the member; 0 = unknown */
	uint8_t sources;
	uint32_t name;			/* gobin_str(): as it was found, "net/http.http2serverConn.conn" */
};

struct gobin_type_answer {
	uint64_t addr;			/* of the descriptor (what an itab's _type holds) or the itab; 0 = none */
	uint64_t by_types, by_dwarf;
	uint8_t sources;
	uint32_t name;
};

#define GOBIN_BUILD_ID_MAX 20

struct gobin_answer {
	uint32_t magic, len;		/* bytes of everything; strings stand behind */
	uint16_t machine;		/* EM_* */
	uint8_t mode, abi;		/* enum gobin_mode, gobin_abi */
	uint8_t minor;			/* Go 1.minor; 0 = unknown */
	uint8_t has_symtab, has_dwarf, n_build_id;
	uint8_t build_id[GOBIN_BUILD_ID_MAX];
	uint32_t go_version, go_build_id, module, grpc_version, xnet_version;	/* gobin_str(), "" = unknown */
	uint32_t types_why, dwarf_why;	/* why there is no layout by this source; "" = there is */
	uint32_t version_source;	/* where the Go version comes from */
	uint64_t base;			/* address of the first PT_LOAD, down to its page */
	uint64_t fixed_end;		/* from base to here nothing can be written to: code, string literals */
	uint64_t text, types, etypes, moduledata, pclntab;
	uint32_t n_functions, n_types, n_itabs, n_deps;
	struct gobin_rule_answer rules[GOBIN_RULE__MAX];
	struct gobin_field_answer fields[GOBIN_F__MAX];
	struct gobin_type_answer types_of[GOBIN_T__MAX];
	struct gobin_type_answer itabs[GOBIN_I__MAX];
};

struct gobin_request {
	bool no_dwarf;			/* layouts from types alone: faster, nobody to contradict them */
	size_t budget_bytes;		/* 0 = 192 MiB */
};

/*
 * worker_fn. @ctx: struct gobin_request. Exit status 0: the answer, or, for a file that is no Go program or makes no
 * sense, one sentence (gobin_answer_parse() gives it). Other status: the positive errno.
 */
int gobin_run(void *ctx, int in_fd, int out_fd);
#define GOBIN_ANSWER_CAP (256u << 10)	/* most bytes of an answer */

struct err;
struct elf;

/* @data is copied. -EBADMSG when it is no answer, -ENOEXEC with the worker's sentence in @err, -ENOMEM. */
int gobin_answer_parse(const void *data, size_t len, struct gobin_answer **ret, struct err *err);
void gobin_answer_free(struct gobin_answer *a);	/* NULL is fine */
const char *gobin_str(const struct gobin_answer *a, uint32_t off);	/* the answer's; never NULL */

/* The same in this process, for tests: @fd is borrowed. -ENOEXEC and a sentence for what is no Go program. */
int gobin_analyse(int fd, const struct gobin_request *q, struct gobin_answer **ret, struct err *err);

/* Names, for people. */
const char *gobin_rule_name(enum gobin_rule r);		/* "grpc.write-header" */
const char *gobin_rule_what(enum gobin_rule r);		/* "HEADERS sent: request, response, trailers" */
uint32_t gobin_rule_sets(enum gobin_rule r);		/* enum gobin_set */
const char *gobin_field_name(enum gobin_field f);	/* "loopyWriter.framer" */
const char *gobin_state_name(enum gobin_state s);
const char *gobin_site_kind_name(enum gobin_site_kind p);
const char *gobin_reg_name(uint16_t machine, uint8_t reg);	/* "AX"; "?" beyond */

#endif
