// SPDX-License-Identifier: GPL-2.0-or-later
/* A painter whose terminal is a semaphore: it takes a picture when the test lets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <semaphore.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/painter.h"

struct terminal {
	sem_t begun, room;
	char seen[64];	/* of the pictures, one behind the other */
};

static void paint(void *ctx, const struct buf *picture)
{
	struct terminal *t = ctx;

	sem_post(&t->begun);
	sem_wait(&t->room);
	strncat(t->seen, picture->data, picture->len);
}

static void put(struct painter *p, const char *text)
{
	struct buf b = { 0 };

	buf_add_str(&b, text);
	painter_put(p, &b);
	buf_fini(&b);
}

static void start(struct terminal *t, struct painter **ret)
{
	*t = (struct terminal){ 0 };
	sem_init(&t->begun, 0, 0);
	sem_init(&t->room, 0, 0);
	assert_int_equal(painter_new(paint, t, ret), 0);
	put(*ret, "a");
	sem_wait(&t->begun);
}

static void pictures_that_wait_are_replaced(void **state)
{
	struct terminal t;
	struct painter *p;

	(void)state;
	start(&t, &p);
	put(p, "b");
	put(p, "c");
	put(p, "d");
	sem_post(&t.room);
	sem_post(&t.room);
	assert_true(painter_free(p));
	assert_string_equal(t.seen, "ad");
}

static void a_held_painter_is_left_behind(void **state)
{
	static struct terminal t;	/* the thread goes on with it */
	struct painter *p;

	(void)state;
	start(&t, &p);
	put(p, "b");
	assert_false(painter_free(p));
	assert_string_equal(t.seen, "");
}

static void nothing_to_free(void **state)
{
	(void)state;
	assert_true(painter_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_that_wait_are_replaced),
		cmocka_unit_test(a_held_painter_is_left_behind),
		cmocka_unit_test(nothing_to_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
