package mongo

import (
	"context"
	"encoding/binary"
	"net"
	"sync"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

const (
	headerBytes  = 16
	opCompressed = 2012
	// Where the number of the compressor is in a compressed message, after the first opcode and the size.
	compressorAt = headerBytes + 8
)

// compressors is a dialer that notes by what the messages of its connections are compressed: 1 is snappy, 2 zlib, 3 zstd.
type compressors struct {
	lapsedb.Dialer
	mutex             sync.Mutex
	requests, answers map[byte]bool
}

func compressing(dialer lapsedb.Dialer) *compressors {
	return &compressors{Dialer: dialer, requests: map[byte]bool{}, answers: map[byte]bool{}}
}

func (c *compressors) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &observed{Conn: conn, requests: stream{c, c.requests, nil}, answers: stream{c, c.answers, nil}}, nil
}

// only holds the client and the server to one compressor.
func (c *compressors) only(number byte) {
	c.T.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	check.Equal(c.T, c.requests, map[byte]bool{number: true})
	check.Equal(c.T, c.answers, map[byte]bool{number: true})
}

// stream is one direction of a connection: what has not been looked at begins with a message.
type stream struct {
	owner *compressors
	seen  map[byte]bool
	bytes []byte
}

func (s *stream) take(passed []byte) {
	s.owner.mutex.Lock()
	defer s.owner.mutex.Unlock()
	s.bytes = append(s.bytes, passed...)
	for len(s.bytes) >= headerBytes {
		length := int(binary.LittleEndian.Uint32(s.bytes))
		if len(s.bytes) < length {
			return
		}
		if binary.LittleEndian.Uint32(s.bytes[12:]) == opCompressed {
			s.seen[s.bytes[compressorAt]] = true
		}
		s.bytes = s.bytes[length:]
	}
}

type observed struct {
	net.Conn
	requests, answers stream
}

func (o *observed) Write(bytes []byte) (int, error) {
	n, err := o.Conn.Write(bytes)
	o.requests.take(bytes[:n])
	return n, err
}

func (o *observed) Read(bytes []byte) (int, error) {
	n, err := o.Conn.Read(bytes)
	o.answers.take(bytes[:n])
	return n, err
}
