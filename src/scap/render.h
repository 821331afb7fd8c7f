/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters as text, in the form that sysdig users know: "3(<f>/etc/passwd)", "-2(ENOENT)", "4097(O_RDONLY|...)".
 */
#ifndef SCAP_RENDER_H
#define SCAP_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct scap_view;

enum scap_buffer_form {
	SCAP_BUFFER_DOTS,	/* printable characters, dots for the others; cut at `cut` */
	SCAP_BUFFER_ASCII,	/* printable characters and line ends, on lines of their own */
	SCAP_BUFFER_HEX, SCAP_BUFFER_HEX_ASCII, SCAP_BUFFER_BASE64,
	SCAP_BUFFER__MAX,
};

struct scap_render_opts {
	enum scap_buffer_form form;
	size_t cut;		/* characters of a buffer in the form with dots; 0 = all */
};

#define SCAP_RENDER_CUT 80	/* what sysdig shows of a buffer */

/*
 * Appends parameter @i: the plain text to @raw, and to @resolved what it stands for, if that says more.
 * Escaped: nothing of the event reaches a terminal as it is. 0, -ENOENT (no such parameter) or -ENOMEM.
 */
int scap_render_param(const struct scap_view *v, unsigned i, const struct scap_render_opts *o, struct buf *raw,
		      struct buf *resolved);

/* "name=raw(resolved) ..." of all parameters; nothing for generic system calls, as sysdig has it. */
int scap_render_args(const struct scap_view *v, const struct scap_render_opts *o, struct buf *out);

/* Bytes in one of the forms. */
void scap_render_buffer(const void *data, size_t len, const struct scap_render_opts *o, struct buf *out);

/* The path of parameter @i (PT_FSPATH, PT_FSRELPATH) made absolute; nothing when it is absolute or unknown. */
void scap_render_path(const struct scap_view *v, unsigned i, struct buf *out);

/* What evt.type shows: of a generic event the call's name. */
const char *scap_render_event_name(const struct scap_view *v);

/* Index of the parameter called @name, or -1. */
int scap_render_param_index(const struct scap_view *v, const char *name);

#endif
