// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text of option rows for --help and man pages, and the check of the rows.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/opt.h"

#define HELP_COLUMNS 80
#define HELP_LEFT_MAX 32	/* a longer left side gets its own line */

/* "  -n, --count N" */
static void left_side(const struct opt *o, struct buf *out)
{
	buf_add_str(out, "  ");
	if (o->key)
		buf_printf(out, "-%c", o->key);
	else
		buf_add_str(out, "  ");
	if (o->name)
		buf_printf(out, "%s--%s", o->key ? ", " : "  ", o->name);
	if (o->arg)
		buf_printf(out, o->kind == OPT_MAYBE || o->optional ? "[=%s]" : o->loose ? " [%s]" : " %s", o->arg);
}

/* The help sentence; the values of an enum are part of it. */
static void right_side(const struct opt *o, enum opt_detail detail, struct buf *out)
{
	const char *const *names = o->kind == OPT_ENUM ? o->names : NULL;

	buf_add_str(out, o->help);
	for (size_t i = 0; names && names[i]; i++)
		buf_printf(out, "%s%s", i ? ", " : ": ", names[i]);
	if (detail == OPT_ALL && o->more)
		buf_printf(out, "; %s", o->more);
}

static size_t left_width(const struct opt_set *sets, size_t n_sets)
{
	_cleanup_(buf_fini) struct buf left = { 0 };
	size_t width = 0;

	for (size_t i = 0; i < n_sets; i++) {
		for (const struct opt *o = sets[i].opts; !sets[i].global && opt_is_row(o); o++) {
			buf_reset(&left);
			left_side(o, &left);
			if (left.len <= HELP_LEFT_MAX)
				width = MAX(width, left.len);
		}
	}
	return width + 2;
}

/* Appends @text word by word, from column @at of the line on, at @indent after each break. */
static void wrap(struct buf *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + 1 + len > HELP_COLUMNS) {
			buf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			buf_add_char(out, ' ');
			at++;
		}
		buf_add(out, text, len);
		at += len;
		text += len + strspn(text + len, " ");
	}
	buf_add_char(out, '\n');
}

static void help_row(const struct opt *o, size_t width, enum opt_detail detail, struct buf *out)
{
	_cleanup_(buf_fini) struct buf left = { 0 }, right = { 0 };

	left_side(o, &left);
	right_side(o, detail, &right);
	buf_add_str(out, buf_str(&left));
	if (left.len + 2 > width)
		buf_printf(out, "\n%*s", (int)width, "");
	else
		buf_printf(out, "%*s", (int)(width - left.len), "");
	wrap(out, buf_str(&right), width, width);
	if (left.error || right.error)
		out->error = -ENOMEM;
}

int opt_help(const struct opt_set *sets, size_t n_sets, enum opt_detail detail, struct buf *out)
{
	size_t width = left_width(sets, n_sets);

	for (size_t i = 0; i < n_sets; i++) {
		if (sets[i].global || !opt_is_row(sets[i].opts))
			continue;
		if (sets[i].title)
			buf_printf(out, "\n%s:\n", sets[i].title);
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			help_row(o, width, detail, out);
	}
	return buf_error(out);
}

/* Escapes text for roff: copyable hyphens, no escapes, no request at the start of a line. */
static void roff(struct buf *out, const char *s)
{
	if (*s == '.' || *s == '\'')
		buf_add_str(out, "\\&");
	for (; *s; s++) {
		if (*s == '-')
			buf_add_str(out, "\\-");
		else if (*s == '\\')
			buf_add_str(out, "\\e");
		else
			buf_add_char(out, *s);
	}
}

static void man_row(const struct opt *o, struct buf *out)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	buf_add_str(out, ".TP\n");
	if (o->key)
		buf_printf(out, "\\fB\\-%c\\fR", o->key);
	if (o->name) {
		buf_printf(out, "%s\\fB\\-\\-", o->key ? ", " : "");
		roff(out, o->name);
		buf_add_str(out, "\\fR");
	}
	if (o->arg) {
		buf_add_str(out, " \\fI");
		roff(out, o->arg);
		buf_add_str(out, "\\fR");
	}
	buf_add_char(out, '\n');
	right_side(o, OPT_ALL, &text);
	if (text.len)
		text.data[0] = (char)toupper((unsigned char)text.data[0]);
	roff(out, buf_str(&text));
	buf_add_str(out, ".\n");
	if (text.error)
		out->error = text.error;
}

int opt_man(const struct opt_set *sets, size_t n_sets, struct buf *out)
{
	for (size_t i = 0; i < n_sets; i++) {
		if (sets[i].global || !opt_is_row(sets[i].opts))
			continue;
		if (sets[i].title) {
			buf_add_str(out, ".SS ");
			roff(out, sets[i].title);
			buf_add_char(out, '\n');
		}
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			man_row(o, out);
	}
	return buf_error(out);
}

/* Another tool's option is spelt as there. */
static const char *wrong_name(const char *name, bool others)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len = strlen(name), own = strcspn(letters, "_");

	if (len < 2 || len > 40 || name[0] == '-' || name[len - 1] == '-')
		return "long names have 2 to 40 characters and no dash at either end";
	for (const char *c = name; *c; c++)
		if (!memchr(letters, *c, others ? strlen(letters) : own))
			return "long names are made of a-z, 0-9 and -";
	return NULL;
}

/* The defect of a single row, or NULL. */
static const char *wrong_row(const struct opt *o)
{
	bool valued = o->kind != OPT_BOOL && o->kind != OPT_COUNT;

	if (o->name && wrong_name(o->name, o->differs || o->refused))
		return wrong_name(o->name, o->differs || o->refused);
	if (o->key && !isalnum((unsigned char)o->key))
		return "short options are letters or digits";
	if (o->kind >= OPT__MAX)
		return "no such kind";
	if (o->kind != OPT_CALL && o->kind != OPT_MAYBE && valued != (o->arg != NULL))
		return valued ? "a value needs a placeholder" : "it takes no value but has a placeholder";
	if ((o->kind == OPT_ENUM && !o->names) || (o->kind == OPT_CALL && !o->call && !o->refused))
		return "its names or its function are missing";
	if (!o->help || !*o->help)
		return "help is missing";
	if (o->help[strlen(o->help) - 1] == '.')
		return "help ends with a full stop";
	return NULL;
}

/* --no-x of a boolean x must not be another row's name. */
static bool same_long(const struct opt *a, const struct opt *b)
{
	if (!a->name || !b->name)
		return false;
	if (!strcmp(a->name, b->name))
		return true;
	return a->kind == OPT_BOOL && !strncmp(b->name, "no-", 3) && !strcmp(a->name, b->name + 3);
}

static int check_against(const struct opt *o, const struct opt_set *sets, size_t n_sets, struct err *err)
{
	for (size_t i = 0; i < n_sets; i++) {
		for (const struct opt *b = sets[i].opts; opt_is_row(b); b++) {
			if (b == o)
				continue;
			if (same_long(o, b))
				return err_set(err, -EINVAL, "option --%s: there is another row of the name --%s",
					       o->name, b->name);
			if (o->key && o->key == b->key)
				return err_set(err, -EINVAL, "option -%c: the letter is taken twice", o->key);
		}
	}
	return 0;
}

int opt_check(const struct opt_set *sets, size_t n_sets, struct err *err)
{
	for (size_t i = 0; i < n_sets; i++) {
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++) {
			const char *wrong = wrong_row(o);
			int r;

			if (wrong)
				return err_set(err, -EINVAL, "option %s%s: %s", o->name ? "--" : "-",
					       o->name ? o->name : (char[]){ o->key, '\0' }, wrong);
			r = check_against(o, sets, n_sets, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
