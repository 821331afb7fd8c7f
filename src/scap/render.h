/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters in sysdig's text format: "3(<f>/etc/passwd)", "-2(ENOENT)", "4097(O_RDONLY|...)".
 */
#ifndef SCAP_RENDER_H
#define SCAP_RENDER_H

#include <stddef.h>

struct buf;
struct scap_render_opts;
struct scap_view;

/*
 * Appends parameter @i: the plain text to @raw, its interpretation, if any, to @resolved. Both are escaped for
 * terminals. 0, -ENOENT (no such parameter) or -ENOMEM.
 */
int scap_render_param(const struct scap_view *v, unsigned i, const struct scap_render_opts *o, struct buf *raw,
		      struct buf *resolved);

/* "name=raw(resolved) ..." for all parameters; empty for generic system calls, as in sysdig. */
int scap_render_args(const struct scap_view *v, const struct scap_render_opts *o, struct buf *out);

/* Bytes in format o->form. */
void scap_render_buffer(const void *data, size_t len, const struct scap_render_opts *o, struct buf *out);

/* Absolute path of parameter @i (PT_FSPATH, PT_FSRELPATH); empty if it is absolute already, or unknown. */
void scap_render_path(const struct scap_view *v, unsigned i, struct buf *out);

/* Name in evt.type: for a generic event the name of its call. */
const char *scap_render_event_name(const struct scap_view *v);

/* Index of parameter @name, or -1. */
int scap_render_param_index(const struct scap_view *v, const char *name);

#endif
