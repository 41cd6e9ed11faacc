//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// group gives a command a process group of its own, so that servers which its tests started end with it.
func group(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	return func() {
		if cmd.Process != nil {
			_ = kill() // whoever is left; mostly nobody
		}
	}
}
