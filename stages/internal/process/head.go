package process

import "strings"

// Head keeps the beginning of what is written, up to Limit bytes.
type Head struct {
	strings.Builder
	Limit int
	Total int64  // bytes written
	Over  func() // called when more than Limit were written; may be nil
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	before := h.Total
	h.Total += int64(len(p))
	h.Builder.Write(p[:min(len(p), h.Limit-h.Len())])
	if limit := int64(h.Limit); h.Over != nil && before <= limit && h.Total > limit {
		h.Over()
	}
	return len(p), nil
}
