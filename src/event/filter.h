/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event words: `proc.name=nginx and (drop.reason in (NO_SOCKET, TCP_CSUM) or net.dport < 1024)`.
 *
 *   expr  := term { "or" term }         term := factor { "and" factor }
 *   factor:= "not" factor | "(" expr ")" | check
 *   check := word op value | word "in" "(" value, ... ")" | word "exists" | word
 *   op    := = == != < <= > >= contains icontains startswith endswith glob in intersects pmatch
 *
 * One parser, one evaluator: live, replay and clients. Words are those of event_common_fields and of
 * every registered type; a word that no type has is a syntax error with a suggestion. A check on a field
 * that an event lacks is false (its negation is true). Depth, length and steps are bounded.
 */
#ifndef EVENT_FILTER_H
#define EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct event;
struct filter;
struct registry;

/*
 * Parses @text. On -EINVAL @err says what is wrong in one sentence, followed by a newline, the text and a
 * line with a caret under the word. An empty text gives a filter that lets everything pass.
 */
int filter_parse(const struct registry *reg, const char *text, struct filter **ret, struct err *err);
void filter_free(struct filter *f);

/* EVENT_META passes always. @f may be NULL (everything passes). */
bool filter_match(const struct filter *f, const struct event *ev);

/* The expression in normal form, for --explain-filter and tests. */
int filter_text(const struct filter *f, struct buf *out);

#endif
