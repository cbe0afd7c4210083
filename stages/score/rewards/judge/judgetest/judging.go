package judgetest

import (
	"context"
	"sync"

	"github.com/rollmill/rollmill/stages/score"
)

// Judging returns a Judging with the server, a store in memory and a ledger;
// ask sends the requests.
func (s *Server) Judging(ask Ask) score.Judging {
	return score.Judging{Asker: asker{ask, s.URL}, Store: &store{}, Ledger: &score.Ledger{}}
}

// Ask asks the server at a URL.
type Ask func(ctx context.Context, url string, q score.Question) (score.Reply, error)

type asker struct {
	ask Ask
	url string
}

func (a asker) Ask(ctx context.Context, q score.Question) (score.Reply, error) {
	return a.ask(ctx, a.url, q)
}

type store struct{ m sync.Map }

func (s *store) Get(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := s.m.Load(key)
	if !ok {
		return nil, false, nil
	}
	return v.([]byte), true, nil
}

func (s *store) Put(_ context.Context, key string, value []byte) error {
	s.m.Store(key, value)
	return nil
}
