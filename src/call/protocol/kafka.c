// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kafka (https://kafka.apache.org/protocol): a length, then a request with its number, or the response to one.
 *
 * The operation is the request's name, the resource its first topic or its group; a topic that is named by id alone
 * shows the id as Kafka's tools do. The status is the error at the top of the response, else that of its first topic
 * or partition. Bytes of SASL are not read.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "call/call_frame.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define SIZE 4			 /* of the length in front */
#define HEADER 10		 /* of a request, up to the client's name */
#define REQUEST_MAX (100u << 20) /* socket.request.max.bytes */
#define READ_MAX 2048
#define VERSION_MAX 20
#define CLIENT_MAX 200		/* bytes of a client's name */
#define NEVER 99 /* no version */

enum {
	PRODUCE = 0,
	FETCH = 1,
	LIST_OFFSETS = 2,
	METADATA = 3,
	OFFSET_FETCH = 9,
	FIND_COORDINATOR = 10,
	SASL_HANDSHAKE = 17,
	API_VERSIONS = 18,
};

/* First part of a request's body that names something. */
enum names { NAMES_NOTHING, NAMES_TEXT, NAMES_TOPICS, NAMES_OTHER, NAMES__MAX };

/* Place of a response's error. */
enum errors { ERRORS_NONE, ERRORS_TOP, ERRORS_TOPIC, ERRORS_PARTITION, ERRORS__MAX };

static const struct api {
	const char *name;
	uint8_t flexible; /* first version with compact strings and tags */
	uint8_t throttle; /* first version whose response begins with a time */
	uint8_t names, errors;
} apis[] = {
	[PRODUCE] = { "Produce", 9, NEVER, NAMES_OTHER, ERRORS_PARTITION },
	[FETCH] = { "Fetch", 12, 1, NAMES_OTHER, ERRORS_PARTITION },
	[LIST_OFFSETS] = { "ListOffsets", 6, 2, NAMES_OTHER, ERRORS_PARTITION },
	[METADATA] = { "Metadata", 9, 3, NAMES_OTHER, ERRORS_NONE },
	[4] = { "LeaderAndIsr", 4, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[5] = { "StopReplica", 2, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[6] = { "UpdateMetadata", 6, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[7] = { "ControlledShutdown", 3, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[8] = { "OffsetCommit", 8, 3, NAMES_TEXT, ERRORS_PARTITION },
	[OFFSET_FETCH] = { "OffsetFetch", 6, 3, NAMES_OTHER, ERRORS_NONE },
	[FIND_COORDINATOR] = { "FindCoordinator", 3, 1, NAMES_OTHER, ERRORS_TOP },
	[11] = { "JoinGroup", 6, 2, NAMES_TEXT, ERRORS_TOP },
	[12] = { "Heartbeat", 4, 1, NAMES_TEXT, ERRORS_TOP },
	[13] = { "LeaveGroup", 4, 1, NAMES_TEXT, ERRORS_TOP },
	[14] = { "SyncGroup", 4, 1, NAMES_TEXT, ERRORS_TOP },
	[15] = { "DescribeGroups", 5, 1, NAMES_TOPICS, ERRORS_NONE },
	[16] = { "ListGroups", 3, 1, NAMES_NOTHING, ERRORS_TOP },
	[SASL_HANDSHAKE] = { "SaslHandshake", NEVER, NEVER, NAMES_TEXT, ERRORS_TOP },
	[API_VERSIONS] = { "ApiVersions", 3, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[19] = { "CreateTopics", 5, 2, NAMES_TOPICS, ERRORS_TOPIC },
	[20] = { "DeleteTopics", 4, 1, NAMES_TOPICS, ERRORS_TOPIC },
	[21] = { "DeleteRecords", 2, 0, NAMES_TOPICS, ERRORS_NONE },
	[22] = { "InitProducerId", 2, 0, NAMES_TEXT, ERRORS_TOP },
	[23] = { "OffsetForLeaderEpoch", 4, NEVER, NAMES_NOTHING, ERRORS_NONE },
	[24] = { "AddPartitionsToTxn", 3, 0, NAMES_NOTHING, ERRORS_NONE },
	[25] = { "AddOffsetsToTxn", 3, 0, NAMES_TEXT, ERRORS_TOP },
	[26] = { "EndTxn", 3, 0, NAMES_TEXT, ERRORS_TOP },
	[27] = { "WriteTxnMarkers", 1, NEVER, NAMES_NOTHING, ERRORS_NONE },
	[28] = { "TxnOffsetCommit", 3, 0, NAMES_TEXT, ERRORS_PARTITION },
	[29] = { "DescribeAcls", 2, 0, NAMES_NOTHING, ERRORS_TOP },
	[30] = { "CreateAcls", 2, 0, NAMES_NOTHING, ERRORS_NONE },
	[31] = { "DeleteAcls", 2, 0, NAMES_NOTHING, ERRORS_NONE },
	[32] = { "DescribeConfigs", 4, 0, NAMES_NOTHING, ERRORS_NONE },
	[33] = { "AlterConfigs", 2, 0, NAMES_NOTHING, ERRORS_NONE },
	[34] = { "AlterReplicaLogDirs", 2, 0, NAMES_NOTHING, ERRORS_NONE },
	[35] = { "DescribeLogDirs", 2, 0, NAMES_NOTHING, ERRORS_NONE },
	[36] = { "SaslAuthenticate", 2, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[37] = { "CreatePartitions", 2, 0, NAMES_TOPICS, ERRORS_TOPIC },
	[38] = { "CreateDelegationToken", 2, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[39] = { "RenewDelegationToken", 2, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[40] = { "ExpireDelegationToken", 2, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[41] = { "DescribeDelegationToken", 2, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[42] = { "DeleteGroups", 2, 0, NAMES_TOPICS, ERRORS_TOPIC },
	[43] = { "ElectLeaders", 2, 0, NAMES_NOTHING, ERRORS_NONE },
	[44] = { "IncrementalAlterConfigs", 1, 0, NAMES_NOTHING, ERRORS_NONE },
	[45] = { "AlterPartitionReassignments", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[46] = { "ListPartitionReassignments", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[47] = { "OffsetDelete", NEVER, NEVER, NAMES_TEXT, ERRORS_TOP },
	[48] = { "DescribeClientQuotas", 1, 0, NAMES_NOTHING, ERRORS_TOP },
	[49] = { "AlterClientQuotas", 1, 0, NAMES_NOTHING, ERRORS_NONE },
	[50] = { "DescribeUserScramCredentials", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[51] = { "AlterUserScramCredentials", 0, 0, NAMES_NOTHING, ERRORS_NONE },
	[52] = { "Vote", 0, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[53] = { "BeginQuorumEpoch", 1, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[54] = { "EndQuorumEpoch", 1, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[55] = { "DescribeQuorum", 0, NEVER, NAMES_NOTHING, ERRORS_TOP },
	[56] = { "AlterPartition", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[57] = { "UpdateFeatures", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[58] = { "Envelope", 0, NEVER, NAMES_NOTHING, ERRORS_NONE },
	[59] = { "FetchSnapshot", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[60] = { "DescribeCluster", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[61] = { "DescribeProducers", 0, 0, NAMES_TOPICS, ERRORS_PARTITION },
	[62] = { "BrokerRegistration", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[63] = { "BrokerHeartbeat", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[64] = { "UnregisterBroker", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[65] = { "DescribeTransactions", 0, 0, NAMES_TOPICS, ERRORS_NONE },
	[66] = { "ListTransactions", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[67] = { "AllocateProducerIds", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[68] = { "ConsumerGroupHeartbeat", 0, 0, NAMES_TEXT, ERRORS_TOP },
	[69] = { "ConsumerGroupDescribe", 0, 0, NAMES_TOPICS, ERRORS_NONE },
	[71] = { "GetTelemetrySubscriptions", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[72] = { "PushTelemetry", 0, 0, NAMES_NOTHING, ERRORS_TOP },
	[75] = { "DescribeTopicPartitions", 0, 0, NAMES_TOPICS, ERRORS_NONE },
};

/* org.apache.kafka.common.protocol.Errors, from 1 on. */
static const char *const error_names[] = {
	"OFFSET_OUT_OF_RANGE",
	"CORRUPT_MESSAGE",
	"UNKNOWN_TOPIC_OR_PARTITION",
	"INVALID_FETCH_SIZE",
	"LEADER_NOT_AVAILABLE",
	"NOT_LEADER_OR_FOLLOWER",
	"REQUEST_TIMED_OUT",
	"BROKER_NOT_AVAILABLE",
	"REPLICA_NOT_AVAILABLE",
	"MESSAGE_TOO_LARGE",
	"STALE_CONTROLLER_EPOCH",
	"OFFSET_METADATA_TOO_LARGE",
	"NETWORK_EXCEPTION",
	"COORDINATOR_LOAD_IN_PROGRESS",
	"COORDINATOR_NOT_AVAILABLE",
	"NOT_COORDINATOR",
	"INVALID_TOPIC_EXCEPTION",
	"RECORD_LIST_TOO_LARGE",
	"NOT_ENOUGH_REPLICAS",
	"NOT_ENOUGH_REPLICAS_AFTER_APPEND",
	"INVALID_REQUIRED_ACKS",
	"ILLEGAL_GENERATION",
	"INCONSISTENT_GROUP_PROTOCOL",
	"INVALID_GROUP_ID",
	"UNKNOWN_MEMBER_ID",
	"INVALID_SESSION_TIMEOUT",
	"REBALANCE_IN_PROGRESS",
	"INVALID_COMMIT_OFFSET_SIZE",
	"TOPIC_AUTHORIZATION_FAILED",
	"GROUP_AUTHORIZATION_FAILED",
	"CLUSTER_AUTHORIZATION_FAILED",
	"INVALID_TIMESTAMP",
	"UNSUPPORTED_SASL_MECHANISM",
	"ILLEGAL_SASL_STATE",
	"UNSUPPORTED_VERSION",
	"TOPIC_ALREADY_EXISTS",
	"INVALID_PARTITIONS",
	"INVALID_REPLICATION_FACTOR",
	"INVALID_REPLICA_ASSIGNMENT",
	"INVALID_CONFIG",
	"NOT_CONTROLLER",
	"INVALID_REQUEST",
	"UNSUPPORTED_FOR_MESSAGE_FORMAT",
	"POLICY_VIOLATION",
	"OUT_OF_ORDER_SEQUENCE_NUMBER",
	"DUPLICATE_SEQUENCE_NUMBER",
	"INVALID_PRODUCER_EPOCH",
	"INVALID_TXN_STATE",
	"INVALID_PRODUCER_ID_MAPPING",
	"INVALID_TRANSACTION_TIMEOUT",
	"CONCURRENT_TRANSACTIONS",
	"TRANSACTION_COORDINATOR_FENCED",
	"TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
	"SECURITY_DISABLED",
	"OPERATION_NOT_ATTEMPTED",
	"KAFKA_STORAGE_ERROR",
	"LOG_DIR_NOT_FOUND",
	"SASL_AUTHENTICATION_FAILED",
	"UNKNOWN_PRODUCER_ID",
	"REASSIGNMENT_IN_PROGRESS",
	"DELEGATION_TOKEN_AUTH_DISABLED",
	"DELEGATION_TOKEN_NOT_FOUND",
	"DELEGATION_TOKEN_OWNER_MISMATCH",
	"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
	"DELEGATION_TOKEN_AUTHORIZATION_FAILED",
	"DELEGATION_TOKEN_EXPIRED",
	"INVALID_PRINCIPAL_TYPE",
	"NON_EMPTY_GROUP",
	"GROUP_ID_NOT_FOUND",
	"FETCH_SESSION_ID_NOT_FOUND",
	"INVALID_FETCH_SESSION_EPOCH",
	"LISTENER_NOT_FOUND",
	"TOPIC_DELETION_DISABLED",
	"FENCED_LEADER_EPOCH",
	"UNKNOWN_LEADER_EPOCH",
	"UNSUPPORTED_COMPRESSION_TYPE",
	"STALE_BROKER_EPOCH",
	"OFFSET_NOT_AVAILABLE",
	"MEMBER_ID_REQUIRED",
	"PREFERRED_LEADER_NOT_AVAILABLE",
	"GROUP_MAX_SIZE_REACHED",
	"FENCED_INSTANCE_ID",
	"ELIGIBLE_LEADERS_NOT_AVAILABLE",
	"ELECTION_NOT_NEEDED",
	"NO_REASSIGNMENT_IN_PROGRESS",
	"GROUP_SUBSCRIBED_TO_TOPIC",
	"INVALID_RECORD",
	"UNSTABLE_OFFSET_COMMIT",
	"THROTTLING_QUOTA_EXCEEDED",
	"PRODUCER_FENCED",
	"RESOURCE_NOT_FOUND",
	"DUPLICATE_RESOURCE",
	"UNACCEPTABLE_CREDENTIAL",
	"INCONSISTENT_VOTER_SET",
	"INVALID_UPDATE_VERSION",
	"FEATURE_UPDATE_FAILED",
	"PRINCIPAL_DESERIALIZATION_FAILURE",
	"SNAPSHOT_NOT_FOUND",
	"POSITION_OUT_OF_RANGE",
	"UNKNOWN_TOPIC_ID",
	"DUPLICATE_BROKER_REGISTRATION",
	"BROKER_ID_NOT_REGISTERED",
	"INCONSISTENT_TOPIC_ID",
	"INCONSISTENT_CLUSTER_ID",
	"TRANSACTIONAL_ID_NOT_FOUND",
	"FETCH_SESSION_TOPIC_ID_ERROR",
	"INELIGIBLE_REPLICA",
	"NEW_LEADER_ELECTED",
	"OFFSET_MOVED_TO_TIERED_STORAGE",
	"FENCED_MEMBER_EPOCH",
	"UNRELEASED_INSTANCE_ID",
	"UNSUPPORTED_ASSIGNOR",
	"STALE_MEMBER_EPOCH",
};

struct kafka {
	bool sasl;		      /* frames that are no requests may be those of SASL */
	bool oneway;		      /* the request has no response */
	bool waiting[CALL_SIDE__MAX]; /* the frame ends with the content that is passed over */
	uint64_t answer;	      /* id of the call that is answered; 0 = none */
};

/* ---- fields ---- */

static uint32_t cur_varint(struct cursor *c)
{
	uint32_t v = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t b = cur_u8(c);

		v |= (uint32_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static void skip_tags(struct cursor *c)
{
	for (uint32_t n = cur_varint(c); n && cur_ok(c); n--) {
		cur_varint(c);
		cur_skip(c, cur_varint(c));
	}
}

/* A string that may be absent: NULL then. */
static const char *cur_string(struct cursor *c, bool flexible, size_t *ret_len)
{
	uint32_t n = flexible ? cur_varint(c) : (uint32_t)cur_u16be(c) + 1;

	*ret_len = 0;
	if (!flexible)
		n &= 0xffff; /* -1 is absent */
	if (!n || !cur_ok(c))
		return NULL;
	*ret_len = n - 1;
	return cur_bytes(c, n - 1);
}

/* Elements of an array; absent ones are 0. */
static uint32_t cur_count(struct cursor *c, bool flexible)
{
	uint32_t n = flexible ? cur_varint(c) : cur_u32be(c) + 1;

	return n && cur_ok(c) ? n - 1 : 0;
}

struct request {
	uint16_t api, version;
	uint32_t number;
};

static bool is_flexible(const struct request *r)
{
	return r->version >= apis[r->api].flexible;
}

/* First version that names topics by id alone; and that puts an id behind or before the name. */
static bool has_ids_only(const struct request *r)
{
	return (r->api == PRODUCE || r->api == FETCH) && r->version >= 13;
}

/* ---- which protocol ---- */

static bool is_name(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < ' ' || bytes[i] > 0x7e)
			return false;
	return true;
}

/* The header of a request of @size bytes; of the client's name as much as is at hand. */
static bool read_request(struct cursor c, uint32_t size, struct request *ret)
{
	uint16_t name;

	*ret = (struct request){ .api = cur_u16be(&c), .version = cur_u16be(&c) };
	ret->number = cur_u32be(&c);
	name = cur_u16be(&c);
	if (!cur_ok(&c) || size > REQUEST_MAX || ret->api >= ARRAY_SIZE(apis) || !apis[ret->api].name ||
	    ret->version > VERSION_MAX || ret->number >> 31)
		return false;
	if (name == UINT16_MAX)
		return true;
	return name <= CLIENT_MAX && (uint32_t)HEADER + name <= size &&
	       is_name(c.pos, MIN((size_t)name, cur_left(&c)));
}

static enum call_look kafka_classify(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	uint32_t size = cur_u32be(&c);
	struct request r;
	size_t name;

	if (len < SIZE + HEADER)
		return len && bytes[0] > REQUEST_MAX >> 24 ? CALL_LOOK_NO : CALL_LOOK_MORE;
	if (size < HEADER || !read_request(c, size, &r))
		return CALL_LOOK_NO;
	/* all of the name is looked at, however it comes */
	name = (size_t)bytes[SIZE + HEADER - 2] << 8 | bytes[SIZE + HEADER - 1];
	return name <= CLIENT_MAX && len < SIZE + HEADER + name ? CALL_LOOK_MORE : CALL_LOOK_REQUEST;
}

/* A response begins with a number that only the outstanding calls tell. */
static enum call_look kafka_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	if (side == CALL_SIDE_REQUEST)
		return kafka_classify(bytes, len);
	if (len < SIZE + 4)
		return CALL_LOOK_MORE;
	return bytes[0] < 0x10 && bytes[SIZE] < 0x80 ? CALL_LOOK_RESPONSE : CALL_LOOK_NO;
}

/* ---- requests ---- */

static void set_name(struct call *c, struct cursor *body, bool flexible)
{
	size_t len;
	const char *name = cur_string(body, flexible, &len);

	if (name && is_name((const uint8_t *)name, len))
		call_entry_set(c, CALL_TEXT_RESOURCE, name, len);
	else if (!cur_ok(body))
		c->incomplete |= CALL_INCOMPLETE_CUT;
}

/* An id in base64 with the alphabet of URLs. */
static void set_id(struct call *c, struct cursor *body)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char text[22];
	uint8_t id[18] = { 0 };

	if (!cur_copy(body, id, 16))
		return;
	for (size_t i = 0; i < sizeof(text); i++) {
		size_t bit = i * 6;
		unsigned two = (unsigned)id[bit / 8] << 8 | id[bit / 8 + 1];

		text[i] = digits[two >> (10 - bit % 8) & 0x3f];
	}
	call_entry_set(c, CALL_TEXT_RESOURCE, text, sizeof(text));
}

static void set_topic(struct call *c, const struct request *r, struct cursor *body)
{
	bool flexible = is_flexible(r);

	if (!cur_count(body, flexible)) {
		c->incomplete |= cur_ok(body) ? 0 : CALL_INCOMPLETE_CUT;
		return;
	}
	if (has_ids_only(r)) {
		set_id(c, body);
		return;
	}
	if (r->api == METADATA && r->version >= 10)
		cur_skip(body, 16);
	set_name(c, body, flexible);
}

/* Fields before the topics. */
static void take_other(struct kafka *p, struct call *c, const struct request *r, struct cursor body)
{
	bool flexible = is_flexible(r);
	size_t len;

	switch (r->api) {
	case PRODUCE:
		if (r->version >= 3)
			cur_string(&body, flexible, &len);
		p->oneway = cur_u16be(&body) == 0 && cur_ok(&body);
		cur_skip(&body, 4);
		break;
	case FETCH:
		cur_skip(&body, (r->version < 15 ? 4 : 0) + 8u + (r->version >= 3 ? 4 : 0) +
					(r->version >= 4 ? 1 : 0) + (r->version >= 7 ? 8 : 0));
		break;
	case LIST_OFFSETS: cur_skip(&body, r->version >= 2 ? 5 : 4); break;
	case OFFSET_FETCH:
		if (r->version < 8) {
			set_name(c, &body, flexible);
			return;
		}
		break;
	case FIND_COORDINATOR:
		if (r->version < 4) {
			set_name(c, &body, flexible);
			return;
		}
		cur_skip(&body, 1);
		break;
	default: break;
	}
	set_topic(c, r, &body);
}

static void take_request(struct kafka *p, struct call_io *io, const struct request *r, struct cursor body)
{
	struct call *c = call_queue_open(io);
	size_t len;

	p->sasl |= r->api == SASL_HANDSHAKE && !r->version;
	if (!c)
		return;
	c->key = (uint64_t)r->version << 48 | (uint64_t)r->api << 32 | r->number;
	call_entry_set_str(c, CALL_TEXT_OPERATION, apis[r->api].name);
	cur_skip(&body, HEADER - 2);
	cur_string(&body, false, &len);
	if (is_flexible(r))
		skip_tags(&body);
	switch ((enum names)apis[r->api].names) {
	case NAMES_NOTHING:
	case NAMES__MAX:
		break;
	case NAMES_TEXT: set_name(c, &body, is_flexible(r)); break;
	case NAMES_TOPICS: set_topic(c, r, &body); break;
	case NAMES_OTHER: take_other(p, c, r, body); break;
	}
}

/* ---- responses ---- */

static void set_error(struct call *c, int16_t error)
{
	char number[8];

	c->status = error;
	if (!error)
		return;
	c->error = CALL_ERROR_FAILED;
	snprintf(number, sizeof(number), "%d", error);
	call_entry_set_str(c, CALL_TEXT_STATUS,
			   error == -1						   ? "UNKNOWN_SERVER_ERROR"
			   : error > 0 && (size_t)error <= ARRAY_SIZE(error_names) ? error_names[error - 1]
										   : number);
}

/* The first topic, or its first partition. False if there is none, or if it is cut. */
static bool read_first_error(const struct request *r, struct cursor *body, int16_t *ret)
{
	bool flexible = is_flexible(r);
	size_t len;

	if (!cur_count(body, flexible))
		return false;
	if (has_ids_only(r))
		cur_skip(body, 16);
	else
		cur_string(body, flexible, &len);
	if (apis[r->api].errors == ERRORS_PARTITION) {
		if (!cur_count(body, flexible))
			return false;
		cur_skip(body, 4);
	} else if ((r->api == 19 && r->version >= 7) || (r->api == 20 && r->version >= 6)) {
		cur_skip(body, 16);
	}
	*ret = (int16_t)cur_u16be(body);
	return cur_ok(body);
}

static void take_errors(struct call *c, const struct request *r, struct cursor body)
{
	const struct api *a = &apis[r->api];
	int16_t error = 0;
	bool top = a->errors == ERRORS_TOP && !(r->api == FIND_COORDINATOR && r->version >= 4);

	if (is_flexible(r) && r->api != API_VERSIONS)
		skip_tags(&body);
	if (r->version >= a->throttle)
		cur_skip(&body, 4);
	if (top || (r->api == FETCH && r->version >= 7))
		error = (int16_t)cur_u16be(&body);
	if (!cur_ok(&body)) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
		return;
	}
	if (r->api == FETCH && r->version >= 7)
		cur_skip(&body, 4);
	if (top || error || (a->errors >= ERRORS_TOPIC && read_first_error(r, &body, &error)))
		set_error(c, error);
}

static struct call *find_call(const struct call_io *io, uint32_t number)
{
	for (uint32_t i = 0; i < io->queue->n; i++)
		if ((uint32_t)io->queue->calls[i]->key == number)
			return io->queue->calls[i];
	return NULL;
}

static enum call_feed take_response(struct kafka *p, struct call_io *io, struct cursor body)
{
	struct call *c = find_call(io, cur_u32be(&body));
	struct request r;

	p->answer = c ? c->id : 0;
	if (!c) {
		if (!io->queue->confirmed && !io->queue->midstream)
			return CALL_FEED_BAD;
		if (!p->sasl)
			call_queue_orphan(io);
		return CALL_FEED_OK;
	}
	call_queue_answer(io, c);
	r = (struct request){ .api = (uint16_t)(c->key >> 32), .version = (uint16_t)(c->key >> 48) };
	take_errors(c, &r, body);
	return CALL_FEED_OK;
}

/* ---- frames ---- */

static enum call_feed kafka_feed(void *state, struct call_io *io)
{
	struct kafka *p = state;
	bool asks = io->side == CALL_SIDE_REQUEST, cut;
	struct cursor body, head = io->c;
	uint32_t size;
	struct request r;

	if (cur_left(&io->c) < SIZE)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	size = cur_u32be(&head);
	if ((!p->sasl && size < (asks ? HEADER : 4u)) || size > (asks ? REQUEST_MAX : (uint32_t)INT32_MAX))
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, (uint64_t)SIZE + size, READ_MAX, &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, SIZE);
	if (!asks) {
		p->waiting[io->side] = true;
		return take_response(p, io, body);
	}
	if (!read_request(body, size, &r)) {
		/* cut within the header, or a step of SASL */
		return p->sasl || cut ? CALL_FEED_OK : CALL_FEED_BAD;
	}
	p->waiting[io->side] = true;
	take_request(p, io, &r, body);
	return CALL_FEED_OK;
}

static void kafka_settle(void *state, struct call_io *io)
{
	struct kafka *p = state;
	struct call *c;

	if (!p->waiting[io->side])
		return;
	p->waiting[io->side] = false;
	if (io->side == CALL_SIDE_RESPONSE) {
		c = p->answer ? call_queue_find(io, p->answer) : NULL;
		if (c)
			c->request.done = true;
		call_queue_answered(io, c);
		return;
	}
	c = call_queue_youngest(io);
	if (p->oneway)
		call_queue_told(io, c);
	else
		call_queue_asked(io, c);
	p->oneway = false;
}

static void kafka_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct kafka *p = state;

	(void)queue;
	p->waiting[side] = false;
	if (side == CALL_SIDE_REQUEST)
		p->oneway = false;
	else
		p->answer = 0;
}

const struct call_protocol kafka_protocol = {
	.name = "kafka",
	.kind = CALL_KIND_KAFKA,
	.state_size = sizeof(struct kafka),
	.classify = kafka_classify,
	.resume = kafka_resume,
	.settle = kafka_settle,
	.feed = kafka_feed,
	.reset = kafka_reset,
};
