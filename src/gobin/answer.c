// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encodes the answer: the struct, then strings of which the first is empty. Host byte order: both ends are the same
 * program. The parser does not trust the worker: it checks every enum and offset before use.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "gobin/job.h"

#define STRINGS_MAX (128u << 10)

uint32_t answer_str(struct job *j, const char *s)
{
	size_t at = j->strings.len, len = strlen(s) + 1;

	if (len == 1 || at + len > STRINGS_MAX || buf_add(&j->strings, s, len) < 0)
		return 0;
	return (uint32_t)at;
}

uint32_t answer_strf(struct job *j, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return answer_str(j, text);
}

static bool loc_ok(const struct gobin_loc *l, uint32_t strings)
{
	return l->where < GOBIN_WHERE__MAX && l->reg < 32 && l->size <= 8 && l->name < strings;
}

static bool rule_ok(const struct gobin_rule_answer *r, uint32_t strings)
{
	if (r->state >= GOBIN_STATE__MAX || r->why >= strings || r->site.symbol >= strings ||
	    r->site.kind >= GOBIN_SITE_KIND__MAX || r->site.n_args > GOBIN_ARGS_MAX ||
	    r->site.insn_len > GOBIN_INSN_MAX || r->site.n_returns > GOBIN_RETURNS_MAX)
		return false;
	return !FIND_ITEM(it, r->site.args, GOBIN_ARGS_MAX, !loc_ok(it, strings));
}

static bool conn_ok(const struct gobin_conn *c, uint32_t strings)
{
	if (c->name >= strings || c->direct > 1 || c->n_ways > GOBIN_CONN_WAYS)
		return false;
	return !FIND_ITEM(it, c->ways, GOBIN_CONN_WAYS, it->how >= GOBIN_CONN__MAX);
}

static bool answer_ok(const struct gobin_answer *a, uint32_t strings)
{
	bool ok = a->mode < GOBIN_MODE__MAX && a->abi < GOBIN_ABI__MAX && a->n_build_id <= GOBIN_BUILD_ID_MAX &&
		  a->go_version < strings && a->go_build_id < strings && a->module < strings &&
		  a->grpc_version < strings && a->xnet_version < strings && a->types_why < strings &&
		  a->dwarf_why < strings && a->version_source < strings;

	for (int i = 0; i < GOBIN_RULE__MAX; i++)
		ok = ok && rule_ok(&a->rules[i], strings);
	for (int i = 0; i < GOBIN_F__MAX; i++)
		ok = ok && a->fields[i].name < strings && a->fields[i].off >= -1;
	for (int i = 0; i < GOBIN_T__MAX; i++)
		ok = ok && a->types_of[i].name < strings;
	for (int i = 0; i < GOBIN_I__MAX; i++)
		ok = ok && a->itabs[i].name < strings;
	ok = ok && a->n_conns <= GOBIN_CONNS_MAX;
	for (uint32_t i = 0; ok && i < a->n_conns; i++)
		ok = conn_ok(&a->conns[i], strings);
	return ok;
}

static int load_error(const void *data, size_t len, struct err *err)
{
	const char *text = (const char *)data + sizeof(uint32_t);
	size_t text_len = len - sizeof(uint32_t);

	return err_set(err, -ENOEXEC, "%.*s", (int)strnlen(text, MIN(text_len, (size_t)400)), text);
}

int gobin_answer_parse(const void *data, size_t len, struct gobin_answer **ret, struct err *err)
{
	_cleanup_free_ struct gobin_answer *a = NULL;
	uint32_t magic = 0;

	if (len >= sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	if (magic == GOBIN_LOAD_ERROR)
		return load_error(data, len, err);
	if (magic != GOBIN_MAGIC || len <= sizeof(*a) || len > GOBIN_ANSWER_CAP || ((const char *)data)[len - 1])
		return err_set(err, -EBADMSG, "the analysis of the Go program gave no answer that can be read");
	a = malloc(len);
	if (!a)
		return err_set(err, -ENOMEM, "no memory for the analysis of a Go program");
	memcpy(a, data, len);
	if (a->len != len || !answer_ok(a, (uint32_t)(len - sizeof(*a))))
		return err_set(err, -EBADMSG, "the analysis of the Go program gave no answer that can be read");
	*ret = TAKE_PTR(a);
	return 0;
}

void gobin_answer_free(struct gobin_answer *a)
{
	free(a);
}

const char *gobin_str(const struct gobin_answer *a, uint32_t off)
{
	return off < a->len - sizeof(*a) ? (const char *)(a + 1) + off : "";
}

/* ---- names ---- */

#define GOBIN_RULE(id, name, sets, what) [GOBIN_##id] = { name, what, sets },
static const struct {
	const char *name, *what;
	uint32_t sets;
} rule_names[GOBIN_RULE__MAX] = {
#include "gobin/rules.def"
};

#define GOBIN_FIELD(id, pkg, structure, field) [GOBIN_F_##id] = #pkg " " structure "." field,
static const char *const field_names[GOBIN_F__MAX] = {
#include "gobin/fields.def"
};

const char *gobin_rule_name(enum gobin_rule r)
{
	return rule_names[r].name;
}

const char *gobin_rule_what(enum gobin_rule r)
{
	return rule_names[r].what;
}

uint32_t gobin_rule_sets(enum gobin_rule r)
{
	return rule_names[r].sets;
}

const char *gobin_field_name(enum gobin_field f)
{
	return field_names[f];
}

const char *gobin_state_name(enum gobin_state s)
{
	static const char *const names[] = {
		[GOBIN_READY] = "ready", [GOBIN_NO_PACKAGE] = "not in the program",
		[GOBIN_NO_FUNCTION] = "function missing", [GOBIN_NO_FIELD] = "member missing",
		[GOBIN_NO_TYPE] = "type missing", [GOBIN_NO_ABI] = "arguments unknown",
		[GOBIN_NO_SITE] = "code unknown", [GOBIN_CONTRADICTION] = "sources disagree",
		[GOBIN_OTHER_WAY] = "not needed",
	};
	_Static_assert(ARRAY_SIZE(names) == GOBIN_STATE__MAX, "a name per state");

	return names[s];
}

const char *gobin_site_kind_name(enum gobin_site_kind p)
{
	static const char *const names[] = {
		[GOBIN_AT_ENTRY] = "entry", [GOBIN_AT_BRANCH] = "branch of the stack check",
		[GOBIN_AT_FIRST] = "first instruction",
	};
	_Static_assert(ARRAY_SIZE(names) == GOBIN_SITE_KIND__MAX, "a name per place");

	return names[p];
}

const char *gobin_reg_name(uint16_t machine, uint8_t reg)
{
	static const char *const amd64[] = { "AX", "BX", "CX", "DI", "SI", "R8", "R9", "R10", "R11" };
	static const char *const arm64[] = { "R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7",
					     "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15" };

	if (machine == EM_X86_64 && reg < ARRAY_SIZE(amd64))
		return amd64[reg];
	return machine == EM_AARCH64 && reg < ARRAY_SIZE(arm64) ? arm64[reg] : "?";
}
