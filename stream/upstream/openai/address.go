package openai

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const completions = "/chat/completions"

// versioned matches a path segment that names a version of an interface, such as v1 or v1beta.
var versioned = regexp.MustCompile(`^v\d+[a-z0-9]*$`)

// endpoint makes the address to call from what a person configured. Its errors do not repeat the address: it may hold a key.
func endpoint(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return nil, errors.New("the provider's URL is missing")
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("the provider's URL must look like https://host/v1")
	}
	if u.User != nil {
		return nil, errors.New("the provider's URL must not hold a name or password: give the key as the key")
	}
	u.Fragment, u.RawPath = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	if strings.HasSuffix(u.Path, completions) {
		return u, nil
	}
	segments := strings.Split(u.Path, "/")
	if !slices.ContainsFunc(segments, versioned.MatchString) && !slices.Contains(segments, "deployments") {
		u.Path += "/v1"
	}
	u.Path += completions
	return u, nil
}
