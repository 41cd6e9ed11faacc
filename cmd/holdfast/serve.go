package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"holdfast/regen"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve (what the bare command does)", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c, cmd.OutOrStdout())
		},
	}
	serveFlags(cmd.Flags())
	return cmd
}

// serve opens the parts that the settings name and runs one node until ctx ends.
func serve(ctx context.Context, c config, out io.Writer) error {
	if c.node != "" && !regen.ValidID(c.node) {
		return &hintError{hint: fmt.Sprintf("--node-id %q: letters, digits, - and _, at most 128, first a letter or digit", c.node)}
	}
	logger := newLogger(c)
	redis.SetLogger(clientLog{logger})
	src, err := openSource(c)
	if err != nil {
		return err
	}
	ln, err := listen(c)
	if err != nil {
		return err
	}
	b, err := openBackend(ctx, c)
	if err != nil {
		_ = ln.Close()
		return err
	}
	defer b.close()
	n := newNode(c, b, src, pages(), logger)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }) // a second signal ends us at once
	fmt.Fprintf(out, "holdfast: listening on http://%s\n", shown(ln.Addr()))
	fmt.Fprintf(out, "holdfast: node %s, store %s, model %s\n", n.id, b.about, sourceName(c))
	return n.serve(ctx, ln)
}

func sourceName(c config) string {
	if c.upstream == "demo" {
		return "demo (no key needed)"
	}
	return c.upstream + " at " + redacted(c.upstreamURL)
}

func newLogger(c config) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.logLevel}
	if c.logJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, o))
}

// listen opens the address. One that was not asked for and is taken gives way to the next free port.
func listen(c config) (net.Listener, error) {
	host, port, err := net.SplitHostPort(c.listen)
	if err != nil {
		return nil, &hintError{hint: fmt.Sprintf("--listen %s: an address like 127.0.0.1:8080", c.listen), err: err}
	}
	if !c.insecure && !loopback(host) {
		return nil, &hintError{hint: fmt.Sprintf(
			"--listen %s is not a loopback address and no authentication is set up: listen on 127.0.0.1, or say --insecure", c.listen)}
	}
	first, _ := strconv.Atoi(port)
	for p := first; ; p++ {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		switch {
		case err == nil:
			return ln, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, &hintError{hint: fmt.Sprintf("--listen %s: %v", c.listen, err), err: err}
		case c.listenGiven || p >= first+100:
			return nil, &hintError{hint: fmt.Sprintf("--listen %s is taken by another program: stop it, or choose another port", c.listen), err: err}
		}
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// shown is an address that a browser can open.
func shown(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if ok && t.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(t.Port))
	}
	return a.String()
}
