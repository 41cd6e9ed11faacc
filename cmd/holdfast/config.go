package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"holdfast/stream/turn"
)

// config is what serve needs, read from flags, the environment and a file, in that order of precedence.
type config struct {
	listen       string
	listenGiven  bool
	redis, data  string
	upstream     string
	upstreamURL  string
	upstreamKey  string
	upstreamName string
	system       string
	onFailure    string
	node         string
	leaseTTL     time.Duration
	doubt        time.Duration
	idleRelease  time.Duration
	drainTimeout time.Duration
	maxFrame     int
	insecure     bool
	logLevel     slog.Level
	logJSON      bool
}

// serveFlags are the settings. Each is also HOLDFAST_<NAME> and a key of the file that --config names.
func serveFlags(f *pflag.FlagSet) {
	f.String("listen", "127.0.0.1:8080", "address to serve on; if not given and taken, the next free port")
	f.String("redis", "", "store: redis://, rediss://, redis+sentinel://host:port,host:port/master or redis+cluster://host:port,host:port; absent: embedded, nothing is kept")
	f.String("data", "", "keep the sessions in this directory, with a redis-server of our own (one machine)")
	f.String("upstream", "demo", "model source: demo or openai (any OpenAI-compatible chat-completions server)")
	f.String("upstream-url", "https://api.openai.com/v1", "address of the model server")
	f.String("upstream-key-env", "OPENAI_API_KEY", "name of the environment variable that holds its key")
	f.String("upstream-model", "", "model to ask for when the client names none")
	f.String("on-failure", "show", "a regenerate that ends without a word: show the failure, or restore the previous answer")
	f.String("system-file", "", "file with the system text for sessions that have none")
	f.String("node-id", "", "name of this node; absent: host name and a random part")
	f.Duration("lease-ttl", 10*time.Second, "how long a session's lease lasts without a renewal")
	f.Duration("doubt", time.Minute, "how long a model call runs on while Redis does not answer")
	f.Duration("idle-release", time.Minute, "how long the lease of an idle session is kept")
	f.Duration("drain-timeout", 30*time.Second, "how long running answers may take to end after SIGTERM")
	f.String("max-frame", "4MiB", "largest message a client may send")
	f.Bool("insecure", false, "serve other than loopback addresses without authentication")
	f.String("log-level", "info", "debug, info, warn or error")
	f.String("log-format", "text", "text or json")
	f.String("config", "", "YAML file with any of these settings")
}

const envPrefix = "HOLDFAST_"

// loadConfig reads the settings: flags win over the environment, the environment over the file, the file over the defaults.
func loadConfig(f *pflag.FlagSet) (config, error) {
	k := koanf.New(".")
	known := func(key string) bool { return f.Lookup(key) != nil && key != "help" && key != "config" }
	path, _ := f.GetString("config")
	if path == "" {
		path = os.Getenv(envPrefix + "CONFIG")
	}
	if path != "" {
		if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
			return config{}, &hintError{hint: fmt.Sprintf("--config %s cannot be read: %v", path, err), err: err}
		}
		for _, key := range k.Keys() {
			if !known(key) {
				return config{}, &hintError{hint: fmt.Sprintf("--config %s: %q is no setting; see holdfast --help", path, key)}
			}
		}
	}
	err := k.Load(env.Provider(".", env.Opt{Prefix: envPrefix, TransformFunc: func(name, value string) (string, any) {
		key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "_", "-")
		if !known(key) {
			return "", nil
		}
		return key, value
	}}), nil)
	if err != nil {
		return config{}, err
	}
	if err := k.Load(posflag.ProviderWithFlag(f, ".", k, func(fl *pflag.Flag) (string, any) {
		if !known(fl.Name) {
			return "", nil
		}
		return fl.Name, posflag.FlagVal(f, fl)
	}), nil); err != nil {
		return config{}, err
	}
	return readConfig(k, f)
}

func readConfig(k *koanf.Koanf, f *pflag.FlagSet) (config, error) {
	c := config{
		listen: k.String("listen"), listenGiven: k.String("listen") != f.Lookup("listen").DefValue || f.Changed("listen"),
		redis: k.String("redis"), data: k.String("data"), upstream: k.String("upstream"),
		upstreamURL: k.String("upstream-url"), upstreamKey: k.String("upstream-key-env"), upstreamName: k.String("upstream-model"),
		node: k.String("node-id"), insecure: k.Bool("insecure"),
	}
	var errs []string
	duration := func(name string, least time.Duration) time.Duration {
		d, err := time.ParseDuration(k.String(name))
		if err != nil || d < least {
			errs = append(errs, fmt.Sprintf("--%s %q: a duration of at least %v, like 10s", name, k.String(name), least))
		}
		return d
	}
	c.leaseTTL = duration("lease-ttl", 500*time.Millisecond)
	c.doubt = duration("doubt", 0)
	c.idleRelease = duration("idle-release", 100*time.Millisecond)
	c.drainTimeout = duration("drain-timeout", 0)
	var err error
	if c.maxFrame, err = parseSize(k.String("max-frame")); err != nil || c.maxFrame < 1024 {
		errs = append(errs, fmt.Sprintf("--max-frame %q: a size of at least 1KiB, like 4MiB", k.String("max-frame")))
	}
	if err := c.logLevel.UnmarshalText([]byte(k.String("log-level"))); err != nil {
		errs = append(errs, fmt.Sprintf("--log-level %q: debug, info, warn or error", k.String("log-level")))
	}
	if form := k.String("log-format"); !slices.Contains([]string{"text", "json"}, form) {
		errs = append(errs, fmt.Sprintf("--log-format %q: text or json", form))
	} else {
		c.logJSON = form == "json"
	}
	if !slices.Contains([]string{"demo", "openai"}, c.upstream) {
		errs = append(errs, fmt.Sprintf("--upstream %q: demo or openai", c.upstream))
	}
	if c.onFailure = k.String("on-failure"); c.onFailure != turn.Show && c.onFailure != turn.Restore {
		errs = append(errs, fmt.Sprintf("--on-failure %q: %s or %s", c.onFailure, turn.Show, turn.Restore))
	}
	if c.redis != "" && c.data != "" {
		errs = append(errs, "--redis and --data: one of them")
	}
	if path := k.String("system-file"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Sprintf("--system-file: %v", err))
		}
		c.system = strings.TrimSpace(string(text))
	}
	if len(errs) > 0 {
		return c, &hintError{hint: strings.Join(errs, "\nholdfast: ")}
	}
	return c, nil
}

// parseSize reads bytes with an optional KiB, MiB or GiB.
func parseSize(s string) (int, error) {
	unit := 1
	for suffix, n := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, n
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > math.MaxInt32/unit {
		return 0, fmt.Errorf("not a size: %q", s)
	}
	return n * unit, nil
}
