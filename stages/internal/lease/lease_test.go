package lease

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"
)

// memory is a Place of this process.
type memory struct {
	mu   sync.Mutex
	data []byte
	lose bool // the answer to the next swap, which is done
}

func (m *memory) Read(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data, nil
}

func (m *memory) Swap(_ context.Context, old, next []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !bytes.Equal(m.data, old) || (m.data == nil) != (old == nil) {
		return false, nil
	}
	m.data = next
	if m.lose {
		m.lose = false
		return false, errors.New("no answer came")
	}
	return true, nil
}

func take(t *testing.T, m *memory, ttl time.Duration) (*Lease, int) {
	t.Helper()
	waited := 0
	l, err := Take(t.Context(), m, ttl, func(Owner, time.Time) { waited++ }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Release(context.Background()) })
	return l, waited
}

func TestARenewalWhoseAnswerIsLostKeepsTheLease(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, time.Hour)
	m.lose = true
	if err := l.renew(t.Context()); err == nil {
		t.Error("the lost answer is no error")
	}
	for range 2 {
		if err := l.renew(t.Context()); err != nil || l.Check(t.Context()) != nil {
			t.Errorf("%v, %v", err, l.Check(t.Context()))
		}
	}
}

func TestTakenLeaseIsNoticed(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, 400*time.Millisecond)
	bound, cancel := l.Bind(t.Context())
	defer cancel()
	l.end() // as if it slept
	<-l.done
	began := time.Now()
	other, waited := take(t, m, time.Hour)
	if took := time.Since(began); took < 600*time.Millisecond || waited != 1 {
		t.Errorf("taken over after %s, told %d times", took, waited)
	}
	err := l.Check(t.Context())
	<-bound.Done()
	if err != ErrTaken || context.Cause(bound) != ErrTaken {
		t.Errorf("%v, %v", err, context.Cause(bound))
	}
	if err := l.Release(t.Context()); err != nil || other.Check(t.Context()) != nil || m.data == nil {
		t.Errorf("%v: the lease of another was released", err)
	}
}

func TestADamagedLeaseIsTakenOver(t *testing.T) {
	m := &memory{data: []byte("{")}
	if _, waited := take(t, m, 20*time.Millisecond); waited != 1 {
		t.Errorf("told %d times", waited)
	}
}

func TestAReleasedLeaseIsTakenAtOnce(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, time.Hour)
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, waited := take(t, m, time.Hour); waited != 0 {
		t.Error("it waited")
	}
}
