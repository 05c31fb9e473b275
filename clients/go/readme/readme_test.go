// Package readme runs the example for Go in the README.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

// example is the one block of Go in the README, with the server's address instead of the usual one: a file to run.
func example(t *testing.T, endpoint string) string {
	t.Helper()
	page := check.Must(os.ReadFile("../../../README.md"))(t)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllSubmatch(page, -1)
	check.Equal(t, len(blocks), 1)
	text := string(blocks[0][1])
	check.True(t, strings.Contains(text, "http://localhost:8081/"), "the usual address is missing")
	file := filepath.Join(t.TempDir(), "main.go")
	check.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "http://localhost:8081/", endpoint)), 0o600))
	return file
}

func TestTheExampleForGoDoesWhatItsCommentsSay(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			server := lapsedb.Start(t, "--memory", "--virtual-clock")
			certificate := filepath.Join(t.TempDir(), "emulator.pem")
			check.NoError(t, os.WriteFile(certificate, server.Certificate(), 0o600))
			run := exec.Command("go", "run", example(t, server.URL(scheme)))
			run.Env = append(os.Environ(), "SSL_CERT_FILE="+certificate)
			output, err := run.CombinedOutput()
			check.True(t, err == nil, "go run: %v\n%s", err, output)
			check.Equal(t, string(output), "2 has expired\n[\"3\"]\n")
		})
	}
}

// The version that the README says to get is the one that the tests use.
func TestTheVersionForGoIsTheTestedOne(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`(?m)^    go get (\S+/azcosmos)@(\S+)$`).FindSubmatch(check.Must(os.ReadFile("../../../README.md"))(t))
	check.True(t, named != nil, "the README says not what to get")
	module := string(check.Must(os.ReadFile("../go.mod"))(t))
	check.True(t, strings.Contains(module, string(named[1])+" "+string(named[2])+"\n"), "go.mod has another version than %s", named[2])
}

func TestTheExampleForGoIsFormatted(t *testing.T) {
	t.Parallel()
	output, err := exec.Command("gofmt", "-l", example(t, "http://localhost:8081/")).CombinedOutput()
	check.NoError(t, err)
	check.Equal(t, string(output), "")
}
