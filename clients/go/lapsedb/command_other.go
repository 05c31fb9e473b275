//go:build !linux

package lapsedb

import "os/exec"

// Command is a program. Only Linux can end it with the process that started it.
func Command(name string, arguments ...string) *exec.Cmd {
	return exec.Command(name, arguments...)
}
