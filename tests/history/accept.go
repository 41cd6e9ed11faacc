package history

import (
	"slices"
	"strings"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
)

// press is one command key of one session, with all that was sent under it: a client may repeat a command.
type press struct {
	key     string
	content string
	op      wire.Op
	sent    []*Command
	receipt *wire.Receipt // the first one
	at      time.Time     // when it came
}

// refused says that every answer was a definite no. A command that was unavailable, timed out or met a fault may still have been
// accepted: that is what repeating with the same key is for.
func (p *press) refused() bool {
	for _, c := range p.sent {
		switch c.Code {
		case "", wire.Unavailable, wire.Timeout, wire.Internal, wire.KeyReused:
			return false
		}
	}
	return true
}

func (f *findings) presses() map[regen.Key][]*press {
	out := map[regen.Key][]*press{}
	for i := range f.commands {
		c := &f.commands[i]
		if c.Key == "" || c.Op == wire.OpCancel {
			continue
		}
		k := c.key()
		at := slices.IndexFunc(out[k], func(p *press) bool { return p.key == c.Key })
		if at < 0 {
			at = len(out[k])
			out[k] = append(out[k], &press{key: c.Key, content: c.Content, op: c.Op})
		}
		p := out[k][at]
		p.sent = append(p.sent, c)
		if c.Receipt == nil {
			continue
		}
		if p.receipt != nil && p.receipt.Run != c.Receipt.Run {
			f.bad(I5, k, "key %q was accepted twice: as run %s and as run %s", c.Key, p.receipt.Run, c.Receipt.Run)
		}
		if p.receipt == nil {
			p.receipt, p.content, p.at = c.Receipt, c.Content, c.Answered
		}
	}
	return out
}

// accepted checks I5, and that part of I8 which needs no dump from before.
func (f *findings) accepted() {
	for key, presses := range f.presses() {
		byRun := map[string]*press{}
		for _, p := range presses {
			if p.receipt == nil {
				continue
			}
			if other := byRun[p.receipt.Run]; other != nil {
				f.bad(I5, key, "the keys %q and %q were both answered with run %s", other.key, p.key, p.receipt.Run)
			}
			byRun[p.receipt.Run] = p
		}
		if s := f.last(key); s != nil {
			f.stored(s, presses)
		}
	}
}

// stored compares what was acknowledged with what the store has at the end.
func (f *findings) stored(s *Store, presses []*press) {
	known := map[string]bool{}
	for _, v := range s.Keys {
		run, _, _ := strings.Cut(v, " ")
		known[run] = true
	}
	complete := len(s.Keys) < 1000 && !f.opts.StoreLost
	for _, p := range presses {
		run, _, _ := strings.Cut(s.Keys[p.key], " ")
		switch {
		case run != "" && p.refused():
			f.bad(I8, s.Key, "key %q was refused (%s), and the store has it accepted as run %s", p.key, p.sent[0].Code, run)
		case p.receipt == nil || s.At.Before(p.at):
		case run == "" && complete:
			f.bad(I5, s.Key, "key %q was accepted as run %s, and the store does not know it", p.key, p.receipt.Run)
		case run != "" && run != p.receipt.Run && !f.opts.StoreLost:
			f.bad(I5, s.Key, "key %q was answered with run %s, and the store has run %s", p.key, p.receipt.Run, run)
		}
	}
	if complete {
		for run, in := range f.startedIn {
			if in.key == s.Key && !known[run] && len(s.Keys) > 0 && !s.At.Before(in.at) {
				f.bad(I5, s.Key, "run %s started, and no accepted command stands for it", run)
			}
		}
	}
	f.userRowsOf(s, presses)
}

// userRowsOf: every accepted turn has its prompt in the document, and no prompt is there more often than it was sent.
func (f *findings) userRowsOf(s *Store, presses []*press) {
	d, err := s.document()
	if err != nil {
		return // said by readDump
	}
	turns, prompts := map[string]bool{}, map[string]int{}
	for _, l := range d.Rows {
		if l.Row.Role == regen.RoleUser {
			turns[l.Row.Turn] = true
			prompts[l.Row.Content.Text()]++
		}
	}
	sent, allRefused := map[string]int{}, map[string]bool{}
	for _, p := range presses {
		if p.receipt != nil && !turns[p.receipt.Turn] && !f.edited[s.Key] && !f.opts.StoreLost && !s.At.Before(p.at) {
			f.bad(I5, s.Key, "the turn %s, accepted for key %q, is not in the document", p.receipt.Turn, p.key)
		}
		if p.op == wire.OpSend {
			if sent[p.content]++; sent[p.content] == 1 {
				allRefused[p.content] = true
			}
			allRefused[p.content] = allRefused[p.content] && p.refused()
		}
	}
	for content, n := range sent {
		switch got := prompts[content]; {
		case got > 0 && allRefused[content]:
			f.bad(I8, s.Key, "the prompt %q was refused every time, and stands in the document", clip(content))
		case got > n:
			f.bad(I5, s.Key, "the prompt %q was sent under %d keys, and stands %d times in the document", clip(content), n, got)
		}
	}
}
