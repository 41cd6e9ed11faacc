package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway/web"
)

func get(t *testing.T, path string, change ...func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8080"
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	web.Handler(web.Options{}).ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

// A person gets the page and everything it loads, with types that a strict browser takes.
func TestServesThePage(t *testing.T) {
	for path, kind := range map[string]string{
		"/": "text/html", "/index.html": "text/html", "/style.css": "text/css", "/app.js": "text/javascript",
		"/holdfast.js": "text/javascript", "/vendor/purify.es.mjs": "text/javascript", "/favicon.svg": "image/svg+xml",
	} {
		r := get(t, path)
		assert.Equal(t, http.StatusOK, r.StatusCode, path)
		assert.True(t, strings.HasPrefix(r.Header.Get("Content-Type"), kind), path)
		assert.NotEmpty(t, body(t, r), path)
	}
}

// What is not the page is not served: no tests, no papers, no listing.
func TestServesNothingElse(t *testing.T) {
	for _, path := range []string{"/holdfast.test.mjs", "/web.go", "/vendor/VENDOR.md", "/vendor/", "/vendor", "/../web.go", "/nothing"} {
		r := get(t, path)
		assert.Equal(t, http.StatusNotFound, r.StatusCode, path)
		assert.NotEmpty(t, r.Header.Get("Content-Security-Policy"), path)
	}
	r := get(t, "/", func(r *http.Request) { r.Method = http.MethodPost })
	assert.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
	assert.Equal(t, "GET, HEAD", r.Header.Get("Allow"))
	r = get(t, "/", func(r *http.Request) { r.Method = http.MethodHead })
	assert.Equal(t, http.StatusOK, r.StatusCode)
	assert.Empty(t, body(t, r))
}

// Whatever a model writes, no browser runs it, and the page asks nobody but its own host.
func TestPolicyIsStrict(t *testing.T) {
	h := get(t, "/").Header
	policy := map[string]string{}
	for part := range strings.SplitSeq(h.Get("Content-Security-Policy"), "; ") {
		name, value, _ := strings.Cut(part, " ")
		policy[name] = value
	}
	assert.Equal(t, map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
		"connect-src": "'self' ws://127.0.0.1:8080 wss://127.0.0.1:8080", "base-uri": "'none'", "frame-ancestors": "'none'",
		"form-action": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "dompurify",
	}, policy)
	assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
}

// A Host header cannot write a policy of its own.
func TestHostCannotChangeThePolicy(t *testing.T) {
	for _, host := range []string{"a; script-src *", "a *", "", "evil'", "a/b", "a:99999999", strings.Repeat("a", 300)} {
		r := get(t, "/", func(r *http.Request) { r.Host = host })
		assert.Contains(t, r.Header.Get("Content-Security-Policy"), "connect-src 'self'; ", host)
	}
	for _, host := range []string{"localhost:8080", "[::1]:8080", "chat.example.org"} {
		r := get(t, "/", func(r *http.Request) { r.Host = host })
		assert.Contains(t, r.Header.Get("Content-Security-Policy"), "connect-src 'self' ws://"+host+" wss://"+host+"; ")
	}
}

// A new binary shows its new page at the next load; an unchanged file is not sent again.
func TestCaches(t *testing.T) {
	first := get(t, "/app.js")
	tag := first.Header.Get("ETag")
	assert.Equal(t, "no-cache", first.Header.Get("Cache-Control"))
	require.NotEmpty(t, tag)
	for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		r := get(t, "/app.js", func(r *http.Request) { r.Header.Set("If-None-Match", known) })
		assert.Equal(t, http.StatusNotModified, r.StatusCode, known)
		assert.Empty(t, body(t, r))
	}
	r := get(t, "/app.js", func(r *http.Request) { r.Header.Set("If-None-Match", `"other"`) })
	assert.Equal(t, http.StatusOK, r.StatusCode)
}

// A page of one's own is served in the place of the embedded one.
func TestServesOtherFiles(t *testing.T) {
	h := web.Handler(web.Options{Files: fstest.MapFS{"index.html": {Data: []byte("mine")}, "secret.key": {Data: []byte("x")}}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, "mine", w.Body.String())
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/secret.key", nil))
	assert.Equal(t, http.StatusNotFound, w.Code)
}

var sum = regexp.MustCompile(`(?m)^([0-9a-f]{64})  (\S+)$`)

// The copies of other people's code are what their papers say they are, and none stands there without papers.
func TestVendorSums(t *testing.T) {
	paper, err := os.ReadFile("vendor/VENDOR.md")
	require.NoError(t, err)
	want := map[string]string{"VENDOR.md": ""}
	for _, m := range sum.FindAllStringSubmatch(string(paper), -1) {
		want[m[2]] = m[1]
	}
	found, err := os.ReadDir("vendor")
	require.NoError(t, err)
	for _, f := range found {
		expected, known := want[f.Name()]
		require.True(t, known, "%s is not in VENDOR.md", f.Name())
		if expected == "" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("vendor", f.Name()))
		require.NoError(t, err)
		got := sha256.Sum256(raw)
		assert.Equal(t, expected, hex.EncodeToString(got[:]), f.Name())
		if filepath.Ext(f.Name()) == ".mjs" || filepath.Ext(f.Name()) == ".js" {
			assert.Equal(t, string(raw), body(t, get(t, "/vendor/"+f.Name())), "%s is served as it is", f.Name())
		}
	}
	assert.Len(t, found, len(want))
}

var (
	address = regexp.MustCompile(`(?i)(?:https?:|wss?:)?//[a-z0-9][a-z0-9.-]*\.[a-z]{2,}`)
	inline  = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:\s[^>]*)?>[^<]|javascript:`)
	maker   = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`)
)

// The page's own files name no other host, and make nodes of text in no other way than the one that is checked.
func TestLoadsNothingFromOutside(t *testing.T) {
	files, err := filepath.Glob("*.*")
	require.NoError(t, err)
	for _, name := range files {
		ext := filepath.Ext(name)
		if ext != ".html" && ext != ".css" && ext != ".js" {
			continue
		}
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Empty(t, address.FindString(string(raw)), name)
		assert.Empty(t, maker.FindString(string(raw)), name)
		if ext == ".html" {
			assert.Empty(t, inline.FindString(string(raw)), name)
		}
	}
}

var imports = regexp.MustCompile(`(?m)^(?:import|export) [^;]*?from "([^"]+)"`)

// Every module that a module asks for is there: without a build step nobody else would notice.
func TestModulesAreThere(t *testing.T) {
	files, err := filepath.Glob("*.js")
	require.NoError(t, err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range imports.FindAllStringSubmatch(string(raw), -1) {
			assert.Equal(t, http.StatusOK, get(t, "/"+filepath.Clean(m[1])).StatusCode, "%s asks for %s", name, m[1])
		}
	}
}
