package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	var hint *hintError
	if errors.As(err, &hint) {
		fmt.Fprintln(os.Stderr, "holdfast: "+hint.Error())
	} else {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
	}
	os.Exit(1)
}

// hintError is a failure that a person can mend: one line that says what to do.
type hintError struct {
	hint string
	err  error
}

func (e *hintError) Error() string { return e.hint }
func (e *hintError) Unwrap() error { return e.err }
