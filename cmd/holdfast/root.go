package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by -ldflags "-X main.version=…"; otherwise the build info is asked.
var version = ""

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "A WebSocket gateway that loses no answer between chat pages and language models",
		Long: "holdfast stands between chat pages and language models, on any number of nodes over one Redis.\n" +
			"Without a flag it serves an embedded store and a demo model on a loopback address: open the page it prints.",
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs,
	}
	serve := serveCommand()
	root.RunE = serve.RunE
	root.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, demoCommand(), fakeCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), "holdfast "+versionText()) },
	}
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
