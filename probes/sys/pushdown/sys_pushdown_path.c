// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Push-down of path prefixes: syscall.path as the program wrote it, evt.abspath made absolute and normalised, and
 * fd.name, the path that the file was opened by. Relative paths and paths with "//", "/." or "/.." pass; user space
 * decides on them.
 */
#include <string.h>

#include "base/macros.h"
#include "event/filter/filter.h"
#include "probes/sys/pushdown/sys_pushdown.h"
#include "probes/sys/sys_event.h"
#include "probes/sys/sys_map.h"
#include "probes/sys/pushdown/sys_pushdown_part.h"
#include "scap/schema.h"
#include "scap/state/state.h"

/* Types whose names can begin with a slash. */
#define NAMED_KINDS (SYS_FD_PLAIN | SYS_FD_DIR | SYS_FD_PIPE | SYS_FD_UNIX | SYS_FD_OTHER)

/* Must every matching text begin with one of the values? */
static bool is_about_prefixes(const struct filter_conjunct *c)
{
	return !c->negated && c->n_values && c->n_values <= SYS_PREFIX_MOST &&
	       (c->op == FILTER_EQ || c->op == FILTER_IN || c->op == FILTER_STARTSWITH || c->op == FILTER_PMATCH);
}

static void add_prefix(struct sys_pred *pred, const char *text, size_t len)
{
	struct sys_prefix *p = &pred->prefixes[pred->n_prefixes++];

	len = MIN(len, sizeof(p->text));
	memset(p, 0, sizeof(*p));
	memcpy(p->text, text, len);
	memset(p->mask, 0xff, len);
}

/* pmatch treats "/usr/" as "/usr". */
static size_t value_len(const struct filter_conjunct *c, const struct filter_value *v)
{
	size_t len = v->len;

	while (c->op == FILTER_PMATCH && len > 1 && v->text[len - 1] == '/')
		len--;
	return len;
}

/* Only one part with prefixes fits. False if it is taken, or a value has no prefix. */
static bool take_prefixes(struct sys_pred *pred, const struct filter_conjunct *c, bool plain)
{
	if (pred->n_prefixes || !is_about_prefixes(c))
		return false;
	for (size_t i = 0; i < c->n_values; i++)
		if (!value_len(c, &c->values[i]) || (plain && c->values[i].text[0] != '/'))
			return false;
	for (size_t i = 0; i < c->n_values; i++)
		add_prefix(pred, c->values[i].text, value_len(c, &c->values[i]));
	pred->prefixes_plain = plain;
	pred->on |= SYS_PRED_CALLS;
	return true;
}

static void set_path(struct sys_pushdown *p, unsigned abi, unsigned nr, int arg)
{
	uint16_t *check = &p->checks[abi][nr];

	*check &= (uint16_t)~(SYS_CHECK_NO_ARG << SYS_CHECK_PATH_SHIFT);
	*check |= (uint16_t)((unsigned)arg << SYS_CHECK_PATH_SHIFT);
}

/* ---- as it was written ---- */

static enum verdict push_written(struct pushing *s, const struct filter_conjunct *c)
{
	if (!take_prefixes(&s->p->pred, c, false))
		return PUSH_USER;
	sys_pushdown_ask_start_calls(s->p);
	for (unsigned abi = 0; abi < ARRAY_SIZE(s->p->calls); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
			const struct sys_call *call = sys_table_call_find(abi, nr);
			int arg = call ? sys_map_path_arg(call) : -1;

			if (arg >= 0)
				set_path(s->p, abi, nr, arg);
			else
				s->p->calls[abi][nr] = 0;
		}
	return push_both(s, "by the whole path");
}

/* ---- made absolute ---- */

/* Argument with the path of evt.abspath; -1 = no path, -2 = the path is not an argument. */
static int abspath_arg(const struct sys_call *call)
{
	const struct sys_mapping *m = sys_map_find(call);
	int i = m ? scap_fields_abspath_param(m->type + 1) : -1;

	if (i < 0)
		return m && scap_fields_abspath_param(m->type) >= 0 ? -2 : -1;
	if (strlen(m->exit) < 2 * (size_t)i + 2 || m->exit[2 * i] != 's')
		return -2;
	return m->exit[2 * i + 1] - '0';
}

static enum verdict push_abspath(struct pushing *s, const struct filter_conjunct *c)
{
	if (!take_prefixes(&s->p->pred, c, true))
		return PUSH_USER;
	sys_pushdown_ask_start_calls(s->p);
	for (unsigned abi = 0; abi < ARRAY_SIZE(s->p->calls); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++) {
			int arg = abspath_arg(sys_table_call_find(abi, nr));

			if (arg >= 0)
				set_path(s->p, abi, nr, arg);
			else if (arg == -1)
				s->p->calls[abi][nr] = 0;
		}
	return push_both(s, "by the whole path, and relative paths");
}

/* ---- what a file was opened by ---- */

static int opened_path(const struct sys_call *call)
{
	const struct sys_mapping *m = sys_map_find(call);

	if (!m || (m->type != SCAP_OPEN_E && m->type != SCAP_OPENAT_2_E && m->type != SCAP_OPENAT2_E &&
		   m->type != SCAP_CREAT_E))
		return -1;
	return sys_map_path_arg(call);
}

static void name_call(struct sys_pushdown *p, unsigned abi, unsigned nr)
{
	const struct sys_call *call = sys_table_call_find(abi, nr);
	int path = opened_path(call), fd = sys_pushdown_ask_fd_arg(call);

	if (path >= 0) {
		set_path(p, abi, nr, path);
		p->checks[abi][nr] |= SYS_CHECK_OPENS;
	} else if (fd == SYS_PUSHDOWN_NO_FD) {
		p->calls[abi][nr] = 0;
	} else {
		sys_pushdown_ask_narrow(p, abi, nr, fd, NAMED_KINDS);
	}
}

static enum verdict push_names(struct pushing *s, const struct filter_conjunct *c)
{
	/* The paths are recorded at open: those calls pass, which the state tables need anyway. */
	if (!s->o->keeps_state || !take_prefixes(&s->p->pred, c, true))
		return PUSH_USER;
	sys_pushdown_ask_start_calls(s->p);
	for (unsigned abi = 0; abi < ARRAY_SIZE(s->p->calls); abi++)
		for (unsigned nr = 0; nr < SYS_NUMBERS; nr++)
			name_call(s->p, abi, nr);
	s->p->pred.by_name = 1;
	return push_both(s, "by the whole name");
}

enum verdict sys_pushdown_path_add(struct pushing *s, const struct filter_conjunct *c)
{
	if (!strcmp(c->field, "syscall.path"))
		return push_written(s, c);
	if (!strcmp(c->field, "evt.abspath"))
		return push_abspath(s, c);
	if (!strcmp(c->field, "fd.name") || !strcmp(c->field, "fd.directory"))
		return push_names(s, c);
	return PUSH_USER;
}
