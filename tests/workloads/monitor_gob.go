// SPDX-License-Identifier: GPL-2.0-or-later

// The far ends of Cilium's monitor socket, with the standard library's gob package.
//
//	monitor_gob read SOCKET         connects and prints each payload as a line of JSON, until the stream ends
//	monitor_gob records SOCKET      the same of records that agents make: access log, notifications
//	monitor_gob count SOCKET        sums at the end
//	monitor_gob sleep SOCKET        connects and reads nothing until it is killed
//	monitor_gob write SOCKET OTHER  listens, gives its first client the payloads of standard input, and ends; with
//	                                OTHER = 1 another type is encoded first, so that Payload has a higher number
//
// As the stock client does, `read` decodes into one struct that it uses again: a member that is not sent keeps its
// value.
package main

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"time"
)

type Payload struct {
	Data []byte
	CPU  int
	Lost uint64
	Type int
}

type other struct{ A, B string }

func connect(path string) net.Conn {
	conn, err := net.Dial("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("connected")
	return conn
}

func each(path string, fn func(*Payload)) {
	dec := gob.NewDecoder(connect(path))
	var p Payload
	for {
		if err := dec.Decode(&p); err != nil {
			if !errors.Is(err, io.EOF) {
				log.Fatal(err)
			}
			return
		}
		fn(&p)
		p.Data, p.Lost = nil, 0
	}
}

func read(path string) {
	out := json.NewEncoder(os.Stdout)
	each(path, func(p *Payload) {
		if err := out.Encode(p); err != nil {
			log.Fatal(err)
		}
	})
}

// Records that agents make: a type byte and a gob stream of their own, with members as in Cilium's packages api and
// accesslog.
type AgentNotify struct {
	Type uint32
	Text string
}

type EndpointInfo struct {
	ID       uint64
	IPv4     string
	IPv6     string
	Port     uint16
	Identity uint64
	Labels   []string
}

type LogRecordHTTP struct {
	Code     int
	Method   string
	URL      *url.URL
	Protocol string
	Headers  map[string][]string
}

type LogRecord struct {
	Type                string
	Timestamp           string
	ObservationPoint    string
	SourceEndpoint      EndpointInfo
	DestinationEndpoint EndpointInfo
	IPVersion           uint8
	Verdict             string
	TransportProtocol   uint8
	HTTP                *LogRecordHTTP
}

func records(path string) {
	out := json.NewEncoder(os.Stdout)
	each(path, func(p *Payload) {
		var v any
		switch {
		case len(p.Data) > 1 && p.Data[0] == 129:
			v = &LogRecord{}
		case len(p.Data) > 1 && p.Data[0] == 130:
			v = &AgentNotify{}
		default:
			return
		}
		if err := gob.NewDecoder(bytes.NewReader(p.Data[1:])).Decode(v); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(v); err != nil {
			log.Fatal(err)
		}
	})
}

func count(path string) {
	var samples, lost, sum uint64
	each(path, func(p *Payload) {
		if p.Type == 9 {
			samples++
			sum += uint64(len(p.Data))
		}
		lost += p.Lost
	})
	fmt.Printf("{\"samples\":%d,\"lost\":%d,\"bytes\":%d}\n", samples, lost, sum)
}

func write(path string, withOther bool) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	conn, err := listener.Accept()
	if err != nil {
		log.Fatal(err)
	}
	if withOther {
		if err := gob.NewEncoder(io.Discard).Encode(other{"a", "b"}); err != nil {
			log.Fatal(err)
		}
	}
	enc := gob.NewEncoder(conn)
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var p Payload
		if err := in.Decode(&p); err != nil {
			break
		}
		if err := enc.Encode(&p); err != nil {
			log.Fatal(err)
		}
	}
	conn.Close()
	listener.Close() // takes the socket file away
}

func main() {
	switch os.Args[1] {
	case "read":
		read(os.Args[2])
	case "records":
		records(os.Args[2])
	case "count":
		count(os.Args[2])
	case "sleep":
		connect(os.Args[2])
		time.Sleep(time.Hour)
	case "write":
		write(os.Args[2], os.Args[3] == "1")
	}
}
