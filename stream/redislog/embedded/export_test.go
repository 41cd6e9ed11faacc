package embedded

import (
	"net"
	"time"
)

// Limits that the tests measure against.
const (
	PipeLimit  = pipeLimit
	StallLimit = stallLimit
)

// NewPipe returns the ends of a connection that is not served by anything.
func NewPipe(stall time.Duration) (near, far net.Conn) { return newPipe(stall, nil) }
