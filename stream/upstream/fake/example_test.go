package fake_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"holdfast/stream/upstream/fake"
)

func ExampleNew() {
	provider := fake.New(fake.Script{Text: "Hello.", Usage: fake.None})
	srv := httptest.NewServer(provider)
	defer srv.Close()

	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	events := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			events++
		}
	}
	fmt.Println(provider.Requests()[0].Prompt, events)
	// Output: Hi 4
}
