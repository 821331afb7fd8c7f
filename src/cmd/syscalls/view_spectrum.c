// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The spectrogram: each line is a histogram of one second's latencies, each bucket a shade.
 */
#include "cmd/syscalls/view_spectrum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

#define SHADES 9
#define STEPS_PER_DECADE 10
#define LOG10_FIRST_NS 3	/* the first bucket begins at 1 us */

static void spectrum_head(void)
{
	static const char *const marks[] = { "1us", "10us", "100us", "1ms", "10ms", "100ms", "1s" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		printf("%-10s", marks[i]);
	putchar('\n');
}

/* Logarithmic, so that a few slow calls remain visible. */
static unsigned shade(uint64_t n)
{
	unsigned bits = n ? 64 - (unsigned)__builtin_clzll(n) : 0;

	return MIN((bits + 1) / 2, (unsigned)SHADES - 1);
}

void view_spectrum_line(struct view_spectrum *v)
{
	static const char letters[SHADES + 1] = " .:-=+*#@";
	static const uint8_t colors[SHADES] = { 0, 22, 28, 34, 40, 226, 214, 202, 196 };

	if (!v->begun)
		spectrum_head();
	v->begun = true;
	for (size_t i = 0; i < SPECTRUM_STEPS; i++) {
		unsigned s = shade(v->steps[i]);

		if (v->color && s)
			printf("\033[48;5;%um \033[0m", colors[s]);
		else
			putchar(letters[s]);
	}
	putchar('\n');
	fflush(stdout);
	memset(v->steps, 0, sizeof(v->steps));
	v->interval_ns = 0;
}

void view_spectrum_take(struct view_spectrum *v, uint64_t ts_ns, uint64_t latency_ns)
{
	double tenths = latency_ns ? (log10((double)latency_ns) - LOG10_FIRST_NS) * STEPS_PER_DECADE : 0;
	int step = tenths < 0 ? 0 : (int)tenths;

	if (v->interval_ns && ts_ns - v->interval_ns >= NS_PER_S)
		view_spectrum_line(v);
	if (!v->interval_ns)
		v->interval_ns = ts_ns;
	if (latency_ns)
		v->steps[MIN(step, SPECTRUM_STEPS - 1)]++;
}
