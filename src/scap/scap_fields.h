/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of sysdig for events with a view: fields of sys.event in filters, text and JSON.
 */
#ifndef SCAP_FIELDS_H
#define SCAP_FIELDS_H

#include "event/event.h"

#define SCAP_N_FIELDS 192
extern const struct field scap_fields[SCAP_N_FIELDS];

/* desc->get of sys.event. Strings are borrowed and last for a few more calls. */
int scap_fields_get(const struct event *ev, const struct field *f, struct value *ret);

#endif
