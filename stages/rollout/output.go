package rollout

import "bytes"

// limited keeps a program's output, up to a limit.
type limited struct {
	b    bytes.Buffer
	most int
	over func() // called once, when the limit is passed
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over != nil && l.b.Len()+len(p) > l.most {
		l.over()
		l.over = nil
	}
	if l.over != nil {
		l.b.Write(p)
	}
	return len(p), nil
}

// tail keeps the end of a program's output, however long that is.
type tail struct {
	b    []byte
	most int
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 4*t.most {
		t.b = append(t.b[:0], t.b[len(t.b)-t.most:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	b, cut := t.b, t.cut
	if len(b) > t.most {
		b, cut = b[len(b)-t.most:], true
	}
	if cut {
		return "…" + string(b)
	}
	return string(b)
}
