package completion

// Segment is a text of an answer, or its reasoning, or a part of one.
type Segment struct {
	Reasoning bool
	Text      string
}

// segmentList is the order in which the text and the reasoning of a streamed answer came: agents get them in this
// order. A segment grows in place, so the list of a usual answer has at most two.
type segmentList struct {
	list               []segmentSpan
	reasoning, content int // bytes that were read
}

type segmentSpan struct {
	reasoning bool
	from, to  int
}

// ReadSegments returns the segments of a choice so far. It is called after each chunk whose place among them matters.
func (a *Answer) ReadSegments(c *Choice) (out []Segment) {
	p := &a.segments
	p.grow(true, &p.reasoning, c.streamed.reasoning.Len())
	p.grow(false, &p.content, c.streamed.content.Len())
	for _, at := range p.list {
		all := c.streamed.content.String()
		if at.reasoning {
			all = c.streamed.reasoning.String()
		}
		out = append(out, Segment{at.reasoning, all[at.from:at.to]})
	}
	return out
}

func (p *segmentList) grow(reasoning bool, read *int, to int) {
	from := *read
	if to == from {
		return
	}
	*read = to
	if n := len(p.list); n > 0 && p.list[n-1].reasoning == reasoning {
		p.list[n-1].to = to
		return
	}
	p.list = append(p.list, segmentSpan{reasoning, from, to})
}

// SplitSegments cuts the reasoning and the text of an answer into its segments. What came in none continues the last
// segment, if that is of its kind, or is a segment of its own.
func (a *Answer) SplitSegments(reasoning, content string) (out []Segment) {
	rest := map[bool]int{true: 0, false: 0}
	texts := map[bool]string{true: reasoning, false: content}
	for _, s := range a.segments.list {
		all := texts[s.reasoning]
		from, to := min(s.from, len(all)), min(s.to, len(all))
		out = append(out, Segment{s.reasoning, all[from:to]})
		rest[s.reasoning] = to
	}
	for _, kind := range []bool{true, false} {
		switch left := texts[kind][rest[kind]:]; {
		case left == "":
		case len(out) > 0 && out[len(out)-1].Reasoning == kind:
			out[len(out)-1].Text += left
		default:
			out = append(out, Segment{kind, left})
		}
	}
	return out
}
