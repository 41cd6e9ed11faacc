package regen

import (
	"maps"
	"strconv"
)

// Fields are what a session has beside its rows. Times are seconds since 1970; zero fields are absent from the store.
type Fields struct {
	// Title comes from the first prompt, unless TitleFixed says that a person chose it.
	Title      string
	TitleFixed bool
	// System is the session's system text for the model.
	System string
	// Source, RawSource and SourceTag say where the session came from; Parent is the session that it was forked from.
	Source, RawSource, SourceTag, Parent string
	Imported, ReadOnly                   bool
	// UpdatedAt moves with activity, not with maintenance.
	CreatedAt, UpdatedAt float64
	// Watermark and Boundary tell of the last deliberate cut: the old time of the last row that it kept. A later turn moves
	// the watermark alone.
	Watermark, Boundary float64
	// ShrinkGeneration changes with every deliberate cut.
	ShrinkGeneration string
	// Extra are the fields that this version does not know. Never change the map of a document.
	Extra map[string]string
}

type fieldRef struct {
	key  string
	text *string
	flag *bool
	num  *float64
}

func (f *Fields) refs() []fieldRef {
	return []fieldRef{
		{key: "title", text: &f.Title},
		{key: "title_fixed", flag: &f.TitleFixed},
		{key: "system", text: &f.System},
		{key: "source", text: &f.Source},
		{key: "raw_source", text: &f.RawSource},
		{key: "source_tag", text: &f.SourceTag},
		{key: "parent", text: &f.Parent},
		{key: "imported", flag: &f.Imported},
		{key: "read_only", flag: &f.ReadOnly},
		{key: "created_at", num: &f.CreatedAt},
		{key: "updated_at", num: &f.UpdatedAt},
		{key: "watermark", num: &f.Watermark},
		{key: "boundary", num: &f.Boundary},
		{key: "shrink_generation", text: &f.ShrinkGeneration},
	}
}

// Map gives the stored form: only what is not zero.
func (f Fields) Map() map[string]string {
	m := make(map[string]string, 8)
	maps.Copy(m, f.Extra)
	for _, r := range f.refs() {
		switch {
		case r.text != nil && *r.text != "":
			m[r.key] = *r.text
		case r.flag != nil && *r.flag:
			m[r.key] = "1"
		case r.num != nil && *r.num != 0:
			m[r.key] = strconv.FormatFloat(*r.num, 'f', -1, 64)
		}
	}
	return m
}

// FieldsFromMap reads the stored form. Keys it does not know go to Extra; a number it cannot read is 0.
func FieldsFromMap(m map[string]string) Fields {
	var f Fields
	known := map[string]bool{}
	for _, r := range f.refs() {
		known[r.key] = true
		v, ok := m[r.key]
		switch {
		case !ok:
		case r.text != nil:
			*r.text = v
		case r.flag != nil:
			*r.flag = v == "1"
		default:
			*r.num, _ = strconv.ParseFloat(v, 64)
		}
	}
	for k, v := range m {
		if known[k] {
			continue
		}
		if f.Extra == nil {
			f.Extra = map[string]string{}
		}
		f.Extra[k] = v
	}
	return f
}

// diff says how to get from f's stored form to to's. Extra is never changed, so it is not looked at.
func (f Fields) diff(to Fields) (set map[string]string, unset []string) {
	f.Extra, to.Extra = nil, nil
	before, after := f.Map(), to.Map()
	for _, r := range f.refs() {
		old, had := before[r.key]
		v, has := after[r.key]
		switch {
		case has && (!had || old != v):
			if set == nil {
				set = map[string]string{}
			}
			set[r.key] = v
		case had && !has:
			unset = append(unset, r.key)
		}
	}
	return set, unset
}
