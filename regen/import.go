package regen

import (
	"encoding/json"
	"fmt"
	"slices"
)

// NewDocument makes a whole new document of rows, as an import or a fork brings them: version 1, nothing below the window.
// A context row that equals the display row with its id becomes a reference, unless these rows stand in another order than on
// display: references always follow the display's order, so that a cut finds them at the end. The edit writes it to an empty
// store. Display rows need ids, context rows may lack them; ids are as ValidID says and unique per list, roles are known: else
// ErrRows. Rows with bad content are a *ContentError.
func NewDocument(session string, f Fields, rows, context []Row) (*Document, Edit, error) {
	d := &Document{Session: session}
	c := d.begin()
	byID := make(map[string]int, len(rows))
	for i := range rows {
		r := rows[i]
		if _, ok := byID[r.ID]; ok || !ValidID(r.ID) {
			return nil, Edit{}, fmt.Errorf("row %d: %w", i, idError(&r))
		}
		if err := checkImported(&r); err != nil {
			return nil, Edit{}, fmt.Errorf("row %d: %w", i, err)
		}
		c.appendRow(&r)
		byID[r.ID] = i
	}
	seen := make(map[string]bool, len(context))
	refs := make([]int, len(context)) // display index by context index, or none
	newest, ordered := none, true
	for i := range context {
		r := context[i]
		if seen[r.ID] || r.ID != "" && !ValidID(r.ID) {
			return nil, Edit{}, fmt.Errorf("context row %d: %w", i, idError(&r))
		}
		if err := checkImported(&r); err != nil {
			return nil, Edit{}, fmt.Errorf("context row %d: %w", i, err)
		}
		seen[r.ID] = r.ID != ""
		refs[i] = none
		if at, ok := byID[r.ID]; ok && slices.Equal(c.to.Rows[at].Row.encode(), r.encode()) {
			refs[i] = at
			ordered = ordered && at > newest
			newest = at
		}
	}
	for i := range context {
		if refs[i] != none && ordered {
			c.appendRef(c.to.Rows[refs[i]].Row)
			continue
		}
		r := context[i]
		r.Attachments, r.ToolCalls = compactRaws(r.Attachments), compactRaws(r.ToolCalls)
		c.appendOwn(&r)
	}
	c.to.Fields = f
	return c.to, c.finish(), nil
}

func idError(r *Row) error {
	return fmt.Errorf("id %.40q is missing, malformed or repeated: %w", r.ID, ErrRows)
}

func checkImported(r *Row) error {
	switch r.Role {
	case RoleUser, RoleAssistant, RoleTool, RoleSystem:
	default:
		return fmt.Errorf("role %.40q: %w", r.Role, ErrRows)
	}
	if err := r.Content.check(); err != nil {
		return err
	}
	for _, raws := range [][]json.RawMessage{r.Attachments, r.ToolCalls} {
		for _, raw := range raws {
			if err := CheckJSON(raw); err != nil {
				return err
			}
		}
	}
	r.Attachments, r.ToolCalls = compactRaws(r.Attachments), compactRaws(r.ToolCalls)
	return nil
}
