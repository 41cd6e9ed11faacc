package embedded

import (
	"net"
	"time"
)

// PipeLimit is what one direction of a connection holds.
const PipeLimit = pipeLimit

// NewStalling is New with another limit for connections that are not read.
func NewStalling(cfg Config, stall time.Duration) *Server { return newServer(cfg, stall) }

// NewPipe returns the ends of a connection that is not served by anything.
func NewPipe(stall time.Duration) (near, far net.Conn) { return newPipe(stall, nil) }
