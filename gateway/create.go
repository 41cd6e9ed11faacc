package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// Creator makes sessions that come with rows. An Engine may be one.
type Creator interface {
	Create(ctx context.Context, key regen.Key, f regen.Fields, rows, contexts []regen.Row) error
}

// maxImport bounds the body of an import in bytes.
const maxImport = 64 << 20

// importBody is the body of POST /v1/sessions. Rows are as a document shows them, and may carry more fields, which are kept.
type importBody struct {
	Session  string      `json:"session"`
	Title    string      `json:"title"`
	System   string      `json:"system"`
	Source   string      `json:"source"`
	Parent   string      `json:"parent"`
	ReadOnly bool        `json:"read_only"`
	Imported bool        `json:"imported"`
	Rows     []regen.Row `json:"rows"`
	// Context is what the model is given; absent: the rows without those that show an error.
	Context []regen.Row `json:"context"`
}

// createSession brings a session into being, empty or with the rows of a conversation that began elsewhere. The same body again is the
// same session; another one under its id is refused.
func (s *Server) createSession(ctx context.Context, w http.ResponseWriter, r *http.Request, who Identity) *wire.Error {
	creator, ok := s.cfg.Engine.(Creator)
	if !ok {
		return wire.NewError(wire.NotFound, "no such path")
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxImport))
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return wire.NewError(wire.TooLarge, "an import has at most 64 MiB")
	}
	if err != nil {
		return wire.NewError(wire.BadRequest, "the body could not be read")
	}
	var body importBody
	if err := regen.CheckJSON(raw); err != nil {
		return s.problem("", err)
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return wire.NewError(wire.BadRequest, "the body is not an import: "+firstLine(err))
	}
	if body.Session == "" {
		body.Session = uuid.NewString()
	}
	key := regen.Key{Tenant: who.Tenant, Session: body.Session}
	if err := key.Validate(); err != nil {
		return s.problem("", err)
	}
	body.complete()
	now := float64(time.Now().UnixMilli()) / 1000
	f := regen.Fields{
		Title: body.Title, TitleFixed: body.Title != "", System: body.System, Source: body.Source, Parent: body.Parent,
		ReadOnly: body.ReadOnly, Imported: body.Imported, CreatedAt: now, UpdatedAt: now,
	}
	err = creator.Create(ctx, key, f, body.Rows, body.Context)
	if errors.Is(err, regen.ErrRows) {
		return wire.NewError(wire.BadRequest, firstLine(err))
	}
	if err != nil {
		return s.problem("", err)
	}
	snap, err := s.cfg.Reader.Read(ctx, key, stream.Query{})
	if err != nil {
		return s.problem("", err)
	}
	seen := stream.NewView(key.Session, snap)
	v := viewOf(&seen)
	w.Header().Set("Location", "/v1/sessions/"+key.Session)
	writeJSON(w, http.StatusCreated, v.Append(nil))
	return nil
}

// complete gives ids to rows without one, and turns to rows without one: a turn begins at a user row.
func (b *importBody) complete() {
	turn := ""
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.ID == "" {
			row.ID = hexID()
		}
		if row.Role == regen.RoleUser || turn == "" {
			turn = hexID()
		}
		if row.Turn == "" {
			row.Turn = turn
		}
	}
	if b.Context != nil {
		return
	}
	for _, row := range b.Rows {
		if !row.Error {
			b.Context = append(b.Context, row)
		}
	}
}

func hexID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
