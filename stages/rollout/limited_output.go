package rollout

import "bytes"

// limited keeps the beginning of a program's output, up to a limit.
type limited struct {
	b     bytes.Buffer
	limit int
	over  func() // called once, when the limit is passed
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over != nil && l.b.Len()+len(p) > l.limit {
		l.over()
		l.over = nil
	}
	if l.over != nil {
		l.b.Write(p)
	}
	return len(p), nil
}
