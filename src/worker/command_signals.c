// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/command_signals.h"

#include <signal.h>
#include <stddef.h>

/* SIGTSTP: a stopped command may be continued alone. */
static const int ignored[COMMAND_SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

void command_signals_ignore(struct command_signals *ret)
{
	sigset_t none;

	for (int i = 0; i < COMMAND_SIGNALS; i++) {
		void (*before)(int) = signal(ignored[i], SIG_IGN);

		if (ret)
			ret->before[i] = before;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void command_signals_restore(const struct command_signals *s)
{
	for (int i = 0; i < COMMAND_SIGNALS; i++)
		signal(ignored[i], s->before[i]);
}
