package wire

import "strconv"

// edit reads the ops that change a session's rows or title.
func (c *Command) edit(r *raws) error {
	if c.Op != OpRename {
		// As for a regenerate: a revision that is no string is answered like an absent one.
		c.Revision, _ = unquote(r.revision)
	}
	var err error
	switch c.Op {
	case OpEdit:
		if err = needRow("row", r.row, &c.Row); err == nil {
			err = c.prompt(r)
		}
	case OpTruncate:
		err = c.truncate(r)
	case OpSelect:
		if err = needRow("turn", r.turn, &c.Turn); err == nil {
			err = needRow("variant", r.variant, &c.Variant)
		}
	case OpRename:
		err = c.rename(r)
	}
	if err != nil {
		return err
	}
	return c.common(r)
}

func (c *Command) truncate(r *raws) error {
	switch {
	case (r.row == nil) == (r.keep == nil):
		return badf("truncate needs either row or keep")
	case r.row != nil:
		return needRow("row", r.row, &c.Row)
	}
	n, err := strconv.ParseUint(string(r.keep), 10, 31)
	if err != nil {
		return badf("keep must be a whole number, 0 or more")
	}
	keep := int(n)
	c.Keep = &keep
	return nil
}

func (c *Command) rename(r *raws) error {
	if r.title == nil {
		return badf("title is missing")
	}
	if err := str("title", r.title, &c.Title); err != nil {
		return err
	}
	if c.Title == "" {
		return badf("title is empty")
	}
	if len(c.Title) > MaxTitle {
		return badf("title is longer than %d bytes", MaxTitle)
	}
	return nil
}

// needRow reads the id of a row, turn or variant. Those of imports are as a session's.
func needRow(name string, raw []byte, to *string) error {
	if raw == nil {
		return badf("%s is missing", name)
	}
	if err := str(name, raw, to); err != nil {
		return err
	}
	if !ValidSession(*to) {
		return badf("%s is not a valid id", name)
	}
	return nil
}
