package regen

import (
	"maps"
	"slices"
)

// Edit is what the store must do, in one step, to get from the document before to the one after.
type Edit struct {
	// Version, RowsVersion and Revision are the document's afterwards.
	Version, RowsVersion uint64
	Revision             string
	Rows, Context        ListEdit
	// Set and Unset change the session's fields; VariantSet and VariantUnset its variants, by id.
	Set          map[string]string
	Unset        []string
	VariantSet   map[string]string
	VariantUnset []string
	// Active is the active run afterwards, Run its id; nil and "" when idle.
	Active *Active
	Run    string
}

// ListEdit is the change of one stored list: cut it to Keep elements, replace the last of those by Patch, append.
type ListEdit struct {
	// Before is the length that the list must have. It counts from the start of the conversation, as Keep does.
	Before int
	// Keep elements stay; Keep == Before is no cut, 0 empties the list.
	Keep int
	// Patch is the new element Keep-1; "" leaves it.
	Patch string
	// Append are the new elements, encoded.
	Append []string
}

// After is the length of the list afterwards.
func (l ListEdit) After() int { return l.Keep + len(l.Append) }

// Changes says whether the edit does anything to the list.
func (l ListEdit) Changes() bool { return l.Keep != l.Before || l.Patch != "" || len(l.Append) > 0 }

// Then gives the one edit that does e and then next, which must have been made from e's document: a settlement and an
// acceptance in one batch.
func (e Edit) Then(next Edit) Edit {
	out := next
	out.Rows = e.Rows.then(next.Rows)
	out.Context = e.Context.then(next.Context)
	out.Set, out.Unset = thenMap(e.Set, e.Unset, next.Set, next.Unset)
	out.VariantSet, out.VariantUnset = thenMap(e.VariantSet, e.VariantUnset, next.VariantSet, next.VariantUnset)
	return out
}

func (l ListEdit) then(next ListEdit) ListEdit {
	out := ListEdit{Before: l.Before, Keep: min(l.Keep, next.Keep), Patch: next.Patch}
	switch n := next.Keep - l.Keep; {
	case n > 0: // the second cut, if any, falls into what the first edit appended
		out.Patch = l.Patch
		out.Append = slices.Clone(l.Append[:n])
		if next.Patch != "" {
			out.Append[n-1] = next.Patch
		}
	case n == 0 && next.Patch == "":
		out.Patch = l.Patch
	}
	out.Append = append(out.Append, next.Append...)
	return out
}

func thenMap(set map[string]string, unset []string, set2 map[string]string, unset2 []string) (map[string]string, []string) {
	outSet := maps.Clone(set)
	if outSet == nil && len(set2) > 0 {
		outSet = map[string]string{}
	}
	maps.Copy(outSet, set2)
	for _, k := range unset2 {
		delete(outSet, k)
	}
	var outUnset []string
	for _, k := range slices.Concat(unset, unset2) {
		if _, ok := outSet[k]; !ok && !slices.Contains(outUnset, k) {
			outUnset = append(outUnset, k)
		}
	}
	return outSet, outUnset
}

// change builds a new document and the edit beside it, so that one cannot tell another story than the other.
// The lists of to are its own until finish: it may write into them.
type change struct {
	from *Document
	to   *Document
	edit Edit
	// moved counts as a change of rows even where the lists end up the same: a won edit always makes a new revision.
	moved bool
}

// maxAppend is how many elements a settlement adds to a list at most: a lost user row, an answer and an error.
const maxAppend = 3

func (d *Document) begin() *change {
	to := *d
	to.Rows = append(make([]Link, 0, len(d.Rows)+maxAppend), d.Rows...)
	to.Context = append(make([]ContextLink, 0, len(d.Context)+maxAppend), d.Context...)
	c := &change{from: d, to: &to}
	c.edit.Rows = ListEdit{Before: d.RowsBelow + len(d.Rows), Keep: d.RowsBelow + len(d.Rows)}
	c.edit.Context = ListEdit{Before: d.ContextBelow + len(d.Context), Keep: d.ContextBelow + len(d.Context)}
	return c
}

// cutRows keeps the first n rows of the window; cutContext likewise. Both come before patches and appends.
func (c *change) cutRows(n int) {
	c.to.Rows = c.to.Rows[:n]
	c.edit.Rows.Keep = c.to.RowsBelow + n
}

func (c *change) cutContext(n int) {
	c.to.Context = c.to.Context[:n]
	c.edit.Context.Keep = c.to.ContextBelow + n
}

// cutAll keeps no row of either list, whatever lies below the window.
func (c *change) cutAll() {
	c.to.Rows, c.to.RowsBelow, c.to.RowsBase = c.to.Rows[:0], 0, EmptyChain
	c.to.Context, c.to.ContextBelow, c.to.ContextBase = c.to.Context[:0], 0, EmptyChain
	c.to.lower = nil
	c.edit.Rows.Keep, c.edit.Context.Keep = 0, 0
}

// patchRow replaces the last kept row, which is in the window.
func (c *change) patchRow(r *Row) *Row {
	n := len(c.to.Rows) - 1
	prev := c.to.RowsBase.or()
	if n > 0 {
		prev = c.to.Rows[n-1].Chain
	}
	encoded := r.encode()
	l := Link{Chain: nextChain(prev, encoded), Row: r}
	c.to.Rows[n] = l
	c.edit.Rows.Patch = element(l.Chain, encoded)
	return r
}

// patchContext replaces the last kept context element: by a reference to a display row, or by a row of its own.
func (c *change) patchContext(own, shown *Row) {
	n := len(c.to.Context) - 1
	prev := c.to.ContextBase.or()
	if n > 0 {
		prev = c.to.Context[n-1].Chain
	}
	l := contextLink(prev, own, shown)
	c.to.Context[n] = l
	c.edit.Context.Patch = l.Encode()
}

func (c *change) appendRow(r *Row) *Row {
	encoded := r.encode()
	l := Link{Chain: nextChain(c.to.rowsChain(), encoded), Row: r}
	c.to.Rows = append(c.to.Rows, l)
	c.edit.Rows.Append = append(c.edit.Rows.Append, element(l.Chain, encoded))
	return r
}

// appendRef puts a display row into the context too; appendOwn a row that display does not have.
func (c *change) appendRef(shown *Row) { c.appendContext(contextLink(c.to.contextChain(), nil, shown)) }

func (c *change) appendOwn(own *Row) { c.appendContext(contextLink(c.to.contextChain(), own, nil)) }

func (c *change) appendContext(l ContextLink) {
	c.to.Context = append(c.to.Context, l)
	c.edit.Context.Append = append(c.edit.Context.Append, l.Encode())
}

func contextLink(prev Chain, own, shown *Row) ContextLink {
	if own != nil {
		return ContextLink{Chain: nextChain(prev, own.encode()), Row: own}
	}
	return ContextLink{Chain: nextChain(prev, shown.encode()), Ref: shown.ID}
}

// finish counts the change and gives its edit.
func (c *change) finish() Edit {
	c.to.Rows, c.to.Context = slices.Clip(c.to.Rows), slices.Clip(c.to.Context)
	c.to.Version++
	if c.moved || c.edit.Rows.Changes() || c.edit.Context.Changes() {
		c.to.RowsVersion = c.to.Version
	}
	e := c.edit
	e.Set, e.Unset = c.from.Fields.diff(c.to.Fields)
	if c.from.Version == 0 {
		for k, v := range c.to.Fields.Extra { // an import's unknown fields are written once
			if e.Set == nil {
				e.Set = map[string]string{}
			}
			e.Set[k] = v
		}
	}
	e.Version, e.RowsVersion, e.Revision = c.to.Version, c.to.RowsVersion, c.to.Revision()
	e.Active = c.to.Active
	if e.Active != nil {
		e.Run = e.Active.Run
	}
	return e
}
