# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests/soak/calls.py: further programs that speak HTTP or DNS, each with a log of its own that counts: servers
in other languages, and proxies, whose other side is watched, too. Debian's packages in a root of their own; Java is
this machine's."""
import collections
import os
import random
import re

import call_clients as clients
import call_servers as servers
import server_root

PACKAGES = ["nodejs", "php8.2-cli", "ruby-webrick", "apache2-bin", "haproxy", "varnish", "squid", "dnsmasq-base",
            "lighttpd", "gcc", "libc6-dev", "libc-bin", "dash", "bash", "coreutils", "sed", "grep", "mawk"]

NODE = """const fs = require('fs'), log = fs.createWriteStream('/truth/log');
const answers = {ok: [200, 'fine'], gone: [410, 'gone'], broken: [503, 'no'], large: [200, 'x'.repeat(100000)]};
require('http').createServer((q, a) => {
  const kind = q.url.split('?')[0].split('/')[1];
  const [status, text] = answers[kind] || [200, ''];
  q.on('data', () => 0).on('end', () => {
    a.on('finish', () => log.write(`${q.method} ${q.url} ${kind == 'empty' ? 204 : status}\\n`));
    if (kind == 'empty') { a.writeHead(204); a.end(); }
    else if (kind == 'chunked') { a.writeHead(200); a.write('one'); setImmediate(() => a.end('two')); }
    else { a.writeHead(status, {'Content-Length': text.length}); a.end(text); }
  });
}).listen(PORT, '127.0.0.1');
"""
JAVA = """import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.util.concurrent.Executors;

public class Calls {
    public static void main(String[] args) throws Exception {
        PrintStream log = new PrintStream(new FileOutputStream(args[1]), true);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 200);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            String uri = exchange.getRequestURI().toString(), kind = uri.split("[/?]")[1];
            boolean head = exchange.getRequestMethod().equals("HEAD");
            int status = switch (kind) {
                case "gone" -> 410; case "broken" -> 503; case "empty" -> 204; default -> 200;
            };
            byte[] body = new byte[kind.equals("large") ? 100000 : 4];
            synchronized (log) { log.println(exchange.getRequestMethod() + " " + uri + " " + status); }
            boolean bare = head || status == 204;
            exchange.sendResponseHeaders(status, bare ? -1 : kind.equals("chunked") ? 0 : body.length);
            if (!bare)
                exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
"""
RUBY = """require 'webrick'
log = File.open('/truth/log', 'w'); log.sync = true
s = WEBrick::HTTPServer.new(Port: PORT, BindAddress: '127.0.0.1', Logger: WEBrick::Log.new(File::NULL),
                            MaxClients: 200, AccessLog: [[log, '%m %U%q %s']])
s.mount_proc('/') do |q, a|
  case q.path.split('/')[1]
  when 'gone' then a.status = 410
  when 'broken' then a.status = 503
  when 'empty' then a.status = 204
  when 'large' then a.body = 'x' * 100000
  when 'chunked' then a.chunked = true; a.body = 'one' * 1000
  else a.body = 'fine'
  end
end
s.start
"""
PHP = """<?php
$kind = explode('/', explode('?', $_SERVER['REQUEST_URI'])[0])[1];
$status = ['gone' => 410, 'broken' => 503, 'empty' => 204][$kind] ?? 200;
http_response_code($status);
$body = $kind == 'large' ? str_repeat('x', 100000) : ($kind == 'empty' ? '' : 'fine');
if ($status != 204) header('Content-Length: ' . strlen($body));
file_put_contents('/truth/log', "$_SERVER[REQUEST_METHOD] $_SERVER[REQUEST_URI] $status\\n", FILE_APPEND | LOCK_EX);
if ($_SERVER['REQUEST_METHOD'] != 'HEAD') echo $body;
"""
APACHE = """ServerName here
ServerRoot /tmp
Listen 127.0.0.1:PORT
PidFile /tmp/pid
ErrorLog /dev/null
User www-data
Group www-data
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
MaxRequestWorkers 150
ThreadsPerChild 25
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
LogFormat "%m %U%q %>s" one
CustomLog /truth/log one
DocumentRoot /truth
RewriteEngine On
RewriteRule ^/gone/ - [G,L]
RewriteRule ^/broken/ - [R=503,L]
RewriteRule ^/empty/ - [R=204,L]
RewriteRule ^/large/ /large.html [L]
RewriteRule ^/(ok|chunked)/ /page.html [L]
"""
LIGHTTPD = """server.document-root = "/truth"
server.port = PORT
server.bind = "127.0.0.1"
server.modules = ("mod_rewrite", "mod_redirect", "mod_access", "mod_accesslog")
server.max-keep-alive-requests = 100000
accesslog.filename = "/truth/log"
accesslog.format = "%r %s"
index-file.names = ()
url.rewrite-once = ("^/large/.*" => "/large.html", "^/(ok|chunked)/.*" => "/page.html")
mimetype.assign = (".html" => "text/html")
"""
HAPROXY = """global
  log stdout format raw local0
  maxconn 1000
defaults
  mode http
  log global
  log-format "%HM %HU %ST"
  timeout connect 10s
  timeout client 60s
  timeout server 60s
listen one
  bind 127.0.0.1:PORT
  server behind 127.0.0.1:BEHIND
"""
VARNISH = """vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "BEHIND"; }
sub vcl_recv { return (pass); }
"""
SQUID = """http_port 127.0.0.1:PORT accel defaultsite=here no-vhost
cache_peer 127.0.0.1 parent BEHIND 0 no-query originserver
http_access allow all
cache deny all
logformat one %rm %ru %>Hs
access_log stdio:/truth/log one
cache_log /dev/null
pid_filename /tmp/squid.pid
cache_effective_user root
coredump_dir /tmp
shutdown_lifetime 1 second
memory_pools off
"""
DNSMASQ = ("exec /usr/sbin/dnsmasq -k -p PORT -a 127.0.0.1 -z -u root -R -h --dns-forward-max=1000 -x /tmp/pid "
           "--log-queries=extra --log-facility=/truth/log --address=/ok.calls.test/192.0.2.1 "
           "--local=/calls.test/ -c 0")


class Program(servers.Server):
    """Its log has a line "METHOD URI STATUS" for each call."""
    client, source, reopen = clients.Http, "http", 500

    @staticmethod
    def root():
        return server_root.path("servers-programs", tuple(PACKAGES))

    def log_lines(self):
        with open(os.path.join(self.folder, "files", "log"), encoding="utf-8") as f:
            return [line.split() for line in f]

    def counts(self):
        return collections.Counter((line[0], line[1].partition("?")[0], line[2]) for line in self.log_lines()
                                   if len(line) == 3 and line[0].isalpha() and line[0].isupper())

    def compared(self, done):
        return done


class Node(Program):
    script, files = "exec /usr/bin/nodejs /truth/calls.js", {"calls.js": NODE}


class Java(Program):
    """This machine's; without a root."""
    files = {"Calls.java": JAVA}

    def command(self):
        source = os.path.join(self.folder, "files", "Calls.java")
        with open(source, "w", encoding="ascii") as f:
            f.write(JAVA)
        return ["java", source, str(self.port), os.path.join(self.folder, "files", "log")]


class Php(Program):
    """Workers that accept; a connection for each call."""
    script = "PHP_CLI_SERVER_WORKERS=4 exec /usr/bin/php8.2 -S 127.0.0.1:PORT /truth/calls.php"
    files = {"calls.php": PHP}
    reopen = 1


class Ruby(Program):
    script, files = "exec /usr/bin/ruby /truth/calls.rb", {"calls.rb": RUBY}


class Apache(Program):
    script = "mkdir -p /etc/apache2; exec /usr/sbin/apache2 -f /truth/conf -D FOREGROUND"
    files = {"conf": APACHE, "large.html": "x" * 100000, "page.html": "fine"}


class Lighttpd(Program):
    script = "exec /usr/sbin/lighttpd -D -f /truth/conf"
    files = {"conf": LIGHTTPD, "large.html": "x" * 100000, "page.html": "fine"}

    def log_lines(self):
        return [[method, uri, status] for method, uri, _, status in super().log_lines()]


class Memcached(Program):
    """This machine's; without a root. Counts by its own statistics."""
    source = "memcached"
    COUNTED = {"set": ("cmd_set",), "get": ("cmd_get",), "delete": ("delete_misses", "delete_hits"),
               "incr": ("incr_misses", "incr_hits"), "touch": ("cmd_touch",)}

    def command(self):
        return ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(self.port)]

    def counts(self):
        one = servers.clients.Stream(self.port, 0)
        one.sock.sendall(b"stats\r\n")
        stats = dict(line.split()[1:3] for line in iter(one.line, b"END"))
        one.close()
        return +collections.Counter({name: sum(int(stats[key.encode()]) for key in keys)
                                     for name, keys in self.COUNTED.items()})

    def compared(self, done):
        """Stores of any kind count as sets, values by their keys; a number that is none is not counted."""
        counts, names = collections.Counter(), {"add": "set", "gets": "get"}
        for (name, _, status), n in done.items():
            if status != "CLIENT_ERROR":
                counts[names.get(name, name)] += 2 * n if name == "gets" else n
        return counts


class Proxy(Program):
    """In front of nginx, whose log counts what arrives there."""

    def __init__(self):
        self.behind = servers.Nginx()
        super().__init__()

    def fill(self, text):
        return super().fill(text).replace("BEHIND", str(self.behind.port))

    def close(self):
        super().close()
        self.behind.close()


class Haproxy(Proxy):
    script, files = "exec /usr/sbin/haproxy -W -db -f /truth/conf >/truth/log", {"conf": HAPROXY}


class Varnish(Proxy):
    script = ("/usr/sbin/varnishd -F -a 127.0.0.1:PORT -f /truth/conf -n /tmp/v -j none & "
              "until varnishncsa -n /tmp/v -F '%m %U%q %s' -w /truth/log; do sleep 0.2; done")
    files = {"conf": VARNISH}


class Squid(Proxy):
    script, files = "exec /usr/sbin/squid -N -f /truth/conf", {"conf": SQUID}


class Dnsmasq(Program):
    script, client, source = DNSMASQ, clients.Dns, "dns"

    def knock(self):
        one = clients.Dns(self.port, 0)
        one.sock.settimeout(0.2)
        one.send(random.Random(0))
        one.receive()
        one.close()

    def counts(self):
        found = (re.search(r"query\[(\w+)\] (\S+) from", " ".join(line)) for line in self.log_lines())
        return collections.Counter((m[1], m[2]) for m in found if m and not m[2].startswith("n0-"))

    def compared(self, done):
        counts = collections.Counter()
        for (kind, name, _), n in done.items():
            counts[kind, name] += n
        return counts


PROGRAMS = {one.__name__.lower(): one for one in (Node, Java, Php, Ruby, Apache, Lighttpd, Haproxy, Varnish, Squid,
                                                 Dnsmasq)}
