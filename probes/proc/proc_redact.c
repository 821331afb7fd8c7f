// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs without their arguments and paths. A command name (comm) stays.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "event/redact/redact.h"
#include "probes/proc/proc_event.h"
#include "probes/proc/proc_wire.h"

/* Of any form: one component, or the text itself. */
static size_t add_path(struct buf *out, const char *path, size_t len, uint8_t form, unsigned hide)
{
	return form == PROC_PATH_PLAIN ? redact_text(out, path, len, hide) : redact_list(out, path, len, hide);
}

static int redact_image(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct proc_exec_rec e;
	const char *text = (const char *)r + sizeof(e);

	if (r->len < sizeof(e))
		return -EBADMSG;
	memcpy(&e, r, sizeof(e));
	if ((size_t)e.name_len + e.path_len + e.args_len > r->len - sizeof(e))
		return -EBADMSG;
	if (!(fields & (REDACT_ARGS | REDACT_PATHS)))
		return 0;
	buf_add(out, &e, sizeof(e));
	e.name_len = (uint16_t)redact_text(out, text, e.name_len, fields & REDACT_PATHS);
	text += ((const struct proc_exec_rec *)r)->name_len;
	e.path_len = (uint16_t)add_path(out, text, e.path_len, e.path_form, fields & REDACT_PATHS);
	text += ((const struct proc_exec_rec *)r)->path_len;
	e.args_len = (uint16_t)redact_list(out, text, e.args_len, fields & REDACT_ARGS);
	if (buf_error(out) == 0)
		memcpy(out->data, &e, sizeof(e));
	return 1;
}

/* [vdso], //anon: kinds of memory, not names of files. */
static bool names_a_file(const char *path, size_t len)
{
	return len && path[0] != '[' && (len < 2 || memcmp(path, "//", 2) != 0);
}

static int redact_mmap(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	struct proc_mmap_rec m;
	const char *path = (const char *)r + sizeof(m);

	if (r->len < sizeof(m))
		return -EBADMSG;
	memcpy(&m, r, sizeof(m));
	if (m.path_len > r->len - sizeof(m))
		return -EBADMSG;
	if (!(fields & REDACT_PATHS) || !names_a_file(path, m.path_len))
		return 0;
	buf_add(out, &m, sizeof(m));
	m.path_len = (uint16_t)add_path(out, path, m.path_len, m.path_form, REDACT_PATHS);
	if (buf_error(out) == 0)
		memcpy(out->data, &m, sizeof(m));
	return 1;
}

const struct redact_rule proc_redact[] = {
	{ PROC_REC_EXEC, redact_image }, { PROC_REC_TASK, redact_image }, { PROC_REC_MMAP, redact_mmap }, { 0 },
};
