// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Explains a Go program: the findings of src/gobin, as text or JSON. The file is read in a worker.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/rpc/rpc.h"
#include "event/json.h"
#include "gobin/gobin.h"
#include "worker/worker.h"

#define CPU_SECONDS 60
#define TIMEOUT_NS (60ull * NS_PER_S)
#define MEMORY_BYTES (1024ull << 20)	/* DWARF of the largest programs, unpacked */
#define BUDGET_BYTES (768ull << 20)

static const char *const mode_names[] = {
	[GOBIN_EXE] = "executable", [GOBIN_PIE] = "position-independent executable",
	[GOBIN_SHARED] = "shared object", [GOBIN_PLUGIN] = "plugin",
};
_Static_assert(ARRAY_SIZE(mode_names) == GOBIN_MODE__MAX, "a name per mode");

static const char *const abi_names[] = {
	[GOBIN_ABI_UNKNOWN] = "unknown", [GOBIN_ABI0] = "on the stack", [GOBIN_ABI_REGS] = "in registers",
};
_Static_assert(ARRAY_SIZE(abi_names) == GOBIN_ABI__MAX, "a name per ABI");

/* By bit of enum gobin_source. */
static const char *const source_names[] = { "types", "DWARF", "rules of passing", "symbol table", ".gopclntab",
					    "equal in every release so far" };

/* ---- reading ---- */

static int open_target(const char *what, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	struct stat st;
	uint32_t pid;
	bool process = str_to_u32(what, 10, &pid) == 0;

	if (process) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	} else {
		fd = open(what, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0 && process && errno == ENOENT)
		return err_set(err, -ESRCH, "no such process: %s", what);
	if (fd < 0)
		return process ? err_errno(err, -errno, "cannot read the program of process %s", what) :
				 err_errno(err, -errno, "cannot open %s", what);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a regular file", what);
	return TAKE_FD(fd);
}

static int read_target(int fd, struct gobin_answer **ret, struct err *err)
{
	const struct worker_opts o = { .name = "sonde-gobin", .memory_bytes = MEMORY_BYTES,
				       .cpu_seconds = CPU_SECONDS };
	struct gobin_request q = { .budget_bytes = BUDGET_BYTES };
	_cleanup_free_ void *data = malloc(GOBIN_ANSWER_CAP);
	ssize_t n;

	if (!data)
		return err_set(err, -ENOMEM, "out of memory");
	n = worker_call(&o, gobin_run, &q, fd, data, GOBIN_ANSWER_CAP, TIMEOUT_NS, err);
	return n < 0 ? (int)n : gobin_answer_parse(data, (size_t)n, ret, err);
}

/* ---- text ---- */

/* A string from the file, with control bytes escaped. */
static void add_str(struct buf *b, const struct gobin_answer *a, uint32_t off)
{
	const char *s = gobin_str(a, off);

	str_escape_buf(b, s, strlen(s));
}

static void add_sources(struct buf *b, uint8_t sources)
{
	bool first = true;

	for (unsigned i = 0; i < ARRAY_SIZE(source_names); i++) {
		if (!(sources & 1u << i))
			continue;
		buf_printf(b, "%s%s", first ? "" : " = ", source_names[i]);
		first = false;
	}
}

static void add_loc(struct buf *b, const struct gobin_answer *a, const struct gobin_loc *l)
{
	if (l->where == GOBIN_IN_REG)
		buf_add_str(b, gobin_reg_name(a->machine, l->reg));
	else if (l->where == GOBIN_ON_STACK)
		buf_printf(b, "SP+%d", l->off);
	else
		buf_add_char(b, '?');
}

static void text_version(struct buf *b, const char *name, const struct gobin_answer *a, uint32_t off)
{
	if (!*gobin_str(a, off))
		return;
	buf_printf(b, "%s ", name);
	add_str(b, a, off);
	buf_add_str(b, " by build information (a hint)\n");
}

static void text_head(struct buf *b, const struct gobin_answer *a)
{
	bool known = *gobin_str(a, a->go_version);

	if (known)
		add_str(b, a, a->go_version);
	buf_printf(b, "%s, %s, %s, arguments %s\n", known ? "" : "a Go release that is not named",
		   mode_names[a->mode], a->machine == EM_X86_64 ? "x86-64" : "arm64", abi_names[a->abi]);
	if (known)
		buf_printf(b, "release by %s\n", gobin_str(a, a->version_source));
	if (*gobin_str(a, a->module)) {
		buf_add_str(b, "main package ");
		add_str(b, a, a->module);
		buf_add_char(b, '\n');
	}
	text_version(b, "google.golang.org/grpc", a, a->grpc_version);
	text_version(b, "golang.org/x/net", a, a->xnet_version);
	if (!a->n_deps)
		buf_add_str(b, "the build information names no modules; nothing depends on them\n");
	buf_printf(b, "functions: %" PRIu32 " in .gopclntab%s\n", a->n_functions,
		   a->has_symtab ? ", and a symbol table" : ", no symbol table");
	if (*gobin_str(a, a->types_why))
		buf_printf(b, "types: none: %s\n", gobin_str(a, a->types_why));
	else
		buf_printf(b, "types: %" PRIu32 " from %" PRIu32 " itabs, module data at 0x%" PRIx64 "\n", a->n_types,
			   a->n_itabs, a->moduledata);
	if (*gobin_str(a, a->dwarf_why))
		buf_printf(b, "DWARF: none: %s\n", gobin_str(a, a->dwarf_why));
	else
		buf_add_str(b, "DWARF: read, and compared with the above\n");
}

static void text_site(struct buf *b, const struct gobin_answer *a, const struct gobin_site *s)
{
	buf_add_str(b, "      ");
	add_str(b, a, s->symbol);
	buf_printf(b, "+%" PRIu64 "\n      %s, file offset 0x%" PRIx64 ", bytes", s->addr - s->function,
		   gobin_site_kind_name(s->kind), s->file_off);
	for (unsigned i = 0; i < s->insn_len; i++)
		buf_printf(b, " %02x", s->insn[i]);
	buf_add_str(b, "\n     ");
	for (unsigned i = 0; i < s->n_args; i++) {
		buf_add_char(b, ' ');
		add_str(b, a, s->args[i].name);
		buf_add_char(b, '=');
		add_loc(b, a, &s->args[i]);
	}
	buf_add_str(b, " by ");
	add_sources(b, s->n_args ? s->args[0].sources : 0);
	buf_add_str(b, "; function by ");
	add_sources(b, s->sources);
	buf_add_char(b, '\n');
}

static void text_rules(struct buf *b, const struct gobin_answer *a, bool absent)
{
	for (int i = 0; i < GOBIN_RULE__MAX; i++) {
		const struct gobin_rule_answer *r = &a->rules[i];

		if ((r->state == GOBIN_NO_PACKAGE) != absent)
			continue;
		buf_printf(b, "  %-21s %-17s %s", gobin_rule_name(i), gobin_state_name(r->state),
			   r->state == GOBIN_READY ? gobin_rule_what(i) : "");
		if (r->state != GOBIN_READY)
			add_str(b, a, r->why);
		buf_add_char(b, '\n');
		if (r->state == GOBIN_READY)
			text_site(b, a, &r->site);
	}
}

static void text_fields(struct buf *b, const struct gobin_answer *a)
{
	buf_add_str(b, "members (offset in bytes)\n");
	each_item(f, a->fields, GOBIN_F__MAX) {
		if (!f->sources)
			continue;
		buf_printf(b, "  %5d  ", f->off);
		add_str(b, a, f->name);
		buf_add_str(b, "  by ");
		add_sources(b, f->sources);
		if (f->off < 0)
			buf_printf(b, ", which disagree: %d and %d", f->by_types, f->by_dwarf);
		buf_add_char(b, '\n');
	}
}

static void text_types(struct buf *b, const char *title, const struct gobin_answer *a,
		       const struct gobin_type_answer *t, int n)
{
	buf_printf(b, "%s\n", title);
	for (int i = 0; i < n; i++) {
		if (!t[i].sources)
			continue;
		buf_printf(b, "  0x%" PRIx64 "  ", t[i].addr);
		add_str(b, a, t[i].name);
		buf_add_str(b, "  by ");
		add_sources(b, t[i].sources);
		if (!t[i].addr)
			buf_printf(b, ", which disagree: 0x%" PRIx64 " and 0x%" PRIx64, t[i].by_types, t[i].by_dwarf);
		buf_add_char(b, '\n');
	}
}

static const char *const conn_hows[] = {
	[GOBIN_CONN_NONE] = "nothing", [GOBIN_CONN_FD] = "descriptor", [GOBIN_CONN_IFACE] = "net.Conn",
	[GOBIN_CONN_POINTER] = "pointer", [GOBIN_CONN_MAYBE] = "interface, tried",
};
_Static_assert(ARRAY_SIZE(conn_hows) == GOBIN_CONN__MAX, "a name per way");

static void text_conns(struct buf *b, const struct gobin_answer *a)
{
	buf_add_str(b, "connections (types with the methods of net.Conn; offset of the connection inside)\n");
	each_item(c, a->conns, a->n_conns) {
		buf_printf(b, "  0x%" PRIx64 "  ", c->type);
		add_str(b, a, c->name);
		for (unsigned k = 0; k < c->n_ways; k++)
			buf_printf(b, "%s%u %s", k ? ", then +" : "  +", c->ways[k].off, conn_hows[c->ways[k].how]);
		if (!c->n_ways)
			buf_add_str(b, c->n_plain ? "  no socket: several members could be it" :
						    "  no socket: no connection inside");
		buf_add_char(b, '\n');
	}
	if (a->n_conns_left)
		buf_printf(b, "  no room for %" PRIu32 " more\n", a->n_conns_left);
}

static void text(struct buf *b, const struct gobin_answer *a, bool layout)
{
	unsigned absent = 0;

	text_head(b, a);
	buf_add_str(b, "rules\n");
	text_rules(b, a, false);
	for (int i = 0; i < GOBIN_RULE__MAX; i++)
		absent += a->rules[i].state == GOBIN_NO_PACKAGE;
	if (absent && !layout)
		buf_printf(b, "  %u more are for packages that are not in the program (-v lists them)\n",
			   absent);
	if (!layout)
		return;
	text_rules(b, a, true);
	text_fields(b, a);
	text_types(b, "types (address of the pointer's descriptor, as linked)", a, a->types_of, GOBIN_T__MAX);
	text_types(b, "itabs (address as linked)", a, a->itabs, GOBIN_I__MAX);
	text_conns(b, a);
}

/* ---- JSON ---- */

static void json_sources(struct json *j, uint8_t sources)
{
	static const char *const keys[] = { "types", "dwarf", "abi", "symtab", "pclntab", "table" };

	_Static_assert(ARRAY_SIZE(keys) == ARRAY_SIZE(source_names), "both by bit of enum gobin_source");
	json_put_open(j, "sources", '[');
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
		if (sources & 1u << i)
			json_str(j, keys[i], strlen(keys[i]));
	json_close(j, ']');
}

static void json_begin(struct json *j, const char *type)
{
	j->comma = false;
	json_open(j, '{');
	json_put_u64(j, "v", 1);
	json_put_text(j, "type", type);
}

static void json_end(struct json *j)
{
	json_close(j, '}');
	buf_add_char(j->out, '\n');
}

static void json_head(struct json *j, const struct gobin_answer *a)
{
	json_begin(j, "go_program");
	json_put_text(j, "go", gobin_str(a, a->go_version));
	json_put_text(j, "go_source", gobin_str(a, a->version_source));
	json_put_text(j, "mode", mode_names[a->mode]);
	json_put_text(j, "machine", a->machine == EM_X86_64 ? "x86_64" : "arm64");
	json_put_text(j, "arguments", abi_names[a->abi]);
	json_put_text(j, "main", gobin_str(a, a->module));
	json_put_text(j, "grpc", gobin_str(a, a->grpc_version));
	json_put_text(j, "xnet", gobin_str(a, a->xnet_version));
	json_put_text(j, "go_build_id", gobin_str(a, a->go_build_id));
	json_put_u64(j, "functions", a->n_functions);
	json_put_u64(j, "types", a->n_types);
	json_put_u64(j, "itabs", a->n_itabs);
	json_put_u64(j, "moduledata", a->moduledata);
	json_put_text(j, "no_types", gobin_str(a, a->types_why));
	json_put_text(j, "no_dwarf", gobin_str(a, a->dwarf_why));
	json_end(j);
}

static void json_arg(struct json *j, const struct gobin_answer *a, const struct gobin_loc *l)
{
	json_open(j, '{');
	json_put_text(j, "name", gobin_str(a, l->name));
	if (l->where == GOBIN_IN_REG)
		json_put_text(j, "reg", gobin_reg_name(a->machine, l->reg));
	if (l->where == GOBIN_ON_STACK)
		json_put_i64(j, "sp", l->off);
	json_put_u64(j, "size", l->size);
	json_sources(j, l->sources);
	json_close(j, '}');
}

static void json_site(struct json *j, const struct gobin_answer *a, const struct gobin_site *s)
{
	char hex[2 * GOBIN_INSN_MAX + 1] = "";

	for (unsigned i = 0; i < s->insn_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", s->insn[i]);
	json_put_text(j, "function", gobin_str(a, s->symbol));
	json_put_u64(j, "entry", s->function);
	json_put_u64(j, "addr", s->addr);
	json_put_u64(j, "file_offset", s->file_off);
	json_put_text(j, "place", gobin_site_kind_name(s->kind));
	json_put_text(j, "bytes", hex);
	json_sources(j, s->sources);
	json_put_open(j, "args", '[');
	for (unsigned i = 0; i < s->n_args; i++)
		json_arg(j, a, &s->args[i]);
	json_close(j, ']');
}

static void json_rules(struct json *j, const struct gobin_answer *a)
{
	for (int i = 0; i < GOBIN_RULE__MAX; i++) {
		const struct gobin_rule_answer *r = &a->rules[i];

		json_begin(j, "rule");
		json_put_text(j, "rule", gobin_rule_name(i));
		json_put_text(j, "state", gobin_state_name(r->state));
		json_put_text(j, "why", gobin_str(a, r->why));
		if (r->state == GOBIN_READY)
			json_site(j, a, &r->site);
		json_end(j);
	}
}

static void json_fields(struct json *j, const struct gobin_answer *a)
{
	for (int i = 0; i < GOBIN_F__MAX; i++) {
		const struct gobin_field_answer *f = &a->fields[i];

		json_begin(j, "member");
		json_put_text(j, "row", gobin_field_name(i));
		json_put_text(j, "name", gobin_str(a, f->name));
		json_put_i64(j, "offset", f->off);
		json_put_i64(j, "by_types", f->by_types);
		json_put_i64(j, "by_dwarf", f->by_dwarf);
		json_put_u64(j, "size", f->size);
		json_sources(j, f->sources);
		json_end(j);
	}
}

static void json_types(struct json *j, const char *kind, const struct gobin_answer *a,
		       const struct gobin_type_answer *t, int n)
{
	for (int i = 0; i < n; i++) {
		json_begin(j, kind);
		json_put_text(j, "name", gobin_str(a, t[i].name));
		json_put_u64(j, "addr", t[i].addr);
		json_put_u64(j, "by_types", t[i].by_types);
		json_put_u64(j, "by_dwarf", t[i].by_dwarf);
		json_sources(j, t[i].sources);
		json_end(j);
	}
}

static void json_conns(struct json *j, const struct gobin_answer *a)
{
	each_item(c, a->conns, a->n_conns) {
		json_begin(j, "connection");
		json_put_text(j, "name", gobin_str(a, c->name));
		json_put_u64(j, "addr", c->type);
		for (unsigned k = 0; k < c->n_ways; k++) {
			static const char *const offsets[] = { "offset", "offset2", "offset3" };
			static const char *const ways[] = { "inside", "inside2", "inside3" };

			json_put_u64(j, offsets[k], c->ways[k].off);
			json_put_text(j, ways[k], conn_hows[c->ways[k].how]);
		}
		json_end(j);
	}
}

static void json(struct buf *b, const struct gobin_answer *a, bool layout)
{
	struct json j = { .out = b };

	json_head(&j, a);
	json_rules(&j, a);
	if (!layout)
		return;
	json_fields(&j, a);
	json_types(&j, "descriptor", a, a->types_of, GOBIN_T__MAX);
	json_types(&j, "itab", a, a->itabs, GOBIN_I__MAX);
	json_conns(&j, a);
}

int rpc_explain(const struct rpc_explain *conf, const char *what)
{
	struct gobin_answer *a = NULL;
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct err err = { 0 };
	_cleanup_close_ int fd = open_target(what, &err);
	int r = fd < 0 ? fd : read_target(fd, &a, &err);
	bool failed;

	if (r == -ENOEXEC && conf->any) {
		if (!strncmp(err.msg, "a Go program", strlen("a Go program")))
			log_warn("%s: %s", what, err.msg);
		return CMD_OK;
	}
	if (r < 0) {
		log_error("%s%s%s", fd < 0 ? "" : what, fd < 0 ? "" : ": ", err.msg);
		return cmd_exit_status(r);
	}
	if (conf->json)
		json(&out, a, conf->layout);
	else
		text(&out, a, conf->layout);
	failed = buf_error(&out) < 0 || fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout);
	gobin_answer_free(a);
	return failed ? CMD_FAIL : CMD_OK;
}
