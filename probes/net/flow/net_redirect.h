/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that programs and actions at the interfaces redirect: counted with their flows, not reported otherwise.
 */
#ifndef NET_REDIRECT_H
#define NET_REDIRECT_H

extern const struct net_part net_redirect_part;

#endif
