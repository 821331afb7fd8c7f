// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flame graphs as a self-contained SVG file: outermost frames at the bottom, width = weight, ordered by name.
 * svg_script.js adds zoom and search. With two profiles the newer one gives the widths; colours show growth (red) and
 * shrinkage (blue).
 */
#include "sinks/stack/svg.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "sinks/outfile.h"
#include "sinks/stack/profile.h"
#include "sinks/sink.h"
#include "sinks/svg_script.h"

#define PAD 10			/* margin, pixels */
#define HEAD 44			/* title and links */
#define FOOT 40			/* details; losses follow below */
#define LINE 16			/* height of a line of text */
#define MIN_PX 0.1		/* omit narrower frames */
#define CHAR_PX 6.6
#define DEFAULT_WIDTH 1200
#define DEFAULT_HEIGHT 16

struct svg {
	const struct stack_tree *tree;
	const struct svg_opts *o;
	struct buf *out;
	double width, frame_h;	/* pixels */
	uint64_t total[STACK_SIDE__MAX];
	enum stack_side shown;	/* profile that gives the widths */
	uint32_t max_depth;
	double floor_y;		/* of the outermost frame */
};

/* Names are printable already; escapes XML's special characters. */
static void put_xml(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (s[i]) {
		case '&':
			buf_add_str(out, "&amp;");
			break;
		case '<':
			buf_add_str(out, "&lt;");
			break;
		case '>':
			buf_add_str(out, "&gt;");
			break;
		case '"':
			buf_add_str(out, "&quot;");
			break;
		default:
			buf_add_char(out, s[i]);
		}
	}
}

static void put_safe(struct buf *out, const char *s)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	str_escape_buf(&b, s, strlen(s));
	put_xml(out, b.data ? b.data : "", b.len);
}

static double share(const struct svg *g, const struct stack_node *n, enum stack_side side)
{
	return g->total[side] ? (double)n->total[side] / (double)g->total[side] : 0;
}

/* ---- colours ---- */

/* White for no change, full colour for a change of a tenth of the total. */
static void put_diff_colour(const struct svg *g, const struct stack_node *n)
{
	double delta = share(g, n, STACK_NEW) - share(g, n, STACK_OLD), strength = fmin(1, sqrt(fabs(delta) * 10));
	int pale = (int)lround(235 - 145 * strength);

	if (fabs(delta) < 0.0005)
		pale = 235;
	if (delta > 0)
		buf_printf(g->out, "#f0%02x%02x", pale, pale);
	else
		buf_printf(g->out, "#%02x%02xf0", pale, pale);
}

/* A name has the same colour in every graph: kernel orange, program blue-green, notes grey. */
static void put_colour(const struct svg *g, const struct stack_node *n)
{
	uint64_t h = map_hash(n->name, strlen(n->name));
	unsigned a = h % 40, b = (h >> 16) % 30;

	if (g->o->diff) {
		put_diff_colour(g, n);
		return;
	}
	switch (n->part) {
	case STACK_PART_USER:
		buf_printf(g->out, "hsl(%u,%u%%,%u%%)", 165 + a, 42 + b / 2, 62 + b / 2);
		break;
	case STACK_PART_KERN:
		buf_printf(g->out, "hsl(%u,%u%%,%u%%)", 18 + a / 2, 75 + b / 2, 62 + b / 3);
		break;
	case STACK_PART_NOTE:
	case STACK_PART__MAX:
		buf_add_str(g->out, n->depth > 1 ? "#c9c9c9" : "#dcd7cf");
		break;
	}
}

/* ---- frames ---- */

static void put_title(const struct svg *g, const struct stack_node *n)
{
	buf_add_str(g->out, "<title>");
	put_xml(g->out, n->name, strlen(n->name));
	buf_printf(g->out, " (%llu %s, %.2f%%", (unsigned long long)n->total[g->shown], g->o->unit,
		   100 * share(g, n, g->shown));
	if (g->o->diff)
		buf_printf(g->out, "; %+.2f%%", 100 * (share(g, n, STACK_NEW) - share(g, n, STACK_OLD)));
	buf_add_str(g->out, ")</title>");
}

static void put_label(const struct svg *g, const struct stack_node *n, double x, double y, double w)
{
	size_t len = strlen(n->name), room = w > 4 ? (size_t)((w - 4) / CHAR_PX) : 0;

	buf_printf(g->out, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + g->frame_h - 4.5);
	if (room >= 3 && len <= room) {
		put_xml(g->out, n->name, len);
	} else if (room >= 3) {
		/* Truncates at a character boundary. */
		for (len = room - 2; len && ((unsigned char)n->name[len] & 0xc0) == 0x80; len--)
			;
		put_xml(g->out, n->name, len);
		buf_add_str(g->out, "..");
	}
	buf_add_str(g->out, "</text>");
}

/* @from: left edge as a fraction of the total width. */
static void put_frame(const struct svg *g, const struct stack_node *n, double from)
{
	double part = share(g, n, g->shown), x = PAD + from * g->width, w = part * g->width;
	double y = g->floor_y - n->depth * g->frame_h;

	buf_printf(g->out, "<g data-x=\"%.9g\" data-w=\"%.9g\" data-n=\"", from, part);
	put_xml(g->out, n->name, strlen(n->name));
	buf_add_str(g->out, "\">");
	put_title(g, n);
	buf_printf(g->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"", x, y, w,
		   g->frame_h - 1);
	put_colour(g, n);
	buf_add_str(g->out, "\"/>");
	put_label(g, n, x, y, w);
	buf_add_str(g->out, "</g>\n");
}

static bool is_wide(const struct svg *g, const struct stack_node *n)
{
	return share(g, n, g->shown) * g->width >= MIN_PX;
}

/* Iterative: stacks may be thousands of frames deep. */
static void walk(struct svg *g, void (*fn)(struct svg *g, const struct stack_node *n, double from))
{
	uint32_t i = 0;
	uint64_t from = 0;	/* in weights, so that rounding errors do not add up */

	for (;;) {
		const struct stack_node *n = stack_tree_at(g->tree, i);
		bool enter = is_wide(g, n);

		if (enter)
			fn(g, n, g->total[g->shown] ? (double)from / (double)g->total[g->shown] : 0);
		if (enter && n->child) {
			i = n->child;
			continue;
		}
		for (; i; i = n->parent) {
			n = stack_tree_at(g->tree, i);
			if (!enter || !n->child)
				from += n->total[g->shown];
			else
				from += n->self[g->shown];
			enter = true;
			if (n->next)
				break;
		}
		if (!i)
			return;
		i = stack_tree_at(g->tree, i)->next;
	}
}

static void measure(struct svg *g, const struct stack_node *n, _unused_ double from)
{
	g->max_depth = MAX(g->max_depth, n->depth);
}

static void draw(struct svg *g, const struct stack_node *n, double from)
{
	put_frame(g, n, from);
}

/* ---- the page ---- */

static void put_head(struct svg *g, double height)
{
	double w = g->width + 2 * PAD;

	buf_printf(g->out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" height=\"%.0f\" "
		   "viewBox=\"0 0 %.0f %.0f\" data-pad=\"%d\" data-width=\"%.0f\">\n", w, height, w, height, PAD,
		   g->width);
	buf_add_str(g->out, "<style>\n"
		    "text { font: 11px Menlo, Consolas, \"DejaVu Sans Mono\", monospace; fill: #1b1f23; }\n"
		    "#frames > g { cursor: pointer; }\n#frames > g:hover rect { stroke: #1b1f23; }\n"
		    "#frames text { pointer-events: none; }\n.above { opacity: 0.55; }\n"
		    ".hit rect { fill: #d945b8; }\n.link { fill: #0b57a4; cursor: pointer; }\n"
		    "#title { font-size: 15px; }\n</style>\n<script><![CDATA[\n");
	buf_add_str(g->out, svg_script);
	buf_add_str(g->out, "]]></script>\n");
	buf_add_str(g->out, "<rect width=\"100%\" height=\"100%\" fill=\"#fbfaf7\"/>\n");
}

/* Drawn last, above the frames; the script keeps them in view. */
static void put_controls(struct svg *g)
{
	double w = g->width + 2 * PAD;

	buf_printf(g->out, "<g id=\"head\">\n<rect width=\"%.0f\" height=\"%d\" fill=\"#fbfaf7\" "
		   "fill-opacity=\"0.9\"/>\n<text id=\"title\" x=\"%.0f\" y=\"22\" text-anchor=\"middle\">", w,
		   HEAD - 2, w / 2);
	put_safe(g->out, g->o->title ? g->o->title : "Flame graph");
	buf_printf(g->out, "</text>\n"
		   "<text id=\"reset\" class=\"link\" x=\"%d\" y=\"38\" visibility=\"hidden\">reset zoom</text>\n"
		   "<text id=\"search\" class=\"link\" x=\"%.0f\" y=\"38\" text-anchor=\"end\">search</text>\n</g>\n",
		   PAD, w - PAD);
}

static unsigned count_lines(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void put_foot(struct svg *g, double y)
{
	const char *line = g->o->footer ? g->o->footer : "";

	buf_printf(g->out, "<text id=\"details\" x=\"%d\" y=\"%.0f\"> </text>\n"
		   "<text id=\"matched\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\"></text>\n", PAD, y,
		   g->width + PAD, y);
	for (size_t len; *line; line += len + (line[len] == '\n')) {
		_cleanup_free_ char *one = NULL;

		len = strcspn(line, "\n");
		y += LINE;
		one = strndup(line, len);
		buf_printf(g->out, "<text class=\"footer\" x=\"%d\" y=\"%.0f\" fill-opacity=\"0.7\">", PAD, y);
		put_safe(g->out, one ? one : "");
		buf_add_str(g->out, "</text>\n");
	}
	buf_add_str(g->out, "</svg>\n");
}

int svg_write(struct stack_tree *tree, const struct svg_opts *o, struct buf *out)
{
	struct svg g = {
		.tree = tree, .o = o, .out = out, .width = (o->width ? o->width : DEFAULT_WIDTH) - 2 * PAD,
		.frame_h = o->height ? o->height : DEFAULT_HEIGHT, .shown = o->diff ? STACK_NEW : STACK_OLD,
	};
	double height;
	int r = stack_tree_sort(tree);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < STACK_SIDE__MAX; i++)
		g.total[i] = stack_tree_at(tree, 0)->total[i];
	walk(&g, measure);
	g.floor_y = HEAD + g.max_depth * g.frame_h;
	height = g.floor_y + g.frame_h + FOOT + LINE * count_lines(o->footer ? o->footer : "");
	put_head(&g, height);
	buf_add_str(out, "<g id=\"frames\">\n");
	if (g.total[g.shown])
		walk(&g, draw);
	buf_add_str(out, "</g>\n");
	put_controls(&g);
	put_foot(&g, g.floor_y + g.frame_h + LINE);
	return buf_error(out);
}

/* ---- the output ---- */

static int write_graph(struct sink *s)
{
	struct profile *p = s->state;
	_cleanup_(stack_tree_freep) struct stack_tree *tree = NULL;
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct svg_opts o = {
		.title = p->view.title,
		.unit = stack_weight_units[p->view.weight],
		.footer = sinks_profile_losses(p),
		.width = p->view.width,
		.height = p->view.height,
	};
	int r = stack_tree_new(&tree);

	if (r >= 0)
		r = stack_tree_add(tree, p->set, p->sym, &p->view, STACK_OLD, false);
	if (r >= 0)
		r = svg_write(tree, &o, &out);
	return r < 0 ? r : outfile_record(s->out, out.data, out.len);
}

static int svg_close(struct sink *s)
{
	int r = write_graph(s);

	sinks_profile_fini(s->state);
	return r;
}

const struct sink_ops svg_sink = {
	.name = "svg", .summary = "flame graph in one file, with zoom and search", .suffix = ".svg",
	.flags = SINK_AT_CLOSE, .shows = SINK_SHOWS_STACKS, .state_size = sizeof(struct profile),
	.open = sinks_profile_sink_open, .event = sinks_profile_sink_event, .close = svg_close,
};
