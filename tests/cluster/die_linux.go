package cluster

import "syscall"

// dieWithParent makes the kernel end the process when the test binary is gone, however it went.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
