package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
)

//go:embed index.html style.css favicon.svg *.js vendor/marked.esm.js vendor/purify.es.mjs
var embedded embed.FS

// Options says what to serve; the zero value serves the embedded page.
type Options struct {
	// Files are served in the place of the embedded ones: an own page, or this one while it is worked on. They are read once, by
	// Handler. nil means the embedded files.
	Files fs.FS
}

// types are the media types of what a page is made of; a file of another kind is not served. The system's own table is not asked: it
// differs from machine to machine, and with nosniff a wrong type is a page that does not run.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one file as it is served.
type file struct {
	mediaType string
	tag       string
	body      string
}

// Handler serves the page at "/" and its files beside it. It is mounted at the root of a host, below the paths of the API. It panics
// when Options.Files cannot be read.
func Handler(o Options) http.Handler {
	from := o.Files
	if from == nil {
		from = embedded
	}
	files, err := load(from)
	if err != nil {
		panic("web: " + err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, files) })
}

func load(from fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		kind := types[path.Ext(name)]
		if err != nil || d.IsDir() || kind == "" || strings.HasSuffix(name, ".test.mjs") {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		files["/"+name] = file{mediaType: kind, tag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: string(body)}
		return nil
	})
	if index, ok := files["/index.html"]; ok {
		files["/"] = index
	}
	return files, err
}

func serve(w http.ResponseWriter, r *http.Request, files map[string]file) {
	head := w.Header()
	protect(head, r.Host)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	f, ok := files[r.URL.Path]
	if !ok {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	head.Set("Content-Type", f.mediaType)
	head.Set("ETag", f.tag)
	head.Set("Cache-Control", "no-cache")
	// ServeContent would do, but for a modification time it has none, and ranges of a page help nobody.
	if matches(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(f.body)) // a reader that went away is its own answer
	}
}

// matches says whether an If-None-Match names the tag. A proxy that compresses makes tags weak.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}

// host is what may stand in a header: a name or an address, and a port.
var host = regexp.MustCompile(`^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$`)

// protect sets what keeps foreign script, foreign hosts and foreign frames away.
func protect(head http.Header, from string) {
	connect := "'self'"
	if host.MatchString(from) { // 'self' alone leaves sockets out in some browsers
		connect += " ws://" + from + " wss://" + from
	}
	head.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src " + connect,
		"base-uri 'none'", "frame-ancestors 'none'", "form-action 'none'",
		"require-trusted-types-for 'script'", "trusted-types dompurify",
	}, "; "))
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}
