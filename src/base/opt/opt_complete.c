// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion scripts for bash, zsh and fish out of the option rows.
 * Formats: bash(1) "Programmable Completion", zshcompsys(1) _arguments, fish complete(1).
 *
 * Words of expressions come from the program itself: `PROGRAM help fields` prints the fields, `PROGRAM help fields
 * FIELD` the named values of one.
 */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/opt.h"

const char *const opt_shell_names[] = { "bash", "zsh", "fish", NULL };
_Static_assert(ARRAY_SIZE(opt_shell_names) == OPT_SHELL__MAX + 1, "a name per shell");

/* Candidates for the value of an option. */
enum offer { OFFER_NONE, OFFER_WORDS, OFFER_FILES, OFFER_DIRS, OFFER_IFACES, OFFER_EXPR, OFFER__MAX };

static enum offer offer_of(const struct opt *o)
{
	if (o->kind == OPT_ENUM)
		return OFFER_WORDS;
	if (!o->arg)
		return OFFER_NONE;
	if (!strcmp(o->arg, "FILE"))
		return OFFER_FILES;
	if (!strcmp(o->arg, "DIR"))
		return OFFER_DIRS;
	if (!strcmp(o->arg, "EXPR"))
		return OFFER_EXPR;
	return strcmp(o->arg, "IFACE") ? OFFER_NONE : OFFER_IFACES;
}

static void words(struct buf *out, const struct opt *o)
{
	const char *const *names = o->names;

	for (size_t i = 0; names[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", names[i]);
}

/* @s with each character of @special replaced by @with, where %c is the character. */
static void quoted(struct buf *out, const char *s, const char *special, const char *with)
{
	for (; *s; s++) {
		if (!strchr(special, *s)) {
			buf_add_char(out, *s);
			continue;
		}
		for (const char *w = with; *w; w++)
			buf_add_char(out, *w == '%' ? *s : *w);
	}
}

/* ---- bash ---- */

static void bash_value(const struct opt_command *c, const struct opt *o, struct buf *out)
{
	if (!opt_takes_value(o))
		return;
	buf_add_char(out, '\t');
	if (o->name)
		buf_printf(out, "%s,--%s", c->name, o->name);
	if (o->key)
		buf_printf(out, "%s%s,-%c", o->name ? "|" : "", c->name, o->key);
	buf_add_str(out, ") ");
	switch (offer_of(o)) {
	case OFFER_WORDS:
		buf_add_str(out, "COMPREPLY=($(compgen -W \"");
		words(out, o);
		buf_add_str(out, "\" -- \"$cur\"));");
		break;
	case OFFER_FILES:
		buf_add_str(out, "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"));");
		break;
	case OFFER_DIRS:
		buf_add_str(out, "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"));");
		break;
	case OFFER_IFACES:
		buf_add_str(out, "COMPREPLY=($(compgen -W \"$(ls /sys/class/net)\" -- \"$cur\"));");
		break;
	case OFFER_EXPR:	/* bash_expr(): it may have several words */
	case OFFER_NONE:
	case OFFER__MAX:
		break;
	}
	buf_add_str(out, " return ;;\n");
}

static void bash_options(const struct opt_command *c, struct buf *out)
{
	buf_printf(out, "\t%s) COMPREPLY=($(compgen -W \"", c->name);
	for (size_t i = 0; i < c->n_sets; i++) {
		for (const struct opt *o = c->sets[i].opts; opt_is_row(o); o++) {
			if (o->name)
				buf_printf(out, "--%s ", o->name);
			if (o->key)
				buf_printf(out, "-%c ", o->key);
		}
	}
	buf_add_str(out, "\" -- \"$cur\")) ;;\n");
}

/* "monitor,--where|flows,--where": the options whose value is an expression; false = none. */
static bool bash_exprs(const struct opt_command *cmds, size_t n, struct buf *out)
{
	const size_t before = out->len;

	for (size_t i = 0; i < n; i++)
		for (size_t s = 0; s < cmds[i].n_sets; s++)
			for (const struct opt *o = cmds[i].sets[s].opts; opt_is_row(o); o++)
				if (offer_of(o) == OFFER_EXPR && o->name)
					buf_printf(out, "%s%s,--%s", out->len > before ? "|" : "", cmds[i].name,
						   o->name);
	return out->len > before;
}

/* The last word of an expression. bash splits unquoted ones at "=", and replaces all that stands behind a quote. */
static void bash_expr(const char *program, struct buf *out)
{
	buf_printf(out, "_%s_expr()\n{\n", program);
	buf_printf(out, "\tlocal check='^([a-z_.]+)[=!<>]+(.*)$' list='([a-z_.]+) +in *[(][^)]*$'\n"
			"\tlocal text=${1#[\\'\\\"]} IFS=$'\\n' word field= head=\n\tword=${text##*[ (,]}\n"
			"\tif [[ $word =~ $check ]]; then\n\t\tfield=${BASH_REMATCH[1]} word=${BASH_REMATCH[2]}\n"
			"\telif [[ $text =~ $list ]]; then\n\t\tfield=${BASH_REMATCH[1]}\n\tfi\n"
			"\t[[ $1 == [\\'\\\"]* ]] && head=${text%%\"$word\"}\n"
			"\tCOMPREPLY=($(compgen -P \"$head\" -W \"$(%s help fields $field 2>/dev/null)\" "
			"-- \"$word\"))\n\tcompopt -o nospace 2>/dev/null\n}\n", program);
}

static void bash(const char *program, const struct opt_command *cmds, size_t n, struct buf *out)
{
	buf_printf(out, "# bash completion for %s\n", program);
	bash_expr(program, out);
	buf_printf(out, "_%s()\n{\n", program);
	buf_add_str(out, "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			 "\t# bash splits --name=value at the equals sign\n"
			 "\tif [[ $cur == \"=\" ]]; then cur=\n"
			 "\telif [[ $prev == \"=\" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
			 "\tlocal open='(--[a-z-]+)[ =]+('\\''[^'\\'']*|\"[^\"]*|[^ '\\''\"]*)$'\n"
			 "\tCOMPREPLY=()\n\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W \"");
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s ", cmds[i].name);
	buf_add_str(out, "\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
			 "\t[[ ${COMP_LINE:0:COMP_POINT} =~ $open ]] && "
			 "case ${COMP_WORDS[1]},${BASH_REMATCH[1]} in\n\t");
	if (bash_exprs(cmds, n, out))
		buf_printf(out, ") _%s_expr \"${BASH_REMATCH[2]}\"; return ;;\n", program);
	buf_add_str(out, "\tesac\n\tcase ${COMP_WORDS[1]},$prev in\n");
	for (size_t i = 0; i < n; i++) {
		for (size_t s = 0; s < cmds[i].n_sets; s++) {
			for (const struct opt *o = cmds[i].sets[s].opts; opt_is_row(o); o++)
				bash_value(&cmds[i], o, out);
		}
	}
	buf_add_str(out, "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < n; i++)
		bash_options(&cmds[i], out);
	buf_printf(out, "\tesac\n}\ncomplete -F _%s %s\n", program, program);
}

/* ---- zsh ---- */

static bool may_repeat(const struct opt *o)
{
	return o->kind == OPT_COUNT || o->kind == OPT_STRV || o->kind == OPT_U32V || o->kind == OPT_CALL;
}

/* Names of the option in zsh's syntax: '(-n --count)'{-n+,--count=}. The value is in the same word or the next. */
static void zsh_names(const struct opt *o, struct buf *out)
{
	const bool takes = opt_takes_value(o);
	const char *plus = takes ? "+" : "", *equals = takes ? "=" : "";

	if (o->name && o->key && may_repeat(o))
		buf_printf(out, "'*'{-%c%s,--%s%s}", o->key, plus, o->name, equals);
	else if (o->name && o->key)
		buf_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}", o->key, o->name, o->key, plus, o->name, equals);
	else if (o->name)
		buf_printf(out, "%s--%s%s", may_repeat(o) ? "\\*" : "", o->name, equals);
	else
		buf_printf(out, "%s-%c%s", may_repeat(o) ? "\\*" : "", o->key, plus);
}

static void zsh_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			buf_add_str(out, "'\\''");
		else if (strchr("[]:\\", *s))
			buf_printf(out, "\\%c", *s);
		else
			buf_add_char(out, *s);
	}
}

/* The last word of an expression: a field, or behind an operator a value. */
static void zsh_expr(const char *program, struct buf *out)
{
	buf_printf(out, "_%s_expr()\n{\n\tlocal text=$PREFIX word=${PREFIX##*[ (,]} field=\n"
			"\tcompset -P '*[ (,]'\n"
			"\tif [[ $word == *[=\\<\\>]* ]]; then\n"
			"\t\tfield=${word%%%%[=\\!\\<\\>]*}\n\t\tcompset -P '*[=<>]'\n"
			"\telif [[ $text =~ '([a-z_.]+) +in *[(][^)]*$' ]]; then\n\t\tfield=$match[1]\n\tfi\n"
			"\tcompadd -S '' -- ${(f)\"$(%s help fields $field 2>/dev/null)\"}\n}\n", program, program);
}

static void zsh_option(const char *program, const struct opt *o, struct buf *out)
{
	static const char *const action[] = {
		[OFFER_NONE] = " ", [OFFER_WORDS] = "", [OFFER_FILES] = "_files", [OFFER_DIRS] = "_files -/",
		[OFFER_IFACES] = "_net_interfaces", [OFFER_EXPR] = "",
	};
	enum offer offer = offer_of(o);

	_Static_assert(ARRAY_SIZE(action) == OFFER__MAX, "an action per offer");
	buf_add_str(out, " \\\n\t\t\t");
	zsh_names(o, out);
	buf_add_str(out, "'[");
	zsh_text(out, o->help);
	buf_add_char(out, ']');
	if (opt_takes_value(o)) {
		buf_add_char(out, ':');
		zsh_text(out, o->arg);
		buf_printf(out, ":%s", action[offer]);
	}
	if (offer == OFFER_EXPR)
		buf_printf(out, "_%s_expr", program);
	if (offer == OFFER_WORDS) {
		buf_add_char(out, '(');
		words(out, o);
		buf_add_char(out, ')');
	}
	buf_add_char(out, '\'');
}

static void zsh(const char *program, const struct opt_command *cmds, size_t n, struct buf *out)
{
	buf_printf(out, "#compdef %s\n", program);
	zsh_expr(program, out);
	buf_printf(out, "_%s()\n{\n\tlocal -a commands\n\tcommands=(\n", program);
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "\t\t'%s:", cmds[i].name);
		zsh_text(out, cmds[i].summary);
		buf_add_str(out, "'\n");
	}
	buf_add_str(out, "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
			 "\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n");
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "\t%s)\n\t\t_arguments -s -S", cmds[i].name);
		for (size_t s = 0; s < cmds[i].n_sets; s++) {
			for (const struct opt *o = cmds[i].sets[s].opts; opt_is_row(o); o++)
				zsh_option(program, o, out);
		}
		buf_add_str(out, " \\\n\t\t\t'*: :_default'\n\t\t;;\n");
	}
	buf_printf(out, "\tesac\n}\n_%s \"$@\"\n", program);
}

/* ---- fish ---- */

static void fish_option(const char *program, const struct opt_command *c, const struct opt *o, struct buf *out)
{
	buf_printf(out, "complete -c %s -n '__fish_seen_subcommand_from %s'", program, c->name);
	if (o->key)
		buf_printf(out, " -s %c", o->key);
	if (o->name)
		buf_printf(out, " -l %s", o->name);
	switch (offer_of(o)) {
	case OFFER_WORDS:
		buf_add_str(out, " -x -a '");
		words(out, o);
		buf_add_char(out, '\'');
		break;
	case OFFER_FILES:
		buf_add_str(out, " -r -F");
		break;
	case OFFER_DIRS:
		buf_add_str(out, " -x -a '(__fish_complete_directories)'");
		break;
	case OFFER_IFACES:
		buf_add_str(out, " -x -a '(__fish_print_interfaces)'");
		break;
	case OFFER_EXPR:
		buf_printf(out, " -x -a '(__%s_expr)'", program);
		break;
	case OFFER_NONE:
	case OFFER__MAX:
		buf_add_str(out, opt_takes_value(o) ? " -x" : "");
		break;
	}
	buf_add_str(out, " -d '");
	quoted(out, o->help, "\\'", "\\%");
	buf_add_str(out, "'\n");
}

/* The whole argument, with a field, or behind an operator a value, as its last word. */
static void fish_expr(const char *program, struct buf *out)
{
	buf_printf(out, "function __%s_expr\n\tset -l text (commandline -ct | string replace -r "
			"'^(--[a-z-]+=)?[\\'\"]?' '')\n"
			"\tset -l head (string match -r '^.*[ (,=<>]' -- $text)\n"
			"\tset -l field (string match -rg '([a-z_.]+)[=!<>]+[^ (,=<>]*$' -- $text;"
			" or string match -rg '([a-z_.]+) +in *[(][^)]*$' -- $text)\n"
			"\tfor word in (%s help fields $field 2>/dev/null)\n\t\techo \"$head\"$word\n\tend\nend\n",
			program, program);
}

static void fish(const char *program, const struct opt_command *cmds, size_t n, struct buf *out)
{
	buf_printf(out, "# fish completion for %s\ncomplete -c %s -f\n", program, program);
	fish_expr(program, out);
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "complete -c %s -n __fish_use_subcommand -a %s -d '", program, cmds[i].name);
		quoted(out, cmds[i].summary, "\\'", "\\%");
		buf_add_str(out, "'\n");
		for (size_t s = 0; s < cmds[i].n_sets; s++) {
			for (const struct opt *o = cmds[i].sets[s].opts; opt_is_row(o); o++)
				fish_option(program, &cmds[i], o, out);
		}
	}
}

int opt_complete(enum opt_shell shell, const char *program, const struct opt_command *cmds, size_t n_cmds,
		 struct buf *out)
{
	switch (shell) {
	case OPT_SHELL_BASH:
		bash(program, cmds, n_cmds, out);
		break;
	case OPT_SHELL_ZSH:
		zsh(program, cmds, n_cmds, out);
		break;
	case OPT_SHELL_FISH:
		fish(program, cmds, n_cmds, out);
		break;
	case OPT_SHELL__MAX:
		break;
	}
	return buf_error(out);
}
