//go:build !linux

package cluster

import "syscall"

// dieWithParent has no counterpart here: a test that is killed leaves its nodes behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
