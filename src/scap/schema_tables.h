/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that tools/gen_scap.py generates; schema.h has the functions that read them.
 */
#ifndef SCAP_SCHEMA_TABLES_H
#define SCAP_SCHEMA_TABLES_H

#include "scap/schema.h"

struct scap_syscall {
	const char *name; /* NULL: unused number */
	uint8_t category;
};

extern const struct scap_event_info scap_events[]; /* SCAP_EVENT_MAX; unused numbers have no name */
extern const struct scap_event_info scap_rows[];   /* from SCAP_ROW_MACHINE on */
extern const struct scap_syscall scap_syscalls[];  /* SCAP_SC_MAX */
extern const struct xlat *const scap_xlats[];	   /* NULL-terminated */

#endif
