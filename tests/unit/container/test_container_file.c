// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Containers from engines' files: texts as docker, podman, containerd, nerdctl, cri-o and Kubernetes write them,
 * reduced to the relevant parts, and texts that name no container.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "container/container.h"
#include "container/container_file.h"

#define ID "0f3c9d41aa2b7f5be3f0c8a4d7716e0d1f2a3b4c5d6e7f8091a2b3c4d5e6f708"

static const char docker[] =
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":42},\"ID\":\"" ID "\",\"Args\":[\"-g\",\"x\"],"
	"\"Config\":{\"Image\":\"nginx:1.25\",\"Labels\":{\"io.kubernetes.pod.name\":\"web-0\","
	"\"Name\":\"no\"}},\"Image\":\"sha256:77af\",\"Name\":\"/we\\u0062b\\\"1\",\"Driver\":\"overlay2\"}";

static const char storage[] =
	"[{\"id\":\"other\",\"names\":[\"first\"]},{\"id\":\"" ID "\",\"names\":[\"quiet_bee\",\"b\"],"
	"\"image\":\"9f8e\",\"metadata\":\"{\\\"image-name\\\":\\\"docker.io/library/alpine:latest\\\","
	"\\\"image-id\\\":\\\"9f8e\\\",\\\"name\\\":\\\"quiet_bee\\\"}\",\"flags\":{\"names\":\"no\"}}]";

static const char nerdctl[] =
	"{\"process\":{\"args\":[\"nerdctl/name\"]},\"annotations\":{\"nerdctl/name\":\"db\"}}";

static const char kubernetes[] =
	"{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
	"\"io.kubernetes.cri.image-name\":\"r.io/a:2\","
	"\"io.kubernetes.cri.sandbox-name\":\"pod-7\",\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}";

static const char crio[] =
	"{\"annotations\":{\"io.kubernetes.container.name\":\"side\",\"io.kubernetes.cri-o.ImageName\":\"q.io/s:1\","
	"\"io.kubernetes.pod.name\":\"p\",\"io.kubernetes.pod.namespace\":\"n\"}}";

static int parse(enum container_file kind, const char *text, struct container_said *s)
{
	return container_file_parse(kind, text, strlen(text), ID, s);
}

static void test_engines(void **state)
{
	struct container_said s;

	(void)state;
	assert_int_equal(parse(CONTAINER_DOCKER, docker, &s), 0);
	assert_string_equal(s.name, "we?b\"1");
	assert_string_equal(s.image, "nginx:1.25");
	assert_string_equal(s.image_id, "sha256:77af");
	assert_string_equal(s.pod, "web-0");
	assert_int_equal(parse(CONTAINER_STORAGE, storage, &s), 0);
	assert_string_equal(s.name, "quiet_bee");
	assert_string_equal(s.image, "docker.io/library/alpine:latest");
	assert_string_equal(s.image_id, "9f8e");
	assert_int_equal(parse(CONTAINER_OCI, nerdctl, &s), 0);
	assert_string_equal(s.name, "db");
	assert_int_equal(parse(CONTAINER_OCI, kubernetes, &s), 0);
	assert_string_equal(s.name, "app");
	assert_string_equal(s.image, "r.io/a:2");
	assert_string_equal(s.pod, "pod-7");
	assert_string_equal(s.pod_namespace, "shop");
	assert_false(s.by_crio);
	assert_int_equal(parse(CONTAINER_OCI, crio, &s), 0);
	assert_string_equal(s.name, "side");
	assert_string_equal(s.image, "q.io/s:1");
	assert_true(s.by_crio);
}

static void test_others(void **state)
{
	struct container_said s;

	(void)state;
	assert_int_equal(parse(CONTAINER_OCI, "{\"annotations\":{}}", &s), -ENOENT);
	assert_int_equal(parse(CONTAINER_OCI, "", &s), -ENOENT);
	assert_int_equal(parse(CONTAINER_OCI, "{\"annotations\":[}", &s), -EBADMSG);
	assert_int_equal(parse(CONTAINER_DOCKER, "{\"Name\":\"no end", &s), -EBADMSG);
	assert_int_equal(container_file_parse(CONTAINER_STORAGE, storage, strlen(storage), "nobody", &s), -ENOENT);
	assert_int_equal(parse(CONTAINER_DOCKER, "{\"Name\":\"a\\nb\x7f\"}", &s), 0);
	assert_string_equal(s.name, "anb?");
}

/* Every prefix of every file, in memory of exactly that size. */
static void test_cut(void **state)
{
	static const char *const texts[] = { docker, storage, nerdctl, kubernetes, crio };

	(void)state;
	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++)
		for (size_t n = 0; n < strlen(texts[t]); n++) {
			char *copy = malloc(n + !n);
			struct container_said s;

			memcpy(copy, texts[t], n);
			for (int kind = 0; kind < CONTAINER_FILE__MAX; kind++)
				assert_int_not_equal(container_file_parse(kind, copy, n, ID, &s), 0);
			free(copy);
		}
}

static void test_deep(void **state)
{
	char text[200];
	struct container_said s;

	(void)state;
	memset(text, '[', sizeof(text));
	assert_int_equal(container_file_parse(CONTAINER_OCI, text, sizeof(text), ID, &s), -EBADMSG);
}

static void test_pods(void **state)
{
	static const struct { const char *path, *uid; } rows[] = {
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12345678_9abc_4def_8123_"
		  "456789abcdef.slice/cri-containerd-" ID ".scope", "12345678-9abc-4def-8123-456789abcdef" },
		{ "/kubepods/burstable/pod12345678-9abc-4def-8123-456789abcdef/" ID,
		  "12345678-9abc-4def-8123-456789abcdef" },
		{ "/kubepods/podaaaabbbbccccddddeeeeffff00001111/" ID, "aaaabbbbccccddddeeeeffff00001111" },
		{ "/system.slice/kubepods-pod12345678_9abc_4def_8123_456789abcdef.slice:cri-containerd:" ID,
		  "12345678-9abc-4def-8123-456789abcdef" },
		{ "/kubepods/pod12345678-9abc-4def-8123-456789abcdeg/" ID, NULL },
		{ "/kubepods/pod1234/" ID, NULL }, { "/docker/" ID, NULL }, { "/kubepods", NULL }, { "", NULL },
		{ "/pod12345678-9abc-4def-8123-456789abcdef/" ID, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char uid[CONTAINER_POD_UID_MAX] = "";

		assert_int_equal(container_pod_of_cgroup(rows[i].path, uid), rows[i].uid != NULL);
		assert_string_equal(uid, rows[i].uid ? rows[i].uid : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_pods), cmocka_unit_test(test_others), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
