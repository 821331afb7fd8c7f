// SPDX-License-Identifier: GPL-2.0-or-later
/* AMQP 0-9-1: exchanges made by tests/e2e/call_messages.py, and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* Methods and their answers; messages with and without confirms; a queue that is not there. */
static void test_producer(void **state)
{
	(void)state;
	assert_replay("call_amqp/producer", "amqp connection.open /shop db=/shop\n"
					    "amqp channel.open db=/shop\n"
					    "amqp exchange.declare orders db=/shop\n"
					    "amqp queue.declare new db=/shop\n"
					    "amqp queue.bind new db=/shop\n"
					    "amqp basic.publish orders:a.b db=/shop oneway\n"
					    "amqp confirm.select db=/shop\n"
					    "amqp basic.publish orders:a.b db=/shop\n"
					    "amqp basic.publish new db=/shop\n"
					    "amqp basic.publish new db=/shop index=1\n"
					    "amqp basic.publish orders:c db=/shop index=2\n"
					    "amqp basic.publish orders:none db=/shop status=312 NO_ROUTE failed\n"
					    "amqp basic.publish orders:full db=/shop nack failed\n"
					    "amqp basic.get new db=/shop rows=1\n"
					    "amqp basic.get empty db=/shop rows=0\n"
					    "amqp queue.declare absent db=/shop status=404 NOT_FOUND failed\n"
					    "amqp connection.close db=/shop\n");
}

/* Deliveries are calls of the other side. */
static void test_consumer(void **state)
{
	(void)state;
	assert_replay("call_amqp/consumer", "amqp connection.open /shop db=/shop\n"
					    "amqp channel.open db=/shop\n"
					    "amqp basic.qos db=/shop\n"
					    "amqp basic.consume new db=/shop\n"
					    "amqp basic.deliver orders:a.b db=/shop\n"
					    "amqp basic.deliver new db=/shop\n"
					    "amqp basic.deliver new db=/shop index=1\n"
					    "amqp basic.deliver new db=/shop reject failed\n"
					    "amqp channel.open db=/shop\n"
					    "amqp basic.consume logs db=/shop\n"
					    "amqp basic.deliver logs db=/shop oneway\n"
					    "amqp basic.cancel db=/shop\n");
}

#define FRAME(kind, size) kind "\0\1\0\0" size
#define PUBLISH FRAME("\1", "\0\14") "\0\74\0\50\0\0\0\3key\0\xce"
#define HEAD_1000 FRAME("\2", "\0\16") "\0\74\0\0\0\0\0\0\0\0\3\350\0\0\xce"

/* Holes in messages cost nothing. Behind one in frames the numbers of confirms are unknown. */
static void test_holes(void **state)
{
	static const char select[] = FRAME("\1", "\0\5") "\0\125\0\12\0\xce";
	static const char selected[] = FRAME("\1", "\0\4") "\0\125\0\13\xce";
	static const char publish[] = PUBLISH HEAD_1000 FRAME("\3", "\3\350") "xx";
	static const char ack[] = FRAME("\1", "\0\15") "\0\74\0\120\0\0\0\0\0\0\0\1\0\xce";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, "AMQP\0\0\11\1", 8, 0);
	feed_bytes(&f, CALL_DIR_SENT, select, sizeof(select) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, selected, sizeof(selected) - 1, 0);
	feed_bytes(&f, CALL_DIR_SENT, publish, sizeof(publish) - 1, 999);
	feed_bytes(&f, CALL_DIR_RECEIVED, ack, sizeof(ack) - 1, 0);
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_bytes(&f, CALL_DIR_SENT, publish, 3, 100);
	feed_bytes(&f, CALL_DIR_SENT, publish, sizeof(publish) - 1, 999);
	feed_bytes(&f, CALL_DIR_RECEIVED, ack, sizeof(ack) - 1, 0);
	assert_string_equal(feed_calls(&f), "amqp confirm.select ask=13@2-2 answer=12@3-3\n"
					    "amqp basic.publish key ask=1050@4-4 answer=21@5-5\n"
					    "amqp basic.publish key ask=1050@7-7 oneway\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 1);
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_producer),
		cmocka_unit_test(test_consumer),
		cmocka_unit_test(test_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
