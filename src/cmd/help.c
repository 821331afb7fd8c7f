// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Help and man pages, derived from the rows: no option or command is named here.
 */
#include "cmd/help.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "cmd/cmd.h"
#include "cmd/daemon/agent_rows.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "probes/sys/sys_table.h"
#include "sonde/wire.h"
#include "source/source.h"

/* ---- topics from the program's tables ---- */

static void list_fields(struct buf *b, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "    %-22s %s\n", fields[i].name, fields[i].doc);
}

/* Prints what @add appends from the event types of every probe. @word: of the command line, may be NULL. */
static int from_registry(void (*add)(const struct registry *reg, const char *word, struct buf *b), const char *word,
			 FILE *out)
{
	struct pipeline *p = NULL;
	struct err err = { 0 };
	struct loop *loop = loop_new();
	struct buf b = { 0 };
	int r = loop ? pipeline_new(loop, &p, &err) : err_errno(&err, -errno, "cannot make an event loop");

	if (r < 0) {
		log_error("%s", err.msg);
		loop_free(loop);
		return CMD_FAIL;
	}
	add(pipeline_registry(p), word, &b);
	pipeline_free(p);
	loop_free(loop);
	return cmd_print(&b, out);
}

static void add_events(const struct registry *reg, _unused_ const char *word, struct buf *b)
{
	const struct event_desc *d;
	size_t pos = 0;

	buf_add_str(b, "Every event:\n");
	list_fields(b, event_common_fields, event_n_common_fields);
	while ((d = registry_next(reg, &pos))) {
		buf_printf(b, "\n%s: %s\n", d->name, d->doc);
		list_fields(b, d->fields, d->n_fields);
	}
}

int help_print_events(FILE *out)
{
	return from_registry(add_events, NULL, out);
}

/* ---- words of expressions, for shells that complete them ---- */

/* The running kernel's. */
static void add_drop_reasons(struct buf *b)
{
	static const char prefix[] = "SKB_DROP_REASON_";
	struct btf *types = btf__load_vmlinux_btf();
	const struct btf_type *t;
	int id = types ? btf__find_by_name_kind(types, "skb_drop_reason", BTF_KIND_ENUM) : -ENOENT;

	t = id < 0 ? NULL : btf__type_by_id(types, (uint32_t)id);
	for (int i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(types, btf_enum(t)[i].name_off);

		if (!strncmp(name, prefix, sizeof(prefix) - 1))
			buf_printf(b, "%s\n", name + sizeof(prefix) - 1);
	}
	btf__free(types);
}

static void add_values(const struct registry *reg, const struct field *f, struct buf *b)
{
	const struct event_desc *d;
	size_t pos = 0;

	for (size_t i = 0; f->xlat && i < f->xlat->n; i++)
		buf_printf(b, "%s\n", f->xlat->vals[i].name);
	if (f->kind == FIELD_BOOL)
		buf_add_str(b, "true\nfalse\n");
	if (f->space == SONDE_NAME_DROP_REASON)
		add_drop_reasons(b);
	for (unsigned i = 0; !strcmp(f->name, "syscall.name") && i < sys_n_calls; i++)
		buf_printf(b, "%s\n", sys_calls[i].name);
	while (!strcmp(f->name, "evt.type") && (d = registry_next(reg, &pos)))
		buf_printf(b, "%s\n", d->name);
}

/* A name for each field, or of the field @word the values that have names. */
static void add_words(const struct registry *reg, const char *word, const struct field *fields, size_t n,
		      struct buf *b)
{
	for (size_t i = 0; i < n; i++)
		if (word && !strcmp(fields[i].name, word))
			add_values(reg, &fields[i], b);
		else if (!word && !strchr(fields[i].name, '['))
			buf_printf(b, "%s\n", fields[i].name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines, and leaves one of equal ones. */
static int sort_lines(struct buf *b)
{
	VEC(char *) lines = { 0 };
	struct buf sorted = { 0 };
	char *rest = (char *)buf_str(b), *line;

	while ((line = strsep(&rest, "\n")) && rest)
		vec_push(&lines, line);
	vec_sort(&lines, by_text);
	for (size_t i = 0; i < lines.len; i++)
		if (!i || strcmp(lines.items[i - 1], lines.items[i]) != 0)
			buf_printf(&sorted, "%s\n", lines.items[i]);
	vec_fini(&lines);
	buf_fini(b);
	*b = sorted;
	return buf_error(b);
}

static void add_fields(const struct registry *reg, const char *word, struct buf *b)
{
	const struct event_desc *d;
	size_t pos = 0;

	add_words(reg, word, event_common_fields, event_n_common_fields, b);
	while ((d = registry_next(reg, &pos)))
		add_words(reg, word, d->fields, d->n_fields, b);
	sort_lines(b);
}

static int help_events(FILE *out, _unused_ const char *word)
{
	return help_print_events(out);
}

static int help_fields(FILE *out, const char *word)
{
	return from_registry(add_fields, word, out);
}

static int help_outputs(FILE *out, _unused_ const char *word)
{
	struct buf b = { 0 };

	for (size_t i = 0; all_sinks[i]; i++)
		buf_printf(&b, "  -o %-10s %s\n", all_sinks[i]->name, all_sinks[i]->summary);
	buf_add_str(&b, "\nFiles that -r reads:\n");
	for (size_t i = 0; all_sources[i]; i++)
		buf_printf(&b, "  %-13s %s\n", all_sources[i]->name, all_sources[i]->summary);
	return cmd_print(&b, out);
}

static int help_filter(FILE *out, _unused_ const char *word)
{
	struct buf b = { 0 };

	buf_add_str(&b, "Event expressions (--where, and the trailing words of commands that show no packets):\n\n"
			"  word op value        = == != < <= > >= contains icontains startswith endswith glob\n"
			"  word in (a, b, ...)  intersects (a, b, ...)  pmatch (path, ...)\n"
			"  word exists          the event has it;  word   it is true or not zero\n"
			"  not x, x and y, x or y, ( )\n\n"
			"Values: numbers (0x...), 10ms, addresses and networks (10.0.0.0/8), names, 'quoted text'.\n"
			"A check on a word that an event lacks is false.\n\n"
			"Examples:\n"
			"  proc.name=nginx and drop.reason in (NO_SOCKET, TCP_CSUM)\n"
			"  net.iface glob 'veth*' and not fd.ip=10.0.0.0/8\n"
			"  evt.type=cpu.block and stack.function glob 'runtime.gc*'\n\n"
			"sonde help events lists the words. Packet words (trailing words of monitor) are those of\n"
			"pcap-filter(7).\n");
	return cmd_print(&b, out);
}

static int help_options(FILE *out, _unused_ const char *word)
{
	struct opt_set set = run_global_set(NULL);
	struct buf b = { 0 };

	set.global = false;
	set.title = "Options of the program, in front of the command or behind it";
	opt_help(&set, 1, OPT_ALL, &b);
	buf_add_str(&b,
		    "  -V, --version     print the version\n  -h, --help [all]  print the options of a command\n");
	return cmd_print(&b, out);
}

static int help_recording(FILE *out, _unused_ const char *word)
{
	const struct opt_set set = { .title = "Rows of agent.conf that are no options, without dashes",
				     .opts = agent_rows_file };
	struct buf b = { 0 };

	opt_help(&set, 1, OPT_ALL, &b);
	return cmd_print(&b, out);
}

/* @word: what follows the topic on the command line; NULL = nothing. */
static const struct { const char *name; int (*print)(FILE *out, const char *word); const char *what;
} topics[] = {
	{ "events", help_events, "every event type with its filter words" },
	{ "fields", help_fields, "the filter words alone; fields WORD: the named values of one" },
	{ "filter", help_filter, "the filter language" },
	{ "options", help_options, "the global options" },
	{ "outputs", help_outputs, "output formats and the files that can be read" },
	{ "recording", help_recording, "recording by the agent: rows of agent.conf" },
};

int help_all(const struct cmd *const *all, FILE *out)
{
	struct buf b = { 0 };

	buf_add_str(&b, "sonde shows what a Linux host is doing, from packets to goroutines.\n\n"
			"Usage: sonde [GLOBAL OPTIONS] COMMAND [OPTIONS] [WORDS]\n\nCommands:\n");
	for (size_t i = 0; all[i]; i++)
		buf_printf(&b, "  %-12s %s\n", all[i]->name, all[i]->summary);
	buf_add_str(&b, "\nTopics (sonde help TOPIC):\n");
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		buf_printf(&b, "  %-12s %s\n", topics[i].name, topics[i].what);
	buf_add_str(&b, "\nsonde COMMAND --help lists the options of a command; sonde -V prints the version.\n");
	return cmd_print(&b, out);
}

/* ---- man pages ---- */

/* Roff eats a leading dot or quote and backslashes. */
static void add_roff(struct buf *b, const char *s)
{
	bool at_start = true;

	for (; *s; s++) {
		if (at_start && (*s == '.' || *s == '\''))
			buf_add_str(b, "\\&");
		if (*s == '\\')
			buf_add_str(b, "\\e");
		else if (*s == '-')
			buf_add_str(b, "\\-");
		else
			buf_add_char(b, *s);
		at_start = *s == '\n';
	}
}

static void add_paragraphs(struct buf *b, const char *doc)
{
	bool first = true;

	while (doc && *doc) {
		const char *end = strstr(doc, "\n\n");
		size_t len = end ? (size_t)(end - doc) : strlen(doc);
		char *one = strndup(doc, len);

		if (!first)	/* a heading starts its own paragraph */
			buf_add_str(b, ".PP\n");
		first = false;
		if (one)
			add_roff(b, one);
		buf_add_char(b, '\n');
		free(one);
		doc = end ? end + 2 : NULL;
	}
}

static void add_upper(struct buf *b, const char *s)
{
	for (; *s; s++)
		buf_add_char(b, (char)toupper((unsigned char)*s));
}

static int man_cmd(const struct cmd *cmd, FILE *out)
{
	struct opt_set sets[CMD_MAX_SETS];
	struct buf b = { 0 };
	int n = cmd_option_sets(cmd, NULL, sets);

	if (n < 0)
		return CMD_FAIL;
	buf_add_str(&b, ".TH SONDE\\-");
	add_upper(&b, cmd->name);
	buf_printf(&b, " 1 \"\" \"sonde %s\" \"sonde manual\"\n.SH NAME\nsonde\\-%s \\- ", SONDE_VERSION, cmd->name);
	add_roff(&b, cmd->summary);
	buf_printf(&b, "\n.SH SYNOPSIS\n.B sonde %s\n.RI [ options ]", cmd->name);
	if (*cmd->args)
		buf_printf(&b, "\n.I \"%s\"", cmd->args);
	buf_add_str(&b, "\n.SH DESCRIPTION\n");
	add_paragraphs(&b, cmd->doc);
	opt_man(sets, (size_t)n, &b);
	for (const struct cmd_example *e = cmd->examples; e && e->line; e++) {
		buf_add_str(&b, e == cmd->examples ? ".SH EXAMPLES\n.TP\n.B \"" : ".TP\n.B \"");
		add_roff(&b, e->line);
		buf_add_str(&b, "\"\n");
		add_roff(&b, e->what);
		buf_add_char(&b, '\n');
	}
	buf_add_str(&b, ".SH EXIT STATUS\n0 success, 1 failure, 2 usage, 3 not permitted, 128+n after signal n.\n"
			".SH SEE ALSO\n.BR sonde (1)\n");
	cmd_free_sets(sets, n);
	return cmd_print(&b, out);
}

static int man_all(const struct cmd *const *all, FILE *out)
{
	struct opt_set global = run_global_set(NULL);
	struct buf b = { 0 };

	buf_printf(&b, ".TH SONDE 1 \"\" \"sonde %s\" \"sonde manual\"\n"
		       ".SH NAME\nsonde \\- what a Linux host is doing, "
		       "from packets to goroutines\n.SH SYNOPSIS\n.B sonde\n.I command\n.RI [ options ] [ words ]\n"
		       ".SH COMMANDS\n", SONDE_VERSION);
	for (size_t i = 0; all[i]; i++) {
		buf_printf(&b, ".TP\n.BR sonde\\-%s (1)\n", all[i]->name);
		add_roff(&b, all[i]->summary);
		buf_add_char(&b, '\n');
	}
	global.global = false;
	global.title = "Global options";
	buf_add_str(&b, ".SH OPTIONS\n");
	opt_man(&global, 1, &b);
	return cmd_print(&b, out);
}

/* ---- the commands ---- */

struct help_conf { bool man; };

static const struct opt help_opts[] = {
	OPT_ROW(help_conf, man, "man", 0, OPT_BOOL, NULL, "print the manual page in roff"),
	OPT_END,
};

static size_t help_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ "Options", help_opts, conf };
	return 1;
}

static int help_run(void *conf, const struct cmd_words *w)
{
	bool long_texts = w->words.len > 1 && !strcmp(w->words.items[1], "all");
	const struct help_conf *c = conf;
	const struct cmd *cmd;

	if (!w->words.len)
		return c->man ? man_all(w->all, stdout) : help_all(w->all, stdout);
	cmd = cmd_find(w->all, w->words.items[0]);
	if (cmd)
		return c->man ? man_cmd(cmd, stdout) : cmd_print_help(cmd, long_texts ? OPT_ALL : OPT_SHORT, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		if (!strcmp(topics[i].name, w->words.items[0]))
			return topics[i].print(stdout, w->words.len > 1 ? w->words.items[1] : NULL);
	log_error("no help on %s; topics are the commands and events, fields, filter, options, outputs, recording",
		  w->words.items[0]);
	return CMD_USAGE;
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "help on a command or topic",
	.args = "[COMMAND [all] | TOPIC]",
	.doc = "Prints the help of a command, or one of the lists: events (every event type with its filter words), "
	       "fields [WORD] (these words alone, or the named values of one), filter (the filter language), "
	       "options (the global options), outputs (formats written and read). "
	       "COMMAND all prints the long texts too.",
	.conf_size = sizeof(struct help_conf),
	.sets = help_sets,
	.run = help_run,
};

struct version_conf {
	bool json;
};

static const struct opt version_opts[] = {
	OPT_ROW(version_conf, json, "json", 'j', OPT_BOOL, NULL, "one JSON object"),
	OPT_END,
};

static size_t version_sets(void *conf, struct opt_set *ret_sets)
{
	ret_sets[0] = (struct opt_set){ .title = "Options", .opts = version_opts, .conf = conf };
	return 1;
}

static int version_run(void *conf, _unused_ const struct cmd_words *w)
{
	const struct version_conf *c = conf;

	return cmd_print_version(stdout, c->json);
}

const struct cmd cmd_version = {
	.name = "version",
	.summary = "the version of this program",
	.args = "",
	.doc = "Prints the version.",
	.conf_size = sizeof(struct version_conf),
	.sets = version_sets,
	.run = version_run,
};
