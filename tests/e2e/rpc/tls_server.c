// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server of HTTP/1 over OpenSSL, which is linked into it: by threads on sockets, or by an event loop on buffers in
 * memory. /PORT/NUMBER: even numbers are found.
 *
 *   tls_server threads|loop FOLDER	certificate and key; prints its port
 */
#include <arpa/inet.h>
#include <err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 256
#define CONTENT 3000

struct client {
	int fd;
	SSL *ssl;
	size_t len;		/* of the request so far */
	char request[4096];
};

static SSL_CTX *context;

static SSL_CTX *make_context(const char *folder)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());
	char cert[4096], key[4096];

	snprintf(cert, sizeof(cert), "%s/cert.pem", folder);
	snprintf(key, sizeof(key), "%s/key.pem", folder);
	if (SSL_CTX_use_certificate_file(c, cert, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_use_PrivateKey_file(c, key, SSL_FILETYPE_PEM) != 1)
		errx(1, "cannot use %s", cert);
	return c;
}

static int make_listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, CLIENTS) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		err(1, "cannot listen");
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

/* Reads once, and answers whole requests. False at the end. */
static int step(struct client *c)
{
	char answer[CONTENT + 200];
	int port, number, n, head;

	n = SSL_read(c->ssl, c->request + c->len, (int)(sizeof(c->request) - 1 - c->len));
	if (n <= 0)
		return SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ;
	c->len += (size_t)n;
	c->request[c->len] = 0;
	if (!strstr(c->request, "\r\n\r\n"))
		return 1;
	if (sscanf(c->request, "GET /%d/%d ", &port, &number) != 2)
		return 0;
	head = sprintf(answer, "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n", number % 2 ? "404 Not Found" : "200 OK",
		       CONTENT + 3);
	memset(answer + head, 'x', CONTENT);
	memcpy(answer + head + CONTENT, "end", 3);
	c->len = 0;
	return SSL_write(c->ssl, answer, head + CONTENT + 3) > 0;
}

static void *thread(void *ctx)
{
	struct client *c = ctx;

	SSL_set_fd(c->ssl, c->fd);
	SSL_set_accept_state(c->ssl); /* the handshake is part of the first read */
	while (step(c))
		;
	SSL_free(c->ssl);
	close(c->fd);
	free(c);
	return NULL;
}

/* Sends the bytes that the library has written. */
static int flush(struct client *c)
{
	char bytes[16384];
	int n;

	while ((n = BIO_read(SSL_get_wbio(c->ssl), bytes, sizeof(bytes))) > 0)
		if (write(c->fd, bytes, (size_t)n) != n)
			return 0;
	return 1;
}

static int advance(struct client *c)
{
	char bytes[16384];
	ssize_t n = read(c->fd, bytes, sizeof(bytes));
	int r = 1;

	if (n <= 0)
		return 0;
	BIO_write(SSL_get_rbio(c->ssl), bytes, (int)n);
	if (!SSL_is_init_finished(c->ssl))
		r = SSL_accept(c->ssl);
	if (r == 1)
		r = step(c);
	else
		r = SSL_get_error(c->ssl, r) == SSL_ERROR_WANT_READ;
	return flush(c) && r;
}

static struct client *client_new(int listener)
{
	struct client *c = calloc(1, sizeof(*c));

	c->fd = accept(listener, NULL, NULL);
	c->ssl = SSL_new(context);
	return c;
}

static void loop(int listener)
{
	struct pollfd fds[CLIENTS] = { { .fd = listener, .events = POLLIN } };
	struct client *clients[CLIENTS];
	nfds_t n = 1;

	while (poll(fds, n, -1) > 0) {
		for (nfds_t i = n - 1; i > 0; i--) {
			if (!fds[i].revents || advance(clients[i]))
				continue;
			SSL_free(clients[i]->ssl);
			close(fds[i].fd);
			free(clients[i]);
			clients[i] = clients[--n];
			fds[i] = fds[n];
		}
		if (fds[0].revents && n < CLIENTS) {
			clients[n] = client_new(listener);
			SSL_set_bio(clients[n]->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
			fds[n] = (struct pollfd){ .fd = clients[n]->fd, .events = POLLIN };
			n++;
		}
	}
}

int main(int argc, char **argv)
{
	int listener;

	context = make_context(argv[argc - 1]);
	listener = make_listener();
	if (!strcmp(argv[1], "loop"))
		loop(listener);
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread, client_new(listener)))
			errx(1, "cannot create a thread");
		pthread_detach(t);
	}
}
