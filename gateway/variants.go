package gateway

import (
	"context"
	"encoding/json"
	"net/http"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// readVariants gives the replaced answers of one turn, oldest first, so that a page can show them after a reload. A turn that is not
// among the last rows, or has none, has an empty list.
func (s *Server) readVariants(ctx context.Context, w http.ResponseWriter, r *http.Request, who Identity) *wire.Error {
	key := regen.Key{Tenant: who.Tenant, Session: r.PathValue("id")}
	if err := key.Validate(); err != nil {
		return s.problem("", err)
	}
	snap, err := s.cfg.Reader.Read(ctx, key, stream.Query{})
	if err == nil && !snap.Head.Exists() {
		err = stream.ErrNotFound
	}
	if err != nil {
		return s.problem("", err)
	}
	turn := r.PathValue("turn")
	var ids []string
	if snap.Document != nil {
		for _, row := range snap.Document.TurnRows(turn) {
			ids = append(ids, row.Variants...)
		}
	}
	out := wire.Variants{Session: key.Session, Turn: turn}
	if len(ids) > 0 {
		stored, err := s.cfg.Reader.Read(ctx, key, stream.Query{HeadOnly: true, Variants: ids})
		if err != nil {
			return s.problem("", err)
		}
		for _, id := range ids {
			if rec, ok := stored.Variants[id]; ok { // else it went meanwhile
				out.Variants = append(out.Variants, variantOf(rec))
			}
		}
	}
	writeJSON(w, http.StatusOK, out.Append(nil))
	return nil
}

func variantOf(rec regen.VariantRecord) wire.Variant {
	v := wire.Variant{ID: rec.ID, Run: rec.Run, At: rec.At, Rows: make([]json.RawMessage, len(rec.Rows))}
	for i := range rec.Rows {
		v.Rows[i] = rec.Rows[i].Public(false)
	}
	return v
}
