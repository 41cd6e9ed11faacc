package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// whole reads a complete JSON answer, as servers send it that do not know "stream", or a JSON error with status 200.
func (r *reply) whole(in io.Reader) *failure {
	limit := r.c.s.cfg.MaxBody
	raw, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return r.broken(err)
	}
	if len(raw) > limit {
		return protocol("The model provider sent an answer that is too long.", errLong)
	}
	raw = single(raw)
	var ch chunk
	if err := json.Unmarshal(raw, &ch); err != nil {
		return protocol(unreadable, fmt.Errorf("body of %d bytes is not JSON", len(raw)))
	}
	f, bad := parseFault(ch.Error)
	if !bad && ch.Object == "error" {
		f, bad = parseFault(raw)
	}
	switch {
	case bad:
		return r.fault(f, string(raw))
	case len(ch.Choices) == 0 || ch.Choices[0].Message == nil:
		fail := protocol(wrongAddress, errors.New("JSON without choices"))
		fail.repeat = repeatNever
		return fail
	}
	first := &ch.Choices[0]
	first.Delta = first.Message
	if first.Finish == "" {
		first.Finish = "stop"
	}
	if fail := r.chunk(&ch); fail != nil || r.c.left {
		return fail
	}
	if r.failedFinish() {
		return r.fault(fault{Type: r.finish}, string(raw))
	}
	return r.complete()
}

// single takes the one element out of a list, as which some servers send their errors.
func single(raw []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		return list[0]
	}
	return raw
}
