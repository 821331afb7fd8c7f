/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Being let in before others: for good by a priority of our own, and for moments by that of our session.
 */
#ifndef CMD_HASTE_H
#define CMD_HASTE_H

#include <stdbool.h>

/*
 * In short turns, and ahead of others when @nice is not 0 (else at the priority that we have): a task that asks for
 * short turns is let in early when it wakes, for no more CPU time in all (Linux 6.12). Older kernels take the
 * priority alone; without rights all stays as it is.
 */
void haste_process(int nice);

/*
 * Where the scheduler shares by sessions (sched_autogroup), as desktops have it, a priority counts among the
 * processes of one session only, so one busy program in each of twenty others leaves a tenth of a CPU. A session has
 * a priority too, and whoever else is in ours has it as well: it is raised for the moments in which somebody waits,
 * the start and the end, as far as it goes (beside ten busy sessions -10 is half a CPU, -20 nine tenths), and put
 * back.
 */
struct haste {
	int before;		/* priority to go back to */
	bool raised;
};
void haste_begin(struct haste *h);	/* nothing when it is that high, or may not be */
void haste_end(struct haste *h);		/* may be called at any time */

#endif
