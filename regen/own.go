package regen

import "strings"

// class is where a session or a row comes from, as far as permissions care.
type class string

const (
	classNone      class = ""
	classWeb       class = "webui"
	classFork      class = "fork"
	classCLI       class = "cli"
	classMessaging class = "messaging"
	classAPI       class = "api"
	classOther     class = "other"
)

// classOf sorts a source into its class. A source that nobody knows is "other": it gives no permission.
func classOf(source string) class {
	switch s := strings.ToLower(strings.TrimSpace(source)); s {
	case "", "webui", "fork", "cron", "webhook", "kanban", "tool":
		return class(s)
	case "acp", "cli", "tui":
		return classCLI
	case "api_server":
		return classAPI
	case "telegram", "discord", "slack", "whatsapp", "signal", "matrix", "mattermost", "email", "sms", "messaging":
		return classMessaging
	}
	return classOther
}

// home says whether the class is one of our own: such rows may be regenerated without further proof.
func (c class) home() bool { return c == classNone || c == classWeb || c == classFork }

// kind of a session, for the question who owns its turns.
type kind int

const (
	native kind = iota
	fork
	imported
)

// kind sorts the session. A fork is known by its source or its parent; anything from elsewhere is imported.
func (f *Fields) kind() kind {
	c := classOf(f.Source)
	switch {
	case f.Imported || !c.home():
		return imported
	case c == classFork || f.Parent != "":
		return fork
	}
	return native
}

// owns says whether the turn of this user row may be regenerated here.
func (d *Document) owns(user *Row) bool {
	f := &d.Fields
	if f.ReadOnly {
		return false
	}
	switch f.kind() {
	case imported:
		// The row's source names the place it was imported from; only the proof of a turn taken here counts.
		return ValidToken(user.Token)
	case fork:
		// A marker copied along from the parent names the parent.
		return f.Parent != "" && d.Session != "" && user.ForkChild == d.Session && classOf(user.Source).home()
	}
	return classOf(f.RawSource).home() && classOf(f.SourceTag).home() && classOf(user.Source).home()
}

// stampProvenance marks a turn that is taken in this session.
func (d *Document) stampProvenance(user *Row) {
	if d.Fields.kind() == fork {
		user.Source, user.ForkChild = string(classFork), d.Session
	}
}
