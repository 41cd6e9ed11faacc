package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/turn"
)

func demoCommand() *cobra.Command {
	nodes := 3
	cmd := &cobra.Command{
		Use: "demo", Short: "Run several nodes in one process, with a page that kills them", Args: cobra.NoArgs, SilenceUsage: true,
		Long: "demo runs several nodes over one embedded store behind one address. The page has a button that kills the node which\n" +
			"answers: another one takes over, and no word that was shown is lost. A killed node comes back after a while.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if nodes < 1 || nodes > 16 {
				return &hintError{hint: fmt.Sprintf("--nodes %d: 1 to 16", nodes)}
			}
			if f := cmd.Flags(); !f.Changed("lease-ttl") {
				_ = f.Set("lease-ttl", "3s") // a person waits for it
			}
			c, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return runDemo(cmd.Context(), c, nodes, cmd.OutOrStdout())
		},
	}
	serveFlags(cmd.Flags())
	for _, name := range []string{"redis", "data", "node-id"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	cmd.Flags().IntVar(&nodes, "nodes", nodes, "number of nodes")
	return cmd
}

// showcase is a handful of nodes in one process behind one front door.
type showcase struct {
	cfg    config
	store  *backend
	source turn.Source
	logger *slog.Logger
	back   time.Duration // how long a killed node stays away
	wg     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	nodes []*demoNode
	next  int
}

// demoNode is one place for a node; a killed node's successor has the same number and another name.
type demoNode struct {
	node  *node
	url   *url.URL
	kill  context.CancelFunc
	alive bool
	life  int
}

func runDemo(ctx context.Context, c config, count int, out io.Writer) error {
	src, err := openSource(c)
	if err != nil {
		return err
	}
	ln, err := listen(c)
	if err != nil {
		return err
	}
	logger := newLogger(c)
	redis.SetLogger(clientLog{logger})
	d := &showcase{cfg: c, store: openEmbedded(false), source: src, logger: logger, back: 5 * time.Second}
	defer d.store.close()
	parts, stop := context.WithCancel(ctx)
	defer d.wg.Wait()
	defer stop()
	for i := range count {
		d.nodes = append(d.nodes, &demoNode{})
		if err := d.start(parts, i); err != nil {
			return err
		}
	}
	srv := &http.Server{Handler: d.handler(parts), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	fmt.Fprintf(out, "holdfast: listening on http://%s\n", shown(ln.Addr()))
	fmt.Fprintf(out, "holdfast: %d nodes, store %s, model %s\n", count, d.store.about, sourceName(c))
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// start brings a node to life in place i.
func (d *showcase) start(ctx context.Context, i int) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.mu.Lock()
	p := d.nodes[i]
	p.life++
	c := d.cfg
	c.node = fmt.Sprintf("node-%c", 'a'+i)
	if p.life > 1 {
		c.node += fmt.Sprintf("-%d", p.life)
	}
	n := newNode(c, d.store, d.source, nil, d.logger.With("node", c.node))
	killed, kill := context.WithCancel(context.WithoutCancel(ctx))
	p.node, p.kill, p.alive = n, kill, true
	p.url = &url.URL{Scheme: "http", Host: ln.Addr().String()}
	d.mu.Unlock()
	d.wg.Go(func() {
		defer kill()
		if err := n.serveUntil(ctx, killed, ln); err != nil {
			d.logger.Error("node ended", "node", n.id, "err", err)
		}
	})
	return nil
}

func (d *showcase) handler(ctx context.Context) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if u := d.pick(); u != nil {
				r.SetURL(u)
			}
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "no node answers", http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(d.logger.Handler(), slog.LevelDebug),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /demo/info", d.info)
	mux.HandleFunc("POST /demo/kill", func(w http.ResponseWriter, r *http.Request) { d.killOwner(ctx, w, r) })
	for _, path := range []string{"/v1/", "/livez", "/readyz"} {
		mux.Handle(path, proxy)
	}
	mux.Handle("/", pages())
	return loopbackHost(mux)
}

// loopbackHost refuses other host names, and requests that other pages make: the front door is for this machine.
func loopbackHost(h http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	return guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !loopback(host) {
			http.Error(w, "only loopback host names are served", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// pick takes the nodes in turn, so that tabs of one session are on different ones.
func (d *showcase) pick() *url.URL {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range d.nodes {
		d.next++
		if p := d.nodes[d.next%len(d.nodes)]; p.alive {
			return p.url
		}
	}
	return nil
}

type demoInfo struct {
	Demo  bool           `json:"demo"`
	Nodes []demoNodeInfo `json:"nodes"`
}

type demoNodeInfo struct {
	ID    string `json:"id"`
	Alive bool   `json:"alive"`
}

func (d *showcase) info(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	info := demoInfo{Demo: true}
	for _, p := range d.nodes {
		info.Nodes = append(info.Nodes, demoNodeInfo{ID: p.node.id, Alive: p.alive})
	}
	d.mu.Unlock()
	reply(w, http.StatusOK, info)
}

// killOwner ends the node that owns the session as kill -9 would: nothing is released, settled or said to anybody.
func (d *showcase) killOwner(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Session string `json:"session"`
	}
	key := regen.Key{Tenant: "main"}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err == nil {
		key.Session = body.Session
	}
	if key.Validate() != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "which session?"})
		return
	}
	killed, err := d.kill(ctx, key)
	if err != nil {
		reply(w, http.StatusConflict, map[string]string{"error": err.Error()})
		return
	}
	reply(w, http.StatusOK, map[string]string{"killed": killed})
}

func (d *showcase) kill(ctx context.Context, key regen.Key) (string, error) {
	from := d.anyAlive()
	if from == nil {
		return "", errors.New("no node is alive")
	}
	snap, err := from.log.Read(ctx, key, stream.Query{HeadOnly: true})
	if err != nil {
		return "", errors.New("the store does not answer")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	alive := 0
	for _, p := range d.nodes {
		if p.alive {
			alive++
		}
	}
	for i, p := range d.nodes {
		if p.alive && p.node.id == snap.Lease.Node {
			if alive == 1 {
				return "", errors.New("it is the last node alive")
			}
			p.alive = false
			p.kill()
			d.wg.Go(func() { d.revive(ctx, i) })
			return p.node.id, nil
		}
	}
	return "", errors.New("no living node owns this session")
}

func (d *showcase) anyAlive() *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.nodes {
		if p.alive {
			return p.node
		}
	}
	return nil
}

// revive starts a killed node's successor after a while.
func (d *showcase) revive(ctx context.Context, i int) {
	t := time.NewTimer(d.back)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return
	case <-t.C:
	}
	if err := d.start(ctx, i); err != nil {
		d.logger.Error("node not started again", "err", err)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
