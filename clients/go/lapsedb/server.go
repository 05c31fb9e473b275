// Package lapsedb starts real servers for the tests. It knows nothing of the server but its command line.
package lapsedb

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Key is the key every emulator publishes; a server on a loopback address takes it by default.
const Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

const stopMax = 20 * time.Second

var ready = regexp.MustCompile(`^ready nosql=127\.0\.0\.1:(\d+) mongo=127\.0\.0\.1:(\d+)`)

// Server is one server process on free ports. Its store outlives Stop, so that it can be started again.
type Server struct {
	t         testing.TB
	flags     []string
	store     string
	process   *exec.Cmd
	port      string
	mongoPort string
}

// Start starts a server with a new store, both APIs on free ports; it stops with the test.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	server := &Server{t: t, flags: flags, store: filepath.Join(t.TempDir(), "data")}
	server.StartAgain()
	t.Cleanup(func() {
		if server.process != nil {
			server.Stop()
		}
	})
	return server
}

// StartAgain starts the server on the store it had; its ports are others.
func (s *Server) StartAgain() {
	s.t.Helper()
	binary := os.Getenv("LAPSEDB_BIN")
	if binary == "" {
		s.t.Fatal("LAPSEDB_BIN names the server to test; `make test` sets it")
	}
	arguments := append([]string{"--port", "0", "--mongo-port", "0", "--log-level", "error"}, s.flags...)
	if !slices.Contains(s.flags, "--memory") {
		arguments = append(arguments, "--data-path", s.store)
	}
	process := Command(binary, arguments...)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	ports := ready.FindStringSubmatch(line)
	if ports == nil {
		s.t.Fatalf("not ready: %q", line)
	}
	s.process, s.port, s.mongoPort = process, ports[1], ports[2]
}

// Stop asks the server to stop as an operator would, and holds it to exit code 0.
func (s *Server) Stop() {
	s.t.Helper()
	process := s.process
	s.process = nil
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	late := time.AfterFunc(stopMax, func() { _ = process.Process.Kill() })
	defer late.Stop()
	if err := process.Wait(); err != nil {
		s.t.Fatalf("the server does not stop well: %v", err)
	}
}

// URL is where the NoSQL API listens: "https" or "http", on one port.
func (s *Server) URL(scheme string) string {
	return scheme + "://localhost:" + s.port + "/"
}

// MongoURL is where the MongoDB API listens.
func (s *Server) MongoURL() string {
	return "mongodb://127.0.0.1:" + s.mongoPort + "/"
}

// Certificate is the one that the server made for itself, as PEM text.
func (s *Server) Certificate() []byte {
	s.t.Helper()
	return s.request(http.MethodGet, "_explorer/emulator.pem", nil)
}

// TLS trusts the certificate the server made for itself, and nothing else.
func (s *Server) TLS() *tls.Config {
	s.t.Helper()
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(s.Certificate()) {
		s.t.Fatal("the server's certificate is no PEM text")
	}
	return &tls.Config{RootCAs: trusted}
}

// Dialer connects to this machine alone: a client that calls another address fails its test.
type Dialer struct{ T testing.TB }

// DialContext is the method that HTTP transports and the MongoDB driver call.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		d.T.Errorf("a client calls %s", address)
		return nil, errors.New("tests call this machine alone")
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// Advance moves the virtual clock: "30d", "1h30m", "1ms"; it returns the new time.
func (s *Server) Advance(span string) time.Time {
	s.t.Helper()
	return s.clock(http.MethodPost, map[string]string{"advance": span})
}

// Now is the time on the server's clock.
func (s *Server) Now() time.Time {
	s.t.Helper()
	return s.clock(http.MethodGet, nil)
}

// Align moves the virtual clock to the start of a second, so that `_ts` is exact.
func (s *Server) Align() time.Time {
	s.t.Helper()
	return s.Advance(fmt.Sprintf("%dms", 1000-s.Now().UnixMilli()%1000))
}

func (s *Server) clock(method string, body any) time.Time {
	s.t.Helper()
	var answer struct{ NowMillis int64 }
	if err := json.Unmarshal(s.request(method, "_lapsedb/clock", body), &answer); err != nil {
		s.t.Fatal(err)
	}
	return time.UnixMilli(answer.NowMillis)
}

func (s *Server) request(method, path string, body any) []byte {
	s.t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, s.URL("http")+path, sent)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+Key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	return text
}
