package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/stream/upstream/demo"
	"holdfast/stream/upstream/fake"
)

var (
	fakeForms = []string{"stream", "whole", "html", "json-error"} // in the order of fake.Form
	fakeEnds  = []string{"done", "no-done", "cut", "reset", "error", "stall", "hang"}
)

func fakeCommand() *cobra.Command {
	var (
		script    fake.Script
		listenAt  string
		form, end string
	)
	cmd := &cobra.Command{
		Use: "fake-provider", Short: "Run a model server with scripted behaviour, for tests", Args: cobra.NoArgs, SilenceUsage: true,
		Long: "fake-provider speaks the chat-completions protocol with streamed answers. It answers well unless a flag or the prompt\n" +
			"says otherwise. Point holdfast at it with --upstream openai --upstream-url http://127.0.0.1:8090/v1.\n\n" +
			"A prompt may begin with:\n" + fakeCommands(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, e := slices.Index(fakeForms, form), slices.Index(fakeEnds, end)
			if f < 0 || e < 0 {
				return &hintError{hint: fmt.Sprintf("--form is one of %s; --end is one of %s", strings.Join(fakeForms, ", "), strings.Join(fakeEnds, ", "))}
			}
			script.Form, script.End = fake.Form(f), fake.End(e)
			ln, err := listen(config{listen: listenAt, listenGiven: true})
			if err != nil {
				return err
			}
			srv := &http.Server{Handler: fake.New(script), ReadHeaderTimeout: 10 * time.Second}
			context.AfterFunc(cmd.Context(), func() { _ = srv.Close() })
			fmt.Fprintf(cmd.OutOrStdout(), "holdfast: fake provider on http://%s/v1\n", shown(ln.Addr()))
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&listenAt, "listen", "127.0.0.1:8090", "address to serve on")
	f.StringVar(&script.Text, "text", "", "answer with this text; absent: a text that depends on the prompt")
	f.StringVar(&script.Key, "key", "", "key that requests must carry; absent: any")
	f.Float64Var(&script.Rate, "rate", 0, "pieces per second; 0: no waiting")
	f.DurationVar(&script.HeaderDelay, "header-delay", 0, "wait before the response's headers")
	f.DurationVar(&script.FirstDelay, "first-delay", 0, "wait before the first piece")
	f.BoolVar(&script.Vary, "vary", false, "another answer each time")
	f.BoolVar(&script.Comments, "comments", false, "a comment line before every event")
	f.BoolVar(&script.CRLF, "crlf", false, "end lines the Windows way")
	f.IntVar(&script.Chop, "chop", 0, "write so many bytes at a time, so that characters are split")
	f.IntVar(&script.LongLine, "long-line", 0, "a piece of so many letters in one line")
	f.StringVar(&form, "form", "stream", "shape of the answer: "+strings.Join(fakeForms, ", "))
	f.StringVar(&end, "end", "done", "end of the stream: "+strings.Join(fakeEnds, ", "))
	f.IntVar(&script.After, "after", 0, "pieces before a bad end; 0: all of them")
	f.IntVar(&script.Status, "status", 0, "refuse every request with this status")
	return cmd
}

func fakeCommands() string {
	var b strings.Builder
	for _, c := range demo.Commands() {
		fmt.Fprintf(&b, "  %-14s %s\n", c.Usage, c.Help)
	}
	return b.String()
}
