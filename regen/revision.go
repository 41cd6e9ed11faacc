package regen

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Revision names this state of the conversation: a hash of session id, rows-version and both chains. Title, model, active run
// and other fields do not count. Because the rows-version only rises, a state that comes back byte for byte (an old answer
// restored) has a new revision, and a delayed click on the old one is stale.
func (d *Document) Revision() string {
	h := sha256.New()
	b := make([]byte, 0, 320)
	b = append(b, "holdfast revision 1\n"...)
	b = append(b, d.Session...)
	b = append(b, '\n')
	b = strconv.AppendUint(b, d.RowsVersion, 10)
	b = append(b, '\n')
	b = append(b, d.rowsChain()...)
	b = append(b, '\n')
	b = append(b, d.contextChain()...)
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// Minted gives the revision for a client, and whether it may have one: only if a regenerate with it would pass now. Every
// reader must use it, so that all agree.
func (d *Document) Minted() (string, bool) {
	rev := d.Revision()
	if _, err := d.Plan(Command{Op: OpRegenerate, Revision: rev}); err != nil {
		return "", false
	}
	return rev, true
}
