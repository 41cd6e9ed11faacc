package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"holdfast/stream/turn"
)

// The codes of turn.SourceError.
const (
	codeAuth        = "upstream_auth"
	codeRate        = "upstream_rate_limited"
	codeOverloaded  = "upstream_overloaded"
	codeInvalid     = "upstream_invalid"
	codeUnavailable = "upstream_unavailable"
	codeCut         = "upstream_cut"
	codeStalled     = "upstream_stalled"
	codeProtocol    = "upstream_protocol"
	codeError       = "upstream_error"
)

const wrongAddress = "There is no chat-completions service at the configured address. Check --upstream-url: most end in /v1."

// refused is the failure of a response with a status other than 200.
func (c *call) refused(resp *http.Response, body []byte, options bool) *failure {
	status := resp.StatusCode
	c.s.cfg.Log.Debug("model provider refused", "status", status, "body", c.s.cfg.Key.redact(body))
	if status == http.StatusBadRequest && options && bytes.Contains(body, []byte("stream_options")) {
		c.s.plain.Store(true)
		c.quirk("stream_options")
		return &failure{repeat: repeatNow, err: &turn.SourceError{Code: codeInvalid}}
	}
	body = single(body)
	var parsed struct {
		Error json.RawMessage `json:"error"`
	}
	var f fault
	if json.Unmarshal(body, &parsed) == nil {
		f, _ = parseFault(parsed.Error)
		if f == (fault{}) {
			f, _ = parseFault(body)
		}
	}
	fail := c.failed(f, status)
	fail.err.RetryAfter = askedWait(resp.Header, time.Now())
	if fail.err.Code == codeRate && fail.err.RetryAfter > 0 {
		fail.err.Message = fmt.Sprintf("The model provider wants a pause of %s. Try again then.", fail.err.RetryAfter.Round(time.Second))
	}
	switch strings.ToLower(resp.Header.Get("X-Should-Retry")) {
	case "true":
		fail.repeat = repeatOften
	case "false":
		fail.repeat = repeatNever
	}
	return fail
}

// failed maps what a provider says of a fault, in a body with the given status or (status 0) in a stream.
func (c *call) failed(f fault, status int) *failure {
	if status == 0 && f.status >= 400 && f.status < 600 {
		status = f.status
	}
	fail := c.bySpecificWord(f)
	if fail == nil {
		fail = c.byStatus(f, status)
	}
	if fail == nil {
		fail = c.byGeneralWord(f)
	}
	fail.err.Status = status
	fail.err.Err = fmt.Errorf("provider says: status %d, type %s, code %s", status, c.word(f.Type), c.word(f.Code))
	return fail
}

func failing(code string, again repeat, message string) *failure {
	return &failure{repeat: again, err: &turn.SourceError{Code: code, Message: message}}
}

// bySpecificWord knows the words that say more than a status does.
func (c *call) bySpecificWord(f fault) *failure {
	said := strings.ToLower(f.Type + " " + f.Code)
	message := strings.ToLower(f.Message)
	switch {
	case has(said, "insufficient_quota", "billing", "insufficient_credits"):
		return failing(codeAuth, repeatNever, "The account at the model provider has no credit or quota left. Check its billing.")
	case has(said, "context_length") || has(message, "maximum context length", "context window", "context length"):
		return failing(codeInvalid, repeatNever, "The conversation is too long for this model.")
	case has(said, "content_filter", "content_policy"):
		return failing(codeInvalid, repeatNever, "The model provider's filter refused the prompt.")
	case has(said, "model_not_found"):
		return c.unknownModel()
	case has(said, "invalid_api_key"):
		return c.badKey()
	default:
		return nil
	}
}

// byStatus follows the table of what may be tried again; nil for a status that says nothing.
func (c *call) byStatus(f fault, status int) *failure {
	switch status {
	case 401:
		return c.badKey()
	case 402:
		return failing(codeAuth, repeatNever, "The account at the model provider has no credit left. Check its billing.")
	case 403:
		return failing(codeAuth, repeatNever, "The model provider does not allow this key to use this model. Check the key's rights and --upstream-model.")
	case 404:
		if has(strings.ToLower(f.Message), "model") {
			return c.unknownModel()
		}
		return failing(codeInvalid, repeatNever, wrongAddress)
	case 405:
		return failing(codeInvalid, repeatNever, wrongAddress)
	case 413:
		return failing(codeInvalid, repeatNever, "The conversation is too large for the model provider.")
	case 429:
		return failing(codeRate, repeatOften, "The model provider is asked too often. Try again in a moment.")
	case 498:
		return failing(codeOverloaded, repeatOften, "The model provider has no room at the moment. Try again in a moment.")
	case 529:
		return failing(codeOverloaded, repeatOnce, "The model provider is overloaded. Try again in a moment.")
	case 408, 409, 500, 502, 503, 504, 520, 521, 522, 523, 524:
		return failing(codeUnavailable, repeatOften, fmt.Sprintf("The model provider has a fault of its own (status %d). Try again in a moment.", status))
	}
	switch {
	case status >= 300 && status < 400:
		return failing(codeInvalid, repeatNever, "The configured address sends us elsewhere. Set --upstream-url to the final address.")
	case status >= 400 && status < 500:
		return failing(codeInvalid, repeatNever, fmt.Sprintf("The model provider did not accept the request (status %d).", status))
	case status != 0:
		return failing(codeUnavailable, repeatNever, fmt.Sprintf("The model provider answered with status %d.", status))
	default:
		return nil
	}
}

// byGeneralWord is for faults without a status. It always gives a failure.
func (c *call) byGeneralWord(f fault) *failure {
	said := strings.ToLower(f.Type + " " + f.Code)
	switch {
	case has(said, "rate_limit", "too_many"):
		return c.byStatus(f, 429)
	case has(said, "overloaded", "capacity", "insufficient_system_resource"):
		return c.byStatus(f, 529)
	case has(said, "authentication", "unauthorized"):
		return c.badKey()
	case has(said, "permission"):
		return c.byStatus(f, 403)
	case has(said, "invalid_request", "not_found"):
		return failing(codeInvalid, repeatNever, "The model provider did not accept the request.")
	case has(said, "server_error", "internal", "unavailable", "api_error", "timeout"):
		return failing(codeUnavailable, repeatOften, "The model provider has a fault of its own. Try again in a moment.")
	default:
		return failing(codeError, repeatNever, "The model provider reported an error.")
	}
}

func (c *call) badKey() *failure {
	if c.s.cfg.Key.IsZero() {
		return failing(codeAuth, repeatNever, "The model provider wants a key and none is configured. Name its variable with --upstream-key-env.")
	}
	return failing(codeAuth, repeatNever, "The model provider refused the key. Check the key that --upstream-key-env names.")
}

func (c *call) unknownModel() *failure {
	return failing(codeInvalid, repeatNever, fmt.Sprintf("The model provider does not know the model %.80q. Check --upstream-model.", c.s.model(c.prompt)))
}

// protocol is the failure of a provider that does not speak as it should. It may be tried again: a proxy may have cut something.
func protocol(message string, cause error) *failure {
	return &failure{repeat: repeatOften, err: &turn.SourceError{Code: codeProtocol, Message: message, Err: cause}}
}

// stalled is the failure of a context that a clock ended; nil if none did.
func stalled(ctx context.Context) *failure {
	late, ok := errors.AsType[*ClockError](context.Cause(ctx))
	if !ok {
		return nil
	}
	message := "The model provider fell silent in the middle of its answer."
	switch late.Clock {
	case "FirstByte", "FirstToken":
		message = "The model provider did not begin to answer in time."
	case "Total":
		message = "The answer took too long and was ended."
	}
	return &failure{err: &turn.SourceError{Code: codeStalled, Message: message, Err: late}}
}

// mediaType is a response's content type without parameters, fit for a log.
func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return "unknown"
	}
	return t
}

// word makes a provider's word fit for a log.
func (c *call) word(s string) string {
	if s == "" {
		return "none"
	}
	return c.s.cfg.Key.redact([]byte(s[:min(len(s), 64)]))
}

func has(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
