package lapsedb

import (
	"os/exec"
	"syscall"
)

// Command is a program that a test process which is cut off does not leave behind.
func Command(name string, arguments ...string) *exec.Cmd {
	command := exec.Command(name, arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}
