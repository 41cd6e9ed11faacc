package redislog

import (
	"strconv"
	"strings"

	"holdfast/stream"
)

// A wake is "w", or "c<incarnation>\n" and entries, each "<epoch>-<seq> <kind> <bytes>\n<data>".

// encodeWake makes a wake with copies; without them where they exceed limit bytes.
func encodeWake(inc string, entries []stream.Entry, limit int) string {
	copies := encodeEntries(entries, limit)
	if copies == "" {
		return "w"
	}
	return "c" + inc + "\n" + copies
}

// encodeEntries writes copies; "" where they exceed limit bytes.
func encodeEntries(entries []stream.Entry, limit int) string {
	size := 0
	for _, e := range entries {
		size += len(e.Data)
	}
	if size > limit {
		return ""
	}
	var b strings.Builder
	b.Grow(size + 48*len(entries))
	for _, e := range entries {
		b.WriteString(e.ID.String())
		b.WriteByte(' ')
		b.WriteString(string(e.Kind))
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(len(e.Data)))
		b.WriteByte('\n')
		b.WriteString(e.Data)
	}
	return b.String()
}

// decodeWake reads a wake. What it cannot read is a wake without copies: the reader looks into the log.
func decodeWake(s string) stream.Wake {
	body, ok := strings.CutPrefix(s, "c")
	if !ok {
		return stream.Wake{}
	}
	inc, body, ok := strings.Cut(body, "\n")
	if !ok {
		return stream.Wake{}
	}
	w := stream.Wake{Incarnation: inc}
	for body != "" {
		line, rest, ok := strings.Cut(body, "\n")
		if !ok {
			return stream.Wake{}
		}
		idText, line, _ := strings.Cut(line, " ")
		kind, sizeText, _ := strings.Cut(line, " ")
		id, err := stream.ParseEntryID(idText)
		size, err2 := strconv.Atoi(sizeText)
		if err != nil || err2 != nil || kind == "" || size < 0 || size > len(rest) {
			return stream.Wake{}
		}
		w.Entries = append(w.Entries, stream.Entry{ID: id, Kind: stream.Kind(kind), Data: rest[:size]})
		body = rest[size:]
	}
	return w
}
