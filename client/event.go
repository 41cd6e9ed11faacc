package client

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/gateway/wire"
)

// Event is one event. Fields that its kind does not have are zero.
type Event struct {
	// Raw is the frame as it came.
	Raw json.RawMessage `json:"-"`

	// Event is the kind: one of the wire.Event names, or one of a newer server.
	Event   string `json:"event"`
	Session string `json:"session"`
	Run     string `json:"run"`
	Turn    string `json:"turn"`
	// From and Seq are the first and the last seq that the event covers.
	From   uint64 `json:"from"`
	Seq    uint64 `json:"seq"`
	Cursor string `json:"cursor"`

	// Kind and Text belong to a delta.
	Kind string `json:"kind"`
	Text string `json:"text"`

	// Keep is the id of the last row that stays, "" when none stays; Rows follow it.
	Keep     string            `json:"keep"`
	Rows     []json.RawMessage `json:"rows"`
	Outcome  string            `json:"outcome"`
	Cause    string            `json:"cause"`
	Revision string            `json:"revision"`
	Usage    json.RawMessage   `json:"usage"`
	Variants []string          `json:"variants"`
	Model    string            `json:"model"`
	Node     string            `json:"node"`
	At       float64           `json:"at"`

	Change string `json:"change"`
	Title  string `json:"title"`

	// View is set on a reset.
	View *wire.View `json:"-"`

	On            bool `json:"on"`
	ReconnectInMS int  `json:"reconnect_in_ms"`
}

// parseEvent reads an event's frame. raw must not be reused.
func parseEvent(raw []byte) (Event, error) {
	ev := Event{Raw: raw}
	var head struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return ev, fmt.Errorf("read event: %w", err)
	}
	if head.Event == wire.EventReset { // its run is an object
		ev.Event, ev.View = head.Event, &wire.View{}
		if err := json.Unmarshal(raw, ev.View); err != nil {
			return ev, fmt.Errorf("read reset: %w", err)
		}
		ev.Session, ev.Cursor = ev.View.Session, ev.View.Cursor
		return ev, nil
	}
	if err := json.Unmarshal(raw, &ev); err != nil {
		return ev, fmt.Errorf("read event: %w", err)
	}
	if ev.From == 0 {
		ev.From = ev.Seq
	}
	return ev, nil
}

// moveCursor gives the cursor after an event: the event's own, or the old one with its number moved.
func moveCursor(old string, ev *Event) string {
	if ev.Cursor != "" {
		return ev.Cursor
	}
	head, _, ok := cutLast(old, ":")
	if !ok || ev.Seq == 0 {
		return old
	}
	return fmt.Sprintf("%s:%d", head, ev.Seq)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
