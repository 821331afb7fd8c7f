// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of the rows of the dialects: shares, help, objects for the tables of doc/COMPATIBILITY.md.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "compat/compat.h"
#include "event/json.h"

enum status { SAME, DIFFERENT, REFUSED, STATUS__MAX };

static const char *const status_names[] = { [SAME] = "same", [DIFFERENT] = "different", [REFUSED] = "refused" };
_Static_assert(sizeof(status_names) / sizeof(*status_names) == STATUS__MAX, "a name per status");

static enum status status_of(const struct opt *o)
{
	return o->refused ? REFUSED : o->differs ? DIFFERENT : SAME;
}

static const char *text_of(const struct opt *o)
{
	return o->refused ? o->refused : o->differs ? o->differs : o->help;
}

static void full_name(const struct dialect *d, char ret[static 64])
{
	snprintf(ret, 64, "%s%s%s", d->tool, d->verb ? " " : "", d->verb ? d->verb : "");
}

/* ---- the list ---- */

static void count_rows(const struct opt *rows, unsigned ret_by[static STATUS__MAX])
{
	memset(ret_by, 0, STATUS__MAX * sizeof(*ret_by));
	for (const struct opt *o = rows; opt_is_row(o); o++)
		ret_by[status_of(o)]++;
}

/* A row for each dialect; @tool NULL: of all tools. 0 or -ENOMEM. */
static int add_list(const char *tool, struct buf *b)
{
	for (size_t i = 0; compat_dialects[i]; i++) {
		const struct dialect *d = compat_dialects[i];
		struct opt_set sets[CMD_MAX_SETS];
		unsigned by[STATUS__MAX], all, honoured;
		char name[64];
		int n;

		if (tool && strcmp(d->tool, tool) != 0)
			continue;
		n = cmd_option_sets(d->cmd, NULL, sets);
		if (n < 0)
			return n;
		full_name(d, name);
		count_rows(sets[0].opts, by);
		honoured = by[SAME] + by[DIFFERENT];
		all = honoured + by[REFUSED];
		buf_printf(b, "  sonde compat %-20s %3u of %3u (%3u %%)  %s\n", name, honoured, all,
			   all ? 100 * honoured / all : 0, d->cmd->summary);
		cmd_free_sets(sets, n);
	}
	return 0;
}

int compat_print_verbs(const char *tool, FILE *out)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	buf_printf(&b,
		   "Usage: sonde compat %s COMMAND [ARGUMENTS]\n\n"
		   "Commands, with the share of their options that is honoured:\n",
		   tool);
	if (add_list(tool, &b) < 0)
		return CMD_FAIL;
	buf_printf(&b, "sonde compat %s COMMAND --help lists the options of each.\n", tool);
	return cmd_print(&b, out);
}

int compat_print_list(FILE *out)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	buf_add_str(&b, "sonde compat: command lines of other tools\n\nUsage: sonde compat TOOL [ARGUMENTS]\n\n"
			"Tools, with the share of their options that is honoured:\n");
	if (add_list(NULL, &b) < 0)
		return CMD_FAIL;
	buf_add_str(&b, "sonde compat TOOL --help lists the options of each. A link sonde-TOOL is\n"
			"sonde compat TOOL.\n");
	return cmd_print(&b, out);
}

/* ---- one object per row ---- */

static void add_object(const char *tool, const struct opt *o, struct buf *b)
{
	const char letter[] = { o->key, '\0' };
	struct json j = { .out = b };

	json_open(&j, '{');
	json_put_u64(&j, "v", 1);
	json_put_text(&j, "tool", tool);
	json_put_text(&j, "option", o->name);
	json_put_text(&j, "letter", o->key ? letter : NULL);
	json_put_text(&j, "arg", o->arg);
	json_put_bool(&j, "optional", o->optional || o->kind == OPT_MAYBE);
	json_put_text(&j, "status", status_names[status_of(o)]);
	json_put_text(&j, "text", text_of(o));
	json_close(&j, '}');
	buf_add_char(b, '\n');
}

int compat_print_rows(FILE *out)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	for (size_t i = 0; compat_dialects[i]; i++) {
		struct opt_set sets[CMD_MAX_SETS];
		int n = cmd_option_sets(compat_dialects[i]->cmd, NULL, sets);
		char name[64];

		if (n < 0)
			return CMD_FAIL;
		full_name(compat_dialects[i], name);
		for (const struct opt *o = sets[0].opts; opt_is_row(o); o++)
			add_object(name, o, &b);
		cmd_free_sets(sets, n);
	}
	return cmd_print(&b, out);
}

/* ---- help ---- */

/* The rows of one status, with the text that says most about them; owned by the caller. */
static struct opt *rows_of(const struct opt *rows, enum status status)
{
	size_t n = 0, kept = 0;
	struct opt *copy;

	while (opt_is_row(&rows[n]))
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		if (status_of(&rows[i]) != status)
			continue;
		copy[kept] = rows[i];
		copy[kept++].help = text_of(&rows[i]);
	}
	return copy;
}

static int add_rows(const struct opt *rows, struct buf *b)
{
	static const char *const titles[] = {
		[SAME] = "As in the tool",
		[DIFFERENT] = "Different from the tool",
		[REFUSED] = "Refused, with the native way",
	};
	struct opt_set by[STATUS__MAX];
	bool ok = true;

	for (unsigned i = 0; i < STATUS__MAX; i++) {
		by[i] = (struct opt_set){ .title = titles[i], .opts = rows_of(rows, (enum status)i) };
		ok = ok && by[i].opts;
	}
	if (ok)
		opt_help(by, STATUS__MAX, OPT_SHORT, b);
	cmd_free_sets(by, STATUS__MAX);
	return ok ? 0 : -1;
}

int compat_print_help(const struct dialect *d, FILE *out)
{
	const struct cmd_example *e = d->cmd->examples;
	struct opt_set sets[CMD_MAX_SETS];
	struct buf b = { 0 };
	int n = cmd_option_sets(d->cmd, NULL, sets), r;

	if (n < 0)
		return CMD_FAIL;
	buf_printf(&b, "sonde %s: %s\n\nUsage: sonde %s [OPTIONS] %s\n\n", d->cmd->name, d->cmd->summary,
		   d->cmd->name, d->cmd->args);
	cmd_add_wrapped(&b, d->cmd->doc);
	buf_add_str(&b, "\nExamples:\n");
	for (; e && e->line; e++)
		buf_printf(&b, "  %s   # %s\n", e->line, e->what);
	r = add_rows(sets[0].opts, &b);
	if (d->native)
		buf_printf(&b, "\nOptions of sonde %s work too unless the tool has their name or letter.\n",
			   d->native);
	cmd_free_sets(sets, n);
	if (r < 0)
		buf_fini(&b);
	return r < 0 ? CMD_FAIL : cmd_print(&b, out);
}
