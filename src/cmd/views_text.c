// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables and the spectrogram as text, and the tables on a live screen.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/pipeline.h"
#include "base/macros.h"
#include "cmd/screen.h"
#include "cmd/views_impl.h"
#include "event/json.h"

/* ---- values ---- */

static void scaled(double v, double step, const char *const *units, char *to, size_t cap)
{
	while (v >= step && units[1]) {
		v /= step;
		units++;
	}
	snprintf(to, cap, v >= 100 || v == (double)(uint64_t)v ? "%.0f%s" : "%.1f%s", v, *units);
}

static void time_text(uint64_t ns, char *to, size_t cap)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };

	scaled((double)ns, 1000, units, to, cap);
}

static void view_value_text(const struct view_table *t, uint64_t value, uint64_t span_ns, char *to, size_t cap)
{
	static const char *const bytes[] = { "B", "K", "M", "G", "T", NULL };

	switch (t->kind->unit) {
	case UNIT_BYTES:
		scaled((double)value, 1024, bytes, to, cap);
		break;
	case UNIT_NS:
		time_text(value, to, cap);
		break;
	case UNIT_COUNT:
	case UNIT__MAX:
		snprintf(to, cap, "%" PRIu64, value);
		break;
	case UNIT_CPU:
		snprintf(to, cap, "%.2f%%", span_ns ? 100.0 * (double)value / (double)span_ns : 0);
		break;
	}
}

static const char *unit_word(const struct view_table *t)
{
	static const char *const words[] = {
		[UNIT_BYTES] = "BYTES", [UNIT_NS] = "TIME", [UNIT_COUNT] = "NUMBER", [UNIT_CPU] = "CPU%",
	};

	_Static_assert(ARRAY_SIZE(words) == UNIT__MAX, "a word per unit");
	return words[t->kind->unit];
}

static uint64_t span_of(const struct views *v)
{
	return v->last_ns - v->first_ns;
}

static void row_line(const struct views *v, const struct view_table *t, size_t i, char *to, size_t cap)
{
	const struct view_row *row = &t->rows.items[i];
	char value[32];

	view_value_text(t, row->value, span_of(v), value, sizeof(value));
	snprintf(to, cap, "%10s %10" PRIu64 "  %s", value, row->count, row->key);
}

/* ---- the end of a run ---- */

static void print_table(const struct views *v, struct view_table *t, size_t rows)
{
	char line[1024];

	view_sort(t);
	printf("%10s %10s  %s\n", unit_word(t), "EVENTS", t->kind->key);
	for (size_t i = 0; i < t->rows.len && i < rows; i++) {
		row_line(v, t, i, line, sizeof(line));
		puts(line);
	}
}

static int print_json(struct view_table *t, size_t rows)
{
	struct buf out = { 0 };
	int r;

	view_sort(t);
	for (size_t i = 0; i < t->rows.len && i < rows; i++) {
		const struct view_row *row = &t->rows.items[i];
		struct json j = { .out = &out };

		json_open(&j, '{');
		json_key(&j, "v");
		json_u64(&j, 1);
		json_key(&j, "type");
		json_str(&j, "sys.view", strlen("sys.view"));
		json_key(&j, "view");
		json_str(&j, t->kind->name, strlen(t->kind->name));
		json_key(&j, "key");
		json_str(&j, row->key, strlen(row->key));
		json_key(&j, "value");
		json_u64(&j, row->value);
		json_key(&j, "events");
		json_u64(&j, row->count);
		json_close(&j, '}');
		buf_add_char(&out, '\n');
	}
	r = buf_error(&out);
	if (r >= 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_fini(&out);
	return r;
}

int views_print_json(struct views *v, size_t rows)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < v->tables.len; i++)
		r = print_json(v->tables.items[i], rows);
	fflush(stdout);
	return r;
}

int views_print(struct views *v, size_t rows)
{
	if (v->spectrum && v->interval_ns)
		spectrum_line(v);
	for (size_t i = 0; i < v->tables.len; i++) {
		if (v->tables.len > 1)
			printf("%s%s:\n", i ? "\n" : "", v->tables.items[i]->kind->title);
		print_table(v, v->tables.items[i], rows);
	}
	fflush(stdout);
	return 0;
}

/* ---- the spectrogram ---- */

#define SHADES 9

static void spectrum_head(void)
{
	static const char *const marks[] = { "1us", "10us", "100us", "1ms", "10ms", "100ms", "1s" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		printf("%-10s", marks[i]);
	putchar('\n');
}

/* How much of the fullest step a step has, by the logarithm: few slow calls are what is looked for. */
static unsigned shade(uint64_t n)
{
	unsigned bits = n ? 64 - (unsigned)__builtin_clzll(n) : 0;

	return MIN((bits + 1) / 2, (unsigned)SHADES - 1);
}

void spectrum_line(struct views *v)
{
	static const char letters[SHADES + 1] = " .:-=+*#@";
	static const uint8_t colors[SHADES] = { 0, 22, 28, 34, 40, 226, 214, 202, 196 };

	if (!v->spectrum_begun)
		spectrum_head();
	v->spectrum_begun = true;
	for (size_t i = 0; i < SPECTRUM_STEPS; i++) {
		unsigned s = shade(v->steps[i]);

		if (v->spectrum_color && s)
			printf("\033[48;5;%um \033[0m", colors[s]);
		else
			putchar(letters[s]);
	}
	putchar('\n');
	fflush(stdout);
	memset(v->steps, 0, sizeof(v->steps));
	v->interval_ns = 0;
}

/* ---- the screen ---- */

static void row_text(void *ctx, size_t i, char *to, size_t cap)
{
	struct views *v = ctx;

	row_line(v, v->tables.items[v->shown], i, to, cap);
}

static void on_show(void *ctx)
{
	struct views *v = ctx;
	struct view_table *t = v->tables.items[v->shown];
	char title[256], head[128];
	const struct screen_page page = {
		.title = title, .head = head, .n_rows = t->rows.len, .row = row_text, .ctx = v,
		.foot = "tab, backspace: other tables  c: from zero  p: pause  q: quit",
	};

	if (!v->paused)
		view_sort(t);
	snprintf(title, sizeof(title), "sonde syscalls: %s, %.0f s%s", t->kind->title, (double)span_of(v) / 1e9,
		 v->paused ? "  [paused]" : "");
	snprintf(head, sizeof(head), "%10s %10s  %s", unit_word(t), "EVENTS", t->kind->key);
	screen_show(v->screen, &page);
}

static void clear(struct views *v)
{
	for (size_t i = 0; i < v->tables.len; i++)
		for (size_t k = 0; k < v->tables.items[i]->rows.len; k++)
			v->tables.items[i]->rows.items[k].value = v->tables.items[i]->rows.items[k].count = 0;
	v->first_ns = v->last_ns;
}

static void on_key(void *ctx, int key)
{
	struct views *v = ctx;

	switch (key) {
	case '\t':
		v->shown = (v->shown + 1) % v->tables.len;
		screen_home(v->screen);
		break;
	case SCREEN_KEY_BACK:
		v->shown = (v->shown + v->tables.len - 1) % v->tables.len;
		screen_home(v->screen);
		break;
	case 'c':
		clear(v);
		break;
	case 'p':
		v->paused = !v->paused;
		break;
	default:
		break;
	}
}

static void on_quit(void *ctx)
{
	struct views *v = ctx;

	pipeline_stop(v->pipeline);
}

int views_screen(struct views *v, struct err *err)
{
	return screen_new("--top", "--view without it prints its tables at the end", &v->screen, err);
}

int views_start(struct views *v, struct loop *loop, struct pipeline *p, struct err *err)
{
	static const struct screen_ops ops = { .show = on_show, .key = on_key, .quit = on_quit };

	v->pipeline = p;
	return v->screen ? screen_start(v->screen, loop, &ops, v, err) : 0;
}

void views_stop(struct views *v)
{
	screen_free(v->screen);
	v->screen = NULL;
}
