/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of agent.conf that are no options of the command line. */
#ifndef CMD_AGENT_ROWS_H
#define CMD_AGENT_ROWS_H

#include "base/opt.h"

extern const struct opt agent_rows_file[];	/* of a struct agent_conf */

#endif
