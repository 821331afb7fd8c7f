/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generated tables, for schema.c alone.
 */
#ifndef SCAP_SCHEMA_IMPL_H
#define SCAP_SCHEMA_IMPL_H

#include "scap/schema.h"

struct scap_syscall {
	const char *name;	/* NULL: a number nobody uses */
	uint8_t category;
};

extern const struct scap_event_info scap_events[];	/* SCAP_EVENT_MAX; gaps have no name */
extern const struct scap_event_info scap_rows[];	/* from SCAP_ROW_MACHINE on */
extern const struct scap_syscall scap_syscalls[];	/* SCAP_SC_MAX */
extern const struct xlat *const scap_xlats[];		/* NULL-terminated */

#endif
