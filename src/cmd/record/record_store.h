/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where sonde record keeps stores that have a name. */
#ifndef CMD_RECORD_STORE_H
#define CMD_RECORD_STORE_H

#define RECORD_STORE_ROOT "/var/lib/sonde"
#define RECORD_STORE_DEFAULT "default"

#endif
