/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of captures without the state behind them (scap/state/state.h), for who keeps events: the values of their
 * words and their line, as they were at the event's time.
 */
#ifndef SCAP_FREEZE_H
#define SCAP_FREEZE_H

struct arena;
struct event;

/*
 * Copies @ev, which has a view: SEC_TEXT takes the place of SEC_PARAMS and of the view. Words with an argument
 * (evt.arg.fd), ancestors, the environment and data are left out. @ret borrows from @ev and @scratch. 0 or -ENOMEM.
 */
int scap_freeze(const struct event *ev, struct arena *scratch, struct event *ret);

#endif
