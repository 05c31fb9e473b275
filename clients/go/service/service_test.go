package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// built is the service as its users run it. No version control is asked: git refuses a clone that belongs to another user.
func built(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "service")
	output, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput()
	check.True(t, err == nil, "go build: %v\n%s", err, output)
	return binary
}

// started is a running service: its address. It has to end with exit code 0 when it is told to stop.
func started(t *testing.T, binary, store, certificate string) string {
	t.Helper()
	process := lapsedb.Command(binary, "-listen", "127.0.0.1:0", "-store", store, "-certificate", certificate)
	process.Env = append(os.Environ(), "SESSIONS_KEY="+lapsedb.Key)
	process.Stderr = os.Stderr
	out := check.Must(process.StdoutPipe())(t)
	check.NoError(t, process.Start())
	t.Cleanup(func() {
		check.NoError(t, process.Process.Signal(syscall.SIGTERM))
		check.NoError(t, process.Wait())
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	address, ready := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	check.True(t, ready, "the service says %q", line)
	return "http://" + address
}

// call sends a request, holds the answer to the status and reads its body, if there is something to read it into.
func call(t *testing.T, method, url string, body any, status int, into any) {
	t.Helper()
	request := check.Must(http.NewRequest(method, url, bytes.NewReader(check.Must(json.Marshal(body))(t))))(t)
	response := check.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	check.Equal(t, response.StatusCode, status)
	if into != nil {
		check.NoError(t, json.NewDecoder(response.Body).Decode(into))
	}
}

func TestSessionsExpireInBothAPIs(t *testing.T) {
	t.Parallel()
	binary := built(t)
	for _, scheme := range []string{"http", "https", "mongodb", "mongodb with TLS"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			server := lapsedb.Start(t, "--memory", "--virtual-clock")
			server.Align()
			url, certificate := server.MongoURL(), ""
			switch scheme {
			case "http", "https":
				url = server.URL(scheme)
			case "mongodb with TLS":
				url += "?tls=true"
			}
			if scheme == "https" || scheme == "mongodb with TLS" {
				certificate = filepath.Join(t.TempDir(), "server.pem")
				check.NoError(t, os.WriteFile(certificate, server.Certificate(), 0o600))
			}
			sessionsExpire(t, server, started(t, binary, url, certificate))
			// Another instance finds the container and the index that the first has made.
			var left []Session
			call(t, "GET", started(t, binary, url, certificate)+"/users/ada/sessions", nil, http.StatusOK, &left)
			check.Equal(t, len(left), 1)
		})
	}
}

func sessionsExpire(t *testing.T, server *lapsedb.Server, service string) {
	t.Helper()
	create := func(user string, ttl int) Session {
		t.Helper()
		var session Session
		call(t, "POST", service+"/sessions", Session{User: user, TTL: ttl, Notes: map[string]string{"theme": "dark"}}, http.StatusCreated, &session)
		return session
	}
	use := func(session Session, status int) {
		t.Helper()
		call(t, "GET", service+"/sessions/"+session.ID, nil, status, nil)
	}
	live := func(user string, wanted ...Session) {
		t.Helper()
		var found []Session
		call(t, "GET", service+"/users/"+user+"/sessions", nil, http.StatusOK, &found)
		for _, session := range found {
			check.True(t, slices.ContainsFunc(wanted, func(each Session) bool { return each.ID == session.ID }), "%v is there", session)
		}
		check.Equal(t, len(found), len(wanted))
	}
	usual, short, kept, other := create("ada", 0), create("ada", 60), create("ada", -1), create("bob", 0)
	live("ada", usual, short, kept)
	live("bob", other)

	server.Advance("59s")
	use(short, http.StatusOK)
	server.Advance("59999ms")
	live("ada", usual, short, kept)
	server.Advance("1ms")
	use(short, http.StatusNotFound)
	live("ada", usual, kept)

	server.Advance("1680s")
	var used Session
	call(t, "GET", service+"/sessions/"+usual.ID, nil, http.StatusOK, &used)
	check.Equal(t, used, Session{ID: usual.ID, User: "ada", Uses: 1, Notes: map[string]string{"theme": "dark"}})
	server.Advance("1s")
	use(other, http.StatusNotFound)
	live("bob")
	call(t, "DELETE", service+"/sessions/"+usual.ID, nil, http.StatusNoContent, nil)
	call(t, "DELETE", service+"/sessions/"+usual.ID, nil, http.StatusNotFound, nil)
	server.Advance("3650d")
	live("ada", kept)
	call(t, "POST", service+"/sessions", Session{User: "ada", TTL: -2}, http.StatusBadRequest, nil)
}
