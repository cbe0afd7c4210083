package dataset

import (
	"sync"

	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/storage"
)

// footers keeps the footers of the local parts that were opened last, decoded.
type footers struct {
	mu    sync.Mutex
	on    bool
	names []string
	files []*parquet.File
}

const keptFooters = 3

// ShareFooters makes readers that read a local dataset together decode the footer
// of each part once.
func (d *Dataset) ShareFooters() { d.footers.on = true }

func (s *footers) open(src storage.Reader, p Part, place string) (*parquet.File, error) {
	if !s.on {
		return parquet.Open(src, p.Bytes, place)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.names {
		if name == p.Name {
			return s.files[i].At(src), nil
		}
	}
	f, err := parquet.Open(src, p.Bytes, place)
	if err != nil {
		return nil, err
	}
	if len(s.names) == keptFooters {
		s.names, s.files = s.names[1:], s.files[1:]
	}
	s.names, s.files = append(s.names, p.Name), append(s.files, f)
	return f, nil
}
