/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page server of an agent: the configuration that its keeper gets (cmd/daemon/keeper.h).
 */
#ifndef CMD_UI_KEEP_H
#define CMD_UI_KEEP_H

struct agent_conf;
struct buf;
struct err;
struct keeper;

/* Checks the rows `ui` and `ui-set`. 0 or -errno with a sentence. */
int ui_keep_check(const struct agent_conf *c, struct err *err);

/*
 * The server will listen at @c->ui, borrowed, and subscribe to @c->ui_set. Appends the address to open to
 * @ret_address, with a token that holds for all its servers. 0 or -errno with a sentence.
 */
int ui_keep_start(const struct agent_conf *c, struct keeper *ret, struct buf *ret_address, struct err *err);

#endif
