package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"holdfast/stream/upstream/fake"
)

func fakeCommand() *cobra.Command {
	listenAt := "127.0.0.1:8090"
	cmd := &cobra.Command{
		Use: "fake-provider", Short: "Run a model server with scripted behaviour, for tests", Args: cobra.NoArgs, SilenceUsage: true,
		Long: "fake-provider speaks the chat-completions protocol with streamed answers. What it does is chosen by the prompt: see\n" +
			"the commands that it prints. Point holdfast at it with --upstream openai --upstream-url http://127.0.0.1:8090/v1.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ln, err := listen(config{listen: listenAt, listenGiven: true})
			if err != nil {
				return err
			}
			srv := &http.Server{Handler: fake.New(fake.Script{}), ReadHeaderTimeout: 10 * time.Second}
			context.AfterFunc(cmd.Context(), func() { _ = srv.Close() })
			fmt.Fprintf(cmd.OutOrStdout(), "holdfast: fake provider on http://%s/v1\n", shown(ln.Addr()))
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listenAt, "listen", listenAt, "address to serve on")
	return cmd
}
